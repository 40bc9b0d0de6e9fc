"""Explanations of a model's scores: of two rows, and of rows against the mean of their query."""

from __future__ import annotations

from collections.abc import Mapping
from math import fsum
from typing import Any

import numpy as np
from numpy.typing import NDArray

from marginrank.data.frames import as_frame
from marginrank.data.matrices import as_dense, is_sparse, require_memory
from marginrank.data.queries import check_qid, group_rows, one_query
from marginrank.data.query_normalization import minmax_by_query
from marginrank.data.validation import as_array
from marginrank.exceptions import MarginRankError, ParameterError
from marginrank.explanation.margins import METHODS, contributions, exact_sums, names_of
from marginrank.explanation.results import PairExplanation, RowExplanations
from marginrank.export.base import ExportedModel
from marginrank.types import Matrix, Vector

# Of contributions, which are dense: 2 GB.
_MOST_VALUES = 1 << 28


def explain_pair(model: ExportedModel, a: Any, b: Any, within: Matrix | None) -> PairExplanation:
    """Explain the difference of two rows; ``RankingModel.explain_pair`` has the parameters."""
    row_a, row_b = _row(model, a, "a"), _row(model, b, "b")
    seen_a, seen_b = row_a, row_b
    if model.query_normalization is not None:
        if within is None:
            raise MarginRankError.saying(
                "The model normalises columns within queries, so {within} must be the rows of the query.",
            )
        low, high = _range(within)
        seen_a, seen_b = (_normalized(row, low, high) for row in (row_a, row_b))
    elif within is not None:
        raise MarginRankError.saying(
            "The model does not normalise within queries, and other rows do not matter: leave out {within}."
        )
    with np.errstate(over="ignore", invalid="ignore"):
        found = contributions(model, seen_a, seen_b)
    _check_finite(found)
    return PairExplanation(
        names_of(model), row_a, row_b, found, fsum(found.tolist()), METHODS[model.mapping is None]
    )


def explain_rows(model: ExportedModel, X: Matrix, qid: Any) -> RowExplanations:
    """Explain each row against the mean row of its query; ``RankingModel.explain`` has the parameters."""
    n_rows, n_features = X.shape
    if n_rows * n_features > _MOST_VALUES:
        raise MarginRankError(
            f"X has {n_rows:,} rows of {n_features:,} columns, and an explanation has a number for each; "
            "explain some queries at a time."
        )
    groups = one_query(n_rows) if qid is None else group_rows(check_qid(qid, n_rows))
    order = np.arange(n_rows) if groups.order is None else groups.order
    if model.query_normalization is not None:
        rows: NDArray[Any] = minmax_by_query(X, groups.query_ptr, groups.order)
    else:
        rows = as_dense(require_memory(X, "An explanation"))
    rows = np.asarray(rows, dtype=np.float64)
    found = np.empty((n_rows, n_features))
    with np.errstate(over="ignore", invalid="ignore"):
        for first, last in zip(groups.query_ptr[:-1].tolist(), groups.query_ptr[1:].tolist(), strict=True):
            members = order[first:last]
            mean = _mean(rows[members])
            for k in members.tolist():
                found[k] = contributions(model, rows[k], mean)
    _check_finite(found)
    return RowExplanations(names_of(model), found, exact_sums(found), METHODS[model.mapping is None])


def _mean(rows: NDArray[np.float64]) -> Vector:
    """Return the mean row; of equal numbers it is that number, and large offsets cost no digits."""
    return np.asarray(rows[0] + (rows - rows[0]).mean(axis=0))


def _check_finite(found: NDArray[np.float64]) -> None:
    if not np.isfinite(found).all():
        raise MarginRankError(
            "The rows hold values so large that their contributions leave float64; give the columns ordinary "
            "units."
        )


def _row(model: ExportedModel, row: Any, name: str) -> Vector:
    """Return one row of the model's columns: a vector, a matrix of one row, or values by name."""
    frame = as_frame(row)
    if frame is not None and len(frame) == 1:
        row = frame.rows(named=True)[0]
    elif getattr(row, "ndim", None) == 1 and callable(getattr(row, "to_dict", None)):
        row = row.to_dict()  # a row of a pandas frame
    if isinstance(row, Mapping):
        row = _by_name(model, row, name)
    elif is_sparse(row):
        row = row.toarray()
    values = as_array(row, name)
    if values.ndim == 2 and values.shape[0] == 1:
        values = values[0]
    if values.ndim != 1 or len(values) != model.n_features or values.dtype.kind not in "fiub":
        raise ParameterError(name, f"a row of {model.n_features} numbers", row)
    values = values.astype(np.float64)
    if not np.isfinite(values).all():
        raise MarginRankError.naming(name, "must hold finite numbers.")
    return values


def _by_name(model: ExportedModel, row: Mapping[Any, Any], name: str) -> list[Any]:
    names = model.feature_names
    if names is None:
        if len(row) != model.n_features:
            raise ParameterError(name, f"a row of {model.n_features} numbers", row)
        return list(row.values())
    missing = [names[k] for k in model.features_used if names[k] not in row]
    if missing:
        raise MarginRankError.naming(name, f"lacks the column {missing[0]!r} of the model.")
    return [row.get(one, 0.0) for one in names]


def _range(within: Matrix) -> tuple[Vector, Vector]:
    rows = np.asarray(as_dense(require_memory(within, "An explanation")), dtype=np.float64)
    return rows.min(axis=0), rows.max(axis=0)


def _normalized(row: Vector, low: Vector, high: Vector) -> Vector:
    spread = high - low
    return np.divide(row - low, spread, out=np.zeros_like(row), where=spread > 0.0)
