"""Inputs behind URLs: the same rows as from files, by one way for every file system, and sentences."""

import gzip
import sys

import fsspec
import numpy as np
import pytest
from fsspec.implementations.memory import MemoryFileSystem

from marginrank import RankingData, RankingModel, RankSVM
from marginrank import io as mio
from marginrank.cli.app import run
from marginrank.datasets import make_ranking
from marginrank.exceptions import MarginRankError
from marginrank.io.places import files_below, open_place, stamp

X, Y, QID = make_ranking(40, 6, 5)
DATA = RankingData(X, Y, qid=QID)
EXPECTED = RankSVM().fit(DATA)


@pytest.fixture(name="bucket")
def _bucket():
    """An empty place in memory, as its URL."""
    MemoryFileSystem.store.clear()
    MemoryFileSystem.pseudo_dirs[:] = [""]
    return "memory://bucket"


def put(url, data, format):
    with fsspec.open(url, "wb") as file:
        mio.write(data, file, format=format)


def same(data, rows=slice(None)):
    got = (
        data.X if isinstance(data.X, np.ndarray) else np.concatenate([part for _, _, part in data.X.blocks()])
    )
    np.testing.assert_array_equal(got, X[rows])
    np.testing.assert_array_equal(data.y, Y[rows])
    np.testing.assert_array_equal(np.asarray(data.qid).astype(int), QID[rows])


ENDINGS = {"letor": "txt", "csv": "csv", "parquet": "parquet", "npz": "npz"}


@pytest.mark.parametrize("format", ENDINGS)
@pytest.mark.parametrize("scheme", ["memory", "file"])
def test_files_behind_urls_have_the_rows_of_files(format, scheme, bucket, tmp_path):
    url = f"{bucket}/a.{ENDINGS[format]}" if scheme == "memory" else f"file://{tmp_path}/a.{ENDINGS[format]}"
    put(url, DATA, format)
    assert mio.format_of(url) == format
    same(mio.read(url))
    if format != "npz":
        same(mio.convert_to_dataset(url, tmp_path / "a.mrd", format=format, chunk_rows=50))


@pytest.mark.parametrize("format", ["letor", "csv"])
def test_packed_text_is_streamed_from_urls(format, bucket, tmp_path):
    url = f"{bucket}/a.{ENDINGS[format]}.gz"
    put(f"{bucket}/a", DATA, format)
    with fsspec.open(url, "wb") as file:
        file.write(gzip.compress(open_place(f"{bucket}/a").read()))
    same(mio.read(url))
    same(mio.convert_to_dataset(url, tmp_path / "a.mrd", format=format))


def test_folders_behind_urls_are_tables(bucket, tmp_path):
    for k in range(3):
        put(f"{bucket}/lake/day=0{k}/part.parquet", DATA.subset(np.arange(80 * k, 80 * k + 80)), "parquet")
    with fsspec.open(f"{bucket}/lake/_SUCCESS", "wb") as file:
        file.write(b"")
    assert files_below(f"{bucket}/lake/")[1:] == [f"day=0{k}/part.parquet" for k in range(3)]
    same(mio.read(f"{bucket}/lake"))
    same(mio.convert_to_dataset(f"{bucket}/lake/", tmp_path / "a.mrd", format="parquet"))
    with pytest.warns(UserWarning, match="'qid' is taken as a feature"):
        by_day = mio.load_table(f"{bucket}/lake", qid="day")
    assert sorted(set(by_day.qid.tolist())) == ["00", "01", "02"]


