"""Model files as users name them: a path or a file object, read and written whole."""

from __future__ import annotations

import os
from typing import Any, BinaryIO

from numpy.typing import NDArray

from marginrank.exceptions import ModelFileError, shown, shown_path
from marginrank.model import file_format
from marginrank.parameters import check_path
from marginrank.system.atomic_write import atomic_write
from marginrank.system.regular_files import kind, open_regular

#: A path, or a file object open in binary mode.
ModelFile = str | os.PathLike[str] | BinaryIO


def write_model_file(file: ModelFile, data: bytes) -> None:
    """Write the bytes of a model; a file of that name is replaced as a whole, or left as it was."""
    if not isinstance(file, str | os.PathLike):
        if not callable(getattr(file, "write", None)):
            raise ModelFileError(f"file must be a path or a binary file object; got {shown(file)}.")
        try:
            file.write(data)
        except TypeError:
            raise ModelFileError("A model is bytes; open the file in binary mode ('wb').") from None
        return
    where = shown_path(check_path(file, "file"))
    try:
        with atomic_write(file) as target:
            target.write(data)
    except OSError as error:
        raise ModelFileError(
            f"Cannot write the model to the file {where}: {_reason(error)}. Nothing was changed there."
        ) from error


def read_model_file(file: ModelFile) -> tuple[dict[str, Any], dict[str, NDArray[Any]], str]:
    """Return header and arrays of a model file, and what to call it in messages."""
    if not isinstance(file, str | os.PathLike):
        if not callable(getattr(file, "read", None)):
            raise ModelFileError(f"file must be a path or a binary file object; got {shown(file)}.")
        return _read(file, str(getattr(file, "name", "The file")))
    where = shown_path(check_path(file, "file"))
    try:
        if (what := kind(file)) is not None:
            raise ModelFileError(f"{where} is {what}; expected a model file.")
        with open_regular(file) as source:
            return _read(source, where)
    except FileNotFoundError:
        raise ModelFileError(f"{where} does not exist; expected a model file.") from None
    except OSError as error:
        raise ModelFileError(f"Cannot read the model file {where}: {_reason(error)}.") from error


def _read(source: BinaryIO, where: str) -> tuple[dict[str, Any], dict[str, NDArray[Any]], str]:
    # A large file of another kind is refused before it is read into memory.
    start = source.read(len(file_format.MAGIC))
    if not isinstance(start, bytes):
        raise ModelFileError(f"{where} is open as text; open it in binary mode ('rb').")
    file_format.check_magic(start, where)
    return *file_format.decode(start + source.read(), where), where


def _reason(error: OSError) -> str:
    return error.strerror or str(error)
