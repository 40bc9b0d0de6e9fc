"""Designs over mapped features: the three forms agree, and memory decides between them."""

import tracemalloc

import numpy as np
import pytest
from scipy import sparse

from brute_force import random_view, relative_error
from marginrank.designs import FactoredDesign, MatrixDesign, RecomputedDesign, mapped, mapped_design
from marginrank.designs.blocks import block_rows, groups, map_rows, query_runs, row_blocks
from marginrank.exceptions import MarginRankError
from marginrank.feature_maps import FourierFeatures, NystroemFeatures
from marginrank.losses import HingeLoss, SquaredHingeLoss
from marginrank.system.threads import run_parallel

SIZES = [40, 1, 75, 12, 3] * 12
N_ROWS = sum(SIZES)
MAPS = {
    "fourier": FourierFeatures(n_components=300, dtype="float64", random_state=0),
    "nystroem": NystroemFeatures(n_components=120, dtype="float64", random_state=0),
    "nystroem of low rank": NystroemFeatures(n_components=120, rank=10, dtype="float64", random_state=0),
    "laplacian": NystroemFeatures("laplacian", n_components=50, dtype="float64", random_state=0),
}


class Case:
    """A fitted map, rows in an order of their own, and the features of these rows."""

    def __init__(self, name, storage):
        self.rng = np.random.default_rng(1)
        X = self.rng.random((N_ROWS + 50, 6)) * (self.rng.random((N_ROWS + 50, 6)) < 0.5)
        self.X = sparse.csr_array(X) if storage == "csr" else X
        self.rows = self.rng.permutation(len(X))[:N_ROWS]
        mapping = MAPS[name].fit(self.X)
        self.map = mapping.block_map()
        self.Z = mapping.transform(self.X[self.rows])

    def design(self, store, n_threads=1):
        return mapped_design(self.map, self.X, self.rows, n_threads=n_threads, store=store)


@pytest.fixture(params=["dense", "csr"])
def storage(request):
    return request.param


@pytest.fixture(params=MAPS)
def case(request, storage):
    return Case(request.param, storage)


@pytest.mark.parametrize("store", ["memory", "recompute"])
def test_products_equal_those_with_the_transformed_rows(case, store):
    design = case.design(store)
    assert design.shape == case.Z.shape
    w, g = case.rng.normal(size=case.Z.shape[1]), case.rng.normal(size=N_ROWS)
    # The factor of a Nystroem map has entries of up to 1e6, so both sides of the comparison lose digits.
    assert relative_error(design.scores(w), case.Z @ w) < 1e-8
    assert relative_error(design.adjoint(g), case.Z.T @ g) < 1e-8
    assert design.scores(w) @ g == pytest.approx(w @ design.adjoint(g), rel=1e-9)


@pytest.mark.parametrize("loss_of", [HingeLoss, SquaredHingeLoss])
def test_fused_passes_of_both_forms_agree(case, loss_of):
    loss = loss_of(random_view(case.rng, SIZES), weighting="pairs", n_threads=1)
    w, v = case.rng.normal(size=(2, case.Z.shape[1]))
    stored, recomputed = case.design("memory"), case.design("recompute")
    assert recomputed.fuses(loss)
    found = recomputed.evaluate(w, loss)
    at = loss.at(case.Z @ w)
    assert relative_error(found.scores, case.Z @ w) < 1e-8
    assert found.value == pytest.approx(at.value, rel=1e-8)
    assert relative_error(found.score_gradient, at.gradient) < 1e-8
    assert relative_error(found.gradient, stored.adjoint(at.gradient)) < 1e-8
    product = recomputed.hvp(w, v, loss, found.scores)
    assert relative_error(product, stored.adjoint(at.hvp(stored.scores(v)))) < 1e-8


def test_centred_squares_of_both_forms_agree(case):
    query_ptr = np.concatenate(([0], np.cumsum(SIZES)))
    weight = case.rng.random(N_ROWS)
    stored, recomputed = (
        case.design(store).centred_squares(weight, query_ptr) for store in ("memory", "recompute")
    )
    assert relative_error(recomputed, stored) < 1e-8


@pytest.mark.parametrize("store", ["memory", "recompute"])
def test_bits_do_not_depend_on_the_threads(case, store):
    # Stored rows are fused from 64 queries on.
    sizes = SIZES if store == "recompute" else np.diff(np.linspace(0, N_ROWS, 66).astype(int)).tolist()
    loss = SquaredHingeLoss(random_view(case.rng, sizes), weighting="pairs", n_threads=1)
    one, many = case.design(store), case.design(store, n_threads=3)
    w, g = case.rng.normal(size=case.Z.shape[1]), case.rng.normal(size=N_ROWS)
    assert np.array_equal(one.scores(w), many.scores(w))
    assert np.array_equal(one.adjoint(g), many.adjoint(g))
    assert one.fuses(loss)
    mine, other = vars(many.evaluate(w, loss)), vars(one.evaluate(w, loss))
    assert all(np.array_equal(mine[name], other[name]) for name in other)


