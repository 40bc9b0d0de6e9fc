"""The folder in which one writer prepares a data set, next to where it will be.

It is called ``.marginrank-<target>-<random>.stage`` and holds

    owner       a file with the name of the target, locked as long as its writer lives
    work/       rows that were written so far, and the journal from which a later writer resumes
    new/        the data set to be; after it took its place, the one that was there before
    old/        the one that was there before, on systems that cannot exchange two folders at once

A writer that was killed leaves the folder behind, and the next writer to the same target removes it, or goes
on with it. A folder is taken for that only if it belongs to this user, has such a name, and its ``owner``
says so and is not locked. Only files that a data set consists of are ever removed from it, one by one, and
links are never followed.
"""

from __future__ import annotations

import ctypes
import errno
import os
import re
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from marginrank.exceptions import MarginRankError
from marginrank.storage.dataset_manifest import MANIFEST
from marginrank.system import temporary_names as temporary

#: What a writer notes in ``work``, so that another one can go on.
JOURNAL = "journal.json"
_ENDING = ".stage"
_OWNER, _WORK, _NEW, _OLD = "owner", "work", "new", "old"
_FOLDER = os.O_RDONLY | getattr(os, "O_DIRECTORY", 0) | getattr(os, "O_NOFOLLOW", 0)
_PARTS = re.compile(r"chunk-\d{6,}\.bin|pairs\.bin|manifest\.json")
_WORKED_ON = re.compile(r"(staged|sorted)-\d{6,}\.bin|journal\.json")
_EXCHANGE = 2  # of renameat2
_TRIES = 100
_LONGEST = 1 << 16
_IN_USE = "in use"


class StageFolder:
    """A folder in which this process, and nobody else, prepares a data set.

    Made by :func:`stage_folder`.

    Parameters
    ----------
    target : Path
        The data set to be.
    name : str
        The name of the folder, next to it.
    folder, owner : int
        The folder and its ``owner``, open; the latter is locked.

    Attributes
    ----------
    work, new : Path
        The folders inside it.
    """

    def __init__(self, target: Path, name: str, folder: int, owner: int) -> None:
        self._target, self._name = target, name
        self._folder, self._owner = folder, owner
        self.work, self.new = (target.parent / name / part for part in (_WORK, _NEW))

    @property
    def made_at(self) -> int:
        """When it was made, in nanoseconds."""
        return os.fstat(self._owner).st_mtime_ns

    @property
    def has_journal(self) -> bool:
        """Whether another writer could go on."""
        try:
            found = os.stat(f"{_WORK}/{JOURNAL}", dir_fd=self._folder, follow_symlinks=False)
        except OSError:
            return False
        return stat.S_ISREG(found.st_mode)

    def prepare(self) -> None:
        """Make the folders inside; the new data set is begun from nothing."""
        with suppress(FileExistsError):
            os.mkdir(_WORK, dir_fd=self._folder)
        _remove(_NEW, self._folder)
        try:
            os.mkdir(_NEW, dir_fd=self._folder)
        except FileExistsError:
            raise MarginRankError(
                f"{self.new} holds files that no data set has; move them elsewhere."
            ) from None

    @contextmanager
    def naming_target(self) -> Iterator[None]:
        """Name the data set where writing to its temporary folder fails."""
        try:
            yield
        except OSError as error:
            kept = ["What was written before is kept for {resume=True}."] if self.has_journal else []
            raise MarginRankError.saying(
                "{target!s} cannot be written: {why!s}.",
                *kept,
                target=self._target,
                why=error.strerror or error,
            ) from error

    def put_in_place(self, *, overwrite: bool) -> None:
        """Let the new data set take its place at once, whole.

        Another writer may do the same at any moment: the later one wins if it may overwrite.
        """
        for _ in range(_TRIES):
            try:
                if check_target(self._target, overwrite):
                    os.chmod(_NEW, stat.S_IMODE(os.stat(self._target).st_mode), dir_fd=self._folder)
                    self._replace()
                else:
                    os.rename(_NEW, self._target, src_dir_fd=self._folder)
            except OSError as error:  # it came, went or was filled between the look and the renaming
                if error.errno not in (errno.ENOENT, errno.EEXIST, errno.ENOTEMPTY, errno.ENOTDIR):
                    raise
            else:
                temporary.sync_folder(self._target.parent)
                return
        raise MarginRankError(f"{self._target} is replaced by others again and again; write elsewhere.")

    def _replace(self) -> None:
        if _exchanged(self._folder, _NEW, self._target):
            return
        _remove(_OLD, self._folder)
        os.rename(self._target, _OLD, dst_dir_fd=self._folder)
        try:
            os.rename(_NEW, self._target, src_dir_fd=self._folder)
        except BaseException:
            self.restore()
            raise

    def restore(self) -> None:
        """Bring back what was there before, where a replacement was cut short between its two steps."""
        if not os.path.lexists(self._target):
            with suppress(OSError):
                os.rename(_OLD, self._target, src_dir_fd=self._folder)

    def remove(self) -> None:
        """Remove the folder; what no data set consists of stays, and so does a folder that holds it."""
        self.restore()
        if not self._removed():  # a fault that comes once shall leave nothing behind
            self._removed()

    def _removed(self) -> bool:
        with suppress(OSError):
            gone = [_remove(part, self._folder) for part in (_WORK, _NEW, _OLD)]
            if all(gone):
                os.unlink(_OWNER, dir_fd=self._folder)
                os.rmdir(self._target.parent / self._name)
                return True
        return False

    def close(self) -> None:
        """Let others have the folder."""
        os.close(self._owner)
        os.close(self._folder)


