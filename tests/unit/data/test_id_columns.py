"""Columns of frames that look like query ids and are taken as features are warned of."""

import warnings

import numpy as np
import pandas as pd
import pytest

from marginrank import RankingData, RankSVM, rank_path

X = np.random.default_rng(0).normal(size=(20, 2))
Y = np.arange(20) % 3


def frame(name):
    return pd.DataFrame({"price": X[:, 0], "stars": X[:, 1], name: np.arange(20) // 5})


@pytest.mark.parametrize("name", ["query_id", "group", "q_id", "queryid", "QueryID", "Query Id", "group_id"])
def test_a_column_of_ids_that_is_taken_as_a_feature_is_warned_of(name):
    with pytest.warns(
        UserWarning, match=f"'{name}' is taken as a feature.*pass it as qid.*rename it"
    ) as caught:
        data = RankingData(frame(name), Y)
    assert len(caught) == 1
    assert data.n_features == 3


@pytest.mark.parametrize("name", ["Unnamed: 0", "__index_level_0__", ""])
def test_numbers_of_rows_that_pandas_wrote_are_warned_of(name):
    with pytest.warns(UserWarning, match=f"'{name}' is taken as a feature.*index=False") as caught:
        data = RankingData(frame(name), Y)
    assert len(caught) == 1
    assert data.n_features == 3


@pytest.mark.parametrize(
    "train",
    [
        lambda rows: RankSVM().fit(rows, Y),
        lambda rows: RankSVM().fit(rows, Y, qid=np.arange(20) // 5),
        lambda rows: RankSVM().fit_pairs(rows, [[0, 1], [3, 2]]),
        lambda rows: rank_path(rows, Y, alpha_max=1.0, alpha_min=0.5),
    ],
    ids=["fit", "fit with qid", "fit_pairs", "path"],
)
def test_every_training_warns_once(train):
    with pytest.warns(UserWarning, match="looks like query ids") as caught:
        train(frame("query_id"))
    assert len(caught) == 1


@pytest.mark.parametrize("name", ["qid", "query_length", "groups_of_words", "id"])
def test_other_columns_are_not_warned_of(name):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        data = RankingData(frame(name), Y)
    assert data.n_rows == len(Y)


def test_scoring_with_a_model_does_not_warn_again():
    with pytest.warns(UserWarning, match="looks like query ids"):
        model = RankSVM().fit(frame("group"), Y)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.predict(frame("group"))
        model.score(frame("group"), Y)
