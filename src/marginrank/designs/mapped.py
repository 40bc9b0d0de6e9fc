"""Designs over mapped features: stored, factored, or recomputed block by block."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from marginrank.designs.base import Design, Evaluation, ProductRounding, steps
from marginrank.designs.blocks import BlockMap, map_features, map_rows
from marginrank.designs.matrix import MatrixDesign
from marginrank.designs.recomputed import RecomputedDesign
from marginrank.designs.sampling import products_pay, sampled_squares
from marginrank.losses.base import Loss
from marginrank.parameters import check_choice
from marginrank.system.memory import physical_memory
from marginrank.system.threads import one_blas_thread
from marginrank.types import Matrix, MemoryMatrix, Vector

Store = Literal["auto", "memory", "recompute"]

# The share of the machine's memory that stored features may take. Of the whole memory, not of what happens to
# be free: the last bits differ between the two forms and shall not depend on what else is running.
_MEMORY_SHARE = 0.25
# Products of floating-point operations with the factor that one sample may cost.
_SAMPLE_WORK = 2.0e9
_SMALLEST_SAMPLE = 256
# A pass reads (width - rank) fewer columns where the product with the factor is stored; that product costs as
# much as reading a number of columns once, for each column of the factor. An estimate over about 20 passes.
_FACTOR_COST = 400


class BlockDesign(Design, Protocol):
    """A design that can show some of its rows."""

    def take(self, positions: NDArray[np.int64]) -> MemoryMatrix:
        """Return rows of the matrix at these positions of the order of the loss."""


class FactoredDesign:
    """The design ``B F`` of a design ``B`` and a small dense factor: ``Z w = B (F w)``, ``Z' g = F' (B' g)``.

    For Nystroem features ``B`` holds kernel values against the landmarks and ``F`` whitens them; the product
    ``B F`` costs more than a whole training, and is never formed.

    Parameters
    ----------
    inner : BlockDesign
        The design ``B``.
    factor : ndarray of shape (inner.shape[1], n_features)
        The matrix ``F``.
    """

    def __init__(self, inner: BlockDesign, factor: NDArray[np.float64]) -> None:
        self._inner = inner
        self._factor = np.ascontiguousarray(factor, dtype=np.float64)
        self.shape = (inner.shape[0], factor.shape[1])

    def scores(self, w: Vector) -> Vector:
        """Return ``B (F w)``."""
        return self._inner.scores(self._forward(w))

    def adjoint(self, g: Vector) -> Vector:
        """Return ``F' (B' g)``."""
        return self._backward(self._inner.adjoint(g))

    def scores_block(self, W: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return ``B (F w)`` for each row w of W."""
        with one_blas_thread():
            inner = np.ascontiguousarray(W @ self._factor.T)
        return self._inner.scores_block(inner)

    def adjoint_block(self, G: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return ``F' (B' g)`` for each row g of G."""
        inner = self._inner.adjoint_block(G)
        with one_blas_thread():
            return np.ascontiguousarray(inner @ self._factor)

    def rounding(self) -> ProductRounding:
        """Return how far the products may be rounded, in the two stages together."""
        return _through_factor(self._inner.rounding(), self._factor)

    def fuses(self, loss: Loss) -> bool:
        """Whether a pass that evaluates this loss has the gradient, too."""
        return self._inner.fuses(loss)

    def brings_scores(self, loss: Loss) -> bool:
        """Whether an evaluation of this loss has the scores."""
        return self._inner.brings_scores(loss)

    def evaluate(self, w: Vector, loss: Loss) -> Evaluation:
        """Evaluate a loss at ``B (F w)``."""
        found = self._inner.evaluate(self._forward(w), loss)
        gradient = None if found.gradient is None else self._backward(found.gradient)
        return replace(found, w=w, gradient=gradient)

    def hvp(self, w: Vector, v: Vector, loss: Loss, scores: Vector | None = None) -> Vector:
        """Return ``F' B' H B F v``."""
        at = self.scores(w) if scores is None else scores
        # Mapped rows lie here, so the scores say it all, and a product with the factor is saved.
        return self._backward(self._inner.hvp(w, self._forward(v), loss, at))

    def centred_squares(self, row_weight: Vector, query_ptr: NDArray[np.int64]) -> Vector:
        """Estimate the weighted squares of the columns of ``B F``, centred within queries."""
        sample = max(_SMALLEST_SAMPLE, int(_SAMPLE_WORK / self._factor.size))
        return sampled_squares(self.take, self.shape[1], row_weight, query_ptr, n_rows=sample)

    def centred_products(
        self, row_weight: Vector, query_ptr: NDArray[np.int64]
    ) -> NDArray[np.float64] | None:
        """Estimate the same of all pairs of columns, where that pays."""
        width, rank = self._factor.shape
        pass_work, further_work = 2.0 * self.shape[0] * width, float(width) * rank * (width + rank)
        if not products_pay(self.shape[0], width, pass_work, further_work):
            return None
        inner = self._inner.centred_products(row_weight, query_ptr)
        if inner is None:
            return None
        with one_blas_thread():
            return np.asarray(self._factor.T @ (inner @ self._factor))

    def take(self, positions: NDArray[np.int64]) -> NDArray[Any]:
        """Return rows of ``B F``."""
        with one_blas_thread():
            return np.asarray(self._inner.take(positions) @ self._factor)

    def _forward(self, w: Vector) -> Vector:
        with one_blas_thread():
            return np.asarray(self._factor @ w)

    def _backward(self, g: Vector) -> Vector:
        with one_blas_thread():
            return np.asarray(g @ self._factor)


def mapped_design(
    mapping: BlockMap,
    X: Matrix,
    rows: NDArray[np.int64] | None = None,
    *,
    n_threads: int,
    store: Store = "auto",
) -> Design:
    """Return a design over the mapped rows of X.

    Parameters
    ----------
    mapping : BlockMap
        The map, as ``block_map()`` of a fitted feature map returns it.
    X : ndarray or CSR matrix
        Raw features, as ``validation.check_matrix`` returns them.
    rows : ndarray of int64, optional
        Row numbers in the order of the loss; None takes all rows as they stand.
    n_threads : int
        Threads to use; the result does not depend on it.
    store : {"auto", "memory", "recompute"}, default="auto"
        Keep the mapped rows, or make them again in every pass; "auto" keeps them where they take at most a
        quarter of the machine's memory.

    Returns
    -------
    Design
        Its columns are the features that the map's ``transform`` gives.

    Examples
    --------
    >>> from marginrank.feature_maps import FourierFeatures
    >>> X = np.random.default_rng(0).random((50, 3))
    >>> fourier = FourierFeatures(n_components=8, random_state=0).fit(X)
    >>> design = mapped_design(fourier.block_map(), X, n_threads=1, store="recompute")
    >>> bool(np.allclose(design.scores(np.ones(8)), fourier.transform(X).sum(axis=1), atol=1e-6))
    True
    """
    check_store(store)
    if store == "memory" or (store == "auto" and stores(mapping, X.shape[0] if rows is None else len(rows))):
        return _over_stored(mapping, _stored(mapping, X, rows, n_threads), None, n_threads)
    return _factored(mapping, RecomputedDesign(mapping, X, rows, n_threads=n_threads))


class MappedRows:
    """Rows that are mapped once, for designs over any of them: folds share one matrix of features.

    Parameters
    ----------
    mapping, X, n_threads, store
        As in :func:`mapped_design`.

    Examples
    --------
    >>> from marginrank.feature_maps import FourierFeatures
    >>> X = np.random.default_rng(0).random((50, 3))
    >>> fourier = FourierFeatures(n_components=8, random_state=0).fit(X)
    >>> mapped = MappedRows(fourier.block_map(), X, n_threads=1)
    >>> mapped.design(np.array([4, 2])).shape
    (2, 8)
    """

    def __init__(self, mapping: BlockMap, X: Matrix, *, n_threads: int, store: Store = "auto") -> None:
        check_store(store)
        self._mapping = mapping
        self._X = X
        self._n_threads = n_threads
        keep = store == "memory" or (store == "auto" and stores(mapping, X.shape[0]))
        self._kept = _stored(mapping, X, None, n_threads) if keep else None

    @property
    def stored(self) -> bool:
        """Whether the features are kept, rather than made again in every pass."""
        return self._kept is not None

    def design(self, rows: NDArray[np.int64] | None = None) -> Design:
        """Return a design over some rows, in this order; None takes all as they stand."""
        if self._kept is not None:
            return _over_stored(self._mapping, self._kept, rows, self._n_threads)
        inner = RecomputedDesign(self._mapping, self._X, rows, n_threads=self._n_threads)
        return _factored(self._mapping, inner)


def check_store(store: str) -> None:
    """Raise unless this is a way to keep mapped features."""
    check_choice("store", store, ("auto", "memory", "recompute"))


def _stored(
    mapping: BlockMap, X: Matrix, rows: NDArray[np.int64] | None, n_threads: int
) -> NDArray[np.float64]:
    """Return the features, or only the blocks where the factor stays on the side of the coefficients."""
    make = map_features if _product_pays(mapping) else map_rows
    return make(mapping, X, rows, n_threads=n_threads)


def _over_stored(
    mapping: BlockMap, kept: NDArray[Any], rows: NDArray[np.int64] | None, n_threads: int
) -> Design:
    design = MatrixDesign(kept, rows, n_threads=n_threads)
    return design if _product_pays(mapping) else _factored(mapping, design)


def _factored(mapping: BlockMap, inner: BlockDesign) -> Design:
    return inner if mapping.factor is None else FactoredDesign(inner, mapping.factor)


def _through_factor(inner: ProductRounding, factor: NDArray[np.float64]) -> ProductRounding:
    """Return the rounding of products with ``B F``, made of those with B and with the factor F, by BLAS.

    What either stage leaves is a share of ``sum_j column_j |w_j|``, where ``column_j`` is the sum over k of
    ``|f_kj|`` times the bound of column k of B; and likewise for the adjoint.
    """
    width, rank = factor.shape
    column = (inner.column @ np.abs(factor)) * (1.0 + steps(width) * 2.0**-52)
    return ProductRounding(column, steps(inner.scores_steps + rank), steps(inner.adjoint_steps + width))


def stored_bytes(mapping: BlockMap, n_rows: int) -> int:
    """Return the memory that the mapped features of so many rows take when they are stored.

    Examples
    --------
    >>> from marginrank.feature_maps import FourierFeatures
    >>> fourier = FourierFeatures(n_components=2000, random_state=0).fit(np.eye(3))
    >>> stored_bytes(fourier.block_map(), 1_000_000)
    8000000000
    """
    factor = mapping.factor
    columns = factor.shape[1] if factor is not None and _product_pays(mapping) else mapping.width
    return n_rows * columns * mapping.dtype.itemsize


def stores(mapping: BlockMap, n_rows: int) -> bool:
    """Whether ``store="auto"`` keeps the mapped features of so many rows."""
    return stored_bytes(mapping, n_rows) <= _MEMORY_SHARE * physical_memory()


def _product_pays(mapping: BlockMap) -> bool:
    """Whether the rank is so low that storing ``B F`` saves more in the passes than the product costs."""
    factor = mapping.factor
    if factor is None:
        return False
    width, rank = factor.shape
    return bool(rank * width <= _FACTOR_COST * (width - rank))
