"""The optimum by another way than any solver of the library: 100 decimal digits, then rational arithmetic.

Columns are rescaled by powers of two until their penalty is about 1. Blocks of planes are solved by an
interior-point method, which ties and duplicates do not trouble, the others by Newton's method. Neither is
trusted: what they return is evaluated in rational arithmetic, from above by the value of their model and from
below by their dual variables, and the caller looks at the difference.
"""

from __future__ import annotations

from decimal import Decimal, localcontext
from fractions import Fraction
from typing import NamedTuple

import numpy as np
from exact_objectives import BlockRisk, ExactObjective, LogisticRisk

DIGITS = 100
#: Relative difference of upper and lower value at which the interior-point method may stop.
CLOSE = Decimal(10) ** -24
_STEPS = 300
_BITS = 240
#: Slopes below are 0 to ``softplus``, and too long as fractions: a lead of 1e5 has one of 43,000 digits.
_LEAST_SLOPE = Decimal(2) ** -2880


class Optimum(NamedTuple):
    """A model that is as good as optimal, and values that enclose the optimum, exactly."""

    w: list[Fraction]
    upper: Fraction
    lower: Fraction

    @property
    def width(self):
        """The distance of the two values, relative to the upper one."""
        return (self.upper - self.lower) / self.upper if self.upper else Fraction(0)


def optimum(objective, alpha):
    """Return the optimum of an objective at one alpha."""
    if not isinstance(objective, ExactObjective):
        return objective.optimum(alpha)
    penalty = objective.penalty(alpha)
    zero = [Fraction(0)] * len(penalty)
    if objective.value(zero, alpha) == 0:  # risks are never negative, so nothing is better
        return Optimum(zero, Fraction(0), Fraction(0))
    w, certificate = solved(objective, alpha)
    return Optimum(w, objective.value(w, alpha), objective.risk.proved(certificate, penalty))


def solved(objective, alpha):
    """Return a model that is as good as optimal, and its dual variables: of squares the model itself."""
    penalty = objective.penalty(alpha)
    with localcontext() as context:
        context.prec = DIGITS
        context.Emin, context.Emax = -999_999, 999_999
        # w = factor * u: the penalty of u lies between 1/2 and 2.
        factor = [_power_of_two(q) for q in penalty]
        scaled = _decimals([q * f * f for q, f in zip(penalty, factor, strict=True)])
        if isinstance(objective.risk, BlockRisk):
            u, weights = _interior_point(objective.risk, scaled, factor)
            certificate = [[_dyadic(x) for x in block] for block in weights]
        elif isinstance(objective.risk, LogisticRisk):
            u, weights = _logistic_newton(objective.risk, scaled, factor)
            certificate = [_dyadic(x) if x > _LEAST_SLOPE else Fraction(0) for x in weights]
        else:
            u, certificate = _newton(objective.risk, scaled, factor), None
        w = [_dyadic(x) * f for x, f in zip(u, factor, strict=True)]
    return w, w if certificate is None else certificate


