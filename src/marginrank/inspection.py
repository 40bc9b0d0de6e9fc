"""The data doctor: what is in ranking data, what will not be learned from, and what training will cost."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from marginrank._kernels import PairLabels
from marginrank.chunks import ChunkedMatrix
from marginrank.data import RankingData
from marginrank.designs import matrix_design
from marginrank.exceptions import MarginRankError
from marginrank.scaling import column_scale
from marginrank.threads import resolve_threads
from marginrank.validation import is_sparse

# A column whose spread differs this much from the median one slows training down and is hardly regularised.
_BAD_SPREAD = 1e3
# Vectors of rows and of features that a training holds at its peak, and the passes that it usually takes.
_ROW_VECTORS = 12
_FEATURE_VECTORS = 90
_USUAL_PASSES = (20, 120)
_MANY_LEVELS = 20
_TIMINGS = 3


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
        Estimate of what training needs besides the data.
    train_seconds : tuple of float
        Estimate of the time of one ``RankSVM`` training here, from ... to: 20 to 120 passes of a measured
        length, as most trainings take.
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

    def to_dict(self) -> dict[str, Any]:
        """Return the fields as a mapping that JSON can hold."""
        return asdict(self)


def inspect(data: RankingData, *, n_jobs: int | None = None) -> Inspection:
    """Look through ranking data before training on them.

    Parameters
    ----------
    data : RankingData
        Labelled data.
    n_jobs : int, optional
        Threads to use.

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
    threads = resolve_threads(n_jobs)
    if isinstance(data.X, ChunkedMatrix):
        raise MarginRankError(
            "inspect looks at data in memory; take a sample of data on disk: data.subset(rows)."
        )
    content = _preferences(data) if data.pairs is not None else _comparisons(data, threads)
    constant = _constant_columns(data.X)
    spread = column_scale(data.X, "standard")
    names = data.feature_names
    stored = data.X.count_nonzero() if is_sparse(data.X) else int(np.count_nonzero(data.X))
    (least, most), seconds = _USUAL_PASSES, _pass_seconds(data, threads)
    return Inspection(
        n_rows=data.n_rows,
        n_queries=data.n_queries,
        n_features=data.n_features,
        storage=f"{'CSR' if is_sparse(data.X) else 'dense'} {data.X.dtype}",
        stored_share=float(stored) / (data.n_rows * data.n_features),
        **content,
        n_duplicated_rows=_duplicated_rows(data),
        constant_features=_named(constant, names),
        badly_scaled_features=_named(~constant & _badly_scaled(spread, constant), names),
        memory_bytes=8 * (_ROW_VECTORS * data.n_rows + _FEATURE_VECTORS * data.n_features),
        train_seconds=(least * seconds, most * seconds),
    )


def _comparisons(data: RankingData, threads: int) -> dict[str, Any]:
    """Return what there is to learn from labels within queries."""
    view = data.training_view()
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


def _constant_columns(X: Any) -> NDArray[np.bool_]:
    low, high = X.min(axis=0), X.max(axis=0)
    if is_sparse(X):
        low, high = low.toarray().ravel(), high.toarray().ravel()
    return np.asarray(low == high)


def _badly_scaled(spread: NDArray[np.float64], constant: NDArray[np.bool_]) -> NDArray[np.bool_]:
    if constant.all():
        return np.zeros(len(spread), dtype=bool)
    middle = np.median(spread[~constant])
    return (spread > _BAD_SPREAD * middle) | (spread < middle / _BAD_SPREAD)


def _duplicated_rows(data: RankingData) -> int:
    """Count rows that equal an earlier one of their query, by a hash of their bytes."""
    query = np.repeat(np.arange(data.n_queries), np.diff(data.query_ptr))
    if data.order is not None:
        query = data.in_original_order(query)
    if is_sparse(data.X):
        X = data.X.sorted_indices()
        spans = zip(X.indptr[:-1], X.indptr[1:], strict=True)
        rows = (X.indices[a:b].tobytes() + b"|" + X.data[a:b].tobytes() for a, b in spans)
    else:
        rows = (row.tobytes() for row in data.X)
    return data.n_rows - len(set(zip(query.tolist(), rows, strict=True)))


def _named(chosen: NDArray[np.bool_], names: tuple[str, ...] | None) -> list[str | int]:
    return [int(k) if names is None else names[k] for k in np.flatnonzero(chosen)]


def _pass_seconds(data: RankingData, threads: int) -> float:
    """Time one product with X and one with its transpose."""
    design = matrix_design(data.X, n_threads=threads)
    seconds = []
    for _ in range(_TIMINGS):  # the first one wakes threads and fetches X from memory
        start = perf_counter()
        design.adjoint(design.scores(np.ones(data.n_features)))
        seconds.append(perf_counter() - start)
    return min(seconds)
