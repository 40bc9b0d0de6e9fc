"""Data sets on disk: what is written comes back, in chunks of whole queries."""

import gzip
import os
import pickle
import resource

import numpy as np
import pytest
from scipy import sparse

from marginrank import RankingData, load_letor, open_dataset, write_dataset
from marginrank.exceptions import MarginRankError
from marginrank.io import convert_to_dataset, dump_letor, dump_table


def random_data(n_rows=300, *, csr=False, dtype="f8", seed=0, scattered=False, **more):
    rng = np.random.default_rng(seed)
    X = (rng.normal(size=(n_rows, 5)) * (rng.random((n_rows, 5)) < 0.6)).astype(dtype)
    qid = rng.integers(20, size=n_rows)
    return RankingData(
        sparse.csr_matrix(X) if csr else X,
        rng.integers(3, size=n_rows),
        qid=qid if scattered else np.sort(qid),
        **more,
    )


def dense(X):
    return X.toarray() if sparse.issparse(X) else np.asarray(X)


def grouped(data):
    """The same rows in the order in which a data set has them."""
    return data if data.order is None else data.subset(data.order)


def assert_same(got, expected):
    assert got.X.dtype == expected.X.dtype
    assert sparse.issparse(got.X) == sparse.issparse(expected.X)
    assert np.array_equal(dense(got.X), dense(expected.X))
    for name in ("y", "qid", "sample_weight", "query_weight", "query_ids", "query_ptr", "comments", "pairs"):
        a, b = getattr(got, name), getattr(expected, name)
        assert (a is None) == (b is None), name
        assert a is None or np.array_equal(a, b), name
    for name in ("pair_weight", "pair_margin"):
        a, b = getattr(got, name), getattr(expected, name)
        assert a is b is None or np.array_equal(a, b), name
    assert got.feature_names == expected.feature_names


def blocks_of(data, size):
    """The rows in the order in which they stand, a few at a time."""
    for first in range(0, data.n_rows, size):
        rows = slice(first, first + size)
        qid = None if data.qid is None else data.qid[rows]
        yield {"X": data.X[rows], "y": data.y[rows], "qid": qid}


@pytest.mark.parametrize(("csr", "dtype"), [(False, "f4"), (False, "f8"), (True, "f4"), (True, "f8")])
def test_everything_comes_back(tmp_path, csr, dtype):
    rng = np.random.default_rng(1)
    data = random_data(csr=csr, dtype=dtype)
    full = RankingData(
        data.X,
        data.y,
        qid=[f"q{q}é" for q in data.qid],
        sample_weight=rng.random(300),
        query_weight=rng.random(data.n_queries),
        pairs=[[3, 299], [0, 7]],
        pair_weight=[0.5, 2.0],
        pair_margin=[1.0, 3.0],
        feature_names=list("abcde"),
        comments=[f"docid = {k} \udcff" if k % 3 else "" for k in range(300)],
    )
    write_dataset(tmp_path / "a.mrd", full, chunk_rows=50)
    found = open_dataset(tmp_path / "a.mrd")
    assert found.n_chunks > 4
    assert_same(found.in_memory(), full)
    assert np.array_equal(dense(found.X[:]), dense(full.X))
    assert np.array_equal(found.qid, full.qid)
    assert np.array_equal(found.comments, full.comments)
    assert found.labels == {str(k): int(np.sum(full.y == k)) for k in range(3)}
    found.verify()


@pytest.mark.parametrize(
    "ids",
    [np.arange(6) * 0.5, np.array(["2020-01-01", "2021-01-01"] * 3, dtype="M8[D]"), np.arange(6) > 2],
    ids=["floats", "dates", "booleans"],
)
def test_ids_of_other_kinds_come_back(tmp_path, ids):
    ids = np.sort(ids)
    found = write_dataset(tmp_path / "a.mrd", np.ones((6, 1)), np.arange(6), qid=ids, chunk_rows=2)
    assert np.array_equal(found.qid, ids)


def test_labels_that_are_many_are_described_by_their_range(tmp_path):
    found = write_dataset(tmp_path / "a.mrd", np.ones((50, 1)), np.arange(50) / 2, chunk_rows=20)
    assert found.labels == {"lowest": 0.0, "highest": 24.5}
    found = write_dataset(tmp_path / "b.mrd", np.ones((21, 1)), np.arange(21), chunk_rows=7)
    assert found.labels == {"lowest": 0.0, "highest": 20.0}
    found = write_dataset(tmp_path / "c.mrd", np.ones((20, 1)), np.arange(20), chunk_rows=7)
    assert found.labels == {str(label): 1 for label in range(20)}


def test_pairs_alone_need_no_labels(tmp_path):
    found = write_dataset(tmp_path / "a.mrd", np.ones((5, 1)), pairs=[[0, 4]], chunk_rows=2)
    assert found.y is None
    assert found.labels is None
    assert found.pairs.tolist() == [[0, 4]]
    assert repr(found).startswith("DiskDataset(n_rows=5, n_features=1, n_queries=1, n_pairs=1, n_chunks=3")


