"""Files and Dask collections as sources: the model of the same chunks on disk, and queries never split."""

import dask.array as da
import dask.dataframe as dd
import fsspec
import numpy as np
import pandas as pd
import pytest
from dask_cases import ranking_data, serially
from scipy import sparse

from limits import HANG
from marginrank import RankingData, RankSVM, write_dataset
from marginrank.distributed import DaskRanker
from marginrank.distributed.cluster import Cluster
from marginrank.distributed.file_chunks import file_data
from marginrank.distributed.labelling import Labelling
from marginrank.distributed.sources import remote_data
from marginrank.exceptions import MarginRankError
from marginrank.io import write

ESTIMATOR = RankSVM(alpha=1e-2, tol=0.1)


@pytest.fixture(name="ranker")
def ranker_over_workers(client):
    return DaskRanker(ESTIMATOR, client, timeout=HANG)


def model_of_chunks(tmp_path, data, chunk_rows):
    """Return the model of the same rows in the same chunks on disk, by the serial engine."""
    write_dataset(tmp_path / "same.mrd", data, chunk_rows=chunk_rows)
    return ESTIMATOR.fit(serially(tmp_path / "same.mrd")).coef_


@pytest.mark.parametrize("ending", ["txt", "parquet"])
def test_files_are_chunks(ranker, tmp_path, ending):
    data = ranking_data()
    paths = [tmp_path / f"part-{k}.{ending}" for k in range(3)]
    for k, path in enumerate(paths):
        write(data.subset(np.arange(160 * k, 160 * (k + 1))), path)
    ranker.fit(paths)
    assert np.array_equal(ranker.estimator_.coef_, model_of_chunks(tmp_path, data, 160))
    assert np.array_equal(ranker.predict(paths), ranker.estimator_.predict(data))
    assert ranker.score(paths) == ranker.estimator_.score(data)


def test_folders_of_parquet_and_urls_are_chunks(ranker, tmp_path):
    data = ranking_data()
    for k in range(3):
        (tmp_path / "lake" / f"day={k}").mkdir(parents=True)
        write(data.subset(np.arange(160 * k, 160 * (k + 1))), tmp_path / "lake" / f"day={k}" / "part.parquet")
    (tmp_path / "lake" / "_SUCCESS").write_text("")
    expected = model_of_chunks(tmp_path, data, 160)
    lake = tmp_path / "lake"
    for source in (
        lake,
        f"file://{lake}",
        [lake / "day=0", f"file://{lake}/day=1", lake / "day=2/part.parquet"],
    ):
        assert np.array_equal(ranker.fit(source).estimator_.coef_, expected)
    assert np.array_equal(ranker.predict(lake), ranker.estimator_.predict(data))
    ranker.fit(lake, eval_set=f"file://{lake}")
    assert np.array_equal(ranker.estimator_.coef_, expected)
    (lake / "day=1" / "notes.txt").write_text("")
    with pytest.raises(
        MarginRankError, match=r"expected nothing but Parquet files in the folder, got day=1/notes\.txt"
    ):
        ranker.fit(lake)


def test_keys_of_partitions_are_columns_on_workers_too(client, tmp_path):
    data = ranking_data()
    for k in range(4):
        (tmp_path / "lake" / f"query={k}").mkdir(parents=True)
        part = data.subset(np.arange(120 * k, 120 * (k + 1)))
        write(RankingData(part.X, part.y), tmp_path / "lake" / f"query={k}" / "part.parquet")
    found = file_data(
        [tmp_path / "lake"], Cluster(client, HANG, 0), reading=[{"format": "parquet", "qid": "query"}]
    )
    assert found.qid.tolist() == np.repeat(["0", "1", "2", "3"], 120).tolist()


def test_a_url_that_workers_do_not_reach(ranker):
    with fsspec.open("memory://here/a.txt", "wb") as file:
        file.write(b"1 qid:1 1:1\n0 qid:1 1:2\n")
    with pytest.raises(MarginRankError, match=r"memory://here/a\.txt: a worker finds no such file"):
        ranker.fit(["memory://here/a.txt"])
    with pytest.raises(MarginRankError, match=r"memory://here/b\.parquet: there is no such file or folder"):
        ranker.fit("memory://here/b.parquet")


def test_files_of_text_may_differ_in_width(ranker, tmp_path):
    (tmp_path / "a.txt").write_text("1 qid:1 1:0.5 2:0.1\n0 qid:1 1:0.1\n")
    (tmp_path / "b.txt").write_text("1 qid:2 3:2\n0 qid:2 2:1\n")
    ranker.fit([tmp_path / "a.txt", tmp_path / "b.txt"])
    assert ranker.estimator_.n_features_in_ == 3
    dense = [[0.5, 0.1, 0], [0.1, 0, 0], [0, 0, 2], [0, 1, 0]]
    plain = RankSVM(alpha=1e-2, tol=0.1).fit(dense, [1, 0, 1, 0], qid=[1, 1, 2, 2])
    assert ranker.estimator_.objective_ == pytest.approx(plain.objective_, rel=0.11)


