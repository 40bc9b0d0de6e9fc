"""Which pairs of items to ask about next: those that the model is least sure of, and some at random."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from marginrank.data import validation as gate
from marginrank.data.frames import split_frame
from marginrank.exceptions import MarginRankError, ParameterError, WrongTypeError
from marginrank.parameters import check_count, check_number, check_seed
from marginrank.types import Rows, Vector

_MOST = 1_000_000
#: Pairs that a question is the least certain of.
SAMPLED = 2000
#: Share of the questions that are drawn blindly, for an honest estimate.
RANDOM_SHARE = 0.2


class SuggestedPairs(NamedTuple):
    """Pairs to ask about.

    Parameters
    ----------
    pairs : ndarray of shape (n, 2)
        Row numbers of items; which comes first is drawn.
    at_random : ndarray of bool, shape (n,)
        Which of them were drawn blindly: their answers alone tell how often the model is right.

    Examples
    --------
    >>> from marginrank.judging import suggest_pairs
    >>> found = suggest_pairs(None, [[0.0], [1.0], [2.0]], n=2)
    >>> found.pairs.shape, found.at_random.tolist()
    ((2, 2), [True, True])
    """

    pairs: Rows
    at_random: NDArray[np.bool_]


def suggest_pairs(
    model: Any,
    items: Any,
    n: int = 10,
    *,
    asked: Any = (),
    random_share: float = RANDOM_SHARE,
    n_sampled: int = SAMPLED,
    random_state: Any = 0,
) -> SuggestedPairs:
    """Return pairs of items whose order a model would learn most from.

    For each pair, as many as ``n_sampled`` are drawn, and the one with the smallest difference of scores is
    taken: its answer is the least certain. A share of the pairs is drawn blindly instead, because answers to
    hard questions do not tell how often a model is right.

    Parameters
    ----------
    model : RankingModel, fitted ranker, or None
        What has been learned so far; None where nothing has, and all pairs are drawn blindly.
    items : array-like, sparse matrix or data frame of shape (n_items, n_features)
        What can be asked about, as for ``predict`` of the model.
    n : int, default=10
        How many pairs.
    asked : array-like of shape (n_asked, 2), default=()
        Pairs that are not suggested again, either way round.
    random_share : float, default=0.2
        Share of the pairs that are drawn blindly, from 0 to 1.
    n_sampled : int, default=2000
        Pairs that each is the least certain of; 1 draws blindly.
    random_state : int, numpy Generator or None, default=0
        Seed.

    Returns
    -------
    SuggestedPairs
        Fewer than ``n`` where there are not so many pairs that were not asked.

    Notes
    -----
    O(n_items) for the scores, and O(n_sampled) a pair. ``benchmarks/judging.py`` simulates what such
    questions teach, against others that are drawn blindly.

    Examples
    --------
    >>> import numpy as np
    >>> from marginrank import RankSVM
    >>> from marginrank.judging import suggest_pairs
    >>> items = np.random.default_rng(0).normal(size=(50, 3))
    >>> ranker = RankSVM(alpha=0.1).fit_pairs(items, [[0, 1], [2, 3]])
    >>> found = suggest_pairs(ranker, items, n=4, asked=[[0, 1], [2, 3]], random_share=0.0)
    >>> scores = ranker.predict(items)
    >>> bool(np.abs(scores[found.pairs[:, 0]] - scores[found.pairs[:, 1]]).max() < 0.05)
    True
    """
    n = check_count(n, "n", most=_MOST)
    n_sampled = check_count(n_sampled, "n_sampled", most=_MOST)
    share = check_number(random_share, "random_share", least=0.0)
    if share > 1.0:
        raise ParameterError("random_share", "a number from 0 to 1", random_share)
    rng = np.random.default_rng(check_seed(random_state, np.random.Generator))
    scores, n_items = _scores(model, items)
    known = _pairs(asked, n_items)
    chosen: list[tuple[int, int]] = []
    blind: list[bool] = []
    for _ in range(n):
        at_random = scores is None or bool(rng.random() < share)
        found = next_pair(rng, n_items, None if at_random else scores, known, n_sampled)
        if found is None:
            break
        known.add(_sorted(found))
        chosen.append(found)
        blind.append(at_random)
    pairs = np.array(chosen, dtype=np.int64).reshape(-1, 2)
    return SuggestedPairs(pairs, np.array(blind, dtype=bool))


def next_pair(
    rng: np.random.Generator,
    n_items: int,
    scores: Vector | None,
    known: set[tuple[int, int]],
    n_sampled: int = SAMPLED,
) -> tuple[int, int] | None:
    """Return the pair with the closest scores among drawn ones that are not known; None if all are."""
    if len(known) >= n_items * (n_items - 1) // 2:
        return None
    drawn = rng.integers(0, n_items, (n_sampled if scores is not None else 32, 2))
    drawn = drawn[drawn[:, 0] != drawn[:, 1]]
    if scores is not None:
        order = np.argsort(np.abs(scores[drawn[:, 0]] - scores[drawn[:, 1]]), kind="stable")
        drawn = drawn[order]
    for a, b in drawn.tolist():
        if _sorted((a, b)) not in known:
            return a, b
    # Nearly all pairs are known: the others are looked for one by one.
    start = int(rng.integers(n_items))
    for step in range(n_items):
        a = (start + step) % n_items
        for b in range(n_items):
            if a != b and _sorted((a, b)) not in known:
                return a, b
    return None


def _sorted(pair: tuple[int, int]) -> tuple[int, int]:
    return (pair[0], pair[1]) if pair[0] < pair[1] else (pair[1], pair[0])


def _scores(model: Any, items: Any) -> tuple[Vector | None, int]:
    if model is not None and not hasattr(model, "predict"):
        raise WrongTypeError(f"model must be a model or a fitted ranker; got {type(model).__name__}.")
    scores: Vector | None = None
    try:
        if model is None:
            n_items = gate.check_matrix(split_frame(items)[0])[0].shape[0]
        else:
            scores = np.asarray(model.predict(items), dtype=np.float64)
            n_items = len(scores)
    except MarginRankError as error:
        raise error.about("items: ") from None
    except (TypeError, ValueError) as error:  # of scikit-learn
        raise MarginRankError(f"items: {error}") from None
    if n_items < 2:
        raise MarginRankError(f"items must have two rows or more, to make pairs of; got {n_items}.")
    return scores, int(n_items)


def _pairs(asked: Any, n_items: int) -> set[tuple[int, int]]:
    wanted = f"pairs of row numbers of items, from 0 to {n_items - 1}"
    try:
        found = np.asarray(asked)
    except (TypeError, ValueError, OverflowError):
        raise ParameterError("asked", wanted, asked) from None
    if found.size == 0 and found.ndim in (1, 2):
        return set()
    if found.ndim != 2 or found.shape[1] != 2 or found.dtype.kind not in "iu":
        raise ParameterError("asked", wanted, asked)
    if found.min() < 0 or found.max() >= n_items:
        raise ParameterError("asked", wanted, asked)
    return {_sorted((a, b)) for a, b in found.tolist()}
