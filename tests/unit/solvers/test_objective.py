"""The objective and its points: definition, derivatives, lines, and how passes are counted."""

import numpy as np
import pytest
from scipy import sparse

from brute_force import pairs_of, query_pairs, random_view, relative_error, risk
from marginrank.data import RankingData
from marginrank.designs import ColumnTransform, MatrixDesign, TransformedDesign
from marginrank.designs.remote import RemoteDesign
from marginrank.losses import QUERY_LOSSES, HingePreferences
from marginrank.solvers import SOLVERS
from marginrank.solvers.natural_alpha import natural_alpha
from marginrank.solvers.objective import Objective
from marginrank.storage.engines import RemoteMatrix, SerialEngine
from toy_penalty import BoundedElasticNet

ALPHA = 0.03
N_COLS = 6
SIZES = {"fused": [12] * 70, "split": [330, 40, 1, 60]}


class Case:
    def __init__(self, kind, name):
        self.rng = np.random.default_rng(1)
        self.name = name
        self.view = random_view(self.rng, SIZES[kind], weight="integer")
        self.X = self.rng.normal(size=(len(self.view.y), N_COLS))
        self.pairs = query_pairs(self.view)

    def objective(self, design=None):
        loss = QUERY_LOSSES[self.name](self.view, weighting="pairs", n_threads=1)
        return Objective(MatrixDesign(self.X, n_threads=1) if design is None else design, loss, ALPHA)

    def draw(self):
        return self.rng.normal(size=N_COLS)

    def away_from_kinks(self, h):
        """Return w at which no pair is so near to its margin that a step of h could take it across."""
        while True:
            w = self.draw()
            scores = self.X @ w
            if np.abs(1 - (scores[self.pairs.winner] - scores[self.pairs.loser])).min() > 20 * h:
                return w


@pytest.fixture(params=SIZES)
def kind(request):
    return request.param


@pytest.fixture(params=QUERY_LOSSES)
def case(request, kind):
    return Case(kind, request.param)


@pytest.fixture
def smooth_case(kind):
    return Case(kind, "squared_hinge")


def remote(X, bounds):
    engine = SerialEngine(lambda k: X[bounds[k] : bounds[k + 1]])
    return RemoteDesign(RemoteMatrix(engine, bounds, X.shape[1], X.dtype))


def gradient(point):
    return point.risk_gradient + point.objective.alpha * point.w


def test_the_kind_of_pass_is_as_meant(kind):
    assert Case(kind, "hinge").objective().fused == (kind == "fused")


def test_value_and_gradient_equal_the_definition(case):
    w = case.draw()
    point = case.objective().at(w)
    want = risk(case.name, case.pairs, case.X @ w)
    assert point.risk == pytest.approx(want.value, rel=1e-12)
    assert point.value == pytest.approx(want.value + ALPHA / 2 * w @ w, rel=1e-12)
    assert relative_error(point.risk_gradient, case.X.T @ want.gradient) < 1e-12
    assert relative_error(point.scores, case.X @ w) < 1e-13


def test_the_origin_costs_the_mean_margin(case):
    point = case.objective().at(np.zeros(N_COLS))
    of_a_pair = {"hinge": 1.0, "squared_hinge": 1.0, "logistic": np.log(2.0)}[case.name]
    assert point.value == pytest.approx(of_a_pair, rel=1e-14)
    want = risk(case.name, case.pairs, np.zeros(len(case.view.y)))
    assert relative_error(point.risk_gradient, case.X.T @ want.gradient) < 1e-12


def test_gradient_matches_finite_differences(case):
    # Piecewise at most quadratic, so central differences are exact up to rounding, about 1e-16 / h.
    h = 1e-7
    objective, w = case.objective(), case.away_from_kinks(h)
    slopes = [
        (objective.at(w + h * e).value - objective.at(w - h * e).value) / (2 * h) for e in np.eye(N_COLS)
    ]
    assert relative_error(slopes, gradient(objective.at(w))) < 1e-6


def test_hessian_product_matches_finite_differences(smooth_case):
    h = 1e-7
    objective, w, v = smooth_case.objective(), smooth_case.away_from_kinks(1e-7), smooth_case.draw()
    change = gradient(objective.at(w + h * v)) - gradient(objective.at(w - h * v))
    assert relative_error(change / (2 * h), objective.at(w).hvp(v)) < 1e-6


def test_hessian_product_equals_the_definition(smooth_case):
    w, v = smooth_case.draw(), smooth_case.draw()
    want = risk("squared_hinge", smooth_case.pairs, smooth_case.X @ w, smooth_case.X @ v)
    got = smooth_case.objective().at(w).hvp(v)
    assert relative_error(got, smooth_case.X.T @ want.hvp + ALPHA * v) < 1e-12