@contextmanager
def stage_folder(target: Path, *, overwrite: bool, resume: bool) -> Iterator[StageFolder]:
    """Make a folder to prepare a data set in, or resume with one that was left behind; remove all others.

    After an error the folder stays if it can be gone on with.

    Parameters
    ----------
    target : Path
        The data set to be, without links.
    overwrite, resume : bool
        Whether a data set may be replaced, and whether to go on.
    """
    left, living = _looked_up(target)
    chosen = next((stage for stage in left if resume and stage.has_journal), None)
    others = [stage for stage in left if stage is not chosen]
    try:
        for stage in left:
            stage.restore()
        check_target(target, overwrite)
        if living and chosen is None and (resume or not overwrite):
            raise MarginRankError(f"{target} is being written by another process; wait, or write elsewhere.")
        place = chosen or _created(target)
    except BaseException:
        _close(left)
        raise
    try:
        if chosen is None:  # otherwise they stay until all is done: the one that was chosen may not fit
            _remove_all(others)
        with place.naming_target():
            place.prepare()
        yield place
        place.remove()
        _remove_all(others)
    finally:
        if not place.has_journal:
            place.remove()
        _close([place, *others])


def was_begun(target: Path) -> bool:
    """Whether a writing of a data set was stopped, and can go on."""
    left, _ = _looked_up(Path(os.path.realpath(target)))
    try:
        return any(stage.has_journal for stage in left)
    finally:
        _close(left)


def check_target(target: Path, overwrite: bool) -> bool:
    """Return whether there is a data set that may be replaced; what is there otherwise is an error."""
    if not os.path.lexists(target):
        return False
    while _is_foreign(target):
        try:
            there = os.lstat(target)
            if _is_foreign(target) and os.path.samestat(there, os.lstat(target)):
                raise MarginRankError(f"{target} is there already and is no data set; write elsewhere.")
        except FileNotFoundError:  # another writer took it away meanwhile
            return False
    if not overwrite:
        raise MarginRankError.saying(
            "{target!s} is there already; {pass} {overwrite=True} to replace it.", target=target
        )
    foreign = sorted(name for name in os.listdir(target) if not _is_part(target / name))
    if foreign:
        raise MarginRankError(
            f"{target} holds what is no part of the data set ({', '.join(foreign)[:100]}) and would be lost; "
            "move it elsewhere first."
        )
    return True


def _is_foreign(target: Path) -> bool:
    return target.is_symlink() or not (target / MANIFEST).is_file()


def _is_part(path: Path) -> bool:
    known = _PARTS.fullmatch(path.name) is not None or temporary.is_temporary(path.name)
    return known and stat.S_ISREG(path.lstat().st_mode)


def _content(target: Path) -> bytes:
    return b"marginrank stage 1\n" + os.fsencode(target.name) + b"\n"


def _created(target: Path) -> StageFolder:
    while True:
        name = temporary.fresh_name(target.name, _ENDING)
        try:
            os.mkdir(target.parent / name)
            try:
                folder = os.open(target.parent / name, _FOLDER)
                owner = _locked_owner(target, folder)
            except OSError:
                os.rmdir(target.parent / name)
                raise
        except OSError as error:
            raise MarginRankError(f"{target}: the folder cannot be made there: {error.strerror}.") from None
        if owner is not None:
            return StageFolder(target, name, folder, owner)


