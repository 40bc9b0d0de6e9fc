"""Each converter is derived here: the other program's objective has our minimiser."""

import numpy as np
import pytest
from scipy.optimize import minimize

from marginrank.exceptions import MarginRankError
from marginrank.regularization import alpha_from, alpha_to

ALPHA = 0.3
PROGRAMS = ["svmrank", "liblinear", "kernel-ranksvm", "dlib", "rankpath", "treersvm", "rlscore"]


class Problem:
    """Three queries of different sizes, every pair written out; squared hinge, so BFGS is precise."""

    def __init__(self):
        rng = np.random.default_rng(7)
        sizes = [4, 5, 3]
        self.X, self.y = rng.normal(size=(12, 2)), rng.normal(size=12)
        self.qid = np.repeat(np.arange(3), sizes)
        self.differences = [
            np.array([self.X[j] - self.X[i] for i in rows for j in rows if self.y[i] < self.y[j]])
            for rows in (np.flatnonzero(self.qid == q) for q in range(3))
        ]
        self.n_queries, self.n_rows = 3, 12
        self.n_pairs = sum(map(len, self.differences))

    def query_losses(self, w):
        return np.array([np.sum(np.maximum(0.0, 1.0 - d @ w) ** 2) for d in self.differences])

    def centred_squares(self, w):
        residual = self.X @ w - self.y
        means = np.array([residual[self.qid == q].mean() for q in range(3)])
        return np.sum((residual - means[self.qid]) ** 2)

    def counts(self):
        return {"n_pairs": self.n_pairs, "n_queries": self.n_queries, "n_rows": self.n_rows}


def minimiser(objective):
    return minimize(objective, np.zeros(2), method="BFGS", options={"gtol": 1e-7}).x


def our_objective(problem, name, w):
    if name == "rlscore":
        risk = problem.centred_squares(w) / problem.n_rows
    elif name == "treersvm":
        risk = np.mean(problem.query_losses(w) / [len(d) for d in problem.differences])
    else:
        risk = problem.query_losses(w).sum() / problem.n_pairs
    return risk + ALPHA / 2 * w @ w


def their_objective(problem, name, parameter, w):
    total, half_norm = problem.query_losses(w).sum(), 0.5 * w @ w
    by_query = np.mean(problem.query_losses(w) / [len(d) for d in problem.differences])
    return {
        "svmrank": half_norm + parameter / problem.n_queries * total,
        "liblinear": half_norm + parameter * total,
        "kernel-ranksvm": half_norm + parameter / 2 * total,
        "dlib": half_norm + parameter / problem.n_pairs * total,
        "rankpath": total + parameter * half_norm,
        "treersvm": by_query + parameter * w @ w,
        "rlscore": problem.centred_squares(w) + parameter * w @ w,
    }[name]


@pytest.mark.parametrize("name", PROGRAMS)
def test_other_program_has_our_minimiser(name):
    problem = Problem()
    parameter = alpha_to(name, ALPHA, **problem.counts())
    theirs = minimiser(lambda w: their_objective(problem, name, parameter, w))
    ours = minimiser(lambda w: our_objective(problem, name, w))
    # BFGS with numerical gradients stops near 1e-5; a wrong factor of 2 moves the minimiser 25 times further.
    np.testing.assert_allclose(theirs, ours, atol=2e-4)
    wrong = minimiser(lambda w: their_objective(problem, name, 2 * parameter, w))
    assert np.abs(wrong - ours).max() > 5e-3


@pytest.mark.parametrize("name", PROGRAMS)
def test_there_and_back_is_the_identity(name):
    counts = {"n_pairs": 4_321, "n_queries": 17, "n_rows": 260}
    assert alpha_from(name, alpha_to(name, 3e-4, **counts), **counts) == pytest.approx(3e-4, rel=1e-15)


def test_svmrank_needs_pairs_and_queries():
    with pytest.raises(MarginRankError, match=r"'svmrank' depends on n_pairs and n_queries"):
        alpha_from("svmrank", 1.0)
    with pytest.raises(MarginRankError, match=r"depends on n_queries; give that too"):
        alpha_from("svmrank", 1.0, n_pairs=3)


def test_dlib_and_treersvm_need_no_counts():
    assert alpha_from("dlib", 4.0) == 0.25
    assert alpha_from("treersvm", 1e-5) == 2e-5


def test_unknown_program_lists_the_known_ones():
    with pytest.raises(
        MarginRankError, match=r"name must be one of 'svmrank', 'liblinear', .*; got 'svmlight'"
    ):
        alpha_to("svmlight", 1.0)


@pytest.mark.parametrize("bad", [0.0, -1.0, float("nan"), float("inf")])
def test_parameters_must_be_positive_and_finite(bad):
    with pytest.raises(MarginRankError, match="alpha must be a positive, finite number"):
        alpha_to("dlib", bad)
    with pytest.raises(MarginRankError, match="n_pairs must be a positive, finite number"):
        alpha_to("liblinear", 1.0, n_pairs=bad)
