"""Data sets on disk: writings that stop, files that are damaged, input that does not fit."""

import gzip
import json
import os
import subprocess
import sys

import numpy as np
import pytest

from limits import HANG
from marginrank import RankSVM, open_dataset, write_dataset
from marginrank.exceptions import MarginRankError
from marginrank.io import convert_to_dataset
from marginrank.storage.dataset_files import row_pointers, write_arrays
from marginrank.storage.dataset_manifest import sealed


class StopError(Exception):
    """What stops a writing."""


QID = np.repeat(np.arange(30), 5)
X = np.random.default_rng(0).normal(size=(150, 3))
Y = np.tile([0.0, 1.0, 2.0, 0.0, 1.0], 30)


def blocks(stop_after=None, served=None, shuffled=False):
    order = np.random.default_rng(1).permutation(150) if shuffled else np.arange(150)
    for number, first in enumerate(range(0, 150, 10)):
        if number == stop_after:
            raise StopError
        if served is not None:
            served.append(number)
        rows = order[first : first + 10]
        yield X[rows], Y[rows], QID[rows]


def content(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir()}


@pytest.fixture(name="ds")
def written(tmp_path):
    return write_dataset(tmp_path / "a.mrd", X, Y, qid=QID, chunk_rows=25)


@pytest.mark.parametrize("shuffled", [False, True])
@pytest.mark.parametrize("stop_after", [1, 7, 14])
def test_a_writing_that_was_stopped_leaves_nothing_and_goes_on(tmp_path, stop_after, shuffled):
    expected = write_dataset(tmp_path / "expected.mrd", blocks(shuffled=shuffled), chunk_rows=25)
    target = tmp_path / "a.mrd"
    with pytest.raises(StopError):
        write_dataset(target, blocks(stop_after, shuffled=shuffled), chunk_rows=25)
    assert not target.exists()
    with pytest.raises(StopError):  # stopped again, later or at once
        write_dataset(target, blocks(14, shuffled=shuffled), chunk_rows=25, resume=True)
    write_dataset(target, blocks(shuffled=shuffled), chunk_rows=25, resume=True)
    assert content(target) == content(expected.path)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.mrd", "expected.mrd"]


@pytest.mark.parametrize("packed", [False, True])
def test_text_is_read_on_from_the_piece_where_it_was_stopped(tmp_path, monkeypatch, packed):
    monkeypatch.setattr("marginrank.storage.row_source._PIECE", 300)
    text = "".join(f"{y:g} qid:{q} 1:{x[0]:.17g} 3:{x[2]:.17g}\n" for x, y, q in zip(X, Y, QID, strict=True))
    path = tmp_path / "a.txt"
    path.write_bytes(gzip.compress(text.encode()) if packed else text.encode())
    expected = convert_to_dataset(path, tmp_path / "expected.mrd", chunk_rows=25)
    parsed = []

    from marginrank.io import letor

    parse = letor.LetorReading.parse

    def stopping(self, piece, name, lines_before):
        parsed.append(lines_before)
        if lines_before > 100 and len(parsed) < 40 and stopping.armed:
            stopping.armed = False
            raise StopError
        return parse(self, piece, name, lines_before)

    stopping.armed = True
    monkeypatch.setattr(letor.LetorReading, "parse", stopping)
    with pytest.raises(StopError):
        convert_to_dataset(path, tmp_path / "a.mrd", chunk_rows=25)
    parsed.clear()
    convert_to_dataset(path, tmp_path / "a.mrd", chunk_rows=25, resume=True)
    assert min(parsed) > 50
    assert content(tmp_path / "a.mrd") == content(expected.path)


def test_a_writing_goes_on_only_with_the_same_options(tmp_path):
    with pytest.raises(StopError):
        write_dataset(tmp_path / "a.mrd", blocks(9), chunk_rows=25)
    with pytest.raises(MarginRankError, match="another source or with other options"):
        write_dataset(tmp_path / "a.mrd", blocks(), chunk_rows=30, resume=True)
    with pytest.raises(MarginRankError, match="end before those that were written already"):
        write_dataset(tmp_path / "a.mrd", iter([(X[:3], Y[:3], QID[:3])]), chunk_rows=25, resume=True)


