"""The first half of writing a data set: rows as they come, cut into chunks that end with a query.

Each chunk is noted in a journal as soon as it is on disk, so that a writing that was stopped can go on there.
"""

from __future__ import annotations

import json
from collections import deque
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from marginrank.data.matrices import is_sparse
from marginrank.exceptions import MarginRankError
from marginrank.storage import dataset_rows as rows
from marginrank.storage.dataset_files import (
    ArrayFile,
    is_feature,
    parse_array_file,
    read_arrays,
    write_arrays,
)
from marginrank.storage.dataset_manifest import chunk_rows
from marginrank.storage.dataset_rows import Block
from marginrank.storage.stage_folder import JOURNAL
from marginrank.system.atomic_write import atomic_write

_WORDS = {"y": "labels", "qid": "query ids", "sample_weight": "row weights", "query_weight": "query weights"}


class ChunkLimits(NamedTuple):
    """The most rows of a chunk, None for any number, and the most bytes of features."""

    rows: int | None
    bytes: int

    def allow(self, n_rows: int, n_bytes: int) -> bool:
        """Whether a chunk may have so many."""
        return n_bytes <= self.bytes and (self.rows is None or n_rows <= self.rows)


class Stage:
    """Takes blocks of rows and writes chunks of them, holding one chunk and one block.

    Parameters
    ----------
    folder : Path
        An empty folder, or one that an earlier stage with the same ``identity`` left behind.
    limits : ChunkLimits
        The size of chunks. A larger query gets a chunk of its own.
    identity : dict
        What tells whether a journal is about the same rows and options.
    widening : bool
        Whether later blocks may be wider, as pieces of sparse text are.

    Attributes
    ----------
    position : Any
        Where the source shall start: as it was given to ``add``, None for the beginning.
    scattered : bool
        Whether rows of a query came apart.
    """

    def __init__(
        self, folder: Path, limits: ChunkLimits, identity: dict[str, Any], *, widening: bool = False
    ) -> None:
        self._folder, self._limits, self._identity, self._widening = folder, limits, identity, widening
        self.chunks: list[ArrayFile] = []
        self.n_features = 0
        self.position: Any = None
        self.scattered = False
        self._pending: deque[Block] = deque()
        self._seen: set[Any] = set()
        self._spelled = False
        self._open: Any = None  # the query that may go on: id, rows, bytes
        self._rows = self._bytes = 0  # of whole queries that wait for their chunk
        self._written = self._skip = self._came = 0
        self._starts: deque[tuple[int, Any]] = deque()
        self._parts: dict[str, Any] | None = None
        self._recover()

    def add(self, block: Block, position: Any = None) -> None:
        """Take the next rows; ``position`` is where the source has them."""
        n = rows.n_rows(block)
        if position is not None or not self._starts:  # a source that knows no positions begins anew
            self._starts.append((self._came, position))
        self._came += n
        skipped = min(self._skip, n)
        self._skip -= skipped
        if skipped:
            block = rows.cut(block, skipped, n)
        if skipped == n:
            return
        self._check(block)
        self._pending.append(block)
        self.n_features = max(self.n_features, block["X"].shape[1])
        if "qid" in block:
            self._add_queries(block)
        else:
            self._add_rows(block)

    def finish(self) -> None:
        """Write what is left."""
        if self._skip:
            raise MarginRankError.saying(
                "The rows end before those that were written already; this is not the source that the "
                "writing was started with.",
                "Start anew, with {overwrite=True} in place of {resume=True}.",
            )
        if self._open is not None:
            self._place(*self._open[1:])
        if self._rows:
            self._flush()
        if not self.chunks:
            raise MarginRankError("A data set needs at least one row; got none.")

    @property
    def n_written(self) -> int:
        """Rows on disk."""
        return self._written

    def block(self, number: int) -> Block:
        """Return the rows of a chunk that was written."""
        return rows.block_from(self.arrays(number), self.n_features)

    def arrays(self, number: int, *, features: bool = True) -> dict[str, NDArray[Any]]:
        """Return the arrays of a chunk that was written, with or without the features."""
        chunk = self.chunks[number]
        names = [name for name in chunk.arrays if features or not is_feature(name)]
        return read_arrays(self._folder, chunk, names=names)

    def row_bytes(self, number: int) -> NDArray[np.int64]:
        """Return what the features of each row of a chunk take."""
        chunk = self.chunks[number]
        if "X" in chunk.arrays:
            dtype, (n_rows, n_columns), _ = chunk.arrays["X"]
            return np.full(n_rows, n_columns * np.dtype(dtype).itemsize, dtype=np.int64)
        pointers = read_arrays(self._folder, chunk, names=["X_indptr"])["X_indptr"]
        return rows.sparse_row_bytes(pointers, np.dtype(chunk.arrays["X_data"][0]))

    def _add_queries(self, block: Block) -> None:
        ids, sizes = block["qid"], np.append(0, np.cumsum(rows.row_bytes(block)))
        starts = rows.run_starts(ids)
        ends = np.append(starts[1:], len(ids))
        self._spell(ids)
        keys = (rows.spelled(ids[starts]) if self._spelled else ids[starts]).tolist()
        spans = zip(keys, (ends - starts).tolist(), (sizes[ends] - sizes[starts]).tolist(), strict=True)
        for key, n, size in spans:
            if self._open is not None and self._open[0] == key:
                self._open = (key, self._open[1] + n, self._open[2] + size)
                continue
            if self._open is not None:
                self._place(*self._open[1:])
            self.scattered |= key in self._seen
            self._seen.add(key)
            self._open = (key, n, size)

    def _spell(self, ids: NDArray[Any]) -> None:
        """From the first id that is text on, all are known by their spelling."""
        if not self._spelled and ids.dtype.kind in "OU":
            self._spelled = True
            self._seen = set(map(str, self._seen))
            if self._open is not None:
                self._open = (str(self._open[0]), *self._open[1:])

    def _add_rows(self, block: Block) -> None:
        """Without queries a chunk may end anywhere."""
        sizes, first, n = np.cumsum(rows.row_bytes(block)), 0, rows.n_rows(block)
        while first < n:
            before = int(sizes[first - 1]) if first else 0
            fitting = int(np.searchsorted(sizes, self._limits.bytes - self._bytes + before, side="right"))
            if self._limits.rows is not None:
                fitting = min(fitting, first + self._limits.rows - self._rows)
            last = min(n, fitting if self._rows else max(fitting, first + 1))
            self._rows += last - first
            self._bytes += int(sizes[last - 1]) - before if last > first else 0
            if last < n:
                self._flush()
            first = last

    def _place(self, n: int, size: int) -> None:
        """Put a whole query into the chunk that waits, or start the next one with it."""
        if self._rows and not self._limits.allow(self._rows + n, self._bytes + size):
            self._flush()
        self._rows += n
        self._bytes += size

    def _flush(self) -> None:
        """Write the rows that wait, and note it in the journal."""
        wanted, parts = self._rows, []
        while wanted:
            block = self._pending.popleft()
            n = rows.n_rows(block)
            if n > wanted:
                self._pending.appendleft(rows.cut(block, wanted, n))
                block = rows.cut(block, 0, wanted)
            parts.append(block)
            wanted -= rows.n_rows(block)
        name = f"staged-{len(self.chunks):06d}.bin"
        self.chunks.append(write_arrays(self._folder, name, rows.arrays_of(rows.join(parts))))
        self._written += self._rows
        self._rows = self._bytes = 0
        while len(self._starts) > 1 and self._starts[1][0] <= self._written:
            self._starts.popleft()
        self._note()

    def _note(self) -> None:
        before, position = self._starts[0]
        journal = {
            "identity": self._identity,
            "n_features": self.n_features,
            "parts": self._parts,
            "chunks": [chunk.to_json() for chunk in self.chunks],
            "before": before,
            "position": position,
        }
        with atomic_write(self._folder / JOURNAL) as file:
            file.write(json.dumps(journal).encode())

    def _recover(self) -> None:
        """Go on where an earlier stage stopped, if there was one."""
        try:
            journal = json.loads((self._folder / JOURNAL).read_bytes())
            if journal["identity"] != json.loads(json.dumps(self._identity)):
                raise MarginRankError.saying(
                    "{folder!s} was left by a writing from another source or with other options.",
                    "Repeat it with these, or start anew, with {overwrite=True} in place of {resume=True}.",
                    folder=self._folder,
                )
            self._take_up(journal)
        except FileNotFoundError:
            return
        except MarginRankError:
            raise
        except (ValueError, KeyError, TypeError, AttributeError, IndexError, RecursionError):
            raise MarginRankError.saying(
                "{journal!s} is damaged; start anew, with {overwrite=True} in place of {resume=True}.",
                journal=self._folder / JOURNAL,
            ) from None

    def _take_up(self, journal: dict[str, Any]) -> None:
        self.n_features, self._parts = int(journal["n_features"]), journal["parts"]
        self.chunks = [parse_array_file(chunk) for chunk in journal["chunks"]]
        self._written = sum(map(chunk_rows, self.chunks))
        self._came, self.position = int(journal["before"]), journal["position"]
        self._skip = self._written - self._came
        if self._skip < 0:
            raise ValueError("more rows came before than were written")
        for number in range(len(self.chunks)):
            arrays = self.arrays(number, features=False)
            if "query_sizes" in arrays:
                ids = rows.ids_from(arrays)
                self._spell(ids)
                keys = (rows.spelled(ids) if self._spelled else ids).tolist()
                self.scattered |= len(set(keys)) < len(keys) or not self._seen.isdisjoint(keys)
                self._seen.update(keys)

    def _check(self, block: Block) -> None:
        """Refuse a block that does not fit those before it."""
        X = block["X"]
        parts = {
            "held": [word for name, word in _WORDS.items() if name in block],
            "storage": "CSR" if is_sparse(X) else "dense",
            "dtype": str(X.dtype),
            "ids": rows.id_kind(block["qid"]) if "qid" in block else None,
            "width": X.shape[1],
        }
        known = self._parts or parts
        if {known["ids"], parts["ids"]} == {"integer", "text"}:
            parts["ids"] = known["ids"] = "text"
        if self._widening:
            parts["width"] = known["width"] = max(known["width"], parts["width"])
        for name, what in (
            ("held", "hold"),
            ("storage", "be stored as"),
            ("dtype", "be of dtype"),
            ("ids", "have query ids of kind"),
            ("width", "have this number of features:"),
        ):
            if parts[name] != known[name]:
                raise MarginRankError(
                    f"All blocks of a data set must {what} {_shown(known[name])}, as the first one; "
                    f"got {_shown(parts[name])}."
                )
        self._parts = known


def _shown(value: Any) -> str:
    return (", ".join(value) or "features only") if isinstance(value, list) else str(value)
