"""What is trained on: rows or pairs, their loss, and the design of their features; whole, or a part."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import NamedTuple, Protocol

import numpy as np

from marginrank.cached import cached_property
from marginrank.data import RankingData, TrainingPairs, TrainingView
from marginrank.data.matrices import in_memory
from marginrank.designs import (
    ColumnTransform,
    ComparedRows,
    Design,
    TransformedDesign,
    column_transform,
    matrix_design,
)
from marginrank.designs.scaling import ScaleSetting
from marginrank.designs.shared_calls import CallsTogether
from marginrank.designs.shared_chunks import ChunksTogether
from marginrank.designs.shared_reads import ProductsTogether
from marginrank.losses import Loss
from marginrank.losses.native import NativeLoss
from marginrank.losses.offset import with_offset
from marginrank.metrics.several_targets import TargetEvaluators
from marginrank.solvers.natural_alpha import natural_alpha
from marginrank.solvers.objective import Objective
from marginrank.solvers.penalties import ElasticNet, Penalty
from marginrank.storage.engines import Engine, RemoteMatrix
from marginrank.system.memory import check_columns
from marginrank.training.penalty_settings import PLAIN, PenaltySettings
from marginrank.training.selection import Search
from marginrank.types import Array, Matrix, Rows, Vector

#: From scores of shape (k, n_targets, n_rows) to k figures, and what they are means of (k, n_parts).
Figures = Callable[[Array], tuple[Vector, Array]]
#: Makes what several folds ask for in one read.
ProductsOfFolds = ProductsTogether | ChunksTogether | CallsTogether

_VECTORS_PER_READ = 8


class HeldOut(NamedTuple):
    """Numbers of the rows that a fold leaves out, None for all rows, and what measures scores of them.

    ``weight`` has the weights of the parts that figures are means of; None stands for equal ones.
    """

    rows: Rows | None
    figures: Figures
    weight: Vector | None = None


class Space(Protocol):
    """What coefficients are weights of: makes designs of training rows and of others."""

    def transform(self, problem: Problem) -> ColumnTransform:
        """Return what is done to the columns of a problem's rows."""

    def training_design(self, problem: Problem) -> Design:
        """Return the design of a problem's rows."""

    def shared(self, problem: Problem, rows: Rows | None) -> Design:
        """Return the design of training rows with nothing but the shift that all of them have."""

    def held_out(self, rows: Rows | None) -> Design:
        """Return the design, in raw units, of training rows that a fold leaves out."""

    def further(self, X: Matrix) -> Design:
        """Return the design, in raw units, of other rows, which will be scored more than once."""

    def reads_cost_most(self) -> bool:
        """Whether a read of X costs so much more than all else that folds had better share it."""

    def products_of_folds(self, problem: Problem, rows: list[Rows | None]) -> ProductsOfFolds:
        """Return what makes the products of folds of these rows together."""

    def release(self) -> None:
        """Let go of memory that can be had again by work."""


