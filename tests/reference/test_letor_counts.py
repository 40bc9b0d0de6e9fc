"""The real files give the rows, queries, features and labels that their description counts."""

import numpy as np
import pytest
from sklearn.datasets import load_svmlight_file

from marginrank import dump_letor, load_letor

COUNTS = {"MQ2008": (15_211, 784, 46, 3), "OHSUMED": (16_140, 106, 45, 3), "ClueWeb09": (26_646, 61, 42, 5)}


def parts(real_data, name):
    files = sorted((real_data / name).glob("S?.txt*"))
    if not files:
        pytest.skip(f"There is no {name} in {real_data}.")
    return files


@pytest.mark.parametrize(("name", "counts"), COUNTS.items(), ids=COUNTS.keys())
def test_counts_of_real_data(real_data, name, counts):
    read = [load_letor(path) for path in parts(real_data, name)]
    levels = np.unique(np.concatenate([data.y for data in read]))
    queries = np.unique(np.concatenate([data.qid for data in read]))
    assert sum(data.n_rows for data in read) == counts[0]
    assert sum(data.n_queries for data in read) == len(queries) == counts[1]
    assert {data.n_features for data in read} == {counts[2]}
    assert levels.tolist() == list(range(counts[3]))
    assert all("docid" in comment for data in read for comment in data.comments)


@pytest.mark.parametrize("name", COUNTS)
def test_real_data_equal_those_of_sklearn_and_come_back(real_data, name, tmp_path):
    path = parts(real_data, name)[0]
    data = load_letor(path, dense=True)
    X, y, qid = load_svmlight_file(str(path), n_features=data.n_features, query_id=True)
    assert np.array_equal(data.X, X.toarray())
    assert np.array_equal(data.y, y)
    assert np.array_equal(data.qid, qid)
    dump_letor(data, tmp_path / "copy.txt")
    back = load_letor(tmp_path / "copy.txt", dense=True)
    for field in ("X", "y", "qid", "comments"):
        assert np.array_equal(getattr(back, field), getattr(data, field))


@pytest.mark.parametrize(
    ("name", "shape"),
    {"auto-mpg": (392, 7), "pima": (768, 8), "wdbc": (569, 30), "mixture": (200, 2)}.items(),
)
def test_files_without_qid_are_one_ranking(real_data, name, shape):
    path = real_data / "path" / f"{name}.svm"
    if not path.exists():
        pytest.skip(f"There is no {path}.")
    data = load_letor(path)
    assert data.X.shape == shape
    assert data.qid is None
    assert data.n_queries == 1
