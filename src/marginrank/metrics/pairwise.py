"""The pairwise ranking error: how often a model puts two rows the wrong way round."""

from __future__ import annotations

from typing import Any

import numpy as np

from marginrank.data import validation as gate
from marginrank.data.labels import LabelledQueries
from marginrank.losses import HingeLoss, Weighting
from marginrank.parameters import check_choice
from marginrank.system.threads import resolve_threads


def pairwise_error(
    y: Any,
    scores: Any,
    *,
    qid: Any = None,
    group: Any = None,
    sample_weight: Any = None,
    query_weight: Any = None,
    weighting: Weighting = "pairs",
    n_jobs: int | None = None,
) -> float:
    """Return the share of comparable pairs that the scores put in the wrong order; ties count half.

    Parameters
    ----------
    y : array-like of shape (n_rows,)
        Labels, any real numbers.
    scores : array-like of shape (n_rows,)
        Predicted scores, higher is better.
    qid, group, sample_weight, query_weight : optional
        As in :class:`marginrank.RankingData`.
    weighting : {"pairs", "queries"}, default="pairs"
        Mean over all pairs, or mean over queries of each query's error. Queries without a comparable pair do
        not count.
    n_jobs : int, optional
        Threads to use.

    Returns
    -------
    float
        0 for a perfect order, 0.5 for constant scores, 1 for the reverse order.

    Notes
    -----
    O(m log m) for m rows.

    Examples
    --------
    >>> from marginrank.metrics import pairwise_error
    >>> round(pairwise_error([0, 1, 2], [0.1, 0.9, 0.9]), 3)  # of three pairs one is tied
    0.167
    >>> pairwise_error([0, 1, 1, 0], [1.0, 2.0, 3.0, 4.0], qid=["a", "a", "b", "b"])
    0.5
    """
    check_choice("weighting", weighting, ("pairs", "queries"))
    n_threads = resolve_threads(n_jobs)
    y = gate.check_only_labels(y)
    values = gate.check_scores(scores, len(y))
    weights = {"sample_weight": sample_weight, "query_weight": query_weight}
    view = LabelledQueries.of(y, qid=qid, group=group, **weights).training_view()
    loss = HingeLoss(view, weighting=weighting, n_threads=n_threads)
    ranks = np.unique(values, return_inverse=True)[1].astype(np.float64)
    if view.rows is not None:
        ranks = ranks[view.rows]
    return loss.mean_error(ranks)
