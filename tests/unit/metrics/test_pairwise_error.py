"""The pairwise error equals looking at every pair."""

import numpy as np
import pytest

from marginrank.exceptions import MarginRankError, NothingToRankError
from marginrank.metrics import pairwise_error


def error_by_hand(y, scores, qid, weight, query_weight, weighting):
    wrong, total = {}, {}
    for i in range(len(y)):
        for j in range(len(y)):
            if qid[i] == qid[j] and y[i] < y[j] and weight[i] * weight[j] > 0:
                q, w = qid[i], weight[i] * weight[j]
                wrong[q] = wrong.get(q, 0.0) + w * ((scores[i] > scores[j]) + 0.5 * (scores[i] == scores[j]))
                total[q] = total.get(q, 0.0) + w
    if weighting == "pairs":
        return sum(query_weight[q] * wrong[q] for q in total) / sum(query_weight[q] * total[q] for q in total)
    return sum(query_weight[q] * wrong[q] / total[q] for q in total) / sum(query_weight[q] for q in total)


@pytest.mark.parametrize("weighting", ["pairs", "queries"])
@pytest.mark.parametrize("seed", range(30))
def test_error_equals_looking_at_every_pair(weighting, seed):
    rng = np.random.default_rng(seed)
    n_rows, n_queries = int(rng.integers(2, 60)), int(rng.integers(1, 6))
    y = rng.integers(4, size=n_rows) * 0.5
    y[:2] = 0.0, 1.0
    qid = rng.integers(n_queries, size=n_rows)
    qid[:2] = 0
    scores = rng.integers(5, size=n_rows) / 3.0
    weight = rng.integers(0, 3, size=n_rows).astype(float) if seed % 2 else rng.random(n_rows)
    weight[:2] = 1.0
    query_weight = {q: float(rng.integers(1, 4)) for q in range(n_queries)}
    error = pairwise_error(
        y, scores, qid=qid, sample_weight=weight, query_weight=query_weight, weighting=weighting
    )
    expected = error_by_hand(y, scores, qid, weight, query_weight, weighting)
    assert error == pytest.approx(expected, rel=1e-12, abs=1e-15)


@pytest.mark.parametrize(("scores", "error"), [([1, 2, 3], 0.0), ([3, 2, 1], 1.0), ([7, 7, 7], 0.5)])
def test_perfect_reverse_and_constant_scores(scores, error):
    assert pairwise_error([0, 1, 2], scores) == error


def test_scores_count_by_their_order_only():
    rng = np.random.default_rng(0)
    y, scores = rng.standard_normal((2, 500))
    error = pairwise_error(y, scores)
    assert pairwise_error(y, 1e-300 * scores) == error
    assert pairwise_error(y, np.exp(scores)) == error
    assert pairwise_error(y, -scores) == pytest.approx(1 - error, abs=1e-15)


def test_a_large_ranking_is_counted_exactly():
    n = 100_000
    y = np.arange(n)
    # Neighbours swapped: n/2 of the n(n-1)/2 pairs are wrong.
    assert pairwise_error(y, y ^ 1) == pytest.approx((n / 2) / (n * (n - 1) / 2), rel=1e-9)
    assert pairwise_error(y, y ^ 1, n_jobs=1) == pairwise_error(y, y ^ 1, n_jobs=4)


def test_queries_without_a_pair_do_not_count():
    y, scores = [0, 1, 5, 3, 3], [2.0, 1.0, 0.0, 1.0, 2.0]
    for weighting in ("pairs", "queries"):
        assert pairwise_error(y, scores, qid=list("aabcc"), weighting=weighting) == 1.0


def test_pairs_and_queries_weigh_differently():
    y = [0, 1, 0, 1, 1, 1]
    scores = [1.0, 0.0, 0.0, 1.0, 1.0, 1.0]
    qid = [0, 0, 1, 1, 1, 1]
    assert pairwise_error(y, scores, qid=qid) == 0.25
    assert pairwise_error(y, scores, qid=qid, weighting="queries") == 0.5


def test_group_sizes_are_consecutive_queries():
    y, scores = [0, 1, 0, 1], [0.0, 1.0, 1.0, 0.0]
    assert pairwise_error(y, scores, group=[2, 2]) == pairwise_error(y, scores, qid=[0, 0, 1, 1]) == 0.5


def test_no_pair_is_an_error():
    with pytest.raises(NothingToRankError, match="nothing to rank"):
        pairwise_error([1, 1], [0.0, 1.0])


def test_unknown_weighting_is_refused():
    with pytest.raises(MarginRankError, match="weighting must be one of 'pairs', 'queries'; got 'rows'"):
        pairwise_error([0, 1], [0.0, 1.0], weighting="rows")


def test_missing_scores_are_called_scores():
    with pytest.raises(MarginRankError, match=r"scores contain.* NaN .*row 1"):
        pairwise_error([0, 1], [0.0, np.nan])


def test_infinite_scores_are_called_scores():
    with pytest.raises(MarginRankError, match=r"scores contain.* infinity .*row 0"):
        pairwise_error([0, 1], [np.inf, 1.0])


def test_fewer_scores_than_labels_are_refused_by_name():
    with pytest.raises(MarginRankError, match="scores must have one entry per row"):
        pairwise_error([0, 1, 2], [0.0, 1.0])


def test_scores_of_two_columns_are_refused():
    with pytest.raises(MarginRankError, match="scores must be 1-D"):
        pairwise_error([0, 1, 2, 3], [[0.0, 1.0], [2.0, 3.0]])