@pytest.mark.parametrize(
    "damage",
    [
        lambda journal: "{",
        lambda journal: "[]",
        lambda journal: "7",
        lambda journal: "[" * 100_000,
        *(
            lambda journal, name=name: json.dumps(
                {key: value for key, value in journal.items() if key != name}
            )
            for name in ("identity", "n_features", "chunks", "before", "position", "parts")
        ),
        lambda journal: json.dumps({**journal, "chunks": [7]}),
        lambda journal: json.dumps({**journal, "chunks": {"a": 1}}),
        lambda journal: json.dumps({**journal, "before": 10**9}),
        lambda journal: json.dumps({**journal, "n_features": None}),
    ],
)
def test_a_damaged_journal_is_named(tmp_path, damage):
    with pytest.raises(StopError):
        write_dataset(tmp_path / "a.mrd", blocks(9), chunk_rows=25)
    (path,) = tmp_path.glob(".marginrank-*.stage/work/journal.json")
    path.write_text(damage(json.loads(path.read_text())))
    with pytest.raises(MarginRankError, match=r"journal\.json is damaged; start anew"):
        write_dataset(tmp_path / "a.mrd", blocks(), chunk_rows=25, resume=True)


def test_what_is_there_is_replaced_only_on_request_and_only_if_it_is_a_data_set(tmp_path, ds):
    with pytest.raises(MarginRankError, match="overwrite=True"):
        write_dataset(ds.path, X[:5], Y[:5])
    assert write_dataset(ds.path, X[:5], Y[:5], overwrite=True).n_rows == 5
    (tmp_path / "photos").mkdir()
    with pytest.raises(MarginRankError, match="is no data set; write elsewhere"):
        write_dataset(tmp_path / "photos", X, Y, overwrite=True)
    with pytest.raises(MarginRankError, match="cannot be made there"):
        write_dataset(tmp_path / "nowhere" / "a.mrd", X, Y)


def test_a_damaged_chunk_is_refused_by_name(ds):
    path = ds.path / "chunk-000003.bin"
    damaged = bytearray(path.read_bytes())
    damaged[8] ^= 1
    path.write_bytes(damaged)
    found = open_dataset(ds.path)
    with pytest.raises(MarginRankError, match=r"chunk-000003\.bin: expected the SHA-256"):
        RankSVM().fit(found)
    with pytest.raises(MarginRankError, match=r"chunk-000003\.bin"):
        open_dataset(ds.path).verify()


def test_a_chunk_that_is_cut_off_or_missing_is_refused_by_name(ds):
    path = ds.path / "chunk-000002.bin"
    path.write_bytes(path.read_bytes()[:-1])
    with pytest.raises(MarginRankError, match=r"chunk-000002\.bin: expected \d+ bytes, got \d+"):
        open_dataset(ds.path)
    path.unlink()
    with pytest.raises(MarginRankError, match=r"chunk-000002\.bin: expected a part of the data set"):
        open_dataset(ds.path)


CUT = """
import os, sys
from marginrank import open_dataset
folder, call, size = sys.argv[1], sys.argv[2], int(sys.argv[3])
ds = open_dataset(folder)
rows = ds.chunk(1) if call == "used" else None
os.truncate(os.path.join(folder, "chunk-000001.bin"), size)
try:
    if call == "used":
        print(float(rows.X.sum()))
    else:
        {"chunk": lambda: ds.chunk(1), "memory": ds.in_memory, "rows": lambda: ds.X[30:40]}[call]()
except Exception as error:
    print(type(error).__name__, error)
"""


@pytest.mark.parametrize("call", ["chunk", "memory", "rows", "used"])
def test_a_file_that_is_cut_short_ends_no_process(ds, call):
    # In a process of its own: what is wrong here ends it by a signal, without a word.
    expected = X[25:50].sum()
    done = subprocess.run(
        [sys.executable, "-c", CUT, str(ds.path), call, "100"], capture_output=True, text=True, timeout=HANG
    )
    assert done.returncode == 0, done.stderr
    if call == "used":  # in memory already
        assert float(done.stdout) == pytest.approx(expected, abs=1e-9)
    else:
        assert "MarginRankError" in done.stdout
        assert "chunk-000001.bin: expected" in done.stdout


