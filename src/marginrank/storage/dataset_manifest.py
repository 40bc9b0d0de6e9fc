"""The manifest of a data set on disk: what is in it, and what its files must be."""

from __future__ import annotations

import hashlib
import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from marginrank.exceptions import MarginRankError
from marginrank.storage.dataset_files import ArrayFile, parse_array_file
from marginrank.system.atomic_write import atomic_write
from marginrank.system.regular_files import NotAFileError, open_regular

MANIFEST = "manifest.json"
_FORMAT = "marginrank data set"
_VERSION = 1
# The last entry of the manifest is the SHA-256 of the bytes before it.
_SEAL = re.compile(rb',\n "sha256": "([0-9a-f]{64})"\n}')
_SEAL_BYTES = 81


@dataclass(frozen=True)
class Manifest:
    """What is known of a data set without reading its chunks.

    Attributes
    ----------
    n_rows, n_features : int
        Sizes.
    n_queries : int or None
        Queries; None where all rows are one ranking.
    storage, dtype : str
        "dense" or "csr"; "float32" or "float64".
    labels : dict or None
        Number of rows by label, or the range where there are many; None without labels.
    feature_names : tuple of str or None
        Names of the columns.
    chunks : tuple of ArrayFile
        The rows, in their order.
    pairs : ArrayFile or None
        Explicit pairs.
    """

    n_rows: int
    n_features: int
    n_queries: int | None
    storage: str
    dtype: str
    labels: dict[str, Any] | None
    feature_names: tuple[str, ...] | None
    chunks: tuple[ArrayFile, ...]
    pairs: ArrayFile | None

    def write(self, folder: Path) -> None:
        """Write the manifest into the folder of the data set."""
        content = {
            "format": _FORMAT,
            "version": _VERSION,
            **self.__dict__,
            "chunks": [chunk.to_json() for chunk in self.chunks],
            "pairs": None if self.pairs is None else self.pairs.to_json(),
        }
        with atomic_write(folder / MANIFEST) as file:
            file.write(sealed(content))


def sealed(content: dict[str, Any]) -> bytes:
    """Return the bytes of a manifest, its seal at the end.

    Examples
    --------
    >>> print(sealed({"version": 1}).decode())  # doctest: +ELLIPSIS
    {
     "version": 1,
     "sha256": "..."
    }
    """
    text = json.dumps(content, indent=1, ensure_ascii=False).encode("utf-8", "surrogatepass")
    bare = text.removesuffix(b"\n}")
    return bare + f',\n "sha256": "{hashlib.sha256(bare).hexdigest()}"\n}}'.encode()


def read_manifest(folder: Path) -> Manifest:
    """Read and check the manifest of a data set."""
    path = folder / MANIFEST
    try:
        with open_regular(path) as file:
            raw = file.read()
        content = json.loads(raw.decode("utf-8", "surrogatepass"))
    except (FileNotFoundError, NotADirectoryError):
        raise MarginRankError.saying(
            "{folder!s}: expected a data set, a folder with a {manifest!s} that {write_dataset} made; got "
            "{got!s}.",
            folder=folder,
            manifest=MANIFEST,
            got="a folder without one" if folder.is_dir() else "a file" if folder.exists() else "nothing",
        ) from None
    except NotAFileError as error:
        raise MarginRankError(f"{path}: {error.strerror}.") from None
    except (ValueError, RecursionError) as error:
        raise MarginRankError(f"{path}: expected JSON, got damaged text ({error}).") from None
    if not isinstance(content, dict) or content.get("format") != _FORMAT:
        raise MarginRankError(f"{path}: expected the manifest of a marginrank data set, got other JSON.")
    if content.get("version") != _VERSION:
        raise MarginRankError(
            f"{path}: expected format version {_VERSION}, got {str(content.get('version'))[:20]!r}; "
            "upgrade marginrank, or write the data set again."
        )
    seal = _SEAL.fullmatch(raw, max(0, len(raw) - _SEAL_BYTES))
    if seal is None or hashlib.sha256(raw[: seal.start()]).hexdigest().encode() != seal[1]:
        raise MarginRankError(
            f"{path}: the manifest is damaged: it does not have the SHA-256 that it was written with. Write "
            "the data set again, or copy it again."
        )
    try:
        return _parsed(content)
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError) as error:
        raise MarginRankError(f"{path}: the manifest is damaged ({error!s:.100}).") from None


def _parsed(content: dict[str, Any]) -> Manifest:
    fields = {name: content[name] for name in Manifest.__dataclass_fields__}
    names, pairs = fields["feature_names"], fields["pairs"]
    fields["chunks"] = tuple(map(parse_array_file, fields["chunks"]))
    fields["pairs"] = None if pairs is None else parse_array_file(pairs)
    fields["feature_names"] = None if names is None else tuple(map(str, names))
    found = Manifest(**fields)
    sizes = [found.n_rows, found.n_features, *([] if found.n_queries is None else [found.n_queries])]
    if not all(type(size) is int and 0 <= size < 2**63 for size in sizes):
        raise ValueError("n_rows, n_features and n_queries must be whole numbers")
    if found.storage not in ("dense", "csr") or found.dtype not in ("float32", "float64"):
        raise ValueError("storage or dtype is unknown")
    if sum(chunk_rows(chunk) for chunk in found.chunks) != found.n_rows or found.n_rows < 1:
        raise ValueError("the rows of the chunks do not sum to n_rows")
    for chunk in found.chunks:
        _check_chunk(chunk, found)
    return found


def chunk_rows(chunk: ArrayFile) -> int:
    """Return the number of rows of a chunk."""
    if "X" in chunk.arrays:
        return chunk.arrays["X"][1][0]
    return chunk.arrays["X_indptr"][1][0] - 1


def _check_chunk(chunk: ArrayFile, found: Manifest) -> None:
    """Hold the shapes of a chunk against what the manifest says."""
    shapes = {name: shape for name, (_, shape, _) in chunk.arrays.items()}
    types = {name: dtype for name, (dtype, _, _) in chunk.arrays.items()}
    rows, real = chunk_rows(chunk), np.dtype(found.dtype).str
    if found.storage == "dense":
        fits = shapes["X"] == (rows, found.n_features) and types["X"] == real
    else:
        fits = len(shapes["X_data"]) == 1 and shapes["X_data"] == shapes["X_indices"]
        fits = fits and types["X_data"] == real and types["X_indices"] == types["X_indptr"] in ("<i4", "<i8")
        fits = fits and shapes["X_indptr"] == (rows + 1,)
    fits = fits and all(
        shapes[name] == (rows,) and types[name] == "<f8" for name in ("y", "weight") if name in shapes
    )
    if ("query_sizes" in shapes) == (found.n_queries is None) or not fits or rows < 1:
        raise ValueError(f"{chunk.file} does not fit the rest")
