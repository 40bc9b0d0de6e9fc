"""A matrix in chunks: equal to the one in memory, to the bit where that is promised."""

import threading

import numpy as np
import pytest
from scipy import sparse

from brute_force import random_view, relative_error
from marginrank.designs import ChunkedDesign, MatrixDesign, matrix_design
from marginrank.exceptions import MarginRankError
from marginrank.losses import QUERY_LOSSES
from marginrank.storage.chunks import ChunkedMatrix, TreeSum

# Accumulated in float64, in another order: a few dozen roundings.
ROUNDING = 1e-13
SIZES = [3, 40, 1, 7, 64, 330, 5, *[9] * 90, 2]
PTR = np.concatenate(([0], np.cumsum(SIZES)))
N_ROWS, N_COLS = int(PTR[-1]), 11


def matrix(kind, dtype):
    rng = np.random.default_rng(0)
    X = (rng.normal(size=(N_ROWS, N_COLS)) * (rng.random((N_ROWS, N_COLS)) < 0.5)).astype(dtype)
    return sparse.csr_matrix(X) if kind == "csr" else X


def in_chunks(X, bounds, **more):
    return ChunkedMatrix(
        lambda k: X[bounds[k] : bounds[k + 1]], np.array(bounds), X.shape[1], X.dtype, **more
    )


@pytest.fixture(
    params=[("dense", "f4"), ("dense", "f8"), ("csr", "f4"), ("csr", "f8")], ids="-".join, name="X"
)
def stored(request):
    return matrix(*request.param)


# At query borders: many queries, one query, few queries, many again.
BORDERS = [0, int(PTR[5]), int(PTR[6]), int(PTR[50]), N_ROWS]
# Inside queries.
CUTS = [0, 10, 500, 501, N_ROWS]
SOME_ROWS = np.flatnonzero(np.random.default_rng(1).random(N_ROWS) < 0.3)


@pytest.mark.parametrize("bounds", [[0, N_ROWS], BORDERS, CUTS], ids=["one", "borders", "cuts"])
@pytest.mark.parametrize("rows", [None, SOME_ROWS], ids=["all", "some"])
class TestProducts:
    def designs(self, X, bounds, rows):
        return MatrixDesign(X, rows, n_threads=1), ChunkedDesign(in_chunks(X, bounds), rows, n_threads=2)

    def test_scores_have_the_bits_of_the_matrix_in_memory(self, X, bounds, rows):
        whole, chunked = self.designs(X, bounds, rows)
        W = np.random.default_rng(2).normal(size=(3, N_COLS))
        assert chunked.shape == whole.shape
        assert np.array_equal(chunked.scores(W[0]), whole.scores(W[0]))
        assert np.array_equal(chunked.scores_block(W), whole.scores_block(W))

    def test_adjoints_equal_those_of_the_matrix_in_memory(self, X, bounds, rows):
        whole, chunked = self.designs(X, bounds, rows)
        G = np.random.default_rng(3).normal(size=(3, whole.shape[0]))
        pairs = [
            (chunked.adjoint(G[0]), whole.adjoint(G[0])),
            (chunked.adjoint_block(G), whole.adjoint_block(G)),
        ]
        for got, expected in pairs:
            if len(bounds) == 2:
                assert np.array_equal(got, expected)
            assert relative_error(got, expected) < ROUNDING

    def test_samples_of_rows_are_the_same(self, X, bounds, rows):
        whole, chunked = self.designs(X, bounds, rows)
        weight, ptr = np.ones(whole.shape[0]), np.array([0, 100, whole.shape[0]])
        assert np.allclose(
            chunked.centred_squares(weight, ptr), whole.centred_squares(weight, ptr), rtol=1e-12
        )