def test_features_are_looked_through_even_without_checksums(tmp_path, ds):
    path = ds.path / "chunk-000001.bin"
    damaged = bytearray(path.read_bytes())
    damaged[:8] = np.array([np.nan]).tobytes()
    path.write_bytes(damaged)
    with pytest.raises(MarginRankError, match=r"chunk-000001\.bin: X contains NaN"):
        RankSVM().fit(open_dataset(ds.path, verify=False))


def test_columns_out_of_range_are_refused_even_without_checksums(tmp_path):
    from scipy import sparse

    ds = write_dataset(tmp_path / "a.mrd", sparse.csr_matrix(X), Y, qid=QID)
    path = ds.path / "chunk-000000.bin"
    offset = json.loads((ds.path / "manifest.json").read_text())["chunks"][0]["arrays"]["X_indices"][2]
    damaged = bytearray(path.read_bytes())
    damaged[offset : offset + 4] = np.array([1_000_000], dtype="<i4").tobytes()
    path.write_bytes(damaged)
    with pytest.raises(MarginRankError, match=r"chunk-000000\.bin: X is not a valid CSR matrix"):
        RankSVM().fit(open_dataset(ds.path, verify=False))


def edited(ds, change):
    path = ds.path / "manifest.json"
    manifest = json.loads(path.read_text())
    manifest.pop("sha256")
    change(manifest)
    path.write_bytes(sealed(manifest))
    return ds.path


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (lambda m: m.update(version=2), "expected format version 1, got '2'"),
        (lambda m: m.update(format="x"), "expected the manifest of a marginrank data set"),
        (lambda m: m.pop("n_rows"), "the manifest is damaged"),
        (lambda m: m.update(n_rows=151), "do not sum to n_rows"),
        (lambda m: m.update(n_features=4), "does not fit the rest"),
        (lambda m: m.update(dtype="object"), "storage or dtype is unknown"),
        (lambda m: m["chunks"].pop(), "do not sum to n_rows"),
        (lambda m: m["chunks"][0].update(file="../../etc/passwd"), "is no file of a data set"),
        (lambda m: m["chunks"][0]["arrays"]["X"].__setitem__(0, "|O"), "is not described as it should be"),
        (
            lambda m: m["chunks"][0]["arrays"]["X"].__setitem__(1, [10**12, 3]),
            "does not fit into chunk-000000",
        ),
        (lambda m: m["chunks"][0]["arrays"]["y"].__setitem__(0, "<i8"), "does not fit the rest"),
        (lambda m: m.update(n_queries=None), "does not fit the rest"),
        (lambda m: m["chunks"][0]["arrays"].pop("y"), "the seals of chunk-000000.bin are not those of its"),
        (
            lambda m: [m["chunks"][0][key].pop("y") for key in ("arrays", "seals")],
            "parts do not fit together",
        ),
    ],
)
def test_a_damaged_manifest_is_refused(ds, change, sentence):
    with pytest.raises(MarginRankError, match=sentence):
        open_dataset(edited(ds, change))


def test_chunks_beyond_a_million_have_longer_numbers(ds):
    last = json.loads((ds.path / "manifest.json").read_text())["chunks"][-1]["file"]
    (ds.path / last).rename(ds.path / f"chunk-{10**6:06d}.bin")
    folder = edited(ds, lambda m: m["chunks"][-1].update(file=f"chunk-{10**6:06d}.bin"))
    np.testing.assert_array_equal(open_dataset(folder).y, Y)


@pytest.mark.parametrize("name", ["manifest.json", "chunk-000001.bin", "pairs.bin"])
def test_a_byte_that_differs_is_refused_wherever_it_is(tmp_path, name):
    comments = [f"docid = {k}" for k in range(150)]
    more = {"comments": comments, "sample_weight": Y + 1.0, "pairs": [[0, 1], [7, 30]]}
    ds = write_dataset(tmp_path / "a.mrd", X, Y, qid=[f"q{q}" for q in QID], chunk_rows=75, **more)
    path = ds.path / name
    whole = path.read_bytes()
    step = max(1, len(whole) // 150)
    for at in [*range(0, len(whole), step), len(whole) - 1]:
        path.write_bytes(whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1 :])
        with pytest.raises(MarginRankError):
            open_dataset(ds.path).verify()
    path.write_bytes(whole)
    open_dataset(ds.path).verify()


