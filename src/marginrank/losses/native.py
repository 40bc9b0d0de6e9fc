"""What the compiled losses share: evaluation at a vector of scores."""

from __future__ import annotations

from abc import ABC, abstractmethod
from functools import partial
from typing import ClassVar, Protocol

import numpy as np

from marginrank.losses.base import ScorePoint, Vector
from marginrank.rounding import LossRounding


class Kernel(Protocol):
    """A compiled loss: fills a gradient or a Hessian product, one entry per row."""

    def evaluate(self, scores: Vector, gradient: Vector, n_threads: int) -> float:
        """Return the value and fill the gradient."""

    def hessian(self, scores: Vector, direction: Vector, product: Vector, n_threads: int) -> None:
        """Fill the product of the Hessian at the scores with the direction."""


class NativeLoss(ABC):
    """Base of the losses that a kernel evaluates.

    Parameters
    ----------
    kernel : Kernel
        The compiled loss.
    n_rows : int
        Number of scores.
    n_threads : int
        Threads to use; the result does not depend on it.
    """

    name: ClassVar[str]
    smooth: ClassVar[bool]

    def __init__(self, kernel: Kernel, n_rows: int, n_threads: int) -> None:
        self._kernel = kernel
        self.n_rows = n_rows
        self._n_threads = n_threads

    def at(self, scores: Vector) -> ScorePoint:
        """Evaluate at the scores."""
        gradient = np.empty(self.n_rows)
        value = self._kernel.evaluate(scores, gradient, self._n_threads)
        return self.point(scores, value, gradient)

    def point(self, scores: Vector, value: float, gradient: Vector) -> ScorePoint:
        """Wrap a value and a gradient that were computed at the scores."""
        return ScorePoint(value, gradient, partial(self._hvp, scores))

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

    def _hvp(self, scores: Vector, direction: Vector) -> Vector:
        product = np.empty(self.n_rows)
        self._kernel.hessian(scores, direction, product, self._n_threads)
        return product
