"""Draws of rows by content: fair, and blind to order, repetition and storage."""

import numpy as np
import pytest
from scipy import sparse

from marginrank.feature_maps.row_draws import DistinctRows


def drawn(X, n, weight=None, seed=0):
    distinct = DistinctRows(X, weight, np.random.RandomState(seed))
    return distinct.rows[distinct.draw(n)]


def rows(n=200, width=5):
    rng = np.random.default_rng(0)
    return rng.normal(size=(n, width)) * (rng.random((n, width)) < 0.6)


@pytest.mark.parametrize("storage", [np.array, sparse.csr_array])
def test_order_and_repetition_do_not_matter(storage):
    X = rows()
    want = X[drawn(X, 20)]
    shuffled = X[np.random.default_rng(1).permutation(200)]
    assert np.array_equal(shuffled[drawn(storage(shuffled), 20)], want)
    count = np.random.default_rng(2).integers(0, 4, 200)
    repeated = np.repeat(X, count, axis=0)
    by_weight, by_repetition = drawn(storage(X), 20, count.astype(float)), drawn(storage(repeated), 20)
    assert np.array_equal(X[by_weight], repeated[by_repetition])


def test_storage_and_precision_do_not_matter():
    X = rows().astype(np.float32)
    X[3, 2] = -0.0
    assert np.array_equal(drawn(X, 30), drawn(X.astype(np.float64), 30))
    assert np.array_equal(drawn(X, 30), drawn(sparse.csr_array(X), 30))


def test_entries_stored_twice_count_as_their_sum():
    X = sparse.csr_array(rows())
    halves = sparse.csr_array(
        (np.repeat(X.data / 2, 2), np.repeat(X.indices, 2), 2 * X.indptr), shape=X.shape
    )
    assert np.array_equal(drawn(halves, 30), drawn(X, 30))
    assert halves.nnz == 2 * X.nnz  # what was passed in is not changed


def test_many_entries_are_hashed_in_parts_alike(monkeypatch):
    X = sparse.csr_array(rows())
    want = drawn(X, 30)
    for size in (1, 7, 100):
        monkeypatch.setattr("marginrank.feature_maps.row_draws._ENTRIES_AT_ONCE", size)
        assert np.array_equal(drawn(X, 30), want)
        assert np.array_equal(drawn(X.toarray(), 30), want)


def test_the_chance_of_the_first_row_is_its_weight():
    X = np.arange(4.0)[:, None]
    weight = np.array([1.0, 2.0, 3.0, 0.0])
    first = [drawn(X, 1, weight, seed)[0] for seed in range(3000)]
    share = np.bincount(first, minlength=4) / 3000
    assert share == pytest.approx([1 / 6, 2 / 6, 3 / 6, 0.0], abs=0.03)  # three standard errors


def test_only_rows_that_weigh_something_are_drawn_however_many_are_wanted():
    X = np.repeat(np.arange(3.0), 2)[:, None]
    chosen = drawn(X, 10, np.array([0.0, 1.0, 0.0, 0.0, 2.0, 1.0]))
    assert np.array_equal(np.sort(chosen), [1, 4])


def test_columns_are_told_apart():
    X = np.array([[1.0, 2.0], [2.0, 1.0], [0.0, 1.0], [1.0, 0.0]])
    assert len(DistinctRows(X, None, np.random.RandomState(0)).rows) == 4