def test_commands_take_urls_wherever_they_read(bucket, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    put(f"{bucket}/train.txt", DATA, "letor")
    put(f"{bucket}/lake/part.parquet", DATA, "parquet")
    with fsspec.open(f"{bucket}/w.txt", "wb") as file:
        file.write(b"1\n" * len(Y))
    assert run(["train", f"{bucket}/train.txt", "-o", "a.mrk", "--weights", f"{bucket}/w.txt"]) == 0
    np.testing.assert_array_equal(RankingModel.load("a.mrk").coef, EXPECTED.coef_)
    assert run(["train", f"{bucket}/lake", "-o", "b.mrk"]) == 0
    np.testing.assert_array_equal(RankingModel.load("b.mrk").coef, EXPECTED.coef_)
    assert run(["train", f"{bucket}/lake", "--validate", f"{bucket}/train.txt", "-o", "c.mrk"]) == 0
    assert run(["convert", f"{bucket}/lake", f"file://{tmp_path}/c.mrd"]) == 0
    same(mio.open_dataset("c.mrd"))
    assert run(["evaluate", f"{bucket}/train.txt", "a.mrk"]) == 0


def test_side_files_lie_beside_urls(bucket):
    bare = RankingData(X, Y)
    put(f"{bucket}/train.txt", bare, "letor")
    with fsspec.open(f"{bucket}/train.txt.query", "wb") as file:
        file.write(b"6\n" * 40)
    same(mio.read(f"{bucket}/train.txt", format="lightgbm"))
    with pytest.warns(UserWarning, match=r"train\.txt\.query"):
        assert mio.read(f"{bucket}/train.txt").qid is None


def test_a_conversion_does_not_resume_from_what_has_changed(bucket, tmp_path):
    put(f"{bucket}/a.txt", DATA, "letor")
    put(f"{bucket}/lake/a.parquet", DATA, "parquet")
    (tmp_path / "lake").mkdir()
    for place in (f"{bucket}/a.txt", f"{bucket}/lake", tmp_path / "lake"):
        before = stamp(place)
        assert stamp(place) == before
        inside = place if str(place).endswith(".txt") else f"{place}/b.parquet"
        put(str(inside), DATA.subset(np.arange(6)), "letor")
        assert stamp(place) != before


SENTENCES = {
    "s3://bucket/a.txt": r"s3://bucket/a\.txt: s3:// needs a package that is not installed\. .*s3fs",
    "gs://bucket/a.txt": r"gs://bucket/a\.txt: gs:// needs a package that is not installed\. .*gcsfs",
    "nowhere://bucket/a.txt": r"nowhere://bucket/a\.txt: expected a path, or a URL such as s3://",
}


@pytest.mark.parametrize("url", SENTENCES)
def test_a_url_that_cannot_be_read_says_why(url, monkeypatch):
    for package in ("s3fs", "gcsfs"):  # also where they are installed
        monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(MarginRankError, match=SENTENCES[url]):
        mio.read(url)


def test_without_fsspec_a_sentence_names_the_extra(monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "fsspec.core", None)
    with pytest.raises(MarginRankError, match=r"s3://bucket/a\.txt: URLs need fsspec.*'marginrank\[urls\]'"):
        mio.read("s3://bucket/a.txt")
    mio.write(DATA, tmp_path / "a.txt")
    same(mio.read(f"file://{tmp_path}/a.txt"))


class Failing(MemoryFileSystem):
    protocol = "failing"

    def _open(self, path, **options):
        raise RuntimeError("no credentials\nfor you")


def test_whatever_a_file_system_raises_names_the_url(monkeypatch):
    fsspec.register_implementation("failing", Failing, clobber=True)
    with pytest.raises(
        MarginRankError,
        match=r"^failing://a\.txt: the file system of this URL failed with "
        r"RuntimeError: no credentials for you\.$",
    ):
        mio.load_letor("failing://a.txt")


def test_a_url_of_nothing_is_no_file(bucket, capsys):
    with pytest.raises(FileNotFoundError, match=r"No such file or directory: 'memory://bucket/a\.txt'"):
        mio.read(f"{bucket}/a.txt")
    assert run(["train", f"{bucket}/a.txt", "-o", "a.mrk"]) == 1
    assert "memory://bucket/a.txt: No such file or directory" in capsys.readouterr().err


def test_what_is_written_and_data_sets_on_disk_lie_here(bucket, tmp_path):
    for call in (
        lambda: mio.write(DATA, f"{bucket}/a.txt"),
        lambda: mio.write_dataset(f"{bucket}/a.mrd", DATA),
        lambda: mio.convert_to_dataset(tmp_path / "a.txt", f"{bucket}/a.mrd"),
        lambda: mio.open_dataset(f"{bucket}/a.mrd"),
        lambda: mio.read(f"{bucket}/a.mrd"),
    ):
        with pytest.raises(
            MarginRankError, match=r"memory://bucket/a\.\w+: expected a path of this machine, got a URL"
        ):
            call()
    mio.write(DATA, f"file://{tmp_path}/a.txt")
    same(mio.read(tmp_path / "a.txt"))
