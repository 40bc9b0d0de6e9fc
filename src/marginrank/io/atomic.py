"""Files that are either the old ones or the new ones, never half of one."""

from __future__ import annotations

import gzip
import os
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any, TypeAlias, cast

from marginrank.exceptions import MarginRankError

#: What every writer takes.
Destination: TypeAlias = str | os.PathLike[str] | IO[bytes]


@contextmanager
def open_for_writing(destination: Destination) -> Iterator[IO[bytes]]:
    """Open a path or a binary file object for writing.

    A path is written under a temporary name in the same folder, brought to the disk and renamed. Whatever
    goes wrong, the interrupt key included, leaves what was there before. A path that ends in ``.gz`` is
    compressed. A file object is written to directly and stays open.

    Examples
    --------
    >>> from io import BytesIO
    >>> memory = BytesIO()
    >>> with open_for_writing(memory) as file:
    ...     _ = file.write(b"text")
    >>> memory.getvalue()
    b'text'
    """
    if not isinstance(destination, str | os.PathLike):
        if not hasattr(destination, "write"):
            kind = type(destination).__name__
            raise MarginRankError(f"Expected a path or a binary file object to write to; got {kind}.")
        yield destination
        return
    path = Path(destination)
    if path.exists() and not stat.S_ISREG(path.stat().st_mode):  # /dev/stdout cannot be renamed
        with path.open("wb") as file:
            yield file
        return
    path = Path(os.path.realpath(path))  # a link stays a link
    descriptor, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.", suffix=".part")
    try:
        with os.fdopen(descriptor, "wb") as file:
            if path.suffix.lower() == ".gz":
                # Neither name nor time, so that equal data give equal files.
                with gzip.GzipFile("", "wb", compresslevel=6, fileobj=file, mtime=0) as packed:
                    yield cast(IO[bytes], packed)
            else:
                yield file
            file.flush()
            os.fsync(file.fileno())
        os.chmod(temporary, _mode(path))
        os.replace(temporary, path)
    except BaseException:
        with suppress(FileNotFoundError):
            os.unlink(temporary)
        raise
    _sync_folder(path.parent)


def write_lines(destination: Destination, lines: Any) -> None:
    """Write strings as lines of UTF-8."""
    with open_for_writing(destination) as file:
        for line in lines:
            file.write(f"{line}\n".encode("utf-8", "surrogateescape"))


def _mode(path: Path) -> int:
    """Return the permissions of the file that is replaced, or those of a new one."""
    try:
        return stat.S_IMODE(path.stat().st_mode)
    except FileNotFoundError:
        mask = os.umask(0)
        os.umask(mask)
        return 0o666 & ~mask


def _sync_folder(folder: Path) -> None:
    with suppress(OSError):  # some file systems cannot; the rename itself is done
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
