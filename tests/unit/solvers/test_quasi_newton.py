import numpy as np
import pytest
from pairwise_problem import random_problem

from marginrank.solvers import Bundle, QuasiNewton, TruncatedNewton


def test_needs_fewer_passes_than_the_bundle_on_many_pairs():
    def passes(solver):
        problem = random_problem(1, 1e-3, n_rows=300, n_features=10)
        assert solver.minimize(problem).status == "converged"
        return problem.passes

    assert passes(QuasiNewton()) < passes(Bundle())


def test_one_pass_per_iteration():
    problem = random_problem(2, 1e-2, n_rows=100)
    result = QuasiNewton().minimize(problem)
    assert problem.passes == pytest.approx(result.n_iter + 1.0)


def test_kinks_are_left_to_the_bundle():
    # Few pairs and hardly any regularisation: a polyhedron, on which L-BFGS alone gets stuck.
    problem = random_problem(1, 1e-7, n_rows=8, n_features=3, seed=2)
    result = QuasiNewton(tol=1e-6).minimize(problem)
    assert result.status == "converged"


def test_a_warm_start_at_the_optimum_of_a_smooth_risk_takes_no_step():
    problem = random_problem(2, 1e-2)
    optimum = TruncatedNewton(tol=1e-12).minimize(problem)
    again = QuasiNewton(tol=1e-3).minimize(problem, w0=optimum.w)
    assert again.status == "converged"
    assert again.n_iter == 0
    np.testing.assert_array_equal(again.w, optimum.w)


def test_a_warm_start_nearby_saves_passes():
    def passes(w0):
        problem = random_problem(1, 1e-3, n_rows=300, n_features=10)
        QuasiNewton(tol=1e-4).minimize(problem, w0)
        return problem.passes

    nearby = QuasiNewton(tol=1e-2).minimize(random_problem(1, 1e-3, n_rows=300, n_features=10)).w
    assert passes(nearby) < passes(None)


def test_a_run_learns_from_the_way_between_the_last_one_and_its_start():
    memories = []
    last = QuasiNewton().minimize(random_problem(2, 1e-2), memories=memories)
    problem, start = random_problem(2, 3e-3), 2.0 * last.w
    QuasiNewton(max_iter=0).minimize(problem, start, memories=memories)
    gradients = [problem.at(w).risk_gradient + 3e-3 * w for w in (last.w, start)]
    np.testing.assert_allclose(memories[-1].apply(gradients[1] - gradients[0]), start - last.w, rtol=1e-9)
