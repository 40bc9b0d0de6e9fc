"""The certified path of structured rankers: trained for a metric of whole rankings, at every alpha."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any, Literal

import numpy as np

from marginrank.data import RankingData
from marginrank.designs.scaling import ScaleSetting
from marginrank.exceptions import MarginRankError, Sentence, ZeroModelWarning, warn
from marginrank.gains import GainSetting, GainTable, read_gain
from marginrank.losses.structured import TargetOptions, refuses_row_weights
from marginrank.metrics import Metric
from marginrank.parameters import check_number
from marginrank.paths.arithmetic import finite_path
from marginrank.paths.certified_paths import certified_path
from marginrank.paths.linear_model import LinearRankPath
from marginrank.paths.linear_path import path_problem, training_data
from marginrank.paths.path_base import PathOrigin
from marginrank.paths.solved_path import SolvedRankPath
from marginrank.system.threads import one_blas_thread, resolve_threads
from marginrank.training.penalty_settings import read_penalty, written_penalty
from marginrank.training.structured_targets import read_aim


@refuses_row_weights
def structured_rank_path(
    X: Any,
    y: Any = None,
    *,
    qid: Any = None,
    group: Any = None,
    query_weight: Any = None,
    target: str | Metric | dict[str, float] = "ndcg@10",
    feature_map: Literal["po", "mrr", "dorm"] = "po",
    relevance: float | None = None,
    gain: GainSetting = "exponential",
    discount: Literal["log2", "letor"] = "log2",
    rank_weight: Literal["fourth_root", "discount"] = "fourth_root",
    truncate: bool = False,
    scale: ScaleSetting | None = "auto",
    alpha_max: float | None = None,
    alpha_min: float | None = None,
    eps: float = 1e-3,
    l1_ratio: float = 0.0,
    bounds: Any = None,
    n_alphas: int = 50,
    n_jobs: int | None = None,
    callbacks: Any = None,
    verbose: int = 0,
) -> LinearRankPath | SolvedRankPath:
    """Compute the models that are trained for a metric, at all alphas of an interval, each within eps.

    Parameters
    ----------
    X : array-like, sparse matrix, data frame or RankingData of shape (n_rows, n_features)
        The features. A ``RankingData`` carries labels, queries and weights of queries.
    y : array-like of shape (n_rows,)
        Labels; higher is better.
    qid, group, query_weight : optional
        As in :class:`marginrank.RankingData`.
    target : str, Metric or dict, default="ndcg@10"
        "auc", "map", "mrr" or "ndcg", with a cut-off to evaluate at, or a dict of these with weights.
    feature_map, relevance, gain, discount, rank_weight, truncate
        As in :class:`marginrank.StructuredRankSVM`.
    scale, alpha_max, alpha_min, eps, l1_ratio, bounds, n_alphas, n_jobs, callbacks, verbose
        As in :func:`rank_path`.

    Returns
    -------
    LinearRankPath or SolvedRankPath
        As of :func:`rank_path`. Its ``select`` measures the target, if no metric is named. Ctrl-C ends it
        early, with a warning.

    Warns
    -----
    ZeroModelWarning
        If no model of the path gains more than eps over ``w = 0``.

    Examples
    --------
    >>> import numpy as np
    >>> from marginrank.paths import structured_rank_path
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(600, 5))
    >>> y = np.digitize(X @ [3.0, -2.0, 1.0, 0.0, 0.0] + rng.normal(size=600), [2.0, 5.0])
    >>> qid = np.arange(600) // 20
    >>> path = structured_rank_path(X, y, qid=qid, target="map", eps=1e-2)
    >>> path.gap_at(0.1 * path.alpha_max_) <= 1e-2
    True
    >>> path.select(X, y, qid=qid).metric
    'map(rel=all,ties=average)'
    """
    data = _labelled_rows(X, y, qid, group, query_weight)
    given = None if relevance is None else check_number(relevance, "relevance")
    options = TargetOptions(gain=read_gain(gain), discount=discount, rank_weight=rank_weight)
    labelled = read_aim(target, feature_map, options, truncate).for_labels(data, given)
    aim = labelled.aim
    settings = read_penalty(l1_ratio, bounds, data.n_features, data.feature_names)
    threads = resolve_threads(n_jobs)
    make_loss = partial(aim.loss, n_threads=threads)
    parameters = {"target": _written(target), "feature_map": feature_map, "relevance": labelled.relevance}
    parameters |= {**_written_options(options), "truncate": truncate, "scale": scale, "eps": eps}
    parameters |= written_penalty(settings.l1_ratio, bounds)
    origin = PathOrigin("structured_rank_path", parameters, aim.metrics[0])
    with one_blas_thread(), finite_path(data, alpha_max=alpha_max, alpha_min=alpha_min):
        problem = path_problem(data, make_loss, make_loss, scale, threads, settings)  # there are no pairs
        zero = np.zeros(problem.loss.n_rows)
        at_zero = problem.loss.at(zero).value  # first: Ctrl-C there has no path to lose
        more = (eps, n_jobs, callbacks, verbose, origin, n_alphas)
        path = certified_path(problem, alpha_max, alpha_min, *more)
        _warn_of_zero(path, at_zero, target)
    return path


def _labelled_rows(X: Any, y: Any, qid: Any, group: Any, query_weight: Any) -> RankingData:
    """Return labelled rows; refuse pairs, and rows without labels."""
    if y is None and not isinstance(X, RankingData):
        raise MarginRankError("Structured targets rank labelled rows; give y.")
    data = training_data(X, y, qid, group, None, None, query_weight)
    if data.y is None or data.pairs is not None:
        raise MarginRankError("Structured targets rank labelled rows of queries; pairs are for rank_path.")
    return data


def _written_options(options: TargetOptions) -> dict[str, Any]:
    """Return gain, discount and weight of ranks as a file holds them."""
    gain = str(options.gain) if isinstance(options.gain, GainTable) else options.gain
    return {"gain": gain, "discount": options.discount, "rank_weight": options.rank_weight}


def _written(target: str | Metric | dict[str, float]) -> Any:
    """Return a target as a file holds it."""
    if isinstance(target, Mapping):
        return {str(name): float(weight) for name, weight in target.items()}
    return str(target)


def _warn_of_zero(path: LinearRankPath | SolvedRankPath, at_zero: float, target: Any) -> None:
    """Say that no model of the path is better than w = 0, where that is proved."""
    if path.objective_at(path.alpha_min_)[1] >= (1.0 - path.eps) * at_zero:
        message = Sentence(
            "No model down to alpha={bottom:.3g} gains more than {eps=:g} over w = 0 for {target=}.",
            "Use a smaller {alpha_min}, or another {target}: this one may be degenerate here.",
            bottom=path.alpha_min_,
            eps=path.eps,
            target=target,
        )
        warn(message, ZeroModelWarning)
