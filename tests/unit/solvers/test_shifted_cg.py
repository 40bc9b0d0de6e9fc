"""Shifted conjugate gradients against dense solves."""

import numpy as np
import pytest

from marginrank.solvers import ShiftedCG

ALPHAS = np.array([1e-1, 1e2, 1e-4, 1.0])


class DenseEquations:
    """A symmetric matrix written out, with rows that go along."""

    def __init__(self, seed=0, n=12, n_targets=1, n_carried=5, rank=None):
        rng = np.random.default_rng(seed)
        factor = rng.standard_normal((rank or n, n)) * np.geomspace(1.0, 0.1, n)
        self.H = factor.T @ factor
        self.right_side = rng.standard_normal((n_targets, n)) @ self.H
        self.constant = np.full(n_targets, 50.0)
        self.n_carried = n_carried
        self.rows = rng.standard_normal((n_carried, n))
        self.n_products = 0

    def product(self, vectors):
        self.n_products += 1
        return vectors @ self.H

    def carried(self, vectors):
        return vectors @ self.rows.T

    def solution(self, alpha):
        return np.linalg.solve(self.H + alpha * np.eye(len(self.H)), self.right_side.T).T

    def value(self, w, alpha):
        quadratic = 0.5 * np.sum(w @ self.H * w) + 0.5 * alpha * np.sum(w * w)
        return self.constant.sum() - np.sum(self.right_side * w) + quadratic


# tol is a gap, which goes with the squares of the errors of w: 1e-24 is a dozen digits.


def run(equations, alphas=ALPHAS, tol=1e-24, max_iter=200, observe=lambda cg: None):
    cg = ShiftedCG(equations, alphas, tol=tol, max_iter=max_iter)
    return cg, cg.run(observe)


@pytest.mark.parametrize("n_targets", [1, 3])
def test_every_alpha_equals_its_own_dense_solution(n_targets):
    equations = DenseEquations(n_targets=n_targets)
    cg, status = run(equations)
    assert status == "converged"
    for k, alpha in enumerate(ALPHAS):
        np.testing.assert_allclose(cg.w[k], equations.solution(alpha), rtol=1e-8, atol=1e-9)


def test_one_product_per_iteration_serves_all_alphas():
    equations = DenseEquations()
    cg, _ = run(equations)
    assert equations.n_products == cg.iteration
    alone = ShiftedCG(DenseEquations(), np.array([ALPHAS.min()]), tol=1e-24, max_iter=200)
    alone.run(lambda _: None)
    assert alone.iteration == cg.iteration


def test_a_grid_goes_through_the_same_iterates_as_each_alpha_alone():
    for k, alpha in enumerate(ALPHAS):
        grid, _ = run(DenseEquations(), tol=1e-9, max_iter=4)
        alone, _ = run(DenseEquations(), np.array([alpha]), tol=1e-9, max_iter=4)
        np.testing.assert_allclose(grid.w[k], alone.w[0], rtol=1e-9)


