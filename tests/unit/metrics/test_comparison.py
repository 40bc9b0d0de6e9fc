"""Comparing two models: known p-values, known counts, and what happens at the edges."""

import json

import numpy as np
import pytest
from scipy import stats

from marginrank.comparison import compare
from marginrank.exceptions import MarginRankError
from marginrank.metrics import evaluate
from marginrank.metrics.paired_tests import holm, run_tests

METRICS = ["ndcg@5", "map", "pairwise_error", "kendall"]


def two_models(seed=0, n_queries=30, better=0.8):
    rng = np.random.default_rng(seed)
    qid = np.repeat(np.arange(n_queries), 12)
    y = rng.integers(0, 3, len(qid))
    noise_a, noise_b = rng.normal(size=(2, len(qid)))
    return y, y + 2.0 * noise_a, y + 2.0 * better * noise_b, qid


def test_p_values_equal_those_of_scipy():
    y, a, b, qid = two_models()
    result = compare(y, a, b, qid=qid, metrics=["map"], random_state=3)["map"]
    per_query = [evaluate(y, s, qid=qid, metrics=["map"]).per_query["map"] for s in (a, b)]
    assert result.p_values["t"] == pytest.approx(stats.ttest_rel(*per_query).pvalue, rel=1e-9)
    # For the mean of 30 differences of one shape, all three tests nearly agree.
    for test in ("randomization", "bootstrap"):
        assert result.p_values[test] == pytest.approx(result.p_values["t"], abs=0.02)
    assert result.difference == pytest.approx(np.mean(per_query[1] - per_query[0]))
    assert result.interval[0] < result.difference < result.interval[1]


def test_randomization_of_few_queries_is_exact():
    # Three queries, all better by the same sign: of 8 signs two are as extreme.
    y, qid = [1, 0, 0] * 3, np.repeat([0, 1, 2], 3)
    a, b = [2, 3, 1, 1, 2, 3, 2, 3, 1], [3, 2, 1] * 3
    result = compare(y, a, b, qid=qid, metrics=["mrr"], tests="randomization")["mrr"]
    assert result.p_values == {"randomization": 0.25}
    assert (result.wins, result.ties, result.losses) == (3, 0, 0)


def test_as_many_resamples_as_signs_are_exact():
    # Three queries have 8 signs; drawn at random, 8 of them give a multiple of 1/9.
    y, qid = [1, 0, 0] * 3, np.repeat([0, 1, 2], 3)
    a, b = [2, 3, 1, 1, 2, 3, 2, 3, 1], [3, 2, 1] * 3
    result = compare(y, a, b, qid=qid, metrics=["mrr"], tests="randomization", n_resamples=8)["mrr"]
    assert result.p_values == {"randomization": 0.25}


def test_t_interval_is_given_without_the_bootstrap():
    y, a, b, qid = two_models()
    result = compare(y, a, b, qid=qid, metrics=["map"], tests=["t"])["map"]
    values = [evaluate(y, s, qid=qid, metrics=["map"]).per_query["map"] for s in (b, a)]
    assert result.interval == pytest.approx(tuple(stats.ttest_rel(*values).confidence_interval()))


def test_wins_follow_the_direction_of_the_metric():
    y, a, b, qid = two_models(better=0.2)
    result = compare(y, a, b, qid=qid, metrics=METRICS, tests=["t"])
    for row in result.values():
        assert row.wins > row.losses
        assert row.wins + row.ties + row.losses == 30
    assert result["pairwise_error"].difference < 0 < result["kendall"].difference


def test_the_same_seed_gives_the_same_figures_whatever_the_other_metrics():
    y, a, b, qid = two_models(better=0.95)
    all_of_them = compare(y, a, b, qid=qid, metrics=METRICS, random_state=1)
    alone = compare(y, a, b, qid=qid, metrics=["map"], random_state=1)
    assert alone["map"].p_values == all_of_them["map"].p_values
    assert alone["map"].interval == all_of_them["map"].interval
    other = compare(y, a, b, qid=qid, metrics=["map"], random_state=2)
    assert other["map"].p_values != alone["map"].p_values
    generators = [np.random.default_rng(5) for _ in range(2)]
    first, second = (compare(y, a, b, qid=qid, random_state=g).to_dict() for g in generators)
    assert first == second


