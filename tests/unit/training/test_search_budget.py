"""A search ends within its limit whatever fits take: an adversary tells their passes."""

from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from marginrank.training.fitting import Cost
from marginrank.training.going_down import GoingDown
from marginrank.training.search_budget import MOST_FITS, SearchBudget
from marginrank.training.selection import Search, select_within

GRID = np.geomspace(1.0, 1e-4, 9)
costs = st.lists(st.floats(0.5, 1e4), min_size=len(GRID), max_size=len(GRID))
wishes = st.lists(st.permutations(range(len(GRID))), min_size=1, max_size=20)


class Fits:
    """Trains nothing: a fit takes the passes that it is told to take."""

    def __init__(self, passes):
        self.passes, self.iterations, self.starts = 0.0, 0, 0
        self.trained = {}
        self._of = dict(zip(GRID.tolist(), passes, strict=True))

    def cost(self, alpha, callbacks):
        if alpha not in self.trained:
            self.passes += self._of[alpha]
            self.iterations += int(self._of[alpha])
            self.starts += 1
            self.trained[alpha] = SimpleNamespace(w=np.ones(1))
        return Cost(self._of[alpha], int(self._of[alpha]) + 1)


def preferred(wish, allowed):
    """Return the alpha that comes first in a wish, of those that are allowed."""
    return float(GRID[next(k for k in wish if allowed[k])])


def fold(trainer):
    return SimpleNamespace(trainer=trainer)


@given(costs, wishes, st.lists(st.floats(0.0, 50.0), min_size=20, max_size=20), st.sampled_from([1, 3]))
def test_what_is_chosen_keeps_the_limit_whatever_fits_take(passes, wished, steps, n_folds):
    trainer = Fits(passes)
    others = [Fits(passes) for _ in range(n_folds)] if n_folds > 1 else [trainer]
    budget = SearchBudget(trainer, [fold(one) for one in others])
    budget.fit(1.0, ())
    for wish, step in zip(wished, steps, strict=False):
        best = preferred(wish, budget.keeping(GRID))
        room = budget.room(best, 0.8).passes
        for one in others:  # a step down, cut where its room ends
            one.passes += max(0.0, min(step, room))
        alpha = preferred(wish, budget.hopeful(GRID))
        if budget.safe(GRID).any():
            budget.fit(alpha, ())
    spent = trainer.passes + sum(one.passes for one in others if one is not trainer)
    for alpha in GRID[budget.keeping(GRID)]:
        # to the rounding of a sum of a few dozen numbers
        assert spent <= MOST_FITS * n_folds * trainer.cost(float(alpha), ()).passes * (1.0 + 1e-12)


def test_an_alpha_that_took_few_passes_cannot_be_chosen_after_many():
    trainer = Fits([100.0, *[1.0] * 8])
    budget = SearchBudget(trainer, [fold(trainer)])
    budget.fit(1.0, ())
    budget.fit(float(GRID[1]), ())
    assert budget.keeping(GRID)[:2].tolist() == [True, False]


def test_between_two_fits_as_much_is_expected_as_on_a_line_of_logarithms():
    trainer = Fits([4.0, *[1.0] * 7, 63.0])
    budget = SearchBudget(trainer, [fold(trainer)])
    for alpha in (GRID[0], GRID[-1]):
        budget.fit(float(alpha), ())
    used = budget.evaluations
    middle = budget.room(float(GRID[4]), 1.0).evaluations + used
    assert middle == pytest.approx((MOST_FITS - 1) * np.sqrt(5.0 * 64.0))


def settled(passes, fitted, curve, others=0.0, resolution=0.0):
    """Return the alpha that a search settles on whose figures and fits are given."""
    trainer = Fits(passes)
    trainer.is_limited, trainer.iterates_all = True, False
    held_out = SimpleNamespace(weight=None)
    going = GoingDown(
        trainer,
        [SimpleNamespace(trainer=trainer, held_out=held_out)],
        lambda do: [],
        Search(metric="pairwise_error", resolution=resolution),
        ((), lambda alpha: ()),
        1.0,
    )
    for k in fitted:
        going._budget.fit(float(GRID[k]), ())
    trainer.passes += others

    def choose(allowed):
        table = np.asarray(curve)[None]
        search = going._search
        return SimpleNamespace(
            selection=select_within(lambda some: search.select(GRID[some], table[:, some]), allowed)
        )

    return going.settle(GRID, choose).selection.alpha


# The first alpha is cheap and as good as the third, which is safe; the best is the fifth.
TIED = [0.3000, 0.31, 0.2999, 0.30, 0.29, 0.30, 0.30, 0.30, 0.30]


def test_a_cheap_alpha_that_is_as_good_as_a_safe_one_does_not_end_the_search():
    passes = [4.0, 4.0, 8.0, 8.0, 8.0, 8.0, 8.0, 8.0, 8.0]
    # 12 passes of fits and 26 more: the first keeps the limit of 40, and would lose it to another fit
    assert settled(passes, [0, 2], TIED, others=26.0, resolution=0.002) == GRID[4]


def test_an_alpha_that_is_better_than_all_safe_ones_is_not_given_up_for_another_fit():
    passes = [4.0, 4.0, 8.0, 8.0, 4.0, 8.0, 8.0, 8.0, 8.0]
    better = [0.295, *TIED[1:]]
    assert settled(passes, [0, 2], better, others=26.0, resolution=0.002) == GRID[0]


def test_the_best_step_is_fitted_after_a_mixture_that_promised_too_much(monkeypatch):
    promised = np.array([0.30, 0.30, 0.30, 0.27, 0.28, 0.29, 0.30, 0.30, 0.30])
    found = np.where(np.isin(GRID, GRID[[3, 4]]), 0.31, promised)  # what fits measure
    trainer = Fits([8.0] * len(GRID))
    trainer.is_limited, trainer.iterates_all = True, False
    fold = SimpleNamespace(trainer=trainer, held_out=SimpleNamespace(weight=None))
    search = Search(metric="pairwise_error")
    going = GoingDown(trainer, [fold], lambda do: [], search, ((), lambda alpha: ()), 1.0)
    going._budget.fit(1.0, ())
    going.alphas = GRID[::5].tolist()
    monkeypatch.setattr(going, "_best", lambda: GRID[5])

    def choose(allowed):
        table = np.where(np.isin(GRID, list(trainer.trained)), found, promised)[None]
        return SimpleNamespace(
            selection=select_within(lambda some: search.select(GRID[some], table[:, some]), allowed)
        )

    assert going.settle(GRID, choose).selection.alpha == GRID[5]
    assert list(trainer.trained) == GRID[[0, 3, 5, 4]].tolist()
