"""What estimators say where rounding limits what can be certified."""

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from marginrank import RankRLS, RankSVM
from marginrank.paths import kernel_rank_path, rank_rls_path

RNG = np.random.default_rng(0)
X = RNG.normal(size=(200, 4))
QID = np.arange(200) // 10
Y = RNG.integers(0, 3, 200) + (X[:, 0] > 0)
LINEAR = X @ [1.0, 2.0, 3.0, 4.0]

beyond_rounding = pytest.mark.filterwarnings("ignore:.*rounding in double precision")


def test_a_fit_that_is_left_with_rounding_says_so_and_ends():
    # Entries of X'g are sums of terms around 1e9, and what they leave must be compared with alpha * w.
    huge = X * [1.0, 1.0, 1.0, 1e9]
    with pytest.warns(ConvergenceWarning, match="what rounding in double precision may have done") as caught:
        model = RankSVM("squared_hinge", alpha=1e-9, scale=None).fit(huge, Y, qid=QID)
    assert "scale='standard'" in str(caught[0].message)
    assert 1e-3 < model.gap_ <= 1.0
    assert model.n_iter_ < 100
    scaled = RankSVM("squared_hinge", alpha=1e-9, scale="standard").fit(huge, Y, qid=QID)
    assert scaled.gap_ <= 1e-3


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
def test_rounding_is_a_tiny_part_of_ordinary_gaps(loss):
    model = RankSVM(loss, alpha=1e-3, tol=1e-11).fit(X, Y, qid=QID)
    assert model.gap_ <= 1e-11


@beyond_rounding
@pytest.mark.parametrize("solver", ["direct", "cg"])
@pytest.mark.parametrize("alpha", [1e-20, 1e-12, 1e-4, 1e4])
def test_certificates_hold_where_labels_are_linear_in_the_features(solver, alpha):
    model = RankRLS(alpha, solver=solver, tol=1e-10).fit(X, LINEAR, qid=QID)
    assert 0.0 <= model.lower_bound_ <= model.objective_
    assert 0.0 <= model.gap_ <= 1.0
    # The optimum is alpha/2 ||w||^2 with w = (1, 2, 3, 4) where alpha is small: of the size of 1e-19.
    assert model.objective_ <= 15.0 * alpha * (1.0 + 1e-6)
    assert model.gap_ <= (1e-6 if solver == "direct" else 0.5)


@beyond_rounding
def test_the_history_of_conjugate_gradients_has_no_bound_above_the_one_that_was_checked():
    grid = np.logspace(0, -6, 7)
    model = RankRLS("auto", alphas=grid, solver="cg", cv=3, tol=1e-12).fit(X, Y, qid=QID)
    assert max(progress.bound for progress in model.history_) <= model.lower_bound_
    assert all(0.0 <= progress.gap <= 1.0 for progress in model.history_)


def test_the_bound_of_conjugate_gradients_costs_half_a_pass():
    model = RankRLS(1e-3, solver="cg").fit(X, Y, qid=QID)
    # The right side, an iteration each, scores of the model and of the point that bounds, and its gradient.
    assert model.n_passes_ == 0.5 + model.n_iter_ + 1.0


def test_gaps_of_a_kernel_path_are_not_negative():
    path = kernel_rank_path(X[:40], Y[:40], qid=QID[:40], kernel="linear")
    for alpha in path.grid(30):
        primal, dual = path.objective_at(float(alpha))
        assert 0.0 <= dual <= primal
        assert 0.0 <= path.gap_at(float(alpha)) <= 1e-9


def test_gaps_of_the_exact_path_of_least_squares_are_not_negative():
    path = rank_rls_path(X, Y, qid=QID, solver="direct")
    for alpha in path.grid(9):
        value, bound = path.objective_at(float(alpha))
        assert 0.0 <= bound <= value
        assert 0.0 <= path.gap_at(float(alpha)) <= 1e-9