def test_each_map_takes_the_form_that_suits_it():
    kinds = {name: type(Case(name, "dense").design("memory")) for name in MAPS}
    assert kinds == {
        "fourier": MatrixDesign,
        "nystroem": FactoredDesign,
        "nystroem of low rank": MatrixDesign,
        "laplacian": FactoredDesign,
    }
    assert isinstance(Case("fourier", "dense").design("recompute"), RecomputedDesign)


def test_memory_decides_where_nobody_said(monkeypatch):
    case = Case("fourier", "dense")
    assert mapped.stored_bytes(case.map, N_ROWS) == case.Z.nbytes
    monkeypatch.setattr(mapped, "physical_memory", lambda: 4 * case.Z.nbytes)
    assert isinstance(case.design("auto"), MatrixDesign)
    monkeypatch.setattr(mapped, "physical_memory", lambda: 4 * case.Z.nbytes - 1)
    assert isinstance(case.design("auto"), RecomputedDesign)


def test_an_unknown_store_is_refused():
    with pytest.raises(
        MarginRankError, match="store must be one of 'auto', 'memory', 'recompute'; got 'disk'"
    ):
        Case("fourier", "dense").design("disk")


def test_one_long_query_is_not_fused():
    case = Case("fourier", "dense")
    loss = SquaredHingeLoss(random_view(case.rng, [N_ROWS]), weighting="pairs", n_threads=1)
    assert not case.design("recompute").fuses(loss)


def test_ranges_of_queries_add_up_to_the_loss():
    rng = np.random.default_rng(2)
    loss = SquaredHingeLoss(random_view(rng, SIZES), weighting="pairs", n_threads=1)
    scores, direction = rng.normal(size=(2, N_ROWS))
    gradient, product = np.empty(N_ROWS), np.empty(N_ROWS)
    bounds = [(0, 7), (7, 7), (7, 30), (30, len(SIZES))]
    value = sum(loss.compiled.evaluate_queries(*b, scores, gradient) for b in bounds)
    for b in bounds:
        loss.compiled.hessian_queries(*b, scores, direction, product)
    at = loss.at(scores)
    assert value == pytest.approx(at.value, rel=1e-12)
    assert np.array_equal(gradient, at.gradient)
    assert np.array_equal(product, at.hvp(direction))
    for bad in [(-1, 2), (3, 2), (0, len(SIZES) + 1)]:
        with pytest.raises(ValueError, match="queries must lie within those of the loss"):
            loss.compiled.evaluate_queries(*bad, scores, gradient)
    assert np.array_equal(loss.compiled.query_ptr, np.concatenate(([0], np.cumsum(SIZES))))


@pytest.mark.parametrize("n_rows", [1, 2, 99, 100, 101, 1000])
def test_blocks_cover_every_row_once(n_rows):
    blocks = row_blocks(n_rows, 100)
    assert [k for first, last in blocks for k in range(first, last)] == list(range(n_rows))
    shares = groups(len(blocks) * 37)
    assert [k for share in shares for k in share] == list(range(len(blocks) * 37))
    assert len(shares) <= 64


def test_runs_of_queries_cover_every_query_once():
    query_ptr = np.concatenate(([0], np.cumsum([3, 0, 500, 1, 0, 99, 99, 2])))
    runs = query_runs(query_ptr, 100)
    assert [q for first, last in runs for q in range(first, last)] == list(range(8))
    assert all(query_ptr[last] - query_ptr[first] <= 100 or last == first + 1 for first, last in runs)


def test_an_error_in_a_block_reaches_the_caller():
    def fail(k):
        if k == 3:
            raise RuntimeError("block 3")

    for n_threads in (1, 3):
        with pytest.raises(RuntimeError, match="block 3"):
            run_parallel(fail, range(50), n_threads)


def test_nothing_is_held_twice():
    X = np.random.default_rng(0).random((20_000, 8)).astype(np.float32)
    mapping = FourierFeatures(n_components=400, random_state=0).fit(X).block_map()
    tracemalloc.start()
    Z = map_rows(mapping, X, n_threads=2)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 1.1 * Z.nbytes
    assert len(X) > 10 * block_rows(mapping)  # else this could not tell a block from a copy


class _Counters:
    """A cheap map of many columns: row i and column j give the product of x_i and j."""

    factor = None
    dtype = np.dtype("float64")
    width = 8000

    def transform_block(self, X, out):
        np.multiply(X, np.arange(self.width, dtype=np.float64), out=out)


def test_the_rounding_of_recomputed_products_takes_no_memory_for_every_block():
    X = np.linspace(-2.0, 1.0, 6400)[:, None]
    design = RecomputedDesign(_Counters(), X, n_threads=2)
    block_bytes = block_rows(_Counters()) * _Counters.width * 8
    tracemalloc.start()
    try:
        column = design.rounding().column
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert np.array_equal(column, 2.0 * np.arange(_Counters.width))
    assert peak < 3 * block_bytes
