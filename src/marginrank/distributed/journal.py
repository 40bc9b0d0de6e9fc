"""A journal of what workers answered: a training that was stopped is run again from it, then goes on.

Solvers are deterministic, so the answers are all that there is to remember: run from the start with the same
answers, a solver comes to the same place, and the resumed training equals an undisturbed one to the bit. No
solver knows of it.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from time import monotonic
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from marginrank.data.matrices import is_sparse
from marginrank.distributed.journal_records import MAGIC, digest, pack, unpack
from marginrank.distributed.remote_data import RemoteData
from marginrank.exceptions import MarginRankError, Sentence
from marginrank.storage.engines import Engine, EngineRequest, Make, Operation, is_apart_from_training
from marginrank.system.regular_files import open_regular
from marginrank.system.temporary_names import create_file, lock

# Seconds between writings through to the disk. What is only flushed survives the process, not the machine.
_SYNC_EVERY = 3.0


class Journal:
    """A file of answers, read from its start and then added to.

    Parameters
    ----------
    path : Path
        The file.
    header : dict
        What it is about, as JSON has it: data and parameters.
    resume : bool
        Go on with a file that is there; otherwise there must be none.
    """

    def __init__(self, path: Path, header: dict[str, Any], *, resume: bool) -> None:
        self.path = path
        self._number = 0
        self._synced = monotonic()
        self._records: Iterator[tuple[dict[str, Any], Any, int]] | None = None
        start = MAGIC + pack({"header": header})
        self._file = self._reopened(header, start) if resume else self._begun(start)

    def answer(self, inputs: str, ask: Callable[[], Any]) -> Any:
        """Return what was answered to the same question before, or ask it and write the answer down.

        What is asked after Ctrl-C, of the best model so far, a training that goes on does not ask.
        """
        if is_apart_from_training():
            return ask()
        self._number += 1
        known = self._next()
        if known is not None:
            content, answer = known
            if content.get("inputs") != inputs:
                raise MarginRankError.saying(
                    "{path!s}: answer {number:d} is to another question than this training asks, so it is of "
                    "other data, parameters or another program.",
                    "Train without {resume}.",
                    path=self.path,
                    number=self._number,
                )
            return answer
        answer = ask()
        self._write(pack({"number": self._number, "inputs": inputs}, answer))
        return answer

    def close(self) -> None:
        """Write everything through to the disk."""
        with self._file, self._naming():
            os.fsync(self._file.fileno())

    def _begun(self, start: bytes) -> IO[bytes]:
        """Return a new journal, which has its whole beginning when it gets its name."""
        with self._naming():
            descriptor, temporary = create_file(self.path.parent, self.path.name)
            file = open(descriptor, "r+b", buffering=0)  # noqa: SIM115  # open until the training ends
            try:
                _write_all(file, start)
                os.fsync(descriptor)
                self._place(temporary, start)
            except BaseException:
                file.close()
                raise
            finally:
                temporary.unlink(missing_ok=True)
        return file

    def _place(self, temporary: Path, start: bytes) -> None:
        try:
            os.link(temporary, self.path)
        except FileExistsError:
            if not _holds_nothing(self.path, start):
                raise MarginRankError.saying(
                    "{path!s}: there is a checkpoint already.",
                    "Resume from it with {resume=}, or remove it.",
                    path=self.path,
                    resume=str(self.path),
                ) from None
            os.replace(temporary, self.path)
        except OSError:  # a file system without links
            os.rename(temporary, self.path)

    def _reopened(self, header: dict[str, Any], start: bytes) -> IO[bytes]:
        if _holds_nothing(self.path, start):
            return self._begun(start)
        try:
            file: IO[bytes] = open_regular(self.path, "r+b", buffering=0)
        except OSError as error:
            raise MarginRankError(f"{self.path}: cannot read the checkpoint ({error.strerror}).") from None
        try:
            if lock(file.fileno()) is False:
                raise MarginRankError(f"{self.path}: another process is going on from this checkpoint.")
            self._check_header(file, header)
        except BaseException:
            file.close()
            raise
        return file

    def _check_header(self, file: IO[bytes], header: dict[str, Any]) -> None:
        self._records = unpack(file)
        first = next(self._records, None)
        known = None if first is None else first[0].get("header")
        if first is None or not isinstance(known, dict):
            raise MarginRankError(f"{self.path}: expected a checkpoint of marginrank, got something else.")
        self._end = first[2]
        different = [name for name in header if known.get(name) != header[name]]
        if different:
            raise MarginRankError.saying(
                "{path!s}: the checkpoint is of a training with other {what!s}.",
                "Train as then, or without {resume}.",
                path=self.path,
                what=" and ".join(different),
            )

    def _next(self) -> tuple[dict[str, Any], Any] | None:
        if self._records is None:
            return None
        found = next(self._records, None)
        if found is None:  # the end, or a record that was being written when the process died
            self._records = None
            self._file.seek(self._end)
            self._file.truncate()
            return None
        content, answer, self._end = found
        return content, answer

    def _write(self, record: bytes) -> None:
        with self._naming():
            _write_all(self._file, record)
            if monotonic() - self._synced > _SYNC_EVERY:
                os.fsync(self._file.fileno())
                self._synced = monotonic()

    @contextmanager
    def _naming(self) -> Iterator[None]:
        """Name the journal where it cannot be written; what was written before stays good."""
        try:
            yield
        except OSError as error:
            said = Sentence.of(f"{self.path}: cannot write the checkpoint ({error.strerror}).")
            if self._number:
                said = said.and_then(
                    "What it holds is good: make room and resume from it with {resume=}.",
                    resume=str(self.path),
                )
            raise MarginRankError(said) from error


def _holds_nothing(path: Path, start: bytes) -> bool:
    """Whether a file is a journal that has not got beyond its beginning."""
    try:
        with open_regular(path, "rb") as file:
            content = file.read(len(start) + 1)
    except OSError:
        return False
    return len(content) < len(start) and start.startswith(content)


def _write_all(file: IO[bytes], record: bytes) -> None:
    view = memoryview(record)
    while view:
        view = view[file.write(view) :]


class JournalledEngine:
    """An engine whose answers are kept in a journal, or come from it.

    Parameters
    ----------
    engine : Engine
        Asked where the journal does not know.
    journal : Journal
        The journal.
    name : str
        Tells it from other engines of the same journal.
    """

    def __init__(self, engine: Engine, journal: Journal, name: str) -> None:
        self._engine = engine
        self._journal = journal
        self._name = name

    def prepare(self, make: Make, chunks: Sequence[int], parts: Sequence[Any]) -> _Promise:
        """Return a handle; nothing is made before it is needed."""
        return _Promise(self._engine, make, chunks, parts)

    def gather(
        self, handle: _Promise, operation: Operation, shared: Any = None, each: Sequence[Any] | None = None
    ) -> list[Any]:
        """Return the answers."""
        return list(self._answer("gather", handle, operation, shared, each))

    def tree_sum(
        self, handle: _Promise, operation: Operation, shared: Any = None, each: Sequence[Any] | None = None
    ) -> NDArray[np.float64]:
        """Return the sum of the answers."""
        return np.asarray(self._answer("tree_sum", handle, operation, shared, each))

    def together(self, requests: Sequence[EngineRequest]) -> list[Any]:
        """Return the answers to several requests, which are one answer of the journal."""
        said = [(one.kind, one.handle.digest, one.operation, one.shared, one.each) for one in requests]
        inputs = digest(self._name, "together", said)

        def ask() -> list[Any]:
            return self._engine.together([one._replace(handle=one.handle.kept()) for one in requests])

        return list(self._journal.answer(inputs, ask))

    def _answer(self, kind: str, handle: _Promise, operation: Operation, shared: Any, each: Any) -> Any:
        inputs = digest(self._name, kind, handle.digest, operation, shared, each)
        ask = getattr(self._engine, kind)
        return self._journal.answer(inputs, lambda: ask(handle.kept(), operation, shared, each))


class _Promise:
    """What an engine shall hold, once it is asked."""

    def __init__(self, engine: Engine, make: Make, chunks: Sequence[int], parts: Sequence[Any]) -> None:
        self._engine = engine
        self._wanted = (make, list(chunks), list(parts))
        self._kept: Any = None
        self.digest = digest(*self._wanted)

    def kept(self) -> Any:
        """Return the handle of the engine, prepared at the first request."""
        if self._kept is None:
            self._kept = self._engine.prepare(*self._wanted)
        return self._kept


@contextmanager
def journalled(
    data: RemoteData, sets: Any, path: Path | None, parameters: dict[str, str], *, resume: bool
) -> Iterator[tuple[RemoteData, Any]]:
    """Give data and validation sets whose engines keep a journal, where there is a path for it."""
    if path is None:
        yield data, sets
        return
    several = sets if isinstance(sets, list) else [sets]
    remote = [data, *(one for one in several if isinstance(one, RemoteData))]
    header = {"data": [fingerprint(one) for one in remote], "parameters": parameters}
    journal = Journal(path, header, resume=resume)
    try:
        kept = {
            id(one): one.through(JournalledEngine(one.X.engine, journal, str(number)))
            for number, one in enumerate(remote)
        }
        wrapped = [kept.get(id(one), one) for one in several]
        yield kept[id(data)], wrapped if isinstance(sets, list) else wrapped[0]
    finally:
        journal.close()


def fingerprint(data: RemoteData) -> str:
    """Return a SHA-256 that tells data from others; workers count their own where no file has a seal."""
    sources = getattr(data.X.engine, "sources", [None])
    seals = [getattr(source, "fingerprint", None) for source in sources]
    if not all(isinstance(seal, str) for seal in seals):
        seals = [seal.tolist() for _, _, seal in data.X.map_blocks(_seal)]
    about = (data.y, data.query_ptr, data.sample_weight, data.query_weight)
    return digest(seals, data.X.shape, about, data.pairs, data.pair_weight, data.pair_margin)


def _seal(X: Any, along: None) -> NDArray[np.uint8]:
    del along
    arrays = (X.data, X.indices, X.indptr) if is_sparse(X) else (X,)
    return np.frombuffer(bytes.fromhex(digest(arrays)), dtype=np.uint8)
