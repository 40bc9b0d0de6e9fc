"""Pairwise hinge and squared hinge over explicit pairs, in plain numpy: slow, and easy to see through."""

import numpy as np

from marginrank.rounding import PlaneRounding
from marginrank.solvers.penalties import SQUARED_NORM


class PairwiseProblem:
    """``mean max(0, 1 - (x_j - x_i) w)^power + alpha/2 ||w||^2`` over the pairs with ``y_i < y_j``."""

    columns = None
    penalty = SQUARED_NORM

    def __init__(self, X, y, alpha, power=1, margin=1.0):
        lower, higher = np.nonzero(y[:, None] < y[None, :])
        self.differences = X[higher] - X[lower]
        self.alpha = alpha
        self.power = power
        self.margin = margin
        self.n_features = X.shape[1]
        self.smooth = power == 2
        self.name = "squared_hinge" if power == 2 else "hinge"
        self.passes = 0.0
        self.n_evaluations = 0

    def at(self, w):
        self.passes += 0.5
        return _Point(self, w, self.differences @ w)

    def smoothed(self, width):
        return None

    def curvature(self):
        return 2.0 * np.mean(self.differences**2, axis=0)

    def value(self, w):
        slack = np.maximum(0.0, self.margin - self.differences @ w)
        return np.mean(slack**self.power) + 0.5 * self.alpha * w @ w


class _Point:
    value_error = 0.0
    plane_rounding = PlaneRounding()

    def __init__(self, problem, w, margins):
        problem.n_evaluations += 1
        self.problem = problem
        self.w = w
        self.margins = margins
        slack = np.maximum(0.0, problem.margin - margins)
        self.risk = float(np.mean(slack**problem.power))
        self.value = self.risk + 0.5 * problem.alpha * float(w @ w)
        active = (slack > 0.0).astype(float)
        self.inner = -(active if problem.power == 1 else 2.0 * slack) / len(slack)
        self.active = active
        self._risk_gradient = None

    @property
    def risk_gradient(self):
        if self._risk_gradient is None:
            self.problem.passes += 0.5
            self._risk_gradient = self.inner @ self.problem.differences
        return self._risk_gradient

    def hvp(self, v):
        problem = self.problem
        problem.passes += 1.0
        inner = 2.0 * self.active * (problem.differences @ v) / len(self.active)
        return inner @ problem.differences + problem.alpha * v

    def along(self, direction):
        return _Line(self, direction)


class _Line:
    def __init__(self, start, direction):
        start.problem.passes += 0.5
        self.start = start
        self.direction = direction
        self.margins = start.problem.differences @ direction

    def at(self, t):
        start = self.start
        return _Point(start.problem, start.w + t * self.direction, start.margins + t * self.margins)

    def slope(self, point):
        return float(point.inner @ self.margins + point.problem.alpha * point.w @ self.direction)


def random_data(n_rows=60, n_features=8, *, seed=0, n_levels=None, scales=None):
    """Correlated features, a noisy linear utility, optionally graded and badly scaled."""
    rng = np.random.default_rng(seed)
    mixing = np.eye(n_features) + 0.3 * rng.standard_normal((n_features, n_features))
    X = rng.standard_normal((n_rows, n_features)) @ mixing
    y = X @ rng.standard_normal(n_features) + rng.standard_normal(n_rows)
    if n_levels is not None:
        y = np.digitize(y, np.quantile(y, np.arange(1, n_levels) / n_levels)).astype(float)
    return (X if scales is None else X * scales), y


def random_problem(power=1, alpha=1e-2, **options):
    X, y = random_data(**options)
    return PairwiseProblem(X, y, alpha, power)
