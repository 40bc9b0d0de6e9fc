"""Linear models of SVM^rank: a model file with one support vector, which is the vector of weights.

Features and the entries of support vectors are float32 numbers there, sums float64; there is no intercept.
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from marginrank.export.base import ExportedModel, Options, Scorer, Target, Written, used_columns
from marginrank.export.numbers import as_float32, check_float32
from marginrank.types import Rows, Vector


class SvmRank(Target):
    """A model file of SVM^rank, for ``svm_rank_classify``."""

    name: ClassVar[str] = "svmrank"
    title: ClassVar[str] = "A model file of SVM^rank"

    def float32(self, options: Options) -> bool:
        """Features and weights are float32 there."""
        return True

    def roundings(self, options: Options, n_terms: int) -> Vector:
        """Values and weights."""
        return np.full(n_terms, 2.0)

    def write(self, model: ExportedModel, options: Options) -> Written:
        """Return the text, with features numbered from 1."""
        columns = used_columns(model.coef)
        check_float32(model.coef, options.names, self.title)
        weights = " ".join(f"{j + 1}:{model.coef[j]:.9g}" for j in columns)
        text = (
            "SVM-rank Version V1.00\n"
            "0 # kernel type\n"
            "3 # kernel parameter -d \n"
            "1 # kernel parameter -g \n"
            "1 # kernel parameter -s \n"
            "1 # kernel parameter -r \n"
            "empty# kernel parameter -u \n"
            f"{model.n_features} # highest feature index \n"
            "0 # number of training documents \n"
            "2 # number of support vectors plus 1 \n"
            "0 # threshold b, each following line is a SV (starting with alpha*y)\n"
            f"1 {weights} #\n"
        )
        return Written(
            text.encode(), columns, commands=("svm_rank_classify test.txt {model} predictions.txt",)
        )

    def scorer(self, content: bytes, options: Options) -> Scorer:
        """Return a replica of the sum of ``svm_rank_classify``."""
        vector = content.decode().splitlines()[-1].partition("#")[0].split()[1:]
        pairs = [(int(number), np.float32(weight)) for number, weight in (one.split(":") for one in vector)]

        def score(X: NDArray[np.float64], queries: Rows) -> Vector:
            scores = np.zeros(len(X))
            for number, weight in pairs:
                scores += float(weight) * as_float32(X[:, number - 1]).astype(np.float64)
            return scores

        return score