@dataclass(eq=False)
class Problem:
    """Labelled rows, compared within queries, or explicit pairs; all of them, or a part.

    Nothing of X is copied for a part: designs take rows by their numbers.

    Parameters
    ----------
    data : RankingData
        All rows.
    make_loss : callable
        From a TrainingView to a loss; where pairs are learnt from, from TrainingPairs and the number of rows.
    space : Space
        Makes the designs.
    from_pairs : bool, default=False
        Whether the pairs of the data are learnt from.
    targets : ndarray of shape (n_targets, n_rows), optional
        Labels in the order of the rows, where there are several for each; by default those of the data.
    offset : ndarray of shape (n_rows,), optional
        Scores that are added before the loss, in the order of the rows.
    settings : PenaltySettings, optional
        What weights shall be like, in raw units; by default their squared norm is penalised.
    taken : ndarray of int64, optional
        Numbers of the rows, or of the pairs, that take part.
    whole : Problem, optional
        What this is a part of.
    """

    data: RankingData
    make_loss: Callable[..., Loss]
    space: Space
    from_pairs: bool = False
    targets: Array | None = None
    offset: Vector | None = None
    settings: PenaltySettings = PLAIN
    taken: Rows | None = None
    whole: Problem | None = None

    @cached_property
    def view(self) -> TrainingView:
        """Labels, weights and queries of the rows that take part."""
        return self.data.training_view(self.taken)

    @cached_property
    def _pairs(self) -> TrainingPairs:
        return self.data.training_pairs(self.taken)

    @property
    def rows(self) -> Rows | None:
        """Numbers of the rows, in the order of the loss; None stands for all."""
        return None if self.from_pairs else self.view.rows

    @property
    def weight(self) -> Vector | None:
        """Weights of these rows; None stands for 1."""
        return None if self.from_pairs else self.view.sample_weight

    def weight_by_row(self) -> Vector | None:
        """Return the weight of every row of X, 0 for those that do not take part; None stands for 1."""
        if self.weight is None:
            return None
        weight = np.zeros(self.data.n_rows)
        weight[slice(None) if self.rows is None else self.rows] = self.weight
        return weight

    @property
    def compared(self) -> ComparedRows:
        """Which of the rows are compared."""
        if self.from_pairs:
            return ComparedRows(pairs=self._pairs.pairs)
        return ComparedRows(query_ptr=self.view.query_ptr)

    @property
    def n_queries(self) -> int:
        """Number of queries of all rows; pairs know none and count as one."""
        return 1 if self.from_pairs else self.data.n_queries

    @property
    def target_rows(self) -> Array | None:
        """Labels of shape (n_targets, n_rows) in the order of the loss, where there are several for each."""
        if self.targets is None or self.rows is None:
            return self.targets
        return np.ascontiguousarray(self.targets[:, self.rows])

    @property
    def offset_rows(self) -> Vector | None:
        """What is added to the scores, in the order of the loss; None where nothing is."""
        return self.offset if self.offset is None or self.rows is None else self.offset[self.rows]

    @cached_property
    def loss(self) -> Loss:
        """The loss, with the offset of its rows where there is one."""
        made = self.make_loss(*((self._pairs, self.data.n_rows) if self.from_pairs else (self.view,)))
        offset = None if self.offset is None else self.offset_rows
        if offset is None or not offset.any():  # zeros are none, to the bit
            return made
        assert isinstance(made, NativeLoss)
        return with_offset(made, offset)

    @cached_property
    def transform(self) -> ColumnTransform:
        """What the design does to the columns; coefficients outside are in raw units."""
        return self.space.transform(self)

    @cached_property
    def design(self) -> Design:
        """The design, made when it is first needed."""
        return self.space.training_design(self)

    @cached_property
    def penalty(self) -> Penalty:
        """What is added to the risk, in the units of the design."""
        return self.settings.penalty(self.transform)

    @cached_property
    def objective(self) -> Objective:
        """Design, loss and penalty together, at alpha = 1."""
        return Objective(self.design, self.loss, 1.0, self.penalty)

    def raw(self, w: Array) -> Array:
        """Return coefficients in raw units, within their bounds, from those of the design."""
        found = self.transform.raw(w)
        return self.settings.within(found) if self.settings.is_bounded else found

    def in_units(self, rows: Design) -> Design:
        """Return a design of further rows, which is in raw units, in the units of this problem's design."""
        if self.transform.is_within_products:
            return rows
        return TransformedDesign(rows, self.transform.without_shift)

    def balance(self) -> float:
        """Return the alpha at which a step along the gradient at zero brings the margins to about 1.

        Above it the model is hardly more than the gradient of the risk at zero; it follows the units of X.
        Where L1 leaves no feature above some alpha, that is a decade above the balance.
        """
        largest = self.largest_alpha()
        return natural_alpha(self.design, self.loss) if np.isinf(largest) else 0.1 * largest

    def largest_alpha(self) -> float:
        """Return the largest alpha at which a weight that may be 0 is not; infinity where there is none."""
        penalty = self.penalty
        if not isinstance(penalty, ElasticNet) or penalty.l1_ratio == 0.0:
            return float(np.inf)
        start = penalty.nearest(np.zeros(self.design.shape[1]))
        return penalty.largest_alpha(self.objective.at(start).risk_gradient)

    def release(self) -> None:
        """Let go of the design, not of its transform; it is made again if it is needed again."""
        self.__dict__.pop("design", None)
        self.__dict__.pop("objective", None)
        self.space.release()

    def in_space(self, space: Space) -> Problem:
        """Return the same rows and loss over other features."""
        if space is self.space:
            return self
        same = replace(self, space=space)
        same.__dict__["_pairs" if self.from_pairs else "view"] = self._pairs if self.from_pairs else self.view
        same.__dict__["loss"] = self.loss
        return same

    def part(self, taken: Rows) -> Problem:
        """Return the problem of some of the rows, or of the pairs."""
        return replace(self, taken=taken, whole=self if self.whole is None else self.whole)

    def folds(self, search: Search, n_jobs: int | None) -> Iterator[tuple[Problem, HeldOut]]:
        """Return parts, as a search asks for, each with what it holds out: queries, rows or pairs."""
        if self.from_pairs:
            # The figure of held-out pairs is the share of them in wrong order.
            for train, test in search.pair_folds(len(self._pairs.pairs)):
                figures = partial(wrong_share, self.data.training_pairs(test))
                yield self.part(train), HeldOut(None, self._on_offset(figures, None))
            return
        for train, test in search.query_folds(self.data):
            yield self.part(train), self._held_out(search, test, n_jobs)

    def _held_out(self, search: Search, rows: Rows, n_jobs: int | None) -> HeldOut:
        labels = self.data.queries.subset(rows)
        targets = [None] if self.targets is None else list(self.targets[:, rows])
        measuring = TargetEvaluators([search.evaluator(labels, y, n_jobs) for y in targets])
        return HeldOut(rows, self._on_offset(measuring.measure, rows), measuring.weight)

    def _on_offset(self, figures: Figures, rows: Rows | None) -> Figures:
        """Return what measures scores of rows with their offset, where there is one."""
        if self.offset is None:
            return figures
        offset = self.offset if rows is None else self.offset[rows]
        return lambda scores: figures(scores + offset)


