"""Exact objectives with an elastic net and bounds, and their optimum by reduction to plain problems.

Weights are in raw units, as the estimator's bounds are; a column of scale s has the penalty
``alpha (l1_ratio s |w| + (1 - l1_ratio)/2 s^2 w^2)``, and none where its bounds are equal. Nothing that finds
the optimum is trusted: a model gives an upper value, dual variables a lower one, both in rational arithmetic.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction

from exact_objectives import Block, BlockRisk, ExactObjective, LogisticRisk, Plane, Row
from independent_solver import Optimum, solved

_ROUNDS = 200
_ALL_AT_ONCE = 12
_CLOSE = Fraction(1, 10**18)


@dataclass(frozen=True)
class ColumnPenalty:
    """``square/2 w^2 + kink |w|`` from ``low`` to ``high``; None is no bound."""

    square: Fraction
    kink: Fraction
    low: Fraction | None
    high: Fraction | None

    @property
    def is_fixed(self):
        return self.low is not None and self.low == self.high

    def allows(self, w):
        return (self.low is None or self.low <= w) and (self.high is None or w <= self.high)

    def nearest(self, w):
        if self.low is not None and w < self.low:
            return self.low
        return self.high if self.high is not None and w > self.high else w

    def value(self, w):
        return Fraction(0) if self.is_fixed else self.square * w * w / 2 + self.kink * abs(w)

    def minimizer(self, z):
        if self.is_fixed:
            return self.low
        beyond = max(abs(z) - self.kink, Fraction(0)) / self.square
        return self.nearest(beyond if z > 0 else -beyond)

    def conjugate(self, z):
        w = self.minimizer(z)
        return z * w - self.value(w)


class SumOfColumns(list):
    """The penalties of all columns."""

    def conjugate(self, z):
        return sum((p.conjugate(x) for p, x in zip(self, z, strict=True)), Fraction(0))


@dataclass(frozen=True)
class ConstrainedObjective:
    """A risk with an elastic net within bounds."""

    risk: object
    scale: Row
    l1_ratio: Fraction
    low: tuple[Fraction | None, ...]
    high: tuple[Fraction | None, ...]

    def penalty(self, alpha):
        alpha = Fraction(alpha)
        return SumOfColumns(
            ColumnPenalty(alpha * (1 - self.l1_ratio) * s * s, alpha * self.l1_ratio * s, low, high)
            for s, low, high in zip(self.scale, self.low, self.high, strict=True)
        )

    def value(self, w, alpha):
        penalty = self.penalty(alpha)
        for p, x in zip(penalty, w, strict=True):
            assert p.allows(x), f"the weight {float(x)!r} is not within {p}"
        return self.risk.value(w) + sum((p.value(x) for p, x in zip(penalty, w, strict=True)), Fraction(0))

    def optimum(self, alpha):
        """Return the optimum, enclosed."""
        none = [p.nearest(Fraction(0)) for p in self.penalty(alpha)]
        if self.value(none, alpha) == 0:  # an offset or fixed weights may leave nothing to be lost
            return Optimum(none, Fraction(0), Fraction(0))
        if isinstance(self.risk, BlockRisk):
            return self._by_blocks(alpha)
        return self._by_active_sets(alpha)

    def _enclosed(self, w, certificate, alpha):
        penalty = self.penalty(alpha)
        w = [p.nearest(x) for p, x in zip(penalty, w, strict=True)]
        return Optimum(w, self.value(w, alpha), self.risk.proved(certificate, penalty))

    def _by_blocks(self, alpha):
        """Kinks are blocks of two planes, and so are bounds, with a slope that no gradient reaches."""
        penalty, risk, n = self.penalty(alpha), self.risk, self.risk.n_columns
        fixed = {j: p.low for j, p in enumerate(penalty) if p.is_fixed}
        blocks = [
            block._replace(planes=tuple(_with_values(plane, fixed) for plane in block.planes))
            for block in risk.blocks
        ]
        zero = Plane(Fraction(0), (Fraction(0),) * n)
        for j, p in enumerate(penalty):
            if p.is_fixed:
                continue
            unit = tuple(Fraction(int(k == j)) for k in range(n))
            down = tuple(-x for x in unit)
            if p.kink:
                blocks.append(Block(p.kink, (Plane(Fraction(0), unit), Plane(Fraction(0), down))))
            steep = 1 + 2 * p.kink
            steep += 2 * sum(b.weight * max(abs(plane.slope[j]) for plane in b.planes) for b in risk.blocks)
            for bound, slope, sign in ((p.high, unit, -1), (p.low, down, 1)):
                if bound is not None:
                    steeper = steep + 2 * p.square * abs(bound)
                    blocks.append(Block(steeper, (zero, Plane(sign * bound, slope))))
        squares = tuple(Fraction(1) if p.is_fixed else p.square for p in penalty)
        u, certificate = solved(ExactObjective(BlockRisk(tuple(blocks), n), squares), 1)
        w = [fixed.get(j, x) for j, x in enumerate(u)]
        return self._enclosed(w, certificate[: len(risk.blocks)], alpha)

    def _by_active_sets(self, alpha):
        """Solve smooth problems of some columns, and change which these are until nothing is left to do."""
        penalty = self.penalty(alpha)
        # For each column its value, or None with the side of 0 that it is on.
        state = [(p.low if p.is_fixed else None, 1) for p in penalty]
        for n_rounds in range(_ROUNDS):
            w, certificate = self._reduced(penalty, state)
            best = self._enclosed(w, certificate, alpha)
            if best.width <= _CLOSE:
                break
            z = self.risk.pull(certificate)
            wanted = [_state(p, state[j], w[j], z[j]) for j, p in enumerate(penalty)]
            changed = [j for j in range(len(w)) if wanted[j] != state[j]]
            for j in changed if n_rounds < _ALL_AT_ONCE else changed[:1]:
                state[j] = wanted[j]
        return best

    def _reduced(self, penalty, state):
        values = {j: value for j, (value, _) in enumerate(state) if value is not None}
        # square/2 w^2 + kink side w is a square about another place, up to a constant.
        shift = [
            Fraction(0) if j in values else p.kink * state[j][1] / p.square for j, p in enumerate(penalty)
        ]
        terms = []
        for term in self.risk.terms:
            margin = term.margin
            for j, d in enumerate(term.difference):
                margin += d * (shift[j] if j not in values else -values[j])
            difference = tuple(Fraction(0) if j in values else d for j, d in enumerate(term.difference))
            terms.append(term._replace(margin=margin, difference=difference))
        squares = tuple(Fraction(1) if j in values else p.square for j, p in enumerate(penalty))
        u, certificate = solved(ExactObjective(replace(self.risk, terms=tuple(terms)), squares), 1)
        w = [values[j] if j in values else x - shift[j] for j, x in enumerate(u)]
        return w, certificate if isinstance(self.risk, LogisticRisk) else w


def _with_values(plane, fixed):
    offset = plane.offset + sum((plane.slope[j] * value for j, value in fixed.items()), Fraction(0))
    return Plane(offset, tuple(Fraction(0) if j in fixed else s for j, s in enumerate(plane.slope)))


def _state(p, state, w, z):
    """Return where a column belongs, given the pull of the risk on it."""
    value, side = state
    if p.is_fixed:
        return state
    if value is None:
        if p.kink and w * side < 0:
            return p.nearest(Fraction(0)), side
        return state if p.allows(w) else (p.nearest(w), side)
    there = p.minimizer(z)
    if there == value:
        return state
    return None, 1 if (value or there) > 0 else -1