def test_chunks_end_with_a_query_and_a_larger_query_has_its_own(tmp_path):
    sizes = [3, 4, 30, 2, 2, 2, 9]
    qid = np.repeat(np.arange(7), sizes)
    found = write_dataset(tmp_path / "a.mrd", np.ones((52, 2)), qid, qid=qid, chunk_rows=9)
    assert [chunk.n_rows for chunk in found.chunks()] == [7, 30, 6, 9]
    assert [chunk.query_ids.tolist() for chunk in found.chunks()] == [[0, 1], [2], [3, 4, 5], [6]]


def test_chunks_are_limited_in_bytes_too(tmp_path):
    qid = np.repeat(np.arange(10), 4)
    found = write_dataset(tmp_path / "a.mrd", np.ones((40, 2)), qid, qid=qid, chunk_bytes=2 * 8 * 8)
    assert [chunk.n_rows for chunk in found.chunks()] == [8] * 5


@pytest.mark.parametrize("size", [1, 3, 7, 100])
def test_one_global_ranking_may_span_chunks(tmp_path, size):
    data = RankingData(np.arange(20.0).reshape(10, 2), np.arange(10))
    found = write_dataset(tmp_path / "a.mrd", blocks_of(data, size), chunk_rows=4)
    assert [chunk.n_rows for chunk in found.chunks()] == [4, 4, 2]
    assert found.qid is None
    assert found.n_queries == 1
    assert_same(found.in_memory(), data)


def test_rows_larger_than_a_chunk_are_alone(tmp_path):
    found = write_dataset(tmp_path / "a.mrd", np.ones((3, 4)), [0, 1, 2], chunk_bytes=5)
    assert [chunk.n_rows for chunk in found.chunks()] == [1, 1, 1]


@pytest.mark.parametrize("csr", [False, True])
@pytest.mark.parametrize("size", [1, 40, 300])
@pytest.mark.parametrize("texts", [False, True])
def test_scattered_queries_are_regrouped(tmp_path, csr, size, texts):
    data = random_data(csr=csr, scattered=True)
    if texts:
        data = RankingData(data.X, data.y, qid=[f"q{q}" for q in data.qid])
    whole = write_dataset(tmp_path / "whole.mrd", data, chunk_rows=45)
    found = write_dataset(tmp_path / "blocks.mrd", blocks_of(data, size), chunk_rows=45)
    assert_same(found.in_memory(), grouped(data))
    assert_same(whole.in_memory(), grouped(data))
    files = [sorted(path.name for path in folder.iterdir()) for folder in (whole.path, found.path)]
    assert files[0] == files[1]  # nothing is left of the sort
    for name in files[0]:
        assert (whole.path / name).read_bytes() == (found.path / name).read_bytes()


@pytest.mark.parametrize("scattered", [False, True])
def test_many_chunks_need_few_open_files(tmp_path, scattered):
    data = random_data(600, csr=True, scattered=scattered)
    data = RankingData(data.X, data.y, qid=np.arange(600) % 200 if scattered else np.arange(600) // 3)
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (len(os.listdir("/proc/self/fd")) + 40, most))
        found = write_dataset(tmp_path / "a.mrd", blocks_of(data, 30), chunk_rows=3)
        assert found.n_chunks == 200
        assert_same(found.in_memory(), grouped(data))
        assert np.array_equal(np.concatenate([dense(part.X) for part in found.chunks()]), dense(found.X[:]))
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, before)


@pytest.mark.parametrize("csr", [False, True])
def test_everything_of_a_row_goes_along_when_queries_are_regrouped(tmp_path, csr):
    data = random_data(csr=csr, scattered=True)
    full = RankingData(
        data.X,
        data.y,
        qid=data.qid,
        sample_weight=np.arange(300.0),
        query_weight={q: float(q) for q in range(20)},
        comments=[f"row {k} é" if k % 3 else "" for k in range(300)],
    )
    rows = np.random.default_rng(3).permutation(300)
    by_row = np.array([float(q) for q in full.qid])
    pieces = (
        {
            "X": full.X[part],
            "y": full.y[part],
            "qid": full.qid[part],
            "sample_weight": full.sample_weight[part],
            "query_weight": by_row[part],
            "comments": full.comments[part],
        }
        for part in np.array_split(rows, 13)
    )
    found = write_dataset(tmp_path / "a.mrd", pieces, chunk_rows=45)
    assert_same(found.in_memory(), grouped(full.subset(rows)))


def test_pairs_follow_their_rows(tmp_path):
    X, qid = np.arange(6.0)[:, None], np.array([1, 2, 1, 2, 1, 2])
    first = {"X": X[:3], "y": [0, 1, 2], "qid": qid[:3], "pairs": [[2, 1]]}
    second = {"X": X[3:], "y": [0, 1, 2], "qid": qid[3:], "pairs": [[0, 2], [1, 0]], "pair_weight": [2, 3]}
    found = write_dataset(tmp_path / "a.mrd", iter([first, second]))
    features = found.in_memory().X[:, 0]
    assert features[found.pairs].tolist() == [[2.0, 1.0], [3.0, 5.0], [4.0, 3.0]]
    assert found.pair_weight.tolist() == [1.0, 2.0, 3.0]


