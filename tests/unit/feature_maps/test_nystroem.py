"""Nystroem features: exact on the landmarks, chosen in three ways."""

import numpy as np
import pytest
from scipy import sparse

from kernel_oracle import FORMULAS, kernel_values
from marginrank.exceptions import MarginRankError
from marginrank.feature_maps import NystroemFeatures

GAMMA = 2.0
WAYS = ["uniform", "kmeans++", "leverage"]


def rows(n=60, d=4, seed=0):
    return np.random.default_rng(seed).random((n, d))


def fit(X, kernel="rbf", **parameters):
    return NystroemFeatures(
        kernel, **{"gamma": GAMMA, "dtype": "float64", "random_state": 0, **parameters}
    ).fit(X)


@pytest.mark.parametrize("kernel", FORMULAS)
@pytest.mark.parametrize("storage", [np.asarray, sparse.csr_array])
def test_all_rows_as_landmarks_reproduce_the_kernel_matrix(kernel, storage):
    X = rows()
    Z = fit(storage(X), kernel, n_components=60).transform(storage(X))
    # The values reach 700 for the polynomial kernel.
    want = kernel_values(kernel, X, X, GAMMA)
    np.testing.assert_allclose(Z @ Z.T, want, atol=1e-10 * want.max(), rtol=0)


@pytest.mark.parametrize("way", WAYS)
def test_the_kernel_is_exact_on_the_landmarks(way):
    X = rows()
    mapping = fit(X, n_components=20, landmarks=way)
    Z = mapping.transform(mapping.landmarks_)
    want = kernel_values("rbf", mapping.landmarks_, mapping.landmarks_, GAMMA)
    np.testing.assert_allclose(Z @ Z.T, want, atol=1e-10)


@pytest.mark.parametrize("way", WAYS)
def test_the_error_falls_with_the_landmarks(way):
    X = rows(300)
    want = kernel_values("rbf", X, X, GAMMA)
    errors = []
    for n_components in (10, 40, 160):
        Z = fit(X, n_components=n_components, landmarks=way).transform(X)
        errors.append(np.linalg.norm(Z @ Z.T - want))
    assert errors[0] > 3 * errors[1] > 9 * errors[2]


def test_the_kernel_is_approximated_from_below():
    """The features are a projection, so the rest of the kernel matrix is positive semidefinite."""
    X = rows(100)
    Z = fit(X, n_components=15).transform(X)
    rest = kernel_values("rbf", X, X, GAMMA) - Z @ Z.T
    assert np.linalg.eigvalsh(rest).min() > -1e-10


def test_rank_keeps_the_best_approximation_of_the_landmarks():
    X = rows(30)
    W = kernel_values("rbf", X, X, GAMMA)
    values, vectors = np.linalg.eigh(W)
    mapping = fit(X, n_components=30, rank=7)
    Z = mapping.transform(X)
    assert Z.shape == (30, 7)
    np.testing.assert_allclose(Z @ Z.T, (vectors[:, -7:] * values[-7:]) @ vectors[:, -7:].T, atol=1e-10)
    np.testing.assert_allclose(mapping.eigenvalues_, values[:-8:-1], rtol=1e-10)


def test_the_cutoff_is_relative_to_the_largest_eigenvalue():
    X = rows(30)
    values = np.linalg.eigvalsh(kernel_values("rbf", X, X, GAMMA))
    mapping = fit(X, n_components=30, cutoff=1e-3)
    assert mapping.whitening_.shape == (30, np.count_nonzero(values > 1e-3 * values[-1]))


def test_rows_that_occur_twice_do_no_harm():
    X = np.repeat(rows(10), 3, axis=0)
    mapping = fit(X, n_components=30)
    assert mapping.whitening_.shape == (10, 10)
    Z = mapping.transform(X)
    np.testing.assert_allclose(Z @ Z.T, kernel_values("rbf", X, X, GAMMA), atol=1e-10)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("storage", [np.asarray, sparse.csr_array])
