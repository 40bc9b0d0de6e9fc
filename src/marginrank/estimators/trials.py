"""Candidates of :class:`AutoRanker` that are fitted one after another over the same folds."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from marginrank.data import RankingData
from marginrank.estimators.base import Ranker
from marginrank.estimators.kernel import KernelRankSVM
from marginrank.training.candidates import Tried, choose_candidate
from marginrank.training.selection import Search


class Trial:
    """What was tried so far.

    Parameters
    ----------
    search : Search
        The folds and the metric.
    data : RankingData
        The training rows.

    Attributes
    ----------
    rounds : list of list of Tried
        The candidates on the folds, in their order, and on other partitions into folds.
    rankers : list of estimators
        Those of the first round, fitted.
    left_out : list of (str, str)
        Names of those that were not tried, and why.
    """

    def __init__(self, search: Search, data: RankingData) -> None:
        self.search = search
        self._data = data
        # A splitter need not give the same folds twice.
        self.folds = search.query_folds(data)
        self.rounds: list[list[Tried]] = [[]]
        self.rankers: list[Ranker] = []
        self.left_out: list[tuple[str, str]] = []
        self.unfinished: tuple[str, Ranker] | None = None

    @property
    def tried(self) -> list[Tried]:
        """The candidates on the first folds."""
        return self.rounds[0]

    def candidates(self) -> list[tuple[Tried, Ranker]]:
        """Return what was tried, with the rankers."""
        return list(zip(self.tried, self.rankers, strict=True))

    def is_close(self) -> bool:
        """Whether a linear ranker and a kernel are as good as far as one can tell."""
        higher_is_better = self.search.parsed.higher_is_better
        return choose_candidate(*self.rounds, higher_is_better=higher_is_better).is_close

    def run(self, name: str, ranker: Ranker, callbacks: Sequence[Any]) -> None:
        """Fit a candidate."""
        self.unfinished = (name, ranker)
        self._note(ranker, self.measured(name, ranker, callbacks))
        self.unfinished = None

    def measured(self, name: str, ranker: Ranker, callbacks: Sequence[Any]) -> Tried:
        """Fit a candidate, and return how it did."""
        ranker.fit(self._data, callbacks=list(callbacks))
        return _as_tried(name, ranker)

    def keep_unfinished(self) -> None:
        """Take what an interrupt left of the first candidate, if there is any of it."""
        assert self.unfinished is not None
        name, ranker = self.unfinished
        if getattr(ranker, "_validation_parts", None) is not None:
            self._note(ranker, _as_tried(name, ranker))

    def _note(self, ranker: Ranker, tried: Tried) -> None:
        self.rankers.append(ranker)
        self.tried.append(tried)


def _as_tried(name: str, ranker: Ranker) -> Tried:
    assert ranker._validation_parts is not None
    chosen = np.argwhere((ranker.alphas_ == ranker.alpha_) & (ranker.validation_curve_ == ranker.best_score_))
    return Tried(
        name,
        float(ranker.alpha_),
        float(ranker.best_score_),
        float(ranker.validation_std_[tuple(chosen[0])]),
        ranker._validation_parts,
        isinstance(ranker, KernelRankSVM),
    )
