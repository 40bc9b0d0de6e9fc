"""Where data sets are prepared: nothing of anybody else's is touched, nothing of ours is left or lost."""

import errno
import os
import stat
from pathlib import Path

import numpy as np
import pytest

from marginrank import open_dataset, write_dataset
from marginrank.exceptions import MarginRankError
from marginrank.storage import stage_folder
from marginrank.system.temporary_names import fresh_name
from processes import before_operation, ended, in_child, killed_at, started

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs folders as descriptors, and fork")

QID = np.repeat(np.arange(4), 5)
X = np.random.default_rng(0).normal(size=(20, 2))
Y = np.tile([0.0, 1.0, 2.0, 0.0, 1.0], 4)


@pytest.fixture(autouse=True)
def no_waiting_for_the_disk(monkeypatch):
    """A process that dies takes nothing with it that the system has; only a power cut does."""
    monkeypatch.setattr(os, "fsync", lambda descriptor: None)


class StopError(Exception):
    """What stops a writing."""


def blocks(value=0.0, stop_after=None, then=None):
    for number, first in enumerate(range(0, 20, 5)):
        if number == stop_after:
            if then is None:
                raise StopError
            then()
        yield X[first : first + 5] + value, Y[first : first + 5], QID[first : first + 5]


def write(target, value=0.0, **options):
    return write_dataset(target, blocks(value), chunk_rows=5, **options)


def stop(target):
    with pytest.raises(StopError):
        write_dataset(target, blocks(stop_after=3), chunk_rows=5)


def value_of(target):
    """Return what was added to the features of a data set that is whole."""
    found = open_dataset(target)
    found.verify()
    difference = np.unique(np.round(found.in_memory().X - X, 9))
    assert found.n_rows == 20
    assert len(difference) == 1
    return float(difference[0])


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def everything(folder):
    return {
        str(path.relative_to(folder)): (path.read_bytes() if path.is_file() else os.lstat(path).st_mode)
        for path in folder.rglob("*")
    }


@pytest.fixture(params=["exchanged", "one after the other"])
def way(request, monkeypatch):
    """Both ways to replace a folder, whatever the system offers."""
    if request.param != "exchanged":
        monkeypatch.setattr(stage_folder, "_exchanged", lambda *_: False)


@pytest.fixture
def photos(tmp_path):
    folder = tmp_path / "photos"
    folder.mkdir()
    for name in ("a.jpg", "manifest.json", "chunk-000000.bin", "owner"):
        (folder / name).write_text("mine")
    return folder


@pytest.mark.parametrize("name", [".a.mrd.partial", ".a.mrd.old", "a stage"])
@pytest.mark.parametrize("overwrite", [False, True])
def test_a_link_beside_the_target_is_not_followed(tmp_path, photos, name, overwrite):
    if overwrite:
        write(tmp_path / "a.mrd")
    if name == "a stage":
        name = fresh_name("a.mrd", ".stage")
        (photos / "owner").write_bytes(stage_folder._content(tmp_path / "a.mrd"))
        (photos / "work").mkdir()
        (photos / "work" / "journal.json").write_text("mine")
    (tmp_path / name).symlink_to(photos)
    before = everything(photos)
    for resume in (False, True):
        write(tmp_path / "a.mrd", 1.0, overwrite=True, resume=resume)
    assert everything(photos) == before
    assert os.readlink(tmp_path / name) == str(photos)
    assert value_of(tmp_path / "a.mrd") == 1.0


