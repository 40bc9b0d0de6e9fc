"""Entries that a sparse matrix stores twice count as their sum, wherever the matrix goes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import sparse

from marginrank import KernelRankSVM, RankingData, RankRLS, RankSVM, StructuredRankSVM
from marginrank.data.sparse_matrices import summed
from marginrank.designs.compared import column_scale
from marginrank.feature_maps import FourierFeatures, NystroemFeatures
from marginrank.io import dump_letor, dump_npz, load_letor, load_npz, open_dataset, write_dataset
from marginrank.paths import kernel_rank_path, rank_path

_RNG = np.random.default_rng(5)
# Quarters: sums of parts are exact in float32 and in any order, so the two forms hold the same numbers.
_DENSE = np.where(_RNG.random((40, 6)) < 0.5, _RNG.integers(1, 9, (40, 6)) / 4.0, 0.0)
_Y = _RNG.integers(0, 3, 40) + (_DENSE[:, 0] > 0)
_QID = np.arange(40) // 10
_CANONICAL = sparse.csr_matrix(_DENSE)


def _twice(form: str = "csr", dtype: Any = np.float64) -> Any:
    """Return the matrix with every entry stored as two parts, unsorted, and parts that cancel out to 0."""
    coo = sparse.coo_matrix(_DENSE)
    row = np.concatenate([coo.row, coo.row, [0, 0]])
    column = np.concatenate([coo.col, coo.col, [3, 3]])
    data = np.concatenate([coo.data - 7.0, np.full(coo.nnz, 7.0), [1.0, -1.0]]).astype(dtype)
    if form == "coo":
        return sparse.coo_matrix((data, (row, column)), shape=_DENSE.shape)
    major, minor = (row, column) if form == "csr" else (column, row)
    order = np.argsort(major, kind="stable")
    size = _DENSE.shape[0 if form == "csr" else 1]
    indptr = np.concatenate([[0], np.cumsum(np.bincount(major, minlength=size))])
    kind = sparse.csr_matrix if form == "csr" else sparse.csc_matrix
    X = kind((data[order], minor[order], indptr), shape=_DENSE.shape)
    assert X.nnz == 2 * coo.nnz + 2
    return X


_MODELS = {
    "hinge": lambda X: RankSVM().fit(X, _Y, qid=_QID).predict(X),
    "standard": lambda X: RankSVM(scale="standard").fit(X, _Y, qid=_QID).predict(X),
    "structured": lambda X: StructuredRankSVM(alpha=0.01).fit(X, _Y, qid=_QID).predict(X),
    "direct": lambda X: RankRLS(solver="direct").fit(X, _Y, qid=_QID).predict(X),
    "cg": lambda X: RankRLS(solver="cg", scale="minmax").fit(X, _Y, qid=_QID).predict(X),
    "rbf": lambda X: KernelRankSVM("rbf", n_components=20, random_state=0).fit(X, _Y, qid=_QID).predict(X),
    "cosine": lambda X: KernelRankSVM("cosine", n_components=20, random_state=0).fit(X, _Y).predict(X),
    "exact": lambda X: KernelRankSVM("rbf", approximation="exact").fit(X, _Y, qid=_QID).predict(X),
    "fourier": lambda X: (
        KernelRankSVM(approximation="fourier", n_components=20, random_state=0).fit(X, _Y).predict(X)
    ),
    "path": lambda X: rank_path(X, _Y, qid=_QID).predict(X, alpha=0.01),
    "kernel path": lambda X: kernel_rank_path(X, _Y, qid=_QID, gamma=0.5).predict(X, alpha=0.01),
    "kernel path, cosine": lambda X: kernel_rank_path(X, _Y, kernel="cosine").predict(X, alpha=0.01),
    "model": lambda X: RankSVM().fit(X, _Y, qid=_QID).to_model().predict(X),
}
_MAPS = {
    **{
        kernel: lambda kernel=kernel: NystroemFeatures(kernel, n_components=15, random_state=0)
        for kernel in ("rbf", "laplacian", "polynomial", "cosine", "chi2")
    },
    "kmeans++": lambda: NystroemFeatures("rbf", n_components=15, landmarks="kmeans++", random_state=0),
    "leverage": lambda: NystroemFeatures("polynomial", n_components=15, landmarks="leverage", random_state=0),
    "median": lambda: NystroemFeatures("rbf", gamma="median", n_components=15, random_state=0),
    "fourier": lambda: FourierFeatures(n_components=15, random_state=0),
}


@pytest.mark.parametrize("form", ["csr", "csc", "coo"])
@pytest.mark.parametrize("model", _MODELS)
def test_a_model_is_that_of_the_sums(model: str, form: str) -> None:
    found = _MODELS[model](_twice(form))
    np.testing.assert_array_equal(found, _MODELS[model](summed(_twice())))
    # An entry that is stored and 0 may change the order of a sum, not more.
    np.testing.assert_allclose(found, _MODELS[model](_CANONICAL), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("form", ["csr", "csc", "coo"])
@pytest.mark.parametrize("features", _MAPS)
def test_a_feature_map_is_that_of_the_sums(features: str, form: str) -> None:
    found = _MAPS[features]().fit(_twice(form)).transform(_twice(form))
    expected = _MAPS[features]().fit(_CANONICAL).transform(_CANONICAL)
    np.testing.assert_allclose(found @ found.T, expected @ expected.T, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("kernel", ["rbf", "cosine", "laplacian"])
def test_kernel_values_are_those_of_the_sums(kernel: str) -> None:
    fitted = NystroemFeatures(kernel, n_components=15, dtype="float64", random_state=0).fit(_CANONICAL)
    columns = fitted.block_map()
    found, expected = np.empty((40, columns.width)), np.empty((40, columns.width))
    columns.transform_block(_twice(), found)  # as rows that no gate has seen come to it
    columns.transform_block(_CANONICAL, expected)
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=0.0)


@pytest.mark.parametrize("scale", ["standard", "minmax"])
def test_column_scales_are_those_of_the_sums(scale: Any) -> None:
    np.testing.assert_allclose(column_scale(_twice(), scale), column_scale(_DENSE, scale), rtol=1e-12)


def test_the_data_keep_the_sums_and_the_caller_keeps_the_matrix() -> None:
    X = _twice()
    arrays = [array.copy() for array in (X.data, X.indices, X.indptr)]
    data = RankingData(X, _Y, qid=_QID)
    np.testing.assert_array_equal(data.X.toarray(), _DENSE)
    for now, before in zip((X.data, X.indices, X.indptr), arrays, strict=True):
        np.testing.assert_array_equal(now, before)


@pytest.mark.parametrize("form", ["csr", "csc", "coo"])
def test_files_hold_the_sums(tmp_path: Any, form: str) -> None:
    data = RankingData(_twice(form), _Y, qid=_QID)
    dump_letor(data, tmp_path / "data.txt")
    dump_npz(data, tmp_path / "data.npz")
    write_dataset(tmp_path / "data.mrd", data, chunk_rows=15)
    found = [
        load_letor(tmp_path / "data.txt", n_features=6),
        load_npz(tmp_path / "data.npz"),
        open_dataset(tmp_path / "data.mrd").in_memory(),
    ]
    for one in found:
        X = one.X.toarray() if sparse.issparse(one.X) else one.X
        np.testing.assert_array_equal(X, _DENSE)


def test_an_npz_file_with_entries_stored_twice_is_read_as_their_sums(tmp_path: Any) -> None:
    data = RankingData(_CANONICAL, _Y, qid=_QID)
    dump_npz(data, tmp_path / "data.npz")
    with np.load(tmp_path / "data.npz") as stored:
        arrays = dict(stored)
    names = {name: key for key in arrays for name in ("data", "indices", "indptr") if key.endswith(name)}
    X = _twice()
    for name, key in names.items():
        arrays[key] = getattr(X, name).astype(arrays[key].dtype)
    np.savez(tmp_path / "twice.npz", **arrays)
    np.testing.assert_array_equal(load_npz(tmp_path / "twice.npz").X.toarray(), _DENSE)


def test_a_flag_from_before_a_change_is_not_believed() -> None:
    X = sparse.csr_matrix(np.array([[1.0, 2.0]]))
    assert X.has_canonical_format
    X.indices[1] = 0
    assert summed(X).toarray().tolist() == [[3.0, 0.0]]


@pytest.mark.parametrize("at_once", [1, 3, 1000])
def test_duplicates_are_found_in_unsorted_rows(at_once: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("marginrank.data.sparse_matrices._ENTRIES_AT_ONCE", at_once)
    indptr = [0, 2, 2, 5, 8]
    unsorted = sparse.csr_array((np.arange(8.0), [2, 0, 1, 2, 0, 2, 0, 1], indptr), shape=(4, 3))
    assert summed(unsorted) is unsorted
    twice = sparse.csr_array((np.arange(8.0), [2, 0, 1, 2, 0, 2, 0, 2], indptr), shape=(4, 3))
    assert summed(twice).toarray().tolist() == twice.toarray().tolist()
    assert summed(twice).nnz == 7
