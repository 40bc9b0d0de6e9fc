"""A file is written whole or not at all."""

import errno
import os
import stat

import pytest

from marginrank.system.atomic_write import atomic_write
from marginrank.system.temporary_names import FILE, fresh_name
from processes import ended, in_child, killed_at, started

OLD, NEW = b"what was there", b"what came"


@pytest.fixture
def target(tmp_path):
    path = tmp_path / "out.bin"
    path.write_bytes(OLD)
    return path


def disk_full(*_):
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def write_half(target, error):
    with atomic_write(target) as file:
        file.write(NEW)
        raise error


def assert_untouched(target):
    assert target.read_bytes() == OLD
    assert os.listdir(target.parent) == [target.name]


def test_file_is_replaced_and_nothing_else_is_left(target):
    with atomic_write(target) as file:
        file.write(NEW)
    assert target.read_bytes() == NEW
    assert os.listdir(target.parent) == [target.name]


def test_old_file_stands_until_the_block_ends(target):
    with atomic_write(target) as file:
        file.write(NEW)
        file.flush()
        assert target.read_bytes() == OLD
    assert target.read_bytes() == NEW


@pytest.mark.parametrize("error", [RuntimeError, KeyboardInterrupt, SystemExit])
def test_error_in_the_block_leaves_the_old_file_and_no_other(target, error):
    with pytest.raises(error):
        write_half(target, error)
    assert_untouched(target)


@pytest.mark.parametrize("call", ["fsync", "replace"])
def test_full_disk_leaves_the_old_file_and_no_other(target, call, monkeypatch):
    monkeypatch.setattr(os, call, disk_full)
    with pytest.raises(OSError, match="No space left"), atomic_write(target) as file:
        file.write(NEW)
    monkeypatch.undo()
    assert_untouched(target)


def test_error_leaves_no_file_where_there_was_none(tmp_path):
    with pytest.raises(RuntimeError):
        write_half(tmp_path / "out.bin", RuntimeError)
    assert os.listdir(tmp_path) == []


def test_folder_that_is_not_there_is_an_error(tmp_path):
    with pytest.raises(FileNotFoundError), atomic_write(tmp_path / "missing" / "out.bin"):
        pass


def test_folder_as_target_is_an_error(tmp_path):
    with pytest.raises(IsADirectoryError), atomic_write(tmp_path):
        pass
    assert os.listdir(tmp_path) == []


@pytest.mark.skipif(os.name == "nt", reason="permissions are those of POSIX")
def test_new_file_has_usual_permissions_and_a_replaced_one_keeps_its_own(tmp_path, target):
    target.chmod(0o640)
    plain = tmp_path / "plain"
    plain.touch()
    for path in (target, tmp_path / "new"):
        with atomic_write(path) as file:
            file.write(NEW)
    assert stat.S_IMODE(target.stat().st_mode) == 0o640
    assert (tmp_path / "new").stat().st_mode == plain.stat().st_mode


@pytest.mark.skipif(os.name == "nt", reason="links need rights there")
def test_link_stays_a_link_to_the_new_content(tmp_path, target):
    link = tmp_path / "link"
    link.symlink_to(target)
    with atomic_write(link) as file:
        file.write(NEW)
    assert link.is_symlink()
    assert target.read_bytes() == NEW


@pytest.mark.skipif(not os.path.exists("/dev/null"), reason="no such device")
def test_device_is_written_to_and_not_replaced():
    with atomic_write("/dev/null") as file:
        file.write(NEW)
    assert stat.S_ISCHR(os.stat("/dev/null").st_mode)


def test_name_as_long_as_the_file_system_takes_works(tmp_path):
    path = tmp_path / ("n" * 255)
    with atomic_write(path) as file:
        file.write(NEW)
    assert path.read_bytes() == NEW


def test_path_may_be_a_string_relative_to_the_working_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with atomic_write("out.bin") as file:
        file.write(NEW)
    assert (tmp_path / "out.bin").read_bytes() == NEW


needs_fork = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork and locks")


def killed_in_the_middle(target):
    def half():
        with atomic_write(target) as file:
            file.write(NEW)
            os._exit(0)

    assert in_child(half) == 0


@needs_fork
def test_what_a_killed_writer_left_is_removed_by_the_next_one_to_the_same_file_only(target):
    killed_in_the_middle(target)
    other = target.with_name("other")
    killed_in_the_middle(other)
    assert len(os.listdir(target.parent)) == 3
    with atomic_write(target) as file:
        file.write(NEW)
    assert len(os.listdir(target.parent)) == 2
    with atomic_write(other) as file:
        file.write(NEW)
    assert sorted(os.listdir(target.parent)) == ["other", target.name]


@needs_fork
def test_what_a_living_writer_has_is_left_to_it(target):
    with atomic_write(target) as first:
        first.write(NEW)
        with atomic_write(target) as second:
            second.write(b"between")
        assert target.read_bytes() == b"between"
    assert target.read_bytes() == NEW
    assert os.listdir(target.parent) == [target.name]


@needs_fork
def test_what_is_only_named_like_a_temporary_file_stays(tmp_path, target):
    (tmp_path / "mine").write_bytes(OLD)
    made = [tmp_path / fresh_name(target.name, FILE) for _ in range(4)]
    made[0].symlink_to(tmp_path / "mine")
    os.mkfifo(made[1])  # opening it must not wait
    made[2].mkdir()
    os.link(tmp_path / "mine", made[3])
    with atomic_write(target) as file:
        file.write(NEW)
    assert all(os.path.lexists(path) for path in made)
    assert (tmp_path / "mine").read_bytes() == OLD


@needs_fork
def test_a_writer_that_is_killed_anywhere_leaves_the_old_file_or_the_new_one(target, monkeypatch):
    monkeypatch.setattr(os, "fsync", lambda descriptor: None)

    def replace():
        with atomic_write(target) as file:
            file.write(NEW)

    number = 0
    while killed_at(number, replace):
        assert target.read_bytes() in (OLD, NEW)
        target.write_bytes(OLD)
        number += 1
    assert number > 3
    replace()
    assert target.read_bytes() == NEW
    assert os.listdir(target.parent) == [target.name]


@needs_fork
def test_of_many_writers_at_once_one_wins_whole(target):
    gate, opener = os.pipe()
    size = 1 << 20

    def writer(number):
        def write():
            os.write(opener, b"." * (5 if number == 4 else 0))
            assert os.read(gate, 1) == b"."
            for _ in range(5):
                with atomic_write(target) as file:
                    file.write(bytes([number]) * size)

        return write

    children = [started(writer(number)) for number in range(5)]
    assert [ended(pid) for pid in children] == [0] * 5
    os.close(gate)
    os.close(opener)
    found = target.read_bytes()
    assert (len(found), len(set(found))) == (size, 1)
    assert os.listdir(target.parent) == [target.name]


def test_an_error_names_the_file_that_was_to_be_written(target, monkeypatch):
    monkeypatch.setattr(os, "fsync", disk_full)
    with pytest.raises(OSError, match=r"out\.bin"), atomic_write(target) as file:
        file.write(NEW)
