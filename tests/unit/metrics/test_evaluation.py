"""Evaluations: means, counts, weights, and errors for the person who made them."""

import json

import numpy as np
import pytest

from marginrank.exceptions import MarginRankError
from marginrank.metrics import Metric, evaluate, pairwise_error

Y = [2, 0, 1, 0, 1, 0, 0]
SCORES = [0.9, 0.3, 0.5, 0.7, 0.7, 0.1, 0.2]
QID = ["b", "b", "b", "a", "a", "c", "c"]


def test_queries_come_in_order_of_first_appearance():
    shuffled = [3, 0, 5, 1, 4, 2, 6]
    y, scores, qid = ([values[k] for k in shuffled] for values in (Y, SCORES, QID))
    result = evaluate(y, scores, qid=qid, metrics=["mrr"])
    assert result.query_ids.tolist() == ["a", "b", "c"]
    assert result.per_query["mrr"].tolist() == [0.5, 1.0, 0.0]


def test_counts_of_queries_empty_and_tied():
    result = evaluate(Y, SCORES, qid=QID, metrics=["mrr", "auc(rel=2)"])
    assert (result.n_queries, result.n_empty, result.n_tied) == (3, 2, 1)
    assert result.empty_counts == {"mrr": 1, "auc(rel=2)": 2}


def test_ties_among_equal_labels_are_no_ties():
    assert evaluate([1, 1, 0], [1.0, 1.0, 0.0]).n_tied == 0
    assert evaluate([1, 0, 0], [1.0, 1.0, 0.0]).n_tied == 1


def test_empty_queries_count_as_told():
    names = [f"mrr(empty={empty})" for empty in (0, 1, "skip")]
    result = evaluate(Y, SCORES, qid=QID, metrics=names)
    assert list(result.values()) == pytest.approx([0.5, 2.5 / 3, 0.75])
    assert np.isnan(result.per_query["mrr(empty=skip)"]).tolist() == [False, False, True]


def test_query_weights_weigh_the_mean():
    weights = {"a": 3, "b": 1, "c": 4}
    result = evaluate(Y, SCORES, qid=QID, metrics=["mrr", "mrr(empty=skip)"], query_weight=weights)
    assert dict(result) == pytest.approx({"mrr": 2.5 / 8, "mrr(empty=skip)": 2.5 / 4})
    assert result.query_weight.tolist() == [1, 3, 4]


def test_groups_are_consecutive_queries():
    by_group = evaluate(Y, SCORES, group=[3, 2, 2], metrics=["ndcg", "map"])
    by_qid = evaluate(Y, SCORES, qid=QID, metrics=["ndcg", "map"])
    assert dict(by_group) == dict(by_qid)
    assert by_group.query_ids.tolist() == [0, 1, 2]


def test_without_queries_there_is_one_ranking():
    result = evaluate(Y, SCORES, metrics=["mrr", "pairwise_error", "kendall"])
    assert (result.n_queries, result.query_ids) == (1, None)
    assert result["pairwise_error"] == pytest.approx(pairwise_error(Y, SCORES), abs=1e-15)


@pytest.mark.parametrize("weight", [None, {query: 1.0 + query % 3 for query in range(40)}])
def test_a_name_of_the_pairwise_error_is_one_number(weight):
    rng = np.random.default_rng(0)
    y, scores = rng.integers(0, 4, 900), rng.integers(0, 30, 900)
    qid = (40 * rng.random(900) ** 3).astype(int)  # queries of many sizes
    names = ["pairwise_error", "pairwise_error(weighting=queries)"]
    found = evaluate(y, scores, qid=qid, metrics=names, query_weight=weight)
    options = {"qid": qid, "query_weight": weight}
    assert found[names[0]] == pytest.approx(pairwise_error(y, scores, **options), abs=1e-13)
    by_queries = pairwise_error(y, scores, weighting="queries", **options)
    assert found[names[1]] == pytest.approx(by_queries, abs=1e-13)
    assert abs(found[names[0]] - found[names[1]]) > 1e-3


