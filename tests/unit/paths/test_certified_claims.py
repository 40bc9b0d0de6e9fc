"""The claim of certified paths, "every model is within eps", at 200 alphas of each loss.

What no model can go below is found without the path and, but for structured targets, without the solvers of
the library: the dual value of the exact path for the hinge, strong convexity and a gradient for the squared
hinge, the solution of a linear system for least squares.
"""

from __future__ import annotations

import numpy as np
import pytest
from scipy import optimize

from marginrank import RankingData, StructuredRankSVM
from marginrank.exceptions import MarginRankError, ZeroModelWarning
from marginrank.losses.structured import TargetOptions
from marginrank.paths import kernel_rank_path, rank_path, rank_rls_path, structured_rank_path
from marginrank.training.structured_targets import read_aim
from path_oracle import values

EPS = 1e-3
TOP, BOTTOM = 1.0, 1e-3


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(70, 4))
    y = np.digitize(X @ [2.0, -1.0, 0.5, 0.0] + 1.5 * rng.normal(size=70), [-2.0, 0.0, 2.0])
    return X, y, rng.integers(4, size=70)


def between_knots(path):
    """Return 200 alphas, none of which is a knot."""
    alphas = TOP * (BOTTOM / TOP) ** np.random.default_rng(1).uniform(0.001, 0.999, size=200)
    assert not np.isin(alphas, path.alphas).any()
    return np.sort(alphas)[::-1]


def check(path, value, bound):
    """Compare with the value of a model, and a lower bound of the optimum, at each alpha."""
    assert path.status_ == "finished"
    for alpha in between_knots(path):
        found, lowest = value(path.coef_at(alpha), alpha), bound(alpha)
        claimed_value, claimed_bound = path.objective_at(alpha)
        assert found <= claimed_value * (1.0 + 1e-9)
        assert (found - lowest) / found <= EPS + 1e-6  # what the bound itself may miss
        assert claimed_bound <= lowest * (1.0 + 2e-6)
        assert path.gap_at(alpha) <= EPS * (1.0 + 1e-9)


def differences(X, pairs):
    return X[pairs[:, 0]] - X[pairs[:, 1]]


def data_of(kind, rows):
    _, y, qid = rows
    if kind == "pairs":
        chosen = np.random.default_rng(2).integers(len(y), size=(300, 2))
        return {"pairs": chosen[y[chosen[:, 0]] > y[chosen[:, 1]]]}
    if kind == "weights":
        weight = np.random.default_rng(3).integers(0, 3, size=len(y)).astype(float)
        return {"y": y, "qid": qid, "sample_weight": weight}
    return {"y": y} if kind == "global" else {"y": y, "qid": qid}


@pytest.mark.parametrize(
    ("kind", "weighting"),
    [
        ("global", "pairs"),
        ("queries", "pairs"),
        ("queries", "queries"),
        ("weights", "pairs"),
        ("weights", "queries"),
        ("pairs", "pairs"),
    ],
)
def test_hinge_against_the_dual_value_of_the_exact_path(rows, kind, weighting):
    X, data = rows[0], data_of(kind, rows)
    path = rank_path(X, **data, weighting=weighting, alpha_max=TOP, alpha_min=BOTTOM, eps=EPS)
    exact = kernel_rank_path(X, **data, weighting=weighting, kernel="linear", alpha_min=0.99 * BOTTOM)
    K, pairs, weight = X @ X.T, exact.pairs_, exact.pair_weight_
    Z = differences(X, pairs)

    def value(w, alpha):
        return weight @ np.maximum(0.0, 1.0 - Z @ w) / weight.sum() + 0.5 * alpha * w @ w

    check(path, value, lambda alpha: values(K, pairs, weight, exact.duals_at(alpha), alpha)[1])


