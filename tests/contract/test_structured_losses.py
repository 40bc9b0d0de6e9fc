"""What every structured target must hold: the maximum over rankings, convexity, the bound, the same bits."""

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

from brute_force import relative_error, view_of
from marginrank.data import TrainingView
from marginrank.exceptions import MarginRankError, NothingToRankError
from marginrank.gains import GainTable
from marginrank.losses.structured import (
    GRADED_TARGETS,
    STRUCTURED_TARGETS,
    CombinedLoss,
    TargetOptions,
    structured_loss,
)
from marginrank.metrics import Metric, evaluate
from structured_oracle import (
    all_ranks,
    delta_by_scores,
    gain_of,
    planes,
    query_risk,
    ranks_anything,
    risk,
    terms,
)

# Sums of at most some thousand terms of order 1, in another order than the oracle's.
ROUNDING = 1e-12
# The lowest label is worth something, and two labels are worth the same.
TABLE = GainTable.of({0: 0.5, 1: 2, 2: 2, 3: 9})


def variants(target, feature_map, cutoffs):
    """Return the options in which a target can be trained."""
    cuts = cutoffs if target in ("ndcg", "mrr") else [None]
    discounts = ["log2", "letor"] if target == "ndcg" else ["log2"]
    weights = ["fourth_root", "discount"] if feature_map == "dorm" else ["fourth_root"]
    options = [
        TargetOptions(cutoff=cutoff, discount=discount, rank_weight=weight)
        for cutoff in cuts
        for discount in discounts
        for weight in weights
    ]
    if (target, feature_map) in GRADED_TARGETS:
        gains = ["exponential", "linear", TABLE] if target == "ndcg" else ["exponential"]
        options += [replace(one, graded=True, gain=gain) for one in options for gain in gains]
    return options


CASES = [
    (target, feature_map, options)
    for target, feature_map in STRUCTURED_TARGETS
    for options in variants(target, feature_map, [None, 3])
]


@pytest.fixture(params=CASES, ids=lambda case: "-".join(map(str, (*case[:2], *vars(case[2]).values()))))
def case(request):
    return request.param


def score_vectors(rng, n):
    """Return scores of all sizes around the margins, from everywhere and from a lattice with many ties."""
    vectors = [np.zeros(n)]
    for spread in (0.03, 0.3, 3.0):
        vectors.append(spread * rng.normal(size=n))
        vectors.append(spread * rng.integers(-2, 3, n))
    return vectors


def labels(rng, n, n_grades):
    """Return random labels that are not all equal."""
    while True:
        y = rng.integers(n_grades, size=n).astype(np.float64)
        if len(np.unique(y)) > 1:
            return y


def mixed_view(rng, *, query_weight=False, sizes=(1, 2, 5, 40, 90, 1, 33, 150, 3, 61)):
    """Return queries of many sizes; some have only good or only bad rows."""
    y = rng.integers(3, size=sum(sizes)).astype(np.float64)
    starts = np.concatenate(([0], np.cumsum(sizes)))
    y[starts[2] : starts[3]] = 2.0
    y[starts[6] : starts[7]] = 0.0
    return view_of(sizes, y, query_weight=rng.uniform(0.5, 3, len(sizes)) if query_weight else None)


def build(case, view, n_threads=1):
    target, feature_map, options = case
    return structured_loss(view, target, feature_map, options, n_threads=n_threads)


@pytest.mark.parametrize("n", range(2, 8))
@pytest.mark.parametrize(("target", "feature_map"), STRUCTURED_TARGETS)
def test_inference_equals_all_rankings(target, feature_map, n):
    rng = np.random.default_rng(n)
    for trial in range(6 if n < 7 else 3):
        # Pairs of many grades are more than can be written out in all orders.
        y = labels(rng, n, 2 if trial % 2 or (target == "auc" and n > 5) else 3)
        for options in variants(target, feature_map, [None, *range(1, n + 2)]):
            if not ranks_anything(target, feature_map, y, options):
                continue
            loss = structured_loss(view_of([n], y), target, feature_map, options)
            for scores in score_vectors(rng, n):
                point = loss.at(scores)
                want = query_risk(target, feature_map, y, options, scores)
                assert point.value == pytest.approx(want, rel=ROUNDING, abs=ROUNDING)
                if options.graded:
                    continue  # a sum of planes; test_every_gradient_of_grades_is_below_all_rankings
                # The gradient is phi of a ranking that attains the maximum: one of the planes.
                delta, psi = planes(target, feature_map, y, options)
                intercept = point.value - point.gradient @ scores
                distance = np.abs(psi - point.gradient).max(axis=1) + np.abs(delta - intercept)
                assert distance.min() < 1e-11


