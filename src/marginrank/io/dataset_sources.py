"""Where the rows of a data set on disk come from: arrays, iterators of blocks, LETOR text, Parquet."""

from __future__ import annotations

import gzip
import os
import zlib
from collections.abc import Callable, Iterator, Mapping
from typing import IO, Any, cast

import numpy as np
from numpy.typing import NDArray

from marginrank.data import RankingData
from marginrank.exceptions import MarginRankError
from marginrank.io.letor import LetorReading
from marginrank.io.places import file_size, open_place, place, stamp
from marginrank.io.sources import allowed_bytes, too_large
from marginrank.io.tables import stream_batches, table_batches
from marginrank.storage.dataset_manifest import MANIFEST
from marginrank.storage.dataset_rows import Block, block_of
from marginrank.storage.disk_dataset import DiskDataset
from marginrank.storage.row_source import Piece

_GZIP = b"\x1f\x8b"


class DataSource:
    """The rows of a RankingData in grouped order, a part at a time."""

    widening = False
    feature_names: tuple[str, ...] | None

    def __init__(self, data: RankingData) -> None:
        self._data = data
        self.feature_names = data.feature_names
        self.identity = {"shape": list(data.X.shape), "dtype": str(data.X.dtype)}
        self.share = 0.0

    def pieces(self, position: Any, size: int) -> Iterator[Piece]:
        """Return the rows from a position on; None is the beginning."""
        step = max(1, size // max(1, self._data.n_features * self._data.X.dtype.itemsize))
        for first in range(position or 0, self._data.n_rows, step):
            last = min(first + step, self._data.n_rows)
            yield Piece(block_of(self._data, slice(first, last)), first)
            self.share = last / self._data.n_rows

    def pairs(self) -> dict[str, NDArray[Any]]:
        """Return explicit pairs by the numbers that rows have in the pieces."""
        data = self._data
        if data.pairs is None:
            return {}
        pairs = data.pairs
        if data.order is not None:
            place = np.empty(data.n_rows, dtype=np.int64)
            place[data.order] = np.arange(data.n_rows)
            pairs = place[pairs]
        return pair_arrays([(pairs, data.pair_weight, data.pair_margin)])


class BlockSource:
    """Blocks that a user makes one after another."""

    widening = False

    def __init__(self, blocks: Iterator[Any]) -> None:
        self._blocks = blocks
        self._pairs: list[tuple[Any, Any, Any]] = []
        self.feature_names: tuple[str, ...] | None = None
        self.identity = {"blocks": True}
        self.share: float | None = None

    def pieces(self, position: Any, size: int) -> Iterator[Piece]:
        """Return all blocks from the first one on, whatever the position: they cannot be found otherwise."""
        del size
        first = 0
        for number, given in enumerate(self._blocks):
            try:
                data = _as_data(given)
            except MarginRankError as error:
                raise MarginRankError(f"Block {number}: {error}") from None
            if number == 0:
                self.feature_names = data.feature_names
            elif data.feature_names != self.feature_names:
                raise MarginRankError(f"Block {number}: the feature names must be those of the first block.")
            block = block_of(data)
            if data.pairs is not None:
                order = np.arange(data.n_rows) if data.order is None else np.argsort(data.order)
                self._pairs.append((first + order[data.pairs], data.pair_weight, data.pair_margin))
            first += data.n_rows
            yield Piece(block, None)

    def pairs(self) -> dict[str, NDArray[Any]]:
        """Return the pairs of all blocks."""
        return pair_arrays(self._pairs)


class LetorSource:
    """LETOR text, plain or gzip, read in pieces of whole lines."""

    widening = True
    feature_names = None

    def __init__(self, path: str | os.PathLike[str], max_expansion: float = 200, **options: Any) -> None:
        self._path, self._max_expansion = place(path), max_expansion
        self._reading = LetorReading(**options)
        self.widening = self._reading.limits.n_features is None
        self.identity = _identity_of_file(path, options)
        self._bytes, self.share = max(1, file_size(path)), 0.0

    def pieces(self, position: Any, size: int) -> Iterator[Piece]:
        """Return the rows from a position on: bytes of text and lines before it."""
        start, line = position or (0, 0)
        has_qid: bool | None = None
        for text, at in self._texts(start, size):
            rows = self._reading.parse(text, self._path, line)
            if rows.n_rows:
                block = self._reading.block(rows)
                if has_qid not in (None, "qid" in block):
                    before, here = ("with", "without") if has_qid else ("without", "with")
                    raise MarginRankError(
                        f"{self._path}:{line + 1}: expected rows {before} 'qid:<id>', as before, "
                        f"got rows {here} it from here on."
                    )
                has_qid = "qid" in block
                yield Piece(block, (at, line))
            line += text.count(b"\n")

    def pairs(self) -> dict[str, NDArray[Any]]:
        """Text holds none."""
        return {}

    def _texts(self, start: int, size: int) -> Iterator[tuple[bytes, int]]:
        """Return pieces of whole lines, and where each begins in the text."""
        with open_place(self._path) as raw:
            zipped = raw.read(2) == _GZIP
            raw.seek(0)
            allowed = allowed_bytes(self._bytes, self._max_expansion)
            file = cast(IO[bytes], gzip.GzipFile(fileobj=raw)) if zipped else raw
            at, rest = start, b""
            try:
                file.seek(start)
                while piece := file.read(size):
                    end = piece.rfind(b"\n") + 1
                    if zipped and at + len(rest) + len(piece) > allowed:
                        raise too_large(self._path, "gzip data", self._max_expansion)
                    if not end:
                        rest += piece
                        continue
                    text = rest + piece[:end]
                    yield text, at
                    at, rest = at + len(text), piece[end:]
                    self.share = raw.tell() / self._bytes
            except (EOFError, gzip.BadGzipFile, zlib.error) as error:
                if not zipped:
                    raise
                raise MarginRankError(
                    f"{self._path}: expected gzip data, got damaged ones or an early end ({error})."
                ) from None
            if rest:
                yield rest, at


class TableSource:
    """A Parquet or CSV file, read a batch of rows at a time."""

    widening = False

    def __init__(self, path: str | os.PathLike[str], format: str, **options: Any) -> None:
        self._path, self._format, self._options = place(path), format, options
        self.feature_names: tuple[str, ...] | None = None
        self.share: float = 0.0
        self.identity = _identity_of_file(path, options)

    def pieces(self, position: Any, size: int) -> Iterator[Piece]:
        """Return the rows from the first one on, whatever the position."""
        del position  # batches are cheap to read again, compared with what is done to their rows
        for data, share in table_batches(self._path, size, format=self._format, **self._options):
            self.share = share
            self.feature_names = data.feature_names
            block = block_of(data) if data.order is None else _as_it_stands(data)
            yield Piece(block, None)

    def pairs(self) -> dict[str, NDArray[Any]]:
        """A table holds none."""
        return {}


class StreamSource:
    """A stream of Arrow's record batches: a reader, a relation, a lazy frame."""

    widening = False

    def __init__(self, batches: Callable[[int], Iterator[Any]], **options: Any) -> None:
        self._batches, self._options = batches, options
        self.feature_names: tuple[str, ...] | None = None
        self.share: float | None = None
        self.identity = {"stream": True, "options": {name: str(value) for name, value in options.items()}}

    def pieces(self, position: Any, size: int) -> Iterator[Piece]:
        """Return the rows from the first one on, whatever the position."""
        del position
        for data in stream_batches(self._batches(size), **self._options):
            self.feature_names = data.feature_names
            yield Piece(block_of(data) if data.order is None else _as_it_stands(data), None)

    def pairs(self) -> dict[str, NDArray[Any]]:
        """A stream holds none."""
        return {}


class DatasetSource:
    """A data set on disk, to be written in other chunks."""

    widening = False

    def __init__(self, data: DiskDataset) -> None:
        self._data = data
        self.feature_names = data.feature_names
        self.share = 0.0
        self.identity = _identity_of_file(data.path / MANIFEST, {})

    def pieces(self, position: Any, size: int) -> Iterator[Piece]:
        """Return the rows from a chunk on."""
        del size
        for number in range(position or 0, self._data.n_chunks):
            yield Piece(block_of(self._data.chunk(number)), number)
            self.share = (number + 1) / self._data.n_chunks

    def pairs(self) -> dict[str, NDArray[Any]]:
        """Return explicit pairs; rows have the numbers that they had."""
        data = self._data
        return {} if data.pairs is None else pair_arrays([(data.pairs, data.pair_weight, data.pair_margin)])


def _identity_of_file(path: str | os.PathLike[str], options: Mapping[str, Any]) -> dict[str, Any]:
    """Return what tells whether a file is still the same, and read in the same way."""
    return {**stamp(path), "options": {name: str(value) for name, value in options.items()}}


def pair_arrays(found: list[tuple[Any, Any, Any]]) -> dict[str, NDArray[Any]]:
    """Return the arrays of explicit pairs: pairs, and weights and margins where any part has them."""
    if not found:
        return {}
    arrays = {"pairs": np.concatenate([pairs for pairs, _, _ in found]).astype(np.int64)}
    for name, column in (("pair_weight", 1), ("pair_margin", 2)):
        if any(part[column] is not None for part in found):
            values = [np.ones(len(part[0])) if part[column] is None else part[column] for part in found]
            arrays[name] = np.concatenate(values)
    return arrays


def _as_it_stands(data: RankingData) -> Block:
    """Return rows in their own order: what is scattered is regrouped over all batches."""
    names = ("X", "y", "qid", "sample_weight", "comments")
    return {name: values for name in names if (values := getattr(data, name)) is not None}


def _as_data(given: Any) -> RankingData:
    if isinstance(given, RankingData):
        return given
    if isinstance(given, Mapping):
        return RankingData(**given)
    if isinstance(given, tuple) and len(given) in (2, 3):
        return RankingData(given[0], given[1], qid=given[2] if len(given) == 3 else None)
    raise MarginRankError(
        "expected a RankingData, its arguments as a mapping, or (X, y) or (X, y, qid); got "
        f"{type(given).__name__}."
    )
