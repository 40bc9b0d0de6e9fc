"""The data doctor: counts equal plain loops, oddities are named."""

import json

import numpy as np
import pytest
from scipy import sparse

from marginrank import RankingData, write_dataset
from marginrank.inspection import inspect


@pytest.fixture
def data():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 4))
    X[:, 1] = 7.0
    X[:, 2] *= 1e5
    X[11] = X[10]
    y = rng.integers(3, size=60).astype(float)
    qid = np.repeat(["a", "b", "c", "d"], [20, 20, 19, 1])
    y[20:40] = 1.0
    return X, y, qid


def test_counts_equal_plain_loops(data):
    X, y, qid = data
    found = inspect(RankingData(X, y, qid=qid))
    pairs = sum(int((y[qid == q][:, None] < y[qid == q]).sum()) for q in np.unique(qid))
    assert found.n_pairs == pairs
    assert (found.n_rows, found.n_queries, found.n_features) == (60, 4, 4)
    assert (found.n_single_row_queries, found.n_constant_queries, found.longest_query) == (1, 1, 20)
    assert found.labels == {f"{v:g}": int((y == v).sum()) for v in np.unique(y)}


@pytest.mark.parametrize("storage", [np.asarray, sparse.csr_matrix])
def test_odd_features_and_rows_are_named(data, storage):
    X, y, qid = data
    found = inspect(RankingData(storage(X), y, qid=qid, feature_names=["u", "same", "huge", "v"]))
    assert found.constant_features == ["same"]
    assert found.badly_scaled_features == ["huge"]
    assert found.n_duplicated_rows == 1


def test_equal_rows_of_different_queries_are_no_duplicates():
    data = RankingData([[1.0], [1.0], [2.0], [1.0]], [0, 1, 0, 1], qid=[1, 2, 1, 2])
    assert inspect(data).n_duplicated_rows == 1


def test_real_valued_labels_are_given_by_their_range():
    y = np.linspace(-1.0, 2.0, 50)
    assert inspect(RankingData(y[:, None], y)).labels == {"distinct": 50, "lowest": -1.0, "highest": 2.0}


def test_all_of_it_goes_into_json(data):
    X, y, qid = data
    found = inspect(RankingData(X, y, qid=qid)).to_dict()
    again = json.loads(json.dumps(found, allow_nan=False))
    assert again == {**found, "train_seconds": list(found["train_seconds"])}


def test_explicit_pairs_are_counted_in_place_of_labels():
    rows = [[1.0, 5.0], [2.0, 5.0], [2.0, 5.0]]
    pairs = [[0, 1], [2, 1], [0, 2]]
    found = inspect(RankingData(rows, pairs=pairs, pair_weight=[1, 0, 2]))
    assert (found.explicit_pairs, found.n_pairs, found.labels) == (True, 2, {})
    assert (found.n_duplicated_rows, found.constant_features) == (1, [1])
    both = inspect(RankingData(rows, y=[0, 0, 0], qid=["a", "b", "b"], pairs=pairs))
    assert (both.n_pairs, both.labels, both.longest_query) == (3, {"0": 3}, 2)


def test_time_is_a_range():
    low, high = inspect(RankingData([[1.0], [2.0]], y=[0, 1])).train_seconds
    assert 0 < low < high


@pytest.mark.parametrize("storage", [np.asarray, sparse.csr_matrix])
@pytest.mark.parametrize("queries", [True, False])
def test_data_on_disk_are_described_as_data_in_memory(tmp_path, data, storage, queries):
    X, y, qid = data
    X[[3, 22, 45, 58]] = X[0]  # one of the same query, two of one other
    X[:, 3] = 0.0
    held = RankingData(storage(X), y, qid=qid if queries else None)
    ds = write_dataset(tmp_path / "a.mrd", held, chunk_rows=7)
    found, expected = inspect(ds).to_dict(), inspect(held).to_dict()
    assert expected["n_duplicated_rows"] == (3 if queries else 5)
    assert found.pop("memory_bytes") > expected.pop("memory_bytes")
    assert found.pop("train_seconds")[0] > 0.0
    expected.pop("train_seconds")
    searched = [one.pop("search_seconds") for one in (found, expected)]
    assert searched == [None, None] if queries else min(searched) > 0.0  # four queries have no five folds
    assert found == expected
