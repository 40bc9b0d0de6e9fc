"""What users pass to ``fit`` and its relatives: queries, columns and rows by name, files to write."""

import re

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.base import clone

from marginrank import RankingData, RankRLS, RankSVM
from marginrank.exceptions import MarginRankError


def test_eval_group_says_what_eval_qid_says():
    rng = np.random.default_rng(3)
    X, y = rng.normal(size=(40, 3)), rng.integers(3, size=40)
    qid = np.repeat(np.arange(4), 10)
    sets = [(X[:20], y[:20]), (X[20:], y[20:])]
    by_id = RankSVM().fit(X, y, qid=qid, eval_set=sets, eval_qid=[qid[:20], qid[20:]])
    by_size = RankSVM().fit(X, y, group=[10] * 4, eval_set=sets, eval_group=[[10, 10], [10, 10]])
    assert by_size.evals_result_ == by_id.evals_result_
    alone = RankSVM().fit(X, y, qid=qid, eval_set=sets[1], eval_group=[10, 10])
    assert alone.evals_result_["validation_0"] == by_id.evals_result_["validation_1"]


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"eval_set": True, "eval_group": [10, 9]}, "eval_group sizes must sum to the number of rows of X"),
        ({"eval_set": True, "eval_group": [10, 9]}, "For one id per row, use eval_qid"),
        ({"eval_set": True, "eval_group": [20], "eval_qid": [1] * 20}, "say the same thing twice"),
        ({"eval_group": [10, 10]}, "eval_group describes eval_set; give eval_set too"),
    ],
)
def test_wrong_eval_groups_are_named(given, words):
    X, y = np.arange(20.0)[:, None], np.arange(20) % 3
    if "eval_set" in given:
        given = {**given, "eval_set": (X, y)}
    with pytest.raises(MarginRankError, match=re.escape(words)):
        RankSVM().fit(X, y, qid=np.repeat([1, 2], 10), **given)


def test_save_writes_the_model_that_to_model_returns(tmp_path):
    ranker = RankSVM().fit([[0.0, 1.0], [1.0, 0.0]], [0, 1])
    ranker.save(tmp_path / "a.mrk", query_normalization="minmax")
    ranker.to_model(query_normalization="minmax").save(tmp_path / "b.mrk")
    assert (tmp_path / "a.mrk").read_bytes() == (tmp_path / "b.mrk").read_bytes()


# Columns of frames by name


def table(kind=pd.DataFrame, n=60, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 2))
    y = np.digitize(X[:, 0] + rng.normal(size=n), [-1.0, 0.0, 1.0])
    columns = {"price": X[:, 0], "label": y, "query": np.repeat(np.arange(n // 10), 10)}
    return kind({**columns, "stars": X[:, 1], "w": rng.integers(1, 4, size=n)})


def features(frame):
    return np.column_stack([frame["price"], frame["stars"]])


@pytest.mark.parametrize("kind", [pd.DataFrame, pl.DataFrame, pa.table])
@pytest.mark.parametrize("ranker", [RankSVM(), RankRLS()])
def test_labels_queries_and_weights_are_columns_by_name(kind, ranker):
    frame, plain = table(kind), table()
    ranker.fit(frame, y="label", qid="query", sample_weight="w")
    same = clone(ranker).fit(features(plain), plain["label"], qid=plain["query"], sample_weight=plain["w"])
    assert list(ranker.feature_names_in_) == ["price", "stars"]
    np.testing.assert_array_equal(ranker.coef_, same.coef_)
    np.testing.assert_array_equal(ranker.predict(frame), same.predict(features(plain)))
    assert ranker.score(frame, "label") == same.score(features(plain), plain["label"], qid=plain["query"])


def test_validation_frames_have_the_columns_of_the_training_frame():
    train, vali = table(), table(seed=1)
    named = RankSVM().fit(train, "label", qid="query", sample_weight="w", eval_set=(vali, "label"))
    plain = RankSVM().fit(
        features(train),
        train["label"],
        qid=train["query"],
        sample_weight=train["w"],
        eval_set=(features(vali), vali["label"]),
        eval_qid=vali["query"],
    )
    assert named.evals_result_ == plain.evals_result_
    again = vali.rename(columns={"query": "other"})
    other = RankSVM().fit(
        train, "label", qid="query", sample_weight="w", eval_set=(again, "label"), eval_qid="other"
    )
    assert other.evals_result_ == plain.evals_result_


def test_ranking_data_take_columns_by_name():
    data = RankingData(table(), "label", qid="query", query_weight="query")
    assert data.feature_names == ("price", "stars", "w")
    assert data.query_weight.tolist() == [0, 1, 2, 3, 4, 5]


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"y": "labell"}, "y is 'labell', but X has no such column. Did you mean 'label'?"),
        ({"y": "label", "qid": "session"}, "qid is 'session', but X has no such column."),
        ({"y": "label", "sample_weight": "weight"}, "sample_weight is 'weight', but X has no such column."),
    ],
)
def test_names_that_are_no_columns_are_refused(given, words):
    with pytest.raises(MarginRankError, match=f"^{re.escape(words)}$"):
        RankSVM().fit(table(), **given)


