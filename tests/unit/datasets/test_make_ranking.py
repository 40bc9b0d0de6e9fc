"""Made ranking problems: their shapes, their columns, their labels."""

import numpy as np
import pytest

from marginrank import RankSVM
from marginrank.datasets import make_ranking
from marginrank.exceptions import MarginRankError, ParameterError


def test_the_same_seed_gives_the_same_bits_and_another_seed_other_data():
    first, again, other = (make_ranking(random_state=seed) for seed in (3, 3, 4))
    assert all(np.array_equal(a, b) for a, b in zip(first, again, strict=True))
    assert first[0].shape != other[0].shape or not np.array_equal(first[0], other[0])


def test_queries_have_as_many_rows_as_asked_for():
    _, _, qid = make_ranking(500, (2, 4), 6)
    sizes = np.bincount(qid)
    assert len(sizes) == 500
    assert sorted(set(sizes.tolist())) == [2, 3, 4]
    assert np.bincount(make_ranking(7, 11, 6)[2]).tolist() == [11] * 7


def test_half_of_the_rows_of_each_level_and_those_above_it_are_in_it():
    _, y, _ = make_ranking(40, 20, n_levels=4)
    assert np.bincount(y.astype(int)).tolist() == [400, 200, 100, 100]


def test_columns_come_in_their_order_informative_redundant_query_level_noise():
    X, _, qid, coef = make_ranking(
        200, 10, 12, n_informative=3, n_redundant=2, n_query_features=4, n_levels=None, return_coef=True
    )
    assert np.flatnonzero(coef).tolist() == [0, 1, 2]
    assert np.sum(coef**2) == pytest.approx(1.0)
    assert np.linalg.matrix_rank(X[:, :5]) == 3
    first = np.searchsorted(qid, qid)  # the first row of each row's query
    constant = (X[first] == X).all(axis=0)
    assert np.flatnonzero(constant).tolist() == [5, 6, 7, 8]


def test_utilities_without_noise_are_ranked_by_the_coefficients_alone():
    for raw in (False, True):
        X, y, qid, coef = make_ranking(
            50, 8, n_query_features=2, n_levels=None, noise=0.0, raw_scales=raw, return_coef=True
        )
        scores = X @ coef
        for query in range(50):
            mine = qid == query
            assert np.argsort(scores[mine]).tolist() == np.argsort(y[mine]).tolist()


def test_raw_columns_differ_in_scale_by_a_thousand_and_more():
    X, _, _ = make_ranking(raw_scales=True)
    scales = X.std(axis=0)
    assert scales.max() / scales.min() > 1e3


def test_a_ranker_finds_the_coefficients():
    X, y, qid, coef = make_ranking(300, 10, noise=0.1, n_levels=None, return_coef=True)
    found = RankSVM(alpha=1e-4).fit(X, y, qid=qid).coef_
    assert found @ coef / np.linalg.norm(found) > 0.99


def test_more_columns_of_some_kind_than_there_are_is_a_sentence():
    with pytest.raises(MarginRankError, match="n_features=4 must be at least n_informative=3"):
        make_ranking(n_features=4, n_informative=3, n_redundant=2)
    with pytest.raises(ParameterError, match="rows_per_query must be a positive integer or two"):
        make_ranking(rows_per_query=(5, 2))
    with pytest.raises(MarginRankError, match="GB of memory"):
        make_ranking(10**8, 10**6)


@pytest.mark.parametrize(
    ("n_features", "others", "expected"), [(20, {}, 5), (3, {}, 3), (6, {"n_redundant": 4}, 2)]
)
def test_few_columns_inform_as_far_as_there_is_room(n_features, others, expected):
    _, _, _, coef = make_ranking(5, 4, n_features, return_coef=True, **others)
    assert np.count_nonzero(coef) == expected


def test_no_room_for_a_column_that_informs_is_refused():
    with pytest.raises(MarginRankError, match="n_features=3 must be at least n_informative=1"):
        make_ranking(5, 4, 3, n_redundant=3)
