"""Gram matrices of query-centred data against the definition, written out."""

from itertools import pairwise
from threading import Event

import numpy as np
import pytest
from scipy import sparse

from limits import HANG
from marginrank.designs import centred, gram
from marginrank.designs.centred import CentredRows, map_in_order
from marginrank.designs.gram import centred_gram
from marginrank.designs.gram_sums import GramSums
from marginrank.exceptions import MarginRankError
from marginrank.solvers.spectral import SpectralPath
from random_matrices import random_csr

QUERY_PTR = np.array([0, 13, 14, 70, 70, 100])


def small_blocks(monkeypatch):
    """Cut 100 rows into many blocks, and the longest query into pieces."""
    monkeypatch.setattr(centred, "_BLOCK_ENTRIES", 160)
    monkeypatch.setattr(centred, "_LEAST_ROWS", 16)


def weights(seed=0):
    rng = np.random.default_rng(seed)
    return {"sample_weight": rng.uniform(0.1, 4.0, 100), "query_weight": rng.uniform(0.1, 4.0, 5)}


def written_out(X, sample_weight=None, query_weight=None):
    """Return ``Xc`` in extended precision."""
    X = np.asarray(X, dtype=np.longdouble)
    s = np.ones(len(X)) if sample_weight is None else sample_weight
    s = s.astype(np.longdouble)
    v = np.ones(len(QUERY_PTR) - 1) if query_weight is None else query_weight
    out = np.zeros_like(X)
    for q, (a, b) in enumerate(pairwise(QUERY_PTR)):
        if a < b:
            mean = (s[a:b, None] * X[a:b]).sum(axis=0) / s[a:b].sum()
            out[a:b] = np.sqrt(v[q] * s[a:b])[:, None] * (X[a:b] - mean)
    return out


def sparse_rows(n_columns, density=0.06, seed=1):
    """Few entries, but for one full column with a large mean."""
    rng = np.random.default_rng(seed)
    X = random_csr((100, n_columns), density, rng).toarray()
    X[:, 0] = 1e6 + rng.integers(1, 9, 100)
    return X


MATRICES = {
    "tall": lambda: np.random.default_rng(2).normal(size=(100, 8)),
    "wide": lambda: np.random.default_rng(3).normal(size=(100, 130)),
    "tall, large means": lambda: np.random.default_rng(4).integers(0, 50, (100, 8)) / 8 + 1e6,
    "wide, large means": lambda: np.random.default_rng(5).integers(0, 50, (100, 130)) / 8 + 1e6,
    "few entries": lambda: sparse_rows(40),
    "few entries, wide": lambda: sparse_rows(300),
}
STORED = {
    "float64": np.asarray,
    "float32": lambda X: X.astype(np.float32),
    "csr": sparse.csr_array,
    "csr float32": lambda X: sparse.csr_array(X.astype(np.float32)),
}


