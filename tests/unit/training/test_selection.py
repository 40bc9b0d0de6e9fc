"""Grids, folds and the rule that picks an alpha."""

import numpy as np
import pytest
from sklearn.model_selection import GroupKFold

from marginrank import RankingData
from marginrank.exceptions import MarginRankError
from marginrank.training.paired_parts import pooled
from marginrank.training.selection import Search, check_alphas, default_alphas

ALPHAS = np.array([1.0, 0.1, 0.01, 0.001])


@pytest.fixture
def data():
    rng = np.random.default_rng(1)
    qid = np.repeat(np.arange(11), rng.integers(1, 9, size=11))
    order = rng.permutation(len(qid))
    return RankingData(np.zeros((len(qid), 2)), rng.integers(3, size=len(qid)), qid=qid[order])


def test_query_folds_cover_every_row_once_and_split_no_query(data):
    folds = Search(cv=4).query_folds(data)
    assert np.array_equal(np.sort(np.concatenate([test for _, test in folds])), np.arange(data.n_rows))
    for train, test in folds:
        assert np.array_equal(np.sort(np.concatenate([train, test])), np.arange(data.n_rows))
        assert not set(data.qid[train]) & set(data.qid[test])


def test_query_folds_are_of_nearly_equal_size(data):
    sizes = [len(test) for _, test in Search(cv=3).query_folds(data)]
    assert max(sizes) - min(sizes) <= np.diff(data.query_ptr).max()


def test_rows_without_queries_are_dealt_out_whatever_their_order():
    data = RankingData(np.zeros((40, 1)), np.arange(40))
    for _, test in Search(cv=4).query_folds(data):
        assert len(test) == 10
        assert np.ptp(data.y[test]) > 20  # sorted labels do not make sorted folds


def test_folds_are_the_same_every_time(data):
    first, second = Search(cv=3).query_folds(data), Search(cv=3).query_folds(data)
    for (a, b), (c, d) in zip(first, second, strict=True):
        assert np.array_equal(a, c)
        assert np.array_equal(b, d)


def test_splitters_and_lists_of_splits_are_taken_as_they_are(data):
    splits = list(GroupKFold(3).split(data.X, data.y, data.qid))
    by_splitter = Search(cv=GroupKFold(3)).query_folds(data)
    for found in (by_splitter, Search(cv=splits).query_folds(data)):
        for (train, test), (expected_train, expected_test) in zip(found, splits, strict=True):
            assert np.array_equal(train, expected_train)
            assert np.array_equal(test, expected_test)


def test_best_is_the_best_mean_and_the_largest_alpha_among_equals():
    values = np.array([[0.3, 0.2, 0.2, 0.4], [0.5, 0.4, 0.4, 0.2]])
    selection = Search().select(ALPHAS, values)
    assert selection.alpha == 0.1
    np.testing.assert_allclose(selection.curve, [0.4, 0.3, 0.3, 0.3])
    np.testing.assert_allclose(selection.std, values.std(axis=0, ddof=1) / np.sqrt(2))


def test_metrics_of_which_more_is_better_are_maximised():
    values = np.array([[0.3, 0.6, 0.2, 0.4]])
    assert Search(metric="ndcg@10").select(ALPHAS, values).alpha == 0.1


def paired_error(values, index, weight=None):
    """The standard error of the mean difference to one alpha, written out."""
    weight = np.ones(len(values)) if weight is None else weight
    share = weight / weight.sum()
    found = []
    for k in range(values.shape[1]):
        difference = values[:, k] - values[:, index]
        spread = sum(s**2 * (d - share @ difference) ** 2 for s, d in zip(share, difference, strict=True))
        found.append(np.sqrt(spread * len(values) / (len(values) - 1)))
    return np.array(found)


@pytest.mark.parametrize("weighted", [False, True])
def test_the_error_of_a_difference_is_that_of_the_differences_by_part(weighted):
    rng = np.random.default_rng(0)
    values, weight = rng.random((20, 4)), rng.random(20) if weighted else None
    selection = Search().select(ALPHAS, values, weight)
    assert selection.diff_std[selection.index] == 0.0
    np.testing.assert_allclose(selection.diff_std, paired_error(values, selection.index, weight), rtol=1e-12)


def test_queries_of_folds_are_pooled_with_the_weights_that_the_mean_of_the_folds_gives_them():
    rng = np.random.default_rng(1)
    tables = [rng.random((4, n)) for n in (3, 5, 9)]
    weights = [None, rng.random(5), None]
    tables[2][:, 4] = np.nan  # a query that does not count
    parts = pooled(tables, weights)
    counted = [t[:, ~np.isnan(t).any(axis=0)] for t in tables]
    means = [np.average(t, axis=1, weights=w) for t, w in zip(counted, weights, strict=True)]
    np.testing.assert_allclose(parts.weight @ parts.values, np.mean(means, axis=0), rtol=1e-12)
    assert parts.n_counted == 3 + 5 + 8
    selection = Search().select(ALPHAS, np.array(means), paired=parts)
    expected = paired_error(parts.values, selection.index, parts.weight)
    np.testing.assert_allclose(selection.diff_std, expected, rtol=1e-12)
    np.testing.assert_allclose(selection.std, np.std(means, axis=0, ddof=1) / np.sqrt(3))


