"""Passes over chunks that the kernels read themselves: the bits of whole chunks, and clear errors."""

import os
import pickle
import shutil
import sys
import threading
from pathlib import Path

import numpy as np
import pytest
from scipy import sparse

from marginrank import RankingData, open_dataset, write_dataset
from marginrank.designs import ChunkedDesign
from marginrank.designs.matrix import MatrixProducts, native_matrix
from marginrank.exceptions import MarginRankError
from marginrank.losses import HingeLoss
from marginrank.storage import chunk_memory
from marginrank.storage.chunk_reader import ChunkReader
from marginrank.storage.chunks import ChunkedMatrix, PassLoader
from marginrank.storage.dataset_manifest import read_manifest
from marginrank.storage.row_files import CsrFileRows, DenseFileRows

N_ROWS, N_COLS = 900, 300


@pytest.fixture(params=["dense", "csr"])
def folder(request, tmp_path):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(N_ROWS, N_COLS)) * (rng.random((N_ROWS, N_COLS)) < 0.3)
    y, qid = rng.integers(4, size=N_ROWS), np.arange(N_ROWS) // 3
    kept = X if request.param == "dense" else sparse.csr_matrix(X)
    write_dataset(tmp_path / "a.mrd", kept, y, qid=qid, chunk_rows=250)
    return tmp_path / "a.mrd"


def reader(folder, **options):
    return ChunkReader(folder, read_manifest(folder), **{"verify": True, **options})


def products(design, loss):
    rng = np.random.default_rng(1)
    n, p = design.shape
    W, G = rng.normal(size=(3, p)), rng.normal(size=(3, n))
    assert design.fuses(loss)
    found = design.evaluate(W[0], loss)
    singles = (design.scores(W[1]), design.adjoint(G[1]), design.hvp(W[0], W[2], loss, found.scores))
    blocks = (design.scores_block(W), design.adjoint_block(G))
    return (*map(np.array, vars(found).values()), *singles, *blocks)


