"""Structured targets on OHSUMED and MQ2008: which are degenerate, and what the others reach."""

import warnings

import pytest
from test_real_data import letor

from marginrank import RankingData, StructuredRankSVM
from marginrank.exceptions import ZeroModelWarning
from marginrank.metrics import evaluate


@pytest.fixture
def ohsumed(real_data):
    X, y, qid = letor(real_data / "OHSUMED", 1, 2, 3)
    return RankingData(X, y, qid=qid)


@pytest.mark.parametrize(
    ("parameters", "remedy"),
    [
        ({"target": "mrr@10", "truncate": True}, "truncate=False"),
        ({"target": "ndcg@10", "truncate": True}, "truncate=False"),
        ({"target": "mrr@10", "truncate": True, "feature_map": "mrr"}, "truncate=False"),
        ({"target": "mrr", "feature_map": "mrr"}, "feature_map='po'"),
    ],
    ids=str,
)
def test_ohsumed_is_degenerate_for_truncated_targets_and_for_the_first_good_row(ohsumed, parameters, remedy):
    with pytest.warns(ZeroModelWarning, match=f"the target is degenerate on these data.*{remedy}"):
        model = StructuredRankSVM(**parameters).fit(ohsumed)
    assert model.degenerate_
    assert model.gap_ <= 1e-3


@pytest.mark.parametrize(
    "target", ["auc", "map", "ndcg@10", "mrr@10", {"map": 1.0, "ndcg@10": 1.0, "mrr@10": 1.0}], ids=str
)
def test_ohsumed_is_well_posed_without_a_cutoff(ohsumed, real_data, target):
    with warnings.catch_warnings():
        warnings.simplefilter("error", ZeroModelWarning)
        model = StructuredRankSVM(target, discount="letor").fit(ohsumed)
    assert not model.degenerate_
    assert model.gap_ <= 1e-3
    X, y, qid = letor(real_data / "OHSUMED", 5)
    found = evaluate(y, model.predict(X), qid=qid, metrics=["map", "mrr@10"])
    chance = evaluate(y, 0.0 * y, qid=qid, metrics=["map(ties=average)", "mrr(ties=average)@10"])
    assert found["map"] > chance["map(ties=average)"] + 0.05
    assert found["mrr@10"] > chance["mrr(ties=average)@10"] + 0.1


def test_a_cutoff_is_no_trouble_where_queries_are_short(real_data):
    # MQ2008 has about 20 rows a query, OHSUMED 150: the first ten ranks hold most good rows.
    X, y, qid = letor(real_data / "MQ2008", 1, 2, 3)
    with warnings.catch_warnings():
        warnings.simplefilter("error", ZeroModelWarning)
        assert not StructuredRankSVM("ndcg@10", truncate=True).fit(X, y, qid=qid).degenerate_
