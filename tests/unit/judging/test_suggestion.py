"""Which pairs are suggested: the closest of those drawn, none twice, and a share drawn blindly."""

import numpy as np
import pytest

from marginrank import RankingModel
from marginrank.exceptions import MarginRankError, ParameterError
from marginrank.judging import suggest_pairs

ITEMS = np.random.default_rng(0).normal(size=(12, 2))
MODEL = RankingModel([1.0, -0.5])


def unordered(pairs):
    return {tuple(sorted(pair)) for pair in pairs.tolist()}


def test_of_many_drawn_pairs_the_closest_are_taken():
    # 20,000 draws leave out one of 66 pairs with probability 66 exp(-303).
    found = suggest_pairs(MODEL, ITEMS, 5, random_share=0.0, n_sampled=20_000)
    scores = MODEL.predict(ITEMS)
    every = sorted((abs(scores[a] - scores[b]), (a, b)) for a in range(12) for b in range(a + 1, 12))
    assert unordered(found.pairs) == {pair for _, pair in every[:5]}
    assert not found.at_random.any()


def test_no_pair_is_suggested_twice_or_again_and_none_is_left_at_the_end():
    asked = [[1, 0], [2, 3]]
    found = suggest_pairs(MODEL, ITEMS, 100, asked=asked)
    assert len(found.pairs) == 66 - 2
    assert len(unordered(found.pairs)) == 64
    assert not unordered(found.pairs) & {(0, 1), (2, 3)}


def test_without_a_model_all_are_drawn_blindly():
    found = suggest_pairs(None, ITEMS, 10)
    assert found.at_random.all()
    assert len(unordered(found.pairs)) == 10


def test_the_share_of_blind_pairs_is_about_what_was_asked_for():
    items = np.random.default_rng(1).normal(size=(300, 2))
    found = suggest_pairs(MODEL, items, 400, random_share=0.25, n_sampled=10)
    # The seed is fixed; four standard deviations of 400 draws are .087.
    assert abs(found.at_random.mean() - 0.25) < 0.09


def test_the_same_seed_gives_the_same_pairs():
    first, second = (suggest_pairs(MODEL, ITEMS, 9, random_state=7) for _ in range(2))
    assert (first.pairs == second.pairs).all()


@pytest.mark.parametrize("asked", [[[0, 12]], [[-1, 0]], [[0, 1, 2]], ["ab"], [[0.5, 1]], [0, 1]])
def test_pairs_that_are_no_pairs_of_items_are_refused(asked):
    with pytest.raises(ParameterError, match="asked must be pairs of row numbers of items, from 0 to 11"):
        suggest_pairs(MODEL, ITEMS, asked=asked)


def test_one_item_is_refused():
    with pytest.raises(MarginRankError, match="two rows or more"):
        suggest_pairs(MODEL, ITEMS[:1])