GRADED_CASES = [case for case in CASES if case[2].graded]
graded_cases = pytest.mark.parametrize(
    "graded", GRADED_CASES, ids=lambda case: "-".join(map(str, (*case[:2], *vars(case[2]).values())))
)


@graded_cases
def test_every_gradient_of_grades_is_below_all_rankings(graded):
    target, feature_map, options = graded
    rng = np.random.default_rng(11)
    for n in (3, 5, 6):
        y = labels(rng, n, 4)
        if not ranks_anything(target, feature_map, y, options):
            continue
        loss = structured_loss(view_of([n], y), target, feature_map, options)
        for scores in score_vectors(rng, n):
            point = loss.at(scores)
            for other in score_vectors(rng, n):
                plane = point.value + point.gradient @ (other - scores)
                assert query_risk(target, feature_map, y, options, other) >= plane - 1e-11


@graded_cases
def test_gradients_of_grades_are_finite_differences(graded):
    rng = np.random.default_rng(12)
    loss = build(graded, mixed_view(rng, query_weight=True))
    scores, direction = 0.3 * rng.normal(size=(2, loss.n_rows))
    step = 2.0**-24  # no kink is so close
    change = loss.at(scores + step * direction).value - loss.at(scores - step * direction).value
    assert change / (2 * step) == pytest.approx(loss.at(scores).gradient @ direction, rel=1e-6, abs=1e-7)


@graded_cases
def test_the_terms_of_grades_add_up_to_the_metric_of_every_ranking(graded):
    """One minus graded NDCG is the sum over thresholds, so its risk bounds it; MAP is the mean over them."""
    target, feature_map, options = graded
    rng = np.random.default_rng(13)
    for n in (2, 4, 6):
        y = labels(rng, n, 4)
        if not ranks_anything(target, feature_map, y, options):
            continue
        parts = terms(target, feature_map, y, options, [0, 1, 2, 3])
        total = sum(weight * delta for weight, delta, _ in parts)
        for ranks, lost in zip(all_ranks(n), total, strict=True):
            if target == "map":
                metric = Metric("map", rel="all")
            else:
                metric = Metric("ndcg", options.cutoff, gain=options.gain, discount=options.discount)
            assert lost == pytest.approx(1 - evaluate(y, -ranks, metrics=metric)[metric], abs=1e-12)


@graded_cases
def test_grades_cost_the_sum_of_their_thresholds_with_the_weight_of_each_query(graded):
    """The factor is v_q omega_qt / sum v over queries of two grades, those that lack a grade included."""
    target, feature_map, options = graded
    rng = np.random.default_rng(14)
    sizes, n_queries = (5, 4, 6, 3, 2, 4), 6
    view = view_of(sizes, rng.integers(4, size=sum(sizes)))
    view.y[:5] = [0, 3, 0, 3, 0]  # two grades with others between
    view.y[5:9] = 1.0  # one grade
    view.y[9:15] = [1, 2, 3, 1, 3, 2]  # the lowest is missing
    weight = rng.uniform(0.5, 3.0, n_queries)
    view = view._replace(query_weight=weight)
    whole, scores = build(graded, view), 0.3 * rng.normal(size=len(view.y))
    total, value, gradient = 0.0, 0.0, np.zeros(len(scores))
    for (first, last), v in zip(pairwise(view.query_ptr), weight, strict=True):
        y = view.y[first:last]
        if not ranks_anything(target, feature_map, y, options):
            continue
        total += v
        for t, (omega, _, _) in zip(
            thresholds_of(target, y, options), terms(target, feature_map, y, options), strict=True
        ):
            binary = replace(options, graded=False, relevance=t)
            point = structured_loss(view_of([last - first], y), target, feature_map, binary).at(
                scores[first:last]
            )
            value += v * omega * point.value
            gradient[first:last] += v * omega * point.gradient
    assert whole.at(scores).value == pytest.approx(value / total, rel=ROUNDING)
    assert relative_error(whole.at(scores).gradient, gradient / total) < ROUNDING


