"""Data sets on disk, written in a temporary folder and put in place when everything is there."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from marginrank.storage import dataset_rows as rows
from marginrank.storage.dataset_files import ArrayFile, write_arrays
from marginrank.storage.dataset_manifest import Manifest, chunk_rows
from marginrank.storage.dataset_regroup import Regrouping
from marginrank.storage.dataset_rows import Block
from marginrank.storage.dataset_stage import ChunkLimits, Stage
from marginrank.storage.row_source import RowSource, piece_bytes
from marginrank.storage.stage_folder import StageFolder, stage_folder

_MANY_LEVELS = 20


class WritingState(NamedTuple):
    """How far a writing is: rows and chunks on disk, and the share of the work, None where nobody knows it.

    ``rewriting`` says that all rows are there, and are brought into their order or made dense.
    """

    n_rows: int
    n_chunks: int
    share: float | None
    rewriting: bool


def write_chunks(
    target: Path,
    source: RowSource,
    limits: ChunkLimits,
    *,
    dense: bool | str,
    overwrite: bool,
    resume: bool,
    progress: Callable[[WritingState], None] | None = None,
) -> None:
    """Write the rows of a source as a data set.

    Parameters
    ----------
    target : Path
        The folder to be.
    source : RowSource
        The rows.
    limits : ChunkLimits
        The size of chunks.
    dense : bool or "auto"
        Whether sparse rows become dense in the end; "auto" where at least half of the entries are not zero.
    overwrite, resume : bool
        Whether to replace a data set, and to go on with a writing that was stopped.
    progress : callable, optional
        Called after each piece.
    """
    target = Path(os.path.realpath(target))  # a link stays a link
    tell = progress or (lambda state: None)
    identity = {"source": source.identity, "limits": list(limits)}
    with stage_folder(target, overwrite=overwrite, resume=resume) as place:
        with place.naming_target():
            stage = Stage(place.work, limits, identity, widening=source.widening)
        for piece in source.pieces(stage.position, piece_bytes(limits.bytes)):
            with place.naming_target():
                stage.add(piece.block, piece.position)
            tell(WritingState(stage.n_written, len(stage.chunks), source.share, False))
        with place.naming_target():
            stage.finish()
            _Assembly(place, stage, source, limits, dense, tell).write()
            place.put_in_place(overwrite=overwrite)


class _Assembly:
    """From a stage that is complete to the files of a data set."""

    def __init__(
        self,
        place: StageFolder,
        stage: Stage,
        source: RowSource,
        limits: ChunkLimits,
        dense: bool | str,
        tell: Callable[[WritingState], None],
    ) -> None:
        self._work, self._new = place.work, place.new
        self._stage, self._source, self._tell = stage, source, tell
        self._regrouping = Regrouping(stage, limits) if stage.scattered else None
        self._dense = self._becomes_dense(dense)

    def write(self) -> None:
        """Write chunks, pairs and manifest."""
        levels = self._labels()
        chunks = self._final() if self._regrouping is not None or self._dense else self._renamed()
        manifest = Manifest(
            n_rows=sum(map(chunk_rows, chunks)),
            n_features=self._stage.n_features,
            n_queries=_n_queries(chunks),
            storage="dense" if "X" in chunks[0].arrays else "csr",
            dtype=np.dtype(_features(chunks[0])[0]).name,
            labels=levels,
            feature_names=self._source.feature_names,
            chunks=tuple(chunks),
            pairs=self._pairs(),
        )
        manifest.write(self._new)

    def _becomes_dense(self, dense: bool | str) -> bool:
        chunks = self._stage.chunks
        if "X" in chunks[0].arrays or not dense:
            return False
        stored = sum(chunk.arrays["X_data"][1][0] for chunk in chunks)
        return dense is True or 2 * stored >= sum(map(chunk_rows, chunks)) * self._stage.n_features

    def _final(self) -> list[ArrayFile]:
        chunks: list[ArrayFile] = []
        count = len(self._stage.chunks) if self._regrouping is None else self._regrouping.n_chunks
        for number, block in enumerate(self._blocks()):
            if self._dense:
                block["X"] = rows.dense(block["X"])
            chunks.append(write_arrays(self._new, f"chunk-{number:06d}.bin", rows.arrays_of(block)))
            self._tell(WritingState(self._stage.n_written, number + 1, (number + 1) / count, True))
        return chunks

    def _blocks(self) -> Iterator[Block]:
        if self._regrouping is not None:
            return self._regrouping.blocks(self._work)
        return (self._stage.block(number) for number in range(len(self._stage.chunks)))

    def _renamed(self) -> list[ArrayFile]:
        """Return the chunks as they were staged, under their final names next to the old ones."""
        chunks = []
        for number, chunk in enumerate(self._stage.chunks):
            last = chunk._replace(file=f"chunk-{number:06d}.bin")
            _link(self._work / chunk.file, self._new / last.file)
            chunks.append(last)
        return chunks

    def _pairs(self) -> ArrayFile | None:
        arrays = self._source.pairs()
        if not arrays:
            return None
        if self._regrouping is not None:
            arrays["pairs"] = self._regrouping.new_numbers()[arrays["pairs"]]
        return write_arrays(self._new, "pairs.bin", arrays)

    def _labels(self) -> dict[str, Any] | None:
        """Return the number of rows by label, or the range where there are many labels."""
        counts: dict[float, int] = {}
        low, high, few = np.inf, -np.inf, True
        for number in range(len(self._stage.chunks)):
            y = self._stage.arrays(number, features=False).get("y")
            if y is None:
                return None
            low, high = min(low, float(y.min())), max(high, float(y.max()))
            if few:
                _count(counts, y)
                few = len(counts) <= _MANY_LEVELS
        if not few:
            return {"lowest": low, "highest": high}
        return {f"{label:g}": counts[label] for label in sorted(counts)}


def _count(counts: dict[float, int], y: NDArray[np.float64]) -> None:
    levels, sizes = np.unique(y, return_counts=True)
    for level, size in zip(levels.tolist(), sizes.tolist(), strict=True):
        counts[level] = counts.get(level, 0) + size


def _features(chunk: ArrayFile) -> tuple[str, tuple[int, ...], int]:
    return chunk.arrays["X" if "X" in chunk.arrays else "X_data"]


def _n_queries(chunks: list[ArrayFile]) -> int | None:
    if "query_sizes" not in chunks[0].arrays:
        return None
    return sum(chunk.arrays["query_sizes"][1][0] for chunk in chunks)


def _link(old: Path, new: Path) -> None:
    try:
        os.link(old, new)
    except OSError:  # a file system without links
        shutil.copyfile(old, new)
