"""Contributions of columns add up to differences of scores, and say what they are about."""

import json

import numpy as np
import pandas as pd
import polars as pl
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse

from export_cases import AWKWARD, by_query, raw_data, raw_model
from marginrank import RankingData, RankingModel, RankSVM
from marginrank.metrics import evaluate


def test_contributions_of_a_linear_model_add_up_to_the_margin():
    model, X = raw_model(), raw_data().X
    scores = model.predict(X)
    for k in range(1, 30):
        found = model.explain_pair(X[0], X[k])
        assert found.margin == pytest.approx(found.contributions.sum(), abs=1e-12)
        assert abs(found.margin - (scores[0] - scores[k])) <= 1e-12 * np.abs(scores).max()
        assert_array_equal(found.contributions, model.coef * (X[0] - X[k]))


def test_large_common_offsets_cost_no_digits():
    # Scores of 1.7e9 * w are rounded to 2e-7; the difference of the rows is exact.
    model = RankingModel([1.0, 1e-3])
    found = model.explain_pair([1.7e9 + 0.25, 5.0], [1.7e9, 1.0])
    assert found.margin == 0.25 + 4e-3


def test_rows_are_explained_against_the_mean_row_of_their_query():
    model, data = raw_model(), raw_data()
    found = model.explain(data)
    scores = model.predict(data)
    for query in np.unique(data.qid)[:5]:
        rows = data.qid == query
        assert_allclose(found.margins[rows], scores[rows] - scores[rows].mean(), atol=1e-9)
    assert_array_equal(found.importance, np.abs(found.contributions).mean(axis=0))
    assert_array_equal(model.explain(data.X, qid=data.qid).contributions, found.contributions)


def test_without_query_ids_all_rows_are_one_query():
    model = RankingModel([2.0, -1.0])
    assert_array_equal(model.explain(sparse.csr_array([[4.0, 3.0], [1.0, 1.0]])).margins, [2.0, -2.0])


def test_normalisation_within_queries_is_part_of_the_explanation():
    model, data = by_query(), raw_data()
    rows = np.flatnonzero(data.qid == data.qid[0])
    scores = model.predict(data)
    found = model.explain_pair(data.X[rows[0]], data.X[rows[1]], within=data.X[rows])
    assert abs(found.margin - (scores[rows[0]] - scores[rows[1]])) <= 1e-12 * np.abs(scores).max()
    whole = model.explain(data)
    assert_allclose(whole.margins[rows], scores[rows] - scores[rows].mean(), atol=1e-12)
    with pytest.raises(ValueError, match="within must be the rows of the query"):
        model.explain_pair(data.X[0], data.X[1])
    with pytest.raises(ValueError, match="leave out within"):
        raw_model().explain_pair(data.X[0], data.X[1], within=data.X)


@pytest.mark.parametrize(
    "row",
    [
        [4.0, 3.0],
        np.array([[4.0, 3.0]]),
        {"price": 3.0, "stars": 4.0, "other": 9},
        pd.Series({"price": 3.0, "stars": 4.0}),
        pd.DataFrame({"price": [3.0], "stars": [4.0]}),
        pl.DataFrame({"price": [3.0], "stars": [4.0]}),
        sparse.csr_array([[4.0, 3.0]]),
    ],
)
def test_a_row_may_be_given_by_place_or_by_name(row):
    model = RankingModel([2.0, -1.0], feature_names=["stars", "price"])
    assert model.explain_pair(row, [1.0, 1.0]).margin == 4.0
    assert model.explain_pair([1.0, 1.0], row).margin == -4.0


@pytest.mark.parametrize(
    ("row", "sentence"),
    [
        ([1.0], "a must be a row of 2 numbers"),
        ({"stars": 1.0}, "a lacks the column 'price'"),
        ([1.0, np.nan], "a must hold finite numbers"),
        (["x", "y"], "a must be a row of 2 numbers"),
    ],
)
def test_wrong_rows_are_refused_by_their_name(row, sentence):
    model = RankingModel([2.0, -1.0], feature_names=["stars", "price"])
    with pytest.raises(ValueError, match=sentence):
        model.explain_pair(row, [1.0, 1.0])


