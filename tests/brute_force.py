"""Pair losses by their definition, over pairs that are written out: the oracle of everything faster."""

from collections.abc import Callable
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from marginrank.data import TrainingPairs, TrainingView


class Pairs(NamedTuple):
    """Pairs written out: rows, the coefficient of each term in the risk, and margins, if they have some."""

    winner: np.ndarray
    loser: np.ndarray
    coefficient: np.ndarray
    margin: np.ndarray | None

    def slacks(self, name, scores):
        """Return the slacks of the pairs under the loss with this name."""
        margin = term(name).margin if self.margin is None else self.margin
        return margin - (scores[self.winner] - scores[self.loser])


class Term(NamedTuple):
    """Loss of a pair as a function of its slack, with two derivatives.

    A slack is the margin minus the difference of the scores, with the margin of the loss for pairs that have
    none of their own. ``idle`` losses are 0 wherever it is not positive.
    """

    value: Callable
    slope: Callable
    curvature: Callable
    margin: float = 1.0
    idle: bool = True


def _sigmoid(t):
    return np.exp(-np.logaddexp(0.0, -t))


# One entry per name in the registries of marginrank.losses.
TERMS = {
    "hinge": Term(lambda t: t, lambda t: np.ones_like(t), lambda t: np.zeros_like(t)),
    "squared_hinge": Term(lambda t: t * t, lambda t: 2.0 * t, lambda t: np.full_like(t, 2.0)),
    "logistic": Term(
        lambda t: np.logaddexp(0.0, t),
        _sigmoid,
        lambda t: _sigmoid(t) * _sigmoid(-t),
        margin=0.0,
        idle=False,
    ),
}


def term(name):
    assert name in TERMS, (
        f"The loss {name!r} is registered but has no definition to be tested against: "
        "add its term to TERMS in tests/brute_force.py."
    )
    return TERMS[name]


class Risk(NamedTuple):
    value: float
    gradient: np.ndarray
    hvp: np.ndarray


def risk(name, pairs, scores, direction=None):
    """Return value, gradient and Hessian product of the risk with this name."""
    f = term(name)
    winner, loser, coefficient, _ = pairs
    direction = np.zeros_like(scores) if direction is None else direction
    slack = pairs.slacks(name, scores)
    active = slack > 0.0 if f.idle else np.ones(len(slack), dtype=bool)
    winner, loser, coefficient, slack = winner[active], loser[active], coefficient[active], slack[active]
    turn = coefficient * f.curvature(slack) * (direction[winner] - direction[loser])
    return Risk(
        float(coefficient @ f.value(slack)),
        _scatter(len(scores), winner, loser, -coefficient * f.slope(slack)),
        _scatter(len(scores), winner, loser, turn),
    )


def _scatter(n, winner, loser, amount):
    return np.bincount(winner, amount, n) - np.bincount(loser, amount, n)


def query_pairs(view, weighting="pairs"):
    """Write out the comparable pairs of all queries, with coefficients as algorithms.md section 1 says."""
    weight = np.ones(len(view.y)) if view.sample_weight is None else view.sample_weight
    n_queries = len(view.query_ptr) - 1
    query_weight = np.ones(n_queries) if view.query_weight is None else view.query_weight
    parts = []
    for q in range(n_queries):
        first, last = view.query_ptr[q : q + 2]
        y = view.y[first:last]
        loser, winner = np.nonzero(y[:, None] < y[None, :])
        product = weight[first + winner] * weight[first + loser]
        if len(product):
            scale = query_weight[q] if weighting == "pairs" else query_weight[q] / product.sum()
            parts.append((first + winner, first + loser, scale * product))
    winner, loser, coefficient = (np.concatenate(p) for p in zip(*parts, strict=True))
    return Pairs(winner, loser, coefficient / coefficient.sum(), None)


def explicit_pairs(training):
    weight = np.ones(len(training.pairs)) if training.weight is None else training.weight
    return Pairs(training.pairs[:, 0], training.pairs[:, 1], weight / weight.sum(), training.margin)


def active_partners(view, scores):
    """Return the weights (without weights: numbers) of the active partners above and below each row."""
    weight = np.ones(len(view.y)) if view.sample_weight is None else view.sample_weight
    above, below = np.zeros(len(view.y)), np.zeros(len(view.y))
    for first, last in pairwise(view.query_ptr):
        y, p, w = view.y[first:last], scores[first:last], weight[first:last]
        active = (y[:, None] < y[None, :]) & (p[None, :] - p[:, None] < 1.0)  # rows lower, columns higher
        above[first:last] = active @ w
        below[first:last] = w @ active
    return above, below


def view_of(sizes, y, *, weight=None, query_weight=None):
    """Return a training view of queries of these sizes, one after the other."""
    query_ptr = np.concatenate(([0], np.cumsum(sizes))).astype(np.int64)
    return TrainingView(None, query_ptr, np.asarray(y, dtype=np.float64), weight, query_weight)


def pairs_of(pairs, *, weight=None, margin=None):
    return TrainingPairs(np.asarray(pairs, dtype=np.int64), weight, margin)


# Either side of the switch between the kernels for small and for long queries, and what is degenerate.
MIXED_SIZES = (1, 2, 5, 40, 319, 1, 320, 321, 500, 3)


def random_view(rng, sizes=MIXED_SIZES, *, levels=5, weight=None, query_weight=False):
    """Return a view with random labels; every fourth query has all its labels tied."""
    n_rows = sum(sizes)
    y = rng.integers(levels, size=n_rows).astype(np.float64)
    for first, size in zip(np.cumsum(sizes)[3::4], sizes[4::4], strict=False):
        y[first : first + size] = 1.0
    weights = {
        None: None,
        "integer": rng.integers(1, 6, n_rows).astype(np.float64),
        "real": rng.lognormal(size=n_rows),
    }
    return view_of(
        sizes,
        y,
        weight=weights[weight],
        query_weight=rng.uniform(0.5, 3, len(sizes)) if query_weight else None,
    )


def random_pairs(rng, n_rows=60, n_pairs=400, *, weighted=False, margins=False):
    """Return pairs among which some occur twice and some contradict each other."""
    winner = rng.integers(n_rows, size=n_pairs)
    loser = (winner + rng.integers(1, n_rows, n_pairs)) % n_rows
    pairs = np.column_stack([winner, loser])
    some = n_pairs // 8
    pairs[:some] = pairs[-some:]
    pairs[some : 2 * some] = pairs[-some:, ::-1]
    return pairs_of(
        pairs,
        weight=rng.uniform(0.1, 4, n_pairs) if weighted else None,
        margin=rng.choice([0.0, 0.5, 1.0, 2.5], n_pairs) if margins else None,
    )


def relative_error(got, want):
    """Return the largest difference relative to the largest entry."""
    got, want = np.asarray(got), np.asarray(want)
    largest = np.max(np.abs(want))
    return np.max(np.abs(got - want)) / (largest if largest > 0 else 1.0)
