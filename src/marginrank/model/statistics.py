"""The statistics of the training columns, and their place in a model file."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from marginrank.designs.column_statistics import ColumnStatistics
from marginrank.exceptions import MarginRankError, ParameterError

_PREFIX = "column_statistics."
# Numbers of the columns, where the others hold nothing but 0.
_COLUMNS = "column_statistics.columns"


def check_statistics(statistics: Any, n_features: int) -> None:
    """Refuse what are no statistics of so many columns; None is fine."""
    if statistics is None:
        return
    if not isinstance(statistics, ColumnStatistics):
        raise ParameterError("column_statistics", "a ColumnStatistics or None", statistics)
    if statistics.n_features != n_features:
        raise MarginRankError(
            f"column_statistics must have one entry per feature; got {statistics.n_features} for "
            f"{n_features}."
        )


def statistics_to_file(
    statistics: ColumnStatistics, *, is_linear: bool
) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """Return header and arrays for a model file.

    Of a linear model with one coefficient for each column, columns that held nothing but 0 are left out where
    they are most: those of hashed words, say.
    """
    values = {name: getattr(statistics, name) for name in statistics.names()}
    arrays = {_PREFIX + name: value for name, value in values.items()}
    if is_linear:
        empty = _empty_columns(statistics.n_features)
        held = [value.view(np.int64) != getattr(empty, name).view(np.int64) for name, value in values.items()]
        columns = np.flatnonzero(np.any(held, axis=0))
        if 0 < len(columns) <= statistics.n_features // 2:
            arrays = {name: value[columns] for name, value in arrays.items()}
            arrays[_COLUMNS] = columns.astype(np.int64)
    return {"column_statistics": {"n_rows": statistics.n_rows}}, arrays


def statistics_from_file(
    header: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]
) -> ColumnStatistics | None:
    """Return the statistics that a file holds, checked; None where it holds none."""
    found = header.get("column_statistics")
    if found is None:
        return None
    n_rows = found["n_rows"] if isinstance(found, dict) else None
    if type(n_rows) is not int:
        raise MarginRankError("column_statistics has no number of rows")
    by_name = {name: arrays[_PREFIX + name] for name in ColumnStatistics.names()}
    statistics = ColumnStatistics(**by_name, n_rows=n_rows)
    if _COLUMNS not in arrays:
        return statistics
    columns, n_features = arrays[_COLUMNS], arrays["coef"].size
    if columns.dtype != np.int64 or columns.shape != (statistics.n_features,):
        raise MarginRankError("column_statistics has no number for each of its columns")
    if columns[0] < 0 or columns[-1] >= n_features or not (np.diff(columns) > 0).all():
        raise MarginRankError("column_statistics has columns out of order, or beyond those of the model")
    return statistics.widened(columns, n_features)


def _empty_columns(n_features: int) -> ColumnStatistics:
    """Return the statistics of columns that hold nothing but 0."""
    nothing = np.zeros(n_features)
    return ColumnStatistics(nothing, nothing, nothing, nothing, nothing, np.ones(n_features), 0)
