"""Leave-pair-out errors of every further feature, for one ranking of all rows."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from marginrank._kernels import pair_errors
from marginrank.data.matrices import as_dense, require_memory
from marginrank.designs.centred import CentredRows
from marginrank.exceptions import MarginRankError
from marginrank.solvers.leave_pair_out import missed_difference
from marginrank.training.forward_selection import Parts, check_room
from marginrank.training.problems import Problem
from marginrank.training.selection import Search
from marginrank.types import Vector

#: All pairs of rows are held out up to this many; of more, about as many are drawn.
MOST_PAIRS = 2**20
_SEED = 20101
# As in the compiled selection: less of the squares of a column is rounding.
_ROUNDING = 1e-13
_LEAST_ROWS = 3


class PairOut:
    """Errors of pairs of rows by models that were fitted without them, at the same ``lambda = alpha m / 2``.

    Parameters
    ----------
    problem : Problem
        Labelled rows in memory, one ranking, without weights.
    alpha : float
        The regularisation of the model of all rows.
    n_features : int
        How many will be chosen at most.
    search : Search
        The metric, which must be the pairwise error.
    n_threads : int
        Threads to use; the result does not depend on it.

    Notes
    -----
    With an intercept that is free, the hat matrix is ``H = 1/m + E E'``, a column of E for each chosen
    feature. The two held-out scores of a pair solve a system of the 2 x 2 part of ``I - H``. A step takes
    ``O(m + p)`` operations for each column, p pairs being held out.
    """

    held_out = "pairs"

    def __init__(
        self, problem: Problem, alpha: float, n_features: int, search: Search, n_threads: int
    ) -> None:
        n_rows, n_columns = len(problem.view.y), problem.data.X.shape[1]
        _check(problem, search, n_rows)
        check_room(16.0 * n_rows * n_columns, f"dense copies of {n_rows:,} rows and {n_columns:,} columns")
        self._threads = n_threads
        self._rows = CentredRows(
            as_dense(require_memory(problem.data.X)),
            problem.view.query_ptr,
            rows=problem.view.rows,
            transform=problem.transform,
            n_threads=n_threads,
        )
        self._first, self._second = held_out_pairs(n_rows)
        self._y = np.asarray(problem.view.y, dtype=np.float64)
        self._residual = self._rows.centre(self._y[:, None])[:, 0]
        self._leverage = np.full(n_rows, 1.0 / n_rows)
        self._shared = np.full(len(self._first), 1.0 / n_rows)
        self.shift = 0.5 * alpha * n_rows
        # What the chosen features leave of every column; one after the other, as candidates are measured.
        self._left = np.empty((n_columns, n_rows))
        for begin in range(0, n_columns, self._rows.column_width):
            end = min(begin + self._rows.column_width, n_columns)
            self._left[begin:end] = self._rows.columns(begin, end).T
        self.squares = np.array([float(column @ column) for column in self._left])
        self.right_side = np.array([float(column @ self._residual) for column in self._left])
        self._d, self._beta = self.squares + self.shift, self.right_side.copy()
        self._floor = np.maximum(self.shift, _ROUNDING * self._d)
        self._open = np.ones(n_columns, dtype=np.uint8)
        self._eliminated = np.empty((n_features, n_columns))
        self.products = np.empty((n_features, n_columns))
        self._n_chosen = 0
        self._errors = np.full(n_columns, np.inf)
        self._measure()

    @property
    def errors(self) -> Vector:
        """The mean over the pairs of half the squared error with each further column."""
        return self._errors

    def choose(self, column: int) -> None:
        """Add a column to the model."""
        k, root = self._n_chosen, float(np.sqrt(self._d[column]))
        x = np.ascontiguousarray(self._rows.columns(column, column + 1)[:, 0])
        shared = np.array([float(left @ x) for left in self._left])
        before = self._eliminated[:k]
        self.products[k] = shared + (before * before[:, column, None]).sum(axis=0)
        v, e = shared / root, self._left[column] / root
        part = float(self._beta[column]) / root
        self._eliminated[k] = v
        self._residual -= part * e
        self._leverage += e * e
        self._shared += e[self._first] * e[self._second]
        for j in range(len(v)):  # one at a time: nothing else of the size of X
            self._left[j] -= v[j] * e
        self._beta -= part * v
        self._d = np.maximum(self._d - v * v, self._floor)
        self._open[column] = 0
        self._n_chosen += 1
        self._measure()

    def _measure(self) -> None:
        pair_errors(
            self._residual,
            self._leverage,
            self._first,
            self._second,
            self._shared,
            self._left,
            self._d,
            self._beta,
            self._open,
            self._errors,
            self._threads,
        )

    def error_parts(self) -> Parts:
        """Return for each row the mean of half the squared errors of its pairs."""
        return self._by_row(0.5 * np.square(self._differences_left()), np.ones(len(self._first)))

    def metric_parts(self) -> Parts:
        """Return for each row the share of its pairs of different labels that are in wrong order."""
        wanted = self._y[self._first] - self._y[self._second]
        lead = np.sign(wanted) * (wanted - self._differences_left())
        wrong = (lead < 0.0) + 0.5 * (lead == 0.0)
        return self._by_row(np.where(wanted != 0.0, wrong, 0.0), (wanted != 0.0).astype(np.float64))

    def _differences_left(self) -> Vector:
        """Return what the held-out scores of each pair leave of the difference of its labels."""
        diagonal, residual = 1.0 - self._leverage, self._residual
        return missed_difference(
            (diagonal[self._first], diagonal[self._second]),
            -self._shared,
            (residual[self._first], residual[self._second]),
        )

    def _by_row(self, values: Vector, weight: Vector) -> Parts:
        n_rows = len(self._y)

        def sums(of_pair: Vector) -> Vector:
            first = np.bincount(self._first, of_pair, n_rows)
            return np.asarray(first + np.bincount(self._second, of_pair, n_rows))

        total = sums(weight)
        means = np.divide(sums(values * weight), total, out=np.full(n_rows, np.nan), where=total > 0.0)
        return Parts(means, total, repeated=2.0)


def held_out_pairs(n_rows: int) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Return the pairs of rows that are held out: all, or a draw in which every row is about equally often.

    Examples
    --------
    >>> [rows.tolist() for rows in held_out_pairs(3)]
    [[0, 0, 1], [1, 2, 2]]
    >>> first, second = held_out_pairs(2_000)  # of 1,999,000
    >>> len(first), int(np.bincount(np.append(first, second)).max())
    (1049000, 1049)
    """
    if n_rows * (n_rows - 1) // 2 <= MOST_PAIRS:
        first, second = np.triu_indices(n_rows, 1)
        return first.astype(np.int32), second.astype(np.int32)
    rng = np.random.default_rng(_SEED)
    half = n_rows // 2
    rounds = [rng.permutation(n_rows).astype(np.int32) for _ in range(-(-MOST_PAIRS // half))]
    return (
        np.concatenate([rows[:half] for rows in rounds]),
        np.concatenate([rows[half : 2 * half] for rows in rounds]),
    )


def _check(problem: Problem, search: Search, n_rows: int) -> None:
    view = problem.view
    if view.sample_weight is not None or view.query_weight is not None:
        raise MarginRankError.saying(
            "Features of one ranking are chosen by leave-pair-out, which has no weights of rows.",
            "Leave out {sample_weight} and {query_weight}, or name the queries ({qid}).",
        )
    if search.parsed.name != "pairwise_error":
        raise MarginRankError.saying(
            "One ranking holds out pairs of rows, which only the pairwise error can measure; got "
            "{metric=!r}.",
            "Use {metric='pairwise_error'}, or name the queries ({qid}).",
            metric=str(search.parsed),
        )
    if n_rows < _LEAST_ROWS:
        raise MarginRankError(f"Leave-pair-out needs at least three rows; got {n_rows}.")