@pytest.mark.parametrize("kind", ["file", "pipe", "empty owner", "no owner", "owner of another target"])
def test_what_is_only_named_like_ours_stays(tmp_path, kind):
    path = tmp_path / fresh_name("a.mrd", ".stage")
    if kind == "file":
        path.write_text("mine")
    elif kind == "pipe":
        os.mkfifo(path)
    else:
        (path / "work").mkdir(parents=True)
        (path / "work" / "chunk-000000.bin").write_text("mine")
        (path / "work" / "notes").write_text("mine")
        if kind == "owner of another target":
            (path / "owner").write_bytes(stage_folder._content(tmp_path / "b.mrd"))
        elif kind == "empty owner":  # a pipe: opening it must not wait
            os.mkfifo(path / "owner")
    before = everything(tmp_path)
    write(tmp_path / "a.mrd")
    write(tmp_path / "a.mrd", 1.0, overwrite=True, resume=True)
    after = everything(tmp_path)
    assert {name: after[name] for name in before} == before
    assert names(tmp_path) == sorted([path.name, "a.mrd"])


def test_files_of_others_in_a_folder_that_was_left_behind_stay_and_ours_go(tmp_path, photos):
    stop(tmp_path / "a.mrd")
    (stage,) = tmp_path.glob(".marginrank-*.stage")
    (stage / "work" / "notes.txt").write_text("mine")
    (stage / "work" / "chunk-000007.bin").symlink_to(photos / "a.jpg")
    (stage / "new" / "pairs.bin").mkdir()
    write(tmp_path / "a.mrd")
    assert names(stage / "work") == ["chunk-000007.bin", "notes.txt"]
    assert (photos / "a.jpg").read_text() == "mine"
    assert names(stage / "new") == ["pairs.bin"]
    assert value_of(tmp_path / "a.mrd") == 0.0


@pytest.mark.parametrize("foreign", ["notes.txt", "folder", "link"])
def test_a_data_set_that_holds_files_of_others_is_not_replaced(tmp_path, photos, foreign):
    target = write(tmp_path / "a.mrd").path
    if foreign == "folder":
        (target / foreign).mkdir()
    elif foreign == "link":
        foreign = "chunk-000099.bin"
        (target / foreign).symlink_to(photos)
    else:
        (target / foreign).write_text("mine")
    before = everything(tmp_path)
    with pytest.raises(MarginRankError, match=rf"holds what is no part of the data set \({foreign}\)"):
        write(target, 1.0, overwrite=True)
    assert everything(tmp_path) == before


def test_files_of_others_that_come_at_the_last_moment_are_not_lost_either(tmp_path, monkeypatch):
    target = write(tmp_path / "a.mrd").path
    check = stage_folder.check_target

    def late(path, overwrite):
        found = check(path, overwrite)
        (target / "notes.txt").write_text("mine")
        return found

    monkeypatch.setattr(stage_folder, "check_target", late)
    with pytest.raises(MarginRankError, match=r"notes\.txt"):
        write(target, 1.0, overwrite=True)
    assert (target / "notes.txt").read_text() == "mine"


def test_a_link_as_target_stays_a_link(tmp_path):
    (tmp_path / "big").mkdir()
    (tmp_path / "here").symlink_to(tmp_path / "big")
    for number, path in enumerate((tmp_path / "a.mrd", tmp_path / "here" / "b.mrd")):
        if number == 0:
            path.symlink_to(tmp_path / "big" / "a.mrd")  # to nothing, so far
        write(path)
        with pytest.raises(MarginRankError, match="overwrite=True"):
            write(path)
        write(path, 1.0, overwrite=True)
        assert value_of(path) == 1.0
    assert (tmp_path / "a.mrd").is_symlink()
    assert names(tmp_path / "big") == ["a.mrd", "b.mrd"]
    assert names(tmp_path) == ["a.mrd", "big", "here"]


@pytest.mark.parametrize("kind", ["file", "pipe", "folder", "link to a file"])
def test_a_target_that_is_something_else_is_refused_and_stays(tmp_path, photos, kind):
    target = tmp_path / "a.mrd"
    if kind == "file":
        target.write_text("mine")
    elif kind == "pipe":
        os.mkfifo(target)
    elif kind == "folder":
        target.mkdir()
    else:
        target.symlink_to(photos / "a.jpg")
    before = everything(tmp_path)
    for options in ({}, {"overwrite": True}, {"resume": True}):
        with pytest.raises(MarginRankError, match="is there already and is no data set"):
            write(target, **options)
    assert everything(tmp_path) == before


