"""An interior-point method for the hinge in problems so small that its pairs are written out.

With margins ``m = D w``, one for each pair, weights c and slacks, the problem is a quadratic programme,

    minimise  alpha/2 ||w||^2 + c.xi    subject to    m - 1 + xi = s,  s >= 0,  xi >= 0,

whose optimum has a share ``mu`` in [0, 1] for each pair, ``alpha w = D' (c mu)``, with ``mu s = 0`` and
``(1 - mu) xi = 0``. Newton's method is applied to these with ``tau`` in place of 0, which falls from step to
step (Mehrotra, SIAM J. Optim. 2, 1992). It takes 9 to 14 steps, however nearly separable the rows are, where
a solver that learns from subgradients takes a hundred.

Any shares from 0 to 1 give a plane of the risk, ``R(p) >= sum_k c_k mu_k (1 - m_k)``, so every step has one,
and the certificate rests on nothing else.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from marginrank.rounding import TINY, UNIT, upward
from marginrank.solvers.base import Objective
from marginrank.solvers.certificate import Certificate
from marginrank.solvers.cholesky import cholesky_factor, solved
from marginrank.solvers.score_planes import ScorePlane
from marginrank.types import Vector

# The squared gradient at zero is at least this many times alpha, or a few steps of another solver suffice.
_LEAST_BALANCE = 10.0
# The first slacks are this far from their limits.
_ROOM = 0.5
# A step goes this part of the way to the nearest limit.
_SHARE_OF_WAY = 0.99
_SHORTEST_STEP = 1e-6
_MOST_STEPS = 60


def interior_pays(objective: Objective, start: Any) -> bool:
    """Whether the pairs of an objective are written out, and its alpha makes a run from zero a long one."""
    if start.w.any() or not (objective.penalty.is_squared_norm and hasattr(objective, "small_hinge")):
        return False
    slope = start.risk_gradient
    return bool(
        float(slope @ slope) >= _LEAST_BALANCE * objective.alpha and objective.small_hinge is not None
    )


class _State(NamedTuple):
    """Shares of the pairs and their slacks."""

    mu: Vector
    s: Vector
    xi: Vector


def interior_steps(certificate: Certificate, point: Any, max_iter: int) -> str | None:
    """Step until the run is over and return its status, or None when a step leads nowhere."""
    objective: Any = certificate.objective
    programme = _Programme(objective)
    missing = programme.margin - programme.margins(point)
    room = np.maximum(missing, 0.0) + _ROOM
    state = _State(np.full(len(room), 0.5), room - missing, room)
    for _ in range(_MOST_STEPS):
        if certificate.iteration >= max_iter:
            return "max_iter"
        with np.errstate(all="ignore"):  # what is not finite leads nowhere
            found = programme.step(point, state)
        if found is None:
            return None
        line, changes, length = found
        point = line.at(length)
        certificate.observe(point)
        state = _State(*(old + length * change for old, change in zip(state, changes, strict=True)))
        certificate.planes.cut_scores(objective, programme.plane(state.mu))
        status = certificate.report()
        if status:
            return status
    return None


class _Programme:
    """The pairs, and the directions of Newton's method."""

    def __init__(self, objective: Any) -> None:
        self._objective = objective
        self._rows, pairs = objective.small_hinge
        self._better, self._worse, self._weight, self._relative, self.margin, self._margin_error = pairs
        self._n = len(self._rows)
        self._total = float(self._weight.sum())

    def margins(self, point: Any) -> Vector:
        return self._differences(point.scores)

    def _differences(self, scores: Vector) -> Vector:
        return np.asarray(scores[self._better] - scores[self._worse])

    def _by_row(self, values: Vector) -> Vector:
        """Return ``D_p' v``: what pairs pull at each row."""
        up = np.bincount(self._better, values, self._n)
        return np.asarray(up - np.bincount(self._worse, values, self._n))

    def plane(self, mu: Vector) -> ScorePlane:
        """Return the plane of shares, with the rounding of its sums and of the weights."""
        shared = self._weight * np.clip(mu, 0.0, 1.0)
        total = upward(float(shared.sum()), len(shared))
        part = self._relative + (len(shared) + 8) * UNIT
        offset = float((shared * self.margin).sum())
        taken_off = part * upward(float((shared * np.abs(self.margin)).sum()), len(shared))
        taken_off = upward(taken_off + self._margin_error * total) + TINY
        length = upward(2.0 * total, 4.0 + len(shared))
        return ScorePlane(-self._by_row(shared), offset, taken_off, 2.0 * upward(part * total), length)

    def step(self, point: Any, state: _State) -> tuple[Any, _State, float] | None:
        """Return a line of coefficients, a direction of the state, and how far to go; None for no way."""
        mu, s, xi = state
        w, margins, nu = point.w, self.margins(point), 1.0 - state.mu
        theta = 1.0 / (s / mu + xi / nu)
        factor = self._factor(theta)
        if factor is None:
            return None

        def direction(tau_s: Any, tau_xi: Any) -> tuple[Any, _State]:
            wanted = tau_s / mu - tau_xi / nu + self.margin - margins
            pull = self._rows.T @ self._by_row(self._weight * (mu + theta * wanted))
            dw = solved(factor, pull - self._objective.alpha * w)
            line = point.along(dw)
            dm = self._differences(line.look_along())
            self._objective.passes += 0.5
            dmu = theta * (wanted - dm)
            dxi = tau_xi / nu - xi + (xi / nu) * dmu
            return line, _State(dmu, dm + dxi + (margins - self.margin + xi - s), dxi)

        _, first = direction(0.0, 0.0)
        tau = self._open(state)
        ahead = self._open(
            _State(*(x + _longest(state, first) * d for x, d in zip(state, first, strict=True)))
        )
        aim = tau * (ahead / tau) ** 3
        line, changes = direction(aim - first.mu * first.s, aim + first.mu * first.xi)
        length = min(1.0, _SHARE_OF_WAY * _longest(state, changes))
        finite = all(np.isfinite(change).all() for change in changes)
        return (line, changes, length) if finite and length > _SHORTEST_STEP else None

    def _open(self, state: _State) -> float:
        """Return the mean of what should be 0."""
        mu, s, xi = state
        return float(self._weight @ (mu * s + (1.0 - mu) * xi)) / (2.0 * self._total)

    def _factor(self, theta: Vector) -> Any:
        """Factor ``alpha I + D' (c theta) D``; None where rounding leaves no factor."""
        n, weight = self._n, self._weight * theta
        pulls = np.bincount(self._better * n + self._worse, weight, n * n).reshape(n, n)
        pulls = pulls + pulls.T
        laplacian: NDArray[np.float64] = np.diag(pulls.sum(axis=1)) - pulls
        hessian = self._rows.T @ (laplacian @ self._rows)
        self._objective.passes += 0.5
        hessian[np.diag_indices_from(hessian)] += self._objective.alpha
        return cholesky_factor(hessian)


def _longest(state: _State, changes: _State) -> float:
    """Return the longest step that keeps shares between 0 and 1 and slacks positive; at most 1."""
    longest = 1.0
    limits = (
        (state.mu, changes.mu),
        (1.0 - state.mu, -changes.mu),
        (state.s, changes.s),
        (state.xi, changes.xi),
    )
    for value, change in limits:
        falling = change < 0.0
        if falling.any():
            longest = min(longest, float((value[falling] / -change[falling]).min()))
    return longest