@pytest.mark.parametrize("part", ["y", "weight", "query_sizes", "query_ids", "comments_text"])
def test_labels_and_the_like_are_held_against_their_seals_before_they_are_used(tmp_path, part):
    comments = [f"docid = {k}" for k in range(150)]
    ds = write_dataset(tmp_path / "a.mrd", X, Y, qid=QID, sample_weight=Y + 1.0, comments=comments)
    offset = json.loads((ds.path / "manifest.json").read_text())["chunks"][0]["arrays"][part][2]
    path = ds.path / "chunk-000000.bin"
    damaged = bytearray(path.read_bytes())
    damaged[offset] ^= 1
    path.write_bytes(damaged)
    with pytest.raises(MarginRankError, match=r"chunk-000000\.bin: expected the SHA-256"):
        _ = open_dataset(ds.path).comments


def test_a_manifest_without_its_seal_is_refused(ds):
    path = ds.path / "manifest.json"
    manifest = json.loads(path.read_text())
    seal = manifest.pop("sha256")
    for content in (manifest, {"sha256": seal, **manifest}, {**manifest, "sha256": None}):
        for indent in (1, None):
            path.write_text(json.dumps(content, indent=indent))
            with pytest.raises(MarginRankError, match="does not have the SHA-256 that it was written with"):
                open_dataset(ds.path)


FALLING = [[0, 4, 2, 6], [0, 2, 7, 6], [1, 2, 4, 6], [0, 2, 4, 5], [-1, 0, 4, 6], [0, 2, 4, 7], [0, 3, 2, 6]]


@pytest.mark.parametrize("pointers", FALLING)
def test_row_pointers_that_fall_or_end_elsewhere_are_refused_when_they_are_read(tmp_path, pointers):
    # Looked at again here: the file may have changed since it was looked through as a whole.
    arrays = {
        "X_data": np.ones(6),
        "X_indices": np.zeros(6, dtype=np.int32),
        "X_indptr": np.array(pointers, dtype=np.int32),
    }
    entry = write_arrays(tmp_path, "chunk-000000.bin", arrays)
    with pytest.raises(MarginRankError, match=r"chunk-000000\.bin: the file was changed while it was read"):
        row_pointers(tmp_path, entry)
    arrays["X_indptr"] = np.array([0, 2, 2, 6], dtype=np.int32)
    entry = write_arrays(tmp_path, "chunk-000000.bin", arrays)
    assert row_pointers(tmp_path, entry).tolist() == [0, 2, 2, 6]


@pytest.mark.parametrize("falling", [[0, 40, 20], [0, 2, 1]])
def test_row_pointers_on_disk_that_fall_are_refused_even_without_checksums(tmp_path, falling):
    from scipy import sparse

    ds = write_dataset(tmp_path / "a.mrd", sparse.csr_matrix(X), Y, qid=QID)
    path = ds.path / "chunk-000000.bin"
    offset = json.loads((ds.path / "manifest.json").read_text())["chunks"][0]["arrays"]["X_indptr"][2]
    damaged = bytearray(path.read_bytes())
    damaged[offset : offset + 12] = np.array(falling, dtype="<i4").tobytes()
    path.write_bytes(damaged)
    with pytest.raises(MarginRankError, match=r"chunk-000000\.bin: X is not a valid CSR matrix"):
        RankSVM().fit(open_dataset(ds.path, verify=False))


@pytest.mark.parametrize("name", ["manifest.json", "chunk-000001.bin"])
def test_a_pipe_in_place_of_a_file_is_refused_without_waiting(ds, name):
    (ds.path / name).unlink()
    os.mkfifo(ds.path / name)
    with pytest.raises(MarginRankError, match=f"{name}: expected a file, got a pipe"):
        open_dataset(ds.path)


def test_a_manifest_that_is_no_json_is_refused(ds):
    (ds.path / "manifest.json").write_bytes(b"{'")
    with pytest.raises(MarginRankError, match=r"manifest\.json: expected JSON, got damaged text"):
        open_dataset(ds.path)