# From the second trial on a fused line uses X d as it follows from the scores of the first.
@pytest.mark.parametrize("first", [1.0, -3.0, 0.0, 1e-3])
def test_a_point_on_a_line_is_the_point_itself(case, first):
    objective, w, d = case.objective(), case.draw(), case.draw()
    line = objective.at(w).along(d)
    for t in (first, 1.0, 0.25, 7.0, 0.0, -2.0):
        on_line, itself = line.at(t), objective.at(w + t * d)
        assert on_line.value == pytest.approx(itself.value, rel=1e-10)
        assert relative_error(on_line.scores, itself.scores) < 1e-10
        assert np.array_equal(on_line.w, itself.w)
        assert relative_error(gradient(on_line), gradient(itself)) < 1e-8


def test_a_tiny_first_trial_does_not_spoil_the_line(case):
    """Backtracking may end there; X d must not lose the digits that the difference of scores does."""
    objective, w, d = case.objective(), case.draw(), case.draw()
    line = objective.at(w).along(d)
    line.at(1e-10)
    assert relative_error(line.at(1.0).scores, case.X @ (w + d)) < 1e-10


def test_the_slope_matches_finite_differences(case):
    h = 1e-6
    objective, w, d = case.objective(), case.away_from_kinks(1e-5), case.draw()
    line = objective.at(w).along(d)
    point = line.at(0.0)
    slope = (objective.at(w + h * d).value - objective.at(w - h * d).value) / (2 * h)
    assert line.slope(point) == pytest.approx(slope, rel=1e-6, abs=1e-8)
    assert line.slope(point) == pytest.approx(gradient(point) @ d, rel=1e-10, abs=1e-12)


def test_the_slope_can_be_asked_before_any_trial(case):
    objective, w, d = case.objective(), case.draw(), case.draw()
    start = objective.at(w)
    assert start.along(d).slope(start) == pytest.approx(gradient(start) @ d, rel=1e-10)


class TestPasses:
    """One product with X or its transpose is half a pass; the origin, asked for first, costs no product."""

    def test_a_split_gradient_takes_a_pass(self):
        objective = Case("split", "hinge").objective()
        point = objective.at(np.ones(N_COLS))
        assert objective.passes == 0.5
        point.risk_gradient  # noqa: B018
        assert objective.passes == 1.0
        point.risk_gradient  # noqa: B018
        assert objective.passes == 1.0

    def test_a_fused_gradient_takes_a_pass(self):
        objective = Case("fused", "hinge").objective()
        objective.at(np.ones(N_COLS)).risk_gradient  # noqa: B018
        assert objective.passes == 1.0

    def test_a_hessian_product_takes_a_pass(self, smooth_case):
        objective = smooth_case.objective()
        point = objective.at(np.ones(N_COLS))
        before = objective.passes
        point.hvp(np.ones(N_COLS))
        assert objective.passes == before + 1.0

    def test_a_split_line_takes_half_a_pass_for_any_number_of_trials(self):
        objective = Case("split", "hinge").objective()
        line = objective.at(np.ones(N_COLS)).along(np.ones(N_COLS))
        before = objective.passes
        for t in (1.0, 0.5, 2.0):
            line.slope(line.at(t))
        assert objective.passes == before + 0.5

    def test_a_fused_line_takes_a_pass_that_includes_the_first_gradient(self):
        objective = Case("fused", "hinge").objective()
        line = objective.at(np.ones(N_COLS)).along(np.ones(N_COLS))
        before = objective.passes
        line.at(1.0).risk_gradient  # noqa: B018
        line.slope(line.at(0.5))
        assert objective.passes == before + 1.0

    def test_a_refused_trial_of_a_split_line_costs_no_adjoint(self, monkeypatch):
        objective = Case("split", "hinge").objective()
        start = objective.at(np.ones(N_COLS))
        adjoints = []
        monkeypatch.setattr(type(objective.design), "adjoint", lambda design, g: adjoints.append(g))
        line = start.along(np.ones(N_COLS))
        for t in (1.0, 0.5, 2.0):
            line.slope(line.at(t))
        assert not adjoints

    def test_remote_rows_take_a_pass_a_trial_and_half_of_one_more_for_a_hessian_product(self):
        case = Case("fused", "squared_hinge")
        objective = case.objective(remote(case.X, case.view.query_ptr[::10]))
        start = objective.at(np.ones(N_COLS))
        assert objective.passes == 1.0
        line = start.along(np.ones(N_COLS))
        for t in (1.0, 1e-9, 2.0):
            line.slope(line.at(t))
        assert objective.passes == 4.0
        start.hvp(np.ones(N_COLS))
        assert objective.passes == 5.5
        start.scores  # noqa: B018
        assert objective.passes == 6.0


def test_a_scaled_objective_is_that_of_the_scaled_matrix(case):
    scale = case.rng.lognormal(size=N_COLS)
    loss = QUERY_LOSSES[case.name](case.view, weighting="pairs", n_threads=1)
    scaled = Objective(
        TransformedDesign(MatrixDesign(case.X, n_threads=1), ColumnTransform(scale=scale)), loss, ALPHA
    )
    divided = Objective(MatrixDesign(case.X / scale, n_threads=1), loss, ALPHA)
    w, v = case.draw(), case.draw()
    assert scaled.at(w).value == pytest.approx(divided.at(w).value, rel=1e-12)
    assert relative_error(scaled.at(w).risk_gradient, divided.at(w).risk_gradient) < 1e-11
    assert relative_error(scaled.at(w).hvp(v), divided.at(w).hvp(v)) < 1e-11
    assert relative_error(scaled.curvature(), divided.curvature()) < 1e-11


