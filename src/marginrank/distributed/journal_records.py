"""Records of a journal: JSON and raw arrays, with lengths and checksums; nothing in them is executed."""

from __future__ import annotations

import hashlib
import json
import math
import re
from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from marginrank.data.matrices import is_sparse
from marginrank.losses.native import NativeLoss
from marginrank.losses.offset import OffsetLoss
from marginrank.storage.chunk_vectors import ChunkVector, VectorPart

MAGIC = b"marginrank journal 1\n"
_LENGTHS = 16
_CHECK = 32
_DTYPE = re.compile(r"<f4|<f8|<i4|<i8|\|b1")


def pack(content: dict[str, Any], answer: Any = None) -> bytes:
    """Return a record: lengths, JSON, arrays, checksum.

    Examples
    --------
    >>> import io
    >>> record = pack({"number": 0}, [np.array([1.5]), np.array([2, 3])])
    >>> (found, answer, end), = unpack(io.BytesIO(MAGIC + record + record[:-1]))
    >>> found["number"], [part.tolist() for part in answer], end == len(MAGIC + record)
    (0, [[1.5], [2, 3]], True)
    """
    arrays: list[NDArray[Any]] = []
    shape = _described(answer, arrays)
    plain = [np.ascontiguousarray(one, dtype=one.dtype.newbyteorder("<")) for one in arrays]
    layout = [(one.dtype.str, one.shape) for one in plain]
    text = json.dumps({**content, "answer": shape, "arrays": layout}).encode()
    body = b"".join(one.tobytes() for one in plain)
    lengths = len(text).to_bytes(8, "little") + len(body).to_bytes(8, "little")
    record = lengths + text + body
    return record + hashlib.sha256(record).digest()


def unpack(file: IO[bytes]) -> Iterator[tuple[dict[str, Any], Any, int]]:
    """Return content, answer and end of each record of a file, up to the first that is not whole."""
    if file.read(len(MAGIC)) != MAGIC:
        return
    size = file.seek(0, 2)
    start = len(MAGIC)
    while start + _LENGTHS + _CHECK <= size:
        file.seek(start)
        lengths = file.read(_LENGTHS)
        n_text, n_body = (int.from_bytes(lengths[k : k + 8], "little") for k in (0, 8))
        end = start + _LENGTHS + n_text + n_body + _CHECK
        if end > size:
            return
        text, body = file.read(n_text), file.read(n_body)
        if file.read(_CHECK) != hashlib.sha256(lengths + text + body).digest():
            return
        try:
            content = dict(json.loads(text))
            answer = _restored(content["answer"], _cut(content["arrays"], body))
        except (ValueError, KeyError, TypeError, IndexError, AttributeError, OverflowError, RecursionError):
            return
        yield content, answer, end
        start = end


def _cut(layout: list[Any], body: bytes) -> list[NDArray[Any]]:
    found, offset = [], 0
    for dtype, shape in layout:
        if not _DTYPE.fullmatch(dtype):
            raise ValueError(f"a journal holds no arrays of {dtype!r}")
        size = math.prod(shape)
        found.append(np.frombuffer(body, dtype, size, offset).reshape(shape).copy())
        offset += size * np.dtype(dtype).itemsize
    return found


def _described(answer: Any, arrays: list[NDArray[Any]]) -> Any:
    """Return the shape of an answer in JSON, its arrays put aside."""
    if isinstance(answer, np.ndarray):
        arrays.append(answer)
        return {"array": len(arrays) - 1}
    if isinstance(answer, list | tuple):
        kind = "list" if isinstance(answer, list) else "tuple"
        return {kind: [_described(one, arrays) for one in answer]}
    if is_sparse(answer):
        parts = [_described(one, arrays) for one in (answer.data, answer.indices, answer.indptr)]
        return {"csr": parts, "shape": list(answer.shape)}
    if answer is None:
        return None
    raise TypeError(f"a journal does not hold {type(answer).__name__}")


def _restored(shape: Any, arrays: list[NDArray[Any]]) -> Any:
    if shape is None:
        return None
    if "array" in shape:
        return arrays[shape["array"]]
    if "csr" in shape:
        parts = tuple(_restored(one, arrays) for one in shape["csr"])
        return sparse.csr_matrix(parts, shape=tuple(shape["shape"]))
    if "list" in shape:
        return [_restored(one, arrays) for one in shape["list"]]
    return tuple(_restored(one, arrays) for one in shape["tuple"])


def digest(*values: Any) -> str:
    """Return a SHA-256 of values: numbers, texts, arrays, losses, functions, and what is made of these.

    Examples
    --------
    >>> digest(np.array([1.0]), None) == digest(np.array([1.0]), None)
    True
    >>> digest([1, 2]) == digest([12])
    False
    """
    sha = hashlib.sha256()
    _feed(sha, values)
    return sha.hexdigest()


def _feed(sha: Any, value: Any) -> None:
    if isinstance(value, ChunkVector):  # as the array of all of it
        sha.update(f"a{value.dtype.str}{value.shape}".encode())
        for part in value.parts():
            sha.update(np.ascontiguousarray(part).view(np.uint8).data)
    elif isinstance(value, VectorPart):
        _feed(sha, value.fingerprint)
    elif isinstance(value, np.ndarray):
        sha.update(f"a{value.dtype.str}{value.shape}".encode())
        if value.dtype == object:
            _feed(sha, [str(one) for one in value])
        else:
            sha.update(np.ascontiguousarray(value).reshape(-1).view(np.uint8).data)
    elif isinstance(value, tuple | list):
        sha.update(f"l{len(value)}".encode())
        for one in value:
            _feed(sha, one)
    elif isinstance(value, dict):
        _feed(sha, [[key, value[key]] for key in sorted(value)])
    elif is_dataclass(value) and not isinstance(value, type):
        _feed(sha, [type(value).__qualname__, *(getattr(value, one.name) for one in fields(value))])
    elif isinstance(value, NativeLoss | OffsetLoss):
        _feed(sha, [type(value).__qualname__, value.__getstate__()])
    elif callable(value):
        sha.update(f"f{value.__module__}.{value.__qualname__};".encode())
    elif isinstance(value, str | int | float | np.generic | None):
        sha.update(f"v{value!r};".encode())
    else:
        raise TypeError(f"no digest of {type(value).__name__}")
