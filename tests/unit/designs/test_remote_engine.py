"""Rows that lie elsewhere: products and losses as in memory, to the bit for any placement of the chunks."""

import pickle

import numpy as np
import pytest
from scipy import sparse

from brute_force import random_view, relative_error
from marginrank.designs import ChunkedDesign, ColumnTransform, MatrixDesign, TransformedDesign, matrix_design
from marginrank.designs.compared import column_scale
from marginrank.designs.remote import RemoteDesign
from marginrank.exceptions import MarginRankError
from marginrank.losses import QUERY_LOSSES, LeastSquaresLoss
from marginrank.losses.structured import STRUCTURED_TARGETS, CombinedLoss, structured_loss
from marginrank.solvers.objective import Objective
from marginrank.storage.chunks import ChunkedMatrix, TreeSum
from marginrank.storage.engines import RemoteMatrix, SerialEngine, finished_sum, partial_sums, subtrees

# Sums in float64, in another order: a few dozen roundings.
ROUNDING = 1e-12
SIZES = [3, 40, 2, 7, 64, 330, 5, *[9] * 90, 2]
PTR = np.concatenate(([0], np.cumsum(SIZES)))
N_ROWS, N_COLS = int(PTR[-1]), 5
BORDERS = np.array([0, PTR[2], PTR[5], PTR[6], PTR[30], PTR[70], PTR[71], N_ROWS])
CUTS = np.array([0, 10, 500, 501, N_ROWS])


def matrix(kind="dense"):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(N_ROWS, N_COLS)) * (rng.random((N_ROWS, N_COLS)) < 0.6)
    return sparse.csr_matrix(X) if kind == "csr" else X


def remote(X, bounds, groups=None, n_threads=1):
    engine = SerialEngine(lambda k: X[bounds[k] : bounds[k + 1]], n_threads, groups)
    return RemoteMatrix(engine, bounds, X.shape[1], X.dtype)


def placements(n_chunks):
    """Return everything together, neighbours together, dealt out, and each chunk alone, last one first."""
    chunks = list(range(n_chunks))
    half = n_chunks // 2
    return [None, [chunks[:half], chunks[half:]], [chunks[::2], chunks[1::2]], [[k] for k in chunks[::-1]]]


def losses():
    rng = np.random.default_rng(3)
    view = random_view(rng, SIZES, weight="integer")
    plain = random_view(rng, SIZES, query_weight=True)
    made = {
        f"{name}-{weighting}": kind(view, weighting=weighting, n_threads=1)
        for name, kind in QUERY_LOSSES.items()
        for weighting in ("pairs", "queries")
    }
    made["least-squares"] = LeastSquaresLoss(view, n_threads=1)
    for target in STRUCTURED_TARGETS:
        made["-".join(target)] = structured_loss(plain, *target)
    parts = [(0.3, structured_loss(plain, "map")), (2.0, structured_loss(plain, "auc"))]
    made["combined"] = CombinedLoss(plain, parts, n_threads=1)
    return made


LOSSES = losses()


@pytest.mark.parametrize("n", [1, 2, 3, 7, 8, 13, 16])
def test_a_sum_does_not_depend_on_who_makes_its_parts(n):
    rng = np.random.default_rng(n)
    values = list(rng.normal(size=(n, 3)) * 10.0 ** rng.integers(-8, 8, (n, 1)))
    total = TreeSum()
    for value in values:
        total.add(value)
    for n_workers in (1, 2, 3, n):
        owner = rng.integers(n_workers, size=n)
        parts = []
        for worker in rng.permutation(n_workers):
            held = np.flatnonzero(owner == worker).tolist()
            parts += partial_sums(held, (values[k] for k in held))
        assert np.array_equal(finished_sum(parts), total.result())


def test_neighbours_send_few_sums():
    assert list(subtrees(range(16))) == [(0, 4)]
    assert list(subtrees(range(5, 16))) == [(5, 0), (6, 1), (8, 3)]


@pytest.mark.parametrize("kind", ["dense", "csr"])
@pytest.mark.parametrize("bounds", [BORDERS, CUTS], ids=["borders", "cuts"])
@pytest.mark.parametrize("rows", [None, np.arange(3, N_ROWS, 2)], ids=["all", "some"])
def test_products_have_the_bits_of_chunks_here(kind, bounds, rows):
    X = matrix(kind)
    here = ChunkedDesign(
        ChunkedMatrix(lambda k: X[bounds[k] : bounds[k + 1]], bounds, N_COLS, X.dtype), rows, n_threads=1
    )
    rng = np.random.default_rng(1)
    W, G = rng.normal(size=(3, N_COLS)), rng.normal(size=(3, here.shape[0]))
    weight, ptr = rng.random(here.shape[0]), np.array([0, 100, here.shape[0]])
    for groups in placements(len(bounds) - 1):
        there = matrix_design(remote(X, bounds, groups), rows, n_threads=1)
        assert isinstance(there, RemoteDesign)
        assert there.shape == here.shape
        assert np.array_equal(there.scores(W[0]), here.scores(W[0]))
        assert np.array_equal(there.scores_block(W), here.scores_block(W))
        assert np.array_equal(there.adjoint(G[0]), here.adjoint(G[0]))
        assert np.array_equal(there.adjoint_block(G), here.adjoint_block(G))
        assert np.array_equal(there.centred_squares(weight, ptr), here.centred_squares(weight, ptr))


