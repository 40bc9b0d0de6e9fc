"""Products with a matrix that lies in chunks: each pass reads them one after another, the next one ahead."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from marginrank._kernels import QueryLoss
from marginrank.chunks import ChunkedMatrix, TreeSum, query_ranges
from marginrank.designs.base import Design, Vector
from marginrank.designs.blocks import groups, run_parallel
from marginrank.designs.matrix import MatrixDesign, MatrixProducts
from marginrank.designs.remote import RemoteDesign
from marginrank.designs.sampling import sampled_products, sampled_squares
from marginrank.engines import RemoteMatrix
from marginrank.validation import Matrix


def matrix_design(X: Matrix, rows: NDArray[np.int64] | None = None, *, n_threads: int) -> Design:
    """Return the design of rows of a matrix, wherever it lies.

    Examples
    --------
    >>> matrix_design(np.array([[1.0, 2.0]]), n_threads=1).scores(np.array([1.0, 1.0]))
    array([3.])
    """
    if isinstance(X, RemoteMatrix):
        return RemoteDesign(X, rows)
    kind = ChunkedDesign if isinstance(X, ChunkedMatrix) else MatrixDesign
    return kind(X, rows, n_threads=n_threads)


class ChunkedDesign:
    """Rows of a matrix in chunks, in the order of the loss.

    Parameters
    ----------
    X : ChunkedMatrix
        The rows.
    rows : ndarray of int64, optional
        Ascending row numbers; None takes all rows.
    n_threads : int
        Threads to use; the result does not depend on it.

    Notes
    -----
    Scores have the same bits as those of the matrix in memory. Sums over rows (the adjoint and the value of a
    fused loss) are made within each chunk as in memory and meet in a fixed binary tree over the chunks: the
    same bits for the same chunks, for any number of threads; the same as in memory where there is one chunk;
    within rounding otherwise.

    A fused pass reads the data once, where every chunk ends with a query; a split one twice. Beside vectors
    of rows and features this holds two chunks, and a third one for a moment.
    """

    def __init__(self, X: ChunkedMatrix, rows: NDArray[np.int64] | None = None, *, n_threads: int) -> None:
        self._X = X
        self._rows = rows
        self._n_threads = n_threads
        self._sections = X.sections(rows)
        self.shape = (X.shape[0] if rows is None else len(rows), X.shape[1])

    def scores(self, w: Vector) -> Vector:
        """Return ``X w``."""
        out = np.empty(self.shape[0])
        for first, last, design in self._designs():
            out[first:last] = design.scores(w)
        return out

    def adjoint(self, g: Vector) -> Vector:
        """Return ``X' g``."""
        total = TreeSum()
        for first, last, design in self._designs():
            total.add(design.adjoint(g[first:last]))
        return np.asarray(total.result())

    def scores_block(self, W: Vector) -> Vector:
        """Return ``W X'``, reading X once for all rows of W."""
        out = np.empty((len(W), self.shape[0]))
        for first, last, design in self._designs():
            out[:, first:last] = design.scores_block(W)
        return out

    def adjoint_block(self, G: Vector) -> Vector:
        """Return ``G X``, reading X once for all rows of G."""
        total = TreeSum()
        for first, last, design in self._designs():
            total.add(design.adjoint_block(np.ascontiguousarray(G[:, first:last])))
        return np.asarray(total.result())

    def fuses(self, loss: QueryLoss) -> bool:
        """Whether the loss can be evaluated chunk by chunk, so that a pass reads the data once."""
        if len(self._sections) == 1:
            return any(design.fuses(loss) for _, _, design in self._designs())
        return query_ranges(self._sections, loss.query_ptr) is not None

    def fused(self, w: Vector, loss: QueryLoss) -> tuple[Vector, float, Vector, Vector]:
        """Return scores, value and gradient of the loss there, and ``X' g``, in one read of X."""
        scores, gradient = np.empty(self.shape[0]), np.empty(self.shape[0])
        ranges, values, adjoint = self._ranges(loss), TreeSum(), TreeSum()
        for (queries, longest), (first, last, design) in zip(ranges, self._designs(), strict=True):
            if len(self._sections) == 1 or design.fuses_queries(queries[1] - queries[0], longest):
                value, part = design.fused_queries(w, loss, scores, gradient, *queries)
            else:
                scores[first:last] = design.scores(w)
                value = self._evaluate(loss, queries, scores, gradient)
                part = design.adjoint(gradient[first:last])
            values.add(value)
            adjoint.add(part)
        return scores, float(values.result()), gradient, adjoint.result()

    def fused_hvp(self, v: Vector, scores: Vector, loss: QueryLoss) -> Vector:
        """Return ``X' H(scores) X v`` in one read of X."""
        direction, product = np.empty(self.shape[0]), np.empty(self.shape[0])
        ranges, total = self._ranges(loss), TreeSum()
        for (queries, longest), (first, last, design) in zip(ranges, self._designs(), strict=True):
            if len(self._sections) == 1 or design.fuses_queries(queries[1] - queries[0], longest):
                part = design.fused_hvp_queries(v, loss, scores, direction, product, *queries)
            else:
                direction[first:last] = design.scores(v)
                self._hessian(loss, queries, scores, direction, product)
                part = design.adjoint(product[first:last])
            total.add(part)
        return np.asarray(total.result())

    def centred_squares(self, row_weight: Vector, query_ptr: NDArray[np.int64]) -> Vector:
        """Estimate ``sum_i h_i (x_ij - mean_qj)^2`` for each column j from a sample of the rows."""
        return sampled_squares(self.take, self.shape[1], row_weight, query_ptr)

    def centred_products(
        self, row_weight: Vector, query_ptr: NDArray[np.int64]
    ) -> NDArray[np.float64] | None:
        """Estimate the same of all pairs of columns, where that pays."""
        work = 2.0 * self.shape[0] * self.shape[1]
        return sampled_products(self.take, self.shape[1], work, row_weight, query_ptr, self._n_threads)

    def take(self, positions: NDArray[np.int64]) -> Matrix:
        """Return the rows of X at these positions of the order of the loss, in memory."""
        return self._X[positions if self._rows is None else self._rows[positions]]

    def _designs(self) -> Iterator[tuple[int, int, MatrixProducts]]:
        for section, X in self._X.visit(self._sections, for_pass=True):
            yield section.first, section.last, MatrixProducts(X, section.rows, n_threads=self._n_threads)

    def _ranges(self, loss: QueryLoss) -> list[tuple[tuple[int, int], int]]:
        """Return the queries of each section and the rows of the longest of them."""
        ranges, sizes = query_ranges(self._sections, loss.query_ptr), np.diff(loss.query_ptr)
        assert ranges is not None
        return [(queries, int(sizes[slice(*queries)].max(initial=0))) for queries in ranges]

    def _evaluate(self, loss: QueryLoss, queries: tuple[int, int], scores: Vector, gradient: Vector) -> float:
        """Return the value of some queries and fill in their gradient; runs of them go to the threads."""
        runs = _runs(queries)
        values = np.zeros(len(runs))

        def visit(k: int) -> None:
            values[k] = loss.evaluate_queries(*runs[k], scores, gradient)

        run_parallel(visit, range(len(runs)), self._n_threads)
        return float(values.sum())

    def _hessian(
        self, loss: QueryLoss, queries: tuple[int, int], scores: Vector, direction: Vector, product: Vector
    ) -> None:
        def visit(run: tuple[int, int]) -> None:
            loss.hessian_queries(*run, scores, direction, product)

        run_parallel(visit, _runs(queries), self._n_threads)


def _runs(queries: tuple[int, int]) -> list[tuple[int, int]]:
    first, last = queries
    return [(first + share.start, first + share.stop) for share in groups(last - first)]
