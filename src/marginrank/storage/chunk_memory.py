"""Memory that chunks lie in while they are worked on: buffers that are used again, pages read ahead."""

from __future__ import annotations

import mmap
import os
import sys
import threading
import weakref
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

# Buffers that wait for their next use: one is worked on, one is read into, one is between the two.
_KEPT = 3
_AT_ONCE = 8 << 20
_PLACES = 64


class Buffers:
    """Lends memory to read chunks into, and lends it again once no array looks at it any more.

    New memory would be cleared by the system, page by page, for every chunk.

    Examples
    --------
    >>> buffers = Buffers()
    >>> first = buffers.lend(100)
    >>> view = first[10:20].view(np.int8)
    >>> address = first.ctypes.data
    >>> address % mmap.PAGESIZE
    0
    >>> del first  # the view still looks at it
    >>> buffers.lend(50).ctypes.data == address
    False
    >>> del view
    >>> buffers.lend(100).ctypes.data == address
    True
    """

    def __init__(self) -> None:
        self._free: list[NDArray[np.uint8]] = []
        # The collector of garbage may give memory back in the middle of lending, in the same thread.
        self._lock = threading.RLock()

    def lend(self, size: int) -> NDArray[np.uint8]:
        """Return memory of so many bytes; it comes back when the last view of it is gone."""
        with self._lock:
            fitting = [k for k, memory in enumerate(self._free) if len(memory) >= size]
            if fitting:
                memory = self._free.pop(min(fitting, key=lambda k: len(self._free[k])))
            else:
                self._free = self._free[:-1]  # too small, now and probably later
                memory = _whole_pages(size)
        # By way of a memoryview, so that all views of the array have it for their base.
        lent = np.frombuffer(memory.data, dtype=np.uint8, count=size)
        weakref.finalize(lent, self._take_back, memory).atexit = False
        return lent

    def _take_back(self, memory: NDArray[np.uint8]) -> None:
        with self._lock:
            if len(self._free) < _KEPT:
                self._free.append(memory)


def _whole_pages(size: int) -> NDArray[np.uint8]:
    """Return memory that starts with a page, as the pages of a file do.

    Processors copy fast where both sides are aligned alike. Memory from the heap starts 16 bytes into a page;
    on an AMD EPYC the system took four times as long to copy a file there.
    """
    memory = np.empty(size + mmap.PAGESIZE, dtype=np.uint8)
    start = -memory.ctypes.data % mmap.PAGESIZE
    return memory[start : start + size]


def read_ahead(path: Path, n_bytes: int) -> None:
    """Wait until the beginning of a file is in the system's cache, without a copy of it.

    The system reads ahead of a sequential reader, in large pieces of memory; after ``posix_fadvise`` it takes
    single pages, and every later pass copies a fifth slower from them.
    """
    if sys.platform != "linux":
        return
    try:
        with open(path, "rb", buffering=0) as file, open(os.devnull, "wb", buffering=0) as nowhere:
            if _cached(file.fileno(), n_bytes):
                return
            done, sent = 0, 1
            while done < n_bytes and sent:
                sent = os.sendfile(nowhere.fileno(), file.fileno(), done, min(n_bytes - done, _AT_ONCE))
                done += sent
    except OSError:
        return  # whoever reads it will say so


def _cached(descriptor: int, n_bytes: int) -> bool:
    """Whether a few places of a file, evenly spread, are all in the system's cache."""
    byte = bytearray(1)
    try:
        for k in range(_PLACES):
            os.preadv(descriptor, [byte], (n_bytes - 1) * k // (_PLACES - 1), os.RWF_NOWAIT)
    except (OSError, AttributeError, NotImplementedError):  # it would have to wait, or cannot tell
        return False
    return True
