"""Ranking data whose features lie on disk: :class:`DiskDataset`, what ``open_dataset`` returns."""

from __future__ import annotations

import os
import sys
from collections.abc import Collection, Iterator
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any, NoReturn, cast

import numpy as np
from numpy.typing import NDArray

from marginrank.data import RankingData
from marginrank.data import validation as gate
from marginrank.data.labels import LabelledQueries
from marginrank.data.queries import Groups, offsets, one_query, row_numbers
from marginrank.exceptions import MarginRankError
from marginrank.parameters import check_count, check_flag, check_path
from marginrank.storage import dataset_rows as rows
from marginrank.storage.chunk_reader import ChunkReader
from marginrank.storage.chunk_vectors import ChunkVector
from marginrank.storage.chunks import ChunkedMatrix, PassLoader
from marginrank.storage.dataset_files import ArrayFile, check_arrays, check_seal, read_arrays
from marginrank.storage.dataset_manifest import Manifest, chunk_rows, read_manifest
from marginrank.storage.text_arrays import unpack_texts
from marginrank.types import Vector


@dataclass(frozen=True)
class StoredLabels:
    """The labels of a chunk on disk.

    Parameters
    ----------
    folder : Path
        The data set.
    entry : ArrayFile
        What the manifest says of the file.
    verify : bool
        Whether to compare them with their checksum.
    """

    folder: Path
    entry: ArrayFile
    verify: bool

    @property
    def fingerprint(self) -> str:
        """Their checksum."""
        return self.entry.seals["y"]

    def read(self) -> Vector:
        """Return the labels, looked through."""
        arrays = read_arrays(self.folder, self.entry, names=["y"])
        if self.verify:
            check_arrays(self.folder, self.entry, arrays)
        return gate.check_labels(arrays["y"], chunk_rows(self.entry))


class DiskDataset(RankingData):
    """Ranking data whose features lie on disk; every ranker takes it in place of X, y, qid and weights.

    Opened by :func:`open_dataset`. Rows of a query are next to each other; everything but the features and
    the comments is in memory, and with ``lean=True`` the labels are not, either.

    Attributes
    ----------
    X : ChunkedMatrix
        The features, a chunk at a time.
    path : Path
        The folder.
    n_chunks : int
        Number of chunks.
    labels : dict or None
        Number of rows by label, or the range where there are many.

    Examples
    --------
    >>> import tempfile
    >>> from marginrank import open_dataset, write_dataset
    >>> folder = tempfile.mkdtemp()
    >>> _ = write_dataset(f"{folder}/train.mrd", [[0.1], [0.7], [0.3]], [0, 1, 0], qid=[1, 1, 2])
    >>> data = open_dataset(f"{folder}/train.mrd")
    >>> data.n_rows, data.n_queries, data.n_chunks
    (3, 2, 1)
    """

    X: ChunkedMatrix
    path: Path
    labels: dict[str, Any] | None
    _manifest: Manifest
    _verify: bool
    _reader: ChunkReader

    def __init__(self, path: Path, *, verify: bool = True, lean: bool = False) -> None:
        path = Path(check_path(path, "path"))
        verify = check_flag(verify, "verify")
        lean = check_flag(lean, "lean")
        manifest = read_manifest(path)
        reader, passes = ChunkReader(path, manifest, verify=verify), None
        try:
            vectors = _vectors(path, manifest, verify=verify, lean=lean)
        except (KeyError, TypeError, ValueError) as error:
            reason = str(error)
            raise MarginRankError(
                reason if reason.startswith(str(path)) else f"{path}: the parts do not fit together: {reason}"
            ) from None
        bounds = offsets(np.array(list(map(chunk_rows, manifest.chunks))))
        if os.name == "posix" and sys.byteorder == "little":  # on other systems the kernels cannot read files
            passes = PassLoader(reader.load_for_pass, reader.read_ahead)
        X = ChunkedMatrix(reader.load, bounds, manifest.n_features, np.dtype(manifest.dtype), passes=passes)
        self._set(path=path, labels=manifest.labels, _manifest=manifest, _verify=verify, _reader=reader)
        self._set(X=X, allow_nonfinite=False, **vectors)

    def __repr__(self) -> str:
        pairs = "" if self.pairs is None else f"n_pairs={len(self.pairs)}, "
        return (
            f"DiskDataset(n_rows={self.n_rows}, n_features={self.n_features}, n_queries={self.n_queries}, "
            f"{pairs}n_chunks={self.n_chunks}, {self.storage})"
        )

    def __reduce__(self) -> Any:
        return _reopened, (self.path, self._verify)

    @property
    def n_chunks(self) -> int:
        """Number of chunks."""
        return len(self._manifest.chunks)

    @property
    def storage(self) -> str:
        """How the features are stored, such as "CSR float64"."""
        return f"{'CSR' if self._manifest.storage == 'csr' else 'dense'} {self.X.dtype}"

    @property
    def has_comments(self) -> bool:
        """Whether any row has a remark."""
        return any("comments_ends" in chunk.arrays for chunk in self._manifest.chunks)

    @property
    def comments(self) -> NDArray[Any] | None:
        """A remark on each row, read when asked for; None where there is none."""
        if not self.has_comments:
            return None
        return np.concatenate([self._comments(number) for number in range(self.n_chunks)])

    def chunks(self) -> Iterator[RankingData]:
        """Return one chunk after another in memory, without explicit pairs."""
        for number in range(self.n_chunks):
            yield self.chunk(number)

    def chunk(self, number: int) -> RankingData:
        """Return a chunk in memory, without explicit pairs."""
        number = check_count(number, "number", least=0, most=self.n_chunks - 1)
        self._reader.check(number)
        arrays = read_arrays(self.path, self._manifest.chunks[number])
        block = rows.block_from(arrays, self.n_features)
        return RankingData(**block, feature_names=self.feature_names)

    def in_memory(self) -> RankingData:
        """Return all of the data in memory."""
        return RankingData(
            self.X[:],
            self.y,
            qid=self.qid,
            sample_weight=self.sample_weight,
            query_weight=self.query_weight,
            comments=self.comments,
            pairs=self.pairs,
            pair_weight=self.pair_weight,
            pair_margin=self.pair_margin,
            feature_names=self.feature_names,
        )

    def verify(self) -> None:
        """Compare every file with its checksum, and look through the features; raise at what is wrong."""
        for number in range(self.n_chunks):
            self._reader.check(number, seal=True)
        if self._manifest.pairs is not None:
            check_seal(self.path, self._manifest.pairs)

    def subset(self, rows: Any) -> RankingData:
        """Return the data of some rows, without comments; ascending ones stay on disk, others are read."""
        numbers = row_numbers(rows, self.n_rows)
        return self._subset(numbers, self.X.taken(numbers), None)

    def with_parts(self, **parts: Any) -> RankingData:
        """Return the data with some of their fields replaced, without comments; the features stay on disk.

        The parts are taken as they are: they must be what :class:`~marginrank.RankingData` holds.
        """
        of_queries = {field.name for field in fields(LabelledQueries)} & parts.keys()
        queries = replace(self.queries, **{name: parts.pop(name) for name in of_queries})
        return self._with(**{"queries": queries, "comments": None, **parts})

    def normalized_by_query(self) -> NoReturn:
        """Refuse: the result is dense and in memory."""
        raise MarginRankError.saying(
            "Data on disk are not normalised within queries: normalise blocks before they are written.",
            "{RankingData.normalized_by_query()} does that.",
        )

    def _comments(self, number: int) -> NDArray[Any]:
        chunk = self._manifest.chunks[number]
        arrays = _small_arrays(self.path, chunk, verify=self._verify, comments=True)
        if not arrays:
            return np.full(chunk_rows(chunk), "", dtype=object)
        return unpack_texts(arrays["comments_text"], arrays["comments_ends"], "comments")


