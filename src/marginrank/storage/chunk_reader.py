"""The features of one chunk after another, looked through the first time they are loaded.

Chunks are read, never mapped into memory: when a mapped file is cut short, the system ends the process.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from marginrank.data import validation as gate
from marginrank.exceptions import MarginRankError
from marginrank.storage import dataset_rows as rows
from marginrank.storage.chunk_memory import Buffers, read_ahead
from marginrank.storage.dataset_files import (
    Version,
    check_seal,
    feature_bytes,
    file_rows,
    file_version,
    is_feature,
    read_arrays,
    row_pointers,
)
from marginrank.storage.dataset_manifest import Manifest


class ChunkReader:
    """Loads the features of chunks.

    Parameters
    ----------
    folder : Path
        Where the chunks are.
    manifest : Manifest
        What is known of them.
    verify : bool
        Whether to compare files with their checksums before the first use.
    """

    def __init__(self, folder: Path, manifest: Manifest, *, verify: bool) -> None:
        self._folder = folder
        self._manifest = manifest
        self._verify = verify
        self._checked: dict[int, Version] = {}
        self._sealed: dict[int, Version] = {}
        self._buffers = Buffers()
        self._row_pointers: dict[int, tuple[Version, NDArray[Any] | None]] = {}

    def __reduce__(self) -> Any:
        return _reader, (self._folder, self._manifest, self._verify)

    def load(self, number: int) -> Any:
        """Return the features of a chunk as a matrix."""
        self.check(number)
        return rows.matrix_from(self._features(number), self._manifest.n_features)

    def load_for_pass(self, number: int) -> Any:
        """Return the features of a chunk for products: rows of a file, which the kernels read on their way.

        That takes no memory but the pieces that threads work on. Only row pointers stay.
        """
        version = self.check(number)
        chunk = self._manifest.chunks[number]
        known = self._row_pointers.get(number)
        if known is None or known[0] != version:
            known = version, row_pointers(self._folder, chunk)
            self._row_pointers[number] = known
        return file_rows(self._folder, chunk, known[1], self._manifest.n_features)

    def read_ahead(self, number: int) -> None:
        """Let the system read a chunk from the disk before a pass comes to it."""
        chunk = self._manifest.chunks[number]
        read_ahead(self._folder / chunk.file, feature_bytes(chunk))

    def check(self, number: int, *, seal: bool | None = None) -> Version:
        """Look through a chunk that was not loaded before, or changed since; raise at what is wrong.

        The kernels index by the columns that a file holds without looking: a file that another one took the
        place of must not get to them as it is.
        """
        chunk = self._manifest.chunks[number]
        version = file_version(self._folder, chunk)
        if (self._verify if seal is None else seal) and self._sealed.get(number) != version:
            check_seal(self._folder, chunk)
            self._sealed[number] = version
        if self._checked.get(number) == version:
            return version
        try:
            X, _ = gate.check_matrix(rows.matrix_from(self._features(number), self._manifest.n_features))
            gate.check_finite(X, self._manifest.feature_names)
        except MarginRankError as error:
            raise MarginRankError(f"{self._folder / chunk.file}: {error}") from None
        self._checked[number] = version
        return version

    def _features(self, number: int) -> dict[str, NDArray[Any]]:
        chunk = self._manifest.chunks[number]
        names = [name for name in chunk.arrays if is_feature(name)]
        return read_arrays(self._folder, chunk, names=names, buffers=self._buffers)


def _reader(folder: Path, manifest: Manifest, verify: bool) -> ChunkReader:
    return ChunkReader(folder, manifest, verify=verify)
