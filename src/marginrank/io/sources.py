"""Bytes from a path, a binary file object or memory, plain or gzip."""

from __future__ import annotations

import os
import zlib
from typing import IO, Any, TypeAlias

from marginrank.exceptions import MarginRankError, ParameterError, shown_path
from marginrank.io.places import open_place, place
from marginrank.parameters import check_count, check_positive

#: What every reader takes.
Source: TypeAlias = str | os.PathLike[str] | IO[bytes] | bytes | bytearray | memoryview

_GZIP = b"\x1f\x8b"
_BLOCK = 1 << 20
# What a small file may expand to whatever its ratio: runs of equal rows compress well.
_ALWAYS_ALLOWED = 16 << 20


def read_source(
    source: Source, *, max_bytes: int | None = None, max_expansion: float = 200
) -> tuple[bytes | bytearray, str]:
    """Return the content of a source, unzipped where it is gzip, and the name that errors give it.

    Parameters
    ----------
    source : path, URL, binary file object or bytes
        Gzip is recognised by its first two bytes, not by the name.
    max_bytes : int, optional
        The most bytes to read, after unzipping.
    max_expansion : float, default=200
        The most that gzip may expand, as a multiple of the compressed size; 16 MiB are always allowed.

    Examples
    --------
    >>> import gzip
    >>> read_source(gzip.compress(b"1 1:0.5"))
    (bytearray(b'1 1:0.5'), '<bytes>')
    """
    if max_bytes is not None:
        max_bytes = check_count(max_bytes, "max_bytes", least=0)
    max_expansion = _expansion(max_expansion)
    raw, name = _read_raw(source, -1 if max_bytes is None else max_bytes + 1)
    if max_bytes is not None and len(raw) > max_bytes:
        raise MarginRankError(f"{name}: expected at most max_bytes={max_bytes} bytes, got more.")
    if raw[:2] != _GZIP:
        return raw, name
    allowed = allowed_bytes(len(raw), max_expansion)
    refusal = too_large(name, "gzip data", max_expansion)
    if max_bytes is not None and max_bytes < allowed:
        allowed = max_bytes
        refusal = MarginRankError(f"{name}: the gzip data expand to more than max_bytes={max_bytes} bytes.")
    return _unzip(raw, name, allowed, refusal), name


def allowed_bytes(n_packed: int, max_expansion: float) -> int:
    """Return how many bytes a file of so many may expand to.

    Examples
    --------
    >>> allowed_bytes(1 << 20, 200) >> 20, allowed_bytes(100, 200) >> 20
    (200, 16)
    """
    return max(_ALWAYS_ALLOWED, int(min(_expansion(max_expansion) * n_packed, 2.0**63)))


def _expansion(max_expansion: Any) -> float:
    """Return a positive number; infinity sets no limit."""
    if isinstance(max_expansion, float) and max_expansion == float("inf"):
        return max_expansion
    return check_positive(max_expansion, "max_expansion", "a positive number")


def too_large(name: str, what: str, max_expansion: float) -> MarginRankError:
    """Return the error of a file that expands to more than it may."""
    return MarginRankError.saying(
        "{name!s}: the {what!s} expand to more than {most:g} times its size; raise {max_expansion} if the "
        "file is to be trusted.",
        name=name,
        what=what,
        most=max_expansion,
    )


def read_text(source: Source) -> tuple[str, str]:
    """Return the content of a small text file, without a byte order mark, and its name.

    Bytes that are not UTF-8 become lone surrogates, so that writing gives them back.
    """
    raw, name = read_source(source)
    if raw.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise MarginRankError(f"{name}:1:1: expected UTF-8 text, got UTF-16; save the file as UTF-8.")
    if b"\0" in raw:
        before = bytes(raw[: raw.index(b"\0")])
        line, column = (
            before.count(b"\n") + 1,
            len(before[before.rfind(b"\n") + 1 :].decode("utf-8", "replace")) + 1,
        )
        raise MarginRankError(
            f"{name}:{line}:{column}: expected text, got a NUL byte; is this a binary file?"
        )
    return raw.decode("utf-8", "surrogateescape").removeprefix("\ufeff"), name


def _read_raw(source: Any, most: int) -> tuple[bytes, str]:
    """Return at most so many bytes, all of them for -1, and a name."""
    if isinstance(source, bytes | bytearray | memoryview):
        return bytes(source), "<bytes>"
    if isinstance(source, str | os.PathLike):
        path = place(source)
        with open_place(path) as file:
            return file.read(most), shown_path(path)
    if not callable(getattr(source, "read", None)):
        raise ParameterError("source", "a path, a binary file object or bytes", source)
    raw = source.read(most)
    if not isinstance(raw, bytes):
        raise MarginRankError("The file object must be binary, as from open(path, 'rb'); it gives text.")
    name = getattr(source, "name", "<stream>")
    return raw, name if isinstance(name, str) else "<stream>"


def _unzip(raw: bytes, name: str, allowed: int, refusal: MarginRankError) -> bytearray:
    """Unzip all members, block by block, and stop as soon as there is more than allowed."""
    text = bytearray()
    rest = raw
    while rest[:2] == _GZIP:
        member = zlib.decompressobj(wbits=31)
        while not member.eof:
            if not rest:
                raise MarginRankError(
                    f"{name}: the gzip data end early, after {len(text)} bytes of text; is the file cut off?"
                )
            try:
                text += member.decompress(rest, _BLOCK)
            except zlib.error as error:
                raise MarginRankError(
                    f"{name}: expected gzip data, got damaged ones after {len(text)} bytes of text ({error})."
                ) from None
            if len(text) > allowed:
                raise refusal
            rest = member.unused_data if member.eof else member.unconsumed_tail
    if rest.strip(b"\0"):  # tapes pad with zeros
        raise MarginRankError(f"{name}: expected the end of the file after the gzip data, got more bytes.")
    return text