def test_equal_scores_give_p_values_of_1():
    y, a, _, qid = two_models()
    result = compare(y, a, a, qid=qid, metrics=METRICS)
    for row in result.values():
        assert set(row.p_values.values()) == set(row.p_holm.values()) == {1.0}
        assert (row.difference, row.interval) == (0.0, (0.0, 0.0))
        assert (row.wins, row.ties, row.losses) == (0, 30, 0)
    assert result.most_changed() == []
    assert "Changed most" not in repr(result)


def test_one_query_cannot_be_tested():
    y, a, b, _ = two_models(n_queries=1)
    row = compare(y, a, b, metrics=["ndcg"])["ndcg"]
    assert np.isnan(row.p_values["t"])
    assert np.isnan(row.p_values["bootstrap"])
    assert row.p_values["randomization"] == 1.0
    assert np.isnan(row.interval).all()


def test_the_same_gain_in_every_query_is_certain():
    y, qid = [1, 0] * 4, np.repeat(range(4), 2)
    row = compare(y, [1, 2] * 4, [2, 1] * 4, qid=qid, metrics=["mrr"])["mrr"]
    assert row.p_values["t"] == 0.0
    assert row.p_values["randomization"] == 0.125
    assert row.interval == (0.5, 0.5)


def test_metrics_that_skip_every_query_have_no_figures():
    row = compare([1, 1, 1], [1, 2, 3], [3, 2, 1], qid=[1, 1, 2], metrics=["auc"])["auc"]
    assert (row.wins, row.ties, row.losses) == (0, 0, 0)
    assert np.isnan([row.mean_a, row.difference, *row.p_values.values(), *row.p_holm.values()]).all()


def test_skipped_queries_take_no_part():
    y, a, b, qid = two_models()
    y[qid == 0] = 1
    row = compare(y, a, b, qid=qid, metrics=["kendall"], tests=["t"])["kendall"]
    kept = qid > 0
    alone = compare(y[kept], a[kept], b[kept], qid=qid[kept], metrics=["kendall"], tests=["t"])["kendall"]
    assert row == alone


def test_holm_is_the_step_down_method():
    assert holm([0.01, 0.04, 0.03]) == pytest.approx([0.03, 0.06, 0.06])
    assert holm([0.5, 0.9]) == [1.0, 1.0]
    assert holm([float("nan"), 0.02]) == [pytest.approx(float("nan"), nan_ok=True), 0.02]
    assert holm([]) == []


def test_correction_is_over_metrics_for_each_test():
    y, a, b, qid = two_models(better=0.9)
    result = compare(y, a, b, qid=qid, metrics=METRICS, random_state=0)
    for test in result.tests:
        corrected = holm([row.p_values[test] for row in result.values()])
        assert [row.p_holm[test] for row in result.values()] == corrected


def test_queries_that_changed_most_come_first():
    y, a, b, qid = two_models()
    result = compare(y, a, b, qid=[f"q{q}" for q in qid], metrics=["map", "ndcg"], tests=["t"])
    changes = result.most_changed("AP", n=4)
    sizes = [abs(change.difference) for change in changes]
    assert sizes == sorted(sizes, reverse=True)
    assert sizes[0] == np.max(np.abs(result.b.per_query["map"] - result.a.per_query["map"]))
    assert all(change.difference == pytest.approx(change.b - change.a) for change in changes)
    assert changes[0].query.startswith("q")
    assert result.most_changed(n=0) == []


@pytest.mark.parametrize("n_queries", [1, 30, 3000])
def test_the_table_fits_80_columns(n_queries):
    y, a, b, qid = two_models(n_queries=n_queries)
    names = [*METRICS, "map(rel=2,ties=average,norm=cutoff)@100"]
    shown = repr(
        compare(y, a, b, qid=[f"a-rather-long-query-{q}" for q in qid], metrics=names, n_resamples=99)
    )
    assert max(map(len, shown.splitlines())) <= 80
    assert "95% interval" in shown


def test_any_spelling_finds_its_metric():
    y, a, b, qid = two_models()
    result = compare(y, a, b, qid=qid, metrics=["ndcg@5"], tests=["t"])
    assert result["nDCG@5"] == result["ndcg@5"]
    for unknown in ("map", "nonsense"):
        with pytest.raises(KeyError):
            result[unknown]


def test_results_go_to_json():
    y, a, b, _ = two_models(n_queries=1)
    shown = json.dumps(compare(y, a, b).to_dict(), allow_nan=False)
    assert json.loads(shown)["metrics"]["ndcg@10"]["p_values"]["t"] is None


