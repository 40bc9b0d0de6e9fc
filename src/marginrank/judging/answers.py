"""The file of answers: a pairs file that grows by one write and one fsync for each answer.

Why it survives: a line is appended whole by one system call to a file that this process alone has locked, and
is on the disk before the page hears of it. A process or machine that dies in between leaves at most an
unfinished line, which the next start cuts off. Nothing is ever rewritten.

A preference is a line of weight 1, a tie two lines of weight 1/2 in both directions, what was skipped a line
of weight 0: training reads the file as it is.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from threading import Lock
from typing import Literal, get_args

from marginrank.exceptions import MarginRankError, shown_path
from marginrank.system.temporary_names import sync_folder

Answer = Literal["a", "b", "tie", "skip"]
ANSWERS: tuple[str, ...] = get_args(Answer)
Kind = Literal["random", "suggested"]
HEADER = "winner,loser,weight,answer,question,rater"
_LONGEST_NAME = 40


@dataclass(frozen=True)
class Judgement:
    """An answer: item ``first`` against ``second`` (rows), how the question came about, and who answered.

    ``answer`` is "win" where the first is better, "tie" or "skip".
    """

    first: int
    second: int
    answer: str
    kind: str
    rater: str


def rater_name(text: str) -> str:
    """Return a name that a field of the file can hold.

    Examples
    --------
    >>> rater_name(" Ann, B. "), rater_name("")
    ('Ann B.', 'anonymous')
    """
    kept = "".join(one for one in text if one.isprintable() and one not in ',"').strip()
    return " ".join(kept.split())[:_LONGEST_NAME].strip() or "anonymous"


class AnswerFile:
    """Answers that were given, and a place on disk for further ones.

    Parameters
    ----------
    path : str
        The file; it is made, or gone on with.
    ids : list of str
        What the items are called in it.
    """

    def __init__(self, path: str, ids: list[str]) -> None:
        self.path = path
        self._ids = ids
        self._lock = Lock()
        self._file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o644)
        try:
            _lock_alone(self._file, path)
            self.judgements = self._resume()
        except BaseException:
            os.close(self._file)
            raise

    def append(self, judgement: Judgement) -> None:
        """Write an answer; when this returns, it is on the disk."""
        a, b = self._ids[judgement.first], self._ids[judgement.second]
        rest = f"{judgement.answer},{judgement.kind},{judgement.rater}"
        if judgement.answer == "tie":
            text = f"{a},{b},0.5,{rest}\n{b},{a},0.5,{rest}\n"
        else:
            text = f"{a},{b},{0 if judgement.answer == 'skip' else 1},{rest}\n"
        with self._lock:
            self._write(text.encode("utf-8"))
            self.judgements.append(judgement)

    def close(self) -> None:
        """Let go of the file."""
        os.close(self._file)

    def _write(self, text: bytes) -> None:
        end = os.lseek(self._file, 0, os.SEEK_END)
        try:
            written = os.write(self._file, text)
            while written < len(text):
                written += os.write(self._file, text[written:])
            os.fsync(self._file)
        except OSError:  # a full disk: no half line stays behind
            os.ftruncate(self._file, end)
            raise

    def _resume(self) -> list[Judgement]:
        size = os.lseek(self._file, 0, os.SEEK_END)
        os.lseek(self._file, 0, os.SEEK_SET)
        content = bytearray()
        while len(content) < size:
            piece = os.read(self._file, size - len(content))
            if not piece:
                break
            content += piece
        whole = bytes(content[: content.rfind(b"\n") + 1])
        if not whole:
            os.ftruncate(self._file, 0)
            self._write(f"{HEADER}\n".encode())
            _sync_folder(self.path)
            return []
        judgements, kept = self._read(whole)
        if kept < size:
            os.ftruncate(self._file, kept)
            os.fsync(self._file)
        return judgements

    def _read(self, content: bytes) -> tuple[list[Judgement], int]:
        """Return the answers, and how many bytes of the file are whole ones."""
        try:
            lines = content.decode("utf-8").split("\n")[:-1]
        except UnicodeDecodeError:
            raise MarginRankError(
                f"{shown_path(self.path)}: expected text in UTF-8, got other bytes."
            ) from None
        if lines[0] != HEADER:
            raise MarginRankError(
                f"{shown_path(self.path)}: expected a file of judge, with the header {HEADER}, got "
                f"{lines[0][:60]!r}. Name another file with -o."
            )
        rows = {name: k for k, name in enumerate(self._ids)}
        judgements: list[Judgement] = []
        k = 1
        while k < len(lines):
            one = self._parsed(lines[k], k + 1, rows)
            if one.answer == "tie":
                if k + 1 == len(lines):  # the second line of a tie was never written
                    break
                k += 1
            judgements.append(one)
            k += 1
        return judgements, sum(len(line.encode("utf-8")) + 1 for line in lines[:k])

    def _parsed(self, line: str, number: int, rows: dict[str, int]) -> Judgement:
        fields = line.split(",")
        place = f"{shown_path(self.path)}:{number}"
        if len(fields) != 6 or fields[3] not in ("win", "tie", "skip"):
            raise MarginRankError(f"{place}: expected an answer as judge writes it, got {line[:60]!r}.")
        for name in fields[:2]:
            if name not in rows:
                raise MarginRankError(
                    f"{place}: expected the id of an item, got {name[:40]!r}. Is it the file of other items?"
                )
        return Judgement(rows[fields[0]], rows[fields[1]], fields[3], fields[4], fields[5])


def _lock_alone(file: int, path: str) -> None:
    try:
        import fcntl
    except ImportError:  # where there is none, nobody is kept out
        return
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        raise MarginRankError(
            f"{shown_path(path)}: another marginrank judge is writing to it; end it, or name another file."
        ) from None


def _sync_folder(path: str) -> None:
    sync_folder(Path(os.path.realpath(path)).parent)