def thresholds_of(target, y, options):
    """Return the labels of a query at which good rows begin, without those that are worth no more."""
    levels = np.unique(y)
    gain = levels if target == "map" else gain_of(options, levels)
    return [t for before, here, t in zip(gain[:-1], gain[1:], levels[1:], strict=True) if here > before]


def test_two_grades_from_zero_are_good_and_bad_rows():
    rng = np.random.default_rng(15)
    view = mixed_view(rng, query_weight=True)
    view = view._replace(y=(view.y > 0).astype(np.float64))
    scores = 0.3 * rng.normal(size=len(view.y))
    for key in GRADED_TARGETS:
        binary, graded = (
            structured_loss(view, *key, TargetOptions(graded=g)).at(scores) for g in (False, True)
        )
        assert graded.value == pytest.approx(binary.value, rel=1e-15)
        assert relative_error(graded.gradient, binary.gradient) < 1e-15


@pytest.mark.parametrize(("target", "feature_map"), [key for key in STRUCTURED_TARGETS if key[0] != "auc"])
def test_inference_equals_all_rankings_of_eight_rows(target, feature_map):
    rng = np.random.default_rng(8)
    y = np.array([1, 0, 0, 1, 0, 2, 0, 1], dtype=np.float64)
    for options in variants(target, feature_map, [None, 2, 5]):
        loss = structured_loss(view_of([8], y), target, feature_map, options)
        for scores in score_vectors(rng, 8):
            want = query_risk(target, feature_map, y, options, scores)
            assert loss.at(scores).value == pytest.approx(want, rel=ROUNDING, abs=ROUNDING)


@pytest.mark.parametrize("query_weight", [False, True])
def test_risk_is_the_weighted_mean_over_queries_that_count(case, query_weight):
    rng = np.random.default_rng(1)
    sizes = (1, 4, 3, 5, 2, 4, 5)
    view = view_of(sizes, rng.integers(3, size=sum(sizes)))
    view.y[1:5] = 1.0
    view.y[5:8] = 0.0
    view.y[8:10] = [2.0, 0.0]
    if query_weight:
        view = view._replace(query_weight=rng.uniform(0.5, 3.0, len(sizes)))
    loss = build(case, view)
    for scores in score_vectors(rng, len(view.y)):
        assert loss.at(scores).value == pytest.approx(risk(*case[:2], view, case[2], scores), rel=ROUNDING)
        assert not loss.at(scores).gradient[:8].any()


def test_risk_is_convex_along_random_lines(case):
    rng = np.random.default_rng(2)
    loss = build(case, mixed_view(rng))
    for _ in range(5):
        start, direction = rng.normal(size=(2, loss.n_rows))
        values = [loss.at(0.2 * start + t * direction).value for t in np.linspace(-1, 1, 41)]
        assert np.diff(values, 2).min() > -1e-11


def test_every_gradient_is_a_cutting_plane(case):
    rng = np.random.default_rng(3)
    loss = build(case, mixed_view(rng, query_weight=True))
    points = score_vectors(rng, loss.n_rows)
    at = [loss.at(scores) for scores in points]
    for p, here in zip(points, at, strict=True):
        assert here.value >= 0.0
        for q, there in zip(points, at, strict=True):
            plane = here.value + here.gradient @ (q - p)
            assert there.value >= plane - 1e-11 * (1.0 + abs(there.value) + abs(plane))


def test_risk_bounds_delta_of_the_ranking_by_scores(case):
    rng = np.random.default_rng(4)
    target, feature_map, options = case
    for n in (2, 4, 6):
        y = labels(rng, n, 2)
        loss = build(case, view_of([n], y))
        for scores in rng.normal(size=(20, n)) * rng.choice([0.01, 0.3, 2.0], (20, 1)):
            delta = delta_by_scores(target, feature_map, y, options, scores)
            assert loss.at(scores).value >= delta - 1e-12