def test_a_name_needs_a_frame():
    with pytest.raises(
        MarginRankError, match=r"^y is 'label'; a name stands for a column of X, which is no data"
    ):
        RankSVM().fit(features(table()), "label")


# Pairs of ids

PLAYERS = pd.DataFrame(
    {"player": ["ann", "bob", "cid", "dee"], "age": [20, 31, 25, 40], "wins": [9, 2, 5, 4]}
)
GAMES = [("ann", "bob"), ("cid", "dee"), ("ann", "cid"), ("dee", "bob")]
ROWS = [(0, 1), (2, 3), (0, 2), (3, 1)]


@pytest.mark.parametrize("ranker", [RankSVM(), RankRLS()])
def test_pairs_name_rows_by_a_column_of_the_frame(ranker):
    named = clone(ranker).fit_pairs(PLAYERS, GAMES, ids="player")
    rows = clone(ranker).fit_pairs(PLAYERS.drop(columns="player"), ROWS)
    assert list(named.feature_names_in_) == ["age", "wins"]
    np.testing.assert_array_equal(named.coef_, rows.coef_)
    np.testing.assert_array_equal(named.predict(PLAYERS), rows.predict(PLAYERS.drop(columns="player")))


@pytest.mark.parametrize(
    "ids",
    [[10, 20, 30, 40], [("a", 1), ("b", 2), ("c", 3), ("d", 4)], [7, "seven", 7.5, "x"]],
    ids=["integers", "tuples", "mixed"],
)
def test_ids_may_be_of_any_kind(ids):
    X = PLAYERS[["age", "wins"]].to_numpy(dtype=float)
    named = RankSVM().fit_pairs(X, [(ids[a], ids[b]) for a, b in ROWS], ids=ids)
    np.testing.assert_array_equal(named.coef_, RankSVM().fit_pairs(X, ROWS).coef_)


@pytest.mark.parametrize("kind", [pd.DataFrame, pl.DataFrame])
def test_pairs_of_a_frame_are_winner_and_loser_whatever_their_order(kind):
    X = PLAYERS[["age", "wins"]].to_numpy(dtype=float)
    losers_first = {"loser": [b for _, b in GAMES], "winner": [a for a, _ in GAMES], "sets": [3, 1, 2, 2]}
    named = RankSVM().fit_pairs(X, kind(losers_first), ids=PLAYERS["player"], weight="sets")
    np.testing.assert_array_equal(named.coef_, RankSVM().fit_pairs(X, ROWS, weight=[3, 1, 2, 2]).coef_)


@pytest.mark.parametrize(
    ("pairs", "ids", "words"),
    [
        ([("ann", "bobb")], "player", "pair 0 names 'bobb', which is none. Did you mean 'bob'?"),
        ([("ann", "bob")], ["ann", "bob", "ann", "dee"], "'ann' is that of rows 0 and 2"),
        ([("ann", "ann")], "player", "two different rows; pair 0 is row 0 twice"),
        (["ann"], "player", "pairs must hold pairs of ids, winner first; pair 0 is 'ann'"),
        ([("ann", "bob")], None, "To name rows by ids, use fit_pairs(X, pairs, ids=...)"),
        (pd.DataFrame({"a": ["ann"], "b": ["bob"], "c": [1]}), "player", "the columns 'winner' and 'loser'"),
        ([], "player", "pairs is empty"),
    ],
)
def test_wrong_ids_are_named(pairs, ids, words):
    frame = PLAYERS if ids == "player" else PLAYERS.drop(columns="player")
    with pytest.raises(MarginRankError, match=re.escape(words)):
        RankSVM().fit_pairs(frame, pairs, ids=ids)
