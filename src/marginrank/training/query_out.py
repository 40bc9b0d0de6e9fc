"""Leave-query-out errors of every further feature, from one read of X for each that is chosen."""

from __future__ import annotations

import numpy as np

from marginrank._kernels import QuerySelection
from marginrank.data.labels import LabelledQueries
from marginrank.data.matrices import require_memory
from marginrank.data.queries import Groups
from marginrank.designs.matrix import native_matrix
from marginrank.exceptions import MarginRankError
from marginrank.training.forward_selection import Parts, check_room
from marginrank.training.problems import Problem
from marginrank.training.selection import Search
from marginrank.types import Vector

# Numbers for each query and column beside one for each chosen feature.
_BESIDES = 6


class QueryOut:
    """Errors of queries by models that were fitted without them, at the same ``lambda = alpha M / 2``.

    Parameters
    ----------
    problem : Problem
        Labelled rows in memory, in at least two queries.
    alpha : float
        The regularisation of the model of all rows, whose weight is M.
    n_features : int
        How many will be chosen at most.
    search : Search
        The metric.
    n_threads : int
        Threads to use; the result does not depend on it.

    Notes
    -----
    A step takes one read of X and O(k) operations for each query and column, k features being chosen before.
    Memory: ``8 (k + 6)`` bytes for each column of each query of at least two rows.
    """

    held_out = "queries"

    def __init__(
        self, problem: Problem, alpha: float, n_features: int, search: Search, n_threads: int
    ) -> None:
        view, transform = problem.view, problem.transform
        sizes = np.diff(view.query_ptr)
        compared, n_columns = int(np.count_nonzero(sizes > 1)), problem.data.X.shape[1]
        if compared < 2:
            raise MarginRankError(
                f"Leave-query-out needs at least two queries of two rows or more; got {compared}. For one "
                "ranking of all rows leave out qid."
            )
        check_room(
            8.0 * compared * n_columns * (n_features + _BESIDES),
            f"{compared:,} queries times {n_columns:,} columns times {n_features} features",
        )
        self._threads = n_threads
        self._weight = np.ones(len(view.y)) if view.sample_weight is None else view.sample_weight.copy()
        if view.query_weight is not None:
            self._weight *= np.repeat(view.query_weight, sizes)
        self._y = np.asarray(view.y, dtype=np.float64)
        self._mass = np.add.reduceat(self._weight, view.query_ptr[:-1])
        self.shift = 0.5 * alpha * float(self._mass.sum())
        unit = np.ones(n_columns) if transform.scale is None else 1.0 / transform.scale
        self._matrix = native_matrix(require_memory(problem.data.X), problem.rows, transform.shift)
        self._state = QuerySelection(view.query_ptr, self._y, self._weight, unit, self.shift, n_features)
        self._sums = np.empty(n_columns)
        self._matrix.begin_selection(self._state, self._sums, n_threads)
        self.squares, self.right_side = np.split(self._state.sums(), 2)
        self.products = np.empty((n_features, n_columns))
        self._n_chosen = 0
        labels = LabelledQueries(Groups(None, view.query_ptr, None), view.y, query_weight=view.query_weight)
        self._evaluator = search.evaluator(labels, n_jobs=n_threads)

    @property
    def errors(self) -> Vector:
        """The mean squared error of all rows with each further column."""
        return np.asarray(self._sums / self._mass.sum())

    def choose(self, column: int) -> None:
        """Add a column to the model."""
        self._matrix.choose_feature(self._state, column, self._sums, self._threads)
        self.products[self._n_chosen] = self._state.sums()
        self._n_chosen += 1

    def error_parts(self) -> Parts:
        """Return the mean squared error of each query; queries weigh what their rows do."""
        return Parts(self._state.error() / self._mass, self._mass)

    def metric_parts(self) -> Parts:
        """Return the metric of each query."""
        measured = self._evaluator.measure(self._y - self._state.residual())
        return Parts(measured.values[0, 0], self._evaluator.weights[0])
