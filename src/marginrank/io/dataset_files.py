"""Files of arrays: raw, little-endian, each at a multiple of 64 bytes; described and sealed from outside."""

from __future__ import annotations

import hashlib
import math
import mmap
import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from marginrank.exceptions import MarginRankError

_ALIGNMENT = 64
_PAGE = 4096
_NAME = re.compile(r"(chunk|staged)-\d{6}\.bin|pairs\.bin")
_DTYPE = re.compile(r"<f4|<f8|<i4|<i8|\|u1|<M8\[(Y|M|W|D|h|m|s|ms|us|ns)\]")


class ArrayFile(NamedTuple):
    """What is known about a file: its name, size, SHA-256, and dtype, shape and offset of each array."""

    file: str
    bytes: int
    sha256: str
    arrays: dict[str, tuple[str, tuple[int, ...], int]]

    def to_json(self) -> dict[str, Any]:
        """Return the same as JSON has it."""
        return self._asdict()


def write_arrays(
    folder: Path, name: str, arrays: Mapping[str, NDArray[Any]], *, lasting: bool = True
) -> ArrayFile:
    """Write a file of arrays, through to the disk if it shall last, and return what is to be known of it."""
    layout, offset, digest = {}, 0, hashlib.sha256()
    with open(folder / name, "wb") as file:
        for key, values in arrays.items():
            plain = np.ascontiguousarray(values, dtype=values.dtype.newbyteorder("<"))
            gap = bytes(-offset % _ALIGNMENT)
            offset += len(gap)
            layout[key] = (plain.dtype.str, plain.shape, offset)
            for part in (gap, plain.reshape(-1).view(np.uint8).data):
                file.write(part)
                digest.update(part)
            offset += plain.nbytes
        if lasting:
            file.flush()
            os.fsync(file.fileno())
    return ArrayFile(name, offset, digest.hexdigest(), layout)


def parse_array_file(entry: Any) -> ArrayFile:
    """Return an entry of a manifest; anything odd about it is a ``ValueError``."""
    name, size, digest, arrays = (entry[key] for key in ArrayFile._fields)
    if not (isinstance(name, str) and _NAME.fullmatch(name) and isinstance(digest, str)):
        raise ValueError(f"{name!r} is no file of a data set")
    layout = {}
    for key, (dtype, shape, offset) in arrays.items():
        shape = tuple(shape)
        whole = all(isinstance(n, int) and n >= 0 for n in (size, offset, *shape))
        if not (isinstance(dtype, str) and _DTYPE.fullmatch(dtype) and whole and offset % _ALIGNMENT == 0):
            raise ValueError(f"array {key!r} of {name} is not described as it should be")
        if offset + math.prod(shape) * np.dtype(dtype).itemsize > size:
            raise ValueError(f"array {key!r} does not fit into {name}")
        layout[key] = (dtype, shape, offset)
    return ArrayFile(name, size, digest, layout)


def read_arrays(folder: Path, entry: ArrayFile, *, mapped: bool) -> dict[str, NDArray[Any]]:
    """Return the arrays of a file, mapped into memory or read; its size must be right.

    The arrays of a file that is mapped are read from the disk as they are used.
    """
    path = folder / entry.file
    try:
        with open(path, "rb", buffering=0) as file:
            size = os.fstat(file.fileno()).st_size
            if size != entry.bytes:
                raise MarginRankError(
                    f"{path}: expected {entry.bytes} bytes, got {size}; the file is cut off or was changed. "
                    "Write the data set again, or copy it again."
                )
            content: Any = (
                mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) if mapped else _read(file, size)
            )
    except FileNotFoundError:
        raise MarginRankError(
            f"{path}: expected a part of the data set, which its manifest names, got no file. "
            "Write the data set again, or copy it again."
        ) from None
    raw = np.frombuffer(content, dtype=np.uint8)
    found = {}
    for name, (dtype, shape, offset) in entry.arrays.items():
        end = offset + math.prod(shape) * np.dtype(dtype).itemsize
        found[name] = raw[offset:end].view(dtype).reshape(shape)
    return found


def check_seal(folder: Path, entry: ArrayFile) -> None:
    """Raise if the bytes of a file are not those that were written."""
    with open(folder / entry.file, "rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    if digest != entry.sha256:
        raise MarginRankError(
            f"{folder / entry.file}: expected the SHA-256 {entry.sha256[:12]}..., got {digest[:12]}...; "
            "the file is damaged. Write the data set again, or copy it again."
        )


def touch(arrays: Mapping[str, NDArray[Any]]) -> None:
    """Wait until mapped arrays are in memory; other threads run meanwhile."""
    for values in arrays.values():
        values.reshape(-1).view(np.uint8)[::_PAGE].max(initial=0)


def _read(file: Any, size: int) -> NDArray[np.uint8]:
    content = np.empty(size, dtype=np.uint8)
    view, done = content.data, 0
    while done < size:
        got = file.readinto(view[done:])
        if not got:
            raise MarginRankError(
                f"{file.name}: the file ended after {done} of {size} bytes while it was read."
            )
        done += got
    return content
