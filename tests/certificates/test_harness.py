"""The harness itself: its losses follow the slow definitions, its optimum is one, and it catches lies."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal, localcontext
from fractions import Fraction
from types import SimpleNamespace

import numpy as np
import pytest
from claims import CLOSE_ENOUGH, Claim, violations
from exact_logistic import entropy, softplus
from exact_losses import (
    Queries,
    exact_gain,
    explicit_terms,
    factored_kernel,
    query_risk,
    rational,
    rational_rows,
    structured_risk,
)
from exact_objectives import ExactObjective, pair_risk
from fitted_claims import GAINS, GRADED, LOSS_SOLVERS, TARGETS, draw_pairs, queries_of
from independent_solver import optimum
from random_rows import draw_rows
from scipy import sparse

import brute_force
import structured_oracle
from marginrank import RankingData
from marginrank.gains import read_gain
from marginrank.losses import PREFERENCE_LOSSES, QUERY_LOSSES
from marginrank.losses.structured import GRADED_TARGETS, STRUCTURED_TARGETS, TargetOptions
from marginrank.losses.structured.discounts import discount_table
from marginrank.solvers import SOLVERS

LOSSES = ["hinge", "squared_hinge", "logistic", "least_squares"]


def test_every_registered_loss_solver_and_target_is_drawn():
    """What is new in a registry of the library wants a line in LOSS_SOLVERS or TARGETS."""
    assert set(LOSS_SOLVERS) == set(QUERY_LOSSES) == set(PREFERENCE_LOSSES)
    assert {solver for solvers in LOSS_SOLVERS.values() for solver in solvers} == set(SOLVERS)
    drawn = {
        (target.partition("@")[0], feature_map) for target, feature_map in TARGETS if isinstance(target, str)
    }
    assert drawn == set(STRUCTURED_TARGETS)
    assert {(target.partition("@")[0], "po") for target in GRADED if isinstance(target, str)} == set(
        GRADED_TARGETS
    )


def dense_rows(rng, **options):
    return draw_rows(rng, hard=False, sparse_too=False, **options)


def model_and_scores(rng, rows):
    w = rng.normal(size=rows.X.shape[1]).astype(np.float32).astype(np.float64)
    return w, rows.X.astype(np.float64) @ w


@pytest.mark.parametrize("weighting", ["pairs", "queries"])
@pytest.mark.parametrize("loss", QUERY_LOSSES)
@pytest.mark.parametrize("seed", range(6))
def test_exact_pair_losses_equal_brute_force(loss, weighting, seed):
    rng = np.random.default_rng(seed)
    rows = dense_rows(rng)
    w, scores = model_and_scores(rng, rows)
    view = RankingData(rows.X, rows.y, **rows.given).training_view()
    scores = scores if view.rows is None else scores[view.rows]
    expected = brute_force.risk(loss, brute_force.query_pairs(view, weighting), scores).value
    exact = query_risk(loss, rational_rows(rows.X), queries_of(rows), weighting).value(rational(w))
    assert float(exact) == pytest.approx(expected, rel=1e-12)  # the float version rounds


@pytest.mark.parametrize("loss", ["squared_hinge", "logistic"])
@pytest.mark.parametrize("seed", range(6))
def test_exact_losses_of_explicit_pairs_equal_brute_force(loss, seed):
    rng = np.random.default_rng(seed)
    rows = dense_rows(rng)
    pairs, weight, margin = draw_pairs(rng, len(rows.y))
    w, scores = model_and_scores(rng, rows)
    written_out = brute_force.explicit_pairs(brute_force.pairs_of(pairs, weight=weight, margin=margin))
    expected = brute_force.risk(loss, written_out, scores).value
    terms = explicit_terms(rational_rows(rows.X), pairs, weight, margin)
    assert float(pair_risk(loss, terms, len(w)).value(rational(w))) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("seed", range(6))
def test_exact_least_squares_are_the_centred_ones(seed):
    rng = np.random.default_rng(seed)
    rows = dense_rows(rng)
    w, scores = model_and_scores(rng, rows)
    total = mass = 0.0
    queries = queries_of(rows)
    for members, v in queries.queries:
        weight = np.array([float(queries.weight[i]) for i in members])
        error = (scores - rows.y)[members]
        total += float(v) * weight @ (error - np.average(error, weights=weight)) ** 2
        mass += float(v) * weight.sum()
    exact = query_risk("least_squares", rational_rows(rows.X), queries).value(rational(w))
    assert float(exact) == pytest.approx(total / mass, rel=1e-12)


@pytest.mark.parametrize(("target", "feature_map"), [one for one in TARGETS if isinstance(one[0], str)])
@pytest.mark.parametrize("discount", ["log2", "letor"])
def test_exact_structured_losses_equal_the_maximum_over_rankings(target, feature_map, discount):
    rng = np.random.default_rng(5)
    rows = dense_rows(rng, sample_weights=False, largest=4)
    name, _, cutoff = target.partition("@")
    cutoff = int(cutoff) if cutoff else None
    w, scores = model_and_scores(rng, rows)
    view = RankingData(rows.X, rows.y, **rows.given).training_view()
    scores = scores if view.rows is None else scores[view.rows]
    options = TargetOptions(cutoff=cutoff, discount=discount, rank_weight="fourth_root")
    expected = structured_oracle.risk(name, feature_map, view, options, scores)
    exact = structured_risk(
        rational_rows(rows.X),
        queries_of(rows),
        [(name, cutoff, 1)],
        feature_map=feature_map,
        relevance=1,
        discount=discount,
        rank_weight="fourth_root",
    )
    assert float(exact.value(rational(w))) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("target", [one for one in GRADED if isinstance(one, str)])
@pytest.mark.parametrize("gain", GAINS, ids=str)
def test_exact_losses_of_grades_equal_the_maxima_over_rankings(target, gain):
    rng = np.random.default_rng(6)
    rows = dense_rows(rng, sample_weights=False, largest=4)
    name, _, cutoff = target.partition("@")
    cutoff = int(cutoff) if cutoff else None
    w, scores = model_and_scores(rng, rows)
    view = RankingData(rows.X, rows.y, **rows.given).training_view()
    scores = scores if view.rows is None else scores[view.rows]
    options = TargetOptions(cutoff=cutoff, graded=True, gain=read_gain(gain))
    exact = structured_risk(
        rational_rows(rows.X),
        queries_of(rows),
        [(name, cutoff, 1)],
        feature_map="po",
        relevance=1,
        discount="log2",
        rank_weight="fourth_root",
        gain=exact_gain(read_gain(gain)),
    )
    expected = structured_oracle.risk(name, "po", view, options, scores)
    assert expected > 0
    assert float(exact.value(rational(w))) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("name", ["log2", "letor"])
def test_the_discounts_are_logarithms_to_the_last_digits(name):
    """The tables are data of the exact losses, so something else must say that they are right."""
    table = discount_table(name, 12)
    with localcontext() as context:
        context.prec = 40
        for rank, value in enumerate(table, start=1):
            argument = rank + 1 if name == "log2" else max(rank, 2)
            expected = Decimal(2).ln() / Decimal(argument).ln()
            assert abs(Decimal(float(value)) / expected - 1) < Decimal("3e-16")  # two roundings


@pytest.mark.parametrize("x", [0.0, 1.0, -1.0, 30.0, -30.0, -139.0, -141.0, 1999.0, -1999.0, -2001.0, 1e300])
def test_the_logistic_loss_is_enclosed_to_fifty_digits(x):
    low, high = (softplus(Fraction(x), up=up) for up in (False, True))
    with localcontext() as context:
        context.prec = 1000
        exact = Fraction((1 + Decimal(-abs(x)).exp()).ln()) + max(Fraction(x), 0) if abs(x) < 2000 else None
    assert low < high <= low * (1 + Fraction(1, 10**50)) + Fraction(1, 2**2880)
    assert exact is None or low < exact < high


@pytest.mark.parametrize("b", [0.5, 1e-3, 1 - 2.0**-53, 2.0**-900, 2.0**-53])
def test_the_entropy_is_as_close_from_below(b):
    """``log(1 + e^x)`` is the largest of ``b x + entropy(b)``, attained where b is the slope at x."""
    b = Fraction(b)
    with localcontext() as context:
        context.prec = 1000
        x = Fraction(
            (Decimal(b.numerator) / Decimal((1 - b).numerator * b.denominator // (1 - b).denominator)).ln()
        )
    attained = softplus(x, up=False) - b * x
    assert entropy(b) <= softplus(x, up=True) - b * x
    assert entropy(b) >= attained * (1 - Fraction(1, 10**40))


def test_entries_stored_twice_are_added():
    matrix = sparse.csr_matrix(([1.0, 2.0, 4.0], [1, 1, 0], [0, 2, 3]), shape=(2, 2))
    assert rational_rows(matrix) == [(0, 3), (4, 0)]


def test_a_kernel_matrix_is_taken_apart_exactly():
    Z = np.array([[1.0, 2.0], [1.0, 2.0], [0.0, 3.0]])
    L, D = factored_kernel(Z @ Z.T)
    again = [[sum(a * b * d for a, b, d in zip(p, q, D, strict=True)) for q in L] for p in L]
    assert again == [list(row) for row in rational_rows(Z @ Z.T)]
    assert factored_kernel(np.array([[1.0, 2.0], [2.0, 1.0]])) is None


def problem(loss="hinge", seed=0, *, hard=False, change=None):
    """Return an exact problem; ``change`` may spoil the rows first."""
    rows = draw_rows(np.random.default_rng([9, seed]), hard=hard, sparse_too=False)
    rows.sample_weight = np.ones(len(rows.y))
    if change is not None:
        change(rows)
    queries = Queries(rows.y, rows.qid, rows.sample_weight, rows.query_weight)
    risk = query_risk(loss, rational_rows(rows.X), queries)
    return ExactObjective(risk, (Fraction(1),) * rows.X.shape[1])


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("alpha", [1e-10, 1e-2, 1e6])
def test_the_independent_solver_encloses_the_optimum(loss, alpha):
    for seed in range(4):
        best = optimum(problem(loss, seed, hard=True), alpha)
        assert best.lower <= best.upper
        assert best.width <= CLOSE_ENOUGH


@pytest.mark.parametrize("loss", LOSSES)
def test_no_model_nearby_is_better_than_the_optimum(loss):
    exact = problem(loss)
    best = optimum(exact, 0.01)
    rng = np.random.default_rng(0)
    for _ in range(20):
        step = rational(1e-3 * rng.normal(size=len(best.w)))
        assert exact.value([a + b for a, b in zip(best.w, step, strict=True)], 0.01) >= best.lower


def honest(exact, alpha, excess=1e-6):
    """Return a true claim about a model that is worse than the optimum by about an excess."""
    best = optimum(exact, alpha)
    # The value is convex, so going far enough from the optimum costs any excess.
    low, high = Fraction(0), Fraction(1)
    for _ in range(60):
        middle = (low + high) / 2
        w = [x * (1 + middle) for x in best.w]
        low, high = (
            (low, middle) if exact.value(w, alpha) > best.upper * (1 + Fraction(excess)) else (middle, high)
        )
    value = exact.value([x * (1 + high) for x in best.w], alpha)
    true = SimpleNamespace(value=value, gap=(value - best.lower) / value)
    claim = Claim(
        "made up",
        exact,
        alpha,
        [x * (1 + high) for x in best.w],
        objective=np.nextafter(float(value), np.inf),
        bound=np.nextafter(float(best.lower), 0.0),
        gap=float(true.gap) * (1 + 1e-9) + 1e-15,  # the objective was rounded up
    )
    return claim, true


@pytest.mark.parametrize("loss", LOSSES)
def test_a_true_claim_is_not_refuted(loss):
    claim, _ = honest(problem(loss), 0.01)
    assert violations(claim) == []


@pytest.mark.parametrize("loss", LOSSES)
def test_a_bound_that_is_raised_by_a_billionth_is_caught(loss):
    claim, _ = honest(problem(loss), 0.01)
    raised = claim.bound * (1 + 1e-9)
    assert any("exceeds the optimum" in line for line in violations(replace(claim, bound=raised)))
    assert any("exceeds the optimum" in line for line in violations(replace(claim, further_bounds=(raised,))))


@pytest.mark.parametrize("loss", LOSSES)
def test_a_gap_that_is_reduced_by_a_millionth_of_itself_is_caught(loss):
    claim, true = honest(problem(loss), 0.01)
    reduced = float(true.gap) * (1 - 1e-6)
    assert any("true gap" in line for line in violations(replace(claim, gap=reduced)))


def test_a_last_bit_is_caught():
    claim, _ = honest(problem("squared_hinge"), 0.01)
    best = optimum(claim.exact, claim.alpha)
    above = float(best.upper)
    while Fraction(above) <= best.upper:
        above = float(np.nextafter(above, np.inf))
    assert any("exceeds the optimum" in line for line in violations(replace(claim, bound=above)))


@pytest.mark.parametrize("loss", LOSSES)
def test_a_wrong_weight_is_caught(loss):
    """A certificate of one problem, made with a wrong weight, is false for the problem that was meant."""

    def spoil(rows):
        rows.sample_weight[0] = 1.01

    claim, _ = honest(problem(loss, change=spoil), 0.01, excess=1e-9)
    assert violations(claim) == []
    assert violations(replace(claim, exact=problem(loss))) != []


@pytest.mark.parametrize(
    ("lie", "sentence"),
    [
        ({"gap": -1e-16}, "not between 0 and 1"),
        ({"gap": 1.5}, "not between 0 and 1"),
        ({"gap": float("nan")}, "not all finite"),
        ({"bound": -1e-300}, "not 0 <= bound"),
        ({"bound": 10.0}, "not 0 <= bound"),
        ({"objective": float("inf")}, "not all finite"),
        ({"largest_gap": 1e-12}, "said to be at most"),
    ],
)
def test_numbers_out_of_their_range_are_caught(lie, sentence):
    claim, _ = honest(problem(), 0.01)
    assert any(sentence in line for line in violations(replace(claim, **lie)))


def test_an_objective_below_the_value_of_the_model_is_caught():
    claim, true = honest(problem(), 0.01)
    low = replace(claim, objective=float(true.value) * (1 - 1e-15))
    assert any("exceeds the objective" in line for line in violations(low))
