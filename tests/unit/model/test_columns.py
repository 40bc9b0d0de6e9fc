"""Files of another width are made to fit, or what does not fit is named."""

import numpy as np
import pytest
from scipy import sparse

from marginrank.exceptions import MarginRankError
from marginrank.model import align_width, unknown_columns

X = np.array([[1.0, 0.0, 2.0, 0.0], [0.0, 3.0, 0.0, 0.0]])
STORAGES = [np.array, sparse.csr_array, sparse.csr_matrix, sparse.csc_array, sparse.coo_array]


def dense(matrix):
    return matrix.toarray() if sparse.issparse(matrix) else matrix


@pytest.mark.parametrize("storage", STORAGES)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_missing_columns_are_zero(storage, dtype):
    wide = align_width(storage(X.astype(dtype)), 6)
    assert wide.shape == (2, 6)
    assert wide.dtype == dtype
    np.testing.assert_array_equal(dense(wide), np.hstack([X, np.zeros((2, 2))]))


@pytest.mark.parametrize("storage", STORAGES)
def test_unknown_columns_are_named(storage):
    with pytest.raises(MarginRankError, match="columns that the model does not know: 1, 2, counted from 0"):
        align_width(storage(X), 1)


def test_many_unknown_columns_are_counted():
    with pytest.raises(
        MarginRankError, match="1, 2, 3, 4, 5 and 14 more, counted from 0, where the model has 1"
    ):
        align_width(np.ones((1, 20)), 1)


@pytest.mark.parametrize("storage", STORAGES)
def test_unknown_columns_can_be_dropped(storage):
    np.testing.assert_array_equal(dense(align_width(storage(X), 2, ignore_unknown=True)), X[:, :2])


@pytest.mark.parametrize("storage", STORAGES)
def test_columns_of_zeros_are_as_good_as_absent(storage):
    np.testing.assert_array_equal(dense(align_width(storage(X), 3)), X[:, :3])


def test_zeros_that_are_stored_are_zeros():
    stored = sparse.csr_array((np.array([1.0, 0.0]), np.array([0, 3]), np.array([0, 2])), shape=(1, 4))
    assert unknown_columns(stored, 1).tolist() == []
    assert align_width(stored, 1).shape == (1, 1)


def test_right_width_is_returned_as_it_is():
    for matrix in (X, sparse.csr_array(X)):
        assert align_width(matrix, 4) is matrix


def test_wider_csr_shares_its_values():
    matrix = sparse.csr_array(X)
    assert np.shares_memory(align_width(matrix, 9).data, matrix.data)
    assert matrix.shape == (2, 4)


@pytest.mark.parametrize("index", [np.int32, np.int64])
def test_index_types_stay_usable(index):
    matrix = sparse.csr_array(X)
    matrix.indices, matrix.indptr = matrix.indices.astype(index), matrix.indptr.astype(index)
    for width in (3, 9):
        aligned = align_width(matrix, width)
        assert aligned.indices.dtype == aligned.indptr.dtype
        np.testing.assert_array_equal(dense(aligned)[:, :3], X[:, :3])


def test_result_is_what_a_model_takes():
    from marginrank import RankingModel

    model = RankingModel([1.0, 2.0, 3.0])
    for storage in STORAGES:
        assert model.predict(align_width(storage(X), 3)).tolist() == [7.0, 6.0]


@pytest.mark.parametrize("storage", STORAGES)
def test_rows_that_may_hold_nan_are_looked_at_before_they_are_scored(storage):
    from marginrank import RankingData, RankingModel

    holed = np.where(X.max() == X, np.nan, X)
    data = RankingData(storage(holed), y=[0, 1], allow_nonfinite=True)
    with pytest.raises(MarginRankError, match="X contains NaN"):
        RankingModel([1.0] * X.shape[1]).predict(data)
    whole = RankingData(storage(X), y=[0, 1], allow_nonfinite=True)
    assert RankingModel([1.0] * X.shape[1]).predict(whole).tolist() == X.sum(axis=1).tolist()
