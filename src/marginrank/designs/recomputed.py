"""Mapped features that are made again in every pass, so that no matrix of them is ever in memory."""

from __future__ import annotations

from collections.abc import Callable
from threading import Lock
from typing import Any

import numpy as np
from numpy.typing import NDArray

from marginrank.cached import cached_property
from marginrank.designs.base import Evaluation, LocalDesign, ProductRounding, steps
from marginrank.designs.blocks import (
    MAX_GROUPS,
    BlockMap,
    block_rows,
    groups,
    query_runs,
    row_blocks,
    take_rows,
)
from marginrank.designs.matrix import native_matrix
from marginrank.designs.sampling import SampledRows
from marginrank.losses.base import Loss
from marginrank.system.threads import run_parallel
from marginrank.types import Matrix, Vector

# A fused pass holds whole queries, one per thread, and saves every other evaluation of the map.
_FUSED_QUERY_BYTES = 32 << 20
_FUSED_QUERIES = 8

#: Something to do with the mapped rows ``first`` to ``last``, adding to a sum over columns.
Visit = Callable[[Any, int, int, Vector], None]


class RecomputedDesign(SampledRows, LocalDesign):
    """The blocks of a map over rows of X, in the order of the loss, recomputed in every pass.

    Parameters
    ----------
    mapping : BlockMap
        Makes the features; its factor is not applied (see :class:`FactoredDesign`).
    X : ndarray or CSR matrix
        As ``validation.check_matrix`` returns it.
    rows : ndarray of int64, optional
        Row numbers in the order of the loss; None takes all rows as they stand.
    n_threads : int
        Threads to use; the result does not depend on it.

    Notes
    -----
    In addition to X this holds one block of rows per thread and 64 partial sums. A pass costs the map once
    where it is fused and twice where it is split.
    """

    def __init__(
        self, mapping: BlockMap, X: Matrix, rows: NDArray[np.int64] | None = None, *, n_threads: int
    ) -> None:
        self._map = mapping
        self._X = X
        self._rows = rows
        self._n_threads = n_threads
        self.shape = (X.shape[0] if rows is None else len(rows), mapping.width)
        self._blocks = row_blocks(self.shape[0], block_rows(mapping))

    def scores(self, w: Vector) -> Vector:
        """Return ``Z w``."""
        out = np.empty(self.shape[0])

        def visit(bounds: tuple[int, int]) -> None:
            self._block(*bounds).scores(w, out[slice(*bounds)], 1)

        run_parallel(visit, self._blocks, self._n_threads)
        return out

    def adjoint(self, g: Vector) -> Vector:
        """Return ``Z' g``."""

        def visit(block: Any, first: int, last: int, out: Vector) -> None:
            _adjoint(block, g[first:last], out)

        return self._summed(self._blocks, visit)

    def scores_block(self, W: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return ``Z w`` for each row w of W, evaluating the map once."""
        out = np.empty((len(W), self.shape[0]))

        def visit(bounds: tuple[int, int]) -> None:
            block = self._block(*bounds)
            for w, scores in zip(W, out, strict=True):
                block.scores(w, scores[slice(*bounds)], 1)

        run_parallel(visit, self._blocks, self._n_threads)
        return out

    def adjoint_block(self, G: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return ``Z' g`` for each row g of G, evaluating the map once."""
        n = self.shape[1]

        def visit(block: Any, first: int, last: int, out: Vector) -> None:
            for k, g in enumerate(G):
                _adjoint(block, g[first:last], out[k * n : (k + 1) * n])

        return self._summed(self._blocks, visit, len(G)).reshape(len(G), n)

    @cached_property
    def _largest(self) -> Vector:
        """The largest absolute value of each column, found in one evaluation of the map."""
        largest, lock = np.zeros(self.shape[1]), Lock()

        def visit(bounds: tuple[int, int]) -> None:
            values = self._values(*bounds)
            of_block = np.maximum(values.max(axis=0), -values.min(axis=0))
            with lock:  # in any order: a maximum is not rounded
                np.maximum(largest, of_block, out=largest)

        run_parallel(visit, self._blocks, self._n_threads)
        return largest

    def rounding(self) -> ProductRounding:
        """Return how far the products may be rounded, given the features as the map computes them."""
        n_rows, step = self.shape[0], block_rows(self._map)
        # A block of a fused pass is as long as a query, if that is longer; two neighbours make up a block.
        longest = max(step, _FUSED_QUERY_BYTES // (self._map.width * self._map.dtype.itemsize))
        n_blocks = 2 * (n_rows // step) + 2
        depth = min(n_rows, longest) + -(-n_blocks // MAX_GROUPS) + 1 + MAX_GROUPS
        return ProductRounding(self._largest, steps(self.shape[1]), steps(depth))

    def fuses(self, loss: Loss) -> bool:
        """Whether whole queries fit a block."""
        longest = loss.longest_query * self.shape[1] * self._map.dtype.itemsize
        return loss.n_queries >= _FUSED_QUERIES and longest <= _FUSED_QUERY_BYTES

    def _fused(self, w: Vector, loss: Loss) -> Evaluation:
        scores, gradient = np.empty(self.shape[0]), np.empty(self.shape[0])
        runs, bounds = self._runs(loss)
        compiled = loss.compiled
        values = np.zeros(len(runs))
        number = {first: k for k, (first, _) in enumerate(bounds)}

        def visit(block: Any, first: int, last: int, out: Vector) -> None:
            k = number[first]
            block.scores(w, scores[first:last], 1)
            values[k] = compiled.evaluate_queries(*runs[k], scores, gradient)
            _adjoint(block, gradient[first:last], out)

        adjoint = self._summed(bounds, visit)
        return Evaluation(w, float(values.sum()), adjoint, scores, gradient)

    def _fused_hvp(self, v: Vector, loss: Loss, scores: Vector) -> Vector:
        direction, product = np.empty(self.shape[0]), np.empty(self.shape[0])
        runs, bounds = self._runs(loss)
        compiled = loss.compiled
        number = {first: k for k, (first, _) in enumerate(bounds)}

        def visit(block: Any, first: int, last: int, out: Vector) -> None:
            block.scores(v, direction[first:last], 1)
            compiled.hessian_queries(*runs[number[first]], scores, direction, product)
            _adjoint(block, product[first:last], out)

        return self._summed(bounds, visit)

    def take(self, positions: NDArray[np.int64]) -> NDArray[Any]:
        """Return the mapped rows at these positions of the order."""
        rows = positions if self._rows is None else self._rows[positions]
        out = np.empty((len(rows), self.shape[1]), dtype=self._map.dtype)
        self._map.transform_block(self._X[rows], out)
        return out

    def _runs(self, loss: Loss) -> tuple[list[tuple[int, int]], list[tuple[int, int]]]:
        """Return runs of queries that have rows, and the bounds of these rows."""
        ptr = loss.query_ptr
        runs = query_runs(ptr, block_rows(self._map))
        runs = [(first, last) for first, last in runs if ptr[last] > ptr[first]]
        return runs, [(int(ptr[first]), int(ptr[last])) for first, last in runs]

    def _block(self, first: int, last: int) -> Any:
        """Return the mapped rows ``first`` to ``last``, compiled."""
        out = self._values(first, last)
        return native_matrix(out)

    def _values(self, first: int, last: int) -> NDArray[Any]:
        """Return the mapped rows ``first`` to ``last``."""
        out = np.empty((last - first, self.shape[1]), dtype=self._map.dtype)
        self._map.transform_block(take_rows(self._X, self._rows, first, last), out)
        return out

    def _summed(self, blocks: list[tuple[int, int]], visit: Visit, n_vectors: int = 1) -> Vector:
        """Visit all blocks and return the sum of what they add, each group of blocks in its own order."""
        shares = groups(len(blocks))
        partial = np.zeros((len(shares), n_vectors * self.shape[1]))

        def visit_group(k: int) -> None:
            for number in shares[k]:
                first, last = blocks[number]
                visit(self._block(first, last), first, last, partial[k])

        run_parallel(visit_group, range(len(shares)), self._n_threads)
        return np.asarray(partial.sum(axis=0))


def _adjoint(block: Any, g: Vector, out: Vector) -> None:
    """Add ``B' g`` to ``out``."""
    partial, added = np.empty((1, len(out))), np.empty(len(out))
    block.adjoint(g, partial, added, 1)
    out += added
