"""The second half of writing a data set: rows of scattered queries brought together, by an external sort.

The sizes of all queries are known by now, so every row knows its chunk. Each staged chunk is sorted by query
and written once more. Then each chunk of the data set takes its rows, which are next to each other there, out
of all sorted files. There is one file for each staged chunk, and one of them is open at a time.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from marginrank.storage import dataset_rows as rows
from marginrank.storage.dataset_files import ArrayFile, stored_arrays, write_arrays
from marginrank.storage.dataset_rows import Block
from marginrank.storage.dataset_stage import ChunkLimits, Stage


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
        ids = rows.joined_ids([found[0] for found in runs])
        numbers: dict[Any, int] = {}
        query = np.fromiter(
            (numbers.setdefault(key, len(numbers)) for key in ids.tolist()), np.int64, len(ids)
        )
        self._ids = ids[np.unique(query, return_index=True)[1]]
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
        """Return the rows of each chunk, sorted, by way of files in a folder of its own."""
        sorted_files, queries = [], []
        first = 0
        for number in range(len(self._stage.chunks)):
            block = self._stage.block(number)
            query = self._query_of_row[first : first + rows.n_rows(block)]
            first += rows.n_rows(block)
            order = np.argsort(query, kind="stable")
            block.pop("qid")  # known by their numbers here
            arrays = rows.row_arrays(rows.take(block, order))
            sorted_files.append(write_arrays(folder, f"sorted-{number:06d}.bin", arrays, lasting=False))
            queries.append(query[order])
        for chunk in range(self.n_chunks):
            wanted = np.searchsorted(self._chunk_of_query, [chunk, chunk + 1])
            yield self._gathered(folder, sorted_files, queries, wanted)

    def _gathered(
        self,
        folder: Path,
        files: list[ArrayFile],
        queries: list[NDArray[np.int64]],
        wanted: NDArray[np.int64],
    ) -> Block:
        """Return the rows of a range of queries, out of all files."""
        parts, numbers = [], []
        for file, query in zip(files, queries, strict=True):
            first, last = np.searchsorted(query, wanted).tolist()
            if last > first:
                # Closed again at once: there may be more files than a process may have open.
                with stored_arrays(folder, file) as arrays:
                    parts.append(rows.copied_rows(arrays, self._stage.n_features, first, last))
                numbers.append(query[first:last])
        number = np.concatenate(numbers)
        block = rows.join(parts)
        block["qid"] = self._ids[number]
        return rows.take(block, np.argsort(number, kind="stable"))


def _runs(stage: Stage, number: int) -> tuple[NDArray[Any], NDArray[np.int64], NDArray[np.int64]]:
    """Return the ids, rows and bytes of the runs of a chunk."""
    arrays = stage.arrays(number, features=False)
    sizes = arrays["query_sizes"]
    starts = np.append(0, np.cumsum(sizes))[:-1]
    return rows.ids_from(arrays).copy(), sizes, np.add.reduceat(stage.row_bytes(number), starts)


def _planned(sizes: NDArray[np.int64], n_bytes: NDArray[np.int64], limits: ChunkLimits) -> NDArray[np.int64]:
    """Return the chunk of each query, filled as a stage fills them."""
    chunk_of, chunk, n, size = np.empty(len(sizes), dtype=np.int64), 0, 0, 0
    for query, (more, weight) in enumerate(zip(sizes.tolist(), n_bytes.tolist(), strict=True)):
        if n and not limits.allow(n + more, size + weight):
            chunk, n, size = chunk + 1, 0, 0
        n, size = n + more, size + weight
        chunk_of[query] = chunk
    return chunk_of
