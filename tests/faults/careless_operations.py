"""Operations that do not take faults well, each in another way: the injection must say so of every one."""

from __future__ import annotations

import os
import threading
from pathlib import Path

from injection import Operation

from marginrank.exceptions import MarginRankError

LINES = b"new\n" * 3
KEPT: list[object] = []


def an_old_file() -> None:
    Path("old.txt").write_bytes(b"old\n")


def write_in_place() -> bytes:
    with open("old.txt", "wb", buffering=0) as file:
        file.write(LINES)
    return b"done"


def leave_behind() -> bytes:
    with open("temporary", "wb", buffering=0) as file:
        file.write(LINES)
    os.replace("temporary", "old.txt")
    return b"done"


def swallow() -> bytes:
    try:
        return Path("old.txt").read_bytes()
    except OSError:
        return b"nothing"


def say_nothing() -> bytes:
    try:
        return Path("old.txt").read_bytes()
    except OSError:
        raise MarginRankError("failed") from None


def raise_anything() -> bytes:
    try:
        return Path("old.txt").read_bytes()
    except OSError:
        raise KeyError("old.txt") from None


def abort() -> bytes:
    try:
        return Path("old.txt").read_bytes()
    except OSError:
        os.abort()


def leave_open() -> bytes:
    descriptor = os.open("old.txt", os.O_RDONLY)
    content = os.read(descriptor, 100)
    os.close(descriptor)
    return content


def leave_a_thread() -> bytes:
    try:
        return Path("old.txt").read_bytes()
    except OSError:
        threading.Thread(target=threading.Event().wait, daemon=True).start()
        raise


def remember_badly() -> bytes:
    try:
        if KEPT:
            raise MarginRankError("It failed once, and so it does for ever.")
        return Path("old.txt").read_bytes()
    except OSError as error:
        KEPT.append(error)
        raise


OPERATIONS = {
    "the old file is destroyed": Operation(an_old_file, write_in_place, ("write",)),
    "a temporary file stays": Operation(an_old_file, leave_behind, ("rename",)),
    "the result is another one": Operation(an_old_file, swallow, ("read",)),
    "what is said is no sentence": Operation(an_old_file, say_nothing, ("read",)),
    "the error is of another kind": Operation(an_old_file, raise_anything, ("read",)),
    "the process is ended": Operation(an_old_file, abort, ("read",)),
    "a descriptor stays open": Operation(an_old_file, leave_open, ("read",)),
    "a thread runs on": Operation(an_old_file, leave_a_thread, ("read",)),
    "it never works again": Operation(an_old_file, remember_badly, ("read",)),
}
