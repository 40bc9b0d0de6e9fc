"""Names of metrics as people write them."""

import pytest

from marginrank.exceptions import MarginRankError
from marginrank.metrics import FLAVORS, Metric, parse_metric

SPELLINGS = {
    "nDCG@10": "ndcg@10",
    "NDCG @ 10": "ndcg@10",
    "map": "map",
    "MAP@100": "map@100",
    "AP(rel=2)@100": "map(rel=2)@100",
    "AP@100(rel=2)": "map(rel=2)@100",
    "average_precision": "map",
    "mrr@10": "mrr@10",
    "RR": "mrr",
    "recip_rank": "mrr",
    "p@5": "precision@5",
    "P@5": "precision@5",
    "precision@5": "precision@5",
    "R@20": "recall@20",
    "recall@20": "recall@20",
    "err@10": "err@10",
    "ERR(max_label=4)@20": "err(max_label=4)@20",
    "auc": "auc",
    "AUC(rel=0.5)": "auc(rel=0.5)",
    "kendall": "kendall",
    "tau-b": "kendall",
    "pairwise_error": "pairwise_error",
    "dcg@5": "dcg@5",
    "mean_ndcg": "mean_ndcg",
    "MeanNDCG": "mean_ndcg",
    "ndcg( gain = linear , ties=average )@3": "ndcg(gain=linear,ties=average)@3",
    "ndcg(ties=average,gain=linear)@3": "ndcg(gain=linear,ties=average)@3",
    "ndcg()@3": "ndcg@3",
    "ndcg(empty=skip)": "ndcg(empty=skip)",
    "ndcg(empty=0)": "ndcg",
    "ndcg@10-": "ndcg@10",
    "auc-": "auc(empty=0)",
    "hit_rate@5": "hit@5",
    "HR@5": "hit@5",
    "R-precision": "r_precision",
    "Rprec(rel=2)": "r_precision(rel=2)",
    "RBP(p=0.5)@10": "rbp(p=0.5)@10",
    "spearman": "spearman",
}


@pytest.mark.parametrize(("written", "name"), SPELLINGS.items(), ids=SPELLINGS.keys())
def test_spellings_have_one_canonical_name(written, name):
    metric = parse_metric(written)
    assert str(metric) == name
    assert parse_metric(name) == metric


UNREADABLE = {
    "ncdg@10": "Unknown metric 'ncdg@10'; did you mean 'ndcg'. Known are ndcg, dcg",
    "recal@3": "did you mean 'recall'",
    "xyzzy": "Unknown metric 'xyzzy'; known are ndcg",
    "ndcg@0": "cutoff of 'ndcg@0' must be an integer of at least 1.* got '0'",
    "ndcg@": "cutoff of 'ndcg@' must be an integer",
    "ndcg@ten": "cutoff of 'ndcg@ten' must be an integer",
    "ndcg@-1": "cutoff of 'ndcg@-1' must be an integer",
    "ndcg@1.5": "cutoff of 'ndcg@1.5' must be an integer",
    "ndcg@99999999999": "must be below 2",
    "precision": "precision needs a cutoff: write precision@10",
    "recall": "recall needs a cutoff",
    "hit": "hit needs a cutoff",
    "rbp(p=1)": "p of rbp must be between 0 and 1; got 1.0",
    "ndcg(empty=1)@3-": "says twice what empty queries count",
    "ndcg@-": "cutoff of 'ndcg@-' must be an integer",
    "auc@5": "auc looks at the whole ranking and has no cutoff; got 5",
    "mean_ndcg@5": "has no cutoff",
    "ndcg(rel=2)@5": r"Cannot read 'rel=2' in .*; ndcg has the options gain, discount, ties",
    "ndcg(gain)@5": "Cannot read 'gain'",
    "ndcg(gain=square)@5": "gain must be one of exponential, linear; got 'square'",
    "map(rel=high)": "rel must be a number; got 'high'",
    "map(rel=nan)": "rel of map must be a finite number",
    "ndcg(gain=linear,gain=linear)": "gain is given twice",
    "ndcg(ties=threshold)": "ties of ndcg must be one of 'input', 'average', 'pessimistic', 'docid'",
    "ndcg(gain=linear": "Cannot read the metric",
    "ndcg(gain=linear)@5(ties=input)": "Cannot read the metric",
    "": "Cannot read the metric ''",
    "@10": "Cannot read the metric '@10'",
}