@pytest.mark.usefixtures("way")
def test_a_replaced_data_set_keeps_its_permissions(tmp_path):
    target = write(tmp_path / "a.mrd").path
    target.chmod(0o750)
    write(target, 1.0, overwrite=True)
    assert stat.S_IMODE(target.stat().st_mode) == 0o750
    assert names(tmp_path) == ["a.mrd"]


def test_the_folder_of_a_living_writer_is_neither_removed_nor_taken(tmp_path):
    target, seen = tmp_path / "a.mrd", []

    def meanwhile():
        for options in ({}, {"resume": True}, {"resume": True, "overwrite": True}):
            with pytest.raises(MarginRankError, match="is being written by another process"):
                write(target, 1.0, **options)
        assert not stage_folder.was_begun(target)
        write(target, 1.0, overwrite=True)
        assert value_of(target) == 1.0
        seen.append(names(tmp_path))

    write_dataset(target, blocks(2.0, 3, meanwhile), chunk_rows=5, overwrite=True)
    assert len(seen[0]) == 2
    assert value_of(target) == 2.0
    assert names(tmp_path) == ["a.mrd"]


def test_a_writer_that_must_not_overwrite_refuses_what_came_meanwhile_and_can_be_gone_on_with(tmp_path):
    target = tmp_path / "a.mrd"

    def meanwhile():
        write(target, 1.0, overwrite=True)

    with pytest.raises(MarginRankError, match="pass overwrite=True"):
        write_dataset(target, blocks(2.0, 3, meanwhile), chunk_rows=5)
    assert value_of(target) == 1.0
    write(target, 2.0, resume=True, overwrite=True)
    assert value_of(target) == 2.0
    assert names(tmp_path) == ["a.mrd"]


@pytest.mark.parametrize("comes_back", [False, True])
def test_a_target_that_another_writer_takes_away_meanwhile_is_no_foreign_folder(
    tmp_path, monkeypatch, comes_back
):
    target, away = tmp_path / "a.mrd", tmp_path / "b.mrd"
    write(target, 1.0)
    lexists, is_file = os.path.lexists, Path.is_file

    def seen_then_taken(path):
        found = lexists(path)
        if found and Path(path) == target:
            os.rename(target, away)
        return found

    def looked_for_then_brought_back(path, **named):
        found = is_file(path, **named)
        if comes_back and away.exists():
            os.rename(away, target)
        return found

    monkeypatch.setattr(os.path, "lexists", seen_then_taken)
    monkeypatch.setattr(Path, "is_file", looked_for_then_brought_back)
    assert stage_folder.check_target(target, overwrite=True) is comes_back


@pytest.mark.usefixtures("way")
@pytest.mark.parametrize("n_writers", [2, 5])
def test_of_writers_at_once_one_wins_whole(tmp_path, n_writers):
    target = tmp_path / "a.mrd"
    write(target, 99.0)
    gate, opener = os.pipe()

    def writer(number):
        def wait():  # until the last one is here, too
            os.write(opener, b"." * (n_writers if number == n_writers - 1 else 0))
            assert os.read(gate, 1) == b"."

        return lambda: write_dataset(target, blocks(number, 3, wait), chunk_rows=5, overwrite=True)

    children = [started(writer(number)) for number in range(n_writers)]
    assert [ended(pid) for pid in children] == [0] * n_writers
    os.close(gate)
    os.close(opener)
    assert value_of(target) in range(n_writers)
    assert names(tmp_path) == ["a.mrd"]


