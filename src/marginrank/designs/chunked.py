"""Products with a matrix that lies in chunks: each pass reads them in order, a few at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from marginrank._kernels import QueryLoss
from marginrank.cached import cached_property
from marginrank.designs.base import Evaluation, LocalDesign, tree_depth
from marginrank.designs.blocks import groups
from marginrank.designs.column_sums import ColumnSums, CountedRows, MeasuredColumns
from marginrank.designs.columns import IDENTITY, ColumnTransform
from marginrank.designs.matrix import MatrixProducts
from marginrank.designs.sampling import SampledRows
from marginrank.designs.section_queries import border_differences, query_ranges, section_queries
from marginrank.losses.base import Loss
from marginrank.storage.chunks import TreeSum
from marginrank.system.threads import run_parallel
from marginrank.types import Mask, Section, StoredMatrix, Vector

T = TypeVar("T")
#: What is computed for a section, from its products, with so many threads.
SectionWork = Callable[[Section, MatrixProducts, int], T]
Range = tuple[int, int]


class ChunkedDesign(MeasuredColumns, SampledRows, LocalDesign):
    """Rows of a matrix in chunks, in the order of the loss.

    Parameters
    ----------
    X : StoredMatrix
        The rows.
    rows : ndarray of int64, optional
        Ascending row numbers; None takes all rows.
    transform : ColumnTransform, optional
        Its shift is subtracted within the products.
    n_threads : int
        Threads to use; the result does not depend on it.

    Notes
    -----
    Scores have the same bits as those of the matrix in memory. Sums over rows (the adjoint and the value of a
    fused loss) are made within each chunk as in memory and meet in a fixed binary tree over the chunks: the
    same bits for the same chunks, for any number of threads; the same as in memory where there is one chunk;
    within rounding otherwise.

    A fused pass reads the data once, where every chunk ends with a query; a split one twice, and so one over
    a chunk of a file whose queries do not fit the cache. Chunks that the kernels read take no memory but
    vectors of rows and features; of others this holds two, and a third one for a moment.
    """

    def __init__(
        self,
        X: StoredMatrix,
        rows: NDArray[np.int64] | None = None,
        transform: ColumnTransform = IDENTITY,
        *,
        n_threads: int,
    ) -> None:
        self._X: StoredMatrix = X
        self._rows = rows
        self._transform = transform
        self._n_threads = n_threads
        self._sections = X.sections(rows)
        self._asked: tuple[Loss, bool] | None = None
        self.shape = (X.shape[0] if rows is None else len(rows), X.shape[1])

    def scores(self, w: Vector) -> Vector:
        """Return ``X w``."""
        out = np.empty(self.shape[0])

        def fill(section: Section, products: MatrixProducts, _: int) -> None:
            out[section.first : section.last] = products.scores(w)

        self._visit(fill)
        return out

    def adjoint(self, g: Vector) -> Vector:
        """Return ``X' g``."""
        return self._total(lambda part, products, _: products.adjoint(g[part.first : part.last]))

    def scores_block(self, W: Vector) -> Vector:
        """Return ``W X'``, reading X once for all rows of W."""
        out = np.empty((len(W), self.shape[0]))

        def fill(section: Section, products: MatrixProducts, _: int) -> None:
            out[:, section.first : section.last] = products.scores_block(W)

        self._visit(fill)
        return out

    def adjoint_block(self, G: Vector) -> Vector:
        """Return ``G X``, reading X once for all rows of G."""

        def part(section: Section, products: MatrixProducts, _: int) -> Vector:
            return products.adjoint_block(np.ascontiguousarray(G[:, section.first : section.last]))

        return self._total(part)

    def column_sums(self, counted: CountedRows) -> ColumnSums:
        """Return the sums over the columns as they are, in one read of X."""
        found: ColumnSums = self._total(
            lambda part, products, _: products.column_sums(counted.of_section(part))
        )
        return found

    def varying_columns(self, query_ptr: NDArray[np.int64], settled: Mask) -> Mask:
        """Return the columns that differ between two rows of a query, and those that are settled already."""
        varies = settled

        def part(section: Section, products: MatrixProducts, _: int) -> Mask:
            return products.varying_columns(section_queries(section, query_ptr), varies)

        for found in self._map(part):
            varies = varies | found
            if varies.all():
                return varies
        return varies | border_differences(self._sections, query_ptr, self.take)

    @cached_property
    def adjoint_depth(self) -> int:
        """Additions on the way of a row into the adjoint, at most."""
        depths = self._visit(lambda section, products, _: products.adjoint_depth)
        return max(depths) + tree_depth(len(depths))

    def fuses(self, loss: Loss) -> bool:
        """Whether the loss can be evaluated chunk by chunk, so that a pass reads the data once."""
        if self._asked is None or self._asked[0] is not loss:  # one chunk must be opened to know
            self._asked = loss, self._can_fuse(loss)
        return self._asked[1]

    def _can_fuse(self, loss: Loss) -> bool:
        if len(self._sections) == 1:
            return any(self._visit(lambda section, products, n_threads: products.fuses(loss)))
        return query_ranges(self._sections, loss.query_ptr) is not None

    def _fused(self, w: Vector, loss: Loss) -> Evaluation:
        scores, gradient = np.empty(self.shape[0]), np.empty(self.shape[0])
        ranges, values, adjoint = self._ranges(loss), TreeSum(), TreeSum()
        compiled: QueryLoss = loss.compiled

        def part(section: Section, products: MatrixProducts, n_threads: int) -> tuple[float, Vector]:
            queries, longest = ranges[section.chunk]
            if self._fuses_part(products, queries, longest):
                return products.fused_queries(w, compiled, scores, gradient, *queries)
            rows = slice(section.first, section.last)
            scores[rows] = products.scores(w)
            value = _evaluate(compiled, queries, scores, gradient, n_threads)
            return value, products.adjoint(gradient[rows])

        for value, sums in self._map(part):
            values.add(value)
            adjoint.add(sums)
        return Evaluation(w, float(values.result()), adjoint.result(), scores, gradient)

    def _fused_hvp(self, v: Vector, loss: Loss, scores: Vector) -> Vector:
        direction, product = np.empty(self.shape[0]), np.empty(self.shape[0])
        ranges = self._ranges(loss)
        compiled: QueryLoss = loss.compiled

        def part(section: Section, products: MatrixProducts, n_threads: int) -> Vector:
            queries, longest = ranges[section.chunk]
            if self._fuses_part(products, queries, longest):
                return products.fused_hvp_queries(v, compiled, scores, direction, product, *queries)
            rows = slice(section.first, section.last)
            direction[rows] = products.scores(v)
            _hessian(compiled, queries, scores, direction, product, n_threads)
            return products.adjoint(product[rows])

        return self._total(part)

    def _map(self, part: SectionWork[T]) -> Iterator[T]:
        """Apply a function to the products of each section, in threads, and give its answers in order."""

        def work(section: Section, X: Any, n_threads: int) -> T:
            shift = replace(self._transform, known=None)
            return part(section, MatrixProducts(X, section.rows, shift, n_threads=n_threads), n_threads)

        return self._X.map_pass(work, self._sections, self._n_threads)

    def _visit(self, part: SectionWork[T]) -> list[T]:
        return list(self._map(part))

    def _total(self, part: SectionWork[T]) -> T:
        """Add up what a function gives for each section, in a fixed tree."""
        total: T = TreeSum.of(self._map(part))
        return total

    def _fuses_part(self, products: MatrixProducts, queries: Range, longest: int) -> bool:
        return len(self._sections) == 1 or products.fuses_queries(queries[1] - queries[0], longest)

    def _ranges(self, loss: Loss) -> dict[int, tuple[Range, int]]:
        """Return the queries of each section, by its chunk, and the rows of the longest of them."""
        ranges, sizes = query_ranges(self._sections, loss.query_ptr), np.diff(loss.query_ptr)
        assert ranges is not None
        return {
            section.chunk: (queries, int(sizes[slice(*queries)].max(initial=0)))
            for section, queries in zip(self._sections, ranges, strict=True)
        }


def _evaluate(loss: QueryLoss, queries: Range, scores: Vector, gradient: Vector, n_threads: int) -> float:
    """Return the value of some queries and fill in their gradient; runs of them go to the threads."""
    runs = _runs(queries)
    values = np.zeros(len(runs))

    def visit(k: int) -> None:
        values[k] = loss.evaluate_queries(*runs[k], scores, gradient)

    run_parallel(visit, range(len(runs)), n_threads)
    return float(values.sum())


def _hessian(
    loss: QueryLoss, queries: Range, scores: Vector, direction: Vector, product: Vector, n_threads: int
) -> None:
    def visit(run: Range) -> None:
        loss.hessian_queries(*run, scores, direction, product)

    run_parallel(visit, _runs(queries), n_threads)


def _runs(queries: Range) -> list[Range]:
    first, last = queries
    return [(first + share.start, first + share.stop) for share in groups(last - first)]
