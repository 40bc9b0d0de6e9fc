"""What the compiled losses share: a value that can be sent and cut, compiled where it is first evaluated."""

from __future__ import annotations

from abc import ABC, abstractmethod
from copy import copy
from functools import partial
from typing import Any, ClassVar, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from marginrank.cached import cached_property
from marginrank.exceptions import MarginRankError
from marginrank.losses.base import Cost, ScorePoint
from marginrank.rounding import LossRounding
from marginrank.types import Vector

#: Rows of the longest query that a loss of quadratic cost takes: 2e8 pairs in every evaluation.
LARGEST_QUADRATIC = 20_000


class Kernel(Protocol):
    """A compiled loss: fills a gradient or a Hessian product, one entry per row."""

    def evaluate(self, scores: Vector, gradient: Vector, n_threads: int) -> float:
        """Return the value and fill the gradient."""

    def hessian(self, scores: Vector, direction: Vector, product: Vector, n_threads: int) -> None:
        """Fill the product of the Hessian at the scores with the direction."""


class NativeLoss(ABC):
    """Base of the losses that compiled code evaluates.

    What a loss is made of are plain attributes, set once. What follows from them, the compiled loss above
    all, is a ``cached_property``: made when first asked for, and left out of copies, parts and pickles.

    Parameters
    ----------
    query_ptr : ndarray of int64
        First row of each query, and the number of rows.
    n_threads : int
        Threads to use; the result does not depend on it.

    Attributes
    ----------
    n_rows, n_queries, longest_query : int
        Number of scores and of queries, and the rows of the longest query.
    """

    name: ClassVar[str]
    smooth: ClassVar[bool]
    quadratic: ClassVar[bool] = False
    cost: Cost
    #: Attributes, or None, with one entry for each row, and for each query; a part has its share of them.
    by_row: ClassVar[tuple[str, ...]] = ()
    by_query: ClassVar[tuple[str, ...]] = ()

    def __init__(self, query_ptr: NDArray[np.int64], n_threads: int) -> None:
        self.n_threads = n_threads
        self._set_queries(query_ptr)
        if self.cost == "quadratic" and self.longest_query > LARGEST_QUADRATIC:
            raise MarginRankError.saying(
                "{loss=} looks at every pair of rows of a query, in time that grows with the square of their "
                "number, and takes up to {most:d} rows; the longest query has {rows:d}.",
                "Use {loss='hinge'} or {loss='squared_hinge'}, which sort, or shorter queries.",
                loss=self.name,
                most=LARGEST_QUADRATIC,
                rows=self.longest_query,
            )

    def _set_queries(self, query_ptr: NDArray[np.int64]) -> None:
        self.query_ptr = query_ptr
        self.n_rows = int(query_ptr[-1])
        self.n_queries = len(query_ptr) - 1
        self.longest_query = int(np.diff(query_ptr).max(initial=0))

    @cached_property
    def compiled(self) -> Any:
        """The compiled loss."""
        return self._compiled()

    @abstractmethod
    def _compiled(self) -> Kernel:
        """Compile the loss."""

    def __getstate__(self) -> dict[str, Any]:
        made = {
            name
            for kind in type(self).__mro__
            for name, member in vars(kind).items()
            if isinstance(member, cached_property)
        }
        return {name: value for name, value in vars(self).items() if name not in made}

    def _with(self, **attributes: Any) -> Self:
        """Return a copy with other attributes, and nothing made of these yet."""
        other = copy(self)
        vars(other).update(attributes)
        return other

    def part(self, first: int, last: int) -> Self:
        """Return the loss of the queries ``first`` to ``last``, whose rows count from 0."""
        ptr = self.query_ptr[first : last + 1]
        shares = dict.fromkeys(self.by_row, slice(int(ptr[0]), int(ptr[-1])))
        shares |= dict.fromkeys(self.by_query, slice(first, last))
        whole = {name: getattr(self, name) for name in shares}
        cut = {name: None if values is None else values[shares[name]] for name, values in whole.items()}
        part = self._with(**cut)
        part._set_queries(ptr - ptr[0])
        return part

    def with_threads(self, n_threads: int) -> Self:
        """Return the same loss, evaluated by so many threads."""
        return self._with(n_threads=n_threads)

    def at(self, scores: Vector) -> ScorePoint:
        """Evaluate at the scores."""
        gradient = np.empty(self.n_rows)
        value = self.compiled.evaluate(scores, gradient, self.n_threads)
        return ScorePoint(value, gradient, partial(self.hvp, scores))

    def hvp(self, scores: Vector, direction: Vector) -> Vector:
        """Return the product of the (generalised) Hessian at the scores with a direction."""
        product = np.empty(self.n_rows)
        self.compiled.hessian(scores, direction, product, self.n_threads)
        return product

    @abstractmethod
    def curvature(self) -> tuple[Vector, NDArray[np.int64]]:
        """Return row weights and query offsets that give the diagonal of the Hessian; see :class:`Loss`."""

    @abstractmethod
    def rounding(
        self, value: float, reach: float, length: float, scores: Vector | None = None
    ) -> LossRounding:
        """Return how far value and gradient may be off; see :class:`Loss`."""

    @abstractmethod
    def risen(self, value: float, shift: float) -> float:
        """Return what the risk is at most where every score has moved by ``shift`` or less."""

    @abstractmethod
    def steepest(self, value: float) -> float:
        """Return what the 1-norm of a gradient is at most where the risk is ``value``."""

    def _by_row(self, values: Vector) -> Vector:
        """Repeat a value of each query for its rows."""
        return np.repeat(values, np.diff(self.query_ptr))
