"""Files of arrays: raw, little-endian, each at a multiple of 64 bytes; described and sealed from outside."""

from __future__ import annotations

import hashlib
import math
import mmap
import os
import re
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from marginrank._kernels import RowFile
from marginrank.exceptions import MarginRankError
from marginrank.storage.chunk_memory import Buffers
from marginrank.storage.row_files import CsrFileRows, DenseFileRows, FileRows
from marginrank.system.regular_files import NotAFileError, open_regular

_ALIGNMENT = 64
_NAME = re.compile(r"(chunk|staged)-\d{6,}\.bin|pairs\.bin")
_DTYPE = re.compile(r"<f4|<f8|<i4|<i8|\|u1|<M8\[(Y|M|W|D|h|m|s|ms|us|ns)\]")

#: What changes when a file is written again or replaced.
Version = tuple[int, int, int]


class ArrayFile(NamedTuple):
    """What is known about a file: its name, size and SHA-256, and dtype, shape and offset of each array.

    ``seals`` are the SHA-256 of the small arrays, all but the features, so that they can be read alone.
    """

    file: str
    bytes: int
    sha256: str
    arrays: dict[str, tuple[str, tuple[int, ...], int]]
    seals: dict[str, str]

    def to_json(self) -> dict[str, Any]:
        """Return the same as JSON has it."""
        return self._asdict()


def write_arrays(
    folder: Path, name: str, arrays: Mapping[str, NDArray[Any]], *, lasting: bool = True
) -> ArrayFile:
    """Write a file of arrays, through to the disk if it shall last, and return what is to be known of it."""
    layout, seals, offset, digest = {}, {}, 0, hashlib.sha256()
    (folder / name).unlink(missing_ok=True)  # begun by a writer that was stopped
    with open(folder / name, "xb") as file:  # never through a link
        for key, values in arrays.items():
            plain = np.ascontiguousarray(values, dtype=values.dtype.newbyteorder("<"))
            gap = bytes(-offset % _ALIGNMENT)
            offset += len(gap)
            layout[key] = (plain.dtype.str, plain.shape, offset)
            content = plain.reshape(-1).view(np.uint8).data
            if not is_feature(key):
                seals[key] = hashlib.sha256(content).hexdigest()
            for part in (gap, content):
                file.write(part)
                digest.update(part)
            offset += plain.nbytes
        if lasting:
            file.flush()
            os.fsync(file.fileno())
    return ArrayFile(name, offset, digest.hexdigest(), layout, seals)


def is_feature(name: str) -> bool:
    """Whether an array is part of the features, which are the bulk of a file."""
    return name.startswith("X")


def feature_bytes(entry: ArrayFile) -> int:
    """Return where the features end, with which a file begins."""
    return max(place[2] + _n_bytes(place) for name, place in entry.arrays.items() if is_feature(name))


def parse_array_file(entry: Any) -> ArrayFile:
    """Return an entry of a manifest; anything odd about it is a ``ValueError``."""
    name, size, digest, arrays, seals = (entry[key] for key in ArrayFile._fields)
    if not (isinstance(name, str) and _NAME.fullmatch(name) and isinstance(digest, str)):
        raise ValueError(f"{name!r} is no file of a data set")
    if set(seals) != {key for key in arrays if not is_feature(key)}:
        raise ValueError(f"the seals of {name} are not those of its arrays")
    layout = {}
    for key, (dtype, shape, offset) in arrays.items():
        shape = tuple(shape)
        whole = all(isinstance(n, int) and n >= 0 for n in (size, offset, *shape))
        if not (isinstance(dtype, str) and _DTYPE.fullmatch(dtype) and whole and offset % _ALIGNMENT == 0):
            raise ValueError(f"array {key!r} of {name} is not described as it should be")
        if offset + _n_bytes((dtype, shape, offset)) > size:
            raise ValueError(f"array {key!r} does not fit into {name}")
        layout[key] = (dtype, shape, offset)
    return ArrayFile(name, size, digest, layout, dict(seals))


def read_arrays(
    folder: Path,
    entry: ArrayFile,
    *,
    mapped: bool = False,
    names: Collection[str] | None = None,
    buffers: Buffers | None = None,
) -> dict[str, NDArray[Any]]:
    """Return arrays of a file, by default all, read or mapped into memory; its size must be right.

    The arrays of a file that is mapped are read from the disk as they are used. The file is open as long as
    one of them is there, and the system ends a process that uses them after the file was cut short.
    """
    path = folder / entry.file
    wanted = {name: place for name, place in entry.arrays.items() if names is None or name in names}
    if not wanted:
        return {}
    spans = {name: (place[2], place[2] + _n_bytes(place)) for name, place in wanted.items()}
    first, last = min(start for start, _ in spans.values()), max(end for _, end in spans.values())
    with _opened(path, entry) as file:
        if mapped:
            content: Any = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        else:
            content = (buffers or Buffers()).lend(last - first)
            _read(file, first, content)
    raw, shift = (np.frombuffer(content, dtype=np.uint8), 0) if mapped else (content, first)
    return {
        name: raw[spans[name][0] - shift : spans[name][1] - shift].view(dtype).reshape(shape)
        for name, (dtype, shape, _) in wanted.items()
    }