@pytest.mark.parametrize("n_threads", [1, 3])
@pytest.mark.parametrize("some", [False, True])
def test_products_have_the_bits_of_those_with_whole_chunks(folder, n_threads, some):
    ds = open_dataset(folder)
    chosen = np.flatnonzero(np.arange(N_ROWS) // 3 % 4 != 1) if some else np.arange(N_ROWS)
    data = RankingData(ds.X[chosen], ds.y[chosen], qid=ds.qid[chosen])
    loss = HingeLoss(data.training_view(), weighting="pairs", n_threads=1)
    bounds, loads = np.array([0, 249, 498, 747, 900]), reader(folder)
    assert ds.X.n_chunks == len(bounds) - 1
    kinds = {type(loads.load_for_pass(k)) for k in range(4)}
    assert kinds in ({DenseFileRows}, {CsrFileRows})
    rows = chosen if some else None
    whole, in_pieces = (
        ChunkedDesign(
            ChunkedMatrix(loads.load, bounds, N_COLS, ds.X.dtype, **passes), rows, n_threads=n_threads
        )
        for passes in ({}, {"passes": PassLoader(loads.load_for_pass, loads.read_ahead)})
    )
    for expected, got in zip(products(whole, loss), products(in_pieces, loss), strict=True):
        np.testing.assert_array_equal(got, expected)


def test_a_file_that_shrinks_while_it_is_read_is_named(folder):
    loads = reader(folder)
    rows = loads.load_for_pass(2)
    path = sorted(folder.glob("chunk-*.bin"))[2]
    os.truncate(path, path.stat().st_size // 2)
    with pytest.raises(OSError, match="ended before the rows that it should hold") as caught:
        MatrixProducts(rows, n_threads=2).scores(np.ones(N_COLS))
    assert caught.value.filename == str(path)
    with pytest.raises(MarginRankError, match="the file is cut off or was changed"):
        loads.load_for_pass(2)


def write_rows(path, n_columns):
    """Write CSR rows whose files are of the same size for any number of columns."""
    rng = np.random.default_rng(n_columns)
    drawn = [np.sort(rng.choice(N_COLS - 1, size=19, replace=False)) for _ in range(N_ROWS)]
    columns = np.column_stack([drawn, np.full(N_ROWS, n_columns - 1)]).astype(np.int32)
    ends = np.arange(0, columns.size + 1, 20, dtype=np.int32)
    X = sparse.csr_matrix((rng.normal(size=columns.size), columns.ravel(), ends), shape=(N_ROWS, n_columns))
    return write_dataset(path, X, np.arange(N_ROWS) % 3, qid=np.arange(N_ROWS) // 3, chunk_rows=250)


@pytest.mark.parametrize("verify", [True, False])
@pytest.mark.parametrize("put", [os.replace, shutil.copyfile])
def test_a_file_that_another_one_took_the_place_of_is_looked_through_again(tmp_path, put, verify):
    write_rows(tmp_path / "a.mrd", N_COLS)
    write_rows(tmp_path / "b.mrd", 30_000_000)
    design = ChunkedDesign(open_dataset(tmp_path / "a.mrd", verify=verify).X, n_threads=2)
    w = np.ones(N_COLS)
    design.scores(w)
    name = "chunk-000001.bin"
    put(tmp_path / "b.mrd" / name, tmp_path / "a.mrd" / name)
    with pytest.raises(MarginRankError, match="SHA-256" if verify else "column") as caught:
        design.scores(w)
    assert str(tmp_path / "a.mrd" / name) in str(caught.value)


def test_the_same_file_written_again_is_taken(folder):
    design = ChunkedDesign(open_dataset(folder).X, n_threads=2)
    w = np.arange(N_COLS, dtype=float)
    expected = design.scores(w)
    for path in sorted(folder.glob("chunk-*.bin")):
        path.write_bytes(path.read_bytes())
    np.testing.assert_array_equal(design.scores(w), expected)


def test_a_file_that_is_gone_before_its_first_use_is_named(folder):
    ds = open_dataset(folder)
    (folder / "chunk-000001.bin").unlink()
    with pytest.raises(MarginRankError, match=r"chunk-000001\.bin: expected a part of the data set"):
        ChunkedDesign(ds.X, n_threads=2).scores(np.ones(N_COLS))


def test_rows_of_a_file_are_taken_in_ascending_order(folder):
    rows = reader(folder).load_for_pass(0)
    assert native_matrix(rows, np.array([1, 4, 5])).n_rows == 3
    with pytest.raises(ValueError, match="rows of a file must ascend"):
        native_matrix(rows, np.array([4, 1]))


@pytest.mark.skipif(
    not Path("/proc/self/fd").exists(), reason="needs the open files of a process, as Linux has them"
)
def test_a_pass_leaves_no_file_open(folder):
    design = ChunkedDesign(open_dataset(folder).X, n_threads=2)
    design.scores(np.ones(N_COLS))
    before = len(os.listdir("/proc/self/fd"))
    for _ in range(3):
        design.scores(np.ones(N_COLS))
    assert len(os.listdir("/proc/self/fd")) == before


def test_checksums_are_compared_on_request_after_passes_without(folder):
    ds = open_dataset(folder, verify=False)
    ChunkedDesign(ds.X, n_threads=1).scores(np.ones(N_COLS))
    path = sorted(folder.glob("chunk-*.bin"))[1]
    content = bytearray(path.read_bytes())
    content[64] ^= 1
    path.write_bytes(content)
    with pytest.raises(MarginRankError, match="expected the SHA-256"):
        ds.verify()


@pytest.mark.skipif(sys.platform != "linux", reason="reads ahead by what Linux has")
def test_reading_ahead_brings_a_file_into_the_cache(tmp_path):
    path, size = tmp_path / "chunk.bin", 3 << 20
    path.write_bytes(os.urandom(size))
    with path.open("rb") as file:
        os.fsync(file.fileno())
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
        if chunk_memory._cached(file.fileno(), size):
            pytest.skip("the files of this system are never out of its cache")
        chunk_memory.read_ahead(path, size)
        assert chunk_memory._cached(file.fileno(), size)
    chunk_memory.read_ahead(tmp_path / "none.bin", size)  # whoever reads it will say so
    chunk_memory.read_ahead(path, 2 * size)  # it ends before


def test_rows_that_stay_on_disk_can_be_sent_to_another_process(folder):
    ds = open_dataset(folder)
    some = ds.subset(np.flatnonzero(np.arange(N_ROWS) // 3 % 4 != 1))
    ChunkedDesign(some.X, n_threads=2).scores(np.ones(N_COLS))
    sent = pickle.loads(pickle.dumps(some))
    assert isinstance(sent.X, ChunkedMatrix)
    w = np.arange(N_COLS, dtype=float)
    expected, got = (ChunkedDesign(X, n_threads=2).scores(w) for X in (some.X, sent.X))
    np.testing.assert_array_equal(got, expected)
    np.testing.assert_array_equal(sent.y, some.y)


@pytest.mark.skipif(sys.platform != "linux", reason="reads ahead by what Linux has")
def test_reading_ahead_does_without_what_a_system_does_not_know(tmp_path, monkeypatch):
    path, sent = tmp_path / "chunk.bin", []
    path.write_bytes(bytes(10_000))

    def sendfile(out, file, offset, count):
        sent.append((offset, count))
        return count

    monkeypatch.setattr(os, "sendfile", sendfile)
    monkeypatch.delattr(os, "RWF_NOWAIT")
    chunk_memory.read_ahead(path, 10_000)
    assert sent == [(0, 10_000)]


def test_kernels_do_not_read_files_where_bytes_have_another_order(folder, monkeypatch):
    monkeypatch.setattr(sys, "byteorder", "big")  # the kernels would take the bytes as they are
    X = open_dataset(folder).X

    def work(section, loaded, n_threads):
        return type(loaded)

    assert set(X.map_pass(work, X.sections(), 2)) <= {np.ndarray, sparse.csr_matrix, sparse.csr_array}


def test_memory_may_come_back_while_some_is_lent(monkeypatch):
    buffers, whole_pages = chunk_memory.Buffers(), chunk_memory._whole_pages
    held = [buffers.lend(10)]

    def collecting(size):
        held.clear()  # as the collector of garbage would, in the middle of lending
        return whole_pages(size)

    monkeypatch.setattr(chunk_memory, "_whole_pages", collecting)
    lender = threading.Thread(target=buffers.lend, args=(10,), daemon=True)
    lender.start()
    lender.join(10)
    assert not lender.is_alive()
