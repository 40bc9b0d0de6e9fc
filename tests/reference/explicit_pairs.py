"""The objective written out over all pairs, and its minimum by other programs."""

from typing import NamedTuple

import numpy as np
from scipy.optimize import linprog, minimize
from sklearn.svm import LinearSVC

from marginrank.regularization import alpha_to


class Problem(NamedTuple):
    """``sum_k weight_k max(0, margin_k - differences_k.w)^power + alpha/2 ||w||^2``."""

    differences: np.ndarray
    weight: np.ndarray
    margin: np.ndarray
    alpha: float
    loss: str

    def value(self, w):
        slack = np.maximum(0.0, self.margin - self.differences @ w)
        return float(
            self.weight @ slack ** (2 if self.loss == "squared_hinge" else 1) + self.alpha / 2 * w @ w
        )


def problem_over_queries(
    X, y, qid=None, *, sample_weight=None, query_weight=None, weighting="pairs", alpha, loss
):
    """Write out all pairs of a query with different labels; ``query_weight`` maps ids to weights."""
    qid = np.zeros(len(y), dtype=int) if qid is None else qid
    row_weight = np.ones(len(y)) if sample_weight is None else sample_weight
    differences, weights = [], []
    for q in np.unique(qid):
        rows = np.flatnonzero(qid == q)
        low, high = np.nonzero(y[rows][:, None] < y[rows][None, :])
        low, high = rows[low], rows[high]
        weight = row_weight[low] * row_weight[high]
        if weight.sum() == 0.0:
            continue
        if weighting == "queries":
            weight = weight / weight.sum()
        differences.append(X[high] - X[low])
        weights.append(weight * (1.0 if query_weight is None else query_weight[q]))
    weight = np.concatenate(weights)
    return Problem(np.concatenate(differences), weight / weight.sum(), np.ones(len(weight)), alpha, loss)


def problem_over_pairs(X, pairs, weight=None, margin=None, *, alpha, loss):
    weight = np.ones(len(pairs)) if weight is None else np.asarray(weight, dtype=float)
    margin = np.broadcast_to(1.0 if margin is None else margin, len(pairs)).astype(float)
    return Problem(X[pairs[:, 0]] - X[pairs[:, 1]], weight / weight.sum(), margin, alpha, loss)


def minimum_by_linear_svc(problem):
    """Minimise with LIBLINEAR: ``1/2 ||w||^2 + C sum loss`` with C = 1/(alpha N), and N-fold weights.

    Every other row is mirrored, because it wants to see two classes. A margin m > 0 is the margin 1 on
    the difference over m, m (or m squared) times.
    """
    n_pairs = len(problem.weight)
    power = 2 if problem.loss == "squared_hinge" else 1
    sign = np.where(np.arange(n_pairs) % 2 == 0, 1.0, -1.0)
    svc = LinearSVC(
        loss=problem.loss,
        C=alpha_to("liblinear", problem.alpha, n_pairs=n_pairs),
        fit_intercept=False,
        dual=power == 1,
        tol=1e-10,
        max_iter=1_000_000,
        random_state=0,
    )
    rows = problem.differences / problem.margin[:, None] * sign[:, None]
    svc.fit(rows, sign, sample_weight=n_pairs * problem.weight * problem.margin**power)
    return problem.value(svc.coef_.ravel())


def minimum_by_scipy(problem):
    """Minimise the squared hinge as a smooth function, the hinge as a quadratic programme with slacks."""
    D, weight, margin, alpha, loss = problem
    n_pairs, n_features = D.shape
    if loss == "squared_hinge":

        def value_and_gradient(w):
            slack = np.maximum(0.0, margin - D @ w)
            return problem.value(w), -2.0 * (weight * slack) @ D + alpha * w

        return minimize(value_and_gradient, np.zeros(n_features), jac=True, tol=1e-12).fun
    rows = np.hstack([D, np.eye(n_pairs)])
    result = minimize(
        lambda z: weight @ z[n_features:] + alpha / 2 * z[:n_features] @ z[:n_features],
        np.r_[np.zeros(n_features), margin],
        jac=lambda z: np.r_[alpha * z[:n_features], weight],
        constraints={"type": "ineq", "fun": lambda z: rows @ z - margin, "jac": lambda z: rows},
        bounds=[(None, None)] * n_features + [(0.0, None)] * n_pairs,
        method="SLSQP",
        options={"maxiter": 1000, "ftol": 1e-13},
    )
    return problem.value(result.x[:n_features])


def minimum_without_regularization(problem):
    """Minimise the mean hinge alone, by linear programming."""
    n_pairs, n_features = problem.differences.shape
    return linprog(
        np.r_[np.zeros(n_features), problem.weight],
        A_ub=np.hstack([-problem.differences, -np.eye(n_pairs)]),
        b_ub=-problem.margin,
        bounds=[(None, None)] * n_features + [(0.0, None)] * n_pairs,
    ).fun
