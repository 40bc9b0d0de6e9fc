"""Writers replace a file as a whole or not at all."""

import errno
import gzip
import os
import stat

import numpy as np
import pytest
from scipy import sparse

from marginrank import RankingData, dump_letor, load_letor
from marginrank.exceptions import MarginRankError
from marginrank.io.destinations import write_lines
from marginrank.system import atomic_write

DATA = RankingData([[0.5, 0.0], [0.0, 0.1]], y=[1, 0], qid=["a", "a"], comments=["docid = X", ""])
TEXT = b"1 qid:a 1:0.5 2:0 #docid = X\n0 qid:a 2:0.1\n"


def refuses(message):
    return pytest.raises(MarginRankError, match=message)


def test_the_text_is_what_people_write(tmp_path):
    dump_letor(DATA, tmp_path / "a.txt")
    assert (tmp_path / "a.txt").read_bytes() == TEXT


def test_other_comments_can_be_given(tmp_path):
    dump_letor(DATA, tmp_path / "a.txt", comments=["", "b"])
    assert load_letor(tmp_path / "a.txt").comments.tolist() == ["", "b"]


def test_many_rows_come_back(tmp_path):
    X = sparse.random(10_000, 30, density=0.1, format="csr", random_state=0)
    y = np.random.default_rng(0).normal(size=10_000)
    dump_letor(RankingData(X, y), tmp_path / "a.txt")
    back = load_letor(tmp_path / "a.txt", dense=False)
    assert (back.X != X).nnz == 0
    assert np.array_equal(back.y, y)


def test_the_users_matrix_is_left_alone(tmp_path):
    X = sparse.csr_matrix((np.array([1.0, 2.0, 4.0]), np.array([1, 0, 1]), np.array([0, 3])), shape=(1, 2))
    data = RankingData(X, [1.0])
    dump_letor(data, tmp_path / "a.txt")
    assert (tmp_path / "a.txt").read_bytes() == b"1 1:2 2:5\n"
    assert X.indices.tolist() == [1, 0, 1]


def test_an_ending_gz_is_compressed(tmp_path):
    dump_letor(DATA, tmp_path / "a.txt.gz")
    assert gzip.decompress((tmp_path / "a.txt.gz").read_bytes()) == TEXT


@pytest.mark.parametrize("comment", ["a\nb", "a\0", "a\r"])
def test_comments_of_several_lines_are_refused(comment, tmp_path):
    with refuses("A comment must be one line without NUL; that of row 1"):
        dump_letor(DATA, tmp_path / "a.txt", comments=["", comment])


@pytest.mark.parametrize("query", ["", "a b", "a#b", "a\tb", "a\nb", "a\0"])
def test_ids_that_are_no_word_are_refused(query, tmp_path):
    with refuses("Ids in text files .qid. must be one word"):
        dump_letor(RankingData([[1]], y=[1], qid=[query]), tmp_path / "a.txt")


def test_ids_that_look_alike_are_refused(tmp_path):
    with refuses("Queries 1 and '1' are both written as '1'"):
        dump_letor(RankingData([[1], [2]], y=[1, 2], qid=[1, "1"]), tmp_path / "a.txt")


def test_data_without_labels_are_refused(tmp_path):
    with refuses("hold pairs and no y"):
        dump_letor(RankingData([[1], [2]], pairs=[[0, 1]]), tmp_path / "a.txt")
    assert list(tmp_path.iterdir()) == []


def test_what_is_no_destination_is_refused():
    with refuses("destination must be a path or a binary file object"):
        dump_letor(DATA, 3)


class TestAtomic:
    @pytest.fixture
    def old(self, tmp_path):
        path = tmp_path / "a.txt"
        path.write_bytes(b"old")
        return path

    @pytest.mark.parametrize("error", [KeyboardInterrupt, ValueError, MemoryError])
    def test_a_writer_that_fails_leaves_the_old_file(self, old, error):
        def half_of_the_lines():
            yield "half"
            raise error

        with pytest.raises(error):
            write_lines(old, half_of_the_lines())
        assert old.read_bytes() == b"old"
        assert [path.name for path in old.parent.iterdir()] == ["a.txt"]

    @pytest.mark.parametrize("step", ["fsync", "replace"])
    def test_a_full_disk_leaves_the_old_file(self, old, step, monkeypatch):
        def full(*_):
            raise OSError(errno.ENOSPC, "No space left on device")

        monkeypatch.setattr(atomic_write.os, step, full)
        with pytest.raises(OSError, match="No space left"):
            dump_letor(DATA, old)
        monkeypatch.undo()
        assert old.read_bytes() == b"old"
        assert [path.name for path in old.parent.iterdir()] == ["a.txt"]

    def test_a_device_that_is_full_is_an_error(self):
        with pytest.raises(OSError, match="No space left"):
            dump_letor(DATA, "/dev/full")

    def test_a_folder_that_is_not_there_is_an_error(self, tmp_path):
        with pytest.raises(FileNotFoundError):
            dump_letor(DATA, tmp_path / "none" / "a.txt")

    def test_permissions_stay(self, old):
        old.chmod(0o640)
        dump_letor(DATA, old)
        assert stat.S_IMODE(old.stat().st_mode) == 0o640

    def test_new_files_have_the_usual_permissions(self, tmp_path):
        usual = tmp_path / "usual"
        usual.touch()
        dump_letor(DATA, tmp_path / "a.txt")
        assert (tmp_path / "a.txt").stat().st_mode == usual.stat().st_mode

    def test_a_link_stays_a_link(self, old):
        link = old.parent / "link"
        link.symlink_to(old)
        dump_letor(DATA, link)
        assert link.is_symlink()
        assert old.read_bytes() == TEXT

    def test_a_pipe_is_written_to_directly(self):
        reading, writing = os.pipe()
        try:
            dump_letor(DATA, f"/dev/fd/{writing}")
            os.close(writing)
            assert os.read(reading, 1000) == TEXT
        finally:
            os.close(reading)
