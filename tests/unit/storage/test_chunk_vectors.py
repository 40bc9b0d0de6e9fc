"""Numbers that lie with remote chunks: arrays to numpy, parts of a chunk stay where they are."""

import pickle
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import pytest

from marginrank import RankingData, RankSVM, write_dataset
from marginrank.distributed import RemoteData
from marginrank.distributed.disk_chunks import disk_chunks
from marginrank.exceptions import MarginRankError
from marginrank.storage.chunk_vectors import ChunkVector, VectorPart
from marginrank.storage.dataset_manifest import chunk_rows
from marginrank.storage.disk_dataset import DiskDataset
from marginrank.storage.engines import RemoteMatrix, SerialEngine

BOUNDS = np.array([0, 3, 3, 7])
WHOLE = np.array([4.0, 1.0, 2.0, 0.0, 5.0, 3.0, 6.0])


@dataclass(frozen=True)
class Written:
    """Numbers that come from elsewhere."""

    first: int
    last: int

    @property
    def fingerprint(self):
        return f"{self.first}-{self.last}"

    def read(self):
        return WHOLE[self.first : self.last]


def vector(kind):
    cuts = list(pairwise(BOUNDS))
    sources = [Written(*cut) for cut in cuts] if kind == "elsewhere" else [WHOLE[slice(*cut)] for cut in cuts]
    return ChunkVector(sources, BOUNDS)


@pytest.mark.parametrize("kind", ["elsewhere", "here"])
def test_it_is_the_array_of_all_numbers(kind):
    found = vector(kind)
    assert len(found) == 7
    assert found.shape == (7,)
    np.testing.assert_array_equal(np.asarray(found), WHOLE)
    np.testing.assert_array_equal(np.asarray(found, dtype=np.float32), WHOLE.astype(np.float32))
    for index in (slice(None), slice(1, 6), slice(0, 7, 2), [6, 0], np.array([1, 5]), WHOLE > 2.0, 4, None):
        np.testing.assert_array_equal(np.asarray(found[index]), WHOLE[index])


def test_neighbouring_rows_of_a_chunk_stay_where_they_are():
    found = vector("elsewhere")
    for first in range(7):
        for last in range(first + 1, 8):
            part = found[first:last]
            assert isinstance(part, VectorPart) == any(
                low <= first and last <= high for low, high in pairwise(BOUNDS)
            )
            np.testing.assert_array_equal(np.asarray(part), WHOLE[first:last])
    part = pickle.loads(pickle.dumps(found[4:6]))
    np.testing.assert_array_equal(np.asarray(part), WHOLE[4:6])
    assert part.fingerprint == "3-7/1/3"


def test_without_an_engine_nothing_is_asked_and_queries_that_are_cut_come_here():
    ptr = np.array([0, 2, 3, 7])
    assert vector("elsewhere").queries(ptr) is None
    there = ChunkVector([WHOLE[:3], WHOLE[3:3], WHOLE[3:]], BOUNDS, SerialEngine(lambda k: None))
    assert there.queries(ptr) == [(0, 2), (2, 2), (2, 3)]
    assert there.queries(np.array([0, 2, 5, 7])) is None
    assert there.queries(np.array([0, 7])) is None


def stored(tmp_path, data, **limits):
    write_dataset(tmp_path / "a.mrd", data, **limits)
    lean = DiskDataset(tmp_path / "a.mrd", lean=True)
    manifest, chunks = disk_chunks(lean.path, mapped=False, verify=True)
    bounds = np.concatenate([[0], np.cumsum([chunk_rows(chunk) for chunk in manifest.chunks])])
    engine = SerialEngine(lambda k: chunks[k].load())
    return lean, RemoteMatrix(engine, bounds, manifest.n_features, np.dtype(manifest.dtype))


RNG = np.random.default_rng(0)
DATA = RankingData(RNG.normal(size=(300, 4)), RNG.integers(3, size=300), qid=np.arange(300) // 6)


def test_labels_of_a_lean_data_set_stay_on_the_disk(tmp_path, monkeypatch):
    lean, X = stored(tmp_path, DATA, chunk_rows=90)
    np.testing.assert_array_equal(np.asarray(lean.y), DATA.y)
    np.testing.assert_array_equal(lean.qid, DATA.qid)
    assert lean.count_pairs() == DATA.count_pairs()
    here = RemoteData.like(DiskDataset(lean.path), X)
    expected = RankSVM(alpha=1e-2).fit(here)
    monkeypatch.setattr(ChunkVector, "__array__", lambda *_, **__: pytest.fail("labels were brought here"))
    ranker = RankSVM(alpha=1e-2).fit(RemoteData.like(lean, X))
    np.testing.assert_array_equal(ranker.coef_, expected.coef_)
    assert ranker.n_pairs_ == expected.n_pairs_ == DATA.count_pairs()


def test_one_ranking_brings_its_labels(tmp_path):
    data = RankingData(DATA.X, DATA.y)
    lean, X = stored(tmp_path, data, chunk_rows=90)
    expected = RankSVM(alpha=1e-2).fit(RemoteData.like(DiskDataset(lean.path), X)).coef_
    np.testing.assert_array_equal(RankSVM(alpha=1e-2).fit(RemoteData.like(lean, X)).coef_, expected)


def test_damaged_labels_are_found_where_they_are_read(tmp_path):
    lean, X = stored(tmp_path, DATA, chunk_rows=90)
    entry = disk_chunks(lean.path, mapped=False, verify=True)[0].chunks[1]
    with open(lean.path / entry.file, "r+b") as file:
        file.seek(entry.arrays["y"][2])
        file.write(b"\x01")
    with pytest.raises(MarginRankError, match=r"chunk-\d+\.bin: expected the SHA-256"):
        np.asarray(lean.y)
    with pytest.raises(MarginRankError, match=r"chunk-\d+\.bin: expected the SHA-256"):
        RankSVM().fit(RemoteData.like(lean, X))


def test_rows_are_fetched_without_a_list_of_all():
    X = RemoteMatrix(
        SerialEngine([np.arange(6.0).reshape(3, 2)].__getitem__), np.array([0, 3]), 2, np.dtype("f8")
    )
    for index in (
        [2, 0],
        np.array([1]),
        np.array([], dtype=np.int64),
        [-1],
        slice(1, 3),
        np.array([True, False, True]),
    ):
        np.testing.assert_array_equal(X[index], np.arange(6.0).reshape(3, 2)[index])
    with pytest.raises(IndexError):
        X[[3]]
