"""How a compiled sum over queries is made, so that a part of the queries can be made and evaluated elsewhere.

Compiled losses cannot be sent; what they are made of can. The factor of each query goes along, so the parts
of a mean add up to it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from marginrank import _kernels
from marginrank._kernels import QueryLoss
from marginrank.losses.base import Recipe, Vector


@dataclass(frozen=True)
class QueryRecipe:
    """Values of rows and queries, and the function that makes a loss of them.

    Parameters
    ----------
    make : callable
        A function of this module: from y, weight, query_ptr, scale, the number of threads and the options.
    y : ndarray of shape (n_rows,)
        Labels, or gains.
    weight : ndarray of shape (n_rows,) or None
        Weights of the rows.
    query_ptr : ndarray of int64, shape (n_queries + 1,)
        First row of each query.
    scale : ndarray of shape (n_queries,)
        Factor of each query in the whole sum.
    options : dict
        What all queries share.

    Examples
    --------
    >>> ptr, scale = np.array([0, 2, 4]), np.array([0.25, 0.75])
    >>> recipe = QueryRecipe(pair_loss, np.array([0.0, 1, 0, 1]), None, ptr, scale, {"squared": False})
    >>> second = recipe.part(1, 2).build(1)
    >>> second.evaluate(np.zeros(2), np.empty(2), 1)
    0.75
    """

    make: Callable[..., QueryLoss]
    y: Vector
    weight: Vector | None
    query_ptr: NDArray[np.int64]
    scale: Vector
    options: Mapping[str, Any] = field(default_factory=dict)

    def part(self, first: int, last: int) -> QueryRecipe:
        """Return the recipe for the queries ``first`` to ``last``, whose rows count from 0."""
        rows = slice(int(self.query_ptr[first]), int(self.query_ptr[last]))
        return replace(
            self,
            y=self.y[rows],
            weight=None if self.weight is None else self.weight[rows],
            query_ptr=self.query_ptr[first : last + 1] - self.query_ptr[first],
            scale=self.scale[first:last],
        )

    def build(self, n_threads: int) -> Any:
        """Make the loss."""
        return self.make(self.y, self.weight, self.query_ptr, self.scale, n_threads, **self.options)


@dataclass(frozen=True)
class SumRecipe:
    """A weighted sum of structured losses over the same queries."""

    parts: tuple[Recipe, ...]
    weights: Vector

    @property
    def query_ptr(self) -> NDArray[np.int64]:
        """First row of each query, and the number of rows."""
        return self.parts[0].query_ptr

    def part(self, first: int, last: int) -> SumRecipe:
        """Return the recipe for the queries ``first`` to ``last``, whose rows count from 0."""
        return replace(self, parts=tuple(recipe.part(first, last) for recipe in self.parts))

    def build(self, n_threads: int) -> Any:
        """Make the loss."""
        return _kernels.StructuredSum([recipe.build(n_threads) for recipe in self.parts], self.weights)


def pair_loss(
    y: Vector, weight: Vector | None, ptr: Any, scale: Vector, n_threads: int, *, squared: bool
) -> QueryLoss:
    """Make the hinge or squared hinge over pairs."""
    return _kernels.PairLoss(_kernels.PairLabels(y, ptr, weight, n_threads), scale, squared)


def least_squares(y: Vector, weight: Vector | None, ptr: Any, scale: Vector, n_threads: int) -> QueryLoss:
    """Make the squared errors centred within queries."""
    del n_threads
    return _kernels.LeastSquares(y, ptr, weight, scale)


def structured_auc(y: Vector, weight: None, ptr: Any, scale: Vector, n_threads: int) -> QueryLoss:
    """Make the loss of the area under the curve."""
    del weight
    return _kernels.StructuredAuc(y, ptr, scale, n_threads)


def structured(
    y: Vector,
    weight: None,
    ptr: Any,
    scale: Vector,
    n_threads: int,
    *,
    kernel: str,
    constants: tuple[Any, ...],
) -> QueryLoss:
    """Make another structured loss, by the name of its kernel and what this takes beside."""
    del weight, n_threads
    made: QueryLoss = getattr(_kernels, kernel)(y, ptr, scale, *constants)
    return made
