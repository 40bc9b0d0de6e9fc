"""Pairwise losses within queries: closed forms, weights, exactness."""

import numpy as np
import pytest

from brute_force import query_pairs, random_view, relative_error, risk, view_of
from marginrank.data import RankingData
from marginrank.losses import QUERY_LOSSES, HingeLoss, SquaredHingeLoss
from marginrank.losses.pairwise import MarginLoss

every_loss = pytest.mark.parametrize("name", QUERY_LOSSES)
# Those whose pairs cost nothing from a difference of 1 on, and which take rankings of any length.
margin_losses = pytest.mark.parametrize(
    "name", [name for name, kind in QUERY_LOSSES.items() if issubclass(kind, MarginLoss)]
)
both_weightings = pytest.mark.parametrize("weighting", ["pairs", "queries"])


def loss_of(name, view, weighting="pairs", n_threads=1):
    return QUERY_LOSSES[name](view, weighting=weighting, n_threads=n_threads)


# One ranking with labels 0, 1, ..., so that counts and totals have a closed form, in integers.
N_LONG = 300_000
N_LONG_PAIRS = N_LONG * (N_LONG - 1) // 2


@pytest.fixture(scope="module")
def long_view():
    return view_of([N_LONG], np.arange(N_LONG))


def test_pairs_of_one_long_ranking_are_counted(long_view):
    assert loss_of("hinge", long_view, n_threads=2).n_pairs == N_LONG_PAIRS


def test_equal_scores_make_every_pair_active(long_view):
    above, below = loss_of("hinge", long_view, n_threads=2).active_partners(np.zeros(N_LONG))
    assert [int(c) for c in above] == list(range(N_LONG - 1, -1, -1))
    assert [int(d) for d in below] == list(range(N_LONG))
    assert sum(map(int, above)) == N_LONG_PAIRS


@margin_losses
def test_equal_scores_cost_one(long_view, name):
    point = loss_of(name, long_view, n_threads=2).at(np.zeros(N_LONG))
    slope = 1 if name == "hinge" else 2
    assert point.value == pytest.approx(1.0, rel=4e-16)
    totals = np.rint(point.gradient * N_LONG_PAIRS).astype(np.int64)
    assert np.array_equal(totals, slope * (N_LONG - 1 - 2 * np.arange(N_LONG)))


def test_half_steps_leave_neighbours_active(long_view):
    """Labels two apart differ by exactly 1 in score, which is no loss any more."""
    above, below = loss_of("hinge", long_view, n_threads=2).active_partners(0.5 * long_view.y)
    assert np.array_equal(above, np.append(np.ones(N_LONG - 1), 0.0))
    assert np.array_equal(below, np.append(0.0, np.ones(N_LONG - 1)))


@margin_losses
def test_half_steps_cost_half_a_margin_per_neighbour(long_view, name):
    value = loss_of(name, long_view, n_threads=2).at(0.5 * long_view.y).value
    each = 0.5 if name == "hinge" else 0.25
    assert value * N_LONG_PAIRS == pytest.approx(each * (N_LONG - 1), rel=1e-15)


@margin_losses
@pytest.mark.parametrize("n_threads", [2, 4])
@pytest.mark.parametrize("weight", [None, "real"])
def test_bits_of_long_queries_do_not_depend_on_the_threads(name, n_threads, weight):
    rng = np.random.default_rng(1)
    # Either side of the sizes from which one query uses all threads and is cut into blocks.
    sizes = [32767, 32768, 65535, 65536, 70001] + [40] * 300
    view = random_view(rng, sizes, levels=50_000, weight=weight)
    scores, direction = rng.normal(size=(2, len(view.y)))
    one, many = loss_of(name, view), loss_of(name, view, n_threads=n_threads)
    assert many.at(scores).value == one.at(scores).value
    assert np.array_equal(many.at(scores).gradient, one.at(scores).gradient)
    assert np.array_equal(many.at(scores).hvp(direction), one.at(scores).hvp(direction))
    assert np.array_equal(many.curvature()[0], one.curvature()[0])
    for mine, other in zip(many.active_partners(scores), one.active_partners(scores), strict=True):
        assert np.array_equal(mine, other)


@every_loss
@pytest.mark.parametrize("sizes", [(40, 200, 3), (321, 700)])
def test_scores_that_shift_exactly_give_the_same_bits(name, sizes):
    """Multiples of 2**-20 stay exact when 1e6 is added, so nothing at all may change."""
    rng = np.random.default_rng(2)
    view = random_view(rng, sizes)
    scores = rng.integers(-(2**22), 2**22, len(view.y)) / 2**20
    loss = loss_of(name, view)
    here, there = loss.at(scores), loss.at(scores + 1e6)
    assert there.value == pytest.approx(here.value, rel=1e-15)
    assert np.array_equal(there.gradient, here.gradient)
    if name == "hinge":
        for mine, other in zip(loss.active_partners(scores + 1e6), loss.active_partners(scores), strict=True):
            assert np.array_equal(mine, other)


