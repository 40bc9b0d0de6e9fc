"""Rows times a matrix, each as if it stood alone."""

import numpy as np
import pytest

from marginrank.designs.row_products import RowProduct


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("depth", [1, 46, 256, 257, 700])
@pytest.mark.parametrize("width", [1, 15, 16, 100])
def test_products_equal_those_in_twice_the_digits(dtype, depth, width):
    rng = np.random.default_rng(depth + width)
    A, B = (rng.normal(size=shape).astype(dtype) for shape in ((101, depth), (depth, width)))
    found = RowProduct(B)(A)
    assert found.dtype == dtype
    # Sums of 256 products, and of as many of these sums as there are: the bound of that order of summation.
    bound = np.finfo(dtype).eps * (min(depth, 256) + depth // 256 + 1) * (np.abs(A) @ np.abs(B))
    exact = A.astype(np.longdouble) @ B.astype(np.longdouble)
    assert (np.abs(found - exact) <= bound).all()


def test_rows_of_any_layout_and_dtype_are_taken():
    rng = np.random.default_rng(0)
    A, B = rng.normal(size=(9, 5)), rng.normal(size=(5, 3))
    expected = RowProduct(B)(A)
    assert np.array_equal(RowProduct(B)(np.asfortranarray(A)), expected)
    assert np.array_equal(RowProduct(np.asfortranarray(B))(A[::2]), expected[::2])
    whole = np.arange(-4, 5).reshape(3, 3)
    assert np.array_equal(RowProduct(whole.astype(np.float32))(whole), whole @ whole)


def test_shapes_that_do_not_fit_are_refused():
    with pytest.raises(ValueError, match="must fit together"):
        RowProduct(np.zeros((5, 3)))(np.zeros((2, 4)))
    with pytest.raises(ValueError, match="must fit together"):
        RowProduct(np.zeros((5, 3)))(np.zeros((2, 5)), np.zeros((3, 3)))
