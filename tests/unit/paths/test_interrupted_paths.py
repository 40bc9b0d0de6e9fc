"""Ctrl-C at every product and step of a path: its certified part so far, or nothing but the interrupt."""

import sys
import warnings
from itertools import count

import numpy as np
import pytest

from marginrank.paths import rank_path, rank_rls_path, structured_rank_path

PRODUCTS = {"scores", "adjoint", "scores_block", "adjoint_block", "fused", "fused_hvp", "impatient"}
EPS = 0.05
rng = np.random.default_rng(0)
X = rng.standard_normal((48, 3))
Y = np.digitize(X[:, 0] - X[:, 1] + rng.standard_normal(48), [-1.0, 1.0]).astype(float)
INTERVAL = {"qid": np.arange(48) // 8, "alpha_max": 1.0, "alpha_min": 0.05, "eps": EPS, "n_jobs": 1}
PATHS = {
    "hinge": lambda **more: rank_path(X, Y, **INTERVAL, **more),
    "squared hinge, scaled": lambda **more: rank_path(
        X, Y, loss="squared_hinge", scale="standard", **INTERVAL, **more
    ),
    "structured": lambda **more: structured_rank_path(X, Y, target="ndcg", **INTERVAL, **more),
    "least squares": lambda **more: rank_rls_path(X, Y, solver="certified", **INTERVAL, **more),
}


def impatient(progress):
    """A callback, whose calls count as products do."""


def interrupted_at(n, compute):
    """Return a path that was interrupted at a product or callback, or None; and whether it came to that."""
    left = n

    def heard(frame, event, argument):
        nonlocal left
        if event == "call" and frame.f_code.co_name in PRODUCTS:
            left -= 1
            if left == 0:
                sys.setprofile(None)
                raise KeyboardInterrupt

    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="The path was interrupted")
        sys.setprofile(heard)
        try:
            path = compute(callbacks=impatient)
        except KeyboardInterrupt:
            path = None
        finally:
            sys.setprofile(None)
    return path, left <= 0


@pytest.mark.parametrize("name", PATHS)
def test_an_interrupt_leaves_the_certified_part_of_a_path(name):
    whole = PATHS[name]()
    ends = []
    for n in count(1):
        path, happened = interrupted_at(n, PATHS[name])
        if not happened:
            break
        ends.append(np.inf if path is None else path.alpha_min_)
        if path is not None:
            assert path.status_ == "interrupted"
            for alpha in np.geomspace(1.0, path.alpha_min_, 7):
                assert 0.0 <= path.gap_at(alpha) <= EPS
                np.testing.assert_array_equal(path.coef_at(path.alphas[0]), whole.coef_at(whole.alphas[0]))
    assert np.isinf(ends[0])
    assert np.isfinite(ends[-1])
    assert ends == sorted(ends, reverse=True), "A part of the path that was there got lost."