def well_ordered(seed, n, spread):
    """Return a view and scores that leave few pairs active, among many that are far apart."""
    rng = np.random.default_rng(seed)
    view = view_of([n], rng.normal(size=n))
    return view, spread * view.y + 0.1 * rng.normal(size=n)


@every_loss
@pytest.mark.parametrize("n", [300, 1000])
@pytest.mark.parametrize("spread", [1e2, 1e4, 1e6])
def test_scores_far_apart_cost_digits_only_by_the_square_of_their_spread(name, n, spread):
    """Sums over a long query round at 1e-16 of all its scores, and the squared hinge multiplies by scores."""
    view, scores = well_ordered(3, n, spread)
    want = risk(name, query_pairs(view), scores).value
    assert loss_of(name, view).at(scores).value == pytest.approx(want, rel=1e-12, abs=1e-15 * spread**2)


@every_loss
@pytest.mark.parametrize("n", [300, 1000])
def test_a_value_is_never_negative(name, n):
    """The certificate counts on it; here the risk is 0 but for rounding."""
    for seed in range(20):
        view, scores = well_ordered(seed, n, 1e6)
        assert loss_of(name, view).at(scores).value >= 0.0


@every_loss
@both_weightings
@pytest.mark.parametrize("sizes", [(3, 2, 6), (400, 3, 30)])
def test_a_weight_means_repetition(name, weighting, sizes):
    rng = np.random.default_rng(4)
    view = random_view(rng, sizes, weight="integer")
    times = view.sample_weight.astype(int)
    query = np.repeat(np.arange(len(sizes)), sizes)
    copies = view_of(np.bincount(np.repeat(query, times)), np.repeat(view.y, times))
    for scores in (rng.normal(size=len(view.y)), 0.5 * rng.integers(5, size=len(view.y))):
        weighted = loss_of(name, view, weighting).at(scores)
        repeated = loss_of(name, copies, weighting).at(np.repeat(scores, times))
        assert weighted.value == pytest.approx(repeated.value, rel=1e-13)
        starts = np.concatenate(([0], np.cumsum(times)[:-1]))
        assert relative_error(weighted.gradient, np.add.reduceat(repeated.gradient, starts)) < 1e-13


@every_loss
@both_weightings
def test_equal_weights_change_nothing(name, weighting):
    rng = np.random.default_rng(5)
    view = random_view(rng)
    scores = rng.normal(size=len(view.y))
    weighted = view._replace(
        sample_weight=np.full(len(view.y), 2.0), query_weight=np.full(len(view.query_ptr) - 1, 3.0)
    )
    here, there = loss_of(name, view, weighting).at(scores), loss_of(name, weighted, weighting).at(scores)
    assert there.value == pytest.approx(here.value, rel=1e-13)
    assert relative_error(there.gradient, here.gradient) < 1e-13


@every_loss
@both_weightings
def test_rows_of_no_weight_are_as_if_they_were_not_there(name, weighting):
    rng = np.random.default_rng(6)
    n = 60
    X, y, qid = rng.normal(size=(n, 1)), rng.integers(4, size=n), rng.integers(5, size=n)
    weight = rng.integers(3, size=n).astype(float)
    view = RankingData(X, y, qid=qid, sample_weight=weight).training_view()
    kept = weight > 0
    without = RankingData(X[kept], y[kept], qid=qid[kept], sample_weight=weight[kept]).training_view()
    value = loss_of(name, view, weighting).at(X[view.rows, 0]).value
    rows = slice(None) if without.rows is None else without.rows
    assert loss_of(name, without, weighting).at(X[kept][rows, 0]).value == value


@every_loss
def test_queries_count_alike_under_weighting_by_queries(name):
    """A long query and a short one have the same say, and each query's own risk is a mean."""
    rng = np.random.default_rng(7)
    first, second = random_view(rng, [4]), random_view(rng, [350])
    both = view_of([4, 350], np.concatenate([first.y, second.y]))
    p, q = rng.normal(size=4), rng.normal(size=350)
    alone = [loss_of(name, first).at(p).value, loss_of(name, second).at(q).value]
    together = loss_of(name, both, "queries").at(np.concatenate([p, q])).value
    assert together == pytest.approx(np.mean(alone), rel=1e-13)


@every_loss
def test_pairs_count_alike_under_weighting_by_pairs(name):
    rng = np.random.default_rng(8)
    first, second = random_view(rng, [4]), random_view(rng, [350])
    both = view_of([4, 350], np.concatenate([first.y, second.y]))
    p, q = rng.normal(size=4), rng.normal(size=350)
    losses = loss_of(name, first), loss_of(name, second)
    total = losses[0].n_pairs * losses[0].at(p).value + losses[1].n_pairs * losses[1].at(q).value
    together = loss_of(name, both)
    assert together.n_pairs == losses[0].n_pairs + losses[1].n_pairs
    assert together.at(np.concatenate([p, q])).value == pytest.approx(total / together.n_pairs, rel=1e-13)