@pytest.mark.parametrize("kind", ["queries", "pairs"])
def test_squared_hinge_against_a_gradient_of_nearly_zero(rows, kind):
    X, data = rows[0], data_of(kind, rows)
    path = rank_path(X, **data, loss="squared_hinge", alpha_max=TOP, alpha_min=BOTTOM, eps=EPS)
    Z = differences(X, kernel_rank_path(X, **data, kernel="linear", max_events=1).pairs_)

    def value_and_gradient(w, alpha):
        slack = np.maximum(0.0, 1.0 - Z @ w)
        return slack @ slack / len(Z) + 0.5 * alpha * w @ w, -2.0 * Z.T @ slack / len(Z) + alpha * w

    def bound(alpha):
        found = optimize.minimize(
            value_and_gradient, np.zeros(4), alpha, "BFGS", jac=True, options={"gtol": 1e-7}
        )
        lowest, gradient = value_and_gradient(found.x, alpha)
        return lowest - gradient @ gradient / (2.0 * alpha)

    check(path, lambda w, alpha: value_and_gradient(w, alpha)[0], bound)


@pytest.mark.parametrize("kind", ["queries", "pairs"])
def test_least_squares_against_the_linear_system(rows, kind):
    X, data = rows[0], data_of(kind, rows)
    if kind == "pairs":
        Z = differences(X, data["pairs"])
        target = np.ones(len(Z))
    else:
        means = [(X[data["qid"] == q].mean(axis=0), data["y"][data["qid"] == q].mean()) for q in data["qid"]]
        Z = X - np.array([m for m, _ in means])
        target = data["y"] - np.array([m for _, m in means])
    path = rank_rls_path(X, **data, solver="certified", alpha_max=TOP, alpha_min=BOTTOM, eps=EPS)

    def value(w, alpha):
        return np.mean((Z @ w - target) ** 2) + 0.5 * alpha * w @ w

    def bound(alpha):
        H = 2.0 * Z.T @ Z / len(Z) + alpha * np.eye(4)
        return value(np.linalg.solve(H, 2.0 * Z.T @ target / len(Z)), alpha)

    check(path, value, bound)


@pytest.mark.parametrize("target", ["map", {"ndcg@10": 2.0, "auc": 1.0}])
def test_structured_targets_against_separate_solutions(rows, target):
    X, y, qid = rows
    path = structured_rank_path(X, y, qid=qid, target=target, alpha_max=TOP, alpha_min=BOTTOM, eps=EPS)
    data = RankingData(X, y, qid=qid)
    view = data.training_view()
    loss = read_aim(target, "po", TargetOptions(), False).loss(view, n_threads=1)
    scored = X if view.rows is None else X[view.rows]
    model = StructuredRankSVM(target, solver="bundle", tol=1e-6, max_iter=5000, warm_start=True)

    def bound(alpha):
        return model.set_params(alpha=alpha).fit(data).lower_bound_

    check(path, lambda w, alpha: loss.at(scored @ w).value + 0.5 * alpha * w @ w, bound)


def test_a_structured_path_that_stays_at_zero_says_so():
    X = np.ones((12, 2)) * np.arange(12)[:, None]
    y = (np.arange(12) % 3 == 0).astype(float)
    with pytest.warns(ZeroModelWarning, match="another target"):
        structured_rank_path(X, y, qid=np.arange(12) // 6, target="mrr@1", truncate=True, alpha_max=1e4,
                             alpha_min=1e3)  # fmt: skip


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"X": RankingData([[1.0], [2.0]], pairs=[[0, 1]])}, "pairs are for rank_path"),
        ({"X": [[1.0], [2.0]]}, "give y"),
        ({"X": [[1.0], [2.0]], "y": [0, 1], "target": "err"}, "target must be one of"),
        ({"X": [[1.0], [2.0]], "y": [0, 1], "feature_map": "mrr"}, "feature_map='mrr' is for the target"),
    ],
)
def test_what_structured_paths_cannot_do_gets_a_sentence(arguments, message):
    with pytest.raises(MarginRankError, match=message):
        structured_rank_path(**arguments)
