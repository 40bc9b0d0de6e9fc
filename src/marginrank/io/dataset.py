"""Ranking data on disk: written in constant memory, opened without reading, trained on chunk by chunk."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import fields
from numbers import Integral
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from marginrank import validation as gate
from marginrank.chunks import ChunkedMatrix
from marginrank.data import RankingData
from marginrank.exceptions import MarginRankError
from marginrank.io import dataset_rows as rows
from marginrank.io.dataset_files import check_seal, read_arrays, touch
from marginrank.io.dataset_manifest import Manifest, chunk_rows, read_manifest
from marginrank.io.dataset_sources import BlockSource, DataSource, LetorSource, ParquetSource, Source
from marginrank.io.dataset_stage import ChunkLimits
from marginrank.io.dataset_writer import write_chunks
from marginrank.queries import Groups, offsets, one_query

#: What the features of a chunk take at most, by default.
CHUNK_BYTES = 256 << 20


def write_dataset(
    path: str | os.PathLike[str],
    X: Any,
    y: Any = None,
    *,
    chunk_rows: int | None = None,
    chunk_bytes: int = CHUNK_BYTES,
    overwrite: bool = False,
    resume: bool = False,
    **parts: Any,
) -> DiskDataset:
    """Write ranking data to a folder, from which rankers train without having it in memory.

    Parameters
    ----------
    path : path
        The folder, by custom with the ending ``.mrd``. It appears when all of it is written.
    X : array-like, sparse matrix, data frame, RankingData, or iterator of blocks
        The features. A block is a :class:`~marginrank.RankingData`, a mapping of its arguments, or
        ``(X, y)`` or ``(X, y, qid)``; its pairs count rows from its first one. Rows of a query may come in
        any place, in several blocks too.
    y : array-like of shape (n_rows,), optional
        Labels.
    chunk_rows : int, optional
        The most rows of a chunk.
    chunk_bytes : int, default=268,435,456
        The most bytes that the features of a chunk take. Chunks end with a query; a larger query gets a chunk
        of its own. Without query ids they end anywhere.
    overwrite : bool, default=False
        Whether to replace a data set that is there.
    resume : bool, default=False
        Go on with a writing that was stopped, from the same rows and with the same options. An iterator must
        give all of its blocks again.
    **parts
        The other arguments of :class:`~marginrank.RankingData`: ``qid``, ``group``, ``pairs``,
        ``sample_weight`` and so on.

    Returns
    -------
    DiskDataset
        The data set, open.

    Notes
    -----
    Holds one chunk and one block in memory, a set of the query ids, and explicit pairs. Rows of scattered
    queries are regrouped by an external sort, which writes the data twice more; row numbers of pairs follow.

    Examples
    --------
    >>> import tempfile
    >>> folder = tempfile.mkdtemp()
    >>> blocks = (([[q + 0.1], [q + 0.7]], [0, 1], [q, q]) for q in range(3))
    >>> write_dataset(f"{folder}/train.mrd", blocks, chunk_rows=4)
    DiskDataset(n_rows=6, n_features=1, n_queries=3, n_chunks=2, dense float64)
    """
    if isinstance(X, Iterator):
        if y is not None or parts:
            raise MarginRankError("Blocks carry y, qid and the other parts; do not pass them again.")
        source: Source = BlockSource(X)
    else:
        source = DataSource(_whole(X, y, parts))
    limits = _check_limits(chunk_rows, chunk_bytes)
    write_chunks(Path(path), source, limits, dense=False, overwrite=overwrite, resume=resume)
    return open_dataset(path)


def convert_to_dataset(
    source: str | os.PathLike[str],
    path: str | os.PathLike[str],
    *,
    format: str = "letor",
    dense: bool | str = "auto",
    chunk_rows: int | None = None,
    chunk_bytes: int = CHUNK_BYTES,
    overwrite: bool = False,
    resume: bool = False,
    **options: Any,
) -> DiskDataset:
    r"""Write a file of ranking data as a data set, a piece at a time.

    Parameters
    ----------
    source : path
        LETOR text, plain or gzip, or Parquet.
    path : path
        The folder to write.
    format : {"letor", "parquet"}, default="letor"
        What the source is.
    dense : bool or "auto", default="auto"
        Whether the features of text are stored dense; "auto" where at least half of the entries are not zero.
    chunk_rows, chunk_bytes, overwrite, resume
        As in :func:`write_dataset`. A writing from text goes on at the piece where it was stopped.
    **options
        Of the reader: ``n_features``, ``zero_based``, ``max_feature``, ``missing``, ``dtype``,
        ``max_expansion`` and ``n_jobs`` of :func:`load_letor`; those of :func:`load_table`.

    Examples
    --------
    >>> import tempfile
    >>> folder = tempfile.mkdtemp()
    >>> with open(f"{folder}/train.txt", "w") as file:
    ...     _ = file.write("1 qid:7 1:0.5\n0 qid:7 2:1\n")
    >>> convert_to_dataset(f"{folder}/train.txt", f"{folder}/train.mrd")
    DiskDataset(n_rows=2, n_features=2, n_queries=1, n_chunks=1, dense float64)
    """
    gate.check_choice("format", format, ("letor", "parquet"))
    if not (isinstance(dense, bool) or dense == "auto"):
        raise MarginRankError(f"dense must be True, False or 'auto'; got {dense!r}.")
    limits = _check_limits(chunk_rows, chunk_bytes)
    reader: Source = LetorSource(source, **options) if format == "letor" else ParquetSource(source, **options)
    write_chunks(Path(path), reader, limits, dense=dense, overwrite=overwrite, resume=resume)
    return open_dataset(path)


def open_dataset(path: str | os.PathLike[str], *, mmap: bool = True, verify: bool = True) -> DiskDataset:
    """Open a data set that :func:`write_dataset` wrote.

    Labels, ids, weights and pairs are read; the features stay on disk.

    Parameters
    ----------
    path : path
        The folder.
    mmap : bool, default=True
        Map chunks into memory; they are read otherwise. The results are the same.
    verify : bool, default=True
        Compare each chunk with its checksum when it is first used.

    Returns
    -------
    DiskDataset
        To train on, to predict for, to look at.

    Examples
    --------
    >>> import tempfile
    >>> folder = tempfile.mkdtemp()
    >>> _ = write_dataset(f"{folder}/train.mrd", [[0.1], [0.7], [0.3]], [0, 1, 0], qid=[1, 1, 2])
    >>> data = open_dataset(f"{folder}/train.mrd")
    >>> from marginrank import RankSVM
    >>> RankSVM().fit(data).score(data)
    1.0
    """
    return DiskDataset(Path(path), mapped=bool(mmap), verify=bool(verify))


class DiskDataset(RankingData):
    """Ranking data whose features lie on disk; every ranker takes it in place of X, y, qid and weights.

    Opened by :func:`open_dataset`. Rows of a query are next to each other; everything but the features and
    the comments is in memory.

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
    """

    path: Path
    labels: dict[str, Any] | None
    _manifest: Manifest
    _mapped: bool
    _verify: bool
    _checked: set[int]

    def __init__(self, path: Path, *, mapped: bool = True, verify: bool = True) -> None:
        manifest = read_manifest(path)
        names = gate.check_feature_names(manifest.feature_names, manifest.n_features)
        self._set(_manifest=manifest, path=path, _mapped=mapped, _verify=verify, _checked=set())
        try:
            vectors = self._vectors(manifest)
        except (KeyError, TypeError, ValueError) as error:
            told = str(error)
            raise MarginRankError(
                told if told.startswith(str(path)) else f"{path}: the parts do not fit together: {told}"
            ) from None
        bounds = offsets(np.array(list(map(chunk_rows, manifest.chunks))))
        X = ChunkedMatrix(self._load, bounds, manifest.n_features, np.dtype(manifest.dtype))
        self._set(X=X, feature_names=names, allow_nonfinite=False, labels=manifest.labels, **vectors)

    def __repr__(self) -> str:
        pairs = "" if self.pairs is None else f"n_pairs={len(self.pairs)}, "
        return (
            f"DiskDataset(n_rows={self.n_rows}, n_features={self.n_features}, n_queries={self.n_queries}, "
            f"{pairs}n_chunks={self.n_chunks}, {self.storage})"
        )

    def __reduce__(self) -> Any:
        return _reopened, (self.path, self._mapped, self._verify)

    @property
    def n_chunks(self) -> int:
        """Number of chunks."""
        return len(self._manifest.chunks)

    @property
    def storage(self) -> str:
        """How the features are stored, such as "CSR float64"."""
        return f"{'CSR' if self._manifest.storage == 'csr' else 'dense'} {self.X.dtype}"

    @property
    def qid(self) -> NDArray[Any] | None:
        """The query id of each row; None for one ranking of all rows."""
        if self.query_ids is None:
            return None
        return np.repeat(self.query_ids, np.diff(self.query_ptr))

    @property
    def comments(self) -> NDArray[Any] | None:
        """A remark on each row, read when asked for; None where there is none."""
        chunks = self._manifest.chunks
        if not any("comments_ends" in chunk.arrays for chunk in chunks):
            return None
        return np.concatenate([self._comments(number) for number in range(len(chunks))])

    def chunks(self) -> Iterator[RankingData]:
        """Return one chunk after another in memory, without explicit pairs."""
        for number in range(self.n_chunks):
            yield self._chunk(number)

    def in_memory(self) -> RankingData:
        """Return all of the data in memory."""
        block = rows.join([rows.block_from(self._arrays(k), self.n_features) for k in range(self.n_chunks)])
        block.pop("query_weight", None)
        return RankingData(
            **block,
            query_weight=self.query_weight,
            pairs=self.pairs,
            pair_weight=self.pair_weight,
            pair_margin=self.pair_margin,
            feature_names=self.feature_names,
        )

    def verify(self) -> None:
        """Compare every file with its checksum, and look through the features; raise at what is wrong."""
        for number in range(self.n_chunks):
            self._check(number, seal=True)
        if self._manifest.pairs is not None:
            check_seal(self.path, self._manifest.pairs)

    def subset(self, rows: Any) -> RankingData:
        """Return the data of some rows, without comments; ascending ones stay on disk, others are read."""
        shell = object.__new__(RankingData)
        kept = {field.name: getattr(self, field.name) for field in fields(self) if field.name != "comments"}
        shell._set(**{**kept, "X": _Selectable(self.X), "comments": None})
        return shell.subset(rows)

    def normalized_by_query(self) -> NoReturn:
        """Refuse: the result is dense and in memory."""
        raise MarginRankError(
            "Data on disk are not normalised within queries: normalise blocks before they are written, by "
            "RankingData.normalized_by_query()."
        )

    def _vectors(self, manifest: Manifest) -> dict[str, Any]:
        """Return everything that is in memory."""
        found = [read_arrays(self.path, chunk, mapped=True) for chunk in manifest.chunks]
        n = manifest.n_rows
        y, weight = _together(found, "y"), _together(found, "weight")
        groups, query_weight = one_query(n), None
        if manifest.n_queries is not None:
            sizes = _together(found, "query_sizes")
            for chunk, arrays in zip(manifest.chunks, found, strict=True):
                own = arrays["query_sizes"]
                if own.dtype != np.int64 or own.min() < 1 or own.sum() != chunk_rows(chunk):
                    raise MarginRankError(f"{self.path / chunk.file}: the sizes of its queries are damaged.")
            ids = rows.joined_ids([rows.ids_from(arrays).copy() for arrays in found])
            groups, query_weight = Groups(ids, offsets(sizes), None), _together(found, "query_weight")
            if len(ids) != len(sizes):
                raise MarginRankError("there are more or fewer query ids than queries")
        pairs: dict[str, Any] = {"pairs": None, "pair_weight": None, "pair_margin": None}
        if manifest.pairs is not None:
            check_seal(self.path, manifest.pairs)
            stored = read_arrays(self.path, manifest.pairs, mapped=False)
            given = (stored["pairs"], n, stored.get("pair_weight"), stored.get("pair_margin"))
            pairs = dict(zip(pairs, gate.check_pairs(*given), strict=True))
        return {
            "y": None if y is None else gate.check_labels(y, n),
            "sample_weight": gate.check_weights(weight, n),
            "query_weight": query_weight,
            **pairs,
            **groups._asdict(),
        }

    def _arrays(self, number: int) -> dict[str, NDArray[Any]]:
        return read_arrays(self.path, self._manifest.chunks[number], mapped=self._mapped)

    def _load(self, number: int) -> Any:
        """Return the features of a chunk, looked through when they are loaded for the first time."""
        self._check(number, seal=self._verify)
        arrays = {name: values for name, values in self._arrays(number).items() if name.startswith("X")}
        if self._mapped:
            touch(arrays)
        return rows.matrix_from(arrays, self.n_features)

    def _check(self, number: int, *, seal: bool) -> None:
        if number in self._checked:
            return
        chunk = self._manifest.chunks[number]
        arrays = self._arrays(number)
        if seal:
            check_seal(self.path, chunk)
        try:
            X, _ = gate.check_matrix(rows.matrix_from(arrays, self.n_features))
            gate.check_finite(X, self._manifest.feature_names)
        except MarginRankError as error:
            raise MarginRankError(f"{self.path / chunk.file}: {error}") from None
        self._checked.add(number)

    def _comments(self, number: int) -> NDArray[Any]:
        chunk = self._manifest.chunks[number]
        block = rows.block_from(self._arrays(number), self.n_features)
        return np.asarray(block.get("comments", np.full(chunk_rows(chunk), "", dtype=object)))

    def _chunk(self, number: int) -> RankingData:
        block = rows.block_from(self._arrays(number), self.n_features)
        return RankingData(**block, feature_names=self.feature_names)


class _Selectable:
    """A matrix in chunks that gives ascending rows as such a matrix, without loading them."""

    def __init__(self, X: ChunkedMatrix) -> None:
        self._X = X
        self.shape = X.shape

    def __getitem__(self, numbers: NDArray[np.int64]) -> Any:
        ascending = bool(np.all(numbers[1:] > numbers[:-1]))
        return self._X.select(numbers) if ascending else self._X[numbers]


def _reopened(path: Path, mapped: bool, verify: bool) -> DiskDataset:
    return DiskDataset(path, mapped=mapped, verify=verify)


def _whole(X: Any, y: Any, parts: dict[str, Any]) -> RankingData:
    if not isinstance(X, RankingData):
        data = RankingData(X, y, **parts)
    elif y is not None or parts:
        raise MarginRankError("RankingData carries y, qid and the other parts; do not pass them again.")
    else:
        data = X
    if data.allow_nonfinite:
        gate.check_finite(data.X, data.feature_names)
    return data


def _together(found: list[dict[str, NDArray[Any]]], name: str) -> Any:
    """Return an array of all chunks, copied out of their files; None where there is none."""
    held = [arrays[name] for arrays in found if name in arrays]
    if held and len(held) < len(found):
        raise MarginRankError(f"some chunks have {name} and some have not")
    return np.concatenate(held) if held else None


def _check_limits(chunk_rows: Any, chunk_bytes: Any) -> ChunkLimits:
    for name, value in (("chunk_rows", chunk_rows), ("chunk_bytes", chunk_bytes)):
        if value is None and name == "chunk_rows":
            continue
        if isinstance(value, bool) or not isinstance(value, Integral) or int(value) < 1:
            raise MarginRankError(f"{name} must be a positive integer; got {value!r}.")
    return ChunkLimits(None if chunk_rows is None else int(chunk_rows), int(chunk_bytes))
