"""Folds that are trained at the same time, so that a read of X serves all of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from itertools import islice
from typing import NamedTuple

import numpy as np

from marginrank.chunks import ChunkedMatrix
from marginrank.designs import Design, ScaledDesign
from marginrank.designs.lockstep import Asks, in_lockstep
from marginrank.designs.shared_chunks import ChunksTogether
from marginrank.designs.shared_reads import ProductsTogether, SharingDesign
from marginrank.estimators.descents import Descent
from marginrank.estimators.problems import Held, Part
from marginrank.estimators.progress import ProgressLine
from marginrank.estimators.spaces import RawColumns, Space
from marginrank.estimators.training import Training
from marginrank.model_selection import Rows
from marginrank.solvers import Callback
from marginrank.validation import Matrix, Vector

#: From a fold and what listens to its progress to its models.
Descend = Callable[[Training, Sequence[Callback]], Descent]


# Vectors that one read of X serves.
MOST_AT_ONCE = 8


class Fold(NamedTuple):
    """What a fold trained, and what it holds out."""

    training: Training
    descent: Descent
    held: Held


def folds_at_once(training: Training) -> int:
    """Return how many folds of this training go down together."""
    return MOST_AT_ONCE


def folds_trained(
    folds: Iterable[tuple[Part, Held]],
    training: Training,
    descend: Descend,
    listeners: Sequence[Callback],
    *,
    at_once: int,
) -> Iterator[Fold]:
    """Train folds, so many at once, in their order.

    Parameters
    ----------
    folds : iterable of (Part, Held)
        The folds.
    training : Training
        That of all rows: its space and its solver are those of the folds.
    descend : callable
        Trains one fold.
    listeners : sequence of callables
        They get the progress of every solution, in the thread of the caller.
    at_once : int
        How many folds go down together; 1 trains one after another, each by products of its own rows.
    """
    remaining = enumerate(folds)
    while block := list(islice(remaining, at_once)):
        if len(block) == 1:
            ((number, (part, held)),) = block
            alone = Training(training.space, part, training.solver)
            yield Fold(alone, descend(alone, _labelled(listeners, number)), held)
        else:
            yield from _trained_together(block, training, descend, listeners)


def _trained_together(
    block: list[tuple[int, tuple[Part, Held]]],
    training: Training,
    descend: Descend,
    listeners: Sequence[Callback],
) -> list[Fold]:
    products = _products(training.space, [part.rows for _, (part, _) in block])

    def train(number: int, part: Part, asks: Asks) -> tuple[Training, Descent]:
        fold = Training(_SharingSpace(training.space, asks, products.fusing), part, training.solver)
        heard = [partial(asks.call, listener) for listener in _labelled(listeners, number)]
        return fold, descend(fold, heard)

    done = in_lockstep([partial(train, number, part) for number, (part, _) in block], products)
    return [Fold(*one, held) for one, (_, (_, held)) in zip(done, block, strict=True)]


def _labelled(listeners: Sequence[Callback], number: int) -> list[Callback]:
    """Return the listeners of one fold: what is shown says which."""
    return [
        listener.of_fold(number + 1) if isinstance(listener, ProgressLine) else listener
        for listener in listeners
    ]


def _products(space: Space, rows: list[Rows | None]) -> ProductsTogether | ChunksTogether:
    """Return what makes the products of folds with these rows."""
    if isinstance(space, RawColumns) and isinstance(space.X, ChunkedMatrix):
        return ChunksTogether(space.X, rows, n_threads=space.n_threads)
    taken = [one for one in rows if one is not None]
    if len(taken) < len(rows):
        return ProductsTogether(space.held_out(None), rows)
    together = np.unique(np.concatenate(taken))
    return ProductsTogether(space.held_out(together), [np.searchsorted(together, one) for one in taken])


class _SharingSpace:
    """The space of all folds, as one of them sees it that shares its products."""

    def __init__(self, space: Space, asks: Asks, fusing: bool) -> None:
        self._space = space
        self._asks = asks
        self._fusing = fusing

    def training_design(self, rows: Rows | None, weight: Vector | None) -> tuple[Design, Vector | None]:
        """Return the design of the fold's rows and the column scale that it divides by."""
        scale = self._space.training_design(rows, weight)[1]
        design = SharingDesign(self._space.held_out(rows), self._asks, fusing=self._fusing)
        return (design if scale is None else ScaledDesign(design, scale)), scale

    def held_out(self, rows: Rows | None) -> Design:
        """Return the design of training rows."""
        return self._space.held_out(rows)

    def further(self, X: Matrix) -> Design:
        """Return the design of other rows."""
        return self._space.further(X)

    def release(self) -> None:
        """What is held is for all folds."""
