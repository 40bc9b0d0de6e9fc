"""The statistics of the training columns, and their place in a model file."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from numpy.typing import NDArray

from marginrank.designs.column_statistics import ColumnStatistics
from marginrank.exceptions import MarginRankError, ParameterError

_PREFIX = "column_statistics."


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


def statistics_to_file(statistics: ColumnStatistics) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """Return header and arrays for a model file."""
    arrays = {_PREFIX + name: getattr(statistics, name) for name in statistics.names()}
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
    return ColumnStatistics(**by_name, n_rows=n_rows)
