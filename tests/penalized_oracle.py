"""The optimum of a pairwise risk with an elastic net and bounds, by scipy's L-BFGS-B over written-out pairs.

Smooth losses are solved for ``w = u - v`` with ``u, v >= 0``, which makes the absolute values linear; the
hinge by its dual, whose variables are the weights of the pairs, from 0 to what each weighs in the mean.
"""

import numpy as np
from scipy.optimize import minimize

_STARTS = 10
_EXACT = {"maxiter": 20_000, "maxfun": 200_000, "ftol": 1e-16, "gtol": 1e-12, "maxcor": 50}


def pair_differences(X, y, qid):
    """Return ``x_j - x_i`` for every pair of a query in which row j is better."""
    better, worse = np.nonzero((qid[:, None] == qid[None, :]) & (y[:, None] > y[None, :]))
    return X[better] - X[worse], better, worse


def box(bounds, n_features):
    """Return arrays of lowest and highest weights, from bounds as users write them by column."""
    low, high = np.full(n_features, -np.inf), np.full(n_features, np.inf)
    pairs = bounds if isinstance(bounds, dict) else dict.fromkeys(range(n_features), bounds or (None, None))
    for j, (least, most) in pairs.items():
        low[j] = -np.inf if least is None else least
        high[j] = np.inf if most is None else most
    return low, high


class PenalizedPairs:
    """The mean loss of pairs plus ``alpha (l1_ratio ||w||_1 + (1 - l1_ratio)/2 ||w||^2)`` within a box."""

    def __init__(self, loss, differences, alpha, l1_ratio, low, high, lead=None):
        self.loss, self.D, self.low, self.high = loss, differences, low, high
        # What the winner of each pair leads by before any feature counts.
        self.lead = np.zeros(len(differences)) if lead is None else lead
        free = low < high  # fixed weights are not penalised
        self.square, self.kink = alpha * (1.0 - l1_ratio) * free, alpha * l1_ratio * free

    def risk(self, w):
        margin = self.D @ w + self.lead
        if self.loss == "logistic":
            return np.logaddexp(0.0, -margin).mean(), self.D.T @ (-1.0 / (1.0 + np.exp(margin))) / len(margin)
        slack = np.maximum(1.0 - margin, 0.0)
        if self.loss == "squared_hinge":
            return (slack**2).mean(), self.D.T @ (-2.0 * slack) / len(slack)
        return slack.mean(), self.D.T @ (-1.0 * (slack > 0.0)) / len(slack)

    def value(self, w):
        return self.risk(w)[0] + float(self.square @ w**2) / 2.0 + float(self.kink @ np.abs(w))

    def minimizer(self, z):
        soft = np.sign(z) * np.maximum(np.abs(z) - self.kink, 0.0)
        return np.clip(soft / np.where(self.square > 0.0, self.square, 1.0), self.low, self.high)

    def optimum(self):
        """Return the best weights."""
        return self._of_hinge() if self.loss == "hinge" else self._of_smooth()

    def _of_smooth(self):
        n = len(self.low)

        def split(x):
            w = x[:n] - x[n:]
            value, gradient = self.risk(w)
            gradient = gradient + self.square * w
            total = value + float(self.square @ w**2) / 2.0 + float(self.kink @ (x[:n] + x[n:]))
            return total, np.concatenate([gradient + self.kink, self.kink - gradient])

        ends = [(np.maximum(self.low, 0.0), np.maximum(self.high, 0.0))]
        ends += [(np.maximum(-self.high, 0.0), np.maximum(-self.low, 0.0))]
        limits = [pair for low, high in ends for pair in zip(low, high, strict=True)]
        found = np.array([low for low, _ in limits])
        for _ in range(_STARTS):  # it gives up early where a line search fails
            found = minimize(split, found, jac=True, method="L-BFGS-B", bounds=limits, options=_EXACT).x
            # w is the same with both parts smaller, and the absolute values are then those of w.
            found -= np.tile(np.minimum(found[:n] - ends[0][0], found[n:] - ends[1][0]), 2)
        return found[:n] - found[n:]

    def _of_hinge(self):
        largest = 1.0 / len(self.D)

        def dual(theta):
            z = self.D.T @ theta
            w = self.minimizer(z)
            conjugate = float(z @ w) - float(self.square @ w**2) / 2.0 - float(self.kink @ np.abs(w))
            return conjugate - float((1.0 - self.lead) @ theta), self.D @ w - 1.0 + self.lead

        limits = [(0.0, largest)] * len(self.D)
        theta = np.full(len(self.D), 0.5 * largest)
        for _ in range(_STARTS):  # it gives up early where a line search fails
            theta = minimize(dual, theta, jac=True, method="L-BFGS-B", bounds=limits, options=_EXACT).x
        self.proved = -dual(theta)[0]
        return self.minimizer(self.D.T @ theta)
