import math
from types import SimpleNamespace

import numpy as np
import pytest
from pairwise_problem import random_problem

from marginrank.solvers.line_search import search


def descent(problem):
    start = problem.at(np.zeros(problem.n_features))
    gradient = start.risk_gradient + problem.alpha * start.w
    return start, -gradient, -float(gradient @ gradient)


@pytest.mark.parametrize("power", [1, 2])
@pytest.mark.parametrize("first_step", [1e-3, 1.0, 1e3])
def test_the_accepted_step_is_flat_and_lower(power, first_step):
    problem = random_problem(power)
    start, direction, slope = descent(problem)
    line = start.along(direction)
    trial = search(line, start, slope, flatness=0.3, max_trials=30, first_step=first_step)
    assert trial.point.value < start.value
    assert abs(trial.slope) <= 0.3 * abs(slope)


def test_a_good_first_trial_is_the_only_one():
    problem = random_problem(power=2)
    start, direction, slope = descent(problem)
    line = start.along(direction)
    best = search(line, start, slope, flatness=1e-3, max_trials=50)
    before = problem.n_evaluations
    search(line, start, slope, flatness=0.9, max_trials=3, first_step=best.step)
    assert problem.n_evaluations == before + 1


def test_the_best_trial_is_returned_when_trials_run_out():
    problem = random_problem()
    start, direction, slope = descent(problem)
    trial = search(start.along(direction), start, slope, flatness=0.0, max_trials=4)
    assert trial.point.value < start.value


def test_a_direction_of_ascent_finds_nothing():
    problem = random_problem()
    start, direction, slope = descent(problem)
    assert search(start.along(-direction), start, -slope, flatness=0.9, max_trials=3) is None


def test_at_the_minimum_of_a_line_nothing_is_found():
    problem = random_problem()
    start, direction, slope = descent(problem)
    line = start.along(direction)
    least = search(line, start, slope, flatness=0.0, max_trials=200).point
    assert search(least.along(direction), least, -1e-3, flatness=0.9, max_trials=3) is None


class ExplodingLine:
    """Overflows beyond a step of 1e-3, as a far too long step on raw features may."""

    def at(self, t):
        return type("Point", (), {"value": math.inf if t > 1e-3 else 1.0 - t, "t": t})()

    def slope(self, point):
        return math.nan if point.t > 1e-3 else -1.0


def test_overflow_shortens_the_step():
    start = SimpleNamespace(value=1.0, value_error=0.0)
    trial = search(ExplodingLine(), start, -1.0, flatness=2.0, max_trials=10)
    assert 0.0 < trial.step <= 1e-3


class BlurredLine:
    """``1 + 1e-20 (t - 1)^2``: rounded to 1 everywhere near 1, with slopes that tell where the minimum is."""

    def at(self, t):
        return SimpleNamespace(value=1.0, value_error=1e-15, t=t)

    def slope(self, point):
        return 2e-20 * (point.t - 1.0)


def test_where_values_cannot_tell_a_flatter_slope_is_progress():
    line = BlurredLine()
    trial = search(line, line.at(0.0), -2e-20, flatness=0.5, max_trials=3, first_step=0.1)
    assert trial is not None
    assert abs(trial.slope) <= 1e-20


class KinkedLine:
    """``1 + 0.5e-13 t`` for t > 0, behind a kink: the subgradient at 0 promises what no step keeps."""

    def at(self, t):
        return SimpleNamespace(value=1.0 + 0.5e-13 * t, value_error=1e-14, t=t)

    def slope(self, point):
        return 0.5e-13 if point.t > 0.0 else -1e-13


def test_a_step_is_not_made_so_short_that_values_cannot_tell():
    line = KinkedLine()
    assert search(line, line.at(0.0), -1e-13, flatness=0.9, max_trials=3) is None
