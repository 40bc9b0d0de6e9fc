"""Rows mapped once serve any design over them, and columns may be scaled on the way into the map."""

import numpy as np
import pytest
from scipy import sparse

from brute_force import relative_error
from marginrank.designs import MappedRows, ScaledRows, mapped_design, scale_rows
from marginrank.exceptions import MarginRankError
from marginrank.feature_maps import FourierFeatures, NystroemFeatures

MAPS = {
    "fourier": FourierFeatures(n_components=40, dtype="float64", random_state=0),
    "nystroem": NystroemFeatures(n_components=60, rank=58, dtype="float64", random_state=0),
    "nystroem of low rank": NystroemFeatures(n_components=60, rank=5, dtype="float64", random_state=0),
}
RNG = np.random.default_rng(0)
X = RNG.random((90, 5)) * (RNG.random((90, 5)) < 0.6)
ROWS = RNG.permutation(90)[:35]
MULTIPLIER, OFFSET = np.array([2.0, 0.5, 1.0, 10.0, 1.0]), np.array([0.0, 1.0, -3.0, 0.0, 0.0])


@pytest.mark.parametrize("name", MAPS)
@pytest.mark.parametrize("store", ["memory", "recompute"])
def test_a_design_over_some_rows_equals_one_made_for_them(name, store):
    mapping = MAPS[name].fit(X).block_map()
    mapped = MappedRows(mapping, X, n_threads=2, store=store)
    for rows in (None, ROWS):
        shared, own = mapped.design(rows), mapped_design(mapping, X, rows, n_threads=2, store=store)
        assert type(shared) is type(own)
        assert shared.shape == own.shape
        w, g = RNG.normal(size=shared.shape[1]), RNG.normal(size=shared.shape[0])
        assert relative_error(shared.scores(w), own.scores(w)) < 1e-12
        assert relative_error(shared.adjoint(g), own.adjoint(g)) < 1e-12


def test_another_way_to_store_is_refused():
    with pytest.raises(
        MarginRankError, match="store must be one of 'auto', 'memory', 'recompute'; got 'disk'"
    ):
        MappedRows(MAPS["fourier"].fit(X).block_map(), X, n_threads=1, store="disk")


@pytest.mark.parametrize("offset", [None, OFFSET], ids=["scaled", "scaled and shifted"])
@pytest.mark.parametrize("make", [np.asarray, sparse.csr_array], ids=["dense", "csr"])
@pytest.mark.parametrize("name", ["fourier", "nystroem"])
def test_scaled_rows_are_mapped_as_their_scaled_copy(name, make, offset):
    scaled = X * MULTIPLIER + (0.0 if offset is None else offset)
    mapping = MAPS[name].fit(scaled)
    design = mapped_design(ScaledRows(mapping.block_map(), MULTIPLIER, offset), make(X), n_threads=1)
    w = RNG.normal(size=design.shape[1])
    # The whitening of a Nystroem map has large entries that cancel.
    assert relative_error(design.scores(w), mapping.transform(scaled) @ w) < 1e-8


def test_scaling_keeps_sparse_rows_sparse_and_the_dtype():
    single = sparse.csr_array(X.astype(np.float32))
    scaled = scale_rows(single, MULTIPLIER)
    assert sparse.issparse(scaled)
    assert scaled.dtype == np.float32
    np.testing.assert_array_equal(scaled.toarray(), (single.toarray() * MULTIPLIER).astype(np.float32))
    assert scale_rows(X.astype(np.float32), MULTIPLIER, OFFSET).dtype == np.float32