def test_integers_and_texts_are_one_kind_of_id(tmp_path):
    blocks = [([[1.0]], [0], [7]), ([[2.0]], [1], ["8"]), ([[3.0]], [2], ["7"])]
    found = write_dataset(tmp_path / "a.mrd", iter(blocks), chunk_rows=1)
    assert found.query_ids.tolist() == ["7", "8"]
    assert found.in_memory().X.ravel().tolist() == [1.0, 3.0, 2.0]


def test_a_query_goes_on_where_its_id_becomes_text(tmp_path):
    blocks = [([[1.0], [2.0]], [0, 1], [6, 7]), ([[3.0], [4.0]], [1, 0], ["7", "x"])]
    found = write_dataset(tmp_path / "a.mrd", iter(blocks), chunk_rows=9)
    assert found.query_ids.tolist() == ["6", "7", "x"]
    assert found.in_memory().query_ptr.tolist() == [0, 1, 3, 4]


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("density", [0.2, 0.9])
def test_letor_text_is_what_the_reader_of_all_of_it_reads(tmp_path, monkeypatch, packed, density):
    monkeypatch.setattr("marginrank.storage.row_source._PIECE", 1000)
    rng = np.random.default_rng(2)
    X = rng.normal(size=(400, 8)) * (rng.random((400, 8)) < density)
    X[:200, 5:] = 0.0  # later pieces are wider
    qid = np.where(np.arange(400) < 300, np.arange(400) // 10, 3)
    data = RankingData(X, rng.integers(3, size=400), qid=qid, comments=[f"c{k}" for k in range(400)])
    path = tmp_path / ("train.txt.gz" if packed else "train.txt")
    dump_letor(data, path)
    found = convert_to_dataset(path, tmp_path / "a.mrd", chunk_rows=60)
    assert_same(found.in_memory(), grouped(load_letor(path)))


def test_ids_of_text_become_strings_once_one_is_none(tmp_path, monkeypatch):
    monkeypatch.setattr("marginrank.storage.row_source._PIECE", 16)
    text = b"1 qid:7 1:1\n0 qid:7 1:2\n# a remark\n\n1 qid:07 1:3\n0 qid:7 1:4\n1 qid:9 1:5"
    (tmp_path / "a.txt").write_bytes(text)
    found = convert_to_dataset(tmp_path / "a.txt", tmp_path / "a.mrd", chunk_rows=1)
    assert_same(found.in_memory(), grouped(load_letor(text)))


@pytest.mark.parametrize("scattered", [False, True])
def test_parquet_is_read_in_batches(tmp_path, monkeypatch, scattered):
    pytest.importorskip("pyarrow")
    monkeypatch.setattr("marginrank.storage.row_source._PIECE", 2000)
    data = random_data(scattered=scattered, feature_names=list("abcde"))
    dump_table(data, tmp_path / "a.parquet")
    found = convert_to_dataset(tmp_path / "a.parquet", tmp_path / "a.mrd", format="parquet", chunk_rows=60)
    assert_same(found.in_memory(), grouped(data))


def test_a_data_set_can_be_written_in_other_chunks(tmp_path):
    first = write_dataset(tmp_path / "a.mrd", random_data(), chunk_rows=50)
    second = write_dataset(tmp_path / "b.mrd", first, chunk_rows=100)
    assert second.n_chunks < first.n_chunks
    assert_same(second.in_memory(), first.in_memory())


def test_a_subset_of_ascending_rows_stays_on_disk(tmp_path):
    data = random_data()
    found = write_dataset(tmp_path / "a.mrd", data, chunk_rows=50)
    rows = np.arange(3, 300, 7)
    part, expected = found.subset(rows), data.subset(rows)
    assert not isinstance(part.X, np.ndarray)
    assert np.array_equal(part.X[:], expected.X)
    assert np.array_equal(part.qid, expected.qid)
    assert np.array_equal(found.subset([5, 2]).X, data.X[[5, 2]])


def test_it_can_be_pickled(tmp_path):
    found = write_dataset(tmp_path / "a.mrd", random_data(), chunk_rows=50)
    assert_same(pickle.loads(pickle.dumps(found)).in_memory(), found.in_memory())


def test_gzip_that_expands_too_much_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr("marginrank.io.sources._ALWAYS_ALLOWED", 1000)
    monkeypatch.setattr("marginrank.storage.row_source._PIECE", 5000)
    (tmp_path / "a.gz").write_bytes(gzip.compress(b"1 qid:1 1:0.5\n" * 100_000))
    with pytest.raises(MarginRankError, match="expand to more than 50 times"):
        convert_to_dataset(tmp_path / "a.gz", tmp_path / "a.mrd", max_expansion=50)