def test_dense_and_sparse_objectives_agree(case):
    loss = QUERY_LOSSES[case.name](case.view, weighting="pairs", n_threads=1)
    w = case.draw()
    dense = case.objective().at(w)
    stored = Objective(MatrixDesign(sparse.csr_array(case.X), n_threads=1), loss, ALPHA).at(w)
    assert stored.value == pytest.approx(dense.value, rel=1e-12)
    assert relative_error(stored.risk_gradient, dense.risk_gradient) < 1e-11


def test_explicit_pairs_are_never_fused():
    X = np.random.default_rng(2).normal(size=(5, 2))
    loss = HingePreferences(pairs_of([[0, 1], [2, 3]]), 5, n_threads=1)
    objective = Objective(MatrixDesign(X, n_threads=1), loss, ALPHA)
    assert not objective.fused
    w = np.array([0.3, -0.2])
    slack = 1 - (X[[0, 2]] @ w - X[[1, 3]] @ w)
    assert objective.at(w).risk == pytest.approx(np.maximum(0, slack).mean(), rel=1e-14)


def test_another_alpha_shares_the_curvature_and_nothing_else(case):
    loss = QUERY_LOSSES[case.name](case.view, weighting="pairs", n_threads=1)
    objective = Objective(MatrixDesign(case.X, n_threads=1), loss, ALPHA)
    curvature = objective.curvature()
    w = case.draw()
    objective.at(w)
    other = objective.with_alpha(3.0 * ALPHA)
    assert other.curvature() is curvature
    assert other.passes == 0.0
    assert other.at(w).value == pytest.approx(objective.at(w).value + ALPHA * w @ w, rel=1e-12)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_columns_that_are_constant_within_queries_do_not_count_for_the_natural_alpha(dtype):
    rng = np.random.default_rng(4)
    ids = np.repeat(np.arange(30), 20)
    by_query = np.column_stack([np.full(30, 7.3), 1e6 * rng.normal(size=30), np.exp(rng.normal(size=30))])
    constant = by_query[ids]
    view = RankingData(constant, rng.integers(0, 3, 600), qid=ids).training_view()
    loss = QUERY_LOSSES["hinge"](view, weighting="pairs", n_threads=1)
    assert natural_alpha(MatrixDesign(constant.astype(dtype), n_threads=1), loss) == 0.0
    telling = rng.normal(size=(600, 1)).astype(dtype)
    alone = natural_alpha(MatrixDesign(telling, n_threads=1), loss)
    beside = natural_alpha(MatrixDesign(np.hstack([constant, telling]).astype(dtype), n_threads=1), loss)
    assert 0.0 < alone == pytest.approx(beside, rel=1e-12)


@pytest.mark.parametrize("kind", SIZES)
@pytest.mark.parametrize("name", QUERY_LOSSES)
@pytest.mark.parametrize(
    "penalty",
    [BoundedElasticNet(0.5), BoundedElasticNet(0.3, low=0.0), BoundedElasticNet(0.2, 0.1, 0.4)],
    ids=repr,
)
def test_rankers_with_another_penalty_are_certified_by_the_same_code(kind, name, penalty):
    case, results = Case(kind, name), {}
    for solver in ("lbfgs", "bundle"):
        design, loss = MatrixDesign(case.X, n_threads=1), case.objective().loss
        objective = Objective(design, loss, ALPHA, penalty)
        found = results[solver] = SOLVERS[solver](tol=1e-5).minimize(objective)
        assert found.status == "converged"
        np.testing.assert_array_equal(penalty.nearest(found.w), found.w)
        exact = risk(case.name, case.pairs, case.X @ found.w).value + penalty.value(found.w, ALPHA)
        assert found.value == pytest.approx(exact, rel=1e-11)
    # What one proves is below what the other found.
    assert results["lbfgs"].bound <= results["bundle"].value
    assert results["bundle"].bound <= results["lbfgs"].value


@pytest.mark.parametrize("pays", [False, True])
def test_curvature_is_all_of_the_hessian_where_that_pays_and_its_diagonal_elsewhere(pays, monkeypatch):
    objective = Case("split", "squared_hinge").objective()
    whole = np.eye(N_COLS) if pays else None
    monkeypatch.setattr(objective.design, "centred_products", lambda *weights: whole, raising=False)
    monkeypatch.setattr(objective.design, "centred_squares", lambda *weights: np.ones(N_COLS), raising=False)
    np.testing.assert_array_equal(objective.curvature(), np.eye(N_COLS) if pays else np.ones(N_COLS))
