"""The features of one chunk after another: mapped or read, looked through the first time they are loaded."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from marginrank import validation as gate
from marginrank.exceptions import MarginRankError
from marginrank.io import dataset_rows as rows
from marginrank.io.chunk_memory import Buffers, fetch, read_ahead
from marginrank.io.dataset_files import (
    check_seal,
    feature_bytes,
    file_rows,
    is_feature,
    read_arrays,
    row_pointers,
)
from marginrank.io.dataset_manifest import Manifest


class ChunkReader:
    """Loads the features of chunks.

    Parameters
    ----------
    folder : Path
        Where the chunks are.
    manifest : Manifest
        What is known of them.
    mapped : bool
        Whether to map chunks into memory that are wanted as matrices, instead of reading them.
    verify : bool
        Whether to compare files with their checksums before the first use.
    """

    def __init__(self, folder: Path, manifest: Manifest, *, mapped: bool, verify: bool) -> None:
        self._folder = folder
        self._manifest = manifest
        self._mapped = mapped
        self._verify = verify
        self._checked: set[int] = set()
        self._sealed: set[int] = set()
        self._buffers = Buffers()
        self._row_pointers: dict[int, NDArray[Any] | None] = {}

    def load(self, number: int) -> Any:
        """Return the features of a chunk as a matrix."""
        self.check(number)
        arrays = self._features(number)
        if self._mapped:
            for values in arrays.values():
                fetch(values)
        return rows.matrix_from(arrays, self._manifest.n_features)

    def load_for_pass(self, number: int) -> Any:
        """Return the features of a chunk for products: rows of a file, which the kernels read on their way.

        That is less work than entering a mapped file into the page table in each pass, and takes no memory
        but the pieces that threads work on. Only row pointers stay.
        """
        self.check(number)
        chunk = self._manifest.chunks[number]
        if number not in self._row_pointers:
            self._row_pointers[number] = row_pointers(self._folder, chunk)
        return file_rows(self._folder, chunk, self._row_pointers[number], self._manifest.n_features)

    def read_ahead(self, number: int) -> None:
        """Let the system read a chunk from the disk before a pass comes to it."""
        chunk = self._manifest.chunks[number]
        read_ahead(self._folder / chunk.file, feature_bytes(chunk))

    def check(self, number: int, *, seal: bool | None = None) -> None:
        """Look through a chunk that was not loaded before; raise at what is wrong."""
        chunk = self._manifest.chunks[number]
        if (self._verify if seal is None else seal) and number not in self._sealed:
            check_seal(self._folder, chunk)
            self._sealed.add(number)
        if number in self._checked:
            return
        try:
            X, _ = gate.check_matrix(rows.matrix_from(self._features(number), self._manifest.n_features))
            gate.check_finite(X, self._manifest.feature_names)
        except MarginRankError as error:
            raise MarginRankError(f"{self._folder / chunk.file}: {error}") from None
        self._checked.add(number)

    def _features(self, number: int) -> dict[str, NDArray[Any]]:
        chunk = self._manifest.chunks[number]
        names = [name for name in chunk.arrays if is_feature(name)]
        return read_arrays(self._folder, chunk, mapped=self._mapped, names=names, buffers=self._buffers)
