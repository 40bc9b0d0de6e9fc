"""Folds that are trained at the same time, so that a read of X serves all of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from itertools import islice
from typing import NamedTuple

import numpy as np

from marginrank.designs import ColumnTransform, Design, TransformedDesign
from marginrank.designs.lockstep import Asks, in_lockstep
from marginrank.designs.shared_chunks import ChunksTogether
from marginrank.designs.shared_reads import ProductsTogether, SharingDesign
from marginrank.solvers import Callback
from marginrank.system.memory import physical_memory
from marginrank.training.descents import Descent
from marginrank.training.fitting import Training
from marginrank.training.problems import Held, Part
from marginrank.training.progress import ProgressLine
from marginrank.training.spaces import MOST_AT_ONCE, Space
from marginrank.types import Array, Matrix, Rows, Vector

#: Trains a fold: adds its models to a descent, and tells those who listen to its progress.
Descend = Callable[[Training, Descent, Sequence[Callback]], None]


# What the folds that go down together may take of the machine's memory, and vectors of one number for each
# column that a fold holds: cutting planes, the models of its path, and curvature.
_MEMORY_SHARE = 0.25
_VECTORS_A_FOLD = 300


class Fold(NamedTuple):
    """What a fold trained, the rows that it holds out, and what measures scores of these (see ``Held``)."""

    training: Training
    descent: Descent
    held_rows: Rows | None
    measure: Callable[[Array], Vector]


def folds_at_once(training: Training) -> int:
    """Return how many folds are trained at the same time: several where that pays and memory allows it.

    It depends on the data and on the size of the machine's memory, not on what is free of it.

    Five folds together took these parts of the time of one after another (benchmarks/fold_blocks.py, two
    threads, nothing else running): .38 and .45 on disk, dense and sparse, where the system's cache does not
    hold the data, and .57 and .79 where it does; .65 with features made in every pass. In memory it was .93
    to 1.5, though sparse rows took .7 to 1.0 of the processor time: folds wait for each other, one evaluates
    its loss and its planes at a time, and a fold alone reads dense rows once for scores and adjoint.
    """
    if not training.space.reads_cost_most:
        return 1
    room = _MEMORY_SHARE * physical_memory()
    return int(np.clip(room // (8 * _VECTORS_A_FOLD * training.design.shape[1]), 1, MOST_AT_ONCE))


def folds_trained(
    folds: Iterable[tuple[Part, Held]],
    training: Training,
    descend: Descend,
    listeners: Sequence[Callback],
    *,
    at_once: int,
    begun: list[Fold],
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
    begun : list of Fold
        Every fold is added when its training begins: what interrupts it leaves the models that it has there.
    """
    # Of what is held out, the copies of features are let go: all folds together would be a copy of X.
    remaining = ((number, part, held.rows, held.measure) for number, (part, held) in enumerate(folds))
    while block := list(islice(remaining, at_once)):
        before = len(begun)
        if len(block) == 1:
            ((number, part, rows, measure),) = block
            alone = Fold(Training(training.space, part, training.solver), Descent(), rows, measure)
            begun.append(alone)
            descend(alone.training, alone.descent, _labelled(listeners, number))
        else:
            _train_together(block, training, descend, listeners, begun)
        yield from begun[before:]


def _train_together(
    block: Sequence[tuple[int, Part, Rows | None, Callable[[Array], Vector]]],
    training: Training,
    descend: Descend,
    listeners: Sequence[Callback],
    begun: list[Fold],
) -> None:
    products = training.space.together([part.rows for _, part, _, _ in block])

    def train(
        number: int, part: Part, rows: Rows | None, measure: Callable[[Array], Vector], asks: Asks
    ) -> None:
        sharing = _SharingSpace(training.space, asks, products.fusing)
        fold = Fold(Training(sharing, part, training.solver), Descent(), rows, measure)
        begun.append(fold)
        heard = [partial(asks.call, listener) for listener in _labelled(listeners, number)]
        descend(fold.training, fold.descent, heard)

    in_lockstep([partial(train, *numbered) for numbered in block], products)


def _labelled(listeners: Sequence[Callback], number: int) -> list[Callback]:
    """Return the listeners of one fold: what is shown says which."""
    return [
        listener.of_fold(number + 1) if isinstance(listener, ProgressLine) else listener
        for listener in listeners
    ]


class _SharingSpace:
    """The space of all folds, as one of them sees it that shares its products."""

    def __init__(self, space: Space, asks: Asks, fusing: bool) -> None:
        self._space = space
        self._asks = asks
        self._fusing = fusing

    @property
    def reads_cost_most(self) -> bool:
        """As of all folds."""
        return self._space.reads_cost_most

    def together(self, rows: list[Rows | None]) -> ProductsTogether | ChunksTogether:
        """Return what makes the products of all folds."""
        return self._space.together(rows)

    def transform(self, part: Part) -> ColumnTransform:
        """Return what is done to the columns of the fold's rows."""
        return self._space.transform(part)

    def training_design(self, part: Part) -> tuple[Design, ColumnTransform]:
        """Return the design of the fold's rows, with their transform."""
        transform = self._space.transform(part)
        design = SharingDesign(self._space.shared(part.rows), self._asks, fusing=self._fusing)
        return (design if transform.is_within_products else TransformedDesign(design, transform)), transform

    def shared(self, rows: Rows | None) -> Design:
        """Return the design of training rows with nothing but their shift."""
        return self._space.shared(rows)

    def held_out(self, rows: Rows | None) -> Design:
        """Return the design of training rows."""
        return self._space.held_out(rows)

    def further(self, X: Matrix) -> Design:
        """Return the design of other rows."""
        return self._space.further(X)

    def release(self) -> None:
        """What is held is for all folds."""
