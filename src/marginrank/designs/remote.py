"""Products with a matrix in remote chunks, and losses evaluated with these, where queries are whole."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from marginrank.cached import cached_property
from marginrank.designs.base import Evaluation, scores_at, split_evaluation, tree_depth
from marginrank.designs.column_sums import ColumnSums, CountedRows, MeasuredColumns
from marginrank.designs.columns import IDENTITY, ColumnTransform
from marginrank.designs.matrix import MatrixDesign
from marginrank.designs.sampling import SampledRows
from marginrank.designs.section_queries import border_differences, query_ranges, section_queries
from marginrank.losses.base import Loss
from marginrank.storage.chunks import TreeSum
from marginrank.storage.engines import Operation, RemoteMatrix
from marginrank.system.threads import default_threads
from marginrank.types import Mask, MemoryMatrix, Vector


class RemoteDesign(MeasuredColumns, SampledRows):
    """Rows of a matrix in remote chunks, in the order of the loss.

    Parameters
    ----------
    X : RemoteMatrix
        The rows.
    rows : ndarray of int64, optional
        Ascending row numbers; None takes all rows.
    transform : ColumnTransform, optional
        Its shift is subtracted within the products.

    Notes
    -----
    Scores have the same bits as those of the matrix in memory. Sums over rows are made within each chunk and
    meet in a fixed binary tree over the chunks: the same bits for the same chunks, wherever they lie.

    Where every chunk ends with a query, a loss is evaluated with the chunks: coefficients go out, and a value
    and a gradient of their size come back. Nothing is remembered there from call to call, so nothing is lost
    with a worker.
    """

    def __init__(
        self, X: RemoteMatrix, rows: NDArray[np.int64] | None = None, transform: ColumnTransform = IDENTITY
    ) -> None:
        self._X: RemoteMatrix = X
        self._transform = transform
        self._rows = rows
        self._engine = X.engine
        self._n_threads = default_threads()  # of what is made here, from a sample
        self._sections = X.sections(rows)
        self._handle: Any = None
        self._loss: Loss | None = None
        self.shape = (X.shape[0] if rows is None else len(rows), X.shape[1])

    def scores(self, w: Vector) -> Vector:
        """Return ``X w``."""
        return np.concatenate(self._engine.gather(self._prepared(), _scores, w))

    def adjoint(self, g: Vector) -> Vector:
        """Return ``X' g``."""
        return self._sum(_adjoint, None, [g[one.first : one.last] for one in self._sections])

    def scores_block(self, W: Vector) -> Vector:
        """Return ``W X'``."""
        return np.concatenate(self._engine.gather(self._prepared(), _scores_block, W), axis=1)

    def adjoint_block(self, G: Vector) -> Vector:
        """Return ``G X``."""
        parts = [np.ascontiguousarray(G[:, one.first : one.last]) for one in self._sections]
        return self._sum(_adjoint_block, None, parts)

    def column_sums(self, counted: CountedRows) -> ColumnSums:
        """Return the sums over the columns as they are, made where these are."""
        parts = [counted.of_section(section)._replace(unit=None) for section in self._sections]
        answers = self._engine.gather(self._prepared(), _column_sums, counted.unit, parts)
        found: ColumnSums = TreeSum.of(ColumnSums(*answer) for answer in answers)
        return found

    def varying_columns(self, query_ptr: NDArray[np.int64], settled: Mask) -> Mask:
        """Return the columns that differ between two rows of a query, and those that are settled already."""
        parts = [section_queries(section, query_ptr) for section in self._sections]
        found = self._engine.gather(self._prepared(), _varying, settled, parts)
        varies = np.asarray(np.any(found, axis=0))
        if varies.all():
            return varies
        return varies | border_differences(self._sections, query_ptr, self.take)

    @cached_property
    def adjoint_depth(self) -> int:
        """Additions on the way of a row into the adjoint, at most."""
        depths = self._engine.gather(self._prepared(), _depth)
        return int(np.max(depths)) + tree_depth(len(depths))

    def fuses(self, loss: Loss) -> bool:
        """Whether every query lies in one chunk, so that the loss is evaluated there."""
        return query_ranges(self._sections, loss.query_ptr) is not None

    def brings_scores(self, loss: Loss) -> bool:
        """Whether an evaluation of this loss has the scores: only where it is evaluated here."""
        return not self.fuses(loss)

    def evaluate(self, w: Vector, loss: Loss) -> Evaluation:
        """Evaluate a loss at ``X w``, with its gradient where it is evaluated with the chunks."""
        if not self.fuses(loss):
            return split_evaluation(self, w, loss)
        self._prepared(loss)
        total = self._sum(_risk, w)
        return Evaluation(w, float(total[-1]), total[:-1].copy())

    def hvp(self, w: Vector, v: Vector, loss: Loss, scores: Vector | None = None) -> Vector:
        """Return ``X' H(X w) X v``; scores are made again where the chunks are."""
        if not self.fuses(loss):
            at = scores_at(self, w) if scores is None else scores
            return self.adjoint(loss.hvp(at, self.scores(v)))
        self._prepared(loss)
        return self._sum(_risk_hvp, (w if w.any() else None, v))

    def _prepared(self, loss: Loss | None = None) -> Any:
        """Return the handle of the prepared products, with a loss if there is one."""
        if self._handle is None or (loss is not None and loss is not self._loss):
            losses: list[Loss | None] = [None] * len(self._sections)
            if loss is not None:
                ranges = query_ranges(self._sections, loss.query_ptr)
                assert ranges is not None
                # What is sent shall not depend on the threads here, or a journal would not know it again.
                losses = [loss.part(*queries).with_threads(1) for queries in ranges]
            chunks = [section.chunk for section in self._sections]
            shift = replace(self._transform, known=None)
            parts = [(section.rows, shift, one) for section, one in zip(self._sections, losses, strict=True)]
            self._handle = self._engine.prepare(_products, chunks, parts)
            self._loss = loss
        return self._handle

    def _sum(self, operation: Operation, shared: Any, each: list[Vector] | None = None) -> Vector:
        total = self._engine.tree_sum(self._prepared(), operation, shared, each)
        return total if total.flags.writeable else total.copy()