def test_landmarks_are_distinct_rows(way, storage):
    X = np.repeat(rows(40), 2, axis=0)  # 40 different points only
    mapping = fit(storage(X), n_components=60, landmarks=way)
    chosen = mapping.landmark_indices_
    assert np.array_equal(np.sort(chosen // 2), np.arange(40))
    kept = mapping.landmarks_.toarray() if storage is not np.asarray else mapping.landmarks_
    assert np.array_equal(kept, X[chosen])


def far_group(X):
    """Put 1 percent of the rows far away from the others."""
    X = X.copy()
    X[:5] += 50.0
    return X


@pytest.mark.parametrize("way", ["kmeans++", "leverage"])
def test_a_small_group_far_away_gets_landmarks(way):
    X = far_group(rows(500))

    def hits(way):
        chosen = [fit(X, n_components=40, landmarks=way, gamma=0.5, random_state=seed) for seed in range(20)]
        return sum(bool((mapping.landmark_indices_ < 5).any()) for mapping in chosen)

    # Uniform landmarks meet the group in 1 - .99^40 = 33 percent of the cases.
    assert hits(way) >= 18
    assert hits("uniform") <= 12


def test_more_components_than_rows_warn_and_use_all_rows():
    X = rows(15)
    with pytest.warns(UserWarning, match="n_components=100 is more than the 15 rows of X; all rows"):
        mapping = fit(X, n_components=100)
    assert np.array_equal(np.sort(mapping.landmark_indices_), np.arange(15))


def test_a_precomputed_kernel_gives_the_features_of_the_kernel():
    X, new = rows(50), rows(9, seed=1)
    for way in ("uniform", "leverage"):
        by_values = fit(kernel_values("rbf", X, X, GAMMA), "precomputed", n_components=12, landmarks=way)
        by_rows = fit(X[by_values.landmark_indices_], n_components=12)
        features = by_values.transform(kernel_values("rbf", new, X, GAMMA))
        np.testing.assert_allclose(features, by_rows.transform(new), atol=1e-9)


@pytest.mark.parametrize("kernel", FORMULAS)
def test_float32_features_agree_with_float64(kernel):
    X = rows(200, 10)
    small, large = (
        fit(X, kernel, n_components=50, gamma=0.3, cutoff=1e-6, dtype=dtype).transform(X)
        for dtype in ("float32", "float64")
    )
    assert small.dtype == np.float32
    # Rounding of 6e-8 in a kernel value grows by the root of 1/cutoff, and the polynomial kernel is about 40.
    scale = np.abs(large @ large.T).max()
    assert np.abs(small @ small.T - large @ large.T).max() < 1e-4 * scale


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("n_jobs", [2, 3])
def test_bits_do_not_depend_on_the_threads(way, n_jobs):
    X = rows(3000, 6)
    one, many = (
        fit(X, n_components=300, landmarks=way, dtype="float32", n_jobs=k).transform(X) for k in (1, n_jobs)
    )
    assert np.array_equal(one, many)


def test_the_same_seed_gives_the_same_landmarks_and_another_one_others():
    first, again, other = (fit(rows(), n_components=9, random_state=s).landmark_indices_ for s in (5, 5, 6))
    assert np.array_equal(first, again)
    assert not np.array_equal(first, other)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"gamma": 0.0}, "gamma must be a positive, finite number, 'scale' or 'median'; got 0.0"),
        ({"kernel": "linear"}, "kernel must be one of 'rbf', .*; got 'linear'"),
        ({"n_components": -1}, "n_components must be a positive integer; got -1"),
        ({"landmarks": "best"}, "landmarks must be one of 'uniform', 'kmeans.*', 'leverage'; got 'best'"),
        ({"rank": 0}, "rank must be a positive integer; got 0"),
        ({"rank": 21}, "rank must be at most n_components=20; got 21"),
        ({"cutoff": 1.0}, "cutoff must be None or a number from 0 to below 1; got 1.0"),
        ({"cutoff": float("nan")}, "cutoff must be None or a number"),
        ({"kernel": "precomputed"}, r"needs the square matrix .* got shape \(60, 4\)"),
        ({"kernel": "chi2"}, "kernel='chi2' needs features of at least 0; got -1"),
    ],
)
def test_refusals_say_what_was_expected(parameters, message):
    X = rows()
    if parameters.get("kernel") == "chi2":
        X[0, 0] = -1.0
    with pytest.raises(MarginRankError, match=message):
        NystroemFeatures(**{"n_components": 20, **parameters}).fit(X)


def test_kmeans_needs_rows():
    with pytest.raises(MarginRankError, match="needs the rows themselves"):
        NystroemFeatures("precomputed", landmarks="kmeans++", n_components=2).fit(np.eye(3))


def test_a_kernel_without_a_positive_eigenvalue_is_refused():
    with pytest.raises(MarginRankError, match="must have a positive eigenvalue; the largest is 0"):
        NystroemFeatures("cosine", n_components=3).fit(np.zeros((5, 2)))


def test_negative_eigenvalues_are_dropped_with_a_warning():
    with pytest.warns(UserWarning, match="not positive semidefinite: its eigenvalues run from -1 to 1"):
        mapping = NystroemFeatures("precomputed", n_components=2).fit(np.array([[0.0, 1.0], [1.0, 0.0]]))
    assert mapping.eigenvalues_.tolist() == [1.0]
