"""What float32 takes from a model: by column, as a part of the spread of scores within queries."""

from __future__ import annotations

import warnings
from collections.abc import Sequence

import numpy as np

from marginrank.data.matrices import blocks, is_sparse
from marginrank.exceptions import Sentence
from marginrank.export.base import ExportedModel
from marginrank.export.checking import CheckedRows, ExportCheck
from marginrank.types import Matrix, Vector

# Half of the distance of float32 numbers about 1.
_ROUNDING = 2.0**-24
# The part of the spread above which a column is named: an export ranks the same to 1e-5.
_WARN_ABOVE = 1e-5
_NAMED_AT_MOST = 3


class Float32Warning(UserWarning):
    """A column is so large for what it says that float32 scores may change places."""


def float32_loss(model: ExportedModel, rows: CheckedRows | None = None, spread: float = 0.0) -> Vector | None:
    """Return, for each column, how far float32 may move a score, as a part of the spread within queries.

    A value ``x`` of a column, its product with the weight ``w`` and every sum that holds it are rounded by up
    to ``2**-24`` of their size, so a column can move a score by ``2**-24 |w| max|x|``. The sizes are those of
    the rows, whose scores have the spread that is given, or else both are of the column statistics, where the
    spread takes the columns for uncorrelated. None where neither is known, and for models that are not linear
    in the columns.

    Examples
    --------
    >>> from marginrank import ColumnStatistics, RankingModel
    >>> seconds = ColumnStatistics([1.6e9], [1.7e9], [1.65e9], [3e7], [1e6], [0.0], 100)
    >>> float32_loss(RankingModel([1e-6], column_statistics=seconds)).round(6).tolist()
    [0.000101]
    """
    if model.mapping is not None or model.query_normalization is not None:
        return None
    if rows is not None:
        largest = largest_values(rows.X)
    elif model.column_statistics is not None:
        statistics = model.column_statistics
        largest = np.maximum(np.abs(statistics.low), np.abs(statistics.high))
        spread = float(np.linalg.norm(model.coef * statistics.within_deviation))
    else:
        return None
    sizes = np.abs(model.coef) * largest
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(np.where(sizes > 0.0, _ROUNDING * sizes / spread, 0.0))


def warn_of_loss(loss: Vector, names: Sequence[str], title: str) -> None:
    """Warn of columns that lose more than an export may, the worst first."""
    worst = np.argsort(-loss, kind="stable")[:_NAMED_AT_MOST]
    worst = worst[loss[worst] > _WARN_ABOVE]
    if len(worst) == 0:
        return
    more = int(np.count_nonzero(loss > _WARN_ABOVE)) - len(worst)
    listed = ", ".join(repr(names[j]) for j in worst) + (f" and {more:,} more" if more else "")
    warnings.warn(
        Sentence(
            "{title!s} computes in float32, and the values of {columns!s} are large for what they tell "
            "apart: scores may be off by {loss:.1g} of their spread within a query, so rows that are closer "
            "may change places.",
            "Train with the column less a constant, or in larger units, such as days since 2020 for seconds "
            "since 1970; or export to a target of float64, such as sql, vespa or json.",
            title=title,
            columns=listed,
            loss=float(loss[worst].sum()),
        ),
        Float32Warning,
        stacklevel=4,
    )


def warn_of_kernel(check: ExportCheck | None, title: str) -> None:
    """Warn of a feature map in float32, unless a check has found that it ranks the same to 1e-5."""
    if check is not None and check.largest_difference <= _WARN_ABOVE:
        return
    measured, values = "{check} measures by how much.", {}
    if check is not None:
        measured = "on the rows of {check}, differences of scores change by {loss:.1g} of their spread."
        values = {"loss": check.largest_difference}
    warnings.warn(
        Sentence(
            "{title!s} rounds the terms of a feature map, which are large and cancel in the sum, so that "
            f"rows may change places; {measured}",
            "Export with {dtype='float64'}, which is the default.",
            title=title,
            **values,
        ),
        Float32Warning,
        stacklevel=4,
    )


def largest_values(X: Matrix) -> Vector:
    """Return the largest absolute value of each column.

    Examples
    --------
    >>> largest_values(np.array([[1.0, -3.0], [2.0, 0.0]]))
    array([2., 3.])
    """
    largest = np.zeros(X.shape[1])
    for block in blocks(X):
        values = abs(block).max(axis=0).toarray().ravel() if is_sparse(block) else np.abs(block).max(axis=0)
        np.maximum(largest, values, out=largest)
    return largest
