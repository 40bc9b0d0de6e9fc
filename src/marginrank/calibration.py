"""Probabilities that one row is above another, fitted to held-out pairs.

Scores of a ranker have an order and no unit. Of the pairs of held-out rows whose scores differ by so much, a
share is in the right order: that share, as a function of the difference, is the probability. It can only rise
with the difference, so it is fitted by isotonic regression; a pair is as far from a tie one way as the other,
so the function is mirrored at 1/2.
"""

from __future__ import annotations

from copy import copy
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import isotonic_regression
from sklearn.base import clone

from marginrank.data import RankingData
from marginrank.data.query_folds import dealt_by_size
from marginrank.data.weights import moderate
from marginrank.exceptions import MarginRankError, ParameterError
from marginrank.model import RankingModel
from marginrank.model.calibration import PairCalibration
from marginrank.parameters import check_count
from marginrank.types import Vector

__all__ = ["PairCalibration", "calibrate"]

_LEAST_PAIRS = 50
#: Knots of the function at most, and pairs of each at least.
_MOST_BINS, _LEAST_IN_BIN = 200, 50
# Of larger data a fixed draw of the pairs of each query is looked at.
_MOST_PAIRS, _SEED = 5_000_000, 20170


def calibrate(
    model: Any,
    X: Any,
    y: Any = None,
    *,
    qid: Any = None,
    group: Any = None,
    sample_weight: Any = None,
    query_weight: Any = None,
    cv: int | None = None,
) -> RankingModel:
    """Return the model with probabilities of pairs: ``calibrate(...).probability(a, b)`` is P(a above b).

    Parameters
    ----------
    model : ranker, pipeline or RankingModel
        Fitted, on other queries than these. With ``cv``, a ranker, which is trained here; it is not changed.
    X : array-like, sparse matrix, data frame or RankingData of shape (n_rows, n_features)
        Held-out rows, with the columns of the training rows.
    y : array-like of shape (n_rows,)
        Their labels; a ``RankingData`` brings its own.
    qid, group, sample_weight, query_weight : optional
        As in ``fit``. A pair weighs the product of the weights of its rows, times that of its query.
    cv : int, optional
        For want of held-out queries: train on all of these, and fit the probabilities to the scores that
        rankers trained without a fold give to the queries of that fold, one fold of so many after the other.
        Where ``alpha="auto"``, alpha is chosen once, on all.

    Returns
    -------
    RankingModel
        With ``calibration``, a :class:`PairCalibration`; ``save`` keeps it.

    Notes
    -----
    Pairs of rows with different labels count; up to five million of them are looked at, of larger data as
    many by a fixed draw. They are put into up to 200 bins by the difference of their scores, and isotonic
    regression (Ayer et al., 1955) makes the shares of the bins rise; each bin counts one more pair, half of
    it in the right order, so that no probability is 0 or 1.

    What the error of probabilities is on other queries depends on the number of held-out queries more than on
    that of their pairs, because queries differ: with ``cv`` all of them train and all of them calibrate.

    Examples
    --------
    >>> from marginrank import RankSVM, calibrate
    >>> from marginrank.datasets import make_ranking
    >>> X, y, qid = make_ranking(60, 10)
    >>> train, held = qid < 40, qid >= 40
    >>> model = calibrate(RankSVM().fit(X[train], y[train], qid=qid[train]), X[held], y[held], qid=qid[held])
    >>> best, worst = X[held][y[held].argmax()], X[held][y[held].argmin()]
    >>> model.probability(best, worst) > 0.9
    True
    """
    given = {"qid": qid, "group": group, "sample_weight": sample_weight, "query_weight": query_weight}
    if isinstance(X, RankingData):
        if y is not None or any(value is not None for value in given.values()):
            raise MarginRankError("RankingData carries y, qid and weights; do not pass them again.")
        data = X
    else:
        if y is None:
            raise MarginRankError("calibrate compares with labels, and y is None.")
        data = RankingData(X, y, **given)
    if data.y is None:
        raise MarginRankError("X holds pairs and no y; calibrate compares with y.")
    if cv is None:
        fitted = model if isinstance(model, RankingModel) else _model_of(model)
        scores = fitted.predict(data)
    else:
        fitted, scores = _cross_fitted(model, data, check_count(cv, "cv", least=2, most=1000))
    return _with_calibration(fitted, _fitted(_held_out_pairs(scores, data)))


