"""Files that are written whole or not at all."""

from __future__ import annotations

import errno
import os
import shutil
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from marginrank.system.temporary_names import create_file, remove_leftovers, sync_folder


@contextmanager
def atomic_write(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """Open a file for writing bytes that takes the place of ``path`` only when all of it is on disk.

    The bytes go to a temporary name in the same folder; leaving the ``with`` block flushes them to the disk
    and renames. After an error or Ctrl-C inside the block an old file is as it was, and the temporary one is
    gone. A process that is killed leaves its temporary file behind; the next write to the same path removes
    it. Of two writers at once, the later one wins whole. A new file gets the permissions of the one it
    replaces; a link stays a link.

    Parameters
    ----------
    path : str or path-like
        Where the file shall be. A device or a pipe, such as ``/dev/stdout``, is written to as it is.

    Yields
    ------
    file object
        Open for writing in binary mode.

    Raises
    ------
    OSError
        If the file cannot be written, as from ``open``.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "scores.txt"
    ...     with atomic_write(path) as file:
    ...         _ = file.write(b"0.25")
    ...     path.read_bytes(), len(os.listdir(folder))
    (b'0.25', 1)
    """
    if _is_stream(path):
        try:
            with open(path, "wb") as stream:
                yield stream
        except OSError as error:
            error.filename = error.filename or os.fspath(path)
            raise
        return
    target = Path(os.path.realpath(path))
    remove_leftovers(target.parent, target.name)
    try:
        descriptor, temporary = create_file(target.parent, target.name)
    except OSError as error:  # the name of the temporary file says nothing to anybody
        raise type(error)(error.errno, error.strerror, os.fspath(path)) from None
    try:
        with open(descriptor, "wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
            if target.exists():
                shutil.copymode(target, temporary)
            if os.name == "nt":  # where an open file cannot be renamed, and is not locked either
                file.close()
            os.replace(temporary, target)
    except BaseException as error:
        temporary.unlink(missing_ok=True)
        if isinstance(error, OSError) and error.filename in (None, descriptor, os.fspath(temporary)):
            error.filename, error.filename2 = os.fspath(path), None
        raise
    sync_folder(target.parent)


def _is_stream(path: str | os.PathLike[str]) -> bool:
    """Whether there is something that cannot be replaced: a device, a pipe, a socket."""
    try:
        mode = os.stat(path).st_mode
    except FileNotFoundError:
        return False
    if stat.S_ISDIR(mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), os.fspath(path))
    return not stat.S_ISREG(mode)
