"""Standard input, output and error: closed ones, full ones, and readers that have gone."""

from __future__ import annotations

import errno
import io
import os
import sys


class _Closed(io.RawIOBase):
    """A stream that was closed before the program started; using it is an error in words."""

    def __init__(self, name: str) -> None:
        self._words = f"standard {name} is closed"

    def readable(self) -> bool:
        return True

    def writable(self) -> bool:
        return True

    def readinto(self, buffer: object) -> int:
        raise OSError(errno.EBADF, self._words)

    def write(self, content: object) -> int:
        raise OSError(errno.EBADF, self._words)


def prepare() -> None:
    """Give closed streams a place of their own.

    Otherwise the next file that is opened would get the number of the closed stream, and whatever a library
    prints would go into that file; and Python has None for the stream, which nobody expects.
    """
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # gets the lowest number that is free, which is this one
    if sys.stdin is None:
        sys.stdin = io.TextIOWrapper(io.BufferedReader(_Closed("input")))
    if sys.stdout is None:
        sys.stdout = io.TextIOWrapper(io.BufferedWriter(_Closed("output")), write_through=True)
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w")  # noqa: SIM115  # as long as the process


def flush() -> None:
    """Write out what is left, as far as anybody takes it: what went wrong was said before."""
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (OSError, ValueError):
            continue


def drop_output() -> None:
    """Let go of standard output, whose reader has gone: Python would complain again while it exits."""
    try:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except (OSError, ValueError):
        return