class _Products(NamedTuple):
    """What is prepared from a chunk."""

    design: MatrixDesign
    loss: Any


def _products(
    X: MemoryMatrix, part: tuple[NDArray[np.int64] | None, ColumnTransform, Loss | None], n_threads: int
) -> _Products:
    rows, shift, loss = part
    design = MatrixDesign(X, rows, shift, n_threads=n_threads)
    return _Products(design, None if loss is None else loss.with_threads(n_threads))


def _scores(prepared: _Products, w: Vector, own: None) -> Vector:
    return prepared.design.scores(w)


def _adjoint(prepared: _Products, shared: None, g: Vector) -> Vector:
    return prepared.design.adjoint(g)


def _scores_block(prepared: _Products, W: Vector, own: None) -> Vector:
    return prepared.design.scores_block(W)


def _adjoint_block(prepared: _Products, shared: None, G: Vector) -> Vector:
    return prepared.design.adjoint_block(G)


# Answers are arrays and tuples of these, which journals hold.
def _column_sums(prepared: _Products, unit: Vector | None, counted: CountedRows) -> tuple[Any, ...]:
    found = prepared.design.column_sums(counted._replace(unit=unit))
    return found.table, found.figures, found.open_queries, found.open_weight, found.open_moments


def _varying(prepared: _Products, settled: Mask, query_ptr: NDArray[np.int64]) -> Mask:
    return prepared.design.varying_columns(query_ptr, settled)


def _depth(prepared: _Products, shared: None, own: None) -> NDArray[np.int64]:
    return np.array([prepared.design.adjoint_depth])


def _risk(prepared: _Products, w: Vector, own: None) -> Vector:
    """Return the gradient with the value behind it, so that one sum adds both."""
    found = prepared.design.evaluate(w, prepared.loss)
    gradient = found.gradient
    if gradient is None:
        assert found.score_gradient is not None  # the rows lie here
        gradient = prepared.design.adjoint(found.score_gradient)
    return np.append(gradient, found.value)


def _risk_hvp(prepared: _Products, shared: tuple[Vector | None, Vector], own: None) -> Vector:
    w, v = shared
    return prepared.design.hvp(np.zeros(len(v)) if w is None else w, v, prepared.loss)


def sample_answers(
    X: MemoryMatrix, loss: Loss, w: Vector, v: Vector, query_ptr: NDArray[np.int64]
) -> list[NDArray[Any]]:
    """Return what may be asked about a chunk of whole queries, by the functions that answer in a training.

    Parameters
    ----------
    X : ndarray or CSR matrix
        The chunk.
    loss : Loss
        Over all of its rows.
    w, v : ndarray of shape (n_features,)
        Coefficients, and what the Hessian is multiplied with.
    query_ptr : ndarray of int64
        First row of each query, and the number of rows.
    """
    prepared = _products(X, (None, IDENTITY, loss), 1)
    scores = _scores(prepared, w, None)
    found = [_risk(prepared, w, None), scores, _adjoint(prepared, None, scores)]
    if loss.smooth:
        found.append(_risk_hvp(prepared, (w, v), None))
    return [*found, *_column_sums(prepared, None, CountedRows(query_ptr))[:2]]