@pytest.mark.parametrize("loss_name", QUERY_LOSSES)
@pytest.mark.parametrize("bounds", [[0, N_ROWS], BORDERS], ids=["one", "borders"])
def test_fused_products_equal_those_in_memory(X, bounds, loss_name):
    view = random_view(np.random.default_rng(4), SIZES)
    loss = QUERY_LOSSES[loss_name](view, weighting="pairs", n_threads=1)
    whole, chunked = MatrixDesign(X, n_threads=1), ChunkedDesign(in_chunks(X, bounds), n_threads=2)
    assert chunked.fuses(loss)
    w, v = np.random.default_rng(5).normal(size=(2, N_COLS))
    assert whole.fuses(loss)
    got, expected = chunked.evaluate(w, loss), whole.evaluate(w, loss)
    assert np.array_equal(got.scores, expected.scores)
    assert np.array_equal(got.score_gradient, expected.score_gradient)  # query by query
    hvp = chunked.hvp(w, v, loss, got.scores), whole.hvp(w, v, loss, got.scores)
    if len(bounds) == 2:
        assert got.value == expected.value
        assert np.array_equal(got.gradient, expected.gradient)
        assert np.array_equal(*hvp)
    assert got.value == pytest.approx(expected.value, rel=ROUNDING)
    assert relative_error(got.gradient, expected.gradient) < ROUNDING
    assert relative_error(*hvp) < ROUNDING


def test_the_number_of_threads_changes_no_bit(X):
    view = random_view(np.random.default_rng(4), SIZES)
    loss = QUERY_LOSSES["squared_hinge"](view, weighting="pairs", n_threads=1)
    w = np.random.default_rng(6).normal(size=N_COLS)
    one, three = (vars(ChunkedDesign(in_chunks(X, BORDERS), n_threads=n).evaluate(w, loss)) for n in (1, 3))
    assert one["gradient"] is not None
    assert all(np.array_equal(one[name], three[name]) for name in one)


def test_queries_that_are_cut_are_not_fused(X):
    view = random_view(np.random.default_rng(4), SIZES)
    loss = QUERY_LOSSES["hinge"](view, weighting="pairs", n_threads=1)
    assert not ChunkedDesign(in_chunks(X, CUTS), n_threads=1).fuses(loss)


def test_a_pass_loads_each_chunk_once_and_the_next_one_ahead():
    X = matrix("dense", "f8")
    loaded, threads = [], set()

    def load(k):
        loaded.append(k)
        threads.add(threading.current_thread() is threading.main_thread())
        return X[BORDERS[k] : BORDERS[k + 1]]

    design = ChunkedDesign(ChunkedMatrix(load, np.array(BORDERS), N_COLS, X.dtype), n_threads=1)
    design.scores(np.ones(N_COLS))
    assert loaded == [0, 1, 2, 3]
    assert threads == {False}


def test_chunks_without_rows_of_the_selection_are_not_loaded():
    X = matrix("dense", "f8")
    loaded = []

    def load(k):
        loaded.append(k)
        return X[BORDERS[k] : BORDERS[k + 1]]

    chunked = ChunkedMatrix(load, np.array(BORDERS), N_COLS, X.dtype)
    rows = np.array([0, 1, N_ROWS - 1])
    scores = ChunkedDesign(chunked.select(rows), np.array([1, 2]), n_threads=1).scores(np.ones(N_COLS))
    assert loaded == [0, 3]
    assert np.array_equal(scores, MatrixDesign(X[rows[1:]], n_threads=1).scores(np.ones(N_COLS)))


def test_an_error_while_reading_ahead_reaches_the_caller():
    X = matrix("dense", "f8")

    def load(k):
        if k == 2:
            raise MarginRankError("chunk 2 is gone")
        return X[BORDERS[k] : BORDERS[k + 1]]

    design = matrix_design(ChunkedMatrix(load, np.array(BORDERS), N_COLS, X.dtype), n_threads=1)
    with pytest.raises(MarginRankError, match="chunk 2 is gone"):
        design.scores(np.ones(N_COLS))


def test_rows_in_any_order_can_be_taken_but_not_trained_on(X):
    chunked = in_chunks(X, BORDERS)
    numbers = [N_ROWS - 1, 3, 3, 0]
    dense = [rows.toarray() if sparse.issparse(rows) else rows for rows in (chunked[numbers], X[numbers])]
    assert np.array_equal(*dense)
    with pytest.raises(MarginRankError, match="ascending order"):
        ChunkedDesign(chunked, np.array([3, 0]), n_threads=1)
    with pytest.raises(MarginRankError, match="the columns that they were written with"):
        chunked[:, [0]]


@pytest.mark.parametrize("n", range(1, 18))
def test_the_tree_is_that_of_the_kernels(n):
    values = list(np.random.default_rng(n).normal(size=n))
    total = TreeSum()
    for value in values:
        total.add(value)
    step = 1
    while step < n:
        for b in range(0, n - step, 2 * step):
            values[b] += values[b + step]
        step *= 2
    assert total.result() == values[0]
