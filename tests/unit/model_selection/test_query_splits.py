"""Splits that keep the rows of a query together."""

import contextlib

import numpy as np
import pandas as pd
import polars as pl
import pytest
import sklearn
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.model_selection import cross_validate

from marginrank import QueryKFold, QueryShuffleSplit, RankingData, RankSVM
from marginrank.datasets import make_ranking
from marginrank.exceptions import MarginRankError

QID = np.array(["a", "b", "a", "c", "c", "c", "d", "b"])
ROWS = np.zeros((len(QID), 1))

ids = st.lists(st.integers(0, 9), min_size=6, max_size=60).filter(lambda found: len(set(found)) >= 3)


@settings(max_examples=50, deadline=None)
@given(qid=ids, balance=st.sampled_from(["queries", "rows"]), shuffle=st.booleans())
def test_folds_test_every_row_once_and_split_no_query(qid, balance, shuffle):
    qid = np.array(qid)
    splitter = QueryKFold(3, balance=balance, shuffle=shuffle, random_state=0)
    tested = []
    for train, test in splitter.split(np.zeros((len(qid), 1)), groups=qid):
        assert not set(qid[train]) & set(qid[test])
        assert sorted([*train, *test]) == list(range(len(qid)))
        tested += test.tolist()
    assert sorted(tested) == list(range(len(qid)))


@settings(max_examples=50, deadline=None)
@given(qid=ids, balance=st.sampled_from(["queries", "rows"]), share=st.floats(0.1, 0.6))
def test_random_splits_split_no_query(qid, balance, share):
    qid = np.array(qid)
    splitter = QueryShuffleSplit(4, test_size=share, balance=balance)
    # By rows a query can be so large that nothing is left to train on.
    with contextlib.suppress(MarginRankError) if balance == "rows" else contextlib.nullcontext():
        for train, test in splitter.split(np.zeros((len(qid), 1)), groups=qid):
            assert min(len(train), len(test)) > 0
            assert not set(qid[train]) & set(qid[test])
            assert sorted([*train, *test]) == list(range(len(qid)))


def test_folds_have_about_as_many_queries_or_rows():
    qid = np.repeat(np.arange(30), np.r_[np.full(15, 1), np.full(15, 9)])
    rows = np.zeros((len(qid), 1))

    def sizes(balance):
        folds = list(QueryKFold(5, balance=balance).split(rows, groups=qid))
        return [len(np.unique(qid[test])) for _, test in folds], [len(test) for _, test in folds]

    assert sizes("queries") == ([6] * 5, [6, 6, 30, 54, 54])
    assert sizes("rows") == ([6] * 5, [30] * 5)


def test_random_splits_meet_their_sizes():
    qid = np.repeat(np.arange(50), 4)
    rows = np.zeros((len(qid), 1))
    for balance, test_size, train_size in [("queries", 10, 25), ("rows", 40, 100), ("rows", 0.2, 0.5)]:
        splitter = QueryShuffleSplit(3, test_size=test_size, train_size=train_size, balance=balance)
        assert [(len(a), len(b)) for a, b in splitter.split(rows, groups=qid)] == [(100, 40)] * 3


def test_splits_are_the_same_each_time_unless_no_seed_is_asked_for():
    for splitter in (QueryShuffleSplit(3), QueryKFold(3, shuffle=True, random_state=5), QueryKFold(3)):
        first, second = ([t.tolist() for _, t in splitter.split(ROWS, groups=QID)] for _ in range(2))
        assert first == second


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
def test_ids_come_from_the_column_of_a_frame_or_from_data(frame):
    expected = [test.tolist() for _, test in QueryKFold(2).split(ROWS, groups=QID)]
    by_frame = QueryKFold(2).split(frame({"f": np.zeros(len(QID)), "qid": QID}))
    by_data = QueryKFold(2).split(RankingData(ROWS, np.arange(8) % 2, qid=QID))
    by_name = QueryKFold(2).split(ROWS, qid=QID)
    for found in (by_frame, by_data, by_name):
        assert [test.tolist() for _, test in found] == expected


def test_under_metadata_routing_qid_alone_is_enough():
    X, y, qid = make_ranking(30, 6, 5)
    with sklearn.config_context(enable_metadata_routing=True):
        found = cross_validate(RankSVM(), X, y, cv=QueryKFold(3), params={"qid": qid})["test_score"]
    for score, (a, b) in zip(found, QueryKFold(3).split(X, groups=qid), strict=True):
        assert score == RankSVM().fit(X[a], y[a], qid=qid[a]).score(X[b], y[b], qid=qid[b])


def test_alpha_auto_takes_the_splitter():
    X, y, qid = make_ranking(30, 6, 5)
    by_splitter = RankSVM(alpha="auto", alphas=[1.0, 0.01], cv=QueryKFold(3)).fit(X, y, qid=qid)
    by_list = RankSVM(alpha="auto", alphas=[1.0, 0.01], cv=list(QueryKFold(3).split(X, groups=qid)))
    by_list.fit(X, y, qid=qid)
    np.testing.assert_array_equal(by_splitter.validation_curve_, by_list.validation_curve_)


@pytest.mark.parametrize("splitter", [QueryKFold(2), QueryShuffleSplit(2)])
def test_wrong_uses_are_sentences(splitter):
    with pytest.raises(MarginRankError, match="needs their ids"):
        list(splitter.split(ROWS))
    with pytest.raises(MarginRankError, match="groups must have one entry per row"):
        list(splitter.split(ROWS, groups=QID[:3]))
    with pytest.raises(MarginRankError, match="come from qid and from groups"):
        list(splitter.split(ROWS, groups=QID, qid=QID[::-1]))


def test_more_folds_than_queries_are_refused():
    with pytest.raises(
        MarginRankError, match="n_splits=5 wants as many folds, but the queries of groups are 4"
    ):
        list(QueryKFold(5).split(ROWS, groups=QID))


@pytest.mark.parametrize("sizes", [{"test_size": 4}, {"test_size": 2, "train_size": 3}, {"test_size": 99}])
def test_sizes_that_do_not_fit_are_refused(sizes):
    with pytest.raises(MarginRankError, match="do not fit: of the 4 queries of groups at least one"):
        list(QueryShuffleSplit(1, **sizes).split(ROWS, groups=QID))
