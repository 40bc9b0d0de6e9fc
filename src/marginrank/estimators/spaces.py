"""What coefficients are weights of: the columns of X as they are, or features made of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from marginrank.designs import Design, MatrixDesign
from marginrank.model_selection import Rows
from marginrank.validation import Matrix, Vector

#: From X, row numbers and their weights to a design and the column scale that it divides by.
MakeDesign = Callable[[Matrix, Rows | None, Vector | None], tuple[Design, Vector | None]]


class Space(Protocol):
    """Makes designs over training rows and over further ones, for the same coefficients."""

    def training_design(self, rows: Rows | None, weight: Vector | None) -> tuple[Design, Vector | None]:
        """Return the design of training rows and the column scale that it divides by."""

    def held_out(self, rows: Rows | None) -> Design:
        """Return the design, in raw units, of training rows that a fold leaves out."""

    def further(self, X: Matrix) -> Design:
        """Return the design, in raw units, of other rows, which will be scored more than once."""

    def release(self) -> None:
        """Let go of memory that can be had again by work."""


@dataclass(frozen=True)
class RawColumns:
    """The columns of X.

    Parameters
    ----------
    X : ndarray or CSR matrix
        The training rows.
    make_design : callable
        Makes designs for training.
    n_threads : int
        Threads to use.
    """

    X: Matrix
    make_design: MakeDesign
    n_threads: int

    def training_design(self, rows: Rows | None, weight: Vector | None) -> tuple[Design, Vector | None]:
        """Return the design of training rows and the column scale that it divides by."""
        return self.make_design(self.X, rows, weight)

    def held_out(self, rows: Rows | None) -> Design:
        """Return the design of training rows."""
        return MatrixDesign(self.X, rows, n_threads=self.n_threads)

    def further(self, X: Matrix) -> Design:
        """Return the design of other rows."""
        return MatrixDesign(X, n_threads=self.n_threads)

    def release(self) -> None:
        """Nothing is held beside X."""
