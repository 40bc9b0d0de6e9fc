"""Column statistics are those of exact arithmetic, wherever rows lie and however they are cut."""

from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from scipy import sparse

from marginrank.designs.column_sums import CountedRows, measure_columns
from marginrank.designs.compared import ComparedRows, column_transform, plain_design
from marginrank.storage.chunks import ChunkedMatrix
from marginrank.storage.engines import RemoteMatrix, SerialEngine

SIZES = [3, 40, 2, 7, 64, 130, 5, *[9] * 20, 1, 2]
PTR = np.concatenate(([0], np.cumsum(SIZES)))
N = int(PTR[-1])
# Within queries, at their ends, several cuts within one, a chunk of a single row.
CUTS = np.array([0, 10, 43, 60, 61, 130, 150, 200, PTR[20], N])


def chunked(X):
    return ChunkedMatrix(lambda k: X[CUTS[k] : CUTS[k + 1]], CUTS, X.shape[1], X.dtype)


def remote(X):
    return RemoteMatrix(SerialEngine(lambda k: X[CUTS[k] : CUTS[k + 1]]), CUTS, X.shape[1], X.dtype)


PLACES = {
    "dense": np.asarray,
    "csr": sparse.csr_matrix,
    "chunks": chunked,
    "csr-chunks": lambda X: chunked(sparse.csr_matrix(X)),
    "remote": remote,
    "csr-remote": lambda X: remote(sparse.csr_matrix(X)),
}


def columns():
    """Ties, zeros, an empty column, a constant, one value per query, large offsets, an outlier."""
    rng = np.random.default_rng(0)
    by_query = np.repeat(np.arange(len(SIZES)), SIZES)
    found = [
        rng.normal(size=N),
        rng.integers(0, 3, N),
        np.zeros(N),
        np.full(N, 0.1),
        by_query * 1e6,
        1.7e18 + 256.0 * rng.integers(0, 50, N),
        1e9 * by_query + rng.integers(0, 5, N),
        np.where(np.arange(N) == 0, 1e9, rng.normal(size=N)),
        rng.random(N) * (rng.random(N) < 0.05),
        -5.0 - rng.random(N),
    ]
    return np.stack(found, axis=1)


def exact(X, weight, ptr):
    """Return the statistics from sums of fractions."""
    rows = []
    for column in X.T:
        x, w = [Fraction(float(v)) for v in column], [Fraction(float(v)) for v in weight]
        total = sum(w)

        def squares(first, last, x=x, w=w):
            amount = sum(w[first:last])
            mean = sum(a * b for a, b in zip(w[first:last], x[first:last], strict=True)) / amount
            return mean, sum(a * (b - mean) ** 2 for a, b in zip(w[first:last], x[first:last], strict=True))

        mean, overall = squares(0, len(x))
        within = sum(squares(a, b)[1] for a, b in pairwise(ptr) if b > a)
        zeros = sum(a for a, b in zip(w, x, strict=True) if b == 0) / total
        figures = (mean, overall / total, within / total, zeros)
        rows.append([float(min(x)), float(max(x)), *map(float, figures)])
    low, high, mean, variance, within, zeros = np.array(rows).T
    return low, high, mean, np.sqrt(variance), np.sqrt(within), zeros


def check(found, expected):
    low, high, mean, deviation, within, zeros = expected
    np.testing.assert_array_equal(found.low, low)
    np.testing.assert_array_equal(found.high, high)
    # Roundings of a few hundred terms: of values for the mean, of squares about means for the deviations.
    assert np.all(np.abs(found.mean - mean) <= 1e-13 * X_SIZES)
    np.testing.assert_allclose(found.deviation, deviation, rtol=1e-12)
    np.testing.assert_allclose(found.within_deviation, within, rtol=1e-12)
    np.testing.assert_allclose(found.zeros, zeros, rtol=1e-13, atol=1e-13)


X_SIZES = np.abs(columns()).max(axis=0)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("place", PLACES)
def test_statistics_are_those_of_exact_arithmetic(place, weighted, monkeypatch):
    monkeypatch.setattr("marginrank.designs.column_sums._BLOCK_VALUES", 300)
    monkeypatch.setattr("marginrank.designs.column_sums._BLOCK_VALUES_OF_COLUMN", 1)
    X = columns()
    weight = np.random.default_rng(1).random(N) + 0.1 if weighted else None
    design = plain_design(PLACES[place](X), n_threads=2)
    known, found = measure_columns(design, PTR, weight)
    ones = np.ones(N) if weight is None else weight
    check(found, exact(X, ones, PTR))
    assert found.n_rows == N
    np.testing.assert_array_equal(known.low, X.min(axis=0))
    _, together = measure_columns(design, None, weight)
    np.testing.assert_array_equal(together.within_deviation, together.deviation)
    np.testing.assert_allclose(together.deviation, found.deviation, rtol=1e-12)


