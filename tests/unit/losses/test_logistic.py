"""The logistic loss: its value in closed form, its tails, and what it refuses."""

import pickle

import numpy as np
import pytest

from brute_force import pairs_of, random_view, view_of
from marginrank import RankSVM
from marginrank.exceptions import MarginRankError
from marginrank.losses import LARGEST_QUADRATIC, LogisticLoss, LogisticPreferences


def loss_of(view, n_threads=1):
    return LogisticLoss(view, weighting="pairs", n_threads=n_threads)


def value_of_pair(difference, **options):
    training = pairs_of([[0, 1]], **options)
    return LogisticPreferences(training, 2, n_threads=1).at(np.array([difference, 0.0])).value


@pytest.mark.parametrize("sizes", [(2,), (40,), (321, 3), (2500,)])
def test_equal_scores_cost_the_logarithm_of_two(sizes):
    view = random_view(np.random.default_rng(0), sizes)
    assert loss_of(view).at(np.full(sum(sizes), 7.0)).value == pytest.approx(np.log(2.0), rel=1e-14)


@pytest.mark.parametrize("difference", [0.5, 3.0, 40.0, 300.0, 700.0])
def test_both_tails_are_right_to_the_last_digits(difference):
    assert value_of_pair(difference) == pytest.approx(np.log1p(np.exp(-difference)), rel=4e-15)
    assert value_of_pair(-difference) == pytest.approx(difference + np.log1p(np.exp(-difference)), rel=4e-15)


def test_no_difference_overflows():
    assert value_of_pair(1e300) == 0.0
    assert value_of_pair(-1e300) == 1e300


def test_a_margin_takes_the_place_of_a_difference():
    assert value_of_pair(1.0, margin=np.array([3.0])) == value_of_pair(-2.0)


def test_bits_of_long_queries_do_not_depend_on_the_threads():
    # Either side of the size from which one query uses all threads, and several blocks of one query.
    view = random_view(np.random.default_rng(1), (1023, 1024, 1500, 30), weight="real")
    scores, direction = np.random.default_rng(2).normal(size=(2, len(view.y)))
    one, many = loss_of(view).at(scores), loss_of(view, n_threads=3).at(scores)
    assert many.value == one.value
    assert np.array_equal(many.gradient, one.gradient)
    assert np.array_equal(many.hvp(direction), one.hvp(direction))


def test_a_pickle_evaluates_to_the_same_bits():
    view = random_view(np.random.default_rng(3), (30, 12))
    scores = np.random.default_rng(4).normal(size=42)
    again = pickle.loads(pickle.dumps(loss_of(view)))
    assert again.at(scores).value == loss_of(view).at(scores).value


def test_one_long_ranking_is_refused_in_a_sentence_that_says_what_to_do():
    n = LARGEST_QUADRATIC + 1
    with pytest.raises(MarginRankError, match=r"up to 20000 rows.*Use loss='hinge' or loss='squared_hinge'"):
        loss_of(view_of([n], np.arange(n) % 2))


@pytest.mark.parametrize("solver", ["lbfgs", "bundle", "newton"])
def test_every_solver_finds_the_coefficients_of_logistic_regression(solver):
    """On the differences of all pairs, without an intercept, that is what the risk is."""
    from sklearn.linear_model import LogisticRegression

    rng = np.random.default_rng(5)
    X, y = rng.normal(size=(30, 3)), rng.integers(0, 3, 30)
    qid = np.arange(30) // 10
    lower, higher = np.nonzero((qid[:, None] == qid) & (y[:, None] < y))
    differences, alpha = X[higher] - X[lower], 1e-2
    # Each pair once as it is and once reversed: the classifier wants two classes.
    machine = LogisticRegression(C=0.5 / (alpha * len(lower)), fit_intercept=False, tol=1e-10, max_iter=1000)
    machine.fit(np.concatenate([differences, -differences]), np.repeat([1, 0], len(lower)))
    model = RankSVM("logistic", alpha=alpha, tol=1e-10, solver=solver).fit(X, y, qid=qid)
    assert model.coef_ == pytest.approx(machine.coef_[0], rel=1e-4)
