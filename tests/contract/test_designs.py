"""What every design must hold: the adjoint identity, equality with the dense product, the same bits."""

from itertools import pairwise

import numpy as np
import pytest
from scipy import sparse

from brute_force import random_view, relative_error
from marginrank.designs import (
    ColumnTransform,
    FactoredDesign,
    JoinedDesign,
    MatrixDesign,
    RecomputedDesign,
    TransformedDesign,
)
from marginrank.losses import QUERY_LOSSES

# Accumulated in float64: a few dozen roundings.
ROUNDING = 1e-13
N_COLS = 13  # no multiple of a register's width
SIZES = [1, 2, 30, 7, 1, 64, 330, 5] + [9] * 80
N_ROWS = sum(SIZES)


def dense_matrix(dtype):
    rng = np.random.default_rng(1)
    X = rng.normal(size=(N_ROWS + 20, N_COLS)) * (rng.random((N_ROWS + 20, N_COLS)) < 0.4)
    X[::7] = 0.0
    return X.astype(dtype)


def csr_matrix(dtype, index):
    X = sparse.csr_array(dense_matrix(dtype))
    X.indices, X.indptr = X.indices.astype(index), X.indptr.astype(index)
    return X


STORAGES = {f"dense {dtype}": dense_matrix(dtype) for dtype in ("float32", "float64")} | {
    f"csr {dtype} {index}": csr_matrix(dtype, index)
    for dtype in ("float32", "float64")
    for index in ("int32", "int64")
}
SCALE = np.random.default_rng(2).lognormal(size=N_COLS)
FACTOR = np.random.default_rng(4).normal(size=(N_COLS, N_COLS))


class Copies:
    """The simplest map of blocks: rows become themselves, made dense."""

    factor = None
    width = N_COLS

    def __init__(self, dtype):
        self.dtype = np.dtype(dtype)

    def transform_block(self, X, out):
        out[...] = X.toarray() if sparse.issparse(X) else X


FORMS = {
    "raw": (False, None),
    "scaled": (False, lambda inner: TransformedDesign(inner, ColumnTransform(scale=SCALE))),
    "factored": (False, lambda inner: FactoredDesign(inner, FACTOR)),
    "recomputed": (True, None),
    "recomputed and factored": (True, lambda inner: FactoredDesign(inner, FACTOR)),
    "joined": (False, lambda inner: JoinedDesign(FactoredDesign(inner, FACTOR[:, :4]), inner, n_threads=2)),
}


class Case:
    """A design, and the same rows as a dense float64 matrix."""

    def __init__(self, storage, listed, form):
        rng = np.random.default_rng(3)
        self.rng = rng
        X = STORAGES[storage]
        # A list may leave out rows, take them in any order, and repeat them.
        self.rows = rng.integers(X.shape[0], size=N_ROWS) if listed else None
        if not listed:
            X = X[:N_ROWS]
        self.X = X
        self.recomputed, self.wrap = FORMS[form]
        self.plain = np.asarray(X.toarray() if sparse.issparse(X) else X, dtype=np.float64)
        if listed:
            self.plain = self.plain[self.rows]
        if form == "scaled":
            self.plain = self.plain / SCALE
        elif form == "joined":
            self.plain = np.hstack([self.plain @ FACTOR[:, :4], self.plain])
        elif "factored" in form:
            self.plain = self.plain @ FACTOR

    def design(self, n_threads=1):
        if self.recomputed:
            inner = RecomputedDesign(Copies(self.X.dtype), self.X, self.rows, n_threads=n_threads)
        else:
            inner = MatrixDesign(self.X, self.rows, n_threads=n_threads)
        return self.wrap(inner) if self.wrap else inner


@pytest.fixture(params=[False, True], ids=["all rows", "listed rows"])
def listed(request):
    return request.param


# The forms for mapped features see the storage only through the others: two storages are enough.
CASES = [
    (storage, form)
    for form in FORMS
    for storage in STORAGES
    if form in ("raw", "scaled") or storage in ("dense float32", "csr float64 int32")
]


