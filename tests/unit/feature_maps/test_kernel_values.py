"""Kernel values block by block equal their formulas, whatever the rows are stored as."""

import numpy as np
import pytest
from scipy import sparse

from kernel_oracle import FORMULAS, kernel_values
from marginrank.feature_maps.kernel_columns import KernelColumns, kernel_diagonal

PARAMETERS = {"gamma": 0.4, "degree": 3, "coef0": 1.0}
# float32 rounds each step at 6e-8; the largest value, of the polynomial kernel, is about 40.
TOLERANCE = {"float32": 2e-5, "float64": 1e-12}


def rows(n, seed):
    rng = np.random.default_rng(seed)
    X = rng.random((n, 6)) * (rng.random((n, 6)) < 0.6)
    X[1] = 0.0
    return X


def values(kernel, X, landmarks, dtype):
    out = np.empty((X.shape[0], landmarks.shape[0]), dtype=dtype)
    KernelColumns(kernel, landmarks, PARAMETERS, np.dtype(dtype)).transform_block(X, out)
    return out


STORAGES = {
    "dense": np.asarray,
    "csr": sparse.csr_array,
    "csr int64": lambda X: sparse.csr_array(
        (sparse.csr_array(X).data, *(p.astype(np.int64) for p in _structure(X))), shape=X.shape
    ),
}


def _structure(X):
    csr = sparse.csr_array(X)
    return csr.indices, csr.indptr


@pytest.mark.parametrize("kernel", FORMULAS)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("of_rows", STORAGES)
@pytest.mark.parametrize("of_landmarks", ["dense", "csr"])
def test_values_equal_the_formula(kernel, dtype, of_rows, of_landmarks):
    X, landmarks = rows(9, 0), rows(7, 1)
    got = values(kernel, STORAGES[of_rows](X), STORAGES[of_landmarks](landmarks), dtype)
    want = kernel_values(kernel, X, landmarks, PARAMETERS["gamma"])
    np.testing.assert_allclose(got, want, atol=TOLERANCE[dtype], rtol=0)


@pytest.mark.parametrize("kernel", FORMULAS)
def test_float32_rows_serve_float64_landmarks_and_the_reverse(kernel):
    X, landmarks = rows(9, 0), rows(7, 1)
    want = kernel_values(kernel, X, landmarks, PARAMETERS["gamma"])
    for A, B in ((X.astype(np.float32), landmarks), (X, landmarks.astype(np.float32))):
        np.testing.assert_allclose(values(kernel, A, B, "float64"), want, atol=TOLERANCE["float32"], rtol=0)


@pytest.mark.parametrize("offset", [1e3, 1e6])
def test_float32_values_survive_a_large_offset(offset):
    """Years, or amounts: the kernel sees small differences of large numbers."""
    X, landmarks = rows(9, 0), rows(7, 1)
    got = values("rbf", X + offset, landmarks + offset, "float32")
    # The offset itself rounds the rows to 2e-16 of it.
    np.testing.assert_allclose(got, kernel_values("rbf", X, landmarks, 0.4), atol=2e-5 + 1e-15 * offset)


def test_float32_values_survive_rows_that_lie_far_apart():
    """Distances of thousands between groups, of tenths within them, where squares would cancel in float32."""
    rng = np.random.default_rng(2)
    landmarks = rng.normal(size=(8, 1)) * 3000 + np.zeros((1, 3))
    X = landmarks + 0.3 * rng.random((8, 3))
    want = kernel_values("rbf", X, landmarks, 0.4)
    assert np.diagonal(want).min() > 0.5
    np.testing.assert_allclose(values("rbf", X, landmarks, "float32"), want, atol=1e-5)


def test_no_value_of_a_bounded_kernel_exceeds_1():
    X = np.random.default_rng(3).random((200, 5))
    assert values("rbf", X, X, "float32").max() <= 1.0


@pytest.mark.parametrize("kernel", FORMULAS)
def test_the_diagonal_equals_the_formula(kernel):
    X = rows(9, 0)
    X[1] = 0.5  # the cosine of a row with itself is 1 unless it is zero
    want = np.diagonal(kernel_values(kernel, X, X, PARAMETERS["gamma"]))
    for stored in (X, sparse.csr_array(X)):
        np.testing.assert_allclose(kernel_diagonal(kernel, stored, PARAMETERS), want, rtol=1e-12)


def test_precomputed_values_are_columns():
    K = np.arange(12.0).reshape(3, 4)
    for stored in (K, sparse.csr_array(K)):
        assert np.array_equal(values("precomputed", stored, np.array([3, 1]), "float64"), K[:, [3, 1]])
