"""Temporary files and folders: unpredictable names, one for each writer; known again when it is gone.

A temporary thing lies beside its target and is called ``.marginrank-<target>-<random><ending>``, where
``<target>`` is a digest of the target's name (which may be as long as the file system allows, so nothing can
be added to it). A writer holds a lock as long as it lives, and the system takes the lock from a process that
was killed. So whoever writes to the same target next can tell what was left behind from what is in use.
"""

from __future__ import annotations

import errno
import hashlib
import os
import re
import secrets
import stat
from pathlib import Path

try:
    import fcntl
except ImportError:  # Windows: nobody can tell what was left behind, so it stays
    fcntl = None  # type: ignore[assignment]

#: How the name of any temporary file ends that becomes one file.
FILE = ".tmp"
_NEW = os.O_RDWR | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
# A pipe of that name would make an ordinary open wait for somebody at its other end.
_OLD = os.O_RDWR | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)


def fresh_name(target: str, ending: str) -> str:
    """Return a new name for something that is to become the target.

    Examples
    --------
    >>> fresh_name("model.mrk", FILE)  # doctest: +ELLIPSIS
    '.marginrank-...-....tmp'
    """
    return f".marginrank-{_digest(target)}-{secrets.token_hex(8)}{ending}"


def names_in(folder: str | Path | int, target: str, ending: str) -> list[str]:
    """Return the names in a folder that ``fresh_name`` may have given for a target."""
    pattern = re.compile(rf"\.marginrank-{_digest(target)}-[0-9a-f]{{16}}{re.escape(ending)}")
    return sorted(name for name in os.listdir(folder) if pattern.fullmatch(name))


def is_temporary(name: str) -> bool:
    """Whether a name is that of a temporary file, of whatever target."""
    return re.fullmatch(rf"\.marginrank-[0-9a-f]{{12}}-[0-9a-f]{{16}}{re.escape(FILE)}", name) is not None


def create_file(folder: Path, target: str) -> tuple[int, Path]:
    """Create a temporary file for a target and lock it.

    Returns
    -------
    tuple of int and Path
        The open file, which is locked until it is closed, and its path.
    """
    while True:
        path = folder / fresh_name(target, FILE)
        descriptor = os.open(path, _NEW, 0o666)
        if holds(descriptor):
            return descriptor, path
        os.close(descriptor)  # somebody looked for what was left behind, and was faster


def holds(descriptor: int) -> bool:
    """Lock a file that was just created; whether it is still there."""
    return lock(descriptor) is not False and os.fstat(descriptor).st_nlink > 0


def lock(descriptor: int) -> bool | None:
    """Lock an open file unless somebody else has; None where the file system knows no locks."""
    if fcntl is None:
        return None
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        return False if error.errno in (errno.EWOULDBLOCK, errno.EACCES) else None
    return True


def take_over(name: str, folder: int) -> int | None:
    """Open and lock a file whose writer is gone.

    Parameters
    ----------
    name : str
        Its name, which may be that of anything.
    folder : int
        The open folder that it is in.

    Returns
    -------
    int or None
        The open file; None unless it is a regular file of this user, not a link, that nobody has locked.
    """
    try:
        descriptor = os.open(name, _OLD, dir_fd=folder)
    except OSError:
        return None
    try:
        found = os.fstat(descriptor)
        plain = stat.S_ISREG(found.st_mode) and found.st_uid == os.geteuid() and found.st_nlink == 1
        if plain and lock(descriptor) and _is_there(name, folder, descriptor):
            return descriptor
    except OSError:
        pass
    os.close(descriptor)
    return None


def is_locked(name: str, folder: int) -> bool:
    """Whether a file is locked by somebody else."""
    descriptor = os.open(name, _OLD, dir_fd=folder)
    try:
        return lock(descriptor) is False
    finally:
        os.close(descriptor)


def remove_leftovers(folder: Path, target: str) -> None:
    """Remove temporary files that killed writers of a target left behind; what cannot be removed stays."""
    if fcntl is None:
        return
    try:
        names = names_in(folder, target, FILE)
        if not names:
            return
        opened = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    except OSError:
        return
    try:
        for name in names:
            if (descriptor := take_over(name, opened)) is not None:
                os.unlink(name, dir_fd=opened)
                os.close(descriptor)
    except OSError:
        pass
    finally:
        os.close(opened)


def sync_folder(folder: Path) -> None:
    """Make new names in a folder last through a power cut, where the system can open folders."""
    try:
        handle = os.open(folder, os.O_RDONLY)
    except OSError:  # Windows
        return
    try:
        os.fsync(handle)
    except OSError:  # some network file systems; the file is in place already
        pass
    finally:
        os.close(handle)


def _is_there(name: str, folder: int, descriptor: int) -> bool:
    """Whether a name is still that of an open file: another one may have removed it before it was locked."""
    try:
        return os.path.samestat(os.stat(name, dir_fd=folder, follow_symlinks=False), os.fstat(descriptor))
    except FileNotFoundError:
        return False


def _digest(target: str) -> str:
    return hashlib.sha256(os.fsencode(target)).hexdigest()[:12]