class StoredArray:
    """An array of an open file, of which parts are read by ``[first:last]`` or ``[k]``.

    Parameters
    ----------
    file : file object
        Open, without a buffer.
    place : tuple
        The dtype, shape and offset of the array.
    """

    def __init__(self, file: Any, place: tuple[str, tuple[int, ...], int]) -> None:
        self._file = file
        self._dtype, self._shape, self._offset = np.dtype(place[0]), place[1], place[2]

    def __getitem__(self, rows: Any) -> Any:
        first, last = rows.indices(self._shape[0])[:2] if isinstance(rows, slice) else (rows, rows + 1)
        width = math.prod(self._shape[1:]) * self._dtype.itemsize
        content = np.empty(max(0, last - first) * width, dtype=np.uint8)
        _read(self._file, self._offset + first * width, content)
        found = content.view(self._dtype).reshape(-1, *self._shape[1:])
        return found if isinstance(rows, slice) else found[0]


@contextmanager
def stored_arrays(folder: Path, entry: ArrayFile) -> Iterator[dict[str, StoredArray]]:
    """Give the arrays of a file, to read parts of them."""
    with _opened(folder / entry.file, entry) as file:
        yield {name: StoredArray(file, place) for name, place in entry.arrays.items()}


def file_version(folder: Path, entry: ArrayFile) -> Version:
    """Return what tells a file from another one that takes its place, or from itself when it was changed."""
    with _opened(folder / entry.file, entry) as file:
        found = os.fstat(file.fileno())
    return found.st_dev, found.st_ino, found.st_mtime_ns


def row_pointers(folder: Path, entry: ArrayFile) -> NDArray[Any] | None:
    """Return where the rows of a CSR matrix begin, or None for dense rows."""
    pointers = read_arrays(folder, entry, names=["X_indptr"]).get("X_indptr")
    if pointers is not None:
        ends = pointers[0], pointers[-1] - entry.arrays["X_data"][1][0]
        if any(ends) or np.any(pointers[1:] < pointers[:-1]):  # they are used without another look
            raise MarginRankError(f"{folder / entry.file}: the file was changed while it was read.")
    return pointers


def file_rows(folder: Path, entry: ArrayFile, indptr: NDArray[Any] | None, n_features: int) -> FileRows:
    """Return the features of a file, to be read as they are needed."""
    path, places = folder / entry.file, entry.arrays
    with _opened(path, entry) as opened:
        file = RowFile(opened.fileno(), str(path))
    if indptr is None:
        dtype, (n_rows, n_columns), offset = places["X"]
        return DenseFileRows(file, np.dtype(dtype), (n_rows, n_columns), offset)
    dtype, _, offset = places["X_data"]
    return CsrFileRows(file, np.dtype(dtype), offset, places["X_indices"][2], indptr, n_features)


@contextmanager
def _opened(path: Path, entry: ArrayFile) -> Iterator[Any]:
    """Open a file of a data set, which must have the size that it was written with."""
    try:
        with open_regular(path, buffering=0) as file:
            size = os.fstat(file.fileno()).st_size
            if size != entry.bytes:
                raise MarginRankError(
                    f"{path}: expected {entry.bytes} bytes, got {size}; the file is cut off or was changed. "
                    "Write the data set again, or copy it again."
                )
            yield file
    except NotAFileError as error:
        raise MarginRankError(f"{path}: {error.strerror}.") from None
    except FileNotFoundError:
        raise MarginRankError(
            f"{path}: expected a part of the data set, which its manifest names, got no file. "
            "Write the data set again, or copy it again."
        ) from None
    except OSError as error:  # of mapping it into memory
        error.filename = error.filename or str(path)
        raise


def _n_bytes(place: tuple[str, tuple[int, ...], int]) -> int:
    return math.prod(place[1]) * np.dtype(place[0]).itemsize


def check_seal(folder: Path, entry: ArrayFile) -> None:
    """Raise if the bytes of a file are not those that were written."""
    with _opened(folder / entry.file, entry) as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    if digest != entry.sha256:
        raise _damaged(folder / entry.file, entry.sha256, digest)


def check_arrays(folder: Path, entry: ArrayFile, arrays: Mapping[str, NDArray[Any]]) -> None:
    """Raise if the bytes of small arrays are not those that were written."""
    for name, values in arrays.items():
        digest = hashlib.sha256(np.ascontiguousarray(values).reshape(-1).view(np.uint8).data).hexdigest()
        if digest != entry.seals[name]:
            raise _damaged(folder / entry.file, entry.seals[name], digest)


def _damaged(path: Path, expected: str, got: str) -> MarginRankError:
    return MarginRankError(
        f"{path}: expected the SHA-256 {expected[:12]}..., got {got[:12]}...; "
        "the file is damaged. Write the data set again, or copy it again."
    )


def _read(file: Any, first: int, content: NDArray[np.uint8]) -> None:
    view, done, size = content.data, 0, len(content)
    file.seek(first)
    while done < size:
        got = file.readinto(view[done:])
        if not got:
            raise MarginRankError(
                f"{file.name}: the file ended after {done} of {size} bytes while it was read."
            )
        done += got
