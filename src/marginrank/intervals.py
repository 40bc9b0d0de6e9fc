"""How far coefficients depend on the queries that happen to be in the training data: bootstrap intervals."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from marginrank.data import RankingData
from marginrank.data.checking import check_data
from marginrank.exceptions import InterruptedWarning, MarginRankError, ParameterError, warn
from marginrank.explanation.results import text_table
from marginrank.metrics.bootstrap import check_level, draw_counts
from marginrank.parameters import check_count, check_positive, check_seed
from marginrank.system.pictures import new_figure
from marginrank.system.threads import resolve_threads, run_parallel
from marginrank.types import Array, Vector

__all__ = ["CoefficientIntervals", "coefficient_intervals"]

_SHOWN = 20
_LEAST_DRAWS = 2


@dataclass(frozen=True, eq=False)
class CoefficientIntervals:
    """Coefficients with intervals; made by :func:`coefficient_intervals`.

    Parameters
    ----------
    names : tuple of str
        The columns.
    coef : ndarray of shape (n_features,)
        Coefficients of all queries.
    low, high : ndarray of shape (n_features,)
        Ends of the intervals.
    level : float
        Such as 0.95.
    alpha : float
        The regularisation of all fits.
    samples : ndarray of shape (n_boot, n_features)
        Coefficients of the drawn queries.
    deviations : ndarray of shape (n_features,), optional
        What each column usually varies by within a query, which makes coefficients comparable.

    Examples
    --------
    >>> import numpy as np
    >>> coef, low, high = np.array([1.0, 0.1]), np.array([0.5, -1.0]), np.array([1.5, 1.0])
    >>> found = CoefficientIntervals(("a", "b"), coef, low, high, 0.95, 0.01, np.zeros((0, 2)))
    >>> ((found.low > 0) | (found.high < 0)).tolist()  # which are not 0
    [True, False]
    """

    names: tuple[str, ...]
    coef: Vector
    low: Vector
    high: Vector
    level: float
    alpha: float
    samples: NDArray[np.float64]
    deviations: Vector | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, for JSON."""
        columns = zip(self.names, self.coef.tolist(), self.low.tolist(), self.high.tolist(), strict=True)
        return {
            "level": self.level,
            "alpha": self.alpha,
            "n_boot": len(self.samples),
            "coefficients": [
                {"feature": name, "coef": coef, "low": low, "high": high} for name, coef, low, high in columns
            ],
        }

    def __str__(self) -> str:
        order = self._order(_SHOWN)
        rows = [
            (self.names[j], f"{self.coef[j]:.4g}", f"{self.low[j]:.4g}", f"{self.high[j]:.4g}") for j in order
        ]
        more = len(self.names) - len(order)
        table = text_table(("column", "coef", "low", "high"), rows)
        return f"{self.level:.0%} intervals at alpha={self.alpha:g}, {len(self.samples)} draws\n{table}" + (
            f"\nand {more:,} more columns" if more else ""
        )

    def _order(self, n: int) -> list[int]:
        """Return the columns whose intervals lie farthest from 0, in units of their widths."""
        width = np.maximum(self.high - self.low, np.finfo(float).tiny)
        return [int(j) for j in np.argsort(-np.abs(self.coef) / width, kind="stable")[:n]]

    def plot(self, n: int = _SHOWN) -> Any:
        """Draw coefficients with their intervals, times what their columns usually vary by within a query.

        So they can be compared: how far a score moves when a column does what is usual. Where that is not
        known, coefficients are drawn in units of their own deviation over the draws. Intervals that hold 0
        are grey.

        Parameters
        ----------
        n : int, default=20
            How many columns: those whose intervals lie farthest from 0, in units of their widths.

        Returns
        -------
        matplotlib.figure.Figure
            Save it with ``savefig``. Needs matplotlib (``pip install marginrank[plot]``).
        """
        chosen = self._order(check_count(n, "n"))
        if self.deviations is not None:
            factor, unit = self.deviations[chosen], "weight x deviation of its column within queries"
        else:
            spread = np.maximum(self.samples.std(axis=0), np.finfo(float).tiny)
            factor, unit = 1.0 / spread[chosen], "weight / its deviation over the draws"
        figure = new_figure(7.0, 1.2 + 0.3 * len(chosen), "intervals")
        axis = figure.subplots()
        for place, (j, by) in enumerate(zip(chosen, factor.tolist(), strict=True)):
            colour = "0.55" if self.low[j] <= 0.0 <= self.high[j] else "C0"
            axis.hlines([place], [self.low[j] * by], [self.high[j] * by], color=colour)
            axis.plot([self.coef[j] * by], [place], "o", color=colour, markersize=4)
        names = [self.names[j].replace("$", r"\$") for j in chosen]
        axis.set_yticks(range(len(chosen)), names, fontsize="small")
        axis.invert_yaxis()
        axis.axvline(0.0, color="0.6", linewidth=0.8)
        axis.set_xlabel(f"{unit}\nline: {self.level:.0%} interval over queries, grey where it holds 0")
        return figure