WRONG = {
    "scores_b contains NaN .*row 1": {"scores_b": [1.0, np.nan]},
    "scores_a must have one entry per row.*got 3": {"scores_a": [1.0, 2.0, 3.0]},
    "tests must be among 't', 'randomization', 'bootstrap'; got .'z'.": {"tests": ["z"]},
    "tests must be among .* got ..": {"tests": []},
    "n_resamples must be an integer from 2 to 10000000; got 0": {"n_resamples": 0},
    "random_state must be None, a numpy Generator or an integer": {"random_state": -1},
    "Unknown metric 'ncdg@5' of metrics; did you mean 'ndcg'": {"metrics": ["ncdg@5"]},
}


@pytest.mark.parametrize(("message", "wrong"), WRONG.items(), ids=WRONG.keys())
def test_wrong_arguments_are_refused_by_name(message, wrong):
    arguments = {"y": [0, 1], "scores_a": [1.0, 2.0], "scores_b": [2.0, 1.0]} | wrong
    with pytest.raises(MarginRankError, match=message):
        compare(**arguments)


def test_json_names_the_queries_that_changed_most():
    days = np.array(["2024-01-01", "2024-01-01", "2024-01-02", "2024-01-02"], dtype="M8[D]")
    found = compare([1, 0, 1, 0], [1, 2, 2, 1], [2, 1, 2, 1], qid=days, metrics=["mrr"], tests=["t"])
    changed = json.loads(json.dumps(found.to_dict()))["metrics"]["mrr"]["most_changed"]
    assert changed == [{"query": "2024-01-01", "a": 0.5, "b": 1.0, "difference": 0.5}]


def uneven_models(seed=0, n_queries=25):
    rng = np.random.default_rng(seed)
    sizes = rng.integers(3, 40, n_queries)
    qid = np.repeat(np.arange(n_queries), sizes)
    y = rng.integers(0, 3, len(qid))
    noise_a, noise_b = rng.normal(size=(2, len(qid)))
    return y, y + 2.0 * noise_a, y + 1.7 * noise_b, qid


def pairs_and_differences(y, a, b, qid):
    """Return the number of pairs of each query, and how many more of them b has wrong, counted one by one."""
    pairs, more = [], []
    for query in np.unique(qid):
        rows = np.flatnonzero(qid == query)
        higher, lower = np.nonzero(y[rows][:, None] > y[rows])
        wrong = [np.sum(s[rows][higher] < s[rows][lower]) for s in (a, b)]
        pairs.append(len(higher))
        more.append(int(wrong[1]) - int(wrong[0]))
    return np.array(pairs, dtype=float), np.array(more, dtype=float)


def test_the_pairwise_error_is_compared_as_a_ratio_of_sums_over_queries():
    y, a, b, qid = uneven_models()
    pairs, more = pairs_and_differences(y, a, b, qid)
    row = compare(y, a, b, qid=qid, metrics="pairwise_error", tests=["t"])["pairwise_error"]
    ratio = more.sum() / pairs.sum()
    assert row.difference == pytest.approx(ratio, rel=1e-12)
    assert row.mean_b - row.mean_a == pytest.approx(ratio, rel=1e-9)
    # The delta method: residuals of the numerator, over the mean of the denominator.
    n = len(pairs)
    error = np.sqrt(np.sum((more - ratio * pairs) ** 2) / (n - 1) / n) / pairs.mean()
    half = stats.t.ppf(0.975, n - 1) * error
    assert row.interval == pytest.approx((ratio - half, ratio + half), rel=1e-9)
    assert row.p_values["t"] == pytest.approx(2 * stats.t.sf(abs(ratio) / error, n - 1), rel=1e-9)


def test_the_bootstrap_of_the_pairwise_error_draws_queries_with_their_pairs():
    y, a, b, qid = uneven_models(seed=1)
    pairs, more = pairs_and_differences(y, a, b, qid)
    row = compare(y, a, b, qid=qid, metrics="pairwise_error", random_state=0)["pairwise_error"]
    drawn = np.random.default_rng(7).integers(len(pairs), size=(20_000, len(pairs)))
    ratios = more[drawn].sum(axis=1) / pairs[drawn].sum(axis=1)
    # Two sets of draws: quantiles of 9,999 and 20,000 of them agree within about 0.03 of the deviation.
    assert row.interval == pytest.approx(np.quantile(ratios, [0.025, 0.975]), abs=0.15 * ratios.std())


