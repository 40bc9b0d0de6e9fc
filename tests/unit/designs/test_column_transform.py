"""Which columns are left out and shifted, wherever the rows lie, against plain loops."""

from itertools import pairwise

import numpy as np
import pytest
from scipy import sparse

from marginrank.designs import ColumnTransform, ComparedRows, column_transform, matrix_design
from marginrank.storage.chunks import ChunkedMatrix
from marginrank.storage.engines import RemoteMatrix, SerialEngine

SIZES = np.array([4, 1, 7, 30, 2, 9, 3, 44])
PTR = np.concatenate(([0], np.cumsum(SIZES)))
N_ROWS = int(PTR[-1])
BOUNDS = np.array([0, 4, 20, 21, 60, N_ROWS])  # some of them within a query


def chunked(X):
    return ChunkedMatrix(lambda k: X[BOUNDS[k] : BOUNDS[k + 1]], BOUNDS, X.shape[1], X.dtype)


def remote(X):
    engine = SerialEngine(lambda k: X[BOUNDS[k] : BOUNDS[k + 1]], 2, [[0, 3], [1, 2, 4]])
    return RemoteMatrix(engine, BOUNDS, X.shape[1], X.dtype)


PLACES = {
    "dense": np.array,
    "csr": sparse.csr_array,
    "chunks": chunked,
    "chunks of csr": lambda X: chunked(sparse.csr_array(X)),
    "remote": remote,
    "remote csr": lambda X: remote(sparse.csr_array(X)),
}


def rows_with_steps():
    """Return columns that are constant but for a step at one row: within queries, and at their starts."""
    X = np.zeros((N_ROWS, N_ROWS - 1))
    for step in range(1, N_ROWS):
        X[step:, step - 1] = 5.0
    return X


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("n_threads", [1, 3])
def test_a_column_is_left_out_if_it_steps_between_queries_only(place, n_threads):
    X = PLACES[place](rows_with_steps())
    found = column_transform(X, None, ComparedRows(query_ptr=PTR), n_threads=n_threads)
    assert found.constant.tolist() == np.isin(np.arange(1, N_ROWS), PTR).tolist()
    assert found.shift is None


@pytest.mark.parametrize("place", PLACES)
def test_only_the_rows_that_take_part_are_compared(place):
    rows = np.flatnonzero(np.arange(N_ROWS) % 3 != 1)
    ptr = np.searchsorted(rows, PTR)
    X = rows_with_steps()
    found = column_transform(PLACES[place](X), rows, ComparedRows(query_ptr=ptr), n_threads=2)
    queries = [X[rows[a:b]] for a, b in pairwise(ptr) if b > a]
    want = [all(np.ptp(query[:, j]) == 0.0 for query in queries) for j in range(X.shape[1])]
    assert found.constant.tolist() == want


@pytest.mark.parametrize("place", PLACES)
def test_pairs_compare_two_rows_each(place):
    X = rows_with_steps()
    pairs = np.array([[3, 9], [50, 40], [41, 45]])
    found = column_transform(PLACES[place](X), None, ComparedRows(pairs=pairs), n_threads=1)
    assert found.constant.tolist() == [
        bool((X[pairs[:, 0], j] == X[pairs[:, 1], j]).all()) for j in range(99)
    ]


@pytest.mark.parametrize("place", PLACES)
def test_columns_are_shifted_where_their_middle_is_far_above_their_range(place):
    spread = np.linspace(1.0, 2.0, N_ROWS)
    offsets = [0.0, 500.0, 1022.0, 1024.0, -1e4, 1e12]
    X = np.column_stack([offset + spread for offset in offsets])
    whole = column_transform(PLACES[place](X), None, ComparedRows(query_ptr=PTR), n_threads=2)
    assert np.flatnonzero(whole.shift).tolist() == [3, 4, 5]
    part = column_transform(PLACES[place](X), None, ComparedRows(query_ptr=PTR), whole=whole, n_threads=1)
    assert np.array_equal(part.shift, whole.shift)
    assert part.known is whole.known


def test_a_sparse_column_is_shifted_only_if_every_training_row_stores_it():
    X = 1e9 + np.arange(float(N_ROWS))[:, None] * [1.0, 1.0]
    X[7, 1] = 0.0
    compared = ComparedRows(query_ptr=PTR)
    all_rows = column_transform(sparse.csr_array(X), None, compared, n_threads=1)
    assert np.flatnonzero(all_rows.shift).tolist() == [0]
    rows = np.delete(np.arange(N_ROWS), 7)
    others = ComparedRows(query_ptr=np.searchsorted(rows, PTR))
    without = column_transform(sparse.csr_array(X), rows, others, n_threads=1)
    assert np.flatnonzero(without.shift).tolist() == [0, 1]


def test_products_see_neither_shift_nor_scale_of_columns_that_are_left_out():
    X = np.random.default_rng(0).normal(size=(N_ROWS, 3)) + np.array([0.0, 1e6, 0.0])
    transform = ColumnTransform(
        np.array([0.0, 1e6, 0.0]), np.array([1.0, 2.0, 4.0]), np.array([False, False, True])
    )
    plain = (X - transform.shift) / transform.scale * [1.0, 1.0, 0.0]
    w, g = np.random.default_rng(1).normal(size=3), np.random.default_rng(2).normal(size=N_ROWS)
    for place in PLACES.values():
        design = matrix_design(place(X), None, transform, n_threads=2)
        np.testing.assert_allclose(design.scores(w), plain @ w, rtol=0, atol=1e-12)
        np.testing.assert_allclose(design.adjoint(g), plain.T @ g, rtol=0, atol=1e-11)
        assert design.adjoint(g)[2] == 0.0
    assert transform.raw(w)[2] == transform.transformed(w)[2] == 0.0
    np.testing.assert_array_equal(transform.raw(w)[:2], w[:2] / [1.0, 2.0])


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("room", [1, 700, 1 << 24])
def test_many_pairs_equal_the_definition(place, room, monkeypatch):
    """However few columns fit into memory at a time."""
    monkeypatch.setattr("marginrank.designs.compared._MOST_VALUES", room)
    rng = np.random.default_rng(4)
    X = rng.integers(0, 2, size=(N_ROWS, 40)) * (rng.random((N_ROWS, 40)) < np.linspace(0.0, 0.1, 40)) * 3.0
    pairs = rng.integers(N_ROWS // 2, size=(60, 2))
    found = column_transform(PLACES[place](X), None, ComparedRows(pairs=pairs), n_threads=2)
    same = (X[pairs[:, 0]] == X[pairs[:, 1]]).all(axis=0)
    assert 2 < same.sum() < 38
    assert (found.constant if found.constant is not None else ~same).tolist() == same.tolist()
