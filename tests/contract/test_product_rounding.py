"""What designs say about the rounding of their products holds in exact arithmetic."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from scipy import sparse

from brute_force import random_view
from marginrank.designs import (
    ChunkedDesign,
    ColumnTransform,
    ComparedRows,
    FactoredDesign,
    JoinedDesign,
    MatrixDesign,
    RecomputedDesign,
    TransformedDesign,
    column_transform,
    matrix_design,
)
from marginrank.designs.lockstep import in_lockstep
from marginrank.designs.remote import RemoteDesign
from marginrank.designs.shared_reads import ProductsTogether, SharingDesign
from marginrank.losses import QUERY_LOSSES
from marginrank.storage.chunks import ChunkedMatrix
from marginrank.storage.engines import RemoteMatrix, SerialEngine

UNIT = Fraction(1, 2**53)
SIZES = [1, 5, 2, *[3] * 66]
N_ROWS, N_COLS = sum(SIZES), 11
BOUNDS = np.array([0, 6, 8, 101, N_ROWS])


def nasty(dtype):
    """Return columns of sizes from 1e-8 to 1e8, offsets far above the spread, zeros, and one constant."""
    rng = np.random.default_rng(5)
    X = rng.normal(size=(N_ROWS, N_COLS)) * 10.0 ** rng.integers(-8, 9, size=N_COLS)
    X[:, 1] += 1e8
    X[:, 2] = 3e7 + np.repeat(np.arange(len(SIZES)), SIZES)
    X[:, 3] = 0.1
    X[rng.random((N_ROWS, N_COLS)) < 0.2] = 0.0
    return X.astype(dtype)


def csr(dtype, index="int32"):
    X = sparse.csr_array(nasty(dtype))
    X.indices, X.indptr = X.indices.astype(index), X.indptr.astype(index)
    return X


def split(dtype):
    """Return a CSR matrix whose entries are stored in three parts that nearly cancel out, in no order."""
    X = csr(dtype)
    rng = np.random.default_rng(6)
    rows = np.repeat(np.arange(N_ROWS), np.diff(X.indptr))
    large = (rng.normal(size=X.nnz) * 1e6).astype(dtype)
    data = np.concatenate([X.data, large, -large])
    mixed = rng.permutation(len(data))
    order = mixed[np.argsort(np.tile(rows, 3)[mixed], kind="stable")]
    return sparse.csr_array((data[order], np.tile(X.indices, 3)[order], 3 * X.indptr), shape=X.shape)


def plain(X):
    """Return the rows as exact numbers; parts of an entry are added."""
    if not sparse.issparse(X):
        return [[Fraction(float(x)) for x in row] for row in X]
    rows = [[Fraction(0)] * X.shape[1] for _ in range(X.shape[0])]
    for i in range(X.shape[0]):
        for s in range(X.indptr[i], X.indptr[i + 1]):
            rows[i][X.indices[s]] += Fraction(float(X.data[s]))
    return rows


class Copies:
    """The simplest map of blocks: rows become themselves, made dense."""

    factor = None
    width = N_COLS
    dtype = np.dtype(np.float64)

    def transform_block(self, X, out):
        out[...] = X


SCALE = np.random.default_rng(2).lognormal(sigma=4.0, size=N_COLS)
FACTOR = np.random.default_rng(4).normal(size=(N_COLS, 7)) * 10.0 ** np.arange(-3, 4)
ROWS = np.random.default_rng(7).permutation(N_ROWS)


def afar(X):
    return RemoteMatrix(SerialEngine(lambda k: X[BOUNDS[k] : BOUNDS[k + 1]]), BOUNDS, N_COLS, X.dtype)


def on_disk(X):
    return ChunkedMatrix(lambda k: X[BOUNDS[k] : BOUNDS[k + 1]], BOUNDS, N_COLS, X.dtype)


def scaled(rows):
    return [[x / Fraction(float(s)) for x, s in zip(row, SCALE, strict=True)] for row in rows]


def factored(rows):
    F = [[Fraction(float(x)) for x in row] for row in FACTOR]
    return [[sum(row[k] * F[k][j] for k in range(N_COLS)) for j in range(7)] for row in rows]


def cases():
    dense, single = nasty("float64"), nasty("float32")
    yield "dense", MatrixDesign(dense, n_threads=2), plain(dense)
    yield "dense float32", MatrixDesign(single, n_threads=2), plain(single)
    listed = [plain(dense)[row] for row in ROWS]
    yield "listed rows", MatrixDesign(dense, ROWS, n_threads=1), listed
    for dtype in ("float32", "float64"):
        for index in ("int32", "int64"):
            X = csr(dtype, index)
            yield f"csr {dtype} {index}", MatrixDesign(X, n_threads=2), plain(X)
    yield "csr with parts", MatrixDesign(split("float64"), n_threads=1), plain(split("float64"))
    yield "csr float32 with parts", MatrixDesign(split("float32"), n_threads=1), plain(split("float32"))
    yield (
        "scaled",
        TransformedDesign(MatrixDesign(dense, n_threads=1), ColumnTransform(scale=SCALE)),
        scaled(plain(dense)),
    )
    recomputed = RecomputedDesign(Copies(), dense, n_threads=2)
    yield "recomputed", recomputed, plain(dense)
    yield "factored", FactoredDesign(MatrixDesign(dense, n_threads=1), FACTOR), factored(plain(dense))
    yield "recomputed, factored", FactoredDesign(recomputed, FACTOR), factored(plain(dense))
    joined = JoinedDesign(FactoredDesign(recomputed, FACTOR), MatrixDesign(single, n_threads=1), n_threads=1)
    yield "joined", joined, [a + b for a, b in zip(factored(plain(dense)), plain(single), strict=True)]
    for kind, X in {"dense": dense, "csr": csr("float64")}.items():
        yield f"chunks of {kind}", ChunkedDesign(on_disk(X), n_threads=2), plain(X)
        yield f"remote {kind}", RemoteDesign(afar(X)), plain(X)

    yield from transformed_cases()


def offsets(dtype):
    """Return columns with offsets up to 1e7 times their spread, and one that is constant within queries."""
    X = nasty(dtype)
    rng = np.random.default_rng(12)
    X[:, 1] = 2.0**22 + rng.normal(size=N_ROWS)
    X[:, 4] = -3e6 + rng.integers(5, size=N_ROWS)
    X[:, 5] = 1e7 + np.repeat(np.arange(len(SIZES)), SIZES)
    X[:, 6] = 3.0 + rng.random(N_ROWS)
    return X


def transformed_cases():
    compared = ComparedRows(query_ptr=np.concatenate(([0], np.cumsum(SIZES))))
    kinds = {"dense": np.array, "csr": sparse.csr_array, "chunks": on_disk, "remote": afar}
    for dtype in ("float32", "float64"):
        for kind, make in kinds.items():
            for scale in (None, "standard"):
                X = make(offsets(dtype))
                transform = column_transform(X, None, compared, scale=scale, n_threads=2)
                assert np.flatnonzero(transform.shift).tolist() == [1, 4]
                assert np.flatnonzero(transform.constant).tolist() == [5]
                design = matrix_design(X, None, transform, n_threads=2)
                yield f"shifted {kind} {dtype} {scale}", design, exactly(plain(offsets(dtype)), transform)


def exactly(rows, transform):
    """Return the rows of a transform in rational arithmetic."""
    scale = np.ones(N_COLS) if transform.scale is None else transform.scale
    factor = [0 if gone else 1 / s for gone, s in zip(transform.constant, exact(scale), strict=True)]
    shift = exact(transform.shift)
    return [[(x - c) * f for x, c, f in zip(row, shift, factor, strict=True)] for row in rows]


def exact(values):
    return [Fraction(float(x)) for x in values]


CASES = {name: (design, rows) for name, design, rows in cases()}


@pytest.fixture(params=CASES)
def case(request):
    return CASES[request.param]


def vectors(n, seed):
    """Return vectors of numbers of many sizes, among them one of a single sign."""
    rng = np.random.default_rng(seed)
    V = rng.normal(size=(5, n)) * 10.0 ** rng.integers(-4, 5, size=(5, n))
    V[0] = np.abs(V[0])
    V[1, ::2] = 0.0
    return V


def check_scores(design, rows, w, computed):
    rounding = design.rounding()
    w = exact(w)
    size = sum(c * abs(x) for c, x in zip(exact(rounding.column), w, strict=True))
    room = Fraction(rounding.scores_steps) * UNIT * size
    for row, score in zip(rows, exact(computed), strict=True):
        assert abs(score - sum(x * y for x, y in zip(row, w, strict=True))) <= room


def check_adjoint(design, rows, g, computed):
    rounding = design.rounding()
    g = exact(g)
    size = Fraction(rounding.adjoint_steps) * UNIT * sum(map(abs, g))
    for j, (found, bound) in enumerate(zip(exact(computed), exact(rounding.column), strict=True)):
        assert abs(found - sum(row[j] * x for row, x in zip(rows, g, strict=True))) <= size * bound


def test_no_entry_is_larger_than_the_bound_of_its_column(case):
    design, rows = case
    for j, bound in enumerate(exact(design.rounding().column)):
        assert max(abs(row[j]) for row in rows) <= bound


def test_products_lie_within_the_rounding_that_is_stated(case):
    design, rows = case
    n_rows, n_cols = design.shape
    W, G = vectors(n_cols, 8), vectors(n_rows, 9)
    for w, together in zip(W, design.scores_block(W), strict=True):
        check_scores(design, rows, w, design.scores(w))
        check_scores(design, rows, w, together)
    for g, together in zip(G, design.adjoint_block(G), strict=True):
        check_adjoint(design, rows, g, design.adjoint(g))
        check_adjoint(design, rows, g, together)


def test_fused_products_lie_within_the_rounding_that_is_stated(case):
    design, rows = case
    view = random_view(np.random.default_rng(3), SIZES)
    loss = QUERY_LOSSES["squared_hinge"](view, weighting="pairs", n_threads=1)
    assert design.fuses(loss) != isinstance(design, JoinedDesign)
    for w in vectors(design.shape[1], 10):
        found = design.evaluate(w, loss)
        if not design.fuses(loss):
            found = replace(found, gradient=design.adjoint(found.score_gradient))
        if not design.brings_scores(loss):  # remote: the loss goes to the rows
            assert found.scores is None
            assert found.score_gradient is None
            return
        check_scores(design, rows, w, found.scores)
        check_adjoint(design, rows, found.score_gradient, found.gradient)


def test_products_of_folds_together_lie_within_the_rounding_that_is_stated():
    X = nasty("float64")
    folds = [np.arange(0, N_ROWS, 2), np.arange(1, N_ROWS, 3)]
    design, rows = MatrixDesign(X, n_threads=1), plain(X)

    def check(number, asks):
        own = [rows[k] for k in folds[number]]
        sharing = SharingDesign(MatrixDesign(X, folds[number], n_threads=1), asks)
        for w in vectors(len(rows[0]), 11 + number):
            check_scores(sharing, own, w, sharing.scores(w))
        for g in vectors(len(own), 13 + number):
            check_adjoint(sharing, own, g, sharing.adjoint(g))

    in_lockstep([lambda asks, k=k: check(k, asks) for k in range(2)], ProductsTogether(design, folds))


def test_the_statement_is_not_far_from_what_rounding_can_do():
    """A sum of n terms of one size can be off by about n units: a bound of many times that says little."""
    found = MatrixDesign(nasty("float64"), n_threads=1).rounding()
    assert found.scores_steps <= 2 * N_COLS
    assert found.adjoint_steps <= 2 * N_ROWS


def test_what_is_subtracted_leaves_no_rounding():
    """All values lie within a factor of two of the shift, so that the difference is a number of float64."""
    X = offsets("float64")
    compared = ComparedRows(query_ptr=np.concatenate(([0], np.cumsum(SIZES))))
    transform = column_transform(X, None, compared, n_threads=1)
    less = exactly(plain(X), transform)
    computed = X - transform.shift
    for j in np.flatnonzero(transform.shift):
        assert [row[j] for row in less] == exact(computed[:, j])