def test_the_randomization_of_the_pairwise_error_tosses_signs_of_counts():
    y, a, b, qid = uneven_models(seed=2, n_queries=9)
    pairs, more = pairs_and_differences(y, a, b, qid)
    row = compare(y, a, b, qid=qid, metrics="pairwise_error", tests="randomization")["pairwise_error"]
    signs = 1 - 2 * ((np.arange(2**9)[:, None] >> np.arange(9)) & 1)
    sums = signs @ more  # whole numbers, so ties are exact
    exact = min(1.0, 2 * min(np.mean(sums <= more.sum()), np.mean(sums >= more.sum())))
    assert row.p_values["randomization"] == pytest.approx(exact, rel=1e-12)
    assert len(pairs) == 9


def test_over_queries_the_pairwise_error_is_compared_as_a_plain_mean():
    y, a, b, qid = uneven_models()
    pairs, more = pairs_and_differences(y, a, b, qid)
    name = "pairwise_error(weighting=queries)"
    row = compare(y, a, b, qid=qid, metrics=name, tests=["t"])[name]
    expected = stats.ttest_1samp(more / pairs, 0.0)
    assert row.p_values["t"] == pytest.approx(expected.pvalue, rel=1e-9)
    assert row.interval == pytest.approx(tuple(expected.confidence_interval()), rel=1e-9)


def test_the_same_share_gained_in_every_query_is_certain_over_pairs():
    y, qid = [1, 0] * 3 + [2, 1, 0], [0, 0, 1, 1, 2, 2, 3, 3, 3]
    row = compare(y, [1, 2] * 3 + [1, 2, 3], y, qid=qid, metrics="pairwise_error")["pairwise_error"]
    assert (row.p_values["t"], row.difference) == (0.0, -1.0)
    assert row.interval == (-1.0, -1.0)


@pytest.mark.parametrize("metric", ["map", "pairwise_error"])
def test_the_picture_has_means_with_intervals_and_the_difference_of_every_query(metric):
    pytest.importorskip("matplotlib")
    rng = np.random.default_rng(0)
    y, qid = rng.integers(0, 3, 400), np.repeat(np.arange(40), 10)
    y[:10] = 0  # a query that map does not count
    scores = [y + noise * rng.normal(size=400) for noise in (3.0, 0.5)]
    found = compare(y, *scores, qid=qid, metrics=["map", "pairwise_error"], random_state=0)
    means, queries = found.plot(metric).axes
    assert [label.get_text() for label in means.get_yticklabels()] == list(found)
    for k, row in enumerate(found.values()):
        ((low, high),) = (segment[:, 0] for segment in means.collections[k].get_segments())
        assert (low, high) == row.interval
        assert means.lines[k].get_xdata() == [row.difference]
        assert means.lines[k].get_color() == "C0"  # b is better, whichever way the metric goes
    up, down = (patch.get_data().values for patch in queries.patches[:2])
    differences = found.differences(metric)
    expected = np.sort(differences[np.isfinite(differences)])[::-1]
    np.testing.assert_array_equal(up + down, expected)
    row = found[metric]
    names = [text.get_text() for text in queries.get_legend().get_texts()]
    assert f"b is better on {row.wins} queries" in names
    assert "95% interval of the mean" in names
    assert f"mean {row.difference:+.4f}" in names
    assert queries.get_ylabel() == f"b - a in {metric}"


def test_a_comparison_without_intervals_has_a_picture_and_a_wrong_metric_a_sentence(tmp_path):
    pytest.importorskip("matplotlib")
    found = compare([1, 0], [2, 1], [1, 2], metrics=["mrr"], tests=["t"])
    found.plot().savefig(tmp_path / "one.png")
    with pytest.raises(MarginRankError, match="metric must be one of 'mrr'; got 'map'"):
        found.plot("map")


def test_the_sample_itself_is_one_draw_of_the_bootstrap():
    difference = np.array([1.0, 2.0, 3.0])
    p_values, interval = run_tests(difference, None, tests=("bootstrap",), n_resamples=999, seed=0)
    assert p_values["bootstrap"] == pytest.approx(2.0 / 1000.0, rel=1e-12)  # no mean of a draw is below 0
    assert 1.0 <= interval[0] < interval[1] <= 3.0


def test_two_queries_are_enough_for_the_bootstrap():
    p_values, interval = run_tests(np.array([1.0, 2.0]), None, tests=("bootstrap",), n_resamples=199, seed=0)
    assert p_values["bootstrap"] == pytest.approx(2.0 / 200.0, rel=1e-12)
    assert interval == (1.0, 2.0)
