"""Linear models of RankLib: the text of its coordinate ascent, one line of ``number:weight``.

Features are float32 numbers there, weights and sums float64; there is no intercept.
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from marginrank.export.base import ExportedModel, Options, Scorer, Target, Written, used_columns
from marginrank.export.numbers import as_float32
from marginrank.types import Rows, Vector

_HEAD = """## Coordinate Ascent
## Restart = 5
## MaxIteration = 25
## StepBase = 0.05
## StepScale = 2.0
## Tolerance = 0.001
## Regularized = false
## Slack = 0.001
"""


class RankLib(Target):
    """RankLib's coordinate ascent, whose settings of training are its defaults and say nothing of ours."""

    name: ClassVar[str] = "ranklib"
    title: ClassVar[str] = "RankLib's linear model"

    def float32(self, options: Options) -> bool:
        """Features are float32 there."""
        return True

    def roundings(self, options: Options, n_terms: int) -> Vector:
        """Values only."""
        return np.ones(n_terms)

    def write(self, model: ExportedModel, options: Options) -> Written:
        """Return the text, with features numbered from 1."""
        columns = used_columns(model.coef)
        weights = " ".join(f"{j + 1}:{float(model.coef[j])!r}" for j in columns)
        return Written(
            f"{_HEAD}{weights}\n".encode(),
            columns,
            commands=("java -jar RankLib.jar -load {model} -rank test.txt -score scores.txt",),
        )

    def scorer(self, content: bytes, options: Options) -> Scorer:
        """Return a replica of RankLib's sum."""
        line = next(line for line in content.decode().splitlines() if not line.startswith("##"))
        pairs = [pair.split(":") for pair in line.split()]

        def score(X: NDArray[np.float64], queries: Rows) -> Vector:
            scores = np.zeros(len(X))
            for number, weight in pairs:
                # Products and sums are of float64: numpy would take a number of Python's for a float32.
                scores += float(weight) * as_float32(X[:, int(number) - 1]).astype(np.float64)
            return scores

        return score
