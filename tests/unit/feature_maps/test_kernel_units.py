"""Kernels of rows of any size, against differences that are taken in exact arithmetic."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from scipy import sparse

from marginrank import KernelRankSVM
from marginrank.exceptions import MarginRankError
from marginrank.feature_maps import FourierFeatures, NystroemFeatures
from marginrank.feature_maps.gamma import resolve_gamma
from marginrank.feature_maps.kernel_columns import KernelColumns, kernel_diagonal
from marginrank.feature_maps.kernel_units import FarRows, KernelUnits, ordinary_entries

_RNG = np.random.default_rng(0)
_X = _RNG.random((40, 3)) + 0.1
_Y = _RNG.integers(0, 3, 40)
_FACTORS = [2.0**500, 2.0**200, 2.0**60, 2.0**-60, 2.0**-200, 2.0**-500]
_POWERS = {"rbf": 2, "laplacian": 1, "chi2": 1, "polynomial": 2, "cosine": 0}


def _values(kernel: str, X: Any, gamma: float, dtype: str = "float64") -> Any:
    parameters = {"gamma": gamma, "degree": 3.0, "coef0": 1.0}
    out = np.empty((X.shape[0], 10), dtype=dtype)
    KernelColumns(kernel, X[:10], parameters, np.dtype(dtype)).transform_block(X, out)
    return out


@pytest.mark.parametrize("storage", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("factor", _FACTORS)
@pytest.mark.parametrize("kernel", _POWERS)
def test_kernel_values_do_not_depend_on_the_unit(
    kernel: str, factor: float, dtype: str, storage: Any
) -> None:
    power = _POWERS[kernel]
    gamma = float(np.ldexp(0.5, -power * int(np.log2(factor))))
    if not 0.0 < gamma < np.inf:
        pytest.skip("no gamma fits rows of this size")
    expected = _values(kernel, storage(_X), 0.5, dtype)
    np.testing.assert_allclose(_values(kernel, storage(_X * factor), gamma, dtype), expected, rtol=1e-6)


@pytest.mark.parametrize("factor", _FACTORS)
@pytest.mark.parametrize("rule", ["scale", "median"])
@pytest.mark.parametrize("kernel", ["rbf", "laplacian", "chi2"])
def test_gamma_follows_the_unit_exactly(kernel: str, rule: str, factor: float) -> None:
    plain = resolve_gamma(rule, kernel, _X, np.random.RandomState(0))
    assert plain is not None
    expected = float(np.ldexp(plain, -_POWERS[kernel] * int(np.log2(factor))))
    if 0.0 < expected < np.inf:
        found = resolve_gamma(rule, kernel, _X * factor, np.random.RandomState(0))
        assert found == pytest.approx(expected, rel=1e-12)
    else:
        with pytest.raises(MarginRankError, match=f"gamma='{rule}' would be .* beyond float64"):
            resolve_gamma(rule, kernel, _X * factor, np.random.RandomState(0))


@pytest.mark.parametrize("size", [1e-60, 1e60])
@pytest.mark.parametrize("kernel", ["rbf", "laplacian", "polynomial", "cosine", "chi2"])
def test_a_kernel_ranker_does_not_depend_on_the_unit(kernel: str, size: float) -> None:
    qid = np.arange(40) // 10

    def scores(X: Any) -> Any:
        ranker = KernelRankSVM(kernel, n_components=20, random_state=0, tol=1e-6, alpha=0.01)
        return ranker.fit(X, _Y, qid=qid).predict(X)

    assert np.ptp(scores(_X)) > 0.0
    # Landmarks are drawn by the content of rows, which differs; all 40 would be the exact kernel.
    exact = KernelRankSVM(kernel, approximation="exact", tol=1e-6, alpha=0.01)
    plain = exact.fit(_X, _Y, qid=qid).predict(_X)
    other = exact.fit(_X * size, _Y, qid=qid).predict(_X * size)
    # Objectives are at most 1 and within tol of the optimum, so each f is within sqrt(2 tol / alpha) of the
    # best one in the norm of the kernel's space, and its scores within that times sqrt(k(x, x)).
    largest = kernel_diagonal(kernel, _X * size, {"gamma": exact.gamma_, "degree": 3, "coef0": 1}).max()
    allowed = 2.0 * np.sqrt(2.0 * 1e-6 / 0.01 * largest)
    np.testing.assert_allclose(other - other.mean(), plain - plain.mean(), rtol=0.0, atol=2.0 * allowed)
    assert np.isfinite(scores(_X * size)).all()


@pytest.mark.parametrize("gamma", [1.0, 1e6, 1e20, 1e200, 1e300])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_values_of_far_rows_are_those_of_exact_differences(gamma: float, dtype: str) -> None:
    X = np.array(
        [[0.0, 1.0], [1e-3, 1.0], [1e8, 0.0], [1e8 + 1.0, 0.0], [1e8, 0.0], [-3e150, 2.0], [0.0, 1.0]]
    )
    out = np.empty((7, 7), dtype=dtype)
    KernelColumns("rbf", X, {"gamma": gamma}, np.dtype(dtype)).transform_block(X, out)
    exact = np.empty((7, 7))
    for i, x in enumerate(X):
        for j, z in enumerate(X):
            square = sum((Fraction(a) - Fraction(b)) ** 2 for a, b in zip(x, z, strict=True))
            exact[i, j] = np.exp(-float(min(Fraction(gamma) * square, Fraction(10**6))))
    np.testing.assert_allclose(out, exact, rtol=1e-6 if dtype == "float32" else 1e-7, atol=1e-7)


def test_rows_near_the_centre_are_left_to_the_product() -> None:
    far = FarRows(_X, 1.0)
    assert far.landmarks is _X
    near, numbers = far.near(_X)
    assert near is _X
    assert len(numbers) == 0


def test_ordinary_sizes_are_not_touched() -> None:
    assert ordinary_entries(_X) == (_X, 0)
    assert KernelUnits("rbf", {"gamma": 0.5}).rows(_X) is _X
    assert KernelUnits("cosine", {}).rows(_X) is _X


def test_frequencies_that_float32_cannot_hold_are_refused() -> None:
    with pytest.raises(MarginRankError, match=r"gamma=1e\+300 gives frequencies .* dtype='float64'"):
        FourierFeatures(gamma=1e300, random_state=0).fit(_X)
    assert np.isfinite(FourierFeatures(dtype="float64", random_state=0).fit_transform(_X * 1e60)).all()


def test_a_polynomial_that_overflows_is_refused() -> None:
    with pytest.raises(MarginRankError, match="polynomial kernel gives NaN or infinity in float64"):
        NystroemFeatures("polynomial", gamma=1e300, n_components=5, random_state=0).fit(_X)