@pytest.mark.usefixtures("way")
@pytest.mark.parametrize("there", [False, True])
@pytest.mark.parametrize("resume", [False, True])
def test_a_writer_that_is_killed_anywhere_loses_nothing_and_leaves_nothing_for_long(tmp_path, there, resume):
    number = 0
    while True:
        folder = tmp_path / str(number)
        folder.mkdir()
        target = folder / "a.mrd"
        if there:
            write(target, 1.0)
        died = killed_at(number, lambda target=target: write(target, 2.0, overwrite=True))
        if target.exists():
            assert value_of(target) in ((1.0, 2.0) if there else (2.0,))
        elif there:  # between the two steps of a replacement
            (old,) = folder.glob(".marginrank-*.stage/old")
            assert value_of(old) == 1.0
        write(target, 2.0, overwrite=True, resume=resume)
        assert value_of(target) == 2.0
        assert names(folder) == ["a.mrd"]
        if not died:
            break
        number += 1
    assert number > 30


@pytest.mark.usefixtures("way")
def test_a_writer_that_is_killed_while_it_removes_what_another_left_harms_nothing(tmp_path):
    number = 0
    while True:
        folder = tmp_path / str(number)
        folder.mkdir()
        write(folder / "a.mrd", 1.0)
        with pytest.raises(StopError):
            write_dataset(folder / "a.mrd", blocks(stop_after=3), chunk_rows=5, overwrite=True)
        died = killed_at(number, lambda folder=folder: write(folder / "a.mrd", 2.0, overwrite=True))
        write(folder / "a.mrd", 3.0, overwrite=True)
        assert value_of(folder / "a.mrd") == 3.0
        assert names(folder) == ["a.mrd"]
        if not died:
            break
        number += 3
    assert number > 30


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EROFS])
def test_a_disk_that_is_full_or_cannot_be_written_loses_nothing(tmp_path, code):
    number, done = 0, False

    def fail():
        raise OSError(code, os.strerror(code))

    while not done:
        folder = tmp_path / str(number)
        folder.mkdir()
        target = folder / "a.mrd"
        write(target, 1.0)
        undo, told = before_operation(number, fail), None
        try:
            write(target, 2.0, overwrite=True)
            done = True
        except MarginRankError as error:
            told = str(error)
        finally:
            undo()
        assert told is None or (str(target) in told and os.strerror(code) in told)
        assert value_of(target) in (1.0, 2.0)
        write(target, 3.0, overwrite=True)
        assert value_of(target) == 3.0
        assert names(folder) == ["a.mrd"]
        number += 1
    assert number > 30


def test_a_stopped_writing_that_is_not_gone_on_with_is_removed_by_the_next(tmp_path):
    for _ in range(3):
        stop(tmp_path / "a.mrd")
        assert len(names(tmp_path)) == 1
    stop(tmp_path / "b.mrd")
    assert stage_folder.was_begun(tmp_path / "a.mrd")
    write(tmp_path / "a.mrd")
    assert not stage_folder.was_begun(tmp_path / "a.mrd")
    assert stage_folder.was_begun(tmp_path / "b.mrd")
    write(tmp_path / "b.mrd", resume=True)
    assert names(tmp_path) == ["a.mrd", "b.mrd"]


def test_a_data_set_whose_replacement_was_cut_short_comes_back_before_anything_else(tmp_path, monkeypatch):
    target = write(tmp_path / "a.mrd", 1.0).path
    monkeypatch.setattr(stage_folder, "_exchanged", lambda *_: False)

    def dying():
        stage_folder.os.rename = lambda *arguments, rename=os.rename, **options: (
            rename(*arguments, **options),
            os._exit(0),
        )
        write(target, 2.0, overwrite=True)

    in_child(dying)
    assert not target.exists()
    with pytest.raises(MarginRankError, match="pass overwrite=True"):
        write(target, 3.0)
    assert value_of(target) == 1.0


def test_a_fault_that_comes_once_while_the_folder_is_removed_leaves_nothing(tmp_path, monkeypatch):
    remove, failed = stage_folder._remove, []

    def once(name, folder):
        if name == stage_folder._WORK and not failed:
            failed.append(name)
            return False
        return remove(name, folder)

    monkeypatch.setattr(stage_folder, "_remove", once)
    write_dataset(tmp_path / "a.mrd", blocks(), chunk_rows=5)
    assert failed
    assert os.listdir(tmp_path) == ["a.mrd"]
