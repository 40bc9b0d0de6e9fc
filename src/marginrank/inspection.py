"""A report on ranking data: what they contain, what cannot be learned from, and what training will cost."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from hashlib import blake2b
from itertools import pairwise
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from marginrank._kernels import PairLabels
from marginrank.data import RankingData, check_data
from marginrank.data.matrices import blocks, in_memory, is_sparse
from marginrank.designs import matrix_design
from marginrank.designs.compared import column_scale
from marginrank.parameters import check_flag
from marginrank.search_cost import search_seconds
from marginrank.system.threads import resolve_threads
from marginrank.types import StoredMatrix

# A column whose spread differs this much from the median one slows training down and is hardly regularised.
_BAD_SPREAD = 1e3
# Vectors of rows and of features that a training holds at its peak, and the passes that it usually takes.
_ROW_VECTORS = 12
_FEATURE_VECTORS = 90
_USUAL_PASSES = (20, 120)
_MANY_LEVELS = 20
_TIMINGS = 3
_TIMED_CHUNKS = 8
_CHUNKS_HELD = 3


@dataclass(frozen=True)
class Inspection:
    """What :func:`inspect` found; every field is a plain number, string, list or mapping.

    Attributes
    ----------
    n_rows, n_queries, n_features : int
        Sizes.
    storage : str
        Such as "dense float64" or "CSR float32".
    stored_share : float
        Share of the entries of X that are stored and not zero.
    labels : dict
        Number of rows by label, or the range where there are more than 20 labels; empty without labels.
    n_pairs : int
        Comparable pairs, or explicit ones where the data hold these: what training learns from.
    explicit_pairs : bool
        Whether the data hold explicit pairs, which then count in place of the labels.
    n_single_row_queries, n_constant_queries : int
        Queries with one row, and longer ones with one label only: neither has a comparable pair. None are
        counted where pairs are explicit.
    longest_query : int
        Rows of the longest query.
    n_duplicated_rows : int
        Rows whose features equal those of an earlier row of the same query.
    constant_features, badly_scaled_features : list
        Names or numbers (from 0) of columns that are constant, and of those whose spread is more than a
        thousand times that of the median column, or less than a thousandth.
    memory_bytes : int
        Estimate of what training needs besides the data; of data on disk, with the chunks that it holds.
    train_seconds : tuple of float
        Estimate of the time of one ``RankSVM`` training here, from ... to: 20 to 120 passes of a measured
        length, as most trainings take.
    search_seconds : float or None
        Estimate of the time of ``RankSVM(alpha="auto")`` by five folds here: that of a search over a sample,
        times how much longer a pass over all rows takes. None where it cannot be trained, or was not asked
        for.

    Examples
    --------
    >>> from marginrank import RankingData
    >>> found = inspect(RankingData([[1.0, 0], [2, 0], [3, 0]], y=[0, 1, 1], qid=["a", "a", "b"]))
    >>> found.n_rows, found.n_queries, found.storage, found.longest_query
    (3, 2, 'dense float64', 2)
    """

    n_rows: int
    n_queries: int
    n_features: int
    storage: str
    stored_share: float
    labels: dict[str, Any]
    n_pairs: int
    explicit_pairs: bool
    n_single_row_queries: int
    n_constant_queries: int
    longest_query: int
    n_duplicated_rows: int
    constant_features: list[str | int]
    badly_scaled_features: list[str | int]
    memory_bytes: int
    train_seconds: tuple[float, float]
    search_seconds: float | None

    def to_dict(self) -> dict[str, Any]:
        """Return the fields as a mapping that JSON can hold."""
        return asdict(self)


def inspect(data: RankingData, *, n_jobs: int | None = None, time_search: bool = True) -> Inspection:
    """Look through ranking data before training on them.

    Parameters
    ----------
    data : RankingData
        Labelled data, in memory or on disk. Data on disk are read a chunk at a time, three times.
    n_jobs : int, optional
        Threads to use.
    time_search : bool, default=True
        Whether to estimate ``search_seconds``, by a search over data of up to two million entries, or over a
        sample of so many of larger data: a second or less on most data, and never much more than five.

    Returns
    -------
    Inspection
        Counts, oddities, and estimates.

    Examples
    --------
    >>> data = RankingData([[1.0, 0], [2, 0], [3, 0], [4, 0]], y=[0, 1, 1, 1], qid=["a", "a", "b", "c"])
    >>> found = inspect(data)
    >>> found.n_pairs, found.n_single_row_queries, found.constant_features
    (1, 2, [1])
    """
    check_data(data)
    threads, wanted = resolve_threads(n_jobs), check_flag(time_search, "time_search")
    content = _preferences(data) if data.pairs is not None else _comparisons(data, threads)
    found = _features(data)
    constant, names = found.constant, data.feature_names
    spread = column_scale(data.X, "standard")
    (least, most), seconds = _USUAL_PASSES, _pass_seconds(data, threads)
    return Inspection(
        n_rows=data.n_rows,
        n_queries=data.n_queries,
        n_features=data.n_features,
        storage=f"{'CSR' if found.is_sparse else 'dense'} {data.X.dtype}",
        stored_share=float(found.n_stored) / (data.n_rows * data.n_features),
        **content,
        n_duplicated_rows=found.n_duplicated,
        constant_features=_named(constant, names),
        badly_scaled_features=_named(~constant & _badly_scaled(spread, constant), names),
        memory_bytes=8 * (_ROW_VECTORS * data.n_rows + _FEATURE_VECTORS * data.n_features)
        + _chunk_bytes(data, found),
        train_seconds=(least * seconds, most * seconds),
        search_seconds=search_seconds(data, n_jobs) if wanted else None,
    )


def _comparisons(data: RankingData, threads: int) -> dict[str, Any]:
    """Return what there is to learn from labels within queries."""
    view = data.training_view().here()
    sizes = np.diff(view.query_ptr)
    pairs = PairLabels(view.y, view.query_ptr, None, threads).n_pairs
    return {
        "labels": _labels(view.y),
        "n_pairs": int(pairs.sum()),
        "explicit_pairs": False,
        "n_single_row_queries": int(np.sum(sizes == 1)),
        "n_constant_queries": int(np.sum((pairs == 0) & (sizes > 1))),
        "longest_query": int(sizes.max()),
    }


def _preferences(data: RankingData) -> dict[str, Any]:
    """Return what there is to learn from explicit pairs, which training prefers to labels."""
    return {
        "labels": {} if data.y is None else _labels(data.y),
        "n_pairs": len(data.training_pairs().pairs),
        "explicit_pairs": True,
        "n_single_row_queries": 0,
        "n_constant_queries": 0,
        "longest_query": int(np.diff(data.query_ptr).max()),
    }


def _labels(y: NDArray[np.float64]) -> dict[str, Any]:
    values, counts = np.unique(y, return_counts=True)
    if len(values) > _MANY_LEVELS:
        return {"distinct": len(values), "lowest": float(values[0]), "highest": float(values[-1])}
    return {f"{value:g}": int(count) for value, count in zip(values, counts, strict=True)}


class _Features(NamedTuple):
    """What one look at all features tells."""

    is_sparse: bool
    n_stored: int
    constant: NDArray[np.bool_]
    n_duplicated: int


def _features(data: RankingData) -> _Features:
    """Look at all features, a chunk of data on disk at a time."""
    rows_before = 0
    query = data.in_original_order(np.repeat(np.arange(data.n_queries), np.diff(data.query_ptr)))
    low, high = np.full(data.n_features, np.inf), np.full(data.n_features, -np.inf)
    stored, duplicates = 0, _Duplicates(whole_queries=_ends_with_queries(data))
    for part in blocks(data.X):
        stored += int(part.count_nonzero() if is_sparse(part) else np.count_nonzero(part))
        least, most = part.min(axis=0), part.max(axis=0)
        if is_sparse(part):
            least, most = least.toarray().ravel(), most.toarray().ravel()
        np.minimum(low, least, out=low)
        np.maximum(high, most, out=high)
        duplicates.add(query[rows_before : rows_before + part.shape[0]], part)
        rows_before += part.shape[0]
    return _Features(is_sparse(part), stored, low == high, duplicates.count())


def _badly_scaled(spread: NDArray[np.float64], constant: NDArray[np.bool_]) -> NDArray[np.bool_]:
    if constant.all():
        return np.zeros(len(spread), dtype=bool)
    middle = np.median(spread[~constant])
    return (spread > _BAD_SPREAD * middle) | (spread < middle / _BAD_SPREAD)


def _ends_with_queries(data: RankingData) -> bool:
    """Whether every chunk does; data in memory are one chunk."""
    if in_memory(data.X):
        return True
    return bool(np.isin([section.last for section in data.X.sections()], data.query_ptr).all())


class _Duplicates:
    """Counts rows that equal an earlier one of their query, by a hash of 16 bytes.

    Where chunks end with a query, each is counted alone; a ranking that spans them keeps all hashes.
    """

    def __init__(self, *, whole_queries: bool) -> None:
        self._whole_queries = whole_queries
        self._hashes: list[NDArray[Any]] = []
        self._found = 0

    def add(self, query: NDArray[np.int64], X: Any) -> None:
        """Take the next rows, and the number of the query of each."""
        keys = (number.to_bytes(8, "little") for number in query.tolist())
        hashes = b"".join(
            blake2b(row, digest_size=16, salt=key).digest() for key, row in zip(keys, _rows(X), strict=True)
        )
        self._hashes.append(np.frombuffer(hashes, dtype="V16"))
        if self._whole_queries:
            self._found = self.count()
            self._hashes = []

    def count(self) -> int:
        """Return how many were found."""
        if not self._hashes:
            return self._found
        hashes = np.concatenate(self._hashes).view("<u8").reshape(-1, 2)
        ordered = hashes[np.lexsort(hashes.T)]
        return self._found + int(np.all(ordered[1:] == ordered[:-1], axis=1).sum())


def _rows(X: Any) -> Iterator[bytes]:
    """Return the bytes of each row."""
    if not is_sparse(X):
        return (row.tobytes() for row in X)
    X = X.sorted_indices()
    spans = pairwise(X.indptr.tolist())
    return (X.indices[a:b].tobytes() + b"|" + X.data[a:b].tobytes() for a, b in spans)


def _chunk_bytes(data: RankingData, found: _Features) -> int:
    """Return what the chunks of data on disk take that are in memory at a time."""
    X = data.X
    if in_memory(X):
        return 0
    size = X.dtype.itemsize
    every = found.n_stored * (size + 4) if found.is_sparse else data.n_rows * data.n_features * size
    largest = max(section.last - section.first for section in X.sections())
    return _CHUNKS_HELD * every * largest // data.n_rows


def _named(chosen: NDArray[np.bool_], names: tuple[str, ...] | None) -> list[str | int]:
    return [int(k) if names is None else names[k] for k in np.flatnonzero(chosen)]


def _pass_seconds(data: RankingData, threads: int) -> float:
    """Time one product with X and one with its transpose; of data on disk, those with some of the chunks."""
    X = data.X
    if not in_memory(X):
        return _chunk_seconds(X, threads)
    design = matrix_design(X, n_threads=threads)
    seconds = []
    for _ in range(_TIMINGS):  # the first one wakes threads and fetches X from memory
        start = perf_counter()
        design.adjoint(design.scores(np.ones(data.n_features)))
        seconds.append(perf_counter() - start)
    return min(seconds)


def _chunk_seconds(X: StoredMatrix, threads: int) -> float:
    sections = X.sections()
    timed = sections[:: -(-len(sections) // _TIMED_CHUNKS)]
    seconds = []
    for _ in range(_TIMINGS):
        start = perf_counter()
        for section, part in X.visit(timed):
            design = matrix_design(part, section.rows, n_threads=threads)
            design.adjoint(design.scores(np.ones(X.shape[1])))
        seconds.append(perf_counter() - start)
    return min(seconds) * X.shape[0] / sum(section.last - section.first for section in timed)
