"""Integrated gradients against their definition, computed slowly and by finite differences."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from marginrank import FourierFeatures, KernelRankSVM, NystroemFeatures, RankingModel
from marginrank.explanation.path_integrals import map_contributions

rng = np.random.default_rng(0)
X = rng.random((30, 4)) + 0.1
W = rng.normal(size=30)

MAPS = {
    **{
        kernel: NystroemFeatures(kernel, n_components=12, dtype="float64", random_state=0)
        for kernel in ("rbf", "laplacian", "polynomial", "cosine", "chi2")
    },
    "fourier": FourierFeatures(n_components=12, dtype="float64", random_state=0),
    "fourier laplacian": FourierFeatures("laplacian", n_components=12, dtype="float64", random_state=0),
    "fractional degree": NystroemFeatures(
        "polynomial", degree=2.5, n_components=12, dtype="float64", random_state=0
    ),
    "narrow rbf": NystroemFeatures("rbf", gamma=60.0, n_components=12, dtype="float64", random_state=0),
}


def fitted(name):
    feature_map = MAPS[name].fit(X)
    return feature_map, W[: feature_map.transform(X[:1]).shape[1]]


def by_definition(feature_map, coef, start, end, n=40_000):
    """The midpoint rule over central differences: the definition, to about 1e-5 where there are kinks."""
    middle = (np.arange(n) + 0.5) / n
    points, step = start + middle[:, None] * (end - start), 1e-6
    found = np.empty(len(start))
    for j in range(len(start)):
        shift = np.zeros(len(start))
        shift[j] = step
        slopes = feature_map.transform(points + shift) @ coef - feature_map.transform(points - shift) @ coef
        found[j] = (end - start)[j] * slopes.mean() / (2 * step)
    return found


@pytest.mark.parametrize("name", MAPS)
def test_contributions_are_the_mean_slopes_along_the_line(name):
    feature_map, coef = fitted(name)
    found = map_contributions(feature_map, coef, X[1], X[0])
    expected = by_definition(feature_map, coef, X[1], X[0])
    # Differences and, for the laplacian, kinks between the points cost digits of the slow version.
    assert_allclose(found, expected, atol=1e-4 * np.abs(expected).sum())


@pytest.mark.parametrize("name", MAPS)
def test_contributions_add_up_to_the_margin(name):
    feature_map, coef = fitted(name)
    scores = feature_map.transform(X) @ coef
    for k in range(1, 12):
        found = map_contributions(feature_map, coef, X[k], X[0])
        assert abs(found.sum() - (scores[0] - scores[k])) <= 1e-12 * np.abs(scores).sum()


@pytest.mark.parametrize("name", MAPS)
def test_columns_in_which_rows_agree_contribute_nothing(name):
    feature_map, coef = fitted(name)
    other = X[0].copy()
    other[2] += 0.25
    found = map_contributions(feature_map, coef, other, X[0])
    assert found[2] != 0
    assert_array_equal(np.delete(found, 2), 0)
    assert_array_equal(map_contributions(feature_map, coef, X[0], X[0]), 0)


def test_a_precomputed_kernel_is_linear_in_its_columns():
    K = X @ X.T
    feature_map = NystroemFeatures("precomputed", n_components=5, dtype="float64", random_state=0).fit(K)
    coef = W[: feature_map.transform(K[:1]).shape[1]]
    found = map_contributions(feature_map, coef, K[1], K[0])
    assert_allclose(found.sum(), (feature_map.transform(K[:2]) @ coef) @ [1, -1], rtol=1e-9)
    assert np.count_nonzero(found) <= 5


def test_an_input_scaling_changes_no_explanation():
    feature_map, coef = fitted("rbf")
    plain = RankingModel(coef, feature_map=feature_map).explain_pair(X[0], X[1])
    multiplier, offset = np.array([2.0, 0.5, 1e6, 1e-3]), np.array([0.0, 1.0, -1.0, 2.0])
    scaled = RankingModel(coef, feature_map=feature_map, input_scaling=(multiplier, offset))
    raw = (X - offset) / multiplier
    assert_allclose(scaled.explain_pair(raw[0], raw[1]).contributions, plain.contributions, rtol=1e-6)


def test_huge_units_are_integrated_in_their_own_unit():
    # Landmarks are drawn by what rows contain: all rows are, and they stand in another order.
    near = NystroemFeatures("rbf", gamma=1.0, n_components=30, rank=4, dtype="float64").fit(X)
    far = NystroemFeatures("rbf", gamma=2.0**-400, n_components=30, rank=4, dtype="float64")
    far.fit(X * 2.0**200)
    coef = np.ones(len(near.eigenvalues_))
    assert_allclose(
        map_contributions(far, coef, X[1] * 2.0**200, X[0] * 2.0**200),
        map_contributions(near, coef, X[1], X[0]),
        rtol=1e-8,
    )


def test_scores_that_change_too_often_are_refused_in_a_sentence():
    feature_map = NystroemFeatures("rbf", gamma=1e13, n_components=12, dtype="float64", random_state=0).fit(X)
    coef = np.ones(len(feature_map.eigenvalues_))
    with pytest.raises(ValueError, match="change too often between the two rows"):
        map_contributions(feature_map, coef, X[0], X[feature_map.landmark_indices_[0]] + 1e-9)


@pytest.mark.parametrize("approximation", ["nystroem", "fourier"])
def test_fitted_kernel_machines_are_explained(approximation):
    y = np.round(3 * X[:, 0] + X[:, 1] ** 2)
    ranker = KernelRankSVM(
        n_components=15, approximation=approximation, dtype="float64", scale="standard", random_state=0
    )
    model = ranker.fit(X, y).to_model()
    found = model.explain(X)
    scores = model.predict(X)
    mean = model.predict(X.mean(axis=0, keepdims=True))[0]
    # Scores of kernels are sums of large terms; 1e-9 is far above their rounding, and the sum is exact.
    assert_allclose(found.margins, scores - mean, atol=1e-9 * np.abs(scores).max())
    assert_allclose(found.contributions.sum(axis=1), found.margins, atol=1e-12 * np.abs(found.margins).max())
    assert found.method == "integrated gradients"
