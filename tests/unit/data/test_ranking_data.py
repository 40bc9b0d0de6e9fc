"""RankingData holds what was given, in original order, and shares the user's arrays."""

import pickle
from dataclasses import FrozenInstanceError

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse

from marginrank.data import RankingData
from marginrank.exceptions import MarginRankError, NothingToRankError

X = np.arange(10.0).reshape(5, 2)
Y = np.array([0.0, 1.0, 2.0, 1.0, 0.0])
QID = np.array(["b", "a", "b", "a", "b"])


def refuses(message):
    return pytest.raises(MarginRankError, match=message)


def test_arrays_are_shared_and_unchanged():
    given = [a.copy() for a in (X, Y, QID)]
    data = RankingData(X, Y, qid=QID, sample_weight=[1, 0, 1, 1, 1])
    data.training_view()
    data.subset([0, 2])
    assert data.X is X
    assert data.y is Y
    assert data.qid is QID
    for now, before in zip((X, Y, QID), given, strict=True):
        np.testing.assert_array_equal(now, before)


def test_read_only_arrays_are_fine():
    frozen = X.copy()
    frozen.flags.writeable = False
    assert RankingData(frozen, Y, qid=QID).X is frozen


def test_counts_and_offsets():
    data = RankingData(X, Y, qid=QID)
    assert (data.n_rows, data.n_features, data.n_queries) == (5, 2, 2)
    assert data.query_ids.tolist() == ["b", "a"]
    assert data.query_ptr.tolist() == [0, 3, 5]
    assert data.order.tolist() == [0, 2, 4, 1, 3]
    assert data.query_ptr.dtype == data.order.dtype == np.int64


def test_without_qid_all_rows_are_one_query():
    data = RankingData(X, Y)
    assert data.query_ptr.tolist() == [0, 5]
    assert data.n_queries == 1
    assert data.qid is data.query_ids is data.order is None


def test_group_sizes_are_consecutive_queries():
    data = RankingData(X, Y, group=[2, 3])
    assert data.qid.tolist() == [0, 0, 1, 1, 1]
    assert data.query_ptr.tolist() == [0, 2, 5]
    assert data.order is None


def test_qid_and_group_together_are_refused():
    with refuses("give one of them"):
        RankingData(X, Y, qid=QID, group=[2, 3])


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
def test_frame_brings_qid_and_feature_names(frame):
    data = RankingData(frame({"price": X[:, 0], "qid": QID, "age": X[:, 1]}), Y)
    assert data.feature_names == ("price", "age")
    assert data.qid.tolist() == QID.tolist()
    np.testing.assert_array_equal(data.X, X)


def test_feature_names_given_beat_those_of_the_frame():
    frame = pd.DataFrame(X, columns=["a", "b"])
    assert RankingData(frame, Y, feature_names=["c", "d"]).feature_names == ("c", "d")


def test_nan_is_named_by_its_column():
    frame = pd.DataFrame(X.copy(), columns=["a", "price"])
    frame.loc[3, "price"] = np.nan
    with refuses("X contains NaN .first at row 3, column 'price'"):
        RankingData(frame, Y)


def test_data_are_frozen_and_picklable():
    data = RankingData(X, Y, qid=QID)
    with pytest.raises(FrozenInstanceError):
        data.y = None
    copy = pickle.loads(pickle.dumps(data))
    np.testing.assert_array_equal(copy.order, data.order)
    assert repr(copy) == repr(data)


def test_repr_tells_size_and_storage():
    data = RankingData(sparse.csr_array(X), pairs=[[0, 1]])
    assert repr(data) == "RankingData(n_rows=5, n_features=2, n_queries=1, n_pairs=1, CSR float64)"


def test_neither_labels_nor_pairs_is_refused_in_the_words_of_scikit_learn():
    with refuses("requires y to be passed, but the target y is None; give y, or pairs"):
        RankingData(X)


def test_row_weights_need_labels():
    with refuses("sample_weight and query_weight need y; to weigh pairs, use pair_weight"):
        RankingData(X, pairs=[[0, 1]], sample_weight=np.ones(5))


def test_pair_weights_need_pairs():
    with refuses("describe pairs; give pairs too"):
        RankingData(X, Y, pair_weight=[1.0])


# Query weights


