"""Learning curves: the figures of models of more and more queries, on queries they have not seen."""

import json
from typing import ClassVar

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.base import BaseEstimator

from marginrank import RankingData, RankRLS
from marginrank.datasets import make_ranking
from marginrank.exceptions import MarginRankError
from marginrank.metrics import evaluate
from marginrank.model_selection import learning_curve


class FirstColumn(BaseEstimator):
    """A ranker that learns nothing, and notes what it was given."""

    seen: ClassVar[list] = []

    def fit(self, data):
        self.ids = set(data.qid.tolist())
        return self

    def predict(self, data):
        FirstColumn.seen.append((self.ids, set(data.qid.tolist())))
        return data.X[:, 0]


def numbered(n_queries=23):
    """Return queries whose rows are in no order; some have one label."""
    rng = np.random.default_rng(0)
    qid = rng.permutation(np.repeat(np.arange(n_queries), rng.integers(2, 9, n_queries)))
    y = np.where(qid % 4 == 0, 1, rng.integers(0, 3, len(qid)))
    X = np.column_stack([y + rng.normal(size=len(qid)), rng.normal(size=len(qid))])
    return RankingData(X, y, qid=qid)


@pytest.mark.parametrize("metric", ["map", "ndcg@3", "pairwise_error"])
def test_a_ranker_that_learns_nothing_has_the_figure_of_all_queries_at_every_size(metric):
    data = numbered()
    found = learning_curve(FirstColumn(), data, sizes=[12, 2, 6], metric=metric, cv=4)
    whole = evaluate(data.y, data.X[:, 0], qid=data.qid, metrics=[metric])
    assert found.sizes.tolist() == [2, 6, 12]
    assert_allclose(found.held_out, whole[metric], rtol=1e-12)
    assert_allclose(found.gains[1:], 0.0, atol=1e-15)
    assert_allclose(found.gain_error[1:], 0.0, atol=1e-15)
    if whole.mean_weights[metric] is None:
        values = whole.per_query[metric][~np.isnan(whole.per_query[metric])]
        assert_allclose(found.held_out_error, values.std(ddof=1) / np.sqrt(len(values)), rtol=1e-12)


def test_queries_are_tested_once_by_models_of_ever_more_other_queries():
    data = numbered()
    FirstColumn.seen = []
    learning_curve(FirstColumn(), data, sizes=[1, 5, 17], cv=4)
    tested = FirstColumn.seen[::2]  # each is asked for the fold, then for what it was trained on
    assert all(trained == told for trained, told in FirstColumn.seen[1::2])
    for k in range(4):
        (few, fold), (more, again), (most, last) = tested[3 * k : 3 * k + 3]
        assert fold == again == last
        assert few < more < most
        assert not most & fold
        assert [len(few), len(more), len(most)] == [1, 5, 17]
        assert len(set(data.y[np.isin(data.qid, list(few))])) > 1  # there is something to learn
    assert sorted(q for _, fold in tested[::3] for q in fold) == list(range(23))


def test_the_last_size_is_cross_validation_by_hand():
    data = numbered()
    found = learning_curve(RankRLS(alpha=0.1), data, metric="map", cv=2, sizes=[11])
    FirstColumn.seen = []
    learning_curve(FirstColumn(), data, metric="map", cv=2, sizes=[11])
    values = []
    for trained, fold in FirstColumn.seen[::2]:
        train, test = (data.subset(np.isin(data.qid, list(ids))) for ids in (trained, fold))
        scores = RankRLS(alpha=0.1).fit(train).predict(test.X)
        values += evaluate(test.y, scores, qid=test.qid, metrics=["map"]).per_query["map"].tolist()
    assert_allclose(found.held_out, np.nanmean(values), rtol=1e-12)


def test_tables_pictures_and_json():
    X, y, qid = make_ranking(n_queries=40, rows_per_query=6, n_features=5, random_state=0)
    found = learning_curve(RankRLS(alpha=1.0), RankingData(X, y, qid=qid))
    assert found.sizes.tolist() == [2, 4, 8, 16, 32]
    json.dumps(found.to_dict(), allow_nan=False)
    assert str(found).splitlines()[1].split()[:2] == ["queries", "held"]
    assert found._repr_html_().count("<tr>") == 6
    pytest.importorskip("matplotlib")
    (axis,) = found.plot().axes
    np.testing.assert_array_equal(axis.lines[0].get_ydata(), found.held_out)
    assert [text.get_text() for text in axis.get_legend().get_texts()] == [
        "± standard error over queries",
        "held-out queries",
        "queries that were trained on",
    ]
    assert "the last step, from 16 to 32, changed it by" in axis.get_xlabel()


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"sizes": [1, 99]}, "sizes must be numbers of training queries, from 1 to 17"),
        ({"sizes": []}, "sizes must be numbers of training queries"),
        ({"cv": 24}, "as many queries as there are folds"),
        ({"cv": 1}, "cv must be an integer >= 2|cv must be"),
        ({"ranker": object()}, "ranker must be a ranker of this library"),
        ({"metric": "ndgc"}, "ndgc"),
    ],
)
def test_wrong_arguments_get_a_sentence(arguments, said):
    with pytest.raises(MarginRankError, match=said):
        learning_curve(**{"ranker": RankRLS(), "data": numbered(), "cv": 4, **arguments})
