"""Column scales are what the rows that take part say, dense or sparse."""

import numpy as np
import pytest
from scipy import sparse

from marginrank.data.queries import group_rows, one_query
from marginrank.data.query_normalization import minmax_by_query
from marginrank.designs.column_statistics import ColumnStatistics
from marginrank.designs.compared import ComparedRows, column_scale, column_transform
from marginrank.designs.scaling import resolve_scale
from marginrank.exceptions import MarginRankError

STORAGES = [np.array, sparse.csr_array, sparse.csr_matrix]


def random_matrix(n_rows=200, dtype=np.float64):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n_rows, 5)) * [1.0, 10.0, 1e-3, 1e5, 1.0] + [0.0, 3.0, 1.0, -2e5, 0.0]
    X[rng.random(X.shape) < 0.4] = 0.0
    return X.astype(dtype)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("storage", STORAGES)
def test_standard_is_the_standard_deviation(storage, dtype):
    X = random_matrix(dtype=dtype)
    expected = X.astype(np.float64).std(axis=0)
    scale = column_scale(storage(X), "standard")
    assert scale.dtype == np.float64
    np.testing.assert_allclose(scale, expected, rtol=1e-12 if dtype == np.float64 else 1e-5)


@pytest.mark.parametrize("storage", STORAGES)
def test_minmax_is_the_range_with_the_zeros_that_are_not_stored(storage):
    X = random_matrix()
    np.testing.assert_array_equal(column_scale(storage(X), "minmax"), np.ptp(X, axis=0))


@pytest.mark.parametrize("scale", ["standard", "minmax"])
@pytest.mark.parametrize("storage", STORAGES)
def test_only_the_rows_that_take_part_count(storage, scale):
    X = random_matrix()
    rows = np.random.default_rng(1).permutation(200)[:50]
    others = np.setdiff1d(np.arange(200), rows)
    wild = X.copy()
    wild[others] = 1e18  # so large that a spread beside it looks like rounding
    expected = column_scale(storage(X[rows]), scale)
    np.testing.assert_allclose(column_scale(storage(wild), scale, rows), expected, rtol=1e-12)


@pytest.mark.parametrize("storage", STORAGES)
def test_weights_count_as_repetitions(storage):
    X = random_matrix()
    weight = np.random.default_rng(2).integers(1, 4, size=200)
    repeated = np.repeat(X, weight, axis=0).std(axis=0)
    scale = column_scale(storage(X), "standard", None, weight.astype(float))
    np.testing.assert_allclose(scale, repeated, rtol=1e-12)


@pytest.mark.parametrize("scale", ["standard", "minmax"])
@pytest.mark.parametrize("storage", STORAGES)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_constant_columns_are_left_alone(scale, storage, dtype):
    X = random_matrix(dtype=dtype)
    X[:, 1], X[:, 3] = 0.1, 0.0
    divisor = column_scale(storage(X), scale)
    assert divisor[1] == divisor[3] == 1.0
    assert (divisor > 0).all()


@pytest.mark.parametrize("scale", ["standard", "minmax"])
def test_a_small_spread_about_a_large_mean_is_measured(scale):
    X = 1e6 + np.random.default_rng(3).random((1000, 1))
    expected = X.std(axis=0) if scale == "standard" else np.ptp(X, axis=0)
    np.testing.assert_allclose(column_scale(X, scale), expected, rtol=1e-9)


@pytest.mark.parametrize("scale", ["standard", "minmax"])
def test_more_rows_than_a_block_agree_with_numpy(scale, monkeypatch):
    monkeypatch.setattr("marginrank.designs.column_sums._BLOCK_VALUES", 100)
    monkeypatch.setattr("marginrank.designs.column_sums._BLOCK_VALUES_OF_COLUMN", 1)
    X = random_matrix(1001)
    weight = np.random.default_rng(4).random(1001)
    expected = X.std(axis=0) if scale == "standard" else np.ptp(X, axis=0)
    np.testing.assert_allclose(column_scale(X, scale), expected, rtol=1e-10)
    centred = X - weight @ X / weight.sum()
    if scale == "standard":
        expected = np.sqrt(weight @ centred**2 / weight.sum())
        np.testing.assert_allclose(column_scale(X, scale, None, weight), expected, rtol=1e-10)


