"""Random Fourier features: inner products tend to the kernel at the rate of theory."""

import numpy as np
import pytest
from scipy import sparse

from kernel_oracle import kernel_values
from marginrank.exceptions import MarginRankError
from marginrank.feature_maps import FourierFeatures

GAMMA = 0.7


def rows(n=40, d=5, seed=0):
    return np.random.default_rng(seed).random((n, d))


def errors(kernel, n_components, *, orthogonal=False, seeds=30, d=5):
    """Return the root mean square error of the kernel matrix for each seed."""
    X = rows(d=d)
    want = kernel_values(kernel, X, X, GAMMA)
    found = []
    for seed in range(seeds):
        Z = FourierFeatures(
            kernel,
            gamma=GAMMA,
            n_components=n_components,
            orthogonal=orthogonal,
            dtype="float64",
            random_state=seed,
        ).fit_transform(X)
        found.append(np.sqrt(np.mean((Z @ Z.T - want) ** 2)))
    return np.array(found)


@pytest.mark.parametrize("kernel", ["rbf", "laplacian"])
def test_the_error_falls_like_one_over_the_root_of_the_components(kernel):
    few, many = errors(kernel, 100).mean(), errors(kernel, 1600).mean()
    # 16 times the components, a quarter of the error; the mean over 30 seeds is good to about a tenth.
    assert 3.2 < few / many < 5.0
    # The variance of one product of cosines is at most 1.5, so the error is at most sqrt(1.5 / D).
    assert many < np.sqrt(1.5 / 1600)


@pytest.mark.parametrize("kernel", ["rbf", "laplacian"])
def test_inner_products_are_unbiased(kernel):
    X = rows(12)
    total = np.zeros((12, 12))
    for seed in range(200):
        features = FourierFeatures(kernel, gamma=GAMMA, n_components=200, dtype="float64", random_state=seed)
        Z = features.fit_transform(X)
        total += Z @ Z.T
    # 40,000 frequencies: a standard error of at most sqrt(1.5 / 40000) = 0.006, here five of them.
    np.testing.assert_allclose(total / 200, kernel_values(kernel, X, X, GAMMA), atol=0.03)


def test_orthogonal_frequencies_err_less():
    plain, orthogonal = errors("rbf", 64, d=16, seeds=60), errors("rbf", 64, d=16, seeds=60, orthogonal=True)
    # Each mean is good to 1 percent; the difference is 9.
    assert orthogonal.mean() < 0.95 * plain.mean()


@pytest.mark.parametrize("n_components", [3, 5, 12])
def test_orthogonal_frequencies_are_orthogonal_within_batches(n_components):
    features = FourierFeatures(n_components=n_components, orthogonal=True, dtype="float64", random_state=0)
    W = features.fit(rows()).frequencies_
    for first in range(0, n_components, 5):
        gram = W[:, first : first + 5].T @ W[:, first : first + 5]
        np.testing.assert_allclose(gram - np.diag(np.diagonal(gram)), 0.0, atol=1e-12 * gram.max())


def test_orthogonal_frequencies_have_the_lengths_of_independent_ones():
    features = FourierFeatures(gamma=0.5, n_components=5000, orthogonal=True, dtype="float64", random_state=0)
    squares = (features.fit(rows()).frequencies_ ** 2).sum(axis=0)
    # Chi-squared with 5 degrees of freedom: mean 5, variance 10, so a standard error of .045.
    assert squares.mean() == pytest.approx(5.0, abs=0.2)
    assert squares.var() == pytest.approx(10.0, rel=0.15)


@pytest.mark.parametrize("kernel", ["rbf", "laplacian"])
def test_sparse_rows_have_the_features_of_dense_ones(kernel):
    X = rows() * (rows(seed=1) < 0.4)
    features = FourierFeatures(kernel, gamma=GAMMA, n_components=50, dtype="float64", random_state=0).fit(X)
    Z = features.transform(X)
    np.testing.assert_allclose(features.transform(sparse.csr_array(X)), Z, atol=1e-13)
    fitted_sparse = FourierFeatures(kernel, gamma=GAMMA, n_components=3000, random_state=0)
    Z = fitted_sparse.fit_transform(sparse.csc_array(X))
    assert np.abs(Z @ Z.T - kernel_values(kernel, X, X, GAMMA)).max() < 0.1


def test_float32_features_agree_with_float64():
    X = 1e4 + 10 * rows(200, 30)
    small, large = (
        FourierFeatures(gamma=0.01, n_components=300, dtype=dtype, random_state=0).fit_transform(X)
        for dtype in ("float32", "float64")
    )
    assert small.dtype == np.float32
    # Angles of up to about 30 are rounded at 6e-8 of them, times sqrt(2/300).
    assert np.abs(small - large).max() < 1e-6


@pytest.mark.parametrize("n_jobs", [2, 3])
def test_bits_do_not_depend_on_the_threads(n_jobs):
    X = rows(2000, 20)
    one, many = (
        FourierFeatures(n_components=700, n_jobs=k, random_state=0).fit_transform(X) for k in (1, n_jobs)
    )
    assert np.array_equal(one, many)


def test_the_same_seed_gives_the_same_features_and_another_one_others():
    X = rows()
    first, again, other = (
        FourierFeatures(n_components=10, random_state=seed).fit_transform(X) for seed in (5, 5, 6)
    )
    assert np.array_equal(first, again)
    assert not np.allclose(first, other)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"gamma": 0.0}, "gamma must be a positive, finite number, 'scale' or 'median'; got 0.0"),
        ({"gamma": -1}, "gamma must be a positive"),
        ({"gamma": float("nan")}, "gamma must be a positive"),
        ({"gamma": float("inf")}, "gamma must be a positive"),
        ({"gamma": True}, "gamma must be a positive"),
        ({"gamma": "auto"}, "gamma must be a positive"),
        ({"kernel": "cosine"}, "kernel must be 'rbf' or 'laplacian' for Fourier features; got 'cosine'"),
        ({"n_components": 0}, "n_components must be an integer from 1 to 2147483647; got 0"),
        ({"n_components": 2.5}, "n_components must be an integer"),
        ({"dtype": "int32"}, "dtype must be 'float32' or 'float64'; got 'int32'"),
        ({"dtype": "nonsense"}, "dtype must be 'float32' or 'float64'"),
        ({"kernel": "laplacian", "orthogonal": True}, "orthogonal=True needs kernel='rbf'"),
    ],
)
def test_refusals_say_what_was_expected(parameters, message):
    with pytest.raises(MarginRankError, match=message):
        FourierFeatures(**parameters).fit(rows())


def test_nan_is_refused_with_its_place():
    X = rows()
    X[3, 2] = np.nan
    with pytest.raises(MarginRankError, match=r"NaN \(first at row 3, column 2\)"):
        FourierFeatures().fit(X)


def test_features_have_names():
    features = FourierFeatures(n_components=2, random_state=0).fit(rows())
    assert list(features.get_feature_names_out()) == ["fourierfeatures0", "fourierfeatures1"]
