"""Explicit preferences between rows: from ids or row numbers, trained on, within some rows."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from marginrank.data.frames import as_frame, take_columns
from marginrank.data.labels import take
from marginrank.data.weights import moderate
from marginrank.exceptions import MarginRankError, NothingToRankError, did_you_mean, shown
from marginrank.types import Rows, Vector

# Of so many names the nearest is looked for.
_FEW = 10_000


class TrainingPairs(NamedTuple):
    """What a loss over explicit pairs trains on: the pairs of positive weight; None means 1 for all.

    Examples
    --------
    >>> from marginrank import RankingData
    >>> RankingData([[0.0], [1.0]], pairs=[[1, 0]]).training_pairs().pairs.tolist()
    [[1, 0]]
    """

    pairs: NDArray[Any]
    weight: Vector | None
    margin: Vector | None


def pairs_of_frame(pairs: Any, by_pair: dict[str, Any]) -> tuple[Any, dict[str, Any]]:
    """Return pairs without the columns that weights or margins name, and these; winner first.

    Anything but a data frame passes through.

    Examples
    --------
    >>> import pandas as pd
    >>> games = pd.DataFrame({"loser": ["b", "c"], "winner": ["a", "b"], "sets": [2, 3]})
    >>> pairs, by_pair = pairs_of_frame(games, {"margin": "sets"})
    >>> pairs.tolist(), by_pair["margin"].tolist()
    ([['a', 'b'], ['b', 'c']], [2, 3])
    """
    pairs, by_pair = take_columns(pairs, "pairs", **by_pair)
    frame = as_frame(pairs)
    if frame is None:
        return pairs, by_pair
    if {"winner", "loser"} <= set(frame.columns):
        frame = frame.select("winner", "loser")
    elif len(frame.columns) != 2:
        raise MarginRankError(
            "pairs must have the columns 'winner' and 'loser', or two columns with the winner first; got "
            f"{', '.join(map(repr, frame.columns[:6]))}."
        )
    return frame.to_numpy(), by_pair


def pairs_by_id(pairs: Any, ids: NDArray[Any]) -> Rows:
    """Return pairs of row numbers from pairs of the ids of rows.

    Examples
    --------
    >>> pairs_by_id([("b", "a"), ("b", "c")], np.array(["a", "b", "c"])).tolist()
    [[1, 0], [1, 2]]
    """
    # tolist() would turn datetime64[ns] into bare integers.
    names = list(ids) if ids.dtype.kind in "mM" else ids.tolist()
    rows = {name: row for row, name in enumerate(names)}
    if len(rows) < len(names):
        row = next(row for row, name in enumerate(names) if rows[name] != row)
        raise MarginRankError.naming(
            "ids",
            f"must be distinct, so that pairs name one row each; {shown(names[row])} is that of rows {row} "
            f"and {rows[names[row]]}.",
        )
    found = []
    for number, pair in enumerate(pairs):
        if isinstance(pair, str) or not hasattr(pair, "__len__") or len(pair) != 2:
            raise MarginRankError(
                f"pairs must hold pairs of ids, winner first; pair {number} is {shown(pair)}."
            )
        found.append([_row_named(name, number, rows) for name in pair])
    return np.array(found, dtype=np.int64).reshape(-1, 2)


def _row_named(name: Any, number: int, rows: dict[Any, int]) -> int:
    try:
        row = rows.get(name)
    except TypeError:  # it is not hashable, so it is no id
        row = None
    if row is None:
        near = did_you_mean(str(name), map(str, rows)) if len(rows) <= _FEW else ""
        raise MarginRankError(
            f"pairs must name rows by ids; pair {number} names {shown(name)}, which is none.{near}"
        )
    return row


def training_pairs(
    pairs: NDArray[Any], weight: Vector | None, margin: Vector | None, part: Rows | None
) -> TrainingPairs:
    """Return all pairs, or those of some numbers, without those that weigh nothing."""
    kept: Any = part
    if weight is not None and not weight.all():
        weighty = weight > 0.0
        kept = weighty if part is None else part[weighty[part]]
        if not np.any(weighty if part is None else len(kept)):
            raise NothingToRankError("Every pair of this fold has zero weight; give fewer folds.")
    return TrainingPairs(take(pairs, kept), moderate(take(weight, kept)), take(margin, kept))


def pairs_within(pairs: Any, rows: NDArray[np.int64], n_rows: int) -> tuple[Any, Any]:
    """Return which pairs have both rows among ``rows``, and these pairs in the new row numbers."""
    if pairs is None:
        return None, None
    if len(np.unique(rows)) < len(rows):
        raise MarginRankError("rows must be distinct where there are pairs; some occur twice.")
    new_number = np.full(n_rows, -1, dtype=pairs.dtype)
    new_number[rows] = np.arange(len(rows))
    renumbered = new_number[pairs]
    kept = (renumbered >= 0).all(axis=1)
    if not kept.any():
        raise NothingToRankError("No pair has both of its rows in the subset, so there is nothing to rank.")
    return kept, renumbered[kept]
