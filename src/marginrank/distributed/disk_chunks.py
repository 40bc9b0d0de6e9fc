"""Chunks of a data set on disk, as workers load them: by path, each on its own."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from marginrank.data import validation as gate
from marginrank.exceptions import MarginRankError
from marginrank.storage.dataset_files import ArrayFile, check_seal, read_arrays
from marginrank.storage.dataset_manifest import Manifest, read_manifest
from marginrank.storage.dataset_rows import matrix_from


@dataclass(frozen=True)
class DiskChunk:
    """One chunk of a data set.

    Parameters
    ----------
    folder : Path
        The data set, where workers find it.
    entry : ArrayFile
        What the manifest says of the file; its checksum holds wherever the file is read.
    n_features : int
        Columns.
    mapped : bool
        Map the file into memory, which it may be larger than; it is read otherwise. If a mapped file is cut
        short, the system ends the worker; the next one to load it raises the error that names it.
    verify : bool
        Whether to compare it with its checksum.
    """

    folder: Path
    entry: ArrayFile
    n_features: int
    mapped: bool
    verify: bool

    @property
    def in_memory(self) -> bool:
        """Whether the matrix takes memory of its own."""
        return not self.mapped

    @property
    def fingerprint(self) -> str:
        """The checksum of the file."""
        return self.entry.sha256

    def load(self) -> Any:
        """Return the features, looked through."""
        if not self.folder.exists():
            raise MarginRankError(
                f"{self.folder}: a worker finds nothing there. Workers on other machines need the data set "
                "under the same path: put it on storage that all of them share, or copy it to each."
            )
        if self.verify:
            check_seal(self.folder, self.entry)
        found = read_arrays(self.folder, self.entry, mapped=self.mapped)
        arrays = {name: values for name, values in found.items() if name.startswith("X")}
        try:
            X, _ = gate.check_matrix(matrix_from(arrays, self.n_features))
            gate.check_finite(X, None)
        except MarginRankError as error:
            raise MarginRankError(f"{self.folder / self.entry.file}: {error}") from None
        return X


def disk_chunks(folder: Path, *, mapped: bool, verify: bool) -> tuple[Manifest, list[DiskChunk]]:
    """Return the manifest of a data set and its chunks, by their full path."""
    manifest = read_manifest(folder)
    folder = folder.absolute()
    return manifest, [
        DiskChunk(folder, entry, manifest.n_features, mapped, verify) for entry in manifest.chunks
    ]
