"""Objectives in rational arithmetic: the value of a model, and what dual variables prove, without rounding.

Two kinds of risk are rational. The hinge and the structured losses are sums over blocks of the largest of
some planes; the squared losses are sums of squares over pairs. The logistic loss is not, and enclosed:
``value`` is never below a risk, ``at_least`` never above it. All are evaluated over differences of rows, so a
constant that is added to a column vanishes exactly.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import NamedTuple

from exact_logistic import entropy, softplus

Row = tuple[Fraction, ...]
_LEAST_SLOPE = Fraction(1, 2**2880)


def dot(a, b):
    return sum((x * y for x, y in zip(a, b, strict=True) if x and y), Fraction(0))


def combination(weights, rows, n_columns):
    """Return the sum of the rows, each times its weight."""
    total = [Fraction(0)] * n_columns
    for weight, row in zip(weights, rows, strict=True):
        if weight:
            for j, entry in enumerate(row):
                if entry:
                    total[j] += weight * entry
    return total


class Plane(NamedTuple):
    """The affine function ``offset + slope.w``."""

    offset: Fraction
    slope: Row


class Block(NamedTuple):
    """A weight times the largest of some planes at each ``w``."""

    weight: Fraction
    planes: tuple[Plane, ...]


class PairTerm(NamedTuple):
    """A coefficient times a function of ``margin - difference.w``."""

    coefficient: Fraction
    margin: Fraction | None
    difference: Row


def merged(terms):
    """Return the terms with those of equal margin and difference added up."""
    sums: dict[tuple[Fraction, Row], Fraction] = {}
    for coefficient, margin, difference in terms:
        if coefficient:
            key = (margin, difference)
            sums[key] = sums.get(key, Fraction(0)) + coefficient
    return tuple(PairTerm(coefficient, *key) for key, coefficient in sums.items())


@dataclass(frozen=True)
class BlockRisk:
    """Sum over blocks of the largest of their planes; its dual has a weight for each plane."""

    blocks: tuple[Block, ...]
    n_columns: int

    def value(self, w):
        return sum(
            (block.weight * max(p.offset + dot(p.slope, w) for p in block.planes) for block in self.blocks),
            Fraction(0),
        )

    at_least = value

    def proved(self, weights, penalty):
        """Return the lower bound that weights of the planes prove, made feasible first.

        With weights that are at least 0 and sum up to the weight of each block, the risk is at least their
        mean plane, whose sum with the penalty has its minimum in closed form.
        """
        level, slope = Fraction(0), [Fraction(0)] * self.n_columns
        for block, given in zip(self.blocks, weights, strict=True):
            kept = [max(weight, Fraction(0)) for weight in given]
            total = sum(kept)
            if not total:
                kept, total = [Fraction(1)] * len(kept), Fraction(len(kept))
            feasible = [weight * block.weight / total for weight in kept]
            level += dot(feasible, [p.offset for p in block.planes])
            part = combination(feasible, [p.slope for p in block.planes], self.n_columns)
            slope = [a + b for a, b in zip(slope, part, strict=True)]
        return level - _conjugate([-x for x in slope], penalty)


@dataclass(frozen=True)
class SquaredRisk:
    """Sum over pairs of the square of ``margin - difference.w``, everywhere or only where it is positive."""

    terms: tuple[PairTerm, ...]
    n_columns: int
    one_sided: bool

    def slacks(self, w):
        slacks = [term.margin - dot(term.difference, w) for term in self.terms]
        return [max(slack, Fraction(0)) for slack in slacks] if self.one_sided else slacks

    def value(self, w):
        slacks = self.slacks(w)
        return sum((t.coefficient * s * s for t, s in zip(self.terms, slacks, strict=True)), Fraction(0))

    at_least = value

    def proved(self, w, penalty):
        """Return the lower bound that the slopes of the squares at ``w`` prove."""
        weights = [2 * t.coefficient * s for t, s in zip(self.terms, self.slacks(w), strict=True)]
        level = sum(
            (b * t.margin - b * b / (4 * t.coefficient) for t, b in zip(self.terms, weights, strict=True)),
            Fraction(0),
        )
        return level - _conjugate(self.pull(w), penalty)

    def pull(self, w):
        """Return minus the gradient at ``w``."""
        weights = [2 * t.coefficient * s for t, s in zip(self.terms, self.slacks(w), strict=True)]
        return combination(weights, [t.difference for t in self.terms], self.n_columns)


@dataclass(frozen=True)
class LogisticRisk:
    """Sum over pairs of ``log(1 + exp(margin - difference.w))``, from above and from below."""

    terms: tuple[PairTerm, ...]
    n_columns: int

    def value(self, w):
        return self._sum(w, up=True)

    def at_least(self, w):
        return self._sum(w, up=False)

    def _sum(self, w, *, up):
        slacks = [t.margin - dot(t.difference, w) for t in self.terms]
        costs = [softplus(slack, up=up) for slack in slacks]
        return dot([t.coefficient for t in self.terms], costs)

    def proved(self, weights, penalty):
        """Return the lower bound that slopes of the terms prove: ``log(1 + e^x) >= b x + entropy(b)``.

        Any slopes prove; those too small for ``softplus`` to tell from 0 are 0, as their fractions are long.
        """
        slopes = [min(b, Fraction(1)) if b > _LEAST_SLOPE else Fraction(0) for b in weights]
        by_term = [t.coefficient * b for t, b in zip(self.terms, slopes, strict=True)]
        level = dot(by_term, [t.margin for t in self.terms])
        level += dot([t.coefficient for t in self.terms], [entropy(b) for b in slopes])
        return level - _conjugate(self.pull(slopes), penalty)

    def pull(self, slopes):
        """Return minus the gradient that these slopes of the terms make."""
        by_term = [t.coefficient * b for t, b in zip(self.terms, slopes, strict=True)]
        return combination(by_term, [t.difference for t in self.terms], self.n_columns)


def _conjugate(pull, penalty):
    """Return what the penalty takes off a bound; a list of squares, or one that knows its conjugate."""
    if hasattr(penalty, "conjugate"):
        return penalty.conjugate(pull)
    return _squares(pull, penalty)


def _squares(slope, penalty):
    return sum((s * s / (2 * q) for s, q in zip(slope, penalty, strict=True) if s), Fraction(0))


def hinge_risk(terms, n_columns):
    """Return the sum of ``coefficient * max(0, margin - difference.w)`` as blocks of two planes."""
    zero = Plane(Fraction(0), (Fraction(0),) * n_columns)
    blocks = tuple(
        Block(t.coefficient, (zero, Plane(t.margin, tuple(-d for d in t.difference)))) for t in merged(terms)
    )
    return BlockRisk(blocks, n_columns)


def default_margin(loss):
    """Return the margin of pairs that have none of their own."""
    return Fraction(0 if loss == "logistic" else 1)


def pair_risk(loss, terms, n_columns):
    """Return the risk of pair terms under the loss with this name; a margin of None is that of the loss."""
    terms = [t._replace(margin=default_margin(loss)) if t.margin is None else t for t in terms]
    if loss == "hinge":
        return hinge_risk(terms, n_columns)
    if loss == "logistic":
        return LogisticRisk(merged(terms), n_columns)
    assert loss in ("squared_hinge", "least_squares"), f"{loss} has no rational definition: add it here."
    return SquaredRisk(merged(terms), n_columns, one_sided=loss == "squared_hinge")


@dataclass(frozen=True)
class ExactObjective:
    """``risk(w) + 1/2 sum_j penalty_j w_j^2``, with the penalty of alpha 1 kept apart."""

    risk: BlockRisk | SquaredRisk | LogisticRisk
    unit_penalty: Row

    def penalty(self, alpha):
        return [Fraction(alpha) * q for q in self.unit_penalty]

    def value(self, w, alpha):
        norm = sum((q * x * x for q, x in zip(self.penalty(alpha), w, strict=True)), Fraction(0))
        return self.risk.value(w) + norm / 2