def _cross_fitted(ranker: Any, data: RankingData, n_folds: int) -> tuple[RankingModel, Vector]:
    """Return the model of all rows, and scores of each row by a ranker that has not seen its query."""
    if isinstance(ranker, type) or not all(hasattr(ranker, name) for name in ("to_model", "get_params")):
        raise ParameterError("model", "a ranker of this library, where cv is given", ranker)
    if data.query_ids is None or data.n_queries < n_folds:
        raise MarginRankError.saying(
            "Folds are of whole queries, and there are fewer of these than {cv=:d}: {n_queries:,}.",
            "Give {qid} or {group}, or a smaller {cv}.",
            cv=n_folds,
            n_queries=data.n_queries,
        )
    base = clone(ranker).fit(data)
    whole: RankingModel = base.to_model()
    if base.get_params().get("alpha") == "auto":
        base.set_params(alpha=float(base.alpha_))
    sizes = np.diff(data.query_ptr)
    fold_of_query = dealt_by_size(sizes, np.arange(data.n_queries), n_folds)
    fold = data.in_original_order(np.repeat(fold_of_query, sizes))
    scores = np.empty(data.n_rows)
    for k in range(n_folds):
        scores[fold == k] = clone(base).fit(data.subset(fold != k)).predict(data.subset(fold == k))
    return whole, scores


def _model_of(model: Any) -> RankingModel:
    known = any(hasattr(model, name) for name in ("to_model", "steps", "best_estimator_"))
    if isinstance(model, type) or not known:
        raise ParameterError(
            "model", "a fitted ranker, a pipeline that ends in one, or a RankingModel", model
        )
    return RankingModel.from_estimator(model)


class _Pairs(NamedTuple):
    """Distance of the scores of each pair, whether the order is right (ties half), and its weight."""

    distance: Vector
    right: Vector
    weight: Vector


def _held_out_pairs(scores: Vector, data: RankingData) -> _Pairs:
    most = max(1000, _MOST_PAIRS // max(1, data.n_queries))
    rng = np.random.default_rng(_SEED)
    assert data.y is not None
    order = np.arange(data.n_rows) if data.order is None else data.order
    y, s = data.y[order], scores[order]
    w = None if data.sample_weight is None else moderate(data.sample_weight)[order]
    by_query = None if data.query_weight is None else moderate(data.query_weight)
    found = []
    for k, (first, last) in enumerate(zip(data.query_ptr[:-1], data.query_ptr[1:], strict=True)):
        i, j, factor = _rows_of_pairs(int(last - first), most, rng)
        i, j = i + first, j + first
        differ = y[i] != y[j]
        i, j = i[differ], j[differ]
        d, higher = s[i] - s[j], y[i] > y[j]
        weight = np.full(len(i), factor) if w is None else factor * w[i] * w[j]
        if by_query is not None:
            weight = weight * by_query[k]
        found.append((np.abs(d), np.where(d == 0, 0.5, (d > 0) == higher), weight))
    distance, right, weight = (np.concatenate(parts) for parts in zip(*found, strict=True))
    counts = weight > 0
    return _Pairs(distance[counts], right[counts].astype(np.float64), weight[counts])


def _rows_of_pairs(
    m: int, most: int, rng: np.random.Generator
) -> tuple[NDArray[np.int64], NDArray[np.int64], float]:
    """Return all pairs of m rows, or a draw of them, and how many pairs each stands for."""
    if m * (m - 1) // 2 <= most:
        i, j = np.triu_indices(m, 1)
        return i, j, 1.0
    i = rng.integers(m, size=most)
    j = (i + rng.integers(1, m, size=most)) % m
    return i, j, m * (m - 1) / 2 / most


def _fitted(pairs: _Pairs) -> PairCalibration:
    n_pairs = len(pairs.distance)
    if n_pairs < _LEAST_PAIRS:
        raise MarginRankError(
            f"X and y have {n_pairs} pairs of rows with different labels, and probabilities need at least "
            f"{_LEAST_PAIRS}. Give more queries, or check qid."
        )
    order = np.argsort(pairs.distance, kind="stable")
    distance, right, weight = (values[order] for values in pairs)
    n_bins = int(np.clip(n_pairs // _LEAST_IN_BIN, 1, _MOST_BINS))
    edges = np.linspace(0, n_pairs, n_bins + 1).astype(np.int64)[:-1]
    # Equal distances share a bin, or the function would have two values there.
    starts = np.unique(np.searchsorted(distance, distance[edges], side="left"))
    total = np.add.reduceat(weight, starts)
    count = np.diff(np.append(starts, n_pairs))
    centre = np.add.reduceat(weight * distance, starts) / total
    share = np.add.reduceat(weight * right, starts) / total
    share = (share * count + 0.5) / (count + 1.0)
    # Distances of 0 are ties, whose probability is 1/2 anyway; rounded centres may meet.
    kept = (centre > 0.0) & np.append(True, np.diff(centre) > 0.0)
    if not kept.any():
        raise MarginRankError("All scores of X are equal within queries, so the model has no probabilities.")
    fitted = isotonic_regression(share[kept], weights=total[kept]).x.clip(0.5, 1.0)
    return PairCalibration(centre[kept], np.maximum.accumulate(fitted), n_pairs)


def _with_calibration(model: RankingModel, calibration: PairCalibration) -> RankingModel:
    found = copy(model)
    object.__setattr__(found, "calibration", calibration)  # nobody else has seen the copy yet
    return found
