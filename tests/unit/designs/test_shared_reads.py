"""Products of folds that share reads of X: those of each fold alone, whatever the others request."""

import numpy as np
import pytest
from scipy import sparse

from brute_force import random_view, relative_error
from marginrank.designs import ColumnTransform, TransformedDesign, matrix_design
from marginrank.designs.lockstep import in_lockstep
from marginrank.designs.shared_chunks import ChunksTogether
from marginrank.designs.shared_reads import ProductsTogether, SharingDesign
from marginrank.losses import QUERY_LOSSES
from marginrank.storage.chunks import ChunkedMatrix

# Accumulated in float64, in another order: a few dozen roundings.
ROUNDING = 1e-13
SIZES = np.array([3, 40, 1, 7, 64, 330, 5, *[9] * 90, 2])
PTR = np.concatenate(([0], np.cumsum(SIZES)))
N_ROWS, N_COLS = int(PTR[-1]), 11
# Chunks that end with queries; one holds a single query, which some folds leave out.
BORDERS = [0, int(PTR[5]), int(PTR[6]), int(PTR[50]), N_ROWS]
FOLD_OF_QUERY = np.random.default_rng(5).integers(5, size=len(SIZES))


def matrix(kind):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(N_ROWS, N_COLS)) * (rng.random((N_ROWS, N_COLS)) < 0.5)
    return sparse.csr_matrix(X) if kind == "csr" else X


class Folds:
    """The rows of some folds of queries, whose designs are asked in lockstep."""

    def __init__(self, X, n_folds, *, chunks, n_threads=1):
        self.X = X
        self.queries = [np.flatnonzero(k != FOLD_OF_QUERY) for k in range(n_folds)]
        self.rows = [np.flatnonzero(np.repeat(k != FOLD_OF_QUERY, SIZES)) for k in range(n_folds)]
        self.loads = []
        if chunks:
            lies = ChunkedMatrix(self._load, np.array(BORDERS), N_COLS, X.dtype)
            self.together = ChunksTogether(lies, self.rows, n_threads=n_threads)
        else:
            lies = X
            every = np.unique(np.concatenate(self.rows))
            self.positions = [np.searchsorted(every, rows) for rows in self.rows]
            self.together = ProductsTogether(matrix_design(X, every, n_threads=n_threads), self.positions)
        self.alone = [matrix_design(lies, rows, n_threads=n_threads) for rows in self.rows]

    def _load(self, number):
        self.loads.append(number)
        return self.X[BORDERS[number] : BORDERS[number + 1]]

    def loss(self, k, name="squared_hinge"):
        view = random_view(np.random.default_rng(k), SIZES[self.queries[k]].tolist(), weight="real")
        return QUERY_LOSSES[name](view, weighting="queries", n_threads=1)

    def run(self, *work):
        """Do some work with each fold's design, all in lockstep."""

        def with_design(do, k):
            fusing = self.together.fusing
            return lambda asks: do(SharingDesign(self.alone[k], asks, fusing=fusing), k)

        return in_lockstep([with_design(do, k) for k, do in enumerate(work)], self.together)


@pytest.fixture(params=["dense", "csr"], name="X")
def stored(request):
    return matrix(request.param)


@pytest.fixture(params=[False, True], ids=["memory", "chunks"], name="chunks")
def where(request):
    return request.param


def vectors(n, size):
    return np.random.default_rng(n).normal(size=(n, size))


def test_scores_and_adjoints_are_those_of_the_rows_alone(X, chunks):
    folds = Folds(X, 3, chunks=chunks)

    def work(design, k):
        W, G = vectors(k + 1, N_COLS), vectors(k + 1, len(folds.rows[k]))
        return design.scores_block(W), design.adjoint_block(G), design.scores(W[0]), design.adjoint(G[0])

    found = folds.run(work, work, work)
    for k, answers in enumerate(found):
        plain = np.asarray(X.toarray() if sparse.issparse(X) else X)[folds.rows[k]]
        W, G = vectors(k + 1, N_COLS), vectors(k + 1, len(folds.rows[k]))
        for mine, expected in zip(answers, (W @ plain.T, G @ plain, plain @ W[0], G[0] @ plain), strict=True):
            assert relative_error(mine, expected) < ROUNDING


def test_requests_of_different_kinds_are_answered(X, chunks):
    folds = Folds(X, 3, chunks=chunks)
    first = [lambda design, k: design.scores(vectors(1, N_COLS)[0])] * 2
    g = vectors(1, len(folds.rows[2]))[0]
    *scores, adjoint = folds.run(*first, lambda design, k: design.adjoint(g))
    for k in range(2):
        assert relative_error(scores[k], folds.alone[k].scores(vectors(1, N_COLS)[0])) < ROUNDING
    assert relative_error(adjoint, folds.alone[2].adjoint(g)) < ROUNDING


