"""Greedy RankRLS: features chosen one after the other, the function that users call."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any, Literal, NamedTuple

import numpy as np

from marginrank.data.matrices import require_memory
from marginrank.designs.scaling import SCALES, ScaleSetting
from marginrank.exceptions import InterruptedWarning, MarginRankError, warn
from marginrank.losses import LeastSquaresLoss
from marginrank.metrics import Metric
from marginrank.metrics.evaluator import weighted_mean
from marginrank.parameters import check_choice, check_count, check_positive, check_verbose
from marginrank.paths.arithmetic import check_path, finite_path
from marginrank.paths.chosen_features import ChosenFeatures
from marginrank.paths.linear_path import training_data
from marginrank.paths.path_base import PathOrigin, made_despite_interrupt
from marginrank.system.progress_bar import ProgressBar, stage
from marginrank.system.threads import one_blas_thread, resolve_threads
from marginrank.training.forward_selection import Step, forward_steps, models_of
from marginrank.training.pair_out import PairOut
from marginrank.training.problems import Problem, RawColumns
from marginrank.training.query_out import QueryOut
from marginrank.training.selection import DEFAULT_METRIC, Search
from marginrank.types import Mask

# What "auto" chooses from, and how many in a row that are no better end it.
_ALPHAS, _WORSE = tuple(10.0**k for k in range(2, -9, -1)), 2
_HEADER = f"{'features':>10s} {'error':>12s}"


def rank_rls_selection(
    X: Any,
    y: Any = None,
    *,
    n_features: int,
    qid: Any = None,
    group: Any = None,
    sample_weight: Any = None,
    query_weight: Any = None,
    alpha: float | Literal["auto"] = 1e-4,
    scale: ScaleSetting | None = "auto",
    metric: str | Metric = DEFAULT_METRIC,
    n_jobs: int | None = None,
    verbose: int = 0,
) -> ChosenFeatures:
    """Choose features for RankRLS one after the other, each the one that makes the held-out error least.

    The model of every number of features comes along, and for each the error of queries by models that were
    fitted without them: exactly that of refits, and none is made.

    Parameters
    ----------
    X : array-like, sparse matrix, data frame or RankingData of shape (n_rows, n_features)
        The features, in memory. A ``RankingData`` carries labels, queries and weights.
    y : array-like of shape (n_rows,)
        Labels; higher is better.
    n_features : int
        How many features to choose.
    qid, group, sample_weight, query_weight : optional
        As in :class:`marginrank.RankingData`. Without queries there is one ranking of all rows, in which
        pairs of rows are held out; it takes no weights.
    alpha : float or "auto", default=1e-4
        Strength of the regularisation, as in :class:`marginrank.RankRLS`. Models without a query, of weight
        ``M_q`` of M, have the same ``lambda = alpha M / 2``: that is ``alpha M / (M - M_q)``. With "auto" the
        features are chosen at 100, 10, 1, ... down to 1e-8, until two in a row have no smaller held-out
        squared error at any number of features, and the alpha of the smallest is taken.
    scale : {"auto", None, "standard", "minmax"}, default="auto"
        As in :class:`marginrank.RankRLS`. Without, columns of small numbers are penalised most.
    metric : str or Metric, default="pairwise_error(weighting=queries)"
        Measured on the held-out scores of every number of features. It does not decide: the squared error
        does. One ranking of all rows has the pairwise error only.
    n_jobs : int, optional
        Threads; the result has the same bits for any number.
    verbose : int, default=0
        Show progress on the standard error stream.

    Returns
    -------
    ChosenFeatures
        Ctrl-C ends it early, with a warning: what is returned are the features so far, or with
        ``alpha="auto"`` those of the best alpha so far. Before the first feature there are none, and
        KeyboardInterrupt is raised.

    Notes
    -----
    Time is O(k m n) for k of n features and m rows: each feature takes one read of X. Memory beside X is
    ``8 (k + 6) q n`` bytes for q queries of two rows or more; it is least where queries are long. For one
    ranking it is a dense copy of X in float64, two where X is sparse, and 24 bytes for each held-out pair:
    all pairs up to 2**20 of them (1,448 rows), else about as many, drawn with a fixed seed so that every row
    is in the same number.

    Columns that are constant wherever rows are compared are not chosen. Of columns whose errors differ by
    less than 1e-12 of the error without features, the first is taken.

    References
    ----------
    T. Pahikkala, A. Airola, P. Naula, T. Salakoski: Greedy RankRLS, a linear time algorithm for learning
    sparse ranking models.

    Examples
    --------
    >>> import numpy as np
    >>> from marginrank import rank_rls_selection
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(300, 8))
    >>> y = X[:, [5, 2, 7]] @ [3.0, -2.0, 1.0] + rng.normal(size=300)
    >>> chosen = rank_rls_selection(X, y, qid=np.arange(300) // 10, n_features=4)
    >>> chosen.features[:3]
    [5, 2, 7]
    >>> chosen.curve.round(1).tolist()
    [5.0, 1.7, 0.8, 0.8]
    >>> chosen.model(2).n_features_used
    2
    """
    check_verbose(verbose)
    searches = isinstance(alpha, str) and alpha == "auto"
    alphas = _ALPHAS if searches else (check_positive(alpha, "alpha", "'auto' or a positive, finite number"),)
    check_choice("scale", scale, SCALES)
    search = Search(metric=metric)
    data = training_data(X, y, qid, group, None, sample_weight, query_weight)
    if data.y is None:
        raise MarginRankError("Features are chosen by labels, and these data hold pairs and no y.")
    require_memory(data.X, "The choice of features")
    count = check_count(n_features, "n_features", most=data.X.shape[1])
    threads = resolve_threads(n_jobs)
    with one_blas_thread(), finite_path(data, labels=True, alpha=alphas[0]):
        columns = RawColumns(data.X, scale, threads)
        problem = Problem(data, partial(LeastSquaresLoss, n_threads=threads), columns)
        loss = problem.loss.at(np.zeros(problem.loss.n_rows)).value
        is_open = _open_columns(problem, count)
        holding_out = QueryOut if data.n_queries > 1 else PairOut

        def begin(alpha: float) -> tuple[_Choice, Iterator[Step]]:
            held_out = holding_out(problem, alpha, count, search, threads)
            steps = forward_steps(held_out, is_open, count, loss, partial(check_path, data))
            return _Choice(alpha, held_out, []), steps

        choice, status = _of_least_error(alphas, begin, count, verbose)
        origin = PathOrigin("rank_rls_selection", {"scale": scale, "held_out": holding_out.held_out})
        found = made_despite_interrupt(
            partial(_with_models, choice, problem, without=loss, metric=search.parsed, origin=origin), status
        )
    if found.status == "interrupted":
        warn(_why_ended(found, count), InterruptedWarning)
    return found


class _Choice(NamedTuple):
    """The features that were chosen at an alpha, so far."""

    alpha: float
    held_out: QueryOut | PairOut
    steps: list[Step]

    @property
    def least_error(self) -> float:
        """The held-out error at the best number of features."""
        return min(weighted_mean(step.error.values, step.error.weight) for step in self.steps)


def _of_least_error(
    alphas: Sequence[float],
    begin: Callable[[float], tuple[_Choice, Iterator[Step]]],
    count: int,
    verbose: int,
) -> tuple[_Choice, str]:
    """Return what was chosen at the alpha whose best number of features has the least error, and a status.

    Ctrl-C leaves the best of the alphas that are through, of the first one the features so far.
    """
    best: _Choice | None = None
    under_way: _Choice | None = None
    least, worse = np.inf, 0
    try:
        with ProgressBar("choosing features") as bar:
            for alpha in alphas:
                under_way, steps = begin(alpha)
                part_done = stage("choosing features", count)
                for step in steps:
                    under_way.steps.append(step)
                    part_done()
                    if verbose:
                        _show(bar, under_way, count, searches=len(alphas) > 1)
                error = under_way.least_error
                if best is None or error < least:
                    best, least, worse = under_way, error, 0
                else:
                    worse += 1
                if worse == _WORSE:
                    break
    except KeyboardInterrupt:
        best = under_way if best is None else best
        if best is None or not best.steps:
            raise
        return best, "interrupted"
    assert best is not None
    return best, "finished"


def _show(bar: ProgressBar, choice: _Choice, count: int, *, searches: bool) -> None:
    """Show the last feature; nobody knows how many alphas a search will take."""
    k, last = len(choice.steps), choice.steps[-1].error
    error = weighted_mean(last.values, last.weight)
    if searches:
        figures, line = (
            f"alpha {choice.alpha:.3g}  error {error:.4g}",
            f"{choice.alpha:10.3g} {k:10d} {error:12.5g}",
        )
        bar.show(None, figures, header=f"{'alpha':>10s} {_HEADER}", line=line)
    else:
        bar.show(k / count, f"error {error:.4g}", header=_HEADER, line=f"{k:10d} {error:12.5g}")


def _with_models(
    choice: _Choice, problem: Problem, status: str, *, without: float, metric: Metric, origin: PathOrigin
) -> ChosenFeatures:
    """Return chosen features with the models of the first one, the first two, and so on."""
    steps, data = choice.steps, problem.data
    weights = models_of(choice.held_out, [step.column for step in steps])
    check_path(data, *weights, *(step.error.values for step in steps))
    return ChosenFeatures(
        steps,
        weights,
        status=status,
        alpha=choice.alpha,
        without=without,
        metric=metric,
        transform=problem.transform,
        feature_names=data.feature_names,
        n_columns=data.X.shape[1],
        origin=origin,
    )


def _why_ended(found: ChosenFeatures, count: int) -> str:
    """Return what is said of Ctrl-C."""
    if len(found) < count:
        return f"The choice of features was interrupted after {len(found)} of {count}; these are returned."
    return (
        "The choice of features was interrupted; those of the best alpha so far, "
        f"{found.alpha:.3g}, are returned."
    )


def _open_columns(problem: Problem, count: int) -> Mask:
    """Return which columns may be chosen: at least as many as are asked for."""
    constant, n_columns = problem.transform.constant, problem.data.X.shape[1]
    is_open = np.ones(n_columns, dtype=bool) if constant is None else ~constant
    n_open = int(is_open.sum())
    if count > n_open:
        raise MarginRankError.saying(
            "{n_features} must be at most {n_open:d}, the number of columns that differ between rows that "
            "are compared; got {count:d}.",
            n_open=n_open,
            count=count,
        )
    return is_open