@pytest.mark.parametrize(
    "weight",
    [{"a": 3.0, "b": 2.0, "unused": 9.0}, [2.0, 3.0], [2, 3, 2, 3, 2], pd.Series([2.0, 3.0])],
)
def test_query_weights_come_by_id_by_query_or_by_row(weight):
    assert RankingData(X, Y, qid=QID, query_weight=weight).query_weight.tolist() == [2.0, 3.0]


@pytest.mark.parametrize(
    ("weight", "message"),
    [
        ({"a": 1.0}, "query_weight has no entry for query 'b'"),
        ([1.0, 2.0, 1.0, 2.0, 3.0], "equal on all rows of a query; query 'b' has several"),
        ([1.0, 2.0, 3.0], "query_weight must have one entry per query; got 3 for 2 queries"),
        ({"a": -1.0, "b": 1.0}, "query_weight must be at least 0; got -1 at query 1"),
        ([0.0, 0.0], "query_weight is zero for every query"),
    ],
)
def test_query_weights_that_cannot_be_used_are_refused(weight, message):
    with refuses(message):
        RankingData(X, Y, qid=QID, query_weight=weight)


def test_query_weights_without_queries_are_refused():
    with refuses("needs qid or group; got neither"):
        RankingData(X, Y, query_weight=[1.0])


def test_query_weights_may_be_keyed_by_dates():
    days = np.array(["2024-01-02", "2024-01-01"] * 2 + ["2024-01-02"], dtype="M8[ns]")
    weight = {np.datetime64("2024-01-01", "ns"): 1.0, np.datetime64("2024-01-02", "ns"): 2.0}
    assert RankingData(X, Y, qid=days, query_weight=weight).query_weight.tolist() == [2.0, 1.0]


# What training sees


def test_view_of_plain_data_shares_everything():
    data = RankingData(X, Y)
    view = data.training_view()
    assert view.rows is None
    assert view.y is Y
    assert view.query_ptr is data.query_ptr
    assert view.sample_weight is view.query_weight is None


def test_view_is_in_grouped_order():
    data = RankingData(X, Y, qid=QID, sample_weight=[1, 2, 3, 4, 5], query_weight=[2, 3])
    view = data.training_view()
    assert view.rows.tolist() == [0, 2, 4, 1, 3]
    assert view.y.tolist() == [0, 2, 0, 1, 1]
    assert view.sample_weight.tolist() == [1, 3, 5, 2, 4]
    assert view.query_weight.tolist() == [2, 3]


def test_rows_and_queries_that_weigh_nothing_are_dropped():
    data = RankingData(
        X, Y, qid=["b", "a", "b", "c", "b"], sample_weight=[1, 2, 0, 0, 5], query_weight=[2, 3, 4]
    )
    view = data.training_view()
    assert view.rows.tolist() == [0, 4, 1]
    assert view.query_ptr.tolist() == [0, 2, 3]
    assert view.sample_weight.tolist() == [1, 5, 2]
    assert view.query_weight.tolist() == [2, 3]


def test_a_part_of_weighted_rows_is_that_part():
    data = RankingData(X, Y, qid=QID, sample_weight=[1, 2, 0, 4, 5], query_weight=[2, 3])
    assert data.training_view(np.array([0, 1, 2])).rows.tolist() == [0, 1]


def test_weights_that_are_all_one_are_no_weights():
    assert RankingData(X, Y, sample_weight=np.ones(5)).training_view().sample_weight is None
    zero_or_one = RankingData(X, Y, sample_weight=[1, 0, 1, 1, 1]).training_view()
    assert zero_or_one.sample_weight is None
    assert zero_or_one.rows.tolist() == [0, 2, 3, 4]


def test_nothing_left_after_the_weights_is_said():
    data = RankingData(X, Y, qid=QID, sample_weight=[1, 0, 1, 0, 1], query_weight={"a": 1, "b": 0})
    with pytest.raises(NothingToRankError, match="Every row has zero sample_weight or is in a query of zero"):
        data.training_view()


def test_pairs_that_weigh_nothing_are_dropped():
    pairs = np.array([[0, 1], [2, 3], [4, 0]])
    data = RankingData(X, pairs=pairs, pair_weight=[1, 0, 2], pair_margin=[1, 2, 3])
    kept = data.training_pairs()
    assert kept.pairs.tolist() == [[0, 1], [4, 0]]
    assert kept.weight.tolist() == [1, 2]
    assert kept.margin.tolist() == [1, 3]
    assert RankingData(X, pairs=pairs).training_pairs().pairs is pairs


