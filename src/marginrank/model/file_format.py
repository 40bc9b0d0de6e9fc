"""The layout of a model file (``.mrk``): what is in it is data, and reading it executes nothing.

=========  =========================================================================================
bytes      what
=========  =========================================================================================
8          magic
32         SHA-256 of everything after it
8          length of the header, little-endian
header     JSON, padded with spaces to a multiple of 8 bytes
the rest   arrays, little-endian, C order, one after the other as the header's table lists them
=========  =========================================================================================

The header is an object with ``format_version``, ``needs_marginrank`` (the first release that reads that
version), ``arrays`` (a list of name, dtype, shape and offset) and whatever the model puts there. Magic,
checksum and these first two keys stay where they are in every version. Version 1 holds linear models, version
2 those with a feature map too, version 3 those with statistics of the training columns, version 4 those with
probabilities of pairs, version 5 those with weights of the columns beside a feature map; a model is written
in the first version that holds it. An array ``features_used``, which any version may have, lists the columns
whose coefficient is not 0, counted from 0, where these are at most half: information that a reader may
pass over.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from importlib import metadata
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from marginrank.exceptions import ModelFileError

#: Ends like PNG's, so that a transfer in text mode, which changes line ends, shows at once.
MAGIC = b"\x89MRK\r\n\x1a\n"
FORMAT_VERSION = 5
#: The first release that reads each version.
NEEDS_MARGINRANK = {1: "0.1.0", 2: "0.1.0", 3: "0.1.0", 4: "0.1.0", 5: "0.1.0"}

_DTYPES = ("<f8", "<f4", "<i8", "<i4")
_ALIGNMENT = 8
_LENGTH_AT = len(MAGIC) + hashlib.sha256().digest_size
_HEADER_AT = _LENGTH_AT + 8


def encode(
    content: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]], version: int = FORMAT_VERSION
) -> bytes:
    """Return the bytes of a model file; the same content and arrays give the same bytes.

    Parameters
    ----------
    content : mapping
        JSON values for the header.
    arrays : mapping
        Arrays of float32, float64, int32 or int64 by name.
    version : int, optional
        The format version to write.

    Examples
    --------
    >>> content, arrays = decode(encode({"kind": "linear"}, {"coef": np.array([0.5, -2.0])}), "a file")
    >>> content["kind"], arrays["coef"]
    ('linear', array([ 0.5, -2. ]))
    """
    table, parts, offset = [], [], 0
    for name in sorted(arrays):
        array = np.asarray(arrays[name])
        dtype = array.dtype.newbyteorder("<").str
        if dtype not in _DTYPES or array.size == 0:
            raise ModelFileError(
                f"Array {name!r} of the model is {array.dtype} of shape {array.shape}; model files hold "
                "float32, float64, int32 and int64 arrays that are not empty."
            )
        table.append({"name": name, "dtype": dtype, "shape": list(array.shape), "offset": offset})
        part = array.astype(dtype).tobytes()
        part += bytes(-len(part) % _ALIGNMENT)
        parts.append(part)
        offset += len(part)
    frame = {"format_version": version, "needs_marginrank": NEEDS_MARGINRANK[version], "arrays": table}
    header = json.dumps({**content, **frame}, sort_keys=True, separators=(",", ":"), allow_nan=False).encode()
    header += b" " * (-len(header) % _ALIGNMENT)
    rest = b"".join([len(header).to_bytes(8, "little"), header, *parts])
    return MAGIC + hashlib.sha256(rest).digest() + rest


def decode(data: bytes, where: str) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """Return the header and the arrays of a model file, or raise one sentence about what is wrong.

    Parameters
    ----------
    data : bytes
        The whole file.
    where : str
        What to call it in errors, such as ``"model.mrk"``.

    Returns
    -------
    header : dict
        The JSON header.
    arrays : dict of ndarray
        Arrays that own their memory, by name.
    """
    check_magic(data[: len(MAGIC)], where)
    if len(data) < _HEADER_AT:
        raise ModelFileError(f"{where} is cut short: it ends after {len(data)} bytes. Copy or save it again.")
    if hashlib.sha256(memoryview(data)[_LENGTH_AT:]).digest() != data[len(MAGIC) : _LENGTH_AT]:
        raise ModelFileError(
            f"{where} is damaged: its content does not match its checksum, so it was cut short or changed. "
            "Copy or save it again."
        )
    # A checksum keeps accidents out, not intent: everything below still distrusts what it reads.
    n_header = int.from_bytes(data[_LENGTH_AT:_HEADER_AT], "little")
    if n_header > len(data) - _HEADER_AT:
        raise _malformed(where, f"a header of {n_header} bytes is declared, which the file does not have")
    header = _parse_header(data[_HEADER_AT : _HEADER_AT + n_header], where)
    _check_version(header, where)
    return header, _read_arrays(header, memoryview(data)[_HEADER_AT + n_header :], where)


def check_magic(start: bytes, where: str) -> None:
    """Raise unless a file that starts like this can be a model."""
    if not start:
        raise ModelFileError(f"{where} is empty; expected a marginrank model.")
    if start != MAGIC:
        raise ModelFileError(
            f"{where} is not a marginrank model, or its start is damaged; models are files written by "
            "RankingModel.save."
        )


def _parse_header(text: bytes, where: str) -> dict[str, Any]:
    try:
        header = json.loads(text.decode())
    except (ValueError, RecursionError):
        raise _malformed(where, "the header is not JSON") from None
    if not isinstance(header, dict):
        raise _malformed(where, "the header is not a JSON object")
    return header


def _check_version(header: dict[str, Any], where: str) -> None:
    found = header.get("format_version")
    if type(found) is not int or found < 1:
        raise _malformed(where, f"format_version must be a positive integer and is {_short(found)}")
    if found > FORMAT_VERSION:
        raise ModelFileError(
            f"{where} has format version {found} and needs marginrank "
            f"{_short(header.get('needs_marginrank', 'of a later release'))} or newer; this is marginrank "
            f"{metadata.version('marginrank')}, which reads versions up to {FORMAT_VERSION}. "
            "Upgrade marginrank."
        )


def _read_arrays(header: dict[str, Any], body: memoryview, where: str) -> dict[str, NDArray[Any]]:
    table = header.get("arrays")
    if not isinstance(table, list):
        raise _malformed(where, "the header has no table of arrays")
    arrays: dict[str, NDArray[Any]] = {}
    end = 0
    for entry in table:
        name, dtype, shape, offset = _check_entry(entry, where)
        if name in arrays or offset != end:
            raise _malformed(where, f"array {_short(name)} is listed twice or out of place")
        n_bytes = prod(shape) * dtype.itemsize
        end = offset + n_bytes + -n_bytes % _ALIGNMENT
        if end > len(body):
            raise _malformed(where, f"array {_short(name)} is larger than the file")
        raw = np.frombuffer(body[offset : offset + n_bytes], dtype=dtype)
        arrays[name] = raw.astype(dtype.newbyteorder("=")).reshape(shape)
    if end != len(body):
        raise _malformed(where, f"{len(body) - end} bytes belong to no array")
    return arrays


def _check_entry(entry: Any, where: str) -> tuple[str, np.dtype[Any], tuple[int, ...], int]:
    entry = entry if isinstance(entry, dict) else {}
    name, dtype, shape, offset = (entry.get(key) for key in ("name", "dtype", "shape", "offset"))
    sound = (
        isinstance(name, str)
        and dtype in _DTYPES
        and isinstance(shape, list)
        and len(shape) <= 8
        and all(_is_count(n) and n > 0 for n in shape)
        and _is_count(offset)
    )
    if not sound:
        raise _malformed(where, f"array {_short(name)} has no sound name, dtype, shape and offset")
    return str(name), np.dtype(str(dtype)), tuple(entry["shape"]), int(entry["offset"])


def _is_count(value: Any) -> bool:
    """Whether this is a number of things that a file could hold; True is no number."""
    return type(value) is int and 0 <= value < 2**48


def _malformed(where: str, what: str) -> ModelFileError:
    return ModelFileError(f"{where} is not a valid marginrank model: {what}.")


def _short(value: Any) -> str:
    text = value if isinstance(value, str) else repr(value)
    return text if len(text) <= 40 else text[:37] + "..."