@pytest.mark.parametrize("name", LOSSES)
def test_losses_are_evaluated_where_the_rows_are(name):
    loss, X = LOSSES[name], matrix()
    rng = np.random.default_rng(2)
    scale, w, v = rng.lognormal(size=N_COLS), rng.normal(size=N_COLS), rng.normal(size=N_COLS)
    want = Objective(TransformedDesign(MatrixDesign(X, n_threads=1), ColumnTransform(scale=scale)), loss, 0.1)
    answers = []
    for groups in placements(len(BORDERS) - 1):
        for n_threads in (1, 2):
            design = TransformedDesign(
                RemoteDesign(remote(X, BORDERS, groups, n_threads)), ColumnTransform(scale=scale)
            )
            objective = Objective(design, loss, 0.1)
            assert not design.brings_scores(loss)
            point, expected = objective.at(w), want.at(w)
            assert not point.has_scores
            assert point.value == pytest.approx(expected.value, rel=ROUNDING)
            assert relative_error(point.risk_gradient, expected.risk_gradient) < ROUNDING
            assert relative_error(point.scores, expected.scores) < ROUNDING
            line, itself = point.along(v), expected.along(v)
            assert line.at(0.5).value == pytest.approx(itself.at(0.5).value, rel=ROUNDING)
            assert line.slope(point) == pytest.approx(itself.slope(expected), rel=1e-10, abs=1e-12)
            hvp = point.hvp(v)
            assert relative_error(hvp, expected.hvp(v)) < ROUNDING
            answers.append((point.value, *point.risk_gradient, *hvp))
    assert len(set(answers)) == 1


@pytest.mark.parametrize("name", LOSSES)
def test_parts_of_a_loss_survive_a_journey_and_add_up(name):
    loss = LOSSES[name]
    scores = np.random.default_rng(4).normal(size=N_ROWS)
    value, gradient = 0.0, []
    for first, last in ((0, 5), (5, 6), (6, len(SIZES))):
        part = pickle.loads(pickle.dumps(loss.part(first, last)))
        at = part.at(scores[PTR[first] : PTR[last]])
        value += at.value
        gradient.append(at.gradient)
    point = loss.at(scores)
    assert value == pytest.approx(point.value, rel=ROUNDING)
    assert np.array_equal(np.concatenate(gradient), point.gradient)


def test_a_query_that_is_cut_is_evaluated_here():
    loss = LOSSES["hinge-pairs"]
    whole, cut = RemoteDesign(remote(matrix(), BORDERS)), RemoteDesign(remote(matrix(), CUTS))
    assert whole.fuses(loss)
    assert not cut.fuses(loss)
    w, v = np.random.default_rng(5).normal(size=(2, N_COLS))
    there, here = whole.evaluate(w, loss), cut.evaluate(w, loss)
    assert (there.scores is None, there.gradient is None) == (True, False)
    assert (here.scores is None, here.gradient is None) == (False, True)
    assert there.value == pytest.approx(here.value, rel=ROUNDING)
    assert relative_error(there.gradient, cut.adjoint(here.score_gradient)) < ROUNDING
    squared = LOSSES["squared_hinge-pairs"]
    assert relative_error(whole.hvp(w, v, squared), cut.hvp(w, v, squared, here.scores)) < ROUNDING
    assert np.array_equal(cut.hvp(w, v, squared), cut.hvp(w, v, squared, here.scores))


def test_a_product_at_the_origin_needs_no_scores():
    """Least squares multiply there, hundreds of times: nothing but the direction is sent."""
    sent = []

    class Listening(SerialEngine):
        def tree_sum(self, handle, operation, shared=None, each=None):
            sent.append(shared)
            return super().tree_sum(handle, operation, shared, each)

    X, loss = matrix(), LOSSES["least-squares"]
    engine = Listening(lambda k: X[BORDERS[k] : BORDERS[k + 1]])
    design = RemoteDesign(RemoteMatrix(engine, BORDERS, N_COLS, X.dtype))
    v = np.random.default_rng(6).normal(size=N_COLS)
    product = design.hvp(np.zeros(N_COLS), v, loss, np.zeros(N_ROWS))
    assert relative_error(product, X.T @ loss.hvp(np.zeros(N_ROWS), X @ v)) < ROUNDING
    ((w, direction),) = sent
    assert w is None
    assert direction is v


@pytest.mark.parametrize("kind", ["dense", "csr"])
@pytest.mark.parametrize("scale", ["standard", "minmax"])
def test_columns_are_scaled_by_what_workers_count(kind, scale):
    X = matrix(kind)
    rows, weight = np.arange(0, N_ROWS, 3), np.random.default_rng(1).random(len(range(0, N_ROWS, 3))) + 0.1
    for kept, w in ((None, None), (rows, weight)):
        got = column_scale(remote(X, CUTS), scale, kept, w)
        assert np.allclose(got, column_scale(X, scale, kept, w), rtol=1e-12)


def test_rows_come_here_when_they_are_asked_for():
    X = matrix()
    there = remote(X, BORDERS).select(np.arange(0, N_ROWS, 2))
    assert np.array_equal(there[[5, 0, 5]], X[[10, 0, 10]])
    assert np.array_equal(there.select(np.array([1, 7]))[:], X[[2, 14]])
    assert there[[]].shape == (0, N_COLS)
    with pytest.raises(MarginRankError, match="all of their columns"):
        there[:, 0]


def test_visited_chunks_come_through_the_engine():
    parts = [np.array([[1.0], [2.0]]), np.array([[3.0]])]
    X = RemoteMatrix(SerialEngine(parts.__getitem__), np.array([0, 2, 3]), 1, np.dtype("f8"))
    visited = [chunk for _, chunk in X.visit(X.sections(None))]
    assert [chunk.tolist() for chunk in visited] == [part.tolist() for part in parts]
