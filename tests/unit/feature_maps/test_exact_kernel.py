"""With all rows as landmarks, training over Nystroem features is the exact kernel machine."""

import numpy as np
import pytest

from brute_force import view_of
from kernel_oracle import kernel_values, solve_kernel_ranking
from marginrank.designs import mapped_design
from marginrank.feature_maps import NystroemFeatures
from marginrank.losses import SquaredHingeLoss
from marginrank.solvers import TruncatedNewton
from marginrank.solvers.objective import Objective

SIZES = [9, 7, 1, 8, 6]
GAMMA = 0.3


def problem(seed):
    rng = np.random.default_rng(seed)
    X = rng.random((sum(SIZES), 3))
    utility = np.sin(5 * X[:, 0]) + X[:, 1] * X[:, 2] + 0.2 * rng.normal(size=len(X))
    return X, rng.random((10, 3)), view_of(SIZES, np.digitize(utility, [0.0, 0.7]))


def train(mapping, X, view, alpha, store):
    loss = SquaredHingeLoss(view, weighting="pairs", n_threads=1)
    design = mapped_design(mapping.block_map(), X, n_threads=1, store=store)
    return TruncatedNewton(tol=1e-12).minimize(Objective(design, loss, alpha))


@pytest.mark.parametrize("kernel", ["rbf", "laplacian", "polynomial", "cosine", "chi2"])
@pytest.mark.parametrize("alpha", [1e-1, 1e-3])
def test_scores_agree_with_the_dual_of_the_kernel_problem(kernel, alpha):
    X, new, view = problem(0)
    coefficients, objective = solve_kernel_ranking(
        kernel_values(kernel, X, X, GAMMA), view.y, view.query_ptr, alpha
    )
    mapping = NystroemFeatures(kernel, gamma=GAMMA, n_components=len(X), dtype="float64").fit(X)
    result = train(mapping, X, view, alpha, "memory")
    assert result.value == pytest.approx(objective, rel=1e-8)
    for rows in (X, new):
        want = kernel_values(kernel, rows, X, GAMMA) @ coefficients
        # A constant moves all scores alike and is free: the dual and the features need not agree on it, but
        # here they do, because both have the least norm.
        np.testing.assert_allclose(mapping.transform(rows) @ result.w, want, atol=1e-5)


def test_recomputed_features_reach_the_same_optimum():
    X, _, view = problem(1)
    mapping = NystroemFeatures(gamma=GAMMA, n_components=len(X), dtype="float64").fit(X)
    stored, recomputed = (train(mapping, X, view, 1e-2, store) for store in ("memory", "recompute"))
    assert recomputed.value == pytest.approx(stored.value, rel=1e-10)
    np.testing.assert_allclose(
        mapping.transform(X) @ recomputed.w, mapping.transform(X) @ stored.w, atol=1e-5
    )


def test_fewer_landmarks_cannot_do_better():
    X, _, view = problem(2)
    K = kernel_values("rbf", X, X, GAMMA)
    _, best = solve_kernel_ranking(K, view.y, view.query_ptr, 1e-3)
    values = []
    for n_components in (3, 12, 31):
        mapping = NystroemFeatures(gamma=GAMMA, n_components=n_components, dtype="float64", random_state=0)
        values.append(train(mapping.fit(X), X, view, 1e-3, "memory").value)
    assert values[0] > values[1] > values[2] - 1e-12
    assert values[2] == pytest.approx(best, rel=1e-8)
    assert values[0] > 1.01 * best