def test_row_order_does_not_matter(case):
    rng = np.random.default_rng(5)
    view = mixed_view(rng)
    order = np.concatenate([a + rng.permutation(b - a) for a, b in pairwise(view.query_ptr)])
    moved = view._replace(y=view.y[order])
    # Without ties in the scores the ranking is unique, and so is the gradient.
    scores = 0.3 * rng.normal(size=len(order))
    here, there = build(case, view).at(scores), build(case, moved).at(scores[order])
    assert there.value == pytest.approx(here.value, rel=ROUNDING)
    assert relative_error(there.gradient, here.gradient[order]) < 1e-11
    ties = 0.1 * rng.integers(5, size=len(order))
    assert build(case, moved).at(ties[order]).value == pytest.approx(
        build(case, view).at(ties).value, rel=1e-12
    )


def test_shifted_scores_change_nothing(case):
    rng = np.random.default_rng(6)
    loss = build(case, mixed_view(rng))
    # Powers of two, so that adding the shift rounds nothing away.
    scores = np.round(rng.normal(size=loss.n_rows) * 2**20) / 2**20
    here, there = loss.at(scores), loss.at(scores + 2.0**20)
    assert there.value == pytest.approx(here.value, rel=1e-11)
    assert relative_error(there.gradient, here.gradient) < 1e-11
    assert here.gradient.sum() == pytest.approx(0.0, abs=1e-12)


@pytest.mark.parametrize("n_threads", [2, 4])
def test_bits_do_not_depend_on_the_threads(case, n_threads):
    rng = np.random.default_rng(7)
    view = mixed_view(rng, sizes=(40, 3, 90, 1, 17) * 12, query_weight=True)
    scores = 0.2 * rng.normal(size=len(view.y))
    one, many = build(case, view).at(scores), build(case, view, n_threads).at(scores)
    assert many.value == one.value
    assert np.array_equal(many.gradient, one.gradient)


def test_has_no_curvature_but_offers_a_scale_for_it(case):
    rng = np.random.default_rng(8)
    loss = build(case, mixed_view(rng))
    assert not loss.smooth
    assert not loss.at(rng.normal(size=loss.n_rows)).hvp(np.ones(loss.n_rows)).any()
    weight, query_ptr = loss.curvature()
    assert len(weight) == query_ptr[-1] == loss.n_rows
    assert np.all(weight >= 0.0)
    assert weight.any()


def test_scores_far_apart_in_the_order_of_the_labels_cost_nothing(case):
    view = mixed_view(np.random.default_rng(9))
    point = build(case, view).at(1e3 * view.y)
    # DORM adds up products that cancel; the others compare.
    assert point.value <= (1e-10 if case[1] == "dorm" else 0.0)
    if case[1] != "dorm":
        assert not point.gradient.any()


@pytest.mark.parametrize(("target", "feature_map"), STRUCTURED_TARGETS)
def test_without_two_kinds_of_rows_there_is_nothing_to_rank(target, feature_map):
    for y in ([1.0, 1.0, 1.0], [0.0, 0.0, 0.0]):
        with pytest.raises(NothingToRankError, match="nothing to rank"):
            structured_loss(view_of([1, 2], y), target, feature_map)


@pytest.mark.parametrize(("target", "feature_map"), STRUCTURED_TARGETS)
def test_weights_of_rows_are_refused(target, feature_map):
    view = TrainingView(None, np.array([0, 2]), np.array([0.0, 1.0]), np.array([1.0, 2.0]), None)
    with pytest.raises(MarginRankError, match="query_weight"):
        structured_loss(view, target, feature_map)


def test_a_combination_adds_its_parts():
    rng = np.random.default_rng(10)
    view = mixed_view(rng, query_weight=True)
    parts = [
        (weight, structured_loss(view, target, feature_map))
        for weight, (target, feature_map) in zip(rng.uniform(0.5, 2, 6), STRUCTURED_TARGETS, strict=True)
    ]
    combined = CombinedLoss(view, parts, n_threads=2)
    for scores in score_vectors(rng, len(view.y)):
        points = [(weight, loss.at(scores)) for weight, loss in parts]
        point = combined.at(scores)
        assert point.value == pytest.approx(sum(w * p.value for w, p in points), rel=ROUNDING)
        assert relative_error(point.gradient, sum(w * p.gradient for w, p in points)) < ROUNDING
    want = sum(w * loss.curvature()[0] for w, loss in parts)
    assert np.allclose(combined.curvature()[0], want, rtol=1e-14)