def _locked_owner(target: Path, folder: int) -> int | None:
    """Create the owner's file of a new folder; None if somebody took the folder for one left behind."""
    owner = -1
    try:
        owner = os.open(_OWNER, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o666, dir_fd=folder)
        if temporary.holds(owner):
            os.write(owner, _content(target))
            return owner
    except FileNotFoundError:
        pass
    except OSError:
        with suppress(OSError):
            os.unlink(_OWNER, dir_fd=folder)
        _close_descriptors(owner, folder)
        raise
    _close_descriptors(owner, folder)
    return None


def _close_descriptors(*descriptors: int) -> None:
    for descriptor in descriptors:
        if descriptor >= 0:
            os.close(descriptor)


def _looked_up(target: Path) -> tuple[list[StageFolder], bool]:
    """Return the folders that were left behind, locked now, the latest first; and whether a writer lives."""
    found, living = [], False
    with _opened(target.parent) as parent:
        for name in names_of_stages(target, parent):
            try:
                folder = os.open(name, _FOLDER, dir_fd=parent)
            except OSError:
                continue
            owner = _owner(target, name, folder, parent)
            if isinstance(owner, int):
                found.append(StageFolder(target, name, folder, owner))
                continue
            living |= owner is _IN_USE
            os.close(folder)
    return sorted(found, key=lambda stage: stage.made_at, reverse=True), living


def names_of_stages(target: Path, parent: int | None) -> list[str]:
    """Return the names next to a target that may be those of its stage folders."""
    return [] if parent is None else temporary.names_in(parent, target.name, _ENDING)


def _owner(target: Path, name: str, folder: int, parent: int | None) -> int | str | None:
    """Return the owner's file of a folder that was left behind, locked; _IN_USE if it is; None for others."""
    if os.fstat(folder).st_uid != os.geteuid():
        return None
    owner = temporary.take_over(_OWNER, folder)
    if owner is not None:
        if _content(target).startswith(os.pread(owner, _LONGEST, 0)):  # its writer may have come no further
            return owner
        os.close(owner)
        return None
    with suppress(OSError):
        if os.listdir(folder):
            return _IN_USE if temporary.is_locked(_OWNER, folder) else None
        os.rmdir(name, dir_fd=parent)  # its writer came no further, or was about to be done
    return None


def _remove(name: str, folder: int) -> bool:
    """Remove a folder that consists of our own files; whether it is gone. Nothing else is touched."""
    try:
        opened = os.open(name, _FOLDER, dir_fd=folder)
    except FileNotFoundError:
        return True
    except OSError:
        return False
    try:
        # The journal first: without the rows that it speaks of, nobody could go on by it.
        for entry in sorted(os.listdir(opened), key=lambda entry: entry != JOURNAL):
            ours = _PARTS.fullmatch(entry) or _WORKED_ON.fullmatch(entry) or temporary.is_temporary(entry)
            if ours and stat.S_ISREG(os.stat(entry, dir_fd=opened, follow_symlinks=False).st_mode):
                os.unlink(entry, dir_fd=opened)
        os.rmdir(name, dir_fd=folder)
    except OSError:
        return False
    finally:
        os.close(opened)
    return True


def _exchanged(folder: int, name: str, other: Path) -> bool:
    """Exchange two folders at once; False where the system or the file system cannot."""
    exchange = getattr(ctypes.CDLL(None, use_errno=True), "renameat2", None)
    if exchange is None:
        return False
    if exchange(folder, os.fsencode(name), -1, os.fsencode(other), _EXCHANGE) == 0:
        return True
    code = ctypes.get_errno()
    if code in (errno.ENOSYS, errno.EINVAL, errno.EPERM):
        return False
    raise OSError(code, os.strerror(code), os.fspath(other))


@contextmanager
def _opened(folder: Path) -> Iterator[int | None]:
    try:
        opened = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    except OSError:
        yield None
        return
    try:
        yield opened
    finally:
        os.close(opened)


def _remove_all(stages: list[StageFolder]) -> None:
    for stage in stages:
        stage.remove()
    _close(stages)


def _close(stages: list[StageFolder]) -> None:
    while stages:
        stages.pop().close()