@pytest.mark.parametrize("scale", ["standard", "minmax"])
def test_entries_stored_twice_count_as_their_sum(scale):
    data, columns, indptr = np.arange(1.0, 9.0), np.zeros(8, dtype=np.int32), np.array([0, 2, 4, 6, 8])
    X = sparse.csr_array((data, columns, indptr), shape=(4, 1))
    np.testing.assert_allclose(column_scale(X, scale), column_scale(X.toarray(), scale), rtol=1e-12)
    assert X.nnz == 8


def test_indices_may_be_int64():
    X = sparse.csr_array(random_matrix())
    X.indices, X.indptr = X.indices.astype(np.int64), X.indptr.astype(np.int64)
    for scale in ("standard", "minmax"):
        np.testing.assert_allclose(column_scale(X, scale), column_scale(random_matrix(), scale), rtol=1e-12)


def test_unknown_scale_is_refused():
    with pytest.raises(MarginRankError, match="scale must be None, 'standard' or 'minmax'; got 'robust'"):
        column_scale(random_matrix(), "robust")


# Normalisation within queries


def normalized_slowly(X, qid):
    result = np.zeros_like(X)
    for query in set(qid):
        rows = [k for k, other in enumerate(qid) if other == query]
        for j in range(X.shape[1]):
            low, high = min(X[rows, j]), max(X[rows, j])
            for i in rows:
                result[i, j] = (X[i, j] - low) / (high - low) if high > low else 0.0
    return result


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("storage", STORAGES)
@pytest.mark.parametrize("block_values", [1, 40, 1 << 16])
@pytest.mark.parametrize("grouped", [True, False])
def test_normalisation_equals_brute_force(storage, dtype, block_values, grouped, monkeypatch):
    monkeypatch.setattr("marginrank.data.query_normalization._BLOCK_VALUES", block_values)
    X = random_matrix(dtype=dtype)
    X[::3, 1] = 7.0
    qid = np.random.default_rng(5).integers(60, size=200)  # of one row, too
    qid = np.sort(qid) if grouped else qid
    groups = group_rows(qid)
    assert (groups.order is None) == grouped
    before = X.copy()
    result = minmax_by_query(storage(X), groups.query_ptr, groups.order)
    assert result.dtype == dtype
    np.testing.assert_array_equal(result, normalized_slowly(X, qid.tolist()))
    np.testing.assert_array_equal(X, before)


def test_normalised_columns_reach_exactly_from_0_to_1():
    X = np.random.default_rng(6).standard_normal((50, 4)).astype(np.float32) * np.float32(1e-3)
    result = minmax_by_query(X, one_query(50).query_ptr)
    assert result.min(axis=0).tolist() == [0.0] * 4
    assert result.max(axis=0).tolist() == [1.0] * 4


def test_range_beyond_the_largest_number_is_normalised():
    X = np.array([[-1.7e308], [0.0], [1.7e308]])
    assert minmax_by_query(X, one_query(3).query_ptr).tolist() == [[0.0], [0.5], [1.0]]


@pytest.mark.parametrize("storage", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("factor", [2.0**1000, 2.0**600, 2.0**-600, 2.0**-1000])
@pytest.mark.parametrize("scale", ["standard", "minmax"])
def test_a_scale_follows_the_unit_of_its_column(scale, factor, storage):
    X = np.random.default_rng(0).normal(size=(50, 3))
    rows, weight = np.arange(3, 47), np.random.default_rng(1).integers(1, 4, 44).astype(float)
    expected = column_scale(storage(X), scale, rows, weight)
    found = column_scale(storage(X * [1.0, factor, 1.0]), scale, rows, weight)
    np.testing.assert_allclose(found, expected * [1.0, factor, 1.0], rtol=1e-12)


def test_a_range_beyond_float64_is_refused():
    X = np.array([[1.0, -1.7e308], [2.0, 1.7e308]])
    with pytest.raises(MarginRankError, match=r"Column 1 of X goes from -1\.7e\+308 to 1\.7e\+308, which"):
        column_scale(X, "minmax")


# "auto"


def by_definition(X, qid):
    """Return what "auto" means, from all pairs of rows of each query."""
    varies = np.zeros(X.shape[1], dtype=bool)
    for query in np.unique(qid):
        rows = X[qid == query]
        varies |= (rows[:, None] != rows[None, :]).any(axis=(0, 1))
    widths = (X.max(axis=0) - X.min(axis=0))[varies]
    return "standard" if len(widths) and widths.max() > 100.0 * widths.min() else None


def resolved(X, qid, place=np.array, **more):
    order = np.argsort(qid, kind="stable")
    ptr = np.searchsorted(np.sort(qid), np.unique(qid)).tolist()
    compared = ComparedRows(query_ptr=np.array([*ptr, len(qid)], dtype=np.int64))
    return column_transform(place(X[order]), None, compared, scale="auto", n_threads=2, **more)


@pytest.mark.parametrize("place", [np.array, sparse.csr_array], ids=["dense", "csr"])
@pytest.mark.parametrize("seed", range(20))
def test_auto_is_standard_where_ranges_differ_a_hundredfold_by_definition(seed, place):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(40, 6)) * rng.lognormal(0.0, 1.5, 6) * (rng.random((40, 6)) < 0.5)
    qid = rng.integers(0, 12, 40)
    X[:, 0] = 1e9 * qid  # varies between queries only
    found = resolved(X, qid, place)
    assert found.scaled_by == by_definition(X, qid)
    assert (found.scale is None) == (found.scaled_by is None)


