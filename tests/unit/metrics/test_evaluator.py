"""Measuring many score vectors at once gives what measuring them one by one gives."""

import numpy as np
import pytest

from marginrank import RankingData
from marginrank.exceptions import MarginRankError
from marginrank.metrics import Evaluator, evaluate, parse_metric

METRICS = ["ndcg@3", "map", "pairwise_error", "pairwise_error(weighting=queries)", "mrr(empty=skip)"]


@pytest.fixture
def data():
    rng = np.random.default_rng(5)
    qid = rng.integers(7, size=60)
    y = rng.integers(3, size=60)
    y[qid == 3] = 0  # a query with nothing to find
    return RankingData(np.zeros((60, 1)), y, qid=qid, query_weight=dict(enumerate(rng.random(7))))


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_each_row_of_scores_equals_its_own_evaluation(data, n_jobs):
    scores = np.random.default_rng(6).integers(5, size=(4, 60)).astype(float)
    metrics = {name: parse_metric(name) for name in METRICS}
    evaluator = Evaluator(data, metrics, n_jobs=n_jobs)
    measured, means = evaluator.measure(scores), evaluator.means(scores)
    for k, row in enumerate(scores):
        weight = dict(zip(data.query_ids.tolist(), data.query_weight, strict=True))
        alone = evaluate(data.y, row, qid=data.qid, metrics=METRICS, query_weight=weight)
        np.testing.assert_array_equal(measured.values[k], list(alone.per_query.values()))
        np.testing.assert_array_equal(means[k], list(alone.values()))
        assert measured.tied[k].sum() == alone.n_tied
        assert measured.empty[k].any(axis=0).sum() == alone.n_empty


def test_data_without_labels_are_refused():
    data = RankingData([[0.0], [1.0]], pairs=[[0, 1]])
    with pytest.raises(MarginRankError, match="metrics compare with y"):
        Evaluator(data, {"map": parse_metric("map")})