@pytest.fixture(params=CASES, ids=" ".join)
def case(request, listed):
    storage, form = request.param
    return Case(storage, listed, form)


# The scores of joined designs are sums, which no part has when its own pass could use them.
FUSING = [(storage, form) for storage, form in CASES if form != "joined"]


@pytest.fixture(params=FUSING, ids=" ".join)
def fusing_case(request, listed):
    storage, form = request.param
    return Case(storage, listed, form)


def test_shape_is_that_of_the_rows_taken(case):
    assert case.design().shape == case.plain.shape


def test_scores_equal_the_dense_product(case):
    w = case.rng.normal(size=case.plain.shape[1])
    assert relative_error(case.design().scores(w), case.plain @ w) < ROUNDING


def test_adjoint_equals_the_dense_product(case):
    g = case.rng.normal(size=N_ROWS) * (case.rng.random(N_ROWS) < 0.5)
    assert relative_error(case.design().adjoint(g), case.plain.T @ g) < ROUNDING


def test_adjoint_identity(case):
    design = case.design()
    w, g = case.rng.normal(size=case.plain.shape[1]), case.rng.normal(size=N_ROWS)
    assert design.scores(w) @ g == pytest.approx(w @ design.adjoint(g), rel=1e-11)


def test_the_adjoint_of_zero_is_zero(case):
    assert not case.design().adjoint(np.zeros(N_ROWS)).any()


def test_results_are_new_arrays(case):
    design = case.design()
    first, again = design.adjoint(np.ones(N_ROWS)), design.adjoint(np.zeros(N_ROWS))
    assert first.any()
    assert not again.any()


# Full groups of eight, and what is left over in every width.
BLOCKS = [1, 2, 3, 4, 5, 8, 9, 19]


@pytest.mark.parametrize("k", BLOCKS)
def test_products_with_several_vectors_equal_the_single_products(case, k):
    design = case.design()
    W, G = case.rng.normal(size=(k, case.plain.shape[1])), case.rng.normal(size=(k, N_ROWS))
    assert relative_error(design.scores_block(W), [design.scores(w) for w in W]) < ROUNDING
    assert relative_error(design.adjoint_block(G), [design.adjoint(g) for g in G]) < ROUNDING


def test_adjoint_identity_with_several_vectors(case):
    design = case.design()
    W, G = case.rng.normal(size=(7, case.plain.shape[1])), case.rng.normal(size=(5, N_ROWS))
    assert relative_error(design.scores_block(W) @ G.T, W @ design.adjoint_block(G).T) < 1e-12


def test_several_vectors_give_new_arrays_in_memory_order(case):
    design = case.design()
    first, again = design.adjoint_block(np.ones((3, N_ROWS))), design.adjoint_block(np.zeros((3, N_ROWS)))
    assert first.any()
    assert not again.any()
    assert first.flags.c_contiguous
    assert design.scores_block(np.zeros((0, case.plain.shape[1]))).shape == (0, N_ROWS)


@pytest.mark.parametrize("name", QUERY_LOSSES)
@pytest.mark.parametrize("weight", [None, "real"])
def test_fused_equals_its_parts(fusing_case, name, weight):
    case = fusing_case
    view = random_view(case.rng, SIZES, weight=weight)
    loss = QUERY_LOSSES[name](view, weighting="queries", n_threads=1)
    design = case.design()
    assert design.fuses(loss)
    w, v = case.rng.normal(size=(2, case.plain.shape[1]))
    found = design.evaluate(w, loss)
    apart = loss.at(design.scores(w))
    assert found.w is w
    assert np.array_equal(found.scores, design.scores(w))
    assert found.value == pytest.approx(apart.value, rel=1e-12)
    assert relative_error(found.score_gradient, apart.gradient) < 1e-12
    assert relative_error(found.gradient, design.adjoint(apart.gradient)) < 1e-12
    product = design.hvp(w, v, loss, found.scores)
    assert relative_error(product, design.adjoint(apart.hvp(design.scores(v)))) < 1e-12
    assert np.array_equal(product, design.hvp(w, v, loss))


