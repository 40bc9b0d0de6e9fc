r"""The exact regularisation path of kernel RankSVM.

For preferences ":math:`k` above :math:`l`" with weights :math:`w_i` that add up to :math:`N`, the model at
:math:`\alpha` minimises

.. math:: \frac1N \sum_i w_i \max(0, 1 - (f(x_{k_i}) - f(x_{l_i}))) + \frac{\alpha}{2} \|f\|^2

over the functions of the kernel. Its dual variables are linear in :math:`\alpha` between breakpoints; the
native core (``kernel_path.hpp``) goes from one to the next.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from numbers import Integral
from time import perf_counter
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from marginrank._kernels import KernelPath
from marginrank.data import RankingData
from marginrank.data.matrices import in_memory
from marginrank.exceptions import InterruptedWarning, MarginRankError, Sentence, warn
from marginrank.parameters import check_count, check_positive, check_verbose
from marginrank.paths.arithmetic import check_path, finite_path
from marginrank.paths.gram import Kernel, check_memory, distinct_points, gram_matrix
from marginrank.paths.graphs import GraphPairs, check_graph, graph_pairs
from marginrank.paths.kernel_model import KernelRankPath
from marginrank.paths.path_base import PathOrigin, made_despite_interrupt
from marginrank.paths.progress import PathCallback, PathLine, PathProgress
from marginrank.solvers.callbacks import check_callbacks
from marginrank.system.threads import one_blas_thread
from marginrank.types import Array, Rows

__all__ = ["KernelRankPath", "kernel_rank_path"]

_EVENTS_PER_REPORT = 1000
_DEFAULT_END = 1e-5  # of the first breakpoint
_RUNNING = 0
_STATUS = {1: "finished", 2: "stalled"}


def kernel_rank_path(
    X: Any,
    y: Any = None,
    *,
    qid: Any = None,
    pairs: Any = None,
    sample_weight: Any = None,
    query_weight: Any = None,
    weighting: str = "pairs",
    kernel: Any = "rbf",
    gamma: float | None = None,
    degree: float = 3,
    coef0: float = 1,
    kernel_params: dict[str, Any] | None = None,
    graph: str = "all",
    pairs_per_row: int = 10,
    alpha_min: float | None = None,
    max_events: int | None = None,
    random_state: Any = 0,
    callbacks: Any = None,
    verbose: int = 0,
) -> KernelRankPath:
    """Compute the kernel RankSVM models of every ``alpha`` at once, exactly.

    Parameters
    ----------
    X : array-like, sparse matrix, data frame or RankingData of shape (n_rows, n_features)
        The rows; the kernel matrix itself with ``kernel="precomputed"``. A ``RankingData`` carries labels or
        pairs (with their weights and margins), queries and weights.
    y : array-like of shape (n_rows,), optional
        Labels; higher is better. None with ``pairs``.
    qid : array-like of shape (n_rows,), optional
        Query ids; None is one ranking of all rows.
    pairs : array-like of shape (n_pairs, 2), optional
        Row numbers, winner first, instead of ``y``.
    sample_weight, query_weight : optional
        As in :class:`marginrank.RankingData`.
    weighting : {"pairs", "queries"}, default="pairs"
        Whether the loss is a mean over pairs or over queries.
    kernel : str or callable, default="rbf"
        Any name of ``sklearn.metrics.pairwise.kernel_metrics()``, "precomputed", or a function of two rows.
    gamma : float, optional
        Of the rbf, laplacian, polynomial, sigmoid and chi2 kernels; scikit-learn's default where None.
    degree, coef0 : float
        Of the polynomial and sigmoid kernels.
    kernel_params : dict, optional
        Further arguments of a callable kernel.
    graph : {"all", "sampled", "reduced"}, default="all"
        Which pairs of labels to learn from: all; ``pairs_per_row`` random partners of each row, nearly as
        good and much faster; or the reduced graph of the regularisation path paper. That one is for
        reproduction only: it contains preferences that the data do not.
    pairs_per_row : int, default=10
        Partners to draw for each row.
    alpha_min : float, optional
        Where to end; 1e-5 of the first breakpoint by default.
    max_events : int, optional
        End after so many events.
    random_state : int, numpy Generator or None, default=0
        For the sampled graph.
    callbacks : callable or list of callables, optional
        Each receives a :class:`PathProgress` every 1,000 events; returning True ends the path there.
    verbose : int, default=0
        Show the progress on the standard error stream.

    Returns
    -------
    KernelRankPath
        Models at every alpha from infinity down to where the path ended. Ctrl-C ends it early with a warning.

    Notes
    -----
    An event costs about one product of the kernel matrix with a vector, O(n^2) at most; there are 1 to 3
    events per pair. Memory is O(n^2 + pairs + events). Ties are broken by margins of 1 + 1e-8 u with a fixed
    pseudorandom u, which the reported gap includes. The result does not depend on the number of threads.

    Examples
    --------
    >>> import numpy as np
    >>> from marginrank.paths import kernel_rank_path
    >>> X = np.random.default_rng(0).normal(size=(40, 2))
    >>> path = kernel_rank_path(X, np.sign(X[:, 0] * X[:, 1]), kernel="rbf", gamma=0.5)
    >>> path.status_, bool(path.gap_ <= 1e-7)
    ('finished', True)
    >>> path.predict([[1.0, 1.0], [-1.0, 1.0]], alpha=1e-3).argmax()
    np.int64(0)
    """
    checked = check_callbacks(callbacks)
    function = Kernel(kernel, gamma, degree, coef0, kernel_params)
    data = _as_data(X, y, qid, pairs, sample_weight, query_weight)
    if max_events is not None:
        max_events = check_count(max_events, "max_events")
    check_verbose(verbose)
    check_graph(graph, weighting, pairs_per_row)
    if alpha_min is not None:
        alpha_min = check_positive(alpha_min, "alpha_min")
    check_memory(data.n_rows, _pairs_to_come(data, graph, pairs_per_row))
    graph_of = graph_pairs(
        data, graph, pairs_per_row=pairs_per_row, weighting=weighting, random_state=random_state
    )
    with one_blas_thread(), finite_path(data, gamma=gamma, alpha_min=alpha_min), PathLine() as line:
        K = gram_matrix(function, data.X)
        rows, point = distinct_points(K, None if function.is_precomputed else data.X)
        native = _start(K, rows, point, graph_of)
        shown: list[PathCallback] = [line] if verbose else []
        status = _run(native, float(graph_of.weight.sum()), alpha_min, max_events, [*shown, *checked])
        origin = PathOrigin("kernel_rank_path", _parameters(function, graph, weighting))
        make = partial(KernelRankPath, native, K=K, kernel=function, data=data, pairs=graph_of, rows=rows)
        path = made_despite_interrupt(partial(make, origin=origin), status)
        check_path(data, path.alphas, path.gap_)
    _warn(path)
    return path


def _as_data(X: Any, y: Any, qid: Any, pairs: Any, sample_weight: Any, query_weight: Any) -> RankingData:
    extras = (y, qid, pairs, sample_weight, query_weight)
    if isinstance(X, RankingData):
        if any(extra is not None for extra in extras):
            raise MarginRankError("RankingData carries y, qid, pairs and weights; do not pass them again.")
        if not in_memory(X.X):
            raise MarginRankError(
                "The path of a kernel machine needs its rows in memory; load them with in_memory(), or use "
                "rank_path, which trains over data on disk."
            )
        return X
    if y is None and pairs is None:
        raise MarginRankError("A path learns from labels or from pairs of rows; give y or pairs.")
    return RankingData(X, y, qid=qid, pairs=pairs, sample_weight=sample_weight, query_weight=query_weight)


def _pairs_to_come(data: RankingData, graph: str, pairs_per_row: int) -> int:
    """Return how many pairs the graph will have at most, before they are formed."""
    if data.pairs is not None:
        return len(data.pairs)
    n_pairs = data.count_pairs()
    if graph == "sampled" and isinstance(pairs_per_row, Integral):
        return min(n_pairs, data.n_rows * int(pairs_per_row))
    return n_pairs


def _parameters(kernel: Kernel, graph: str, weighting: str) -> dict[str, Any]:
    """Return what models of the path tell about it; a function has no name that a file could hold."""
    name = kernel.kernel if isinstance(kernel.kernel, str) else None
    options = {"kernel": name, "gamma": kernel.gamma, "degree": kernel.degree, "coef0": kernel.coef0}
    return {**options, "graph": graph, "weighting": weighting}


def _start(K: Array, rows: Rows, point: Rows, pairs: GraphPairs) -> KernelPath:
    points = K if len(rows) == len(K) else np.ascontiguousarray(K[np.ix_(rows, rows)])
    winner, loser = point[pairs.winner].astype(np.int32), point[pairs.loser].astype(np.int32)
    return KernelPath(points, winner, loser, pairs.weight, pairs.margin)


def _run(
    native: KernelPath,
    total: float,
    alpha_min: float | None,
    max_events: int | None,
    callbacks: Sequence[PathCallback],
) -> str:
    """Go down the path and return what ended it."""
    first = native.first_breakpoint
    if first == 0.0:
        return "finished"
    last = _DEFAULT_END * first if alpha_min is None else alpha_min * total
    started = perf_counter()
    try:
        while max_events is None or native.n_events < max_events:
            left = _EVENTS_PER_REPORT if max_events is None else int(max_events) - native.n_events
            code = native.advance(min(left, _EVENTS_PER_REPORT), last)
            done = 1.0 if code == 1 else np.log(first / native.reached) / np.log(first / last)
            progress = PathProgress(
                native.n_events,
                native.reached / total,
                float(done),
                native.n_active,
                perf_counter() - started,
            )
            stops = [bool(callback(progress)) for callback in callbacks]
            if code != _RUNNING:
                return _STATUS[code]
            if any(stops):
                return "stopped"
    except KeyboardInterrupt:
        return "interrupted"
    return "max_events"


def _warn(path: KernelRankPath) -> None:
    """Say what is wrong with a path, if anything is."""
    if path.status_ == "interrupted":
        message = (
            f"The path was interrupted at alpha={path.alpha_min_:.3g}; its part down to there is returned."
        )
        warn(message, InterruptedWarning)
    if path.status_ == "stalled":
        message = f"The path stalled at alpha={path.alpha_min_:.3g}; its part down to there is returned."
        warn(message, ConvergenceWarning)
    if not path.is_accurate:
        message = Sentence(
            "The path lost accuracy: its gap is {gap:.1e} at the worst of the points that were checked.",
            "{gap_at(alpha)} tells it anywhere.",
            "Use a larger {alpha_min}, or a kernel whose matrix is further from singular (a larger {gamma}, "
            "scaled features).",
            gap=path.gap_,
        )
        warn(message, ConvergenceWarning)
