"""Products of several folds of rows with their own vectors, in one read of X for all of them.

Folds that are trained in lockstep (``lockstep.py``) each have a design over their own rows. A product that is
asked of it becomes a request; the requests of all folds are answered by products of all rows with several
vectors. A fold takes the scores of its own rows; an adjoint has zeros at the others.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import islice
from typing import Any

import numpy as np

from marginrank.designs.base import Design, Evaluation, LocalDesign, ProductRounding, steps
from marginrank.designs.lockstep import Asks
from marginrank.losses.base import Loss
from marginrank.types import Array, Rows, Vector

# Additions on the way through a tree of as many blocks as there may ever be.
_DEEPEST_TREE = 64


@dataclass(frozen=True)
class ScoresRequest:
    """Scores of the rows of a fold, for each row of a matrix of coefficients."""

    vectors: Array


@dataclass(frozen=True)
class AdjointRequest:
    """Products with the transpose, for each row of a matrix with an entry for each row of the fold."""

    vectors: Array


@dataclass(frozen=True)
class FusedRequest:
    """A loss at the scores of one vector, and the adjoint of its gradient."""

    w: Vector
    loss: Loss


@dataclass(frozen=True)
class HessianRequest:
    """The product ``X' H(scores) X v``."""

    v: Vector
    scores: Vector
    loss: Loss


Request = ScoresRequest | AdjointRequest | FusedRequest | HessianRequest


class SharingDesign(LocalDesign):
    """The design of one of several folds, whose products are made together with those of the others.

    Parameters
    ----------
    own : Design
        The design of the fold's rows alone, for what takes a sample of them.
    asks : Asks
        The fold's place among the others.
    fusing : bool, default=False
        Whether fused products are made together, too.
    """

    def __init__(self, own: Design, asks: Asks, *, fusing: bool = False) -> None:
        self._own = own
        self._asks = asks
        self._fusing = fusing
        self.shape = own.shape

    def scores(self, w: Vector) -> Vector:
        """Return ``X w``."""
        return np.asarray(self.scores_block(w[None])[0])

    def adjoint(self, g: Vector) -> Vector:
        """Return ``X' g``."""
        return np.asarray(self.adjoint_block(g[None])[0])

    def scores_block(self, W: Array) -> Array:
        """Return the scores of each row of W."""
        return np.asarray(self._asks.ask(ScoresRequest(W)))

    def adjoint_block(self, G: Array) -> Array:
        """Return the adjoint of each row of G."""
        return np.asarray(self._asks.ask(AdjointRequest(G)))

    def rounding(self) -> ProductRounding:
        """Return how far the products may be rounded.

        Sums are made over blocks of the rows of all folds, of which each has at most all rows of this one,
        and in a tree over these blocks; the zeros of other rows add nothing.
        """
        own = self._own.rounding()
        depth = own.adjoint_steps + self.shape[0] + _DEEPEST_TREE
        return ProductRounding(own.column, own.scores_steps, steps(depth))

    def fuses(self, loss: Loss) -> bool:
        """Whether fused products are made together and pay for this loss."""
        return self._fusing and self._own.fuses(loss)

    def _fused(self, w: Vector, loss: Loss) -> Evaluation:
        found: Evaluation = self._asks.ask(FusedRequest(w, loss))
        return found

    def _fused_hvp(self, v: Vector, loss: Loss, scores: Vector) -> Vector:
        return np.asarray(self._asks.ask(HessianRequest(v, scores, loss)))

    def centred_squares(self, row_weight: Vector, query_ptr: Rows) -> Vector:
        """Estimate ``sum_i h_i (x_ij - mean_qj)^2`` for each column j from a sample of the fold's rows."""
        return self._own.centred_squares(row_weight, query_ptr)

    def centred_products(self, row_weight: Vector, query_ptr: Rows) -> Array | None:
        """Estimate the same of all pairs of columns, where that pays."""
        return self._own.centred_products(row_weight, query_ptr)


class ProductsTogether:
    """Answers the requests of folds by products of a design over all of their rows.

    Scores and adjoints are different reads of X. Where some folds request the ones and some the others, the
    fewer are served first: mostly they then request what the others do, and from there on all of them stay
    together. To serve both at once would keep them apart for good.

    Parameters
    ----------
    design : Design
        All rows.
    positions : list of ndarray of int64 or None
        The rows of each fold, as positions of the design, in the order of the fold; None stands for all.
    per_read : int, default=8
        Vectors whose adjoints the design makes in one read.

    Attributes
    ----------
    n_products, n_vectors : int
        Products so far, each one or more reads of X, and vectors that were multiplied in them.
    """

    fusing = False

    def __init__(self, design: Design, positions: list[Rows | None], per_read: int = 8) -> None:
        self._design = design
        self._per_read = per_read
        self._positions = positions
        self.n_products = 0
        self.n_vectors = 0

    def __call__(self, requests: Mapping[int, Request]) -> dict[int, Array]:
        """Answer the requests of one kind."""
        scores = {k: one.vectors for k, one in requests.items() if isinstance(one, ScoresRequest)}
        adjoints = {k: one.vectors for k, one in requests.items() if isinstance(one, AdjointRequest)}
        self.n_products += 1
        if not adjoints or (scores and _n_vectors(scores) <= _n_vectors(adjoints)):
            self.n_vectors += _n_vectors(scores)
            return self._scores(scores)
        self.n_vectors += _n_vectors(adjoints)
        return self._adjoints(adjoints)

    def _scores(self, by_fold: dict[int, Array]) -> dict[int, Array]:
        found = iter(self._design.scores_block(np.concatenate(list(by_fold.values()))))
        return {
            k: np.stack([next(found)[self._places(k)] for _ in vectors]) for k, vectors in by_fold.items()
        }

    def _adjoints(self, by_fold: dict[int, Array]) -> dict[int, Array]:
        each = iter([(self._places(k), g) for k, vectors in by_fold.items() for g in vectors])
        found = []
        # As many at a time as one read serves: of vectors over all rows, more would take memory only.
        while group := list(islice(each, self._per_read)):
            spread = np.zeros((len(group), self._design.shape[0]))
            for row, (places, g) in zip(spread, group, strict=True):
                row[places] = g
            found.append(self._design.adjoint_block(spread))
        ends = np.cumsum([len(vectors) for vectors in by_fold.values()])
        return dict(zip(by_fold, np.split(np.concatenate(found), ends[:-1]), strict=True))

    def _places(self, fold: int) -> Any:
        positions = self._positions[fold]
        return slice(None) if positions is None else positions


def _n_vectors(by_fold: dict[int, Array]) -> int:
    return sum(map(len, by_fold.values()))