def test_files_that_do_not_go_together(ranker, tmp_path):
    texts = {"a": "1 qid:1 1:1\n0 qid:1 1:2\n", "b": "1 qid:1 1:3\n", "c": "1 1:3\n"}
    texts["scattered"] = "1 qid:1 1:1\n0 qid:2 1:2\n0 qid:1 1:2\n"
    paths = {name: tmp_path / f"{name}.txt" for name in texts}
    for name, text in texts.items():
        paths[name].write_text(text)
    with pytest.raises(
        MarginRankError, match=r"Query 1 is in .*a.txt and in .*b.txt; a query must be in one"
    ):
        ranker.fit([paths["a"], paths["b"]])
    with pytest.raises(MarginRankError, match=r"c.txt: some files have query ids and some have none"):
        ranker.fit([paths["a"], paths["c"]])
    with pytest.raises(MarginRankError, match=r"scattered.txt: rows of a query are not next to each other"):
        ranker.fit([paths["scattered"]])
    with pytest.raises(MarginRankError, match="a worker finds no such file"):
        ranker.fit([tmp_path / "nothing.txt"])
    with pytest.raises(MarginRankError, match="files carry y"):
        ranker.fit([paths["a"]], y=[1, 0])
    with pytest.raises(MarginRankError, match=r"got ndarray. Data in memory need no cluster"):
        ranker.fit(np.zeros((3, 2)))


def test_arrays_are_cut_at_queries(ranker, client, tmp_path):
    data = ranking_data()
    # Borders at 156, 312, 468: behind the query each lies 160, 320, 470.
    X, y, qid = (
        da.from_array(values, chunks=(156, *[3] * (values.ndim - 1))) for values in (data.X, data.y, data.qid)
    )
    found = remote_data(X, Cluster(client, HANG, 0), Labelling(y, qid), mmap=True, verify=True)
    assert found.X._bounds.tolist() == [0, 160, 320, 470, 480]
    assert np.array_equal(found.X[:], data.X)
    ranker.fit(X.rechunk((160, -1)), y, qid=qid)
    assert np.array_equal(ranker.estimator_.coef_, model_of_chunks(tmp_path, data, 160))
    assert np.array_equal(ranker.predict(X), ranker.estimator_.predict(data))


def test_arrays_have_checkpoints(client, tmp_path):
    data = ranking_data()
    X = da.from_array(data.X, chunks=(160, 6))
    options = {"timeout": HANG, "resume": tmp_path / "journal"}
    first = DaskRanker(ESTIMATOR, client, timeout=HANG, checkpoint=tmp_path / "journal")
    first.fit(X, data.y, qid=data.qid)
    again = DaskRanker(ESTIMATOR, client, **options).fit(X, data.y, qid=data.qid)
    assert np.array_equal(again.estimator_.coef_, first.estimator_.coef_)
    with pytest.raises(MarginRankError, match="with other data"):
        DaskRanker(ESTIMATOR, client, **options).fit(2 * X, data.y, qid=data.qid)


def test_arrays_without_queries_and_of_sparse_blocks(ranker, tmp_path):
    data = ranking_data(queries=False, csr=True)
    X = da.from_array(data.X.toarray().astype(np.float32), chunks=(240, 6)).map_blocks(sparse.csr_matrix)
    ranker.fit(X, data.y)
    plain = RankSVM(alpha=1e-2, tol=0.1).fit(data)
    assert ranker.estimator_.objective_ == pytest.approx(plain.objective_, rel=0.11)
    assert ranker.estimator_.n_queries_ == 1


def test_data_frames_have_their_ids_and_labels_in_columns(ranker, tmp_path):
    data = ranking_data()
    frame = pd.DataFrame(data.X, columns=list("abcdef")).assign(label=data.y, qid=data.qid)
    parts = dd.from_pandas(frame, npartitions=3, sort=False)
    ranker.fit(parts, y="label")
    assert np.array_equal(ranker.estimator_.coef_, model_of_chunks(tmp_path, data, 160))
    assert list(ranker.estimator_.feature_names_in_) == list("abcdef")
    assert np.array_equal(ranker.predict(parts.drop(columns=["label"])), ranker.estimator_.predict(data))
    with pytest.raises(MarginRankError, match="no column 'grade'; it has a, b"):
        ranker.fit(parts, y="grade")


def test_collections_that_cannot_be_used(ranker):
    X = da.zeros((6, 2), chunks=(3, 2))
    with pytest.raises(MarginRankError, match="rows of query 1 are not next to each other"):
        ranker.fit(X, [0, 1, 0, 1, 0, 1], qid=[1, 1, 2, 2, 1, 2])
    with pytest.raises(MarginRankError, match="NaN"):
        ranker.fit(X + np.nan, [0, 1, 0, 1, 0, 1])
    with pytest.raises(MarginRankError, match="y must have"):
        ranker.fit(X, [0, 1])
    with pytest.raises(MarginRankError, match="chunks of unknown size"):
        ranker.fit(X[X[:, 0] == 0.0], [0, 1])
    with pytest.raises(MarginRankError, match="of 1 dimensions"):
        ranker.fit(X[:, 0], [0, 1])
