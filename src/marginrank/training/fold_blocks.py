"""Folds that are trained at the same time, so that a read of X serves all of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from itertools import islice
from typing import NamedTuple, TypeVar

import numpy as np

from marginrank.designs import ColumnTransform, Design, TransformedDesign
from marginrank.designs.lockstep import Asks, LatestAsks, in_lockstep
from marginrank.designs.shared_calls import AskingEngine, CallsTogether
from marginrank.designs.shared_reads import SharingDesign
from marginrank.solvers import Callback
from marginrank.system.memory import physical_memory
from marginrank.training.descents import Descent, EvalRows
from marginrank.training.fitting import Trainer
from marginrank.training.problems import HeldOut, Problem, ProductsOfFolds, RawColumns, Space
from marginrank.training.progress import of_fold, of_fold_in_step
from marginrank.types import Matrix, Rows

T = TypeVar("T")
#: Trains a fold, and calls back with its progress.
Descend = Callable[["Fold", Sequence[Callback]], None]

# Vectors that one read of X serves.
MOST_AT_ONCE = 8
# What the folds that go down together may take of the machine's memory, and vectors of one number for each
# column that a fold holds: cutting planes, the models of its path, and curvature.
_MEMORY_SHARE = 0.25
_VECTORS_A_FOLD = 300


class Fold(NamedTuple):
    """What a fold trains, and the rows that it holds out."""

    trainer: Trainer
    descent: Descent
    held_out: EvalRows


def folds_at_once(problem: Problem) -> int:
    """Return how many folds are trained at the same time: several where that pays and memory allows it.

    It depends on the data and on the size of the machine's memory, not on what is free of it.

    Notes
    -----
    Five folds together took these parts of the time of one after another (benchmarks/fold_blocks.py, two
    threads, nothing else running): .38 and .45 on disk, dense and sparse, where the system's cache does not
    hold the data, and .57 and .79 where it does; .65 with features made in every pass. In memory it was .93
    to 1.5, though sparse rows took .7 to 1.0 of the processor time: folds wait for each other, one evaluates
    its loss and its planes at a time, and a fold alone reads dense rows once for scores and adjoint. Where
    rows are remote it is calls that folds share.
    """
    if not problem.space.reads_cost_most():
        return 1
    room = _MEMORY_SHARE * physical_memory()
    return int(np.clip(room // (8 * _VECTORS_A_FOLD * problem.design.shape[1]), 1, MOST_AT_ONCE))


def folds_trained(
    folds: Iterable[tuple[Problem, HeldOut]],
    trainer: Trainer,
    descend: Descend,
    callbacks: Sequence[Callback],
    *,
    higher_is_better: bool,
    at_once: int,
    begun: list[Fold],
) -> Iterator[Fold]:
    """Train folds, so many at once, in their order.

    Parameters
    ----------
    folds : iterable of (Problem, HeldOut)
        The folds.
    trainer : Trainer
        That of all rows, which folds are trained like, in its space.
    descend : callable
        Trains one fold.
    callbacks : sequence of callables
        They get the progress of every solution, in the thread of the caller.
    higher_is_better : bool
        Which way figures are read.
    at_once : int
        How many folds go down together; 1 trains one after another, each by products of its own rows.
    begun : list of Fold
        Every fold is added when its training begins: what interrupts it leaves the models that it has there.
    """
    begin = partial(_begin, trainer, higher_is_better, begun)
    numbered = list(enumerate(folds, start=1))
    remaining = iter(numbered)
    while block := list(islice(remaining, at_once)):
        before = len(begun)
        if len(block) == 1:
            ((number, (part, held_out)),) = block
            descend(
                begin(part.in_space(trainer.problem.space), held_out),
                of_fold(callbacks, number, len(numbered)),
            )
        else:
            _train_together(block, len(numbered), trainer.problem, begin, descend, callbacks)
        yield from begun[before:]


def _begin(
    trainer: Trainer, higher_is_better: bool, begun: list[Fold], part: Problem, held_out: HeldOut
) -> Fold:
    design = partial(part.space.held_out, held_out.rows)
    measured = EvalRows(design, held_out.figures, higher_is_better, held_out.weight)
    begun.append(Fold(trainer.of_part(part), Descent(), measured))
    return begun[-1]


class FoldsInStep:
    """All folds of a search, each of which does one thing after another at the same time as the others.

    Parameters
    ----------
    folds : iterable of (Problem, HeldOut)
        The folds.
    trainer : Trainer
        That of all rows, which folds are trained like, in its space.
    callbacks : sequence of callables
        They get the progress of every solution, in the thread of the caller.
    higher_is_better : bool
        Which way figures are read.
    at_once : int
        How many of them share reads of X.
    begun : list of Fold
        The folds are added to it.
    """

    def __init__(
        self,
        folds: Iterable[tuple[Problem, HeldOut]],
        trainer: Trainer,
        callbacks: Sequence[Callback],
        *,
        higher_is_better: bool,
        at_once: int,
        begun: list[Fold],
    ) -> None:
        self._callbacks = callbacks
        self._blocks: list[tuple[list[tuple[int, Fold]], ProductsOfFolds | None, LatestAsks]] = []
        remaining, space = enumerate(folds, start=1), trainer.problem.space
        while block := list(islice(remaining, at_once)):
            asks, products, seen = LatestAsks(), None, space
            if len(block) > 1:
                products = space.products_of_folds(trainer.problem, [part.rows for _, (part, _) in block])
                seen = _seen_by_fold(space, products, asks)
            members = [
                (number, _begin(trainer, higher_is_better, begun, part.in_space(seen), held_out))
                for number, (part, held_out) in block
            ]
            self._blocks.append((members, products, asks))
        self.folds = [fold for members, _, _ in self._blocks for _, fold in members]
        room = _MEMORY_SHARE * physical_memory()
        self._forget = len(self.folds) * 8 * _VECTORS_A_FOLD * trainer.problem.design.shape[1] > room

    def each(self, do: Callable[[Fold, Sequence[Callback]], T]) -> list[T]:
        """Have every fold do something, and return what they return."""
        found: list[T] = []
        for members, products, asks in self._blocks:
            if products is None:
                found += [do(fold, self._heard(number)) for number, fold in members]
            else:
                todo = [partial(self._in_turn, do, number, fold, asks) for number, fold in members]
                found += in_lockstep(todo, products)
        if self._forget:
            for fold in self.folds:
                fold.trainer.forget()
        return found

    def _heard(self, number: int) -> list[Callback]:
        """Return the callbacks of one fold."""
        return of_fold_in_step(self._callbacks, number, len(self.folds))

    def _in_turn(
        self,
        do: Callable[[Fold, Sequence[Callback]], T],
        number: int,
        fold: Fold,
        asks: LatestAsks,
        own: Asks,
    ) -> T:
        with asks.by(own):
            return do(fold, [partial(own.call, callback) for callback in self._heard(number)])


def _train_together(
    block: Sequence[tuple[int, tuple[Problem, HeldOut]]],
    n_folds: int,
    problem: Problem,
    begin: Callable[[Problem, HeldOut], Fold],
    descend: Descend,
    callbacks: Sequence[Callback],
) -> None:
    products = problem.space.products_of_folds(problem, [part.rows for _, (part, _) in block])

    def train(number: int, part: Problem, held_out: HeldOut, asks: Asks) -> None:
        latest = LatestAsks()
        with latest.by(asks):
            sharing = _seen_by_fold(problem.space, products, latest)
            called = [partial(asks.call, callback) for callback in of_fold(callbacks, number, n_folds)]
            descend(begin(part.in_space(sharing), held_out), called)

    in_lockstep([partial(train, number, *fold) for number, fold in block], products)


def _seen_by_fold(space: Space, products: ProductsOfFolds, asks: LatestAsks) -> Space:
    """Return the space of all folds, as one of them sees it that shares its products or its calls."""
    if isinstance(products, CallsTogether):
        assert isinstance(space, RawColumns)  # which alone takes remote rows
        return space.through(AskingEngine(products.engine, asks))
    return _SharingSpace(space, asks, products.fusing)


class _SharingSpace:
    """The space of all folds, as one of them sees it that shares its products."""

    def __init__(self, space: Space, asks: Asks | LatestAsks, fusing: bool) -> None:
        self._space = space
        self._asks = asks
        self._fusing = fusing

    def transform(self, problem: Problem) -> ColumnTransform:
        """Return what is done to the columns of the fold's rows."""
        return self._space.transform(problem)

    def training_design(self, problem: Problem) -> Design:
        """Return the design of the fold's rows."""
        transform = problem.transform
        design = SharingDesign(self._space.shared(problem, problem.rows), self._asks, fusing=self._fusing)
        return design if transform.is_within_products else TransformedDesign(design, transform)

    def shared(self, problem: Problem, rows: Rows | None) -> Design:
        """Return the design of training rows with nothing but their shift."""
        return self._space.shared(problem, rows)

    def held_out(self, rows: Rows | None) -> Design:
        """Return the design of training rows."""
        return self._space.held_out(rows)

    def further(self, X: Matrix) -> Design:
        """Return the design of other rows."""
        return self._space.further(X)

    def reads_cost_most(self) -> bool:
        """Whether a read of X costs so much that folds had better share it."""
        return self._space.reads_cost_most()

    def products_of_folds(self, problem: Problem, rows: list[Rows | None]) -> ProductsOfFolds:
        """Return what makes the products of several folds."""
        return self._space.products_of_folds(problem, rows)

    def release(self) -> None:
        """Memory is that of all folds."""
