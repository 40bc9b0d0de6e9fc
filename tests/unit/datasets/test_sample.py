"""The sample: always the same, small, and something to learn."""

import numpy as np

from marginrank import RankSVM
from marginrank.datasets import load_sample
from marginrank.io import docids


def test_the_sample_is_the_same_at_every_call():
    for one, again in zip(load_sample(), load_sample(), strict=True):
        assert np.array_equal(one.X, again.X)
        assert np.array_equal(one.y, again.y)
        assert one.comments.tolist() == again.comments.tolist()


def test_its_sets_have_the_same_features_and_different_queries_and_documents():
    train, validation, test = load_sample()
    assert (train.n_queries, validation.n_queries, test.n_queries) == (60, 20, 20)
    assert train.feature_names == validation.feature_names == test.feature_names
    ids = [docid for data in (train, validation, test) for docid in docids(data)]
    assert len(set(ids)) == len(ids)
    assert not {*train.query_ids} & {*validation.query_ids}
    for data in (train, validation, test):
        assert sorted(set(data.y.tolist())) == [0.0, 1.0, 2.0, 3.0]


def test_a_model_ranks_it_far_better_than_its_best_column():
    train, _, test = load_sample()
    ranker = RankSVM(scale="standard").fit(train)
    alone = RankSVM(scale="standard").fit(train.X[:, :1], train.y, qid=train.qid)
    assert ranker.score(test) > alone.score(test.X[:, :1], test.y, qid=test.qid) + 0.05
    assert ranker.score(test) < 0.97  # and not a toy that has no errors