def _power_of_two(q):
    """Return the power of two whose square times q is nearest to 1."""
    exponent = q.numerator.bit_length() - q.denominator.bit_length()
    return Fraction(2) ** -(exponent // 2)


def _decimals(values):
    return np.array([Decimal(v.numerator) / Decimal(v.denominator) for v in values], dtype=object)


def _dyadic(x):
    """Return a decimal to 240 significant bits, as a fraction that is quick to compute with."""
    if not x:
        return Fraction(0)
    value = Fraction(x)
    shift = _BITS - (value.numerator.bit_length() - value.denominator.bit_length())
    scaled = value * Fraction(2) ** shift
    return Fraction(round(scaled)) * Fraction(2) ** -shift


def _matrix(rows, factor):
    table = np.empty((len(rows), len(factor)), dtype=object)
    for k, row in enumerate(rows):
        table[k] = _decimals([x * f for x, f in zip(row, factor, strict=True)])
    return table


def _solve(matrix, right):
    """Solve a positive definite system by elimination."""
    a = np.column_stack([matrix, right])
    n = len(matrix)
    for k in range(n):
        a[k, k:] = a[k, k:] / a[k, k]
        for i in range(k + 1, n):
            a[i, k:] = a[i, k:] - a[i, k] * a[k, k:]
    x = a[:, n].copy()
    for k in range(n - 1, -1, -1):
        x[k] -= sum((a[k, k + 1 : n] * x[k + 1 :]).tolist(), Decimal(0))
    return x


def _newton(risk, penalty, factor):
    coefficient = _decimals([t.coefficient for t in risk.terms])
    margin = _decimals([t.margin for t in risk.terms])
    differences = _matrix([t.difference for t in risk.terms], factor)

    def slacks(w):
        slack = margin - differences @ w
        return np.array([max(s, Decimal(0)) for s in slack], dtype=object) if risk.one_sided else slack

    def value(w):
        return (coefficient * slacks(w) ** 2).sum() + (penalty * w * w).sum() / 2

    w = np.array([Decimal(0)] * len(penalty), dtype=object)
    for _ in range(_STEPS):
        slack = slacks(w)
        active = np.ones(len(slack), dtype=bool) if not risk.one_sided else slack > 0
        weighted = (2 * coefficient[active])[:, None] * differences[active]
        gradient = penalty * w - slack[active] @ weighted if active.any() else penalty * w
        hessian = (
            differences[active].T @ weighted if active.any() else np.zeros((len(w), len(w)), dtype=object)
        )
        hessian = hessian + np.diag(penalty)
        step = _solve(hessian, -gradient)
        slope = (gradient * step).sum()
        length, here = Decimal(1), value(w)
        while value(w + length * step) > here + length * slope / 4 and length > Decimal(2) ** -60:
            length /= 2
        w = w + length * step
        if length == 1 and np.array_equal(active, slacks(w) > 0 if risk.one_sided else active):
            break
    return w


def _logistic_newton(risk, penalty, factor):
    """Return the model and the slope of each term; the logistic loss bends everywhere, so this ends fast."""
    coefficient = _decimals([t.coefficient for t in risk.terms])
    margin = _decimals([t.margin for t in risk.terms])
    differences = _matrix([t.difference for t in risk.terms], factor)

    def value(w):
        slack = margin - differences @ w
        costs = [max(s, Decimal(0)) + (1 + (-abs(s)).exp()).ln() for s in slack]
        return coefficient @ np.array(costs, dtype=object) + (penalty * w * w).sum() / 2

    def slopes(w):
        slacks = margin - differences @ w
        return np.array([_sigmoid(s) for s in slacks], dtype=object)

    w = np.array([Decimal(0)] * len(penalty), dtype=object)
    here = value(w)
    for _ in range(_STEPS):
        b = slopes(w)
        gradient = penalty * w - (coefficient * b) @ differences
        hessian = differences.T @ ((coefficient * b * (1 - b))[:, None] * differences) + np.diag(penalty)
        step = _solve(hessian, -gradient)
        slope = (gradient * step).sum()
        length = Decimal(1)
        while (there := value(w + length * step)) > here + length * slope / 4 and length > Decimal(2) ** -60:
            length /= 2
        w, here = w + length * step, min(here, there)
        if -slope <= CLOSE * CLOSE * here:
            break
    return w, slopes(w)


def _sigmoid(s):
    tail = (-abs(s)).exp()
    return tail / (1 + tail) if s < 0 else 1 / (1 + tail)


class _Planes:
    """All planes of a risk as arrays, and sums over their blocks."""

    def __init__(self, risk, factor):
        planes = [plane for block in risk.blocks for plane in block.planes]
        self.sizes = [len(block.planes) for block in risk.blocks]
        self.starts = np.concatenate(([0], np.cumsum(self.sizes)[:-1])).astype(int)
        self.block = np.repeat(np.arange(len(self.sizes)), self.sizes)
        self.weight = _decimals([block.weight for block in risk.blocks])
        self.offset = _decimals([plane.offset for plane in planes])
        self.slope = _matrix([plane.slope for plane in planes], factor)

    def sums(self, values):
        return np.add.reduceat(values, self.starts, axis=0)

    def largest(self, values):
        return np.maximum.reduceat(values, self.starts)


def _interior_point(risk, penalty, factor):
    """Minimise ``weight.xi + 1/2 penalty.u^2`` subject to ``offset + slope u + t = xi``, ``t >= 0``.

    Mehrotra's predictor and corrector; the multipliers ``theta`` of the planes are the dual variables.
    """
    planes = _Planes(risk, factor)
    u = np.array([Decimal(0)] * len(penalty), dtype=object)
    xi = planes.largest(planes.offset) + 1
    t = xi[planes.block] - planes.offset
    theta = (planes.weight / planes.sums(np.ones(len(t), dtype=int)))[planes.block]
    best = None
    for _ in range(_STEPS):
        upper = planes.weight @ planes.largest(planes.offset + planes.slope @ u) + (penalty * u * u).sum() / 2
        mean = theta * (planes.weight / planes.sums(theta))[planes.block]
        slope = mean @ planes.slope
        lower = mean @ planes.offset - (slope * slope / penalty).sum() / 2
        if best is None or upper - lower < best[0]:
            best = (upper - lower, u, mean)
        if upper - lower <= CLOSE * upper:
            break
        u, xi, t, theta = _step(planes, penalty, u, xi, t, theta)
    _, u, mean = best
    return u, np.split(mean, planes.starts[1:])


def _step(planes, penalty, u, xi, t, theta):
    lack_u = penalty * u + theta @ planes.slope
    lack_t = planes.offset + planes.slope @ u - xi[planes.block] + t
    lack_v = planes.sums(theta) - planes.weight
    density = theta / t
    by_block = planes.sums(density[:, None] * planes.slope)
    totals = planes.sums(density)
    matrix = np.diag(penalty) + planes.slope.T @ (density[:, None] * planes.slope)
    matrix = matrix - by_block.T @ (by_block / totals[:, None])

    def direction(products):
        h = density * lack_t + products / t
        shares = (planes.sums(h) + lack_v) / totals
        du = _solve(matrix, -lack_u - h @ planes.slope + shares @ by_block)
        dxi = shares + (by_block @ du) / totals
        dtheta = density * (planes.slope @ du - dxi[planes.block]) + h
        dt = (products - t * dtheta) / theta
        return du, dxi, dt, dtheta

    mu = theta @ t / len(t)
    _, _, dt, dtheta = direction(-theta * t)
    length_t, length_theta = _longest(t, dt), _longest(theta, dtheta)
    ahead = (theta + length_theta * dtheta) @ (t + length_t * dt) / len(t)
    centring = (ahead / mu) ** 3
    du, dxi, dt, dtheta = direction(centring * mu - theta * t - dt * dtheta)
    near = Decimal("0.995")
    length_t, length_theta = (near * _longest(*pair) for pair in ((t, dt), (theta, dtheta)))
    return u + length_t * du, xi + length_t * dxi, t + length_t * dt, theta + length_theta * dtheta


def _longest(values, change):
    """Return the longest step of at most 1 that leaves all values positive."""
    steps = [-v / c for v, c in zip(values, change, strict=True) if c < 0]
    return min([Decimal(1), *steps])
