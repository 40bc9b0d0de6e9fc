import numpy as np
import pytest
from pairwise_problem import random_problem

from marginrank.exceptions import IncompatibleSolverError
from marginrank.solvers import TruncatedNewton
from marginrank.solvers.newton import newton_direction
from marginrank.solvers.quadratic_forms import form_of


def test_a_loss_without_hessian_is_refused_in_one_sentence():
    with pytest.raises(IncompatibleSolverError) as caught:
        TruncatedNewton().minimize(random_problem(power=1))
    assert str(caught.value) == (
        "Newton needs a Hessian product, which 'hinge' does not offer. "
        "Use solver='bundle', or loss='squared_hinge'."
    )


def test_an_objective_without_a_name_is_refused_too():
    problem = random_problem(power=1)
    del problem.name
    with pytest.raises(IncompatibleSolverError, match="'this loss' does not offer"):
        TruncatedNewton().minimize(problem)


def test_the_direction_lowers_the_quadratic_model_as_much_as_the_best_multiple_of_the_gradient():
    problem = random_problem(power=2)
    point = problem.at(np.zeros(8))
    gradient = point.risk_gradient
    direction = newton_direction(point, gradient, form_of(problem.curvature(), problem.alpha))

    def model(d):
        return gradient @ d + 0.5 * d @ point.hvp(d)

    best_multiple = -(gradient @ gradient) / (gradient @ point.hvp(gradient)) * gradient
    assert model(direction) < model(best_multiple) < 0.0


def test_converges_in_few_steps_near_the_optimum():
    problem = random_problem(power=2, alpha=1e-2)
    near = TruncatedNewton(tol=1e-3).minimize(problem)
    assert TruncatedNewton(tol=1e-9).minimize(problem, near.w).n_iter <= 8