@pytest.mark.parametrize("empty", [0, 1])
def test_what_queries_without_pairs_count_is_a_matter_of_means_over_queries(empty):
    with pytest.raises(MarginRankError, match=r"write pairwise_error\(weighting=queries,empty="):
        Metric("pairwise_error", empty=empty)
    name = f"pairwise_error(weighting=queries,empty={empty})"
    assert evaluate([0, 1, 1, 1], [2, 1, 1, 2], group=[2, 2], metrics=name)[name] == (1 + empty) / 2


def test_pairs_of_a_long_ranking_are_counted_exactly():
    n = 100_000
    y = np.arange(n)
    result = evaluate(y, y ^ 1, metrics=["pairwise_error", "kendall"])
    share = (n // 2) / (n * (n - 1) // 2)
    assert result["pairwise_error"] == pytest.approx(share, rel=1e-15)
    assert result["kendall"] == pytest.approx(1 - 2 * share, rel=1e-15)


def test_any_spelling_and_the_metric_itself_find_a_mean():
    result = evaluate(Y, SCORES, qid=QID, metrics=["nDCG@2", "AP"], flavor="lightgbm")
    assert list(result) == ["ndcg@2", "map"]
    assert result["NDCG@2"] == result["ndcg@2"] == result[Metric("ndcg", 2, empty=1)]
    assert "AP" in result
    for unknown in ("ndcg@3", "xyzzy", "ndcg(empty=0)@2"):
        assert unknown not in result
        with pytest.raises(KeyError):
            result[unknown]


def test_a_single_name_will_do_and_repeated_ones_count_once():
    assert list(evaluate(Y, SCORES, metrics="map")) == ["map"]
    assert list(evaluate(Y, SCORES, metrics=["map", "map", Metric("map")])) == ["map"]


@pytest.mark.parametrize(
    ("names", "said"),
    {
        ("map", "AP"): r"'map' and 'AP' are one metric in the flavor standard; it is .* once, as 'map'\.",
        ("ndcg@2", "ndcg@2-"): r"'ndcg@2' and 'ndcg@2-' are one metric .* count 0 anyway\); .* as 'ndcg@2'\.",
    }.items(),
)
def test_two_names_of_one_metric_are_one_figure_and_a_sentence(names, said):
    with pytest.warns(UserWarning, match=said):
        found = evaluate(Y, SCORES, metrics=names)
    assert list(found) == [names[0]]


def test_names_that_a_flavor_tells_apart_are_two_figures():
    found = evaluate(Y, SCORES, qid=QID, metrics=["ndcg@2", "ndcg@2-"], flavor="xgboost")
    assert list(found) == ["ndcg@2", "ndcg(empty=0)@2"]
    assert found["ndcg@2"] > found["ndcg(empty=0)@2"]


def test_the_table_is_aligned():
    result = evaluate(Y, SCORES, qid=QID, metrics=["ndcg@10", "auc(rel=3)"], flavor="letor")
    assert repr(result).splitlines() == [
        "ndcg@10     0.0000",
        "auc(rel=3)  -",
        "queries     3 (3 empty, 1 tied), flavor 'letor'",
    ]


def test_results_go_to_json():
    result = evaluate(Y, SCORES, qid=QID, metrics=["mrr", "auc(rel=3)"])
    assert json.loads(json.dumps(result.to_dict(), allow_nan=False)) == {
        "metrics": {"mrr": 0.5, "auc(rel=3)": None},
        "flavor": "standard",
        "n_queries": 3,
        "n_empty": 3,
        "n_tied": 1,
        "empty_counts": {"mrr": 1, "auc(rel=3)": 3},
    }


def test_labels_may_be_negative_where_they_are_only_compared():
    result = evaluate([-1.0, 0.5, 2.5], [1.0, 2.0, 3.0], metrics=["kendall", "map", "auc", "pairwise_error"])
    assert list(result.values()) == [1.0, 1.0, 1.0, 0.0]


def test_labels_of_any_real_value_have_gains():
    value = evaluate([0.5, 9.25], [2.0, 1.0], metrics=["dcg"])["dcg"]
    assert value == pytest.approx((2**0.5 - 1) + (2**9.25 - 1) / np.log2(3))


def test_err_takes_the_highest_label_of_the_data_for_that_of_the_scale():
    qid = [1, 1, 2]
    result = evaluate([1, 0, 3], [1.0, 0.0, 0.0], qid=qid, metrics=["err", "err(max_label=4)"])
    assert result.per_query["err"].tolist() == [1 / 8, 7 / 8]
    assert result.per_query["err(max_label=4)"].tolist() == [1 / 16, 7 / 16]


def test_document_ids_are_compared_as_text():
    y, scores = [1, 0], [1.0, 1.0]
    assert evaluate(y, scores, docid=[9, 10], metrics=["mrr"], flavor="trec")["mrr"] == 1.0
    assert evaluate(y, scores, docid=["09", "10"], metrics=["mrr"], flavor="trec")["mrr"] == 0.5


def test_a_long_list_of_ties_is_averaged_within_the_cutoff():
    n = 5000
    y = np.arange(n) % 2
    result = evaluate(
        y, np.zeros(n), metrics=["ndcg(ties=average)@10", "err(ties=average)@10", "P(ties=average)@4"]
    )
    assert result["precision(ties=average)@4"] == pytest.approx(0.5)
    assert 0 < result["err(ties=average)@10"] < 1


WRONG = {
    "scores contains NaN .*row 1": {"scores": [1.0, np.nan]},
    "scores contains infinity .*row 0": {"scores": [np.inf, 1.0]},
    "y must have at least one row; got none": {"y": [], "scores": []},
    "y must be 1-D": {"y": 3.0, "scores": [1.0]},
    "y contains NaN .*row 0": {"y": [np.nan, 1.0]},
    "scores must have one entry per row.*got 3 for 2": {"scores": [1.0, 2.0, 3.0]},
    "qid must have one entry per row.*got 1 for 2": {"qid": [1]},
    "qid and group say the same thing twice": {"qid": [1, 1], "group": [2]},
    "ndcg@10 needs labels of at least 0, as gains are; got -1 at row 1": {"y": [0, -1]},
    "ndcg@10 has the gain 2..label - 1, which overflows for the label 2000 at row 0": {"y": [2000, 1]},
    "err.* says that labels go up to 1; got 2 at row 1": {"y": [0, 2], "metrics": ["err(max_label=1)"]},
    "metrics must name at least one metric": {"metrics": []},
    "metrics must be a list of names": {"metrics": 3},
    "flavor must be one of 'standard'": {"flavor": "mine"},
    "ndcg@10 breaks ties by document id; give docid": {"flavor": "trec"},
    "docid must have one entry per row": {"flavor": "trec", "docid": ["a"]},
    "docid must be 1-D": {"flavor": "trec", "docid": [["a", "b"]]},
    "query_weight weighs queries, so it needs qid": {"query_weight": [1.0]},
    "n_jobs must be": {"n_jobs": 0},
}


@pytest.mark.parametrize(("message", "wrong"), WRONG.items(), ids=WRONG.keys())
def test_wrong_arguments_are_refused_by_name(message, wrong):
    with pytest.raises(MarginRankError, match=message):
        evaluate(**({"y": [0, 1], "scores": [1.0, 2.0]} | wrong))


def test_weights_of_rows_are_refused_with_what_takes_them():
    with pytest.raises(ValueError, match=r"take no sample_weight.*query_weight; metrics.pairwise_error"):
        evaluate(Y, SCORES, qid=QID, sample_weight=np.ones(len(Y)))


def test_the_largest_label_may_be_that_of_the_metric():
    assert evaluate([0, 1], [0.0, 1.0], metrics=["err(max_label=1)"])["err(max_label=1)"] == 0.5


@pytest.mark.parametrize("metric", [Metric("ndcg", gain={0: 0.0, 1: 3.0, 2: 7.0}), Metric("err"), "ndcg@2"])
def test_every_name_of_an_evaluation_is_found_in_it(metric):
    result = evaluate(Y, SCORES, qid=QID, metrics=[metric])
    assert [result[name] for name in result] == list(result.values())
