"""What kind of matrix features are in, and functions that treat all kinds alike."""

import numpy as np
import pytest
from scipy import sparse

from marginrank.data.matrices import (
    as_dense,
    blocks,
    in_memory,
    is_sparse,
    map_blocks,
    require_memory,
    stacked,
)
from marginrank.exceptions import MarginRankError
from marginrank.storage.chunks import ChunkedMatrix

VALUES = np.array([[1.0, 0.0], [0.0, 2.0], [3.0, 4.0]])


def chunked(convert):
    parts = [convert(VALUES[:2]), convert(VALUES[2:])]
    return ChunkedMatrix(parts.__getitem__, np.array([0, 2, 3]), 2, np.dtype(float))


MATRICES = {
    "dense": VALUES,
    "csr_array": sparse.csr_array(VALUES),
    "csr_matrix": sparse.csr_matrix(VALUES),
    "dense chunks": chunked(np.asarray),
    "sparse chunks": chunked(sparse.csr_array),
}


@pytest.mark.parametrize("name", MATRICES)
def test_a_matrix_says_where_it_lies_and_how(name):
    assert in_memory(MATRICES[name]) == ("chunks" not in name)
    assert is_sparse(MATRICES[name]) == name.startswith("csr")


@pytest.mark.parametrize("name", MATRICES)
def test_blocks_hold_all_rows_in_order(name):
    assert np.array_equal(as_dense(stacked(list(blocks(MATRICES[name])))), VALUES)


@pytest.mark.parametrize("name", MATRICES)
def test_blocks_of_chosen_rows_come_with_what_belongs_to_them(name):
    def weighted(X, weight):
        return weight @ as_dense(X)

    weight, rows = np.array([2.0, 5.0]), np.array([0, 2])
    found = list(map_blocks(MATRICES[name], weighted, rows, weight))
    assert np.array_equal(sum(answer for _, _, answer in found), weight @ VALUES[rows])
    assert [first for first, _, _ in found] == [0, *(last for _, last, _ in found[:-1])]


def test_what_needs_rows_in_memory_refuses_others_in_a_sentence():
    with pytest.raises(MarginRankError, match="needs the rows in memory; load them"):
        require_memory(MATRICES["dense chunks"], "The Gram matrix")