def coefficient_intervals(
    ranker: Any,
    data: RankingData,
    *,
    n_boot: int = 200,
    level: float = 0.95,
    tol: float = 1e-6,
    random_state: Any = 0,
    n_jobs: int | None = None,
) -> CoefficientIntervals:
    """Return intervals of the coefficients of a linear ranker, by bootstrap over queries.

    Queries are drawn with replacement, as many as there are, and the ranker is fitted to each draw at one
    alpha. An interval holds a part ``level`` of the fitted coefficients, from the middle. It is about the
    coefficients that infinitely many such queries would give at this alpha, not about a model without
    regularisation.

    Parameters
    ----------
    ranker : RankSVM, RankRLS or StructuredRankSVM
        What is fitted; ``alpha="auto"`` is chosen once, on all queries. It is not changed.
    data : RankingData
        Labelled rows of at least two queries, in memory or on disk.
    n_boot : int, default=200
        Number of draws.
    level : float, default=0.95
        Of the intervals.
    tol : float, default=1e-6
        Relative gap of each fit, where the ranker has one. Fits start from the coefficients of all queries,
        so they must be exact enough to move away from there.
    random_state : int, default=0
        Seed of the draws.
    n_jobs : int, optional
        Threads; fits run side by side. The result does not depend on it.

    Returns
    -------
    CoefficientIntervals
        Coefficients and the ends of their intervals. After Ctrl-C those of the draws that are fitted, with a
        warning; before there are two of them, KeyboardInterrupt is raised.

    Notes
    -----
    Costs ``n_boot`` fits from a warm start. ``python benchmarks/intervals.py`` measures the coverage.

    Examples
    --------
    >>> import numpy as np
    >>> from marginrank import RankingData, RankSVM
    >>> from marginrank.intervals import coefficient_intervals
    >>> X = np.random.default_rng(0).normal(size=(300, 2))
    >>> y = np.round(X[:, 0] + np.random.default_rng(1).normal(size=300))
    >>> data = RankingData(X, y, qid=np.repeat(np.arange(30), 10))
    >>> found = coefficient_intervals(RankSVM("squared_hinge", alpha=0.01), data, n_boot=50)
    >>> bool(0 < found.low[0] < found.coef[0] < found.high[0])
    True
    """
    check_data(data)
    n_boot = check_count(n_boot, "n_boot", least=_LEAST_DRAWS, most=1_000_000)
    level = check_level(level, "level")
    tol = check_positive(tol, "tol")
    seed = check_seed(random_state)
    if data.y is None or data.n_queries < 2:
        raise MarginRankError("data must have labels and at least two queries, which are drawn from.")
    base, alpha = _fitted_once(ranker, data, tol)
    counts = draw_counts(data.n_queries, n_boot, 0 if seed is None else seed)
    samples = _samples(base, data, counts, resolve_threads(n_jobs))
    if len(samples) < n_boot:
        message = f"The intervals were interrupted; they rest on {len(samples)} of {n_boot} draws."
        warn(message, InterruptedWarning)
    tail = (1.0 - level) / 2.0
    low, high = np.quantile(samples, [tail, 1.0 - tail], axis=0)
    names: Sequence[str] = data.feature_names or [f"f{j + 1}" for j in range(data.n_features)]
    known = _deviations(base)
    return CoefficientIntervals(tuple(names), base.coef_.copy(), low, high, level, alpha, samples, known)


def _samples(base: Any, data: RankingData, counts: NDArray[np.int64], n_threads: int) -> Array:
    """Return the coefficients of all draws; after Ctrl-C those of the draws so far, if there are two."""
    samples, is_fitted = np.empty((len(counts), data.n_features)), np.zeros(len(counts), dtype=bool)

    def fit(k: int) -> None:
        samples[k] = _fitted_to_draw(base, data, counts[k])
        is_fitted[k] = True

    try:
        run_parallel(fit, range(len(counts)), n_threads)
    except KeyboardInterrupt:
        if is_fitted.sum() < _LEAST_DRAWS:
            raise
    return samples[is_fitted]


def _deviations(base: Any) -> Vector | None:
    """Return what columns vary by within queries, where training has looked."""
    try:
        found: Vector = base.to_model().feature_weights().deviations
    except MarginRankError:
        return None
    return found


def _fitted_once(ranker: Any, data: RankingData, tol: float) -> tuple[Any, float]:
    """Return a ranker that is fitted to all queries, to start the others from, and its alpha."""
    parameters = ranker.get_params() if hasattr(ranker, "get_params") and not isinstance(ranker, type) else {}
    if "alpha" not in parameters:
        raise ParameterError("ranker", "a ranker of this library, such as RankSVM", ranker)
    if "kernel" in parameters:
        raise _not_linear()
    base = clone(ranker)
    if base.alpha == "auto":
        base.fit(data)
        base.set_params(alpha=float(base.alpha_))
    given = {"tol": min(tol, base.tol) if isinstance(base.tol, float) else tol} if "tol" in parameters else {}
    if "warm_start" in parameters:
        given["warm_start"] = True
    base.set_params(**given, **({"n_jobs": 1} if "n_jobs" in parameters else {}))
    base.fit(data)
    if getattr(base, "coef_", np.empty(0)).shape != (data.n_features,):
        raise _not_linear()
    return base, float(base.alpha)


def _not_linear() -> MarginRankError:
    return MarginRankError(
        "ranker must be linear in the columns, such as RankSVM: a kernel machine has no coefficient of a "
        "column."
    )


def _fitted_to_draw(base: Any, data: RankingData, counts: NDArray[np.int64]) -> Vector:
    """Return the coefficients of drawn queries: a query that is drawn twice weighs twice."""
    weight = counts.astype(np.float64)
    if data.query_weight is not None:
        weight *= data.query_weight
    drawn = data._with(queries=replace(data.queries, query_weight=weight))
    one = copy.copy(base)  # with the coefficients to start from
    coef: Vector = one.fit(drawn).coef_
    return coef