@pytest.mark.parametrize("over_rows", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("stored", STORED)
@pytest.mark.parametrize("matrix", MATRICES)
def test_the_matrix_and_the_moment_equal_the_definition(matrix, stored, weighted, over_rows, monkeypatch):
    """In ulps of the largest entry: no digit goes to the means, which are 1e6 in some."""
    small_blocks(monkeypatch)
    options = weights() if weighted else {}
    X, Y = STORED[stored](MATRICES[matrix]()), np.random.default_rng(6).normal(size=(100, 2)) + 1e3
    dense = X.toarray() if sparse.issparse(X) else X
    Xc, Yc = written_out(dense, **options), written_out(Y, **options)
    found = centred_gram(CentredRows(X, QUERY_PTR, n_threads=2, **options), Y, over_rows=over_rows)
    expected = Xc @ Xc.T if over_rows else Xc.T @ Xc
    moment = Yc if over_rows else Xc.T @ Yc
    assert np.max(np.abs(found.matrix - expected)) < 1e-13 * np.max(np.abs(expected))
    assert np.max(np.abs(found.moment - moment)) < 1e-12 * np.max(np.abs(moment))
    assert np.array_equal(found.matrix, found.matrix.T)


@pytest.mark.parametrize("pays", [0, 10**9])
def test_sparse_and_dense_products_agree(pays, monkeypatch):
    small_blocks(monkeypatch)
    monkeypatch.setattr(gram, "_SPARSE_PAYS", pays)
    X, Y = sparse_rows(40), np.arange(100.0)
    rows = CentredRows(sparse.csr_array(X), QUERY_PTR, n_threads=1, **weights())
    expected = written_out(X, **weights())
    assert np.allclose(centred_gram(rows, Y).matrix, np.float64(expected.T @ expected), rtol=0, atol=1e-10)


def test_the_smaller_matrix_is_formed():
    for n_columns, over_rows in ((99, False), (101, True)):
        X = np.random.default_rng(7).normal(size=(100, n_columns))
        found = centred_gram(CentredRows(X, QUERY_PTR, n_threads=1), np.arange(100.0))
        assert found.over_rows is over_rows
        assert found.matrix.shape == (min(100, n_columns),) * 2


@pytest.mark.parametrize("stored", STORED)
@pytest.mark.parametrize("over_rows", [False, True])
def test_any_number_of_threads_gives_the_same_bits(stored, over_rows, monkeypatch):
    small_blocks(monkeypatch)
    X, Y = STORED[stored](sparse_rows(40)), np.arange(100.0)
    one, four = (
        centred_gram(CentredRows(X, QUERY_PTR, n_threads=k, **weights()), Y, over_rows=over_rows)
        for k in (1, 4)
    )
    assert np.array_equal(one.matrix, four.matrix)
    assert np.array_equal(one.moment, four.moment)


@pytest.mark.parametrize("stored", STORED)
def test_projections_and_adjoints_are_products_with_the_centred_rows(stored, monkeypatch):
    """Up to the rounding of a mean of 1e6, which moves all rows of a query alike."""
    small_blocks(monkeypatch)
    rng = np.random.default_rng(8)
    X = STORED[stored](sparse_rows(40))
    rows = CentredRows(X, QUERY_PTR, n_threads=2, **weights())
    Xc = written_out(X.toarray() if sparse.issparse(X) else X, **weights())
    V, values = rng.normal(size=(40, 3)), rng.normal(size=(100, 2))
    found = np.vstack([rows.project(block, V) for block in rows.blocks])
    assert np.allclose(found, np.float64(Xc @ V), rtol=0, atol=1e-8)
    assert np.allclose(rows.adjoint(values), np.float64(Xc.T @ values), rtol=0, atol=1e-8)


def test_constant_columns_are_exactly_zero_after_centring():
    X = np.column_stack([np.full(100, 0.1), np.repeat(np.arange(5) / 7, np.diff(QUERY_PTR))])
    rows = CentredRows(X, QUERY_PTR, n_threads=1)
    assert not any(rows.dense(block).any() for block in rows.blocks)


def test_entries_given_twice_add_up():
    twice = sparse.csr_array(
        (np.array([1.0, 2.0, 4.0]), np.array([0, 0, 0]), np.array([0, 2, 3])), shape=(2, 1)
    )
    rows = CentredRows(twice, np.array([0, 2]), n_threads=1)
    assert rows.dense(rows.blocks[0]).tolist() == [[-0.5], [0.5]]


def test_weights_of_zero_are_refused():
    with pytest.raises(MarginRankError, match="must be positive"):
        CentredRows(np.eye(2), np.array([0, 2]), sample_weight=np.array([1.0, 0.0]), n_threads=1)


def test_threads_are_told_to_end_before_they_are_waited_for():
    told = Event()

    def items():
        yield from (1, 2)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        list(map_in_order(lambda item: told.wait(HANG), items(), 2, told.set))
    assert told.is_set()


@pytest.mark.parametrize("over_rows", [False, True])
def test_sums_that_are_stopped_take_no_further_block(monkeypatch, over_rows):
    small_blocks(monkeypatch)
    X = MATRICES["tall"]()
    sums = GramSums(CentredRows(X, QUERY_PTR, n_threads=2), over_rows)
    sums.stop()
    assert list(sums.until_stopped([1, 2])) == []
    assert sums.so_far() is None


@pytest.mark.parametrize("over_rows", [False, True])
@pytest.mark.parametrize("n_threads", [1, 2])
def test_sums_are_the_matrix_itself_in_the_end(monkeypatch, n_threads, over_rows):
    small_blocks(monkeypatch)
    rows = CentredRows(MATRICES["tall"](), QUERY_PTR, n_threads=n_threads, **weights())
    sums = GramSums(rows, over_rows)
    found = centred_gram(rows, np.arange(100.0), sums=sums)
    whole = sums.so_far()
    assert whole.matrix is found.matrix
    assert whole.moment is found.moment
    assert whole.mass == pytest.approx(rows.mass, rel=1e-12)
    expected = SpectralPath(found).coefficients([0.3])[0]
    np.testing.assert_allclose(whole.coefficients(0.3), expected, rtol=1e-9, atol=1e-12)
