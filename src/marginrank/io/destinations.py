"""Where writers write: a path, which is replaced as a whole or not at all, or a binary file object."""

from __future__ import annotations

import gzip
import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO, Any, TypeAlias, cast

from marginrank.exceptions import ParameterError
from marginrank.io.places import local_place
from marginrank.system.atomic_write import atomic_write

#: What every writer takes.
Destination: TypeAlias = str | os.PathLike[str] | IO[bytes]


@contextmanager
def open_for_writing(destination: Destination) -> Iterator[IO[bytes]]:
    """Open a path or a binary file object for writing.

    A path that ends in ``.gz`` is compressed. A file object is written to directly and stays open.

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
        if not callable(getattr(destination, "write", None)):
            raise ParameterError("destination", "a path or a binary file object", destination)
        yield destination
        return
    path = local_place(destination, "destination", "write it here, and copy it there")
    with atomic_write(path) as file:
        if not path.lower().endswith(".gz"):
            yield file
            return
        # Neither name nor time, so that equal data give equal files.
        with gzip.GzipFile("", "wb", compresslevel=6, fileobj=file, mtime=0) as packed:
            yield cast(IO[bytes], packed)


def write_lines(destination: Destination, lines: Any) -> None:
    """Write strings as lines of UTF-8."""
    with open_for_writing(destination) as file:
        for line in lines:
            file.write(f"{line}\n".encode("utf-8", "surrogateescape"))
