"""Rules for the width of a kernel."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.metrics.pairwise import additive_chi2_kernel
from sklearn.svm import SVC

from marginrank.exceptions import MarginRankError
from marginrank.feature_maps.gamma import resolve_gamma


def rows(n=60):
    rng = np.random.default_rng(0)
    return rng.random((n, 4)) * (rng.random((n, 4)) < 0.7)


def gamma_of(rule, kernel, X):
    return resolve_gamma(rule, kernel, X, np.random.RandomState(0))


def test_scale_is_that_of_svc():
    X = rows()
    svc = SVC(gamma="scale").fit(X, np.arange(60) % 2)
    assert gamma_of("scale", "rbf", X) == pytest.approx(svc._gamma, rel=1e-12)


@pytest.mark.parametrize("rule", ["scale", "median"])
@pytest.mark.parametrize(("kernel", "power"), [("rbf", 2), ("laplacian", 1), ("chi2", 1)])
def test_the_kernel_does_not_change_with_the_unit_of_the_data(rule, kernel, power):
    X = rows()
    assert gamma_of(rule, kernel, 10 * X) == pytest.approx(gamma_of(rule, kernel, X) / 10**power, rel=1e-9)


@pytest.mark.parametrize("rule", ["scale", "median"])
@pytest.mark.parametrize("kernel", ["rbf", "laplacian", "chi2"])
def test_sparse_rows_give_the_same(rule, kernel):
    X = rows()
    assert gamma_of(rule, kernel, sparse.csr_array(X)) == pytest.approx(gamma_of(rule, kernel, X), rel=1e-9)


def test_weights_of_1_change_nothing_in_single_precision():
    X = (1e25 * rows()).astype(np.float32)  # its squares are beyond float32
    weighted = resolve_gamma("scale", "rbf", X, np.random.RandomState(0), np.ones(len(X)))
    assert weighted == pytest.approx(gamma_of("scale", "rbf", X), rel=1e-9)


def test_the_median_is_over_pairs_of_different_rows():
    X = rows(30)
    pairs = [(i, j) for i in range(30) for j in range(i)]
    for kernel, distance in (
        ("rbf", lambda a, b: ((a - b) ** 2).sum()),
        ("laplacian", lambda a, b: np.abs(a - b).sum()),
        ("chi2", lambda a, b: -additive_chi2_kernel(a[None], b[None])[0, 0]),
    ):
        distances = np.array([distance(X[i], X[j]) for i, j in pairs])
        want = 1 / np.median(distances[distances > 0])
        assert gamma_of("median", kernel, X) == pytest.approx(want, rel=1e-6)


@pytest.mark.parametrize("rule", ["scale", "median"])
def test_constant_data_have_gamma_1(rule):
    assert gamma_of(rule, "rbf", np.ones((5, 2))) == 1.0


def test_the_median_needs_a_distance():
    with pytest.raises(MarginRankError, match="gamma='median' needs a kernel of a distance"):
        gamma_of("median", "polynomial", rows())


def test_kernels_without_gamma_have_none():
    assert gamma_of("scale", "cosine", rows()) is None