@pytest.mark.parametrize("name", QUERY_LOSSES)
def test_fused_products_over_chunks_are_those_of_the_rows_alone(X, name):
    folds = Folds(X, 4, chunks=True, n_threads=2)

    def work(design, k):
        loss = folds.loss(k, name)
        assert design.fuses(loss)
        w, v = vectors(2, N_COLS)
        found = design.evaluate(w, loss)
        return *vars(found).values(), design.hvp(w, v, loss, found.scores)

    for k, found in enumerate(folds.run(work, work, work, work)):
        loss = folds.loss(k, name)
        w, v = vectors(2, N_COLS)
        alone = folds.alone[k].evaluate(w, loss)
        expected = *vars(alone).values(), folds.alone[k].hvp(w, v, loss, alone.scores)
        for mine, other in zip(found, expected, strict=True):
            assert relative_error(mine, other) < 1e-12


def test_whatever_folds_request_each_chunk_is_loaded_once(X):
    folds = Folds(X, 4, chunks=True)
    w, rows = vectors(1, N_COLS)[0], folds.rows
    losses = [folds.loss(k) for k in range(4)]
    folds.run(
        lambda design, k: design.scores(w),
        lambda design, k: design.adjoint(np.ones(len(rows[1]))),
        lambda design, k: design.evaluate(w, losses[2]),
        lambda design, k: design.hvp(np.zeros(N_COLS), w, losses[3], np.zeros(len(rows[3]))),
    )
    assert folds.loads == [0, 1, 2, 3]


def test_folds_out_of_step_find_together_again():
    # One fold starts with an adjoint that the others do not ask for; served first, it goes with them after.
    folds = Folds(matrix("csr"), 3, chunks=False)

    def alternate(design, k):
        for _ in range(5):
            design.scores(np.ones(N_COLS))
            design.adjoint(np.ones(len(folds.rows[k])))

    def late(design, k):
        design.adjoint(np.ones(len(folds.rows[k])))
        alternate(design, k)

    folds.run(alternate, late, alternate)
    assert folds.together.n_products == 11


@pytest.mark.parametrize("n_threads", [1, 3])
def test_bits_depend_neither_on_threads_nor_on_the_others_that_go_along(X, chunks, n_threads):
    def work(design, k):
        G = vectors(2, design.shape[0])
        return design.scores_block(vectors(2, N_COLS)), design.adjoint_block(G)

    def nothing(design, k):
        return None

    expected = Folds(X, 5, chunks=chunks).run(work, work, work, work, work)
    again = Folds(X, 5, chunks=chunks, n_threads=n_threads).run(work, nothing, nothing, work, work)
    for k in (0, 3, 4):
        assert all(np.array_equal(a, b) for a, b in zip(expected[k], again[k], strict=True))


def test_folds_that_take_all_rows_share_them(X, chunks):
    folds = Folds(X, 2, chunks=chunks)
    lies = ChunkedMatrix(folds._load, np.array(BORDERS), N_COLS, X.dtype)
    whole = matrix_design(X, n_threads=1)
    together = (
        ChunksTogether(lies, [None, None], n_threads=1) if chunks else ProductsTogether(whole, [None, None])
    )
    w, g = vectors(1, N_COLS)[0], vectors(1, N_ROWS)[0]

    def work(asks):
        design = SharingDesign(whole, asks)
        return design.scores(w), design.adjoint(g)

    for scores, adjoint in in_lockstep([work, work], together):
        assert relative_error(scores, whole.scores(w)) < ROUNDING
        assert relative_error(adjoint, whole.adjoint(g)) < ROUNDING


def test_samples_are_those_of_the_fold_and_scales_go_around(X, chunks):
    folds = Folds(X, 2, chunks=chunks)
    scale = np.linspace(1.0, 3.0, N_COLS)
    ptr = [np.concatenate(([0], np.cumsum(SIZES[queries]))) for queries in folds.queries]

    def work(design, k):
        weights = np.ones(design.shape[0])
        scaled = TransformedDesign(design, ColumnTransform(scale=scale))
        return scaled.centred_squares(weights, ptr[k]), scaled.scores(np.ones(N_COLS))

    for k, (squares, scores) in enumerate(folds.run(work, work)):
        own = TransformedDesign(folds.alone[k], ColumnTransform(scale=scale))
        assert np.array_equal(squares, own.centred_squares(np.ones(own.shape[0]), ptr[k]))
        assert relative_error(scores, own.scores(np.ones(N_COLS))) < ROUNDING
