"""Products with a matrix: odd shapes, no copies, when a pass is fused."""

from itertools import pairwise

import numpy as np
import pytest
from scipy import sparse

from brute_force import random_view, relative_error
from marginrank.data import RankingData
from marginrank.designs import MatrixDesign
from marginrank.losses import SquaredHingeLoss
from random_matrices import random_csr


@pytest.mark.parametrize("n_cols", [1, 2, 3, 4, 5, 7, 8, 9, 12, 13, 16, 17])
@pytest.mark.parametrize("n_rows", [1, 2, 3, 4, 5, 9])
def test_every_small_shape_is_multiplied_exactly(n_rows, n_cols):
    """Integers, so that no order of the sums can hide a missing term."""
    rng = np.random.default_rng(1)
    X = rng.integers(-9, 10, (n_rows, n_cols)).astype(np.float32)
    w, g = rng.integers(-9, 10, n_cols).astype(float), rng.integers(-9, 10, n_rows).astype(float)
    for stored in (X, sparse.csr_array(X), X.astype(float), sparse.csr_array(X.astype(float))):
        design = MatrixDesign(stored, n_threads=2)
        assert np.array_equal(design.scores(w), X @ w)
        assert np.array_equal(design.adjoint(g), X.T @ g)


def test_many_blocks_are_added_up_exactly():
    rng = np.random.default_rng(2)
    X = rng.integers(-3, 4, (20_000, 70)).astype(np.float32)
    w, g = rng.integers(-9, 10, 70).astype(float), rng.integers(-9, 10, 20_000).astype(float)
    for stored in (X, sparse.csr_array(X)):
        for n_threads in (1, 2, 4):
            design = MatrixDesign(stored, n_threads=n_threads)
            assert np.array_equal(design.scores(w), X @ w)
            assert np.array_equal(design.adjoint(g), X.T.astype(float) @ g)


def test_wide_sparse_columns_are_added_up_exactly():
    rng = np.random.default_rng(3)
    X = random_csr((3000, 50_000), 1e-3, rng)
    X.data = rng.integers(-3, 4, X.nnz).astype(float)
    g = rng.integers(-9, 10, 3000).astype(float)
    for n_threads in (1, 2):
        assert np.array_equal(MatrixDesign(X, n_threads=n_threads).adjoint(g), X.T @ g)


def test_entries_given_twice_add_up():
    X = sparse.csr_array((np.array([1.0, 2.0, 4.0]), np.array([0, 0, 1]), np.array([0, 3])), shape=(1, 2))
    design = MatrixDesign(X, n_threads=1)
    assert design.scores(np.array([1.0, 10.0])).tolist() == [43.0]
    assert design.adjoint(np.array([2.0])).tolist() == [6.0, 8.0]


def test_the_matrix_is_not_copied():
    """A change of X shows in the next product."""
    X = np.ones((3, 2))
    design = MatrixDesign(X, n_threads=1)
    X[0, 0] = 5.0
    assert design.scores(np.array([1.0, 0.0])).tolist() == [5.0, 1.0, 1.0]


def test_the_arrays_stay_alive_with_the_design():
    designs = [
        MatrixDesign(np.full((1000, 50), float(k)), np.arange(999, -1, -1), n_threads=1) for k in range(20)
    ]
    _ = [np.full((1000, 50), -1.0) for _ in range(20)]  # would reuse freed memory
    for k, design in enumerate(designs):
        assert np.array_equal(design.scores(np.ones(50)), np.full(1000, 50.0 * k))


def squared_hinge(sizes):
    view = random_view(np.random.default_rng(4), sizes)
    return SquaredHingeLoss(view, weighting="pairs", n_threads=1)


def test_many_small_queries_are_fused_and_a_long_one_is_not():
    X = np.zeros((6400, 136), dtype=np.float32)
    design = MatrixDesign(X, n_threads=1)
    assert design.fuses(squared_hinge([100] * 64))
    assert not design.fuses(squared_hinge([6400]))
    assert not design.fuses(squared_hinge([101] * 63))
    assert not design.fuses(squared_hinge([24] * 100 + [4000]))


def test_columns_of_a_sample_are_close_to_those_of_all_rows():
    rng = np.random.default_rng(5)
    sizes = rng.integers(50, 150, 400)
    X = rng.normal(size=(sizes.sum(), 6)) * np.array([1e-3, 1, 5, 100, 1e4, 0])
    query_ptr = np.concatenate(([0], np.cumsum(sizes)))
    h = rng.random(sizes.sum())
    want = np.zeros(6)
    for first, last in pairwise(query_ptr):
        part, weight = X[first:last], h[first:last]
        want += weight @ (part - np.average(part, axis=0, weights=weight)) ** 2
    for stored in (X, sparse.csr_array(X)):
        got = MatrixDesign(stored, n_threads=1).centred_squares(h, query_ptr)
        # 4,000 of 40,000 normal rows: the variance is known to about 2 %.
        assert got[:5] == pytest.approx(want[:5], rel=0.1)
        assert got[5] == 0.0


def test_products_of_columns_are_made_only_where_they_pay():
    rng = np.random.default_rng(9)
    h, query_ptr = np.ones(3000), np.array([0, 3000])
    dense = MatrixDesign(rng.normal(size=(3000, 40)), n_threads=1)
    assert dense.centred_products(h, query_ptr).shape == (40, 40)
    wide = random_csr((3000, 5000), 1e-3, rng)
    assert MatrixDesign(wide, n_threads=1).centred_products(h, query_ptr) is None
    thin = random_csr((3000, 1500), 1e-3, rng)
    assert MatrixDesign(thin, n_threads=1).centred_products(h, query_ptr) is None


def test_one_long_query_is_thinned_evenly():
    """Rows sorted by a feature: a sample of the first rows only would see no spread."""
    X = np.arange(50_000.0)[:, None]
    got = MatrixDesign(X, n_threads=1).centred_squares(np.ones(50_000), np.array([0, 50_000]))
    assert got[0] == pytest.approx(50_000 * X.var(), rel=1e-2)


def test_rows_that_weigh_nothing_have_no_squares():
    X = np.ones((10, 2))
    assert not MatrixDesign(X, n_threads=1).centred_squares(np.zeros(10), np.array([0, 10])).any()


def test_curvature_of_the_data_is_the_diagonal_of_the_hessian_for_two_levels():
    """With one row against all others the centred squares are exact up to the share of the own level."""
    rng = np.random.default_rng(6)
    X = rng.normal(size=(40, 3))
    data = RankingData(X, np.arange(40))
    loss = SquaredHingeLoss(data.training_view(), weighting="pairs", n_threads=1)
    design = MatrixDesign(X, n_threads=1)
    estimate = design.centred_squares(*loss.curvature())
    point = loss.at(np.zeros(40))
    exact = np.array([X[:, j] @ point.hvp(X[:, j].copy()) for j in range(3)])
    # All pairs of distinct labels: sum over pairs of squared differences = 40 / 39 of the centred squares.
    assert relative_error(estimate * 40 / 39, exact) < 1e-12