def _reopened(path: Path, verify: bool) -> DiskDataset:
    return DiskDataset(path, verify=verify)


def _vectors(path: Path, manifest: Manifest, *, verify: bool, lean: bool) -> dict[str, Any]:
    """Return everything that is in memory: read first, then checked; with ``lean`` all but the labels."""
    left_out = ("y",) if lean else ()
    found = [_small_arrays(path, chunk, verify=verify, left_out=left_out) for chunk in manifest.chunks]
    y, weight, query_weight, sizes = (
        _together(found, name) for name in ("y", "weight", "query_weight", "query_sizes")
    )
    ids = None if manifest.n_queries is None else _query_ids(path, manifest, found)
    stored: dict[str, NDArray[Any]] = {}
    if manifest.pairs is not None:
        check_seal(path, manifest.pairs)
        stored = read_arrays(path, manifest.pairs)
    n = manifest.n_rows
    groups = one_query(n) if ids is None else Groups(ids, offsets(sizes), None)
    pairs: dict[str, Any] = {"pairs": None, "pair_weight": None, "pair_margin": None}
    if stored:
        given = (stored["pairs"], n, stored.get("pair_weight"), stored.get("pair_margin"))
        pairs = dict(zip(pairs, gate.check_pairs(*given), strict=True))
    labels = None if y is None else gate.check_labels(y, n)
    if lean and all("y" in chunk.seals for chunk in manifest.chunks):
        sources = [StoredLabels(path.absolute(), chunk, verify) for chunk in manifest.chunks]
        labels = cast(Vector, ChunkVector(sources, offsets(np.array(list(map(chunk_rows, manifest.chunks))))))
    queries = LabelledQueries(groups, labels, None, gate.check_weights(weight, n), query_weight)
    names = gate.check_feature_names(manifest.feature_names, manifest.n_features)
    return {"queries": queries, "feature_names": names, **pairs}


def _query_ids(path: Path, manifest: Manifest, found: list[dict[str, NDArray[Any]]]) -> NDArray[Any]:
    """Return the id of each query, after a look at the sizes of the queries of each chunk."""
    for chunk, arrays in zip(manifest.chunks, found, strict=True):
        own = arrays["query_sizes"]
        if own.dtype != np.int64 or own.min() < 1 or own.sum() != chunk_rows(chunk):
            raise MarginRankError(f"{path / chunk.file}: the sizes of its queries are damaged.")
    ids: NDArray[Any] = rows.joined_ids([rows.ids_from(arrays) for arrays in found])
    if len(ids) != sum(len(arrays["query_sizes"]) for arrays in found):
        raise MarginRankError("there are more or fewer query ids than queries")
    return ids


def _small_arrays(
    path: Path, chunk: ArrayFile, *, verify: bool, comments: bool = False, left_out: Collection[str] = ()
) -> dict[str, NDArray[Any]]:
    """Return what a chunk has besides the features: the comments, or all but them."""
    names = [name for name in chunk.seals if name.startswith("comments") == comments and name not in left_out]
    arrays = read_arrays(path, chunk, names=names)
    if verify:
        check_arrays(path, chunk, arrays)
    return arrays


def _together(found: list[dict[str, NDArray[Any]]], name: str) -> Any:
    """Return an array of all chunks, copied out of their files; None where there is none."""
    parts = [arrays[name] for arrays in found if name in arrays]
    if parts and len(parts) < len(found):
        raise MarginRankError(f"some chunks have {name} and some have not")
    return np.concatenate(parts) if parts else None
