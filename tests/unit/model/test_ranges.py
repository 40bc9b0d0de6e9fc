"""Rows against the ranges that a model was trained on."""

import warnings

import numpy as np
import pytest
from scipy import sparse

from marginrank import KernelRankSVM, RankingModel, RankSVM
from marginrank.model.ranges import RangeWarning, warn_of_far_columns

X = np.array([[1.0, 10.0, 5.0], [3.0, 20.0, 5.0], [2.0, 40.0, 5.0]])
MODEL = RankSVM(scale="standard").fit(X, [0, 1, 2]).to_model()


def test_columns_beyond_twice_their_range_are_far_the_farthest_first():
    rows = np.array([[1.0, 71.0, 5.0], [-9.0, 20.0, 5.0]])
    found = MODEL.far_columns(rows)
    assert [(one.name, one.distance) for one in found] == [("f1", 5.0), ("f2", 31.0 / 30.0)]
    assert found[0].trained_on == (1.0, 3.0)
    assert found[0].found == (-9.0, 1.0)
    assert MODEL.far_columns(sparse.csr_array(rows)) == found


def test_within_a_range_of_the_range_nothing_is_far():
    assert MODEL.far_columns([[-1.0, 70.0, 5.0], [5.0, -20.0, 5.0]]) == []


def test_columns_of_weight_0_do_not_count_and_kernels_use_all():
    assert MODEL.coef[2] == 0
    assert MODEL.far_columns([[1.0, 20.0, 1e9]]) == []
    kernel = KernelRankSVM(n_components=3, random_state=0).fit(X, [0, 1, 2]).to_model()
    (far,) = kernel.far_columns([[1.0, 20.0, 1e9]])
    assert (far.name, far.distance) == ("f3", np.inf)


def test_without_statistics_and_for_normalised_queries_nothing_is_known():
    assert RankingModel([1.0]).far_columns([[1e9]]) == []
    whole = RankingModel(MODEL.coef, column_statistics=MODEL.column_statistics, query_normalization="minmax")
    assert whole.far_columns(1e9 * X) == []


def test_the_warning_names_three_columns_with_both_ranges():
    names = ["a", "b", "c", "d"]
    data = np.random.default_rng(0).random((9, 4))
    model = RankSVM(alpha=1e-3).fit(data, np.arange(9)).to_model()
    model = RankingModel(model.coef, feature_names=names, column_statistics=model.column_statistics)
    with pytest.warns(RangeWarning, match=r"'d' \(1e\+04 to .*in training.*and 1 more. Are the columns"):
        warn_of_far_columns(model.far_columns([[1e1, 1e2, 1e3, 1e4]]))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warn_of_far_columns(model.far_columns(data))
