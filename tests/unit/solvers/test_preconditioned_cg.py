"""Preconditioned conjugate gradients against dense solves, and their bounds against the optimum."""

import numpy as np
import pytest
from test_shifted_cg import DenseEquations

from marginrank.solvers import PreconditionedCG, ShiftedCG

ALPHA = 1e-2


def stretched(seed=0, n=12, n_targets=1):
    """Return a system whose columns have very different sizes."""
    equations = DenseEquations(seed, n=n, n_targets=n_targets, n_carried=0, rank=4 * n)
    sizes = np.geomspace(1.0, 100.0, n)
    equations.H = equations.H * sizes[:, None] * sizes
    equations.right_side = equations.right_side * sizes
    # The risk of a system must not go below 0.
    solutions = np.linalg.solve(equations.H, equations.right_side.T).T
    equations.constant = 0.5 * np.sum(equations.right_side * solutions, axis=1) + 1.0
    return equations


def solver(equations, *, tol=1e-24, diagonal=True):
    by = np.diag(equations.H) + ALPHA if diagonal else None
    return PreconditionedCG(equations, ALPHA, by, tol=tol, max_iter=200)


@pytest.mark.parametrize("n_targets", [1, 3])
def test_the_iterate_becomes_the_dense_solution(n_targets):
    equations = stretched(n_targets=n_targets)
    cg = solver(equations)
    assert cg.run(lambda _: None) == "converged"
    np.testing.assert_allclose(cg.w[0], equations.solution(ALPHA), rtol=1e-7, atol=1e-9)


@pytest.mark.parametrize("diagonal", [False, True])
def test_bounds_enclose_the_optimum_at_every_iteration(diagonal):
    equations = stretched(n_targets=2)
    optimum = equations.value(equations.solution(ALPHA), ALPHA)

    def check(cg):
        assert cg.bounds[0] <= optimum * (1 + 1e-9)
        assert cg.values[0] == pytest.approx(equations.value(cg.w[0], ALPHA), rel=1e-9)

    cg = solver(equations, diagonal=diagonal)
    cg.run(check)
    assert cg.bounds[0] == pytest.approx(optimum, rel=1e-9)


def test_the_bound_is_what_the_point_that_is_kept_proves():
    equations = stretched()
    system = equations.H + ALPHA * np.eye(12)

    def check(cg):
        residual = equations.right_side - cg.low[0] @ system
        proved = equations.value(cg.low[0], ALPHA) - np.sum(residual**2) / (2 * ALPHA)
        assert cg.bounds[0] == pytest.approx(max(proved, 0.0), rel=1e-6, abs=1e-7)

    solver(equations, tol=1e-9).run(check)


def test_without_a_diagonal_bounds_are_those_of_quadrature():
    seen = []
    solver(stretched(), tol=1e-6, diagonal=False).run(lambda cg: seen.append((cg.values[0], cg.bounds[0])))
    quadrature = []
    shifted = ShiftedCG(stretched(), np.array([ALPHA]), tol=1e-6, max_iter=200)
    shifted.run(lambda cg: quadrature.append((cg.values[0], cg.bounds[0])))
    some = min(len(seen), len(quadrature), 12)
    assert some > 5
    np.testing.assert_allclose(seen[:some], quadrature[:some], rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize("diagonal", [False, True])
def test_a_run_ends_when_its_gap_is_closed_and_not_before(diagonal):
    equations = stretched(n=60)
    size = squared_size(equations, equations.right_side, diagonal)
    seen = []

    def note(cg):
        residual = equations.right_side - cg.w[0] @ (equations.H + ALPHA * np.eye(60))
        part = squared_size(equations, residual, diagonal) / size
        seen.append(bool(cg.values[0] - cg.bounds[0] <= 1e-3 * cg.values[0] and part <= 1e-3))

    cg = solver(equations, tol=1e-3, diagonal=diagonal)
    assert cg.run(note) == "converged"
    assert seen == [False] * cg.iteration + [True]


def squared_size(equations, vector, diagonal):
    """Return the squared norm of a vector in the units of the diagonal."""
    by = np.diag(equations.H) + ALPHA if diagonal else 1.0
    return float(np.sum(vector**2 / by))


def test_a_diagonal_takes_fewer_iterations_where_columns_differ_in_size():
    counts = []
    for diagonal in (True, False):
        cg = solver(stretched(n=60), tol=1e-3, diagonal=diagonal)
        cg.run(lambda _: None)
        counts.append(cg.iteration)
    assert counts[0] < 0.5 * counts[1]


def test_a_run_goes_on_after_a_correction_and_after_a_restart():
    equations = stretched()
    cg = solver(equations, tol=1e-2)
    cg.run(lambda _: None)
    before = cg.iteration
    cg.correct(float(cg.values[0]) * 1e-3)  # as if the value had been rounding
    cg.run(lambda _: None)
    assert cg.iteration > before
    cg.restart()
    assert cg.run(lambda _: None) == "converged"
    assert cg.values[0] - cg.bounds[0] <= 1e-2 * cg.values[0]


def test_a_right_side_of_zero_is_solved_by_zero():
    equations = stretched(n_targets=2)
    equations.right_side[0] = 0.0
    cg = solver(equations)
    assert cg.run(lambda _: None) == "converged"
    assert not cg.w[0, 0].any()
    np.testing.assert_allclose(cg.w[0, 1], equations.solution(ALPHA)[1], rtol=1e-7)
