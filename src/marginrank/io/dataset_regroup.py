"""The second half of writing a data set: rows of scattered queries brought together, by an external sort.

The sizes of all queries are known by now, so every row knows its chunk: rows are dealt out to files of each
chunk, in the order in which they came, and sorted by query in memory, a chunk at a time.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from marginrank.io import dataset_rows as rows
from marginrank.io.dataset_files import ArrayFile, read_arrays, write_arrays
from marginrank.io.dataset_rows import Block
from marginrank.io.dataset_stage import ChunkLimits, Stage


class Regrouping:
    """Where every row of a stage belongs.

    Parameters
    ----------
    stage : Stage
        Chunks in the order in which rows came.
    limits : ChunkLimits
        The size of chunks.

    Attributes
    ----------
    n_chunks : int
        Chunks that there will be.
    """

    def __init__(self, stage: Stage, limits: ChunkLimits) -> None:
        self._stage = stage
        runs = [_runs(stage, number) for number in range(len(stage.chunks))]
        ids = rows.joined_ids([found[0] for found in runs]).tolist()
        numbers: dict[Any, int] = {}
        query = np.fromiter((numbers.setdefault(key, len(numbers)) for key in ids), np.int64, len(ids))
        sizes = np.concatenate([found[1] for found in runs])
        n_bytes = np.concatenate([found[2] for found in runs])
        self._query_of_row = np.repeat(query, sizes)
        self._chunk_of_query = _planned(
            np.bincount(query, sizes).astype(np.int64), np.bincount(query, n_bytes).astype(np.int64), limits
        )
        self.n_chunks = int(self._chunk_of_query[-1]) + 1

    def new_numbers(self) -> NDArray[np.int64]:
        """Return the new number of each row, in the order in which they came."""
        order = np.argsort(self._query_of_row, kind="stable")
        numbers = np.empty_like(order)
        numbers[order] = np.arange(len(order))
        return numbers

    def blocks(self, folder: Path) -> Iterator[Block]:
        """Deal the rows out to files in a folder of its own, and return the rows of each chunk, sorted."""
        parts: list[list[ArrayFile]] = [[] for _ in range(self.n_chunks)]
        queries: list[list[NDArray[np.int64]]] = [[] for _ in range(self.n_chunks)]
        first = 0
        for number in range(len(self._stage.chunks)):
            block = self._stage.block(number)
            query = self._query_of_row[first : first + rows.n_rows(block)]
            first += rows.n_rows(block)
            chunk = self._chunk_of_query[query]
            for target in np.unique(chunk).tolist():
                chosen = np.flatnonzero(chunk == target)
                arrays = rows.arrays_of(rows.take(block, chosen))
                name = f"part-{target:06d}-{number:06d}.bin"
                parts[target].append(write_arrays(folder, name, arrays, lasting=False))
                queries[target].append(query[chosen])
        for found, own in zip(parts, queries, strict=True):
            yield self._sorted(folder, found, np.concatenate(own))

    def _sorted(self, folder: Path, parts: list[ArrayFile], query: NDArray[np.int64]) -> Block:
        width = self._stage.n_features
        found = [rows.block_from(read_arrays(folder, part, mapped=False), width) for part in parts]
        for part in parts:
            (folder / part.file).unlink()
        return rows.take(rows.join(found), np.argsort(query, kind="stable"))


def _runs(stage: Stage, number: int) -> tuple[NDArray[Any], NDArray[np.int64], NDArray[np.int64]]:
    """Return the ids, rows and bytes of the runs of a chunk."""
    arrays = stage.arrays(number)
    sizes = np.array(arrays["query_sizes"])
    block = {"X": rows.matrix_from(arrays, stage.n_features)}
    starts = np.append(0, np.cumsum(sizes))[:-1]
    return rows.ids_from(arrays).copy(), sizes, np.add.reduceat(rows.row_bytes(block), starts)


def _planned(sizes: NDArray[np.int64], n_bytes: NDArray[np.int64], limits: ChunkLimits) -> NDArray[np.int64]:
    """Return the chunk of each query, filled as a stage fills them."""
    chunk_of, chunk, n, size = np.empty(len(sizes), dtype=np.int64), 0, 0, 0
    for query, (more, weight) in enumerate(zip(sizes.tolist(), n_bytes.tolist(), strict=True)):
        if n and not limits.hold(n + more, size + weight):
            chunk, n, size = chunk + 1, 0, 0
        n, size = n + more, size + weight
        chunk_of[query] = chunk
    return chunk_of