@every_loss
def test_query_weights_weigh_the_means_of_queries(name):
    """sum v_q R_q / sum v_q over the queries that have pairs; the third one has none."""
    y = np.array([0, 1, 2, 0, 1, 5, 5])
    scores = np.array([0.3, -0.2, 0.9, 0.5, 0.1, 0.0, 9.0])
    view = view_of([3, 2, 2], y, query_weight=np.array([2.0, 5.0, 100.0]))
    alone = [loss_of(name, view_of([3], y[:3])).at(scores[:3]).value]
    alone += [loss_of(name, view_of([2], y[3:5])).at(scores[3:5]).value]
    value = loss_of(name, view, "queries").at(scores).value
    assert value == pytest.approx((2 * alone[0] + 5 * alone[1]) / 7, rel=1e-14)


@every_loss
def test_query_weights_multiply_the_weights_of_pairs(name):
    y = np.array([0, 1, 2, 0, 1, 5, 5])
    scores = np.array([0.3, -0.2, 0.9, 0.5, 0.1, 0.0, 9.0])
    view = view_of([3, 2, 2], y, query_weight=np.array([2.0, 5.0, 100.0]))
    alone = [loss_of(name, view_of([3], y[:3])).at(scores[:3]).value]
    alone += [loss_of(name, view_of([2], y[3:5])).at(scores[3:5]).value]
    value = loss_of(name, view, "pairs").at(scores).value
    assert value == pytest.approx((2 * 3 * alone[0] + 5 * 1 * alone[1]) / (2 * 3 + 5 * 1), rel=1e-14)


@margin_losses
def test_a_difference_of_exactly_one_is_no_loss(name):
    view = view_of([2], [0.0, 1.0])
    at_margin = loss_of(name, view).at(np.array([0.25, 1.25]))
    assert at_margin.value == 0.0
    assert not at_margin.gradient.any()
    below = loss_of(name, view).at(np.array([0.25, np.nextafter(1.25, 0)]))
    assert below.value > 0.0
    assert below.gradient[0] > 0.0


def test_a_pair_by_hand():
    view = view_of([2], [0.0, 1.0])
    scores = np.array([0.5, 0.25])
    assert HingeLoss(view, weighting="pairs", n_threads=1).at(scores).value == 1.25
    assert SquaredHingeLoss(view, weighting="pairs", n_threads=1).at(scores).value == 1.5625


def test_ties_in_labels_form_no_pair():
    loss = loss_of("hinge", view_of([4], [1.0, 1.0, 1.0, 2.0]))
    assert loss.n_pairs == 3
    above, below = loss.active_partners(np.zeros(4))
    assert above.tolist() == [1, 1, 1, 0]
    assert below.tolist() == [0, 0, 0, 3]


def test_labels_are_compared_as_they_are():
    """Labels may be negative, tiny or huge; only their order counts."""
    rng = np.random.default_rng(10)
    scores = rng.normal(size=5)
    plain = loss_of("hinge", view_of([5], [0, 1, 2, 3, 3])).at(scores).value
    odd = loss_of("hinge", view_of([5], [-1e308, -1e-320, 0.0, 1e300, 1e300])).at(scores).value
    assert odd == plain
    signed_zero = loss_of("hinge", view_of([3], [-0.0, 0.0, 1.0]))
    assert signed_zero.n_pairs == 2


def test_float32_scores_lose_nothing_on_the_way():
    """0.7 - (-0.3) is below 1 in float64 born of float32, and not in float32 arithmetic."""
    rng = np.random.default_rng(11)
    view = view_of([400], rng.integers(5, size=400))
    scores = (rng.integers(-9, 10, 400).astype(np.float32) / np.float32(10)).astype(np.float64)
    got = loss_of("hinge", view).at(scores)
    want = risk("hinge", query_pairs(view), scores)
    assert np.array_equal(np.rint(got.gradient * 1e9), np.rint(want.gradient * 1e9))
    assert got.value == pytest.approx(want.value, rel=1e-13)


@pytest.mark.parametrize("weighting", ["pairs", "queries"])
@pytest.mark.parametrize("weight", [None, "integer"])
def test_mean_error_counts_wrong_pairs_and_half_the_ties(weighting, weight):
    rng = np.random.default_rng(12)
    view = random_view(rng, (5, 40, 330, 7), weight=weight, query_weight=True)
    ranks = rng.integers(6, size=len(view.y)).astype(np.float64)
    winner, loser, coefficient, _ = query_pairs(view, weighting)
    wrong = (ranks[winner] < ranks[loser]) + 0.5 * (ranks[winner] == ranks[loser])
    assert loss_of("hinge", view, weighting).mean_error(ranks) == pytest.approx(
        coefficient @ wrong, rel=1e-12
    )


def test_a_difference_that_rounds_to_the_margin_is_allowed_for():
    loss = HingeLoss(view_of([2], [0.0, 1.0]), weighting="pairs", n_threads=1)
    point = loss.at(np.array([2.0**-54, 1.0]))  # the true loss is 2^-54
    assert point.value == 0.0
    assert loss.rounding(point.value, reach=1.0, length=0.0).value >= 2.0**-54