def test_contributions_beyond_float64_are_refused():
    with pytest.raises(ValueError, match="leave float64"):
        RankingModel([1e200]).explain_pair([1e200], [0.0])


def test_the_table_has_what_is_left_out_as_a_sum():
    model = RankingModel(np.arange(1.0, 21.0))
    text = model.explain_pair(np.ones(20), np.zeros(20)).table(3)
    assert text.splitlines()[1].split() == ["f20", "1", "0", "+20"]
    assert text.splitlines()[-1].split() == ["17", "more", "+153"]


def test_names_are_those_of_the_model_or_numbers_as_in_files():
    assert RankingModel([1.0, 2.0]).explain([[1.0, 2.0]]).names == ("f1", "f2")
    assert raw_model().explain(raw_data()).names == tuple(AWKWARD)


def test_effects_are_weights_times_deviations_within_queries():
    model = raw_model()
    found = model.feature_weights()
    assert_array_equal(found.effects, model.coef * model.column_statistics.within_deviation)
    first = found.to_dict()["weights"][0]
    assert abs(first["effect"]) == np.abs(found.effects).max()
    with pytest.raises(ValueError, match="no statistics of its training columns"):
        RankingModel([1.0]).feature_weights()


def shuffled_by_hand(model, data, column, rng):
    X = np.array(data.X)
    for query in np.unique(data.qid):
        rows = np.flatnonzero(data.qid == query)
        X[rows, column] = X[rng.permutation(rows), column]
    return evaluate(data.y, model.predict(X, data.qid), qid=data.qid, metrics=["kendall"])["kendall"]


@pytest.mark.parametrize("make", [raw_model, by_query])
def test_permutation_importance_equals_shuffling_by_hand(make):
    model = make()
    data = raw_data()
    found = model.permutation_importance(data, metric="kendall", n_repeats=40)
    base = evaluate(data.y, model.predict(data), qid=data.qid, metrics=["kendall"])["kendall"]
    assert found.baseline == pytest.approx(base, abs=1e-12)
    rng = np.random.default_rng(1)
    for column in (0, 3):
        byhand = [base - shuffled_by_hand(model, data, column, rng) for _ in range(40)]
        error = 4 * np.hypot(np.std(byhand), found.std[column]) / np.sqrt(40)
        assert abs(found.mean[column] - np.mean(byhand)) <= error
    assert_array_equal(found.losses[4], 0)  # constant, so of weight 0


def test_permutation_importance_of_kernels_and_of_errors():
    from marginrank import KernelRankSVM

    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 3))
    data = RankingData(X, np.round(np.abs(X[:, 1]) * 2), qid=np.repeat(np.arange(8), 10))
    model = KernelRankSVM(n_components=30, random_state=0, alpha=1e-4).fit(data).to_model()
    for metric in ("ndcg@5", "pairwise_error"):
        found = model.permutation_importance(data, metric=metric, n_repeats=3)
        assert found.mean.argmax() == 1  # a loss, also where less is better
        assert found.mean[1] > 0.05
    again = model.permutation_importance(data, metric="pairwise_error", n_repeats=3, n_jobs=1)
    assert_array_equal(again.losses, found.losses)


def test_everything_is_json_and_a_picture():
    model, data = raw_model(), raw_data()
    found = [
        model.explain_pair(data.X[0], data.X[1]),
        model.explain(data),
        model.feature_weights(),
        model.permutation_importance(data, n_repeats=1, metric="pairwise_error"),
    ]
    for one in found:
        json.dumps(one.to_dict(), allow_nan=False)
        assert one.plot().axes
        assert str(one)
    assert found[1].plot(3).axes
    with pytest.raises(ValueError, match="row must be an integer from 0 to 399"):
        found[1].plot(400)


def test_labels_are_needed_to_measure():
    data = RankingData(np.eye(2), pairs=[[0, 1]])
    with pytest.raises(ValueError, match="data must have labels"):
        RankSVM().fit([[1.0, 2.0], [2.0, 1.0]], [0, 1]).to_model().permutation_importance(data)
