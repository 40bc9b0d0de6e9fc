"""The choice of alpha by leave-pair-out: every pair of one ranking, by the model without its rows."""

from __future__ import annotations

import numpy as np

from marginrank.data.matrices import in_memory
from marginrank.exceptions import MarginRankError
from marginrank.solvers.leave_pair_out import PairsOut
from marginrank.training.direct import LeaveQueryOut
from marginrank.training.problems import Problem
from marginrank.training.selection import Search
from marginrank.types import Array, Vector

_LEAST_ROWS, _MOST_ROWS = 3, 20_000


class LeavePairOut(LeaveQueryOut):
    """Take the alpha whose models, each fitted without two rows, order these two best.

    The figure is the mean over all pairs of different labels. Its parts are rows: of each the share of its
    pairs that are in wrong order. Two rows make a pair, so deviations of the parts count twice, which makes
    their standard error that of the area under the curve by DeLong, DeLong and Clarke-Pearson (1988).
    """

    def _prepare(self) -> None:
        problem = self._direct.problem
        targets = problem.target_rows
        self._labels = np.atleast_2d(problem.view.y if targets is None else targets)
        counts = np.array([_pairs_by_row(y) for y in self._labels], dtype=np.float64)
        totals = counts.sum(axis=1, keepdims=True)
        # Every target that has pairs has the same say.
        self._share = np.divide(counts, totals, out=np.zeros_like(counts), where=totals > 0.0).ravel()
        self._weight, self._counts = self._share, counts
        self._pairs_out = PairsOut(self._direct.path)

    def _measure(self, alphas: Vector) -> None:
        for alpha in alphas:
            self._by_alpha.append(self._wrong_shares(float(alpha)))

    def _wrong_shares(self, alpha: float) -> Vector:
        """Return the parts at an alpha, stretched about their mean; NaN for rows without pairs."""
        wrong = np.zeros_like(self._counts)
        offset = self._direct.problem.offset_rows
        for rows, lead in self._pairs_out.differences(alpha):
            for k, y in enumerate(self._labels):
                ahead = lead[k] if offset is None else lead[k] + offset[rows, None] - offset
                wrong[k, rows] = _wrong(ahead, np.sign(y[rows, None] - y))
        shares = np.divide(wrong, self._counts, out=np.full_like(wrong, np.nan), where=self._counts > 0.0)
        shares = shares.ravel()
        counted = ~np.isnan(shares)
        if not counted.any():
            return shares
        mean = float(np.average(shares[counted], weights=self._share[counted]))
        return np.asarray(mean + 2.0 * (shares - mean))


def _wrong(ahead: Array, wanted: Array) -> Vector:
    """Return for each row how many of its pairs are in wrong order; equal scores count half."""
    order = np.sign(ahead) * wanted
    return np.asarray(((order < 0.0) + 0.5 * ((order == 0.0) & (wanted != 0.0))).sum(axis=1))


def _pairs_by_row(y: Vector) -> Vector:
    """Return for each row how many others have another label."""
    _, place, counts = np.unique(y, return_inverse=True, return_counts=True)
    return np.asarray(len(y) - counts[place])


def check_leave_pair_out(problem: Problem, search: Search) -> None:
    """Refuse data and metrics that leave-pair-out is not for."""
    if problem.from_pairs or problem.n_queries > 1:
        what = "explicit pairs" if problem.from_pairs else f"{problem.n_queries:,} queries"
        raise MarginRankError.saying(
            "{cv='leave_pair_out'} is for one ranking of all rows, and these data have {what!s}.",
            "Use {cv=5}." if problem.from_pairs else "Use {cv=None}, which leaves out one query at a time.",
            what=what,
        )
    if not in_memory(problem.data.X):
        raise MarginRankError.saying(
            "{cv='leave_pair_out'} needs the rows in memory, and these are not.", "Use {cv=5}."
        )
    view = problem.view
    if view.sample_weight is not None or view.query_weight is not None:
        raise MarginRankError.saying(
            "{cv='leave_pair_out'} has no weights of rows.",
            "Leave out {sample_weight} and {query_weight}, or use {cv=5}.",
        )
    if search.parsed.name != "pairwise_error":
        raise MarginRankError.saying(
            "{cv='leave_pair_out'} measures pairs, so {metric} must be the pairwise error; got {given!r}.",
            "Use {metric='pairwise_error'}, which is 1 - AUC for two labels, or {cv=5}.",
            given=str(search.parsed),
        )
    n_rows = len(view.y)
    if not _LEAST_ROWS <= n_rows <= _MOST_ROWS:
        raise MarginRankError.saying(
            "{cv='leave_pair_out'} looks at all pairs of {least:d} to {most:,d} rows; got {n_rows:,d}.",
            "Use {cv=5}.",
            least=_LEAST_ROWS,
            most=_MOST_ROWS,
            n_rows=n_rows,
        )
