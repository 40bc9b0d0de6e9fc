"""What the certified path reads of X, and what saves reads."""

import numpy as np
import pytest

from marginrank.designs import MatrixDesign
from marginrank.paths import rank_path
from marginrank.solvers.knot_spacing import knots_between
from marginrank.solvers.tracing import PathTracer


@pytest.fixture(scope="module")
def ranking():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(600, 40))
    return X, np.round(X @ rng.normal(size=40) + 3.0 * rng.normal(size=600))


def trace(ranking):
    path = rank_path(*ranking, alpha_max=1.0, alpha_min=1e-4, eps=1e-3)
    assert path.status_ == "finished"
    return path


def test_passes_are_half_the_reads_and_no_block_needs_two(ranking, monkeypatch):
    reads = []
    for name in ("scores", "adjoint", "scores_block", "adjoint_block"):
        product = getattr(MatrixDesign, name)

        def counted(self, given, product=product):
            reads.append(1 if given.ndim == 1 else len(given))
            return product(self, given)

        monkeypatch.setattr(MatrixDesign, name, counted)
    path = trace(ranking)
    assert path.n_passes_ == 0.5 * len(reads)
    assert max(reads) == 8


def test_where_no_plane_waits_for_a_start_more_of_its_own_come_with_it(ranking, monkeypatch):
    look, cut, waiting, taken = PathTracer._open_points, PathTracer._cut, [], []

    def noted(self, lower, upper):
        points = look(self, lower, upper)
        waiting.append(len(points))
        return points

    def counted(self, points, start=None):
        if start is not None:
            taken.append(len(points))
        cut(self, points, start)

    monkeypatch.setattr(PathTracer, "_open_points", noted)
    monkeypatch.setattr(PathTracer, "_cut", counted)
    trace(ranking)
    assert taken == [4 if not points else 7 for points in [0, *waiting]]
    assert set(taken) == {4, 7}


def test_planes_between_knots_come_with_the_next_start(ranking, monkeypatch):
    together = trace(ranking)
    monkeypatch.setattr(PathTracer, "_open_points", lambda self, lower, upper: [])
    apart = trace(ranking)
    assert together.n_cuts_ < 0.5 * apart.n_cuts_
    assert together.n_passes_ < apart.n_passes_


def test_a_solution_between_knots_starts_from_the_plane_that_did_not_suffice(ranking, monkeypatch):
    known = []
    solve = PathTracer._solve

    def noted(self, alpha, start):
        before = self.passes
        knot = solve(self, alpha, start)
        if start is not None:
            known.append(start._risk_gradient is not None)
            assert self.passes - before == int(self.passes - before)  # whole steps, no gradient of the start
        return knot

    monkeypatch.setattr(PathTracer, "_solve", noted)
    path = trace(ranking)
    assert len(known) == path.n_solutions_ - 1
    assert all(known)


@pytest.mark.parametrize("even", [False, True])
def test_knots_reach_both_ends_exactly_and_steps_do_not_grow(even):
    alphas = knots_between(0.3, 7e-7, 11, even=even)
    assert (alphas[0], alphas[-1], len(alphas)) == (0.3, 7e-7, 12)
    ratios = alphas[:-1] / alphas[1:]
    assert np.all(ratios > 1.2)
    assert np.ptp(ratios) < 1e-9 if even else np.all(np.diff(ratios) < 0.0)


def test_an_interval_of_one_alpha_has_one_knot():
    np.testing.assert_array_equal(knots_between(0.3, 0.3, 0, even=False), [0.3])
