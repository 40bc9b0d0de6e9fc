"""Blocks of rows on their way to a data set."""

import numpy as np
import pytest
from scipy import sparse

from marginrank.storage.dataset_rows import cut


@pytest.mark.parametrize("made", [np.asarray, sparse.csr_array, sparse.csr_matrix])
@pytest.mark.parametrize("ends", [(0, 4), (4, 9), (9, 9), (7, 30), (0, 12)])
def test_a_cut_has_the_rows_of_a_slice(made, ends):
    rng = np.random.default_rng(0)
    dense = rng.normal(size=(12, 5)) * (rng.random((12, 5)) < 0.4)
    y = np.arange(12.0)
    found = cut({"X": made(dense), "y": y}, *ends)
    assert type(found["X"]) is type(made(dense))
    X = found["X"].toarray() if sparse.issparse(found["X"]) else found["X"]
    np.testing.assert_array_equal(X, dense[slice(*ends)])
    np.testing.assert_array_equal(found["y"], y[slice(*ends)])
