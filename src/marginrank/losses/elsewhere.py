"""Losses whose labels lie with the chunks of remote rows: what is asked about them there, and comes back."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from marginrank._kernels import PairLabels
from marginrank.losses.native import NativeLoss
from marginrank.storage.chunk_vectors import ChunkVector
from marginrank.storage.chunks import TreeSum
from marginrank.types import Rows, Vector


def parts_elsewhere(loss: Any, y: ChunkVector) -> list[NativeLoss] | None:
    """Return the parts of a loss for each chunk, without their labels; None where these have to come here.

    They lie with the chunks, and have to come where a chunk ends within a query, as with one global ranking.
    """
    ranges = y.queries(loss.query_ptr)
    if ranges is None:
        return None
    # What is sent shall not depend on the threads here, or a journal would not know it again.
    bare = loss.with_labels(None).with_threads(1)
    return [bare.part(*queries) for queries in ranges]


def counted_elsewhere(y: ChunkVector, parts: Sequence[NativeLoss]) -> tuple[Vector, int]:
    """Return what the pairs of each query weigh, and how many pairs there are."""
    found = y.ask(_pairs, parts)
    return np.concatenate([weight for weight, _ in found]), int(sum(count[0] for _, count in found))


class WeightsElsewhere:
    """Weights of rows for the diagonal of the Hessian, made where the labels lie; only some travel.

    Parameters
    ----------
    y : ChunkVector
        The labels.
    parts : sequence of NativeLoss
        The loss of each chunk, without its labels.
    """

    def __init__(self, y: ChunkVector, parts: Sequence[NativeLoss]) -> None:
        self._y, self._parts = y, parts
        self._sum: float | None = None
        self._ends = np.cumsum([0, *(part.n_rows for part in parts)])

    def __len__(self) -> int:
        return len(self._y)

    def __getitem__(self, positions: Rows) -> Vector:
        cuts = np.searchsorted(positions, self._ends)
        own = [positions[cuts[k] : cuts[k + 1]] - self._ends[k] for k in range(len(self._parts))]
        found = self._y.ask(_weights, list(zip(self._parts, own, strict=True)))
        self._sum = float(TreeSum.of(total for _, total in found)[0])
        return np.concatenate([weights for weights, _ in found])

    def sum(self) -> float:
        """Return the sum of the weights of all rows, by a fixed tree over the chunks."""
        if self._sum is None:
            self[np.empty(0, dtype=np.int64)]
        assert self._sum is not None
        return self._sum


# Answers are arrays and tuples of these.
def _pairs(y: Vector, n_threads: int, loss: Any) -> tuple[Vector, Rows]:
    labels = PairLabels(y, loss.query_ptr, loss.weight, n_threads)
    return labels.pair_weight, np.array([labels.n_pairs.sum()])


def _weights(y: Vector, n_threads: int, own: tuple[Any, Rows]) -> tuple[Vector, Vector]:
    loss, positions = own
    weights: Vector = loss.with_labels(y).with_threads(n_threads).curvature()[0]
    return weights[positions], np.array([weights.sum()])