def test_views_of_what_is_not_there_are_refused():
    with refuses("hold pairs and no y"):
        RankingData(X, pairs=[[0, 1]]).training_view()
    with refuses("hold no pairs"):
        RankingData(X, Y).training_pairs()


# Subsets


@pytest.mark.parametrize("storage", [np.array, sparse.csr_array, sparse.csr_matrix])
def test_subset_keeps_rows_ids_weights_and_names(storage):
    data = RankingData(
        storage(X), Y, qid=QID, sample_weight=[1, 2, 3, 4, 5], query_weight=[2, 3], feature_names=["u", "v"]
    )
    for rows in ([1, 2, 3], np.array([False, True, True, True, False])):
        part = data.subset(rows)
        dense = part.X.toarray() if sparse.issparse(part.X) else part.X
        np.testing.assert_array_equal(dense, X[1:4])
        assert part.qid.tolist() == ["a", "b", "a"]
        assert part.query_ids.tolist() == ["a", "b"]
        assert part.query_weight.tolist() == [3, 2]
        assert part.sample_weight.tolist() == [2, 3, 4]
        assert part.feature_names == ("u", "v")


def test_subset_renumbers_pairs_and_drops_those_it_cuts():
    data = RankingData(X, pairs=[[0, 1], [4, 2], [2, 4]], pair_weight=[1, 2, 3])
    part = data.subset([4, 3, 2])
    assert part.pairs.tolist() == [[0, 2], [2, 0]]
    assert part.pair_weight.tolist() == [2, 3]
    with pytest.raises(NothingToRankError, match="No pair has both of its rows in the subset"):
        data.subset([0, 2])
    with refuses("rows must be distinct where there are pairs"):
        data.subset([0, 0, 1])


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([5], "from 0 to 4; got 5 to 5"),
        ([-1], "got -1"),
        ([], "not empty"),
        ([0.0], "row numbers"),
        ([True], "one boolean per row"),
    ],
)
def test_rows_that_are_not_there_are_refused(rows, message):
    with refuses(message):
        RankingData(X, Y).subset(rows)


# Normalisation within queries


@pytest.mark.parametrize("storage", [np.array, sparse.csr_array])
def test_normalised_data_are_dense_and_keep_all_but_the_features(storage):
    data = RankingData(
        storage(X.astype(np.float32)),
        Y,
        qid=QID,
        sample_weight=[1, 2, 3, 4, 5],
        query_weight=[2, 3],
        pairs=[[0, 1]],
        feature_names=["u", "v"],
    )
    normalized = data.normalized_by_query()
    assert normalized.X.dtype == np.float32
    np.testing.assert_array_equal(normalized.X, np.array([[0, 0, 0.5, 1, 1]] * 2).T)
    for field in (
        "y",
        "qid",
        "sample_weight",
        "query_weight",
        "query_ids",
        "order",
        "pairs",
        "feature_names",
    ):
        assert getattr(normalized, field) is getattr(data, field)


def test_without_qid_normalisation_is_over_all_rows():
    np.testing.assert_array_equal(
        RankingData(X, Y).normalized_by_query().X, np.array([[0, 0.25, 0.5, 0.75, 1]] * 2).T
    )


def test_comments_go_along():
    data = RankingData(X, Y, qid=QID, comments=list("vwxyz"))
    assert data.comments.tolist() == list("vwxyz")
    assert data.subset([3, 0]).comments.tolist() == ["y", "v"]
    assert RankingData(X, Y).subset([1]).comments is None


@pytest.mark.parametrize(
    ("comments", "message"),
    [
        (["a"], "comments must have one entry per row of X; got 1 for 5 rows"),
        ([1] * 5, "comments must hold strings; row 0 holds 1"),
    ],
)
def test_comments_that_do_not_fit_are_refused(comments, message):
    with refuses(message):
        RankingData(X, Y, comments=comments)


def test_values_that_are_not_finite_are_kept_on_request_and_not_trained_on():
    bad = np.where(X > 8, np.nan, X)
    with refuses("X contains NaN"):
        RankingData(bad, Y)
    data = RankingData(bad, Y, pairs=[[0, 1]], allow_nonfinite=True)
    for use in (data.training_view, data.training_pairs, data.subset([0, 1, 4]).training_view):
        with refuses("X contains NaN"):
            use()
    assert data.subset([0, 1]).training_view().y.tolist() == [0, 1]
