"""Where inputs lie: on this machine, or behind a URL that fsspec reads, such as ``s3://`` and ``gs://``.

Everything that reads asks here, so that a URL stands wherever a path does. ``file://`` is this machine.
"""

from __future__ import annotations

import errno
import os
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from typing import Any, TypeAlias, TypeVar

from marginrank.exceptions import MarginRankError, shown_path
from marginrank.parameters import check_path
from marginrank.system.regular_files import NotAFileError, open_regular

#: What names a place.
PathLike: TypeAlias = str | os.PathLike[str]

# Several schemes may stand one behind the other, as in simplecache::s3://bucket/train.txt.
_URL = re.compile(r"(?:[a-z][a-z0-9+.-]+::)*([a-z][a-z0-9+.-]+)://", re.IGNORECASE)
_HERE = re.compile(r"(?:file|local)://", re.IGNORECASE)
_Found = TypeVar("_Found")


def place(path: PathLike, name: str = "source") -> str:
    """Return a path or a URL as text; what ``file://`` stands before is a path.

    Examples
    --------
    >>> place("file:///data/train.txt"), place("s3://bucket/train.txt")
    ('/data/train.txt', 's3://bucket/train.txt')
    """
    return _HERE.sub("", check_path(path, name), count=1)


def is_url(path: PathLike) -> bool:
    """Whether a place is none of this machine.

    Examples
    --------
    >>> is_url("s3://bucket/train.txt"), is_url("file:///data/train.txt"), is_url("data/train.txt")
    (True, False, False)
    """
    return _URL.match(place(path)) is not None


def local_place(path: PathLike, name: str, advice: str) -> str:
    """Return a path of this machine; a URL is refused, and ``advice`` is what to do.

    Examples
    --------
    >>> local_place("s3://a.mrd", "path", "copy it")
    Traceback (most recent call last):
    ...
    marginrank.exceptions.MarginRankError: s3://a.mrd: expected a path of this machine, got a URL; copy it.
    """
    found = place(path, name)
    if is_url(found):
        raise MarginRankError(f"{shown_path(found)}: expected a path of this machine, got a URL; {advice}.")
    return found


def file_name(path: PathLike) -> str:
    """Return the last part of a path or a URL, without what HTTP has behind it.

    Examples
    --------
    >>> file_name("https://host/data/train.txt.gz?version=2"), file_name("lake/")
    ('train.txt.gz', 'lake')
    """
    text = place(path)
    if _URL.match(text) and text.lower().startswith("http"):
        text = re.split(r"[?#]", text, maxsplit=1)[0]
    return PurePosixPath(text).name if is_url(text) else Path(text).name


def open_place(path: PathLike) -> Any:
    """Open a file to read; what is no file is an error in a sentence."""
    text = place(path)
    if is_url(text):
        return _asked(text, lambda files, inner: files.open(inner, "rb"))
    try:
        return open_regular(text)
    except NotAFileError as error:
        raise MarginRankError.saying(
            "{path!s}: {why!s}.",
            "To read from a pipe, {pass} {a file object}.",
            path=text,
            why=error.strerror,
        ) from None


def is_there(path: PathLike) -> bool:
    """Whether there is anything at a place."""
    text = place(path)
    return (
        _asked(text, lambda files, inner: bool(files.exists(inner))) if is_url(text) else os.path.exists(text)
    )


def is_folder(path: PathLike) -> bool:
    """Whether a place is a folder."""
    text = place(path)
    return (
        _asked(text, lambda files, inner: bool(files.isdir(inner))) if is_url(text) else os.path.isdir(text)
    )


def is_file(path: PathLike) -> bool:
    """Whether a place is a file."""
    text = place(path)
    return (
        _asked(text, lambda files, inner: bool(files.isfile(inner))) if is_url(text) else os.path.isfile(text)
    )


def file_size(path: PathLike) -> int:
    """Return the bytes of a file."""
    text = place(path)
    return (
        _asked(text, lambda files, inner: int(files.size(inner))) if is_url(text) else os.stat(text).st_size
    )