def test_queries_that_are_all_hard_or_easy_do_not_hide_that_an_alpha_is_worse():
    rng = np.random.default_rng(2)
    hardness = rng.random(30)
    values = hardness[:, None] + np.array([0.02, 0.0, 0.01, 0.03]) + 1e-4 * rng.random((30, 4))
    selection = Search(rule="one_se").select(ALPHAS, values)
    assert selection.std[1] > 0.03  # one standard error of the figure would take the largest
    assert selection.alpha == 0.1


def test_the_careful_rule_goes_by_half_of_the_error_of_the_difference():
    # Differences to the best of 0.02 on average; their errors are 0.05 and 0.03.
    values = np.array([[0.20, 0.20, 0.20, 0.3], [0.30, 0.30, 0.30, 0.4]])
    values[:, 0] += [0.02 + 0.05, 0.02 - 0.05]
    values[:, 1] += [0.02 + 0.03, 0.02 - 0.03]
    careful = Search(rule="one_se").select(ALPHAS, values)
    np.testing.assert_allclose(careful.diff_std[:3], [0.05, 0.03, 0.0], atol=1e-12)
    assert careful.alpha == ALPHAS[0]
    assert Search(rule="one_se").select(ALPHAS[1:], values[:, 1:]).alpha == ALPHAS[2]


def test_figures_within_the_resolution_are_ties_and_the_largest_alpha_wins():
    values = np.array([[0.3006, 0.3002, 0.3, 0.31]])
    chosen = {r: Search(resolution=r).select(ALPHAS, values).alpha for r in (0.0, 1e-3, 3e-3)}
    assert chosen == {0.0: 0.01, 1e-3: 0.1, 3e-3: 1.0}
    higher = Search(metric="ndcg@10", resolution=1e-3).select(ALPHAS, 1.0 - values)
    assert higher.alpha == 1.0  # 0.6994 and 0.7 are within a thousandth of 0.7


def test_the_largest_of_the_best_alphas_is_taken_in_any_order():
    values = np.array([[0.3, 0.2, 0.2, 0.4], [0.5, 0.4, 0.4, 0.2]])
    for order in ([0, 1, 2, 3], [3, 2, 1, 0], [2, 0, 3, 1]):
        assert Search().select(ALPHAS[order], values[:, order]).alpha == 0.1


def test_parts_that_do_not_count_are_left_out_and_weights_count():
    values = np.array([[0.2, 0.3], [np.nan, np.nan], [0.4, 0.1]])
    selection = Search().select(ALPHAS[:2], values, np.array([3.0, 5.0, 1.0]))
    np.testing.assert_allclose(selection.curve, [0.25, 0.25])


def test_one_part_has_no_standard_error_and_the_rule_that_needs_it_says_so():
    values = np.array([[0.2, 0.3]])
    assert np.isnan(Search().select(ALPHAS[:2], values).std).all()
    with pytest.raises(MarginRankError, match="at least two folds"):
        Search(rule="one_se").select(ALPHAS[:2], values)


def test_a_metric_without_any_value_is_refused():
    with pytest.raises(MarginRankError, match="no value on the validation rows"):
        Search().select(ALPHAS[:1], np.array([[np.nan]]))


def test_default_grid_follows_the_scale_and_comes_in_descending_order():
    grid = default_alphas(1e-3)
    assert (np.diff(grid) < 0).all()
    assert grid[0] == pytest.approx(1e-2)
    np.testing.assert_allclose(default_alphas(1e3) / grid, 1e6, rtol=1e-2)
    assert np.isfinite(default_alphas(0.0)).all()


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"rule": "median"}, "rule must be"),
        ({"cv": 1}, "at least 2 folds"),
        ({"cv": True}, "cv must be a number of folds"),
        ({"alphas": []}, "list of positive, finite numbers"),
        ({"alphas": [0.1, -1.0]}, "list of positive, finite numbers"),
        ({"alphas": [np.nan]}, "list of positive, finite numbers"),
        ({"alphas": "small"}, "list of positive, finite numbers"),
        ({"metric": "accuracy"}, "Unknown metric|metric"),
    ],
)
def test_what_cannot_be_searched_is_refused_at_once(wrong, message):
    with pytest.raises(MarginRankError, match=message):
        Search(**wrong)


def test_alphas_are_sorted_and_distinct():
    assert check_alphas([0.1, 1.0, 0.1]).tolist() == [1.0, 0.1]


def test_too_few_queries_rows_or_pairs_for_the_folds_are_refused(data):
    with pytest.raises(MarginRankError, match="there are 11 queries"):
        Search(cv=12).query_folds(data)
    with pytest.raises(MarginRankError, match="there are 3 rows"):
        Search(cv=5).query_folds(RankingData(np.zeros((3, 1)), [0, 1, 2]))
    with pytest.raises(MarginRankError, match="there are 2 pairs"):
        Search(cv=5).pair_folds(2)


def test_pairs_can_be_selected_by_their_error_only():
    with pytest.raises(MarginRankError, match="Held-out pairs tell the pairwise error only"):
        Search(metric="map").pair_folds(10)
    with pytest.raises(MarginRankError, match="number of folds where pairs"):
        Search(cv=[([0], [1])]).pair_folds(10)


@pytest.mark.parametrize("cv", [[([0, 1], [99])], [([0.5], [1])], [([], [1])], 3.5, []])
def test_splits_that_are_no_row_numbers_are_refused(data, cv):
    with pytest.raises(MarginRankError):
        Search(cv=cv).query_folds(data)