@dataclass(frozen=True, eq=False)
class RawColumns:
    """The columns of X.

    Parameters
    ----------
    X : ndarray, CSR matrix or ChunkedMatrix
        The training rows.
    scale : {None, "auto", "standard", "minmax"}
        What columns are divided by; "auto" is decided once, by all training rows.
    n_threads : int
        Threads to use.
    """

    X: Matrix
    scale: ScaleSetting | None
    n_threads: int

    def __post_init__(self) -> None:
        check_columns(self.X.shape[1])

    def transform(self, problem: Problem) -> ColumnTransform:
        """Return what is done to the columns; parts take over shift and kind of scale of all rows."""
        whole = None if problem.whole is None else problem.whole.transform
        return column_transform(
            self.X,
            problem.rows,
            scale=self.scale,
            weight=problem.weight,
            compared=problem.compared,
            whole=whole,
            n_threads=self.n_threads,
        )

    def training_design(self, problem: Problem) -> Design:
        """Return the design of a problem's rows."""
        return matrix_design(self.X, problem.rows, problem.transform, n_threads=self.n_threads)

    def shared(self, problem: Problem, rows: Rows | None) -> Design:
        """Return the design of training rows with nothing but the shift of all of them."""
        return matrix_design(self.X, rows, problem.transform.within_products, n_threads=self.n_threads)

    def held_out(self, rows: Rows | None) -> Design:
        """Return the design of training rows."""
        return matrix_design(self.X, rows, n_threads=self.n_threads)

    def further(self, X: Matrix) -> Design:
        """Return the design of other rows."""
        return matrix_design(X, n_threads=self.n_threads)

    def reads_cost_most(self) -> bool:
        """Whether X lies on the disk of this machine, or elsewhere: there it is calls that cost."""
        return not in_memory(self.X)

    def products_of_folds(self, problem: Problem, rows: list[Rows | None]) -> ProductsOfFolds:
        """Return what makes the products of folds of these rows together."""
        if in_memory(self.X):
            return products_together(partial(self.shared, problem), rows, _VECTORS_PER_READ)
        if isinstance(self.X, RemoteMatrix):
            return CallsTogether(self.X.engine)
        return ChunksTogether(self.X, rows, problem.transform.within_products, n_threads=self.n_threads)

    def through(self, engine: Engine) -> RawColumns:
        """Return the same columns of remote rows that another engine reaches."""
        assert isinstance(self.X, RemoteMatrix)
        return replace(self, X=self.X.through(engine))

    def release(self) -> None:
        """There is nothing but X."""


def products_together(
    shared: Callable[[Rows | None], Design], rows: list[Rows | None], per_read: int
) -> ProductsTogether:
    """Return what makes the products of folds of these rows by one design of all of them."""
    taken = [one for one in rows if one is not None]
    if len(taken) < len(rows):
        return ProductsTogether(shared(None), rows, per_read)
    together = np.unique(np.concatenate(taken))
    positions: list[Rows | None] = [np.searchsorted(together, one) for one in taken]
    return ProductsTogether(shared(together), positions, per_read)


def wrong_share(held_out: TrainingPairs, scores: Array) -> tuple[Vector, Array]:
    """Return for each vector of scores the weighted share of pairs in wrong order; ties count half.

    Pairs that share rows are not independent, so all of them are one part.

    Examples
    --------
    >>> wrong_share(TrainingPairs(np.array([[0, 1], [1, 2]]), None, None), np.array([[[2.0, 1.0, 1.0]]]))
    (array([0.25]), array([[0.25]]))
    """
    lead = np.take(scores[:, 0], held_out.pairs[:, 0], axis=1) - np.take(
        scores[:, 0], held_out.pairs[:, 1], axis=1
    )
    wrong = (lead < 0.0) + 0.5 * (lead == 0.0)
    share = np.asarray(np.average(wrong, axis=1, weights=held_out.weight))
    return share, share[:, None]