@pytest.mark.parametrize("name", QUERY_LOSSES)
def test_a_split_evaluation_is_its_parts(case, name):
    """One long ranking: scores and loss now, the adjoint when somebody asks for the gradient."""
    view = random_view(case.rng, [N_ROWS])
    loss = QUERY_LOSSES[name](view, weighting="pairs", n_threads=1)
    design = case.design()
    assert not design.fuses(loss)
    assert design.brings_scores(loss)
    w, v = case.rng.normal(size=(2, case.plain.shape[1]))
    found, apart = design.evaluate(w, loss), loss.at(design.scores(w))
    assert found.w is w
    assert found.gradient is None
    assert np.array_equal(found.scores, design.scores(w))
    assert found.value == apart.value
    assert np.array_equal(found.score_gradient, apart.gradient)
    product = design.hvp(w, v, loss, found.scores)
    assert np.array_equal(product, design.adjoint(apart.hvp(design.scores(v))))
    assert np.array_equal(product, design.hvp(w, v, loss))


@pytest.mark.parametrize("sizes", [SIZES, [N_ROWS]], ids=["fused", "split"])
def test_an_evaluation_says_how_much_of_x_it_read(case, sizes):
    loss = QUERY_LOSSES["hinge"](random_view(case.rng, sizes), weighting="pairs", n_threads=1)
    design = case.design()
    fused = design.fuses(loss)
    assert fused == (sizes is SIZES and not isinstance(design, JoinedDesign))
    assert design.evaluate(case.rng.normal(size=case.plain.shape[1]), loss).passes == (1.0 if fused else 0.5)
    at_origin = design.evaluate(np.zeros(case.plain.shape[1]), loss)
    assert at_origin.passes == (1.0 if fused else 0.0)
    assert not at_origin.scores.any()


@pytest.mark.parametrize("n_threads", [2, 4])
def test_bits_do_not_depend_on_the_threads(case, n_threads):
    view = random_view(case.rng, SIZES)
    loss = QUERY_LOSSES["squared_hinge"](view, weighting="pairs", n_threads=1)
    one, many = case.design(1), case.design(n_threads)
    (w, v), g = case.rng.normal(size=(2, case.plain.shape[1])), case.rng.normal(size=N_ROWS)
    assert np.array_equal(many.scores(w), one.scores(w))
    assert np.array_equal(many.adjoint(g), one.adjoint(g))
    W, G = case.rng.normal(size=(6, case.plain.shape[1])), case.rng.normal(size=(6, N_ROWS))
    assert np.array_equal(many.scores_block(W), one.scores_block(W))
    assert np.array_equal(many.adjoint_block(G), one.adjoint_block(G))
    assert one.fuses(loss) != isinstance(one, JoinedDesign)
    mine, other = vars(many.evaluate(w, loss)), vars(one.evaluate(w, loss))
    assert all(np.array_equal(mine[name], other[name]) for name in other)
    scores = one.scores(w)
    assert np.array_equal(many.hvp(w, v, loss, scores), one.hvp(w, v, loss, scores))


def test_centred_squares_and_products_of_all_rows_equal_the_definition(case):
    query_ptr = np.concatenate(([0], np.cumsum(SIZES)))
    row_weight = case.rng.random(N_ROWS) * (case.rng.random(N_ROWS) < 0.8)
    row_weight[query_ptr[3] : query_ptr[4]] = 0.0
    want = np.zeros((case.plain.shape[1], case.plain.shape[1]))
    for first, last in pairwise(query_ptr):
        X, h = case.plain[first:last], row_weight[first:last]
        if h.any():
            centred = X - np.average(X, axis=0, weights=h)
            want += centred.T @ (h[:, None] * centred)
    products = case.design().centred_products(row_weight, query_ptr)
    assert relative_error(products, want) < 1e-11
    assert np.array_equal(products, case.design(n_threads=3).centred_products(row_weight, query_ptr))
    assert relative_error(case.design().centred_squares(row_weight, query_ptr), np.diag(want)) < 1e-11