@pytest.mark.parametrize(("written", "message"), UNREADABLE.items(), ids=UNREADABLE.keys())
def test_names_that_cannot_be_read_are_explained(written, message):
    with pytest.raises(MarginRankError, match=message):
        parse_metric(written)


def test_a_metric_is_a_hashable_value():
    assert {parse_metric("ndcg@10"), Metric("ndcg", cutoff=10), parse_metric("NDCG@10")} == {
        Metric("ndcg", 10, gain="exponential", empty=0)
    }
    assert parse_metric("ndcg@10") != parse_metric("ndcg@5")
    assert parse_metric(Metric("map")) == Metric("map")
    with pytest.raises(AttributeError):
        Metric("map").rel = 2


def test_direction_is_known():
    assert [name for name in ("ndcg", "map", "pairwise_error") if not Metric(name).higher_is_better] == [
        "pairwise_error"
    ]


@pytest.mark.parametrize("bad", [5, None, b"ndcg"])
def test_what_is_not_a_name_is_refused(bad):
    with pytest.raises(MarginRankError, match="A metric is a name, such as 'ndcg@10'"):
        parse_metric(bad)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"name": "ndgc"}, "Unknown metric name 'ndgc'"),
        ({"name": "ndcg", "cutoff": True}, "must be an integer of at least 1; got True"),
        ({"name": "ndcg", "cutoff": 2.0}, "must be an integer"),
        ({"name": "ndcg", "rel": 1}, "ndcg has no option 'rel'"),
        ({"name": "ndcg", "empty": True}, "empty of ndcg must be one of 0, 1, 'skip'; got True"),
        ({"name": "map", "rel": "2"}, "rel of map must be a finite number; got '2'"),
    ],
)
def test_wrong_options_are_refused_by_name(options, message):
    with pytest.raises(MarginRankError, match=message):
        Metric(**options)


def test_flavors_fill_what_a_name_leaves_open():
    names = {flavor: str(parse_metric("ndcg@10", flavor=flavor)) for flavor in FLAVORS}
    assert names == {
        "standard": "ndcg@10",
        "letor": "ndcg(discount=letor,short=zero)@10",
        "lightgbm": "ndcg(empty=1)@10",
        "xgboost": "ndcg(empty=1)@10",
        "catboost": "ndcg(gain=linear,ties=pessimistic,empty=1)@10",
        "sklearn": "ndcg(gain=linear,ties=average)@10",
        "trec": "ndcg(gain=linear,ties=docid)@10",
    }
    assert parse_metric("ndcg(gain=exponential)@10", flavor="sklearn").gain == "exponential"


def test_unknown_flavors_are_refused():
    with pytest.raises(MarginRankError, match=r"flavor must be one of 'standard', .*; got 'trek'"):
        parse_metric("ndcg", flavor="trek")


def test_a_name_that_ends_in_minus_counts_empty_queries_as_0_in_every_flavor():
    metric = parse_metric("ndcg@10-", flavor="xgboost")
    assert metric == parse_metric("ndcg(empty=0)@10", flavor="xgboost")
    assert metric.empty == 0


@pytest.mark.parametrize("max_label", [7.0, 1e14, 1e15, 1e22, 0.1, 2.5e300])
def test_numbers_of_any_size_are_spelled_short_and_read_back(max_label):
    metric = Metric("err", max_label=max_label)
    assert len(str(metric)) < 40
    assert parse_metric(str(metric)) == metric