def test_what_goes_along_is_the_product_with_the_iterates():
    equations = DenseEquations(n_targets=2)
    cg, _ = run(equations, tol=1e-3)
    for k in range(len(ALPHAS)):
        np.testing.assert_allclose(cg.carried[k], cg.w[k] @ equations.rows.T, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("rank", [None, 4])
def test_bounds_enclose_the_optimum_at_every_iteration_and_close_on_it(rank):
    equations = DenseEquations(n_targets=2, rank=rank)
    optimum = np.array([equations.value(equations.solution(a), a) for a in ALPHAS])

    def check(cg):
        assert (cg.bounds <= optimum + 1e-9 * np.abs(optimum)).all()
        exact = [equations.value(w, a) for w, a in zip(cg.w, ALPHAS, strict=True)]
        np.testing.assert_allclose(cg.values, exact, rtol=1e-9)

    cg, _ = run(equations, observe=check)
    np.testing.assert_allclose(cg.bounds, optimum, rtol=1e-9)


def test_the_bound_is_never_worse_than_that_of_the_gradient_alone_and_mostly_far_better():
    equations = DenseEquations(n=60, seed=3)
    # Where the risk cannot go below 0, the bound has a say from the first iterations on.
    equations.constant = 1.0 + 0.5 * np.sum(equations.right_side * equations.solution(0.0), axis=1)
    gaps = []

    def note(cg):
        gradient = equations.right_side - cg.w[0] @ (equations.H + 1e-4 * np.eye(60))
        gaps.append(((cg.values - cg.bounds)[0], np.sum(gradient**2) / 2e-4))

    run(equations, np.array([1e-4]), tol=1e-6, observe=note)
    radau, plain = np.array(gaps[20:]).T
    assert (radau > 0.0).all()
    assert (radau < 1.001 * plain).all()
    assert np.median(radau / plain) < 0.1


def test_a_system_moves_until_gap_and_residual_are_small_and_no_further():
    equations = DenseEquations()
    equations.constant = 1.0 + 0.5 * np.sum(equations.right_side * equations.solution(0.0), axis=1)
    seen = []

    def note(cg):
        residuals = [
            equations.right_side - w @ (equations.H + a * np.eye(12))
            for w, a in zip(cg.w, ALPHAS, strict=True)
        ]
        part = np.array([np.linalg.norm(r) for r in residuals]) / np.linalg.norm(equations.right_side)
        closed = (cg.values - cg.bounds <= 1e-3 * cg.values) & (part <= 1e-3)
        seen.append((closed, cg.active.copy()))

    cg, status = run(equations, tol=1e-3, observe=note)
    assert status == "converged"
    for iteration, (closed, moved) in enumerate(seen):
        assert (cg.iterations[moved & closed] == iteration).all()
        assert (cg.iterations[moved & ~closed] > iteration).all()


def test_a_large_alpha_gets_more_than_zero_though_zero_is_nearly_optimal():
    equations = DenseEquations()
    cg, _ = run(equations, np.array([1e9]), tol=1e-3)
    solution = equations.solution(1e9)
    assert np.linalg.norm(cg.w[0] - solution) < 2e-3 * np.linalg.norm(solution)


def test_zero_alpha_is_plain_least_squares():
    equations = DenseEquations()
    cg, _ = run(equations, np.array([0.0, 1e-2]), tol=1e-10)
    np.testing.assert_allclose(cg.w[0] @ equations.H, equations.right_side, rtol=1e-6)
    assert cg.bounds[0] == 0.0


def test_solved_alphas_stay_where_they_are_while_others_move():
    seen = []
    run(DenseEquations(), tol=1e-6, observe=lambda cg: seen.append((cg.active.copy(), cg.w.copy())))
    large = 1  # alpha = 100 is solved first
    first = next(k for k, (active, _) in enumerate(seen) if not active[large])
    assert first < len(seen) - 1
    for _, w in seen[first:]:
        np.testing.assert_array_equal(w[large], seen[first][1][large])


def test_a_frozen_seed_does_not_stop_the_others():
    equations = DenseEquations()
    seed = int(np.argmin(ALPHAS))

    def freeze(cg):
        if cg.iteration == 2:
            cg.freeze(np.arange(len(ALPHAS)) == seed)

    cg, _ = run(equations, observe=freeze)
    np.testing.assert_allclose(cg.w[0], equations.solution(ALPHAS[0]), rtol=1e-8)
    early, _ = run(DenseEquations(), max_iter=2)
    np.testing.assert_array_equal(cg.w[seed], early.w[seed])


def test_a_right_side_of_zero_is_solved_by_zero():
    equations = DenseEquations(n_targets=2)
    equations.right_side[0] = 0.0
    cg, status = run(equations)
    assert status == "converged"
    assert not cg.w[:, 0].any()
    np.testing.assert_allclose(cg.w[0, 1], equations.solution(ALPHAS[0])[1], rtol=1e-8)


def test_interrupt_and_stop_keep_the_iterate():
    def interrupt(cg):
        if cg.iteration == 3:
            raise KeyboardInterrupt

    cg, status = run(DenseEquations(), observe=interrupt)
    assert (status, cg.iteration) == ("interrupted", 3)
    assert cg.w.any()
    _, status = run(DenseEquations(), observe=lambda cg: cg.iteration == 1)
    assert status == "stopped"


@pytest.mark.parametrize("max_iter", [1, 2, 4])
def test_the_bound_is_that_of_the_residual_at_the_mean_of_the_iterates(max_iter):
    equations = DenseEquations()
    cg, _ = run(equations, max_iter=max_iter)
    for k, alpha in enumerate(ALPHAS):
        low = cg.low[k]
        residual = equations.right_side - low @ equations.H - alpha * low
        at_mean = equations.value(low, alpha) - np.sum(residual**2) / (2.0 * alpha)
        # Differences of values of 50 are right to a dozen digits.
        assert cg.values[k] - at_mean == pytest.approx(cg._errors[k], rel=1e-6, abs=1e-10)


def test_a_right_side_that_is_lost_in_its_square_is_refused():
    equations = DenseEquations()
    equations.right_side *= 1e-200
    with pytest.raises(FloatingPointError, match="squares to 0"):
        run(equations)
