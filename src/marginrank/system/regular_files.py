"""Opening files that must be files: not a folder, not a device, and not a pipe that nobody writes to."""

from __future__ import annotations

import errno
import io
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

_KINDS = (
    (stat.S_ISDIR, "a folder"),
    (stat.S_ISFIFO, "a pipe"),
    (stat.S_ISSOCK, "a socket"),
    (stat.S_ISCHR, "a device"),
    (stat.S_ISBLK, "a device"),
)


class NotAFileError(OSError):
    """What is there is no regular file."""


class _NamedFile(io.FileIO):
    """A file whose errors name it, as those of ``open`` do: Python's own files do not."""

    def read(self, size: int | None = -1, /) -> Any:
        with self._naming():
            return super().read(size)

    def readall(self) -> Any:
        with self._naming():
            return super().readall()

    def readinto(self, buffer: Any, /) -> Any:
        with self._naming():
            return super().readinto(buffer)

    @contextmanager
    def _naming(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            error.filename = error.filename or self.name
            raise


def open_regular(path: str | os.PathLike[str], mode: str = "rb", *, buffering: int = -1) -> Any:
    """Open a regular file, to be read ("rb") or changed in place ("r+b"); ``buffering=0`` is for no buffer.

    Opening a pipe would wait until somebody opens its other end, and reading a device may never end.

    Raises
    ------
    NotAFileError
        If it is something else; its ``strerror`` says what.
    OSError
        If it cannot be opened.

    Examples
    --------
    >>> open_regular(os.devnull)
    Traceback (most recent call last):
    ...
    marginrank.system.regular_files.NotAFileError: [Errno 22] expected a file, got a device: '/dev/null'
    """
    access = os.O_RDWR if mode == "r+b" else os.O_RDONLY
    flags = access | getattr(os, "O_BINARY", 0) | getattr(os, "O_NONBLOCK", 0)

    def opener(name: str, _: int) -> int:
        return os.open(name, flags)

    what = kind(path)
    if what is not None:
        raise NotAFileError(errno.EINVAL, f"expected a file, got {what}", os.fspath(path))
    raw = _NamedFile(os.fspath(path), mode, opener=opener)
    file: Any = raw
    if buffering:
        file = io.BufferedRandom(raw) if mode == "r+b" else io.BufferedReader(raw)
    if stat.S_ISREG(os.fstat(file.fileno()).st_mode):
        return file
    file.close()  # it took the place of a file a moment ago
    raise NotAFileError(errno.EINVAL, "expected a file, got something else", os.fspath(path))


def kind(path: str | os.PathLike[str]) -> str | None:
    """Return what a path leads to if it is no regular file, in words; None for a file, or for nothing."""
    try:
        mode = os.stat(path).st_mode
    except OSError:
        return None
    return next((words for is_kind, words in _KINDS if is_kind(mode)), None)
