"""Choosing alpha: grids, folds, validation curves and the rule that picks from them.

``alpha="auto"`` means the same in every estimator and is built here; estimators bring only the engine that
makes it cheap.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from numbers import Integral
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from marginrank.data import RankingData
from marginrank.data.labels import LabelledQueries
from marginrank.data.query_folds import dealt_by_size
from marginrank.exceptions import MarginRankError, shown
from marginrank.metrics import Evaluator, Metric, parse_metric
from marginrank.parameters import (
    check_choice,
    check_count,
    check_grid,
    check_number,
    check_positive,
)
from marginrank.training.folds import FOLD_SEED, check_cv, check_enough, dealt, given_folds
from marginrank.training.paired_parts import PairedParts, error_of_difference, mean_and_error
from marginrank.types import Rows, Vector

Rule = Literal["best", "one_se"]
#: What models are selected by where nothing else is said. Queries count alike: over all pairs a few long ones
#: decide, and the choice is noisier (NDCG@10 on OHSUMED .433, over queries .450, with validation sets).
DEFAULT_METRIC = "pairwise_error(weighting=queries)"

# Of the standard error of a difference: how much worse the careful rule takes for as good.
_SHARE_OF_ERROR = 0.5
#: More alphas than anyone looks at; a guard against a slip of the keyboard.
MOST_ALPHAS = 100_000


@dataclass(frozen=True, eq=False)
class Selection:
    """The chosen alpha, and what it was chosen from.

    ``curve`` is the mean of the metric at each alpha; ``std`` the standard error of that mean over the folds,
    or over the queries of a validation set (NaN where there is only one). ``diff_std`` is the standard error
    of the difference to the best alpha, over queries: those of all folds, or of the validation set; where a
    fold is one ranking, or holds out pairs, over folds. ``is_restricted`` says that another alpha would have
    been chosen, had it been allowed; ``as_good`` which alphas the rule takes for as good as the best.

    Examples
    --------
    >>> import numpy as np
    >>> nothing = np.full(2, np.nan)
    >>> Selection(1, np.array([1.0, 0.1]), np.array([0.6, 0.7]), nothing, nothing).alpha
    0.1
    """

    index: int
    alphas: Vector
    curve: Vector
    std: Vector
    diff_std: Vector
    #: What the figure of the chosen alpha is the mean of, to compare it with that of another search.
    parts: PairedParts | None = None
    is_restricted: bool = False
    as_good: NDArray[np.bool_] | None = None

    @property
    def alpha(self) -> float:
        """The chosen one."""
        return float(self.alphas[self.index])

    @property
    def edge(self) -> Literal["smallest", "largest"] | None:
        """Which end of the grid was chosen; None within it, and where that says nothing.

        Of fewer than three alphas one is always at an end, and where all are as good no other is better.

        Examples
        --------
        >>> grid, errors = np.array([1.0, 0.1, 0.01]), np.array([[0.3, 0.25, 0.2]])
        >>> Search().select(grid, errors).edge
        'smallest'
        """
        if len(self.alphas) < 3 or (self.as_good is not None and self.as_good.all()):
            return None
        if self.alpha == self.alphas.min():
            return "smallest"
        return "largest" if self.alpha == self.alphas.max() else None

    @property
    def preferred(self) -> Vector:
        """Larger alphas that the rule takes for as good as the best, descending."""
        found = np.zeros(len(self.alphas), dtype=bool) if self.as_good is None else self.as_good
        return np.sort(self.alphas[found & (self.alphas > self.alpha)])[::-1]


@dataclass(frozen=True)
class Search:
    """What a user asked for with ``alpha="auto"``; checked when it is made.

    Parameters
    ----------
    alphas : array-like or None
        The grid; None leaves it to the estimator.
    metric : str or Metric
        What to select by.
    cv : int, splitter, or iterable of (train, test) row numbers
        Folds, where there is no validation set.
    rule : {"best", "one_se"}
        The best mean, or the largest alpha that is worse by at most half of the standard error of the
        difference to it.
    resolution : float, default=0.0
        Figures that differ by less than this fraction count as equal: what the gap of the models leaves open.

    Examples
    --------
    >>> Search(alphas=[1.0, 0.1], metric="ndcg@10", cv=3).rule
    'best'
    """

    alphas: Any = None
    metric: str | Metric = DEFAULT_METRIC
    cv: Any = 5
    rule: Rule = "best"
    resolution: float = 0.0
    parsed: Metric = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "parsed", _parsed(self.metric))
        check_cv(self.cv)
        check_choice("rule", self.rule, ("best", "one_se"))
        object.__setattr__(self, "alphas", None if self.alphas is None else check_alphas(self.alphas))

    def select(
        self,
        alphas: Vector,
        values: NDArray[np.float64],
        weight: Vector | None = None,
        paired: PairedParts | None = None,
    ) -> Selection:
        """Choose from a table of the metric; of equally good alphas the largest.

        Parameters
        ----------
        alphas : ndarray of shape (n_alphas,)
            The grid.
        values : ndarray of shape (n_parts, n_alphas)
            The metric on each fold, or on each query of a validation set; NaN where it does not count.
        weight : ndarray of shape (n_parts,), optional
            Weights of the parts.
        paired : PairedParts, optional
            What alphas are compared on, where that is finer than the values: the queries of all folds.

        Examples
        --------
        >>> values = np.array([[0.30, 0.20, 0.21], [0.34, 0.22, 0.22], [0.32, 0.24, 0.23]])
        >>> Search(rule="best").select(np.array([1.0, 0.1, 0.01]), values).alpha
        0.1
        """
        parts = PairedParts(values, weight)
        curve, std = mean_and_error(parts)
        if not np.isfinite(curve).all():
            raise no_figure(self.parsed)
        paired = parts if paired is None else paired
        if self.rule == "one_se" and paired.n_counted < 2:
            raise MarginRankError.saying(
                "{rule='one_se'} needs at least two folds, or a validation set of at least two queries; use "
                "{rule='best'}."
            )
        signed = -curve if self.parsed.higher_is_better else curve
        lowest = float(signed.min())
        as_good = signed <= lowest + self.resolution * abs(lowest)
        best = _largest_alpha(alphas, as_good)
        diff_std = error_of_difference(paired, best)
        if self.rule == "one_se":
            # A whole standard error is too careful: models as good as the best are rare beyond half of it.
            as_good |= signed <= signed[best] + _SHARE_OF_ERROR * diff_std
        chosen = _largest_alpha(alphas, as_good)
        there = PairedParts(paired.values[:, [chosen]], paired.weight)
        return Selection(chosen, alphas, curve, std, diff_std, there, as_good=as_good)

    def select_so_far(
        self, alphas: Vector, values: NDArray[np.float64], paired: PairedParts | None = None
    ) -> Selection:
        """Choose from what an interrupt left: one ranking alone has no standard error to go by.

        Examples
        --------
        >>> values = np.array([[0.30, 0.20, 0.21]])
        >>> Search(rule="one_se").select_so_far(np.array([1.0, 0.1, 0.01]), values).alpha
        0.1
        """
        parts = PairedParts(values) if paired is None else paired
        search = self if parts.n_counted > 1 else replace(self, rule="best")
        return search.select(alphas, values, paired=paired)

    def best_of(self, selections: Sequence[Selection]) -> int:
        """Return the number of the selection whose curve has the best figure; the first of equals.

        Examples
        --------
        >>> curves = [np.array([0.3, 0.2]), np.array([0.1, 0.4])]
        >>> Search().best_of([Selection(0, np.ones(2), curve, curve, curve) for curve in curves])
        1
        """
        if self.parsed.higher_is_better:
            return int(np.argmax([selection.curve.max() for selection in selections]))
        return int(np.argmin([selection.curve.min() for selection in selections]))

    def evaluator(
        self, data: LabelledQueries | RankingData, y: Vector | None = None, n_jobs: int | None = None
    ) -> Evaluator:
        """Return what measures scores of these rows by the metric, against their labels or others."""
        return Evaluator(data, {str(self.parsed): self.parsed}, y=y, n_jobs=n_jobs)

    def query_folds(self, data: RankingData, partition: int = 0) -> list[tuple[Rows, Rows]]:
        """Split the rows: whole queries together where there are queries, else row by row.

        Further partitions, of a number of folds of queries, differ in which queries go together.

        Examples
        --------
        >>> data = RankingData([[0]] * 6, y=[0, 1] * 3, qid=["a", "a", "b", "b", "c", "c"])
        >>> [test.tolist() for _, test in Search(cv=3).query_folds(data)]
        [[2, 3], [4, 5], [0, 1]]
        """
        if not isinstance(self.cv, Integral):
            return given_folds(self.cv, data)
        if data.query_ids is None:
            return dealt(data.n_rows, int(self.cv), "rows")
        sizes = np.diff(data.query_ptr)
        counted = np.flatnonzero(sizes)
        check_enough(len(counted), int(self.cv), "queries")
        shuffled = np.random.default_rng(FOLD_SEED + partition).permutation(counted)
        fold_of = dealt_by_size(sizes, shuffled, int(self.cv))
        by_row = data.in_original_order(np.repeat(fold_of, sizes))
        return [(np.flatnonzero(by_row != k), np.flatnonzero(by_row == k)) for k in range(int(self.cv))]

    def pair_folds(self, n_pairs: int) -> list[tuple[Rows, Rows]]:
        """Split the numbers of explicit pairs."""
        if not isinstance(self.cv, Integral):
            raise MarginRankError.saying(
                "{cv} must be a number of folds where pairs are learnt from; got {got!s}.",
                "Or {pass} labelled rows as {eval_set}.",
                got=shown(self.cv),
            )
        if self.parsed.name != "pairwise_error":
            raise MarginRankError.saying(
                "Held-out pairs tell the pairwise error only; got {metric=}.",
                "{Pass} labelled rows as {eval_set} to select by it.",
                metric=str(self.parsed),
            )
        return dealt(n_pairs, int(self.cv), "pairs")


def select_within(select: Callable[[NDArray[np.bool_]], Selection], allowed: NDArray[np.bool_]) -> Selection:
    """Choose from the alphas that are allowed; figures are those of all.

    Parameters
    ----------
    select : callable
        Chooses from the alphas of a mask.
    allowed : ndarray of bool, shape (n_alphas,)
        Which may be chosen.
    """
    selection = select(np.ones(len(allowed), dtype=bool))
    if allowed[selection.index]:
        return selection
    within = select(allowed)
    index = int(np.flatnonzero(allowed)[within.index])
    return replace(selection, index=index, parts=within.parts, is_restricted=True)


def _parsed(metric: Any) -> Metric:
    return _parsed_name(metric) if isinstance(metric, str) else parse_metric(metric)


@lru_cache(maxsize=128)
def _parsed_name(name: str) -> Metric:
    """Return the metric of a name: a search checks it whether or not it is used, so each is read once."""
    return parse_metric(name)


def no_figure(metric: Metric) -> MarginRankError:
    """Return what to raise where nothing can be selected by a metric.

    Examples
    --------
    >>> from marginrank.metrics import Metric
    >>> isinstance(no_figure(Metric("map")), MarginRankError)
    True
    """
    return MarginRankError(
        f"{metric} has no value on the validation rows: no query there counts for it (is qid unique per "
        "row?). Use other folds, a larger validation set, or another metric."
    )


def check_alphas(alphas: Any) -> Vector:
    """Return a grid of alphas: finite, positive and distinct, in descending order.

    Examples
    --------
    >>> check_alphas([0.1, 1.0])
    array([1. , 0.1])
    """
    return np.unique(check_grid(alphas, "alphas"))[::-1]


def default_alphas(scale: float, n_alphas: int = 17, decades: float = 8.0) -> Vector:
    """Return a logarithmic grid that ends one decade above ``scale``, descending.

    ``scale`` is the alpha at which regularisation and risk balance; with it the grid follows the units of the
    features.

    Examples
    --------
    >>> default_alphas(1e-2, n_alphas=5, decades=4).tolist()
    [0.1, 0.01, 0.001, 0.0001, 1e-05]
    """
    n_alphas = check_count(n_alphas, "n_alphas", most=MOST_ALPHAS)
    decades = check_positive(decades, "decades")
    undefined = isinstance(scale, float) and not np.isfinite(scale)  # of features that are all constant, say
    scale = 0.0 if undefined else check_number(scale, "scale")
    if scale <= 0.0:
        scale = 1e-2
    return _powers(scale, 1.0 - np.linspace(0.0, decades, n_alphas))


def default_ladder(scale: float, per_decade: int, above: int = 1, below: int = 11) -> Vector:
    """Return all alphas that a default grid may come to, descending; see :func:`default_alphas`.

    Examples
    --------
    >>> default_ladder(1e-2, 1, above=1, below=2).tolist()
    [0.1, 0.01, 0.001, 0.0001]
    """
    scale = scale if np.isfinite(scale) and scale > 0.0 else 1e-2
    return _powers(scale, above - np.arange((above + below) * per_decade + 1) / per_decade)


def _powers(scale: float, exponents: NDArray[np.float64]) -> Vector:
    return np.array([float(f"{10.0**e:.3g}") for e in np.log10(scale) + exponents])


def _largest_alpha(alphas: Vector, candidates: NDArray[np.bool_]) -> int:
    return int(np.argmax(np.where(candidates, alphas, -np.inf)))