@pytest.mark.parametrize("place", PLACES)
def test_what_is_constant_has_a_deviation_of_exactly_0(place):
    _, found = measure_columns(plain_design(PLACES[place](columns()), n_threads=1), PTR)
    assert found.deviation[[2, 3]].tolist() == [0.0, 0.0]
    assert found.within_deviation[[2, 3, 4]].tolist() == [0.0, 0.0, 0.0]
    assert found.zeros[[2, 3]].tolist() == [1.0, 0.0]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("storage", [np.asarray, sparse.csr_array])
def test_bits_do_not_depend_on_the_threads(storage, dtype):
    rng = np.random.default_rng(3)
    X = storage((rng.normal(size=(20_000, 13)) * (rng.random((20_000, 13)) < 0.5)).astype(dtype))
    ptr = np.unique(np.concatenate(([0, 20_000], rng.integers(0, 20_000, 500))))
    weight = rng.random(20_000)
    parts = [plain_design(X, n_threads=n).column_sums(CountedRows(ptr, weight)) for n in (1, 2, 5)]
    for other in parts[1:]:
        assert parts[0].table.tobytes() == other.table.tobytes()
        assert parts[0].figures.tobytes() == other.figures.tobytes()


@pytest.mark.parametrize("kind", ["", "csr-"])
def test_chunks_have_the_same_bits_here_and_elsewhere(kind):
    X, weight = columns(), np.random.default_rng(4).random(N)
    here, there = (
        plain_design(PLACES[kind + place](X), n_threads=2).column_sums(CountedRows(PTR, weight))
        for place in ("chunks", "remote")
    )
    assert here.table.tobytes() == there.table.tobytes()


@pytest.mark.parametrize("place", PLACES)
def test_only_the_rows_that_take_part_count(place):
    X = columns()
    rows = np.flatnonzero(np.random.default_rng(5).random(N) < 0.4)
    ptr = np.searchsorted(rows, PTR)
    _, found = measure_columns(plain_design(PLACES[place](X), rows, n_threads=1), ptr)
    check(found, exact(X[rows], np.ones(len(rows)), ptr))


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("factor", [2.0**1000, 2.0**-1000])
def test_statistics_follow_the_unit_of_extreme_columns(place, factor):
    X = np.random.default_rng(6).normal(size=(N, 2))
    _, plain = measure_columns(plain_design(PLACES[place](X), n_threads=1), PTR)
    _, found = measure_columns(plain_design(PLACES[place](X * [1.0, factor]), n_threads=1), PTR)
    for name in ("low", "high", "mean", "deviation", "within_deviation"):
        np.testing.assert_allclose(getattr(found, name), getattr(plain, name) * [1.0, factor], rtol=1e-12)


def test_entries_stored_in_parts_count_as_their_sum_and_widen_the_range_only():
    parts = sparse.csr_array(
        (np.array([1.0, 2.0, 5.0, 1.0, -1.0]), np.array([0, 0, 1, 1, 1]), np.array([0, 2, 3, 5])),
        shape=(3, 2),
    )
    known, found = measure_columns(plain_design(parts, n_threads=1))
    dense = parts.toarray()
    assert found.low.tolist() == dense.min(axis=0).tolist()
    assert found.high.tolist() == dense.max(axis=0).tolist()
    np.testing.assert_allclose(found.deviation, dense.std(axis=0), rtol=1e-14)
    np.testing.assert_allclose(found.zeros, 2 / 3, rtol=1e-14)
    assert known.low[0] <= -3.0
    assert not known.full.any()


def test_entries_stored_as_0_are_zeros():
    X = sparse.csr_array((np.array([0.0, 2.0]), np.array([0, 0]), np.array([0, 1, 2, 2])), shape=(3, 1))
    assert measure_columns(plain_design(X, n_threads=1))[1].zeros.tolist() == [pytest.approx(2 / 3)]


def test_no_rows_have_the_range_of_nothing():
    none = np.empty(0, dtype=np.int64)
    known, found = measure_columns(plain_design(np.ones((4, 2)), none, n_threads=1))
    assert known.low.tolist() == known.high.tolist() == [0.0, 0.0]
    assert not known.full.any()
    assert found.n_rows == 0


def test_pairs_know_no_queries():
    X = columns()
    transform = column_transform(X, None, ComparedRows(pairs=np.array([[0, 1], [5, 9]])), n_threads=1)
    found = transform.statistics
    np.testing.assert_array_equal(found.within_deviation, found.deviation)


def test_the_transform_holds_the_statistics_and_its_scale_is_one_of_them():
    X = np.ascontiguousarray(columns()[:, [0, 1, 9]])
    transform = column_transform(X, None, ComparedRows(query_ptr=PTR), scale="standard", n_threads=1)
    np.testing.assert_array_equal(transform.scale, transform.statistics.deviation)
    part = column_transform(X, None, ComparedRows(query_ptr=PTR), whole=transform, n_threads=1)
    assert part.statistics is None  # nobody asks for those of a fold, so there is no read for them