def test_what_is_no_data_set_is_refused(tmp_path):
    (tmp_path / "a.txt").write_text("1 1:1")
    for name, got in (("a.txt", "got a file"), (".", "got a folder without one"), ("b.mrd", "got nothing")):
        with pytest.raises(MarginRankError, match=got):
            open_dataset(tmp_path / name)


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        (
            [(X[:5], Y[:5], QID[:5]), (X[:5], Y[:5])],
            "must hold labels, query ids, as the first one; got labels",
        ),
        ([(X[:5], Y[:5]), (X[:5, :2], Y[:5])], "this number of features: 3, as the first one; got 2"),
        ([(X[:5], Y[:5]), (X[:5].astype("f4"), Y[:5])], "be of dtype float64, as the first one; got float32"),
        (
            [(X[:5], Y[:5], QID[:5]), (X[:5], Y[:5], [0.5] * 5)],
            "ids of kind integer, as the first one; got float",
        ),
        ([(X[:5], Y[:5]), 7], "Block 1: expected a RankingData"),
        ([(X[:5], Y[:4])], "Block 0: y must have"),
        ([(X[:2], Y[:2], [("a", 1), ("a", 2)])], "integers, floats, dates or strings; got"),
        (
            [({"X": X[:5], "y": Y[:5], "feature_names": list("abc")}), (X[:5], Y[:5])],
            "Block 1: the feature names",
        ),
        ([], "at least one row"),
    ],
)
def test_blocks_that_do_not_fit_are_refused(tmp_path, given, sentence):
    with pytest.raises(MarginRankError, match=sentence):
        write_dataset(tmp_path / "a.mrd", iter(given))


def test_dense_and_sparse_blocks_do_not_mix(tmp_path):
    from scipy import sparse

    with pytest.raises(MarginRankError, match="be stored as dense, as the first one; got CSR"):
        write_dataset(tmp_path / "a.mrd", iter([(X[:5], Y[:5]), (sparse.csr_matrix(X[:5]), Y[:5])]))


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"chunk_rows": 0}, "chunk_rows must be an integer from 1 to 9223372036854775807; got 0"),
        ({"chunk_bytes": 1.5}, "chunk_bytes must be an integer from 1 to 9223372036854775807; got 1.5"),
    ],
)
def test_sizes_of_chunks_are_checked(tmp_path, options, sentence):
    with pytest.raises(MarginRankError, match=sentence):
        write_dataset(tmp_path / "a.mrd", X, Y, **options)


def test_parts_are_not_passed_twice(tmp_path, ds):
    with pytest.raises(MarginRankError, match="X gives blocks, which carry y"):
        write_dataset(tmp_path / "b.mrd", blocks(), Y)
    with pytest.raises(MarginRankError, match="RankingData carries y"):
        write_dataset(tmp_path / "b.mrd", ds, Y)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (b"1 qid:1 1:1\n" * 9 + b"1 qid:1 1:x\n", r"a\.txt:10:9: expected a number after '1:'"),
        (b"1 qid:1 1:1\n" * 9 + b"1 1:1\n" * 9, r"a\.txt:\d+(:\d+)?: expected .*qid"),
        (b"1 1:1\n" * 9 + b"1 qid:1 1:1\n" * 9, r"a\.txt:\d+(:\d+)?: expected "),
        (b"# nothing\n", "at least one row"),
        (gzip.compress(b"1 qid:1 1:1\n" * 99, mtime=0)[:-9], "damaged ones or an early end"),
    ],
)
def test_bad_text_is_named_by_line(tmp_path, monkeypatch, text, sentence):
    monkeypatch.setattr("marginrank.storage.row_source._PIECE", 36)
    (tmp_path / "a.txt").write_bytes(text)
    with pytest.raises(MarginRankError, match=sentence):
        convert_to_dataset(tmp_path / "a.txt", tmp_path / "a.mrd")


def test_options_of_a_conversion_are_checked(tmp_path):
    (tmp_path / "a.txt").write_bytes(b"1 1:1\n")
    for options, sentence in (
        ({"dense": "maybe"}, "dense must be one of True, False, 'auto'"),
        ({"format": "xml"}, "format must be"),
        ({"missing": np.nan}, "missing must be a finite number"),
    ):
        with pytest.raises(MarginRankError, match=sentence):
            convert_to_dataset(tmp_path / "a.txt", tmp_path / "a.mrd", **options)


def test_normalising_on_disk_is_refused(ds):
    with pytest.raises(MarginRankError, match="normalise blocks before they are written"):
        ds.normalized_by_query()
