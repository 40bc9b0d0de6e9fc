"""What float32 takes from a model, as a part of the spread of scores within queries.

On rows it is measured. Without rows it is measured as well, on rows that are made after the column statistics
and scored by what was written: each value, product and sum is rounded there as in the target. That is what is
likely lost, and may understate it. The bound (``float32_bound.py``) never does, for rows within the ranges of
training, but overstates what is lost 2 to 60 times: it would warn of every model of 40 columns. So there is a
warning where the bound allows more than an export may lose and four times the likely loss is more: the real
loss was at most twice the likely one wherever both were known.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from marginrank.data.matrices import column_extremes
from marginrank.designs.column_statistics import ColumnStatistics
from marginrank.exceptions import MarginRankError, Sentence, warn
from marginrank.export.base import ExportedModel, Options, Target
from marginrank.export.checking import CheckedRows, ExportCheck, compare_scores
from marginrank.export.float32_bound import Float32Bound
from marginrank.export.numbers import listed_columns
from marginrank.types import Rows, Vector

# Half of the distance of float32 numbers about 1.
_ROUNDING = 2.0**-24
# The part of the spread above which there is a warning: an export ranks the same to 1e-5.
_WARN_ABOVE = 1e-5
# What is likely lost on made rows is counted so many times.
_CAUTION = 4.0
# Columns that lose less than this part of what the worst one loses are not to blame.
_BLAMED = 0.1
_MADE_ROWS, _MADE_QUERY, _MADE_VALUES = 512, 32, 1 << 22
# Rows with a column at its far end: so many for each of so many columns.
_FAR_ROWS, _FAR_COLUMNS = 8, 16


class Float32Warning(UserWarning):
    """A column is so large for what it says that float32 scores may change places.

    Examples
    --------
    >>> import warnings
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("error", Float32Warning)  # an export that may lose an order fails
    """


@dataclass(frozen=True)
class Float32Loss:
    """How far float32 moves differences of scores within a query, as a part of their spread.

    Parameters
    ----------
    total : float
        The largest change of a difference that was measured, on given rows or on made ones.
    columns : ndarray of shape (n_features,)
        What one rounding of each column's values changes, and tells which of them are to blame.
    spread : float
        The deviation of scores within a query that the others are parts of; on made rows an estimate.
    bound : float or None
        What no difference changes by more than: of the given rows, or else of any rows within the ranges of
        the training columns. None for feature maps and normalisation within queries.
    measured : bool
        Whether rows were given, which leaves nothing to estimate.

    Examples
    --------
    >>> print(Float32Loss(2e-6, np.zeros(1), 1.5, 7e-5))
    differences of scores change by about 2e-06 of their spread within a query, at most by 7e-05
    """

    total: float
    columns: Vector
    spread: float
    bound: float | None = None
    measured: bool = False

    def __str__(self) -> str:
        how = "by" if self.measured else "by about"
        most = "" if self.bound is None else f", at most by {self.bound:.1g}"
        return f"differences of scores change {how} {self.total:.1g} of their spread within a query{most}"

    @property
    def cautious(self) -> float:
        """What warnings rest on: what was measured on given rows, else four times the likely loss.

        It is never above the bound.
        """
        cautious = self.total if self.measured else _CAUTION * self.total
        return cautious if self.bound is None else min(cautious, self.bound)


def measured_loss(
    target: Target, options: Options, model: ExportedModel, rows: CheckedRows, check: ExportCheck
) -> Float32Loss:
    """Return what a check has found, with the share of each column."""
    low, high = column_extremes(rows.X)
    largest = np.maximum(-low, high)
    total, spread = check.largest_difference, check.spread
    if not _is_linear(model):
        return Float32Loss(total, _parts(largest, high - low), spread, measured=True)
    bound = _of_differences(Float32Bound(target, options, model).of_rows(rows), spread)
    return Float32Loss(total, _parts(np.abs(model.coef) * largest, spread), spread, bound, measured=True)


def estimated_loss(
    target: Target, content: bytes, options: Options, model: ExportedModel
) -> Float32Loss | None:
    """Return the loss on rows that are made after the column statistics, or None where there are none.

    Columns are drawn independently, with their mean, their deviations within and between queries, and their
    range, so the spread of scores takes them for uncorrelated. A model that normalises within queries has
    statistics of normalised columns, which say nothing of the raw ones.

    Examples
    --------
    >>> from marginrank import ColumnStatistics, RankingModel
    >>> from marginrank.export import TARGETS
    >>> seconds = ColumnStatistics([1.6e9], [1.7e9], [1.65e9], [3e7], [1e6], [0.0], 100)
    >>> model, options = RankingModel([1e-6], column_statistics=seconds), Options(("seconds",), "model")
    >>> content = TARGETS["solr"].write(model, options).content
    >>> loss = estimated_loss(TARGETS["solr"], content, options, model)
    >>> round(loss.total, 4), loss.columns.round(4).tolist()
    (0.0002, [0.0001])
    """
    statistics = model.column_statistics
    if statistics is None or model.query_normalization is not None:
        return None
    weights = np.abs(model.coef) if _is_linear(model) else np.ones(model.n_features)
    X, queries, n_ordinary = _made_rows(statistics, weights)
    try:
        expected = model.predict(X)
    except MarginRankError:  # a map that made rows do not fit
        return None
    found = target.scorer(content, options)(X, queries)
    if not np.isfinite(found).all():
        return None
    ordinary = slice(n_ordinary)
    spread = compare_scores(expected[ordinary], found[ordinary], queries[ordinary]).spread
    check = compare_scores(expected, found, queries)
    with np.errstate(divide="ignore", invalid="ignore"):
        total = float(np.nan_to_num(np.float64(check.largest_difference) * check.spread / spread))
    largest = np.maximum(np.abs(statistics.low), np.abs(statistics.high))
    if not _is_linear(model):
        return Float32Loss(total, _parts(largest, statistics.within_deviation), spread)
    in_ranges = Float32Bound(target, options, model).in_ranges(statistics.low, statistics.high)
    bound = _of_differences(in_ranges, spread)
    return Float32Loss(total, _parts(np.abs(model.coef) * largest, spread), spread, bound)


def _of_differences(bound: float, spread: float) -> float | None:
    """Return a bound of scores as one of differences of two of them, as a part of the spread."""
    return 2.0 * bound / spread if spread > 0.0 else None


def _is_linear(model: ExportedModel) -> bool:
    """Whether weights tell what a rounded value does to a score."""
    return model.mapping is None and model.query_normalization is None


def _parts(sizes: Vector, told: Vector | float) -> Vector:
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(np.where(sizes > 0.0, _ROUNDING * sizes / told, 0.0))


def _made_rows(statistics: ColumnStatistics, weights: Vector) -> tuple[Vector, Rows, int]:
    """Return rows, their queries, and how many of them are ordinary ones.

    The others have one column at its far end, where long tails have their largest values.
    """
    rng = np.random.default_rng(0)
    n_columns = len(weights)
    n_rows = int(np.clip(_MADE_VALUES // n_columns, _MADE_QUERY, _MADE_ROWS))
    n_queries = n_rows // _MADE_QUERY
    queries = np.arange(n_rows) % n_queries
    within = statistics.within_deviation
    between = np.sqrt(np.maximum(statistics.deviation**2 - within**2, 0.0))
    middles = statistics.mean + between * rng.standard_normal((n_queries, n_columns))
    X = middles[queries] + within * rng.standard_normal((n_rows, n_columns))
    np.clip(X, statistics.low, statistics.high, out=X)
    above, below = statistics.high - statistics.mean, statistics.low - statistics.mean
    reach = np.where(above > -below, above, below)
    farthest = np.argsort(-weights * np.abs(reach), kind="stable")[:_FAR_COLUMNS]
    columns = np.repeat(farthest, _FAR_ROWS)
    chosen = np.arange(len(columns)) % n_rows
    far = X[chosen]
    near_the_end = 1.0 - rng.random(len(columns)) / 16.0
    far[np.arange(len(columns)), columns] = statistics.mean[columns] + reach[columns] * near_the_end
    return np.concatenate((X, far)), np.concatenate((queries, queries[chosen])), n_rows


def warn_of_loss(loss: Float32Loss, names: Sequence[str], title: str) -> None:
    """Warn of scores that lose more than an export may, and name the columns to blame, the worst first."""
    if loss.cautious <= _WARN_ABOVE:
        return
    worst = float(loss.columns.max())
    blamed = np.flatnonzero((loss.columns >= _BLAMED * worst) & (loss.columns > _BLAMED * _WARN_ABOVE))
    changes = "differences of scores change by {loss:.1g} of their spread within a query"
    changes = f"on the rows of {{check}}, {changes}" if loss.measured else f"{changes}, by estimate"
    values: dict[str, str | float] = {}
    if loss.bound is not None and not loss.measured:
        changes += " ({bound:.1g} at most)"
        values["bound"] = loss.bound
    cause = "rounds scores that are large for what they tell apart"
    remedy = "Export to a target of float64, or with {dtype='float64'}."
    if len(blamed):
        cause = "the values of {columns!s} are large for what they tell apart"
        values["columns"] = listed_columns(blamed[np.argsort(-loss.columns[blamed], kind="stable")], names)
        remedy = (
            "Train with the column less a constant, or in larger units, such as days since 2020 for seconds "
            "since 1970; or export to a target of float64, such as sql, vespa or json."
        )
    warn(
        Sentence(
            f"{{title!s}} computes in float32, and {cause}: {changes}, so rows that are closer may change "
            "places.",
            remedy,
            title=title,
            loss=loss.total,
            **values,
        ),
        Float32Warning,
    )
