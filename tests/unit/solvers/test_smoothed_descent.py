"""The descent on a smoothed hinge: where it takes over, what it saves, and that it certifies the hinge."""

import numpy as np
import pytest

from marginrank import RankSVM
from marginrank.solvers import QuasiNewton, quasi_newton
from marginrank.solvers import smoothed_descent as smoothed_descent_module
from marginrank.solvers.smoothed_descent import smoothed_descent


def wide_rows(seed=0, rows=1600, columns=400, per_query=16):
    """Few pairs in each query and many columns: a descent on the hinge itself takes many short steps."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((rows, columns))
    utility = X @ rng.standard_normal(columns) / np.sqrt(columns) + rng.standard_normal(rows)
    return (
        X,
        np.digitize(utility, [-1.0, 0.0, 1.0]).astype(float),
        np.repeat(np.arange(rows // per_query), per_query),
    )


def fitted(monkeypatch, smoothed=True, seed=0, alpha=1e-3, **options):
    X, y, qid = wide_rows(seed)
    with monkeypatch.context() as patch:
        if not smoothed:
            patch.setattr(quasi_newton, "smoothed_descent", lambda *_: None)
        return RankSVM("hinge", alpha=alpha, scale=None, **options).fit(X, y, qid=qid)


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_saves_half_of_the_passes_and_finds_the_same_optimum(monkeypatch, seed):
    smooth, plain = fitted(monkeypatch, seed=seed), fitted(monkeypatch, smoothed=False, seed=seed)
    assert smooth.gap_ <= 1e-3
    assert plain.gap_ <= 1e-3
    assert smooth.history_[-1].passes <= 0.5 * plain.history_[-1].passes
    # Either bound holds for either value.
    assert max(smooth.lower_bound_, plain.lower_bound_) <= min(smooth.objective_, plain.objective_)


def test_reaches_a_small_gap(monkeypatch):
    model = fitted(monkeypatch, tol=1e-5)
    assert model.gap_ <= 1e-5
    values = [p.value for p in model.history_]
    assert values == sorted(values, reverse=True)


def test_fits_that_are_over_early_are_the_same_bits_with_and_without(monkeypatch):
    smooth = fitted(monkeypatch, alpha=1.0)
    assert smooth.n_iter_ <= quasi_newton._SLOW
    np.testing.assert_array_equal(smooth.coef_, fitted(monkeypatch, smoothed=False, alpha=1.0).coef_)


def test_the_bits_do_not_depend_on_the_threads(monkeypatch):
    one, two = fitted(monkeypatch, n_jobs=1), fitted(monkeypatch, n_jobs=2)
    assert one.n_iter_ > quasi_newton._SLOW
    np.testing.assert_array_equal(one.coef_, two.coef_)
    assert one.lower_bound_ == two.lower_bound_


def taken_over(monkeypatch, X, y, qid, alpha):
    """Return whether the smoothed descent took over, and the model."""
    found = []

    def watched(*arguments):
        found.append(smoothed_descent(*arguments))
        return found[-1]

    monkeypatch.setattr(quasi_newton, "smoothed_descent", watched)
    model = RankSVM("hinge", alpha=alpha, scale=None).fit(X, y, qid=qid)
    return found, model


def test_long_queries_are_left_to_the_descent_on_the_hinge(monkeypatch):
    X, y, _ = wide_rows()
    found, model = taken_over(monkeypatch, X, y, np.zeros(len(y)), 1e-5)
    assert found == [None]
    assert model.gap_ <= 1e-3


def test_separable_rows_are_left_to_the_descent_on_the_hinge(monkeypatch):
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((120, 100)), rng.integers(0, 3, 120).astype(float)
    # So few rows would be given to the interior-point method.
    monkeypatch.setattr("marginrank.solvers.quasi_newton.interior_pays", lambda objective, start: False)
    found, model = taken_over(monkeypatch, X, y, np.repeat(np.arange(10), 12), 1e-4)
    assert found == [None]
    assert model.gap_ <= 1e-3


def test_a_width_that_becomes_too_narrow_hands_back_to_the_descent_on_the_hinge(monkeypatch):
    X, y, qid = wide_rows()
    # Wider than the widest, so that the descent ends after its first step.
    monkeypatch.setattr(smoothed_descent_module, "_NARROWEST", 1.0)
    found, model = taken_over(monkeypatch, X, y, qid, 1e-3)
    assert found[0] is not None
    assert model.n_iter_ > quasi_newton._SLOW + 1
    assert model.gap_ <= 1e-3


def test_weights_and_pairs_of_queries_count(monkeypatch):
    X, y, qid = wide_rows(rows=800)
    weight = np.random.default_rng(1).uniform(0.2, 3.0, len(y))
    found, _ = taken_over(monkeypatch, X, y, qid, 1e-3)
    assert found[0] is not None
    weighted = RankSVM("hinge", alpha=1e-3, scale=None, weighting="queries").fit(
        X, y, qid=qid, sample_weight=weight
    )
    bundle = RankSVM("hinge", alpha=1e-3, scale=None, weighting="queries", solver="bundle", max_iter=3000)
    bundle.fit(X, y, qid=qid, sample_weight=weight)
    assert weighted.gap_ <= 1e-3
    assert weighted.lower_bound_ <= bundle.objective_
    assert bundle.lower_bound_ <= weighted.objective_


def test_the_solver_is_still_a_value():
    assert QuasiNewton(tol=1e-4) == QuasiNewton(tol=1e-4)