def test_both_answers_occur_in_the_test_above():
    answers = set()
    for seed in range(20):
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(40, 6)) * rng.lognormal(0.0, 1.5, 6) * (rng.random((40, 6)) < 0.5)
        qid = rng.integers(0, 12, 40)
        X[:, 0] = 1e9 * qid
        answers.add(by_definition(X, qid))
    assert answers == {None, "standard"}


@pytest.mark.parametrize(("factor", "expected"), [(100.0, None), (100.1, "standard"), (1e300, "standard")])
def test_auto_asks_for_more_than_a_hundredfold(factor, expected):
    X = np.array([[0.0, 0.0], [1.0, factor], [0.5, 0.0]])
    assert resolved(X, np.zeros(3, dtype=int)).scaled_by == expected


def test_auto_measures_ranges_beyond_float64():
    top = np.finfo(float).max
    X = np.array([[-top, -1.0], [top, 1.0]])
    statistics = ColumnStatistics(X[0], X[1], [0.0, 0.0], [1.0, 1.0], [1.0, 1.0], [0.0, 0.0], 2)
    assert resolve_scale("auto", statistics) == "standard"
    alike = ColumnStatistics([-top] * 2, [top] * 2, [0.0] * 2, [1.0] * 2, [1.0] * 2, [0.0] * 2, 2)
    assert resolve_scale("auto", alike) is None


def test_auto_divides_nothing_where_all_columns_are_constant():
    assert resolved(np.ones((4, 2)), np.zeros(4, dtype=int)).scaled_by is None


@pytest.mark.parametrize(("size", "expected"), [(1e-6, None), (1e6, "standard")])
def test_a_rare_column_counts_for_auto_if_it_is_large_not_if_it_is_small(size, expected):
    X = np.random.default_rng(0).normal(size=(2000, 3))
    X[:, 2] = 0.0
    X[7, 2] = size
    for place in (np.array, sparse.csr_array):
        assert resolved(X, np.zeros(2000, dtype=int), place).scaled_by == expected


@pytest.mark.parametrize(("n_small", "expected"), [(2, None), (3, "standard")])
def test_one_column_in_a_hundred_may_be_small_for_auto(n_small, expected):
    X = np.random.default_rng(0).uniform(size=(50, 200))
    X[:, :n_small] *= 1e-6
    for place in (np.array, sparse.csr_array):
        assert resolved(X, np.zeros(50, dtype=int), place).scaled_by == expected


def test_one_large_column_of_many_counts_for_auto():
    X = np.random.default_rng(0).uniform(size=(50, 200))
    X[:, 7] *= 1e6
    assert resolved(X, np.zeros(50, dtype=int)).scaled_by == "standard"


def test_a_part_takes_over_what_auto_became_for_all_rows():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 2))
    X[:20] *= [1.0, 1000.0]
    qid = np.arange(40) // 10
    whole = resolved(X, qid)
    part = resolved(X[20:], qid[20:], whole=whole)
    assert whole.scaled_by == part.scaled_by == "standard"
    assert resolved(X[20:], qid[20:]).scaled_by is None
    np.testing.assert_allclose(part.scale, X[20:].std(axis=0))
