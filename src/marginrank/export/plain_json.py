"""A linear model as plain JSON, for programs of one's own."""

from __future__ import annotations

import json
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from marginrank.export.base import ExportedModel, Options, Scorer, Target, Written, used_columns
from marginrank.types import Rows, Vector


class PlainJson(Target):
    """``score = intercept + sum of weight * value`` over the features that are listed."""

    name: ClassVar[str] = "json"
    title: ClassVar[str] = "Plain JSON"

    def write(self, model: ExportedModel, options: Options) -> Written:
        """Return an object with the columns that are used, their ranges where known, and the intercept."""
        columns = used_columns(model.coef)
        statistics = model.column_statistics
        features = []
        for j in columns.tolist():
            feature = {"name": options.names[j], "column": j + 1, "weight": float(model.coef[j])}
            if statistics is not None:
                feature["trained_on"] = [float(statistics.low[j]), float(statistics.high[j])]
            features.append(feature)
        content = {
            "model": "linear",
            "name": options.model_name,
            "intercept": model.intercept,
            "n_columns": model.n_features,
            "features": features,
        }
        text = json.dumps(content, indent=2, ensure_ascii=False, allow_nan=False)
        return Written(f"{text}\n".encode(), columns)

    def scorer(self, content: bytes, options: Options) -> Scorer:
        """Return what sums up the weighted values in float64."""
        model = json.loads(content)
        columns = [feature["column"] - 1 for feature in model["features"]]
        weights = [feature["weight"] for feature in model["features"]]

        def score(X: NDArray[np.float64], queries: Rows) -> Vector:
            scores = np.full(len(X), model["intercept"], dtype=np.float64)
            for j, weight in zip(columns, weights, strict=True):
                scores += weight * X[:, j]
            return scores

        return score
