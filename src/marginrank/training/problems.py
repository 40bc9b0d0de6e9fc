"""What a ranker trains on: labelled rows or explicit pairs, whole or in folds, and what it holds out."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple, Protocol

import numpy as np

from marginrank.data import RankingData, TrainingPairs, TrainingView
from marginrank.designs import ComparedRows
from marginrank.losses import Loss
from marginrank.metrics import Evaluator
from marginrank.metrics.evaluator import mean_over_targets
from marginrank.training.selection import Search
from marginrank.types import Array, Matrix, Rows, Vector


class Part(NamedTuple):
    """Rows to train on, in the order of their loss, with their weights; None means all rows, weight 1."""

    rows: Rows | None
    weight: Vector | None
    loss: Loss
    compared: ComparedRows


class Held(NamedTuple):
    """Features and numbers of the rows that a fold leaves out, and what tells how well scores of them do.

    ``measure`` takes scores of shape (k, n_targets, n_rows) and returns k figures, means over the targets.
    Numbers of None stand for all rows.
    """

    X: Matrix
    measure: Callable[[Array], Vector]
    rows: Rows | None


class Problem(Protocol):
    """Training data that can be taken whole or in folds."""

    @property
    def data(self) -> RankingData:
        """All rows."""

    @property
    def targets(self) -> Array | None:
        """Labels of shape (n_targets, n_rows), where there are several for each row."""

    @property
    def n_queries(self) -> int:
        """Number of queries; 1 where rows are compared across them."""

    def whole(self) -> Part:
        """Everything."""

    def folds(self, search: Search, n_jobs: int | None) -> Iterator[tuple[Part, Held]]:
        """Folds, as the search asks for. Of X only what a fold leaves out is copied."""


@dataclass(frozen=True)
class QueryProblem:
    """Labelled rows, compared within queries.

    Parameters
    ----------
    data : RankingData
        The rows.
    make_loss : callable
        From a TrainingView to a loss.
    targets : ndarray of shape (n_targets, n_rows), optional
        Labels in the order of the rows, where there are several for each; by default those of the data.
    """

    data: RankingData
    make_loss: Callable[[TrainingView], Loss]
    targets: Array | None = None

    @property
    def n_queries(self) -> int:
        """Number of queries."""
        return self.data.n_queries

    def whole(self) -> Part:
        """Everything that weighs something."""
        return self._part(self.data.training_view())

    def folds(self, search: Search, n_jobs: int | None) -> Iterator[tuple[Part, Held]]:
        """Query folds, or row folds where there are no queries."""
        for train, test in search.query_folds(self.data):
            held = self.data.subset(test)
            labels = [None] if self.targets is None else list(self.targets[:, test])
            evaluators = [search.evaluator(held, y, n_jobs) for y in labels]
            part = self._part(self.data.training_view(train))
            yield part, Held(held.X, partial(_mean_over_targets, evaluators), test)

    def _part(self, view: TrainingView) -> Part:
        compared = ComparedRows(query_ptr=view.query_ptr)
        return Part(view.rows, view.sample_weight, self.make_loss(view), compared)


@dataclass(frozen=True)
class PairProblem:
    """Explicit pairs.

    Parameters
    ----------
    data : RankingData
        Rows and pairs.
    make_loss : callable
        From TrainingPairs and the number of rows to a loss.
    """

    data: RankingData
    make_loss: Callable[[TrainingPairs, int], Loss]

    @property
    def targets(self) -> None:
        """Pairs have no labels."""
        return

    @property
    def n_queries(self) -> int:
        """One: pairs know no queries."""
        return 1

    def whole(self) -> Part:
        """All pairs."""
        return self._part(self.data.training_pairs())

    def folds(self, search: Search, n_jobs: int | None) -> Iterator[tuple[Part, Held]]:
        """Folds over the pairs; held-out pairs tell the share of them in wrong order."""
        del n_jobs
        pairs = self.data.training_pairs().pairs
        for train, test in search.pair_folds(len(pairs)):
            held = self.data.training_pairs(test)
            part = self._part(self.data.training_pairs(train))
            yield part, Held(self.data.X, partial(wrong_share, held), None)

    def _part(self, training: TrainingPairs) -> Part:
        compared = ComparedRows(pairs=training.pairs)
        return Part(None, None, self.make_loss(training, self.data.n_rows), compared)


def _mean_over_targets(evaluators: list[Evaluator], scores: Array) -> Vector:
    by_target = [
        evaluator.means(np.ascontiguousarray(scores[:, target]))[:, 0]
        for target, evaluator in enumerate(evaluators)
    ]
    return mean_over_targets(by_target)


def wrong_share(held: TrainingPairs, scores: Array) -> Vector:
    """Return for each vector of scores the weighted share of pairs in wrong order; ties count half.

    Examples
    --------
    >>> wrong_share(TrainingPairs(np.array([[0, 1], [1, 2]]), None, None), np.array([[[2.0, 1.0, 1.0]]]))
    array([0.25])
    """
    lead = np.take(scores[:, 0], held.pairs[:, 0], axis=1) - np.take(scores[:, 0], held.pairs[:, 1], axis=1)
    wrong = (lead < 0.0) + 0.5 * (lead == 0.0)
    return np.asarray(np.average(wrong, axis=1, weights=held.weight))
