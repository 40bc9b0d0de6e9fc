"""Strings of any length as two arrays: their bytes, and where each one ends."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from marginrank.exceptions import MarginRankError


def pack_texts(texts: Sequence[str]) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    """Return the bytes of strings and the end of each.

    Examples
    --------
    >>> text, ends = pack_texts(["ab", "", "c"])
    >>> text.tobytes(), ends.tolist()
    (b'abc', [2, 2, 3])
    """
    encoded = [text.encode("utf-8", "surrogateescape") for text in texts]
    ends = np.cumsum([len(text) for text in encoded], dtype=np.int64)
    return np.frombuffer(b"".join(encoded), dtype=np.uint8), ends


def unpack_texts(packed: NDArray[np.uint8], ends: NDArray[np.int64], name: str) -> NDArray[Any]:
    """Return the strings as an array of objects; ``name`` is for the sentence where they do not fit."""
    text, stops = packed.tobytes(), ends.tolist()
    starts = [0, *stops[:-1]]
    if any(b < a for a, b in zip(starts, stops, strict=True)) or (stops and stops[-1] != len(text)):
        raise MarginRankError(f"the offsets of {name} do not fit its text")
    texts = (text[a:b].decode("utf-8", "surrogateescape") for a, b in zip(starts, stops, strict=True))
    return np.fromiter(texts, dtype=object, count=len(stops))
