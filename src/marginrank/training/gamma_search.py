"""A search over gammas that goes on beyond a default grid while its last gamma is the best."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from marginrank.exceptions import Sentence, warn
from marginrank.training.fitting import Found, Row, Run, as_interrupted
from marginrank.training.mapped_columns import MappedColumns
from marginrank.training.selection import Search

#: Neighbouring gammas of default grids differ by this factor.
GAMMA_STEP = 4.0
# So many more at most: far beyond the grid every kernel is linear, or sees no likeness at all.
_MOST_MORE = 4


class GammaSearch:
    """Search the gammas of a grid, then further ones as long as the best is the smallest or the largest.

    Parameters
    ----------
    first : Run
        The search over the grid.
    further : callable
        From a gamma to the search of that one alone; None for a grid of the user's, whose end is warned of.
    search : Search
        What selects.
    """

    def __init__(self, first: Run, further: Callable[[float], Run] | None, search: Search) -> None:
        self._first = first
        self._further = further
        self._search = search
        self._found: Found | None = None

    def run(self) -> Found:
        """Search, and return the model at the best place."""
        found = self._found = self._first.run()
        for _ in range(_MOST_MORE if self._further is not None else 0):
            gamma = _beyond(found)
            if gamma is None:
                break
            assert self._further is not None
            found = self._found = self._better(found, self._further(gamma).run())
        if self._further is None:
            _warn_of_ends(found)
        return found

    def so_far(self) -> Found | None:
        """Return the best of the searches that are finished, or of the first one so far."""
        return self._first.so_far() if self._found is None else as_interrupted(self._found)

    def _better(self, found: Found, other: Found) -> Found:
        rows = sorted([*found.rows, *other.rows], key=_gamma)
        best = rows[self._search.best_of([row.selection for row in rows])]
        chosen = other if best in other.rows else found
        return Found(chosen.trainer, chosen.alpha, chosen.result, rows, best, chosen.recorder)


def _gamma(row: Row) -> float:
    space = row.trainer.problem.space
    assert isinstance(space, MappedColumns)
    return float(space.feature_map.gamma_ or 0.0)


def _ends(found: Found) -> tuple[Sequence[float], int]:
    """Return the gammas, ascending, and the number of the chosen one."""
    assert found.chosen is not None
    return [_gamma(row) for row in found.rows], list(found.rows).index(found.chosen)


def _beyond(found: Found) -> float | None:
    """Return the gamma beyond the end of the grid that is the best; None where that lies within."""
    gammas, chosen = _ends(found)
    if chosen == 0:
        return gammas[0] / GAMMA_STEP
    return gammas[-1] * GAMMA_STEP if chosen == len(gammas) - 1 else None


def _warn_of_ends(found: Found) -> None:
    gammas, chosen = _ends(found)
    if len(gammas) < 3 or chosen not in (0, len(gammas) - 1):
        return
    which, others = ("smallest", "smaller") if chosen == 0 else ("largest", "larger")
    warn(
        Sentence(
            "The best gamma, {gamma:.3g}, is the {which!s} of {gammas}; try {others!s} ones.",
            gamma=float(np.float64(gammas[chosen])),
            which=which,
            others=others,
        ),
        UserWarning,
    )
