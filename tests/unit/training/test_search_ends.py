"""When validation says that smaller alphas will not pay."""

import numpy as np
import pytest

from marginrank.training.paired_parts import PairedParts
from marginrank.training.search_ends import SEARCH_ENDS, best_so_far, told_worse, validation_ends
from marginrank.training.selection import Search

ALPHAS = np.geomspace(10.0, 1e-4, 11)  # half a decade apart; the balance is at 1


def parts(curve, spread=0.0, n_queries=20, seed=0):
    """Queries of these mean figures, each of which moves about the mean by this much at every alpha."""
    noise = np.random.default_rng(seed).standard_normal((n_queries, len(curve)))
    noise -= noise.mean(axis=0)
    return PairedParts(np.asarray(curve) + np.arange(n_queries)[:, None] + spread * noise)


def end(curve, spread=0.0, balance=1.0, **search):
    curve = np.asarray(curve, dtype=float)
    return validation_ends(Search(**search), balance, ALPHAS[: len(curve)], parts(curve, spread))


def test_two_alphas_in_a_row_that_are_worse_end_a_search():
    assert end([0.5, 0.4, 0.3, 0.3, 0.3, 0.4, 0.5]) == "worse"
    flat = [0.5, 0.4, 0.3, 0.3, 0.3, 0.3, 0.3, 0.3]
    assert end([*flat, 0.5]) == "no better"  # three decades below the first of the best
    assert end(flat) is None


def test_what_is_worse_by_less_than_its_error_does_not_count():
    curve = [0.5, 0.5, 0.5, 0.3, 0.3, 0.301, 0.301]
    assert end(curve) == "worse"
    assert end(curve, spread=0.1) is None


def test_queries_tell_of_each_alpha_whether_it_is_worse_and_one_ranking_of_none():
    curve = [0.5, 0.3, 0.301]
    assert told_worse(Search(), parts(curve), 1).tolist() == [True, False, True]
    assert told_worse(Search(), parts(curve, spread=0.1), 1).tolist() == [True, False, False]
    assert told_worse(Search(metric="ndcg@10"), parts(curve), 0).tolist() == [False, True, True]
    assert told_worse(Search(), parts(curve, n_queries=1), 1).tolist() == [False, False, False]


@pytest.mark.parametrize("n_alphas", range(2, 7))
def test_a_search_always_goes_down_to_a_hundredth_of_the_balance(n_alphas):
    assert end(np.linspace(0.1, 0.5, n_alphas)) is None
    assert end(np.linspace(0.1, 0.5, 7)) == "worse"


def test_one_ranking_is_judged_by_three_decades_without_a_new_best():
    curve = [0.5, 0.4, 0.3, 0.2, 0.3, 0.4, 0.5, 0.6, 0.6, 0.6, 0.6]
    one = {k: PairedParts(np.array([curve[:k]])) for k in (9, 10)}
    assert [validation_ends(Search(), 1.0, ALPHAS[:k], one[k]) for k in one] == [None, "no better"]


def test_higher_figures_are_better_where_the_metric_says_so():
    rising = np.linspace(0.1, 0.9, 9)
    assert end(rising, metric="ndcg@10") is None
    assert end(rising[::-1], metric="ndcg@10") == "worse"


def test_a_gain_below_the_resolution_is_no_new_best():
    curve = np.array([0.5, 0.3, 0.2999, 0.2998])
    assert best_so_far(Search(resolution=1e-2), curve) == 1
    assert best_so_far(Search(), curve) == 3


def test_every_end_has_words():
    assert all(words and not words.endswith(".") for words in SEARCH_ENDS.values())
