"""What is learned from answers: a sparse logistic ranker, its certificate, and how often it is right."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from math import sqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray

from marginrank.estimators import RankSVM
from marginrank.judging.answers import Judgement
from marginrank.model import RankingModel
from marginrank.types import Rows, Vector

# A few answers and many columns: most of the penalty is L1. From 100 answers on it falls as the noise of a
# mean does; before, questions would be drawn blindly for long if it were larger (benchmarks/judging.py).
_ALPHA, _L1, _MANY = 0.05, 0.9, 100
_FOLDS = 5
# Numbers in X up to which threads cost more than they bring (5,000 x 30: 65 instead of 85 ms of CPU time).
_SMALL = 2**20
_LEAST_TESTED = 5


@dataclass(frozen=True, eq=False)
class Learned:
    """What a number of answers taught.

    Parameters
    ----------
    model : RankingModel
        The ranker.
    scores : ndarray of shape (n_items,)
        Of all items.
    gap : float
        How far its objective is from the optimum at most, relative to it: the certificate.
    n_answers : int
        How many preferences and ties it was trained on.
    n_right, n_tested : int
        Blindly drawn questions that models of the other answers got right, and how many there were.
    """

    model: RankingModel
    scores: Vector
    gap: float
    n_answers: int
    n_right: int
    n_tested: int

    @property
    def accuracy(self) -> tuple[float, float, float] | None:
        """The share that was right with its 95% interval (Wilson); None while too few were tested.

        Examples
        --------
        >>> model = RankingModel([1.0])
        >>> low_high = Learned(model, model.coef, 0.0, 50, 8, 10).accuracy
        >>> [round(one, 3) for one in low_high]
        [0.8, 0.49, 0.943]
        """
        n = self.n_tested
        if n < _LEAST_TESTED:
            return None
        share, z = self.n_right / n, 1.959964
        middle = (share + z * z / (2 * n)) / (1 + z * z / n)
        half = z * sqrt(share * (1 - share) / n + z * z / (4 * n * n)) / (1 + z * z / n)
        return share, middle - half, middle + half


def learn(
    X: NDArray[np.float64],
    judgements: Sequence[Judgement],
    *,
    feature_names: tuple[str, ...] | None = None,
    start: Any = None,
    test: bool = True,
) -> tuple[Learned, Any] | None:
    """Train on answers; the fitted ranker comes along, as a ``start`` for the next time.

    Parameters
    ----------
    X : ndarray of shape (n_items, n_features)
        The items.
    judgements : sequence of Judgement
        All answers.
    feature_names : tuple of str, optional
        Names of the columns, for the model.
    start : RankSVM, optional
        What the last call returned.
    test : bool, default=True
        Whether to measure on held-out answers, which takes five more fits.

    Returns
    -------
    (Learned, RankSVM) or None
        None while there is no preference.
    """
    used = [one for one in judgements if one.answer in ("win", "tie")]
    if not any(one.answer == "win" for one in used):
        return None
    ranker = _fit(X, used, start)
    right, tested = _held_out(X, used) if test else (0, 0)
    fitted = ranker.to_model()
    model = RankingModel(
        fitted.coef,
        feature_names=feature_names,
        column_scale=fitted.column_scale,
        column_statistics=fitted.column_statistics,
        metadata={**fitted.metadata, "n_answers": len(used)},
    )
    return Learned(model, ranker.predict(X), float(ranker.gap_), len(used), right, tested), ranker


def _fit(X: NDArray[np.float64], used: Sequence[Judgement], start: Any) -> Any:
    alpha = _ALPHA * sqrt(_MANY / max(_MANY, len(used)))
    ranker = RankSVM(
        loss="logistic",
        alpha=alpha,
        l1_ratio=_L1,
        scale="standard",
        warm_start=True,
        n_jobs=1 if X.size <= _SMALL else None,
    )
    if start is not None:
        ranker.coef_ = start.coef_
    pairs, weight = pairs_of(used)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # after few answers the best model may be 0, and that is fine
        return ranker.fit_pairs(X, pairs, weight=weight)


def pairs_of(used: Sequence[Judgement]) -> tuple[Rows, Vector]:
    """Return preferences with their weights; a tie is half of one each way."""
    pairs: list[tuple[int, int]] = []
    weight: list[float] = []
    for one in used:
        if one.answer == "win":
            pairs.append((one.first, one.second))
            weight.append(1.0)
        elif one.answer == "tie":
            pairs += [(one.first, one.second), (one.second, one.first)]
            weight += [0.5, 0.5]
    return np.array(pairs, dtype=np.int64), np.array(weight)


def _held_out(X: NDArray[np.float64], used: Sequence[Judgement]) -> tuple[int, int]:
    """Return how many blindly drawn questions are answered rightly by models that have not seen them.

    Answers about the same two items, by several raters perhaps, are in one fold.
    """
    groups: dict[tuple[int, int], int] = {}
    folds = []
    for one in used:
        key = (min(one.first, one.second), max(one.first, one.second))
        folds.append(groups.setdefault(key, len(groups)) % _FOLDS)
    right = tested = 0
    for fold in range(_FOLDS):
        known = [one for one, place in zip(used, folds, strict=True) if place != fold]
        asked = [
            one
            for one, place in zip(used, folds, strict=True)
            if place == fold and one.kind == "random" and one.answer == "win"
        ]
        if not asked or not any(one.answer == "win" for one in known):
            continue
        scores = _fit(X, known, None).predict(X)
        right += sum(bool(scores[one.first] > scores[one.second]) for one in asked)
        tested += len(asked)
    return right, tested
