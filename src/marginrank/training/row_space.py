"""Fits in the space of the rows, where these are far fewer than the columns.

The optimum of ``R(X w) + alpha/2 ||w||^2`` is a combination of the m rows, ``w = X' c``. With a factor of the
Gram matrix ``X X' = L L'`` and ``z = L' c`` the scores are ``L z`` and the penalty ``alpha/2 ||z||^2``: the
same problem with m columns, whose vectors are short and whose products take ``m^2`` multiplications. Products
with the factor count as those with X, in whose place they are: those with sparse rows may well be cheaper.

What is claimed of the model is claimed of the problem as it was given. The factor is rounded, and a little is
added to the diagonal so that it exists; none of that enters the certificate: ``w = X' c`` is evaluated as any
coefficients are, and the lower bound comes from planes of the loss, which hold for all scores
(:mod:`marginrank.solvers.score_planes`). Their mixture is one plane more for the solver of the given problem,
which has nothing left to do mostly.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import LinAlgError, cholesky, solve_triangular

from marginrank.cached import cached_property
from marginrank.data.matrices import as_dense, in_memory, is_sparse
from marginrank.designs import ColumnTransform, Design, MatrixDesign
from marginrank.designs.columns import shifted_rows
from marginrank.solvers import Callback, CuttingPlanes, Progress, Solver, SolverResult
from marginrank.solvers.certificate import CertifiedSolver, relative_gap
from marginrank.solvers.objective import Objective
from marginrank.solvers.score_planes import ScorePlanes
from marginrank.training.problems import Problem, RawColumns
from marginrank.types import MemoryMatrix, Vector

#: Fewer columns for each row gain nothing that would pay for the factor.
COLUMNS_A_ROW = 4
_MOST_ROWS = 4096  # 128 MB for the factor
# Nanoseconds: an iteration of a solver for each column, the product of two stored entries and of two dense
# ones, the factor for the cube of each row, and what two runs take more than one.
_ITERATION, _SPARSE_TERM, _DENSE_TERM, _FACTOR, _FIXED = 60.0, 1.5, 0.06, 0.01, 2e6
# Iterations: 2 to 166 on text of 200 to 1,000 rows, for a balance of .6 to 65,000 times alpha.
_ITERATIONS, _GROWTH = 3.5, 1.0 / 3.0
# The factor shall cost at most this part of what the iterations would.
_PART = 0.5
# Passes: one read of X for the factor, and a gradient that tells whether it pays.
_PREPARING = 1.5
# Added to the diagonal, in parts of its mean, so that equal rows have a factor.
_ADDED = (1e-11, 1e-8)
# The solver of the given problem shall find the gap below tol, with rounding that is not the factor's.
_TOL_PART = 0.95


@dataclass(eq=False)
class RowSpace:
    """Coordinates in the space of the rows.

    Parameters
    ----------
    factor : ndarray of shape (n_rows, n_rows)
        Lower triangle L of ``X X' = L L'``.
    design : Design
        The rows as they were given.
    """

    factor: NDArray[np.float64]
    design: Design
    _memories: list[Any] = field(default_factory=list)

    @cached_property
    def _rows(self) -> MatrixDesign:
        return MatrixDesign(self.factor, n_threads=1)

    def coefficients(self, z: Vector) -> Vector:
        """Return ``w = X' c`` of the coordinates ``z = L' c``."""
        c = solve_triangular(self.factor, z, lower=True, trans="T", check_finite=False)
        return self.design.adjoint(np.asarray(c, dtype=np.float64))

    def minimize(
        self,
        solver: CertifiedSolver,
        objective: Objective,
        callback: Callback | None,
        planes: CuttingPlanes,
        memories: list[Any],
    ) -> SolverResult:
        """Minimise in these coordinates; then prove, and improve if need be, the problem as it was given.

        Parameters
        ----------
        solver : CertifiedSolver
            What minimises, both times.
        objective : Objective
            The problem as it was given, of a squared norm.
        callback : callable or None
            Gets the progress; coefficients are those of the given problem, figures those of the coordinates
            until the given problem is looked at again.
        planes, memories
            Of the given problem, as for every solver.
        """
        inner = Objective(self._rows, objective.loss, objective.alpha)
        found_planes = ScorePlanes(objective.alpha, inner.n_features)
        objective.passes += _PREPARING

        called = None if callback is None else self._translated(callback, objective)
        first = replace(solver, tol=_TOL_PART * solver.tol)
        found = first.minimize(inner, None, called, found_planes, self._memories)
        objective.passes += inner.passes
        w = self._coefficients_counted(found.w, objective)
        plane = found_planes.mixture()
        if plane is not None and w.any():
            planes.cut_scores(objective, plane)
        goes_on = found.status in ("converged", "stalled")
        last = replace(solver, max_iter=max(solver.max_iter - found.n_iter, 0) if goes_on else 0)
        proved = last.minimize(objective, w, _numbered(callback, found.n_iter), planes, memories)
        return _joined(found, proved)

    def _translated(self, callback: Callback, objective: Objective) -> Callback:
        """Return a callback that hands another one the coefficients of the given problem."""

        def translated(progress: Progress) -> bool | None:
            assert progress.w is not None
            passes = objective.passes + progress.passes
            return callback(replace(progress, w=self.coefficients(progress.w), passes=passes))

        return translated

    def _coefficients_counted(self, z: Vector, objective: Objective) -> Vector:
        objective.passes += 0.5
        return self.coefficients(z)


def _numbered(callback: Callback | None, before: int) -> Callback | None:
    """Return a callback for iterations that come after others; it was called for the start already."""
    if callback is None:
        return None

    def numbered(progress: Progress) -> bool | None:
        if progress.iteration == 0:
            return False
        return callback(replace(progress, iteration=progress.iteration + before))

    return numbered


def _joined(found: SolverResult, proved: SolverResult) -> SolverResult:
    """Return the result of the given problem with the history of both.

    What was said in other coordinates is not claimed beyond what was proved in the end.
    """
    seconds = found.history[-1].seconds
    before = []
    for step in found.history[:-1]:
        value, bound = max(step.value, proved.history[0].value), min(step.bound, proved.bound)
        gap = relative_gap(value, bound)
        before.append(replace(step, value=value, bound=bound, gap=gap, passes=_PREPARING + step.passes))
    after = [
        replace(step, iteration=step.iteration + found.n_iter, seconds=step.seconds + seconds)
        for step in proved.history
    ]
    status = proved.status
    if status != "converged" and found.status not in ("converged", "stalled"):
        status = found.status
    return replace(proved, n_iter=found.n_iter + proved.n_iter, status=status, history=(*before, *after))


def row_space(problem: Problem, solver: Solver, alpha: float) -> RowSpace | None:
    """Return the space of the rows of a problem, where a fit at this alpha is cheaper there; else None.

    It is asked of problems with ``COLUMNS_A_ROW`` columns for each row at least.
    """
    space, n_rows = problem.space, problem.loss.n_rows
    if not (
        problem.settings.is_plain and isinstance(space, RawColumns) and isinstance(solver, CertifiedSolver)
    ):
        return None
    X = space.X
    if not in_memory(X) or n_rows > _MOST_ROWS:
        return None
    rows = X if problem.rows is None else X[problem.rows]
    with np.errstate(all="ignore"):  # what leaves float64 has no factor, and is reported by the usual fit
        slope = problem.design.adjoint(problem.loss.at(np.zeros(n_rows)).gradient)
        if not _pays(rows, float(slope @ slope) / alpha):
            return None
        factor = _factor(_scaled(rows, problem.transform))
    return None if factor is None else RowSpace(factor, problem.design)


def _pays(rows: MemoryMatrix, balance: float) -> bool:
    """Whether the factor costs less than what it saves, for a balance of so many times alpha."""
    n_rows, n_columns = rows.shape
    if not np.isfinite(balance):
        return False
    iterations = _ITERATIONS * max(balance, 1.0) ** _GROWTH
    if is_sparse(rows):
        terms = np.bincount(rows.indices, minlength=n_columns).astype(np.float64)
        gram = _SPARSE_TERM * float(terms @ terms)
    else:
        gram = _DENSE_TERM * n_rows**2 * n_columns
    work = gram + _FACTOR * n_rows**3 + _FIXED
    return bool(work <= _PART * iterations * _ITERATION * n_columns)


def _scaled(rows: MemoryMatrix, transform: ColumnTransform) -> MemoryMatrix:
    """Return rows as the design stands for them, in float64."""
    moved = shifted_rows(rows, transform.shift).astype(np.float64)
    if transform.is_within_products:
        return moved
    factor = transform.raw(np.ones(rows.shape[1]))
    if is_sparse(moved):
        moved.data *= factor[moved.indices]
        return moved
    return np.asarray(moved * factor)


def _factor(rows: MemoryMatrix) -> NDArray[np.float64] | None:
    """Return L of ``X X' = L L'``; None where rounding leaves none."""
    product = cast(Any, rows) @ cast(Any, rows).T
    gram: NDArray[np.float64] = as_dense(product)
    diagonal = gram.diagonal().copy()
    if not (np.isfinite(gram).all() and diagonal.any()):
        return None
    for added in _ADDED:
        gram[np.diag_indices_from(gram)] = diagonal + added * diagonal.mean()
        try:
            return np.ascontiguousarray(cholesky(gram, lower=True, check_finite=False))
        except LinAlgError:
            continue
    return None
