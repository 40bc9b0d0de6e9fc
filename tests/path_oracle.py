"""Kernel RankSVM at one alpha in plain numpy: objective, dual, optimality conditions, and another solver."""

from __future__ import annotations

import numpy as np
from scipy.optimize import minimize
from threadpoolctl import threadpool_limits


def values(K, pairs, weight, beta, alpha):
    """Return the primal objective of the model that the duals give, and the dual value."""
    total = weight.sum()
    coef = np.zeros(len(K))
    np.add.at(coef, pairs[:, 0], beta)
    np.subtract.at(coef, pairs[:, 1], beta)
    coef /= alpha * total
    scores = K @ coef
    loss = weight @ np.maximum(0.0, 1.0 - (scores[pairs[:, 0]] - scores[pairs[:, 1]])) / total
    penalty = 0.5 * alpha * coef @ K @ coef
    return loss + penalty, beta.sum() / total - penalty


def relative_gap(K, path, alpha):
    beta = path.duals_at(alpha)
    assert beta.min() >= 0.0
    assert np.all(beta <= path.pair_weight_)
    primal, dual = values(K, path.pairs_, path.pair_weight_, beta, alpha)
    return (primal - dual) / primal


def worst_violation(K, path, alpha):
    """Return by how much a pair is on the wrong side of its margin for its dual variable."""
    beta, weight = path.duals_at(alpha), path.pair_weight_
    scores = K @ path.coef_at(alpha)
    slack = 1.0 - (scores[path.pairs_[:, 0]] - scores[path.pairs_[:, 1]])
    room = 1e-9 * weight
    too_low = np.where(beta < weight - room, slack, 0.0)  # a positive slack needs the full weight
    too_high = np.where(beta > room, -slack, 0.0)  # a negative one needs none
    return max(too_low.max(), too_high.max())


def dual_by_lbfgsb(K, pairs, weight, alpha, max_iter=1500):
    """Return primal and dual value where L-BFGS-B on the dual, within its bounds, ends."""
    winner, loser = pairs.T
    lam = alpha * weight.sum()

    def negative_dual(beta):
        c = np.bincount(winner, beta, len(K)) - np.bincount(loser, beta, len(K))
        g = K @ c
        slope = 1.0 - (g[winner] - g[loser]) / lam
        return (0.5 * c @ g / lam - beta.sum()) / weight.sum(), -slope / weight.sum()

    options = {"maxiter": max_iter, "maxfun": 2 * max_iter, "ftol": 0.0, "gtol": 1e-10, "maxcor": 20}
    bounds = np.column_stack([np.zeros_like(weight), weight])
    with threadpool_limits(1):  # threads that wait for one another take a hundred times as long for small K
        found = minimize(
            negative_dual, 0.5 * weight, jac=True, method="L-BFGS-B", bounds=bounds, options=options
        )
    return values(K, pairs, weight, found.x, alpha)


def disagreement(K, path, alpha, max_iter=1500):
    """Return how far the values of a path are from those of L-BFGS-B, in units of its gap, and that gap.

    Its two values enclose the optimum, so exact ones are at most its gap away, up to 1e-9 of rounding.
    """
    pairs, weight = path.pairs_, path.pair_weight_
    primal, dual = values(K, pairs, weight, path.duals_at(alpha), alpha)
    their_primal, their_dual = dual_by_lbfgsb(K, pairs, weight, alpha, max_iter)
    their_gap = their_primal - their_dual
    distance = max(abs(primal - their_primal), abs(dual - their_dual))
    return distance / (their_gap + 1e-9 * their_primal), their_gap / their_primal
