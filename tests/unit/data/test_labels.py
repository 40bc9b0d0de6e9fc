"""Labels grouped into queries without features."""

import numpy as np
import pytest

from marginrank import RankingData
from marginrank.data.labels import LabelledQueries
from marginrank.metrics import evaluate, pairwise_error

Y = [0.0, 2.0, 1.0, 0.0, 1.0]
QID = ["b", "a", "b", "a", "c"]
WEIGHTS = {"sample_weight": [1.0, 2.0, 0.0, 1.0, 1.0], "query_weight": {"a": 1.0, "b": 3.0, "c": 0.5}}


def same(one, other):
    return all(
        np.array_equal(a, b) for a, b in zip(one, other, strict=True) if a is not None or b is not None
    )


def test_labels_are_grouped_as_ranking_data_are():
    queries, data = LabelledQueries.of(Y, qid=QID, **WEIGHTS), RankingData(np.eye(5), Y, qid=QID, **WEIGHTS)
    assert same(queries.training_view(), data.training_view())
    assert queries.query_ids.tolist() == data.query_ids.tolist() == ["b", "a", "c"]
    assert queries.n_rows == 5
    assert queries.n_queries == 3


def test_ids_that_are_not_kept_for_each_row_are_those_of_the_queries():
    given = LabelledQueries.of(Y, qid=QID)
    lazy = LabelledQueries(given.groups, given.y)
    assert lazy.row_ids is None
    assert lazy.qid.tolist() == QID


@pytest.mark.parametrize("rows", [[4, 0, 2], [1, 3]])
def test_a_subset_equals_that_of_ranking_data(rows):
    queries, data = LabelledQueries.of(Y, qid=QID, **WEIGHTS), RankingData(np.eye(5), Y, qid=QID, **WEIGHTS)
    part, whole = queries.subset(np.array(rows)), data.subset(rows)
    assert part.qid.tolist() == whole.qid.tolist()
    assert part.query_weight.tolist() == whole.query_weight.tolist()
    assert part.y.tolist() == whole.y.tolist()


def test_metrics_group_labels_without_making_up_features(monkeypatch):
    monkeypatch.setattr(RankingData, "__init__", lambda *_, **__: pytest.fail("features were made up"))
    scores = [0.3, 0.1, 0.2, 0.5, 0.4]
    assert evaluate(Y, scores, qid=QID, metrics=["mrr"])["mrr"] == pytest.approx((0.5 + 0.5 + 1.0) / 3)
    assert pairwise_error(Y, scores, qid=QID) == 1.0