def files_below(folder: PathLike) -> list[str]:
    """Return all files below a folder, at any depth, as they are written relative to it, in order."""
    text = place(folder)
    if not is_url(text):
        found = (path for path in Path(text).rglob("*") if path.is_file())
        return [path.relative_to(text).as_posix() for path in sorted(found)]

    def below(files: Any, inner: str) -> list[str]:
        top = inner.rstrip("/")
        return [one.removeprefix(top).lstrip("/") for one in files.find(inner)]

    return sorted(_asked(text, below), key=lambda one: PurePosixPath(one).parts)


def within(folder: PathLike, relative: str) -> str:
    """Return the place of a file of a folder.

    Examples
    --------
    >>> within("s3://bucket/lake/", "year=2026/part.parquet")
    's3://bucket/lake/year=2026/part.parquet'
    """
    text = place(folder)
    return f"{text.rstrip('/')}/{relative}" if is_url(text) else os.path.join(text, relative)


def from_anywhere(path: PathLike) -> str:
    """Return what names a place in any working directory.

    Examples
    --------
    >>> from_anywhere("s3://bucket/train.txt"), from_anywhere("/data/train.txt")
    ('s3://bucket/train.txt', '/data/train.txt')
    """
    text = place(path)
    return text if is_url(text) else os.path.abspath(text)


def stamp(path: PathLike) -> dict[str, Any]:
    """Return what tells whether a file, or a folder with all that is below it, is still the same."""
    text = place(path)
    if is_url(text):
        inside = [within(text, one) for one in files_below(text)] if is_folder(text) else [text]
        marks = [_asked(one, lambda files, inner: str(files.ukey(inner))) for one in inside]
        return {"path": text, "marks": marks}
    status = os.stat(text)
    known = {"path": os.path.realpath(text), "size": status.st_size, "changed": status.st_mtime_ns}
    if os.path.isdir(text):
        found = [(one, os.stat(os.path.join(text, one))) for one in files_below(text)]
        known["files"] = [[one, here.st_size, here.st_mtime_ns] for one, here in found]
    return known


def _asked(url: str, question: Callable[[Any, str], _Found]) -> _Found:
    """Ask the file system of a URL; whatever goes wrong there names the URL."""
    files, inner = _file_system(url)
    with _failing_as(url):
        return question(files, inner)


def _file_system(url: str) -> tuple[Any, str]:
    """Return the file system of a URL, and what it calls the place."""
    try:
        from fsspec.core import url_to_fs
    except ImportError:
        raise MarginRankError(
            f"{shown_path(url)}: URLs need fsspec, which is not installed: pip install 'marginrank[urls]'."
        ) from None
    scheme = _URL.match(url)
    assert scheme is not None
    try:
        files, inner = url_to_fs(url)
    except ImportError as error:  # fsspec knows the scheme, and what to install for it
        raise MarginRankError(
            f"{shown_path(url)}: {scheme[1]}:// needs a package that is not installed. {_words(error)}"
        ) from None
    except ValueError as error:
        raise MarginRankError(
            f"{shown_path(url)}: expected a path, or a URL such as s3://bucket/train.parquet. {_words(error)}"
        ) from None
    except Exception as error:  # each file system has errors of its own
        raise _unreachable(url, error) from error
    return files, str(inner)


@contextmanager
def _failing_as(url: str) -> Iterator[None]:
    try:
        yield
    except FileNotFoundError:
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), url) from None
    except Exception as error:  # each file system has errors of its own
        raise _unreachable(url, error) from error


def _unreachable(url: str, error: Exception) -> MarginRankError:
    return MarginRankError(
        f"{shown_path(url)}: the file system of this URL failed with {type(error).__name__}: {_words(error)}"
    )


def _words(error: Exception) -> str:
    """Return what an error says, on one line, as a sentence."""
    text = " ".join(str(error).split()) or "no word"
    return text if text.endswith(".") else f"{text}."
