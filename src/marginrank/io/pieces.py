"""Ranking data in pieces that memory holds, for writers: the chunks of data on disk, or all at once."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from marginrank.data import RankingData
from marginrank.data.matrices import in_memory
from marginrank.storage.disk_dataset import DiskDataset


def pieces(data: RankingData, most_values: int | None = None) -> Iterator[RankingData]:
    """Return rows one after another; those of data in memory are one piece.

    Parameters
    ----------
    data : RankingData
        In memory or on disk.
    most_values : int, optional
        Rows times features of a piece of data on disk; by default any number.

    Examples
    --------
    >>> [piece.n_rows for piece in pieces(RankingData([[1.0], [2.0]], [0, 1]))]
    [2]
    """
    if in_memory(data.X):
        yield data
        return
    step = data.n_rows if most_values is None else max(1, most_values // data.n_features)
    for chunk in _chunks(data):
        for first in range(0, chunk.n_rows, step):
            last = min(first + step, chunk.n_rows)
            yield chunk if last - first == chunk.n_rows else chunk.subset(np.arange(first, last))


def has_comments(data: RankingData) -> bool:
    """Whether any row has a remark, without reading them."""
    return data.has_comments if isinstance(data, DiskDataset) else data.comments is not None


def held(data: RankingData) -> RankingData:
    """Return the data in memory."""
    if isinstance(data, DiskDataset):
        return data.in_memory()
    return data if in_memory(data.X) else data.subset(np.arange(data.n_rows))


def _chunks(data: RankingData) -> Iterator[RankingData]:
    if isinstance(data, DiskDataset):
        yield from data.chunks()
        return
    assert not in_memory(data.X)
    for section in data.X.sections():
        yield data.subset(np.arange(section.first, section.last))
