"""Checkpoints: a training that was stopped goes on to the same bits, and none goes on from a wrong place."""

import errno
import hashlib
import os
import signal
import subprocess
import sys
import textwrap
from itertools import pairwise

import numpy as np
import pytest
from dask_cases import ranking_data, serially
from sklearn.base import clone

from limits import HANG
from marginrank import RankRLS, RankSVM, StructuredRankSVM, write_dataset
from marginrank.distributed import DaskRanker
from marginrank.distributed import journal as journal_module
from marginrank.distributed.journal import Journal, JournalledEngine, journalled
from marginrank.distributed.journal_records import MAGIC, pack, unpack
from marginrank.exceptions import MarginRankError
from marginrank.storage.engines import EngineRequest

CASES = {
    "hinge": RankSVM(alpha=1e-2),
    "newton, alpha by folds": RankSVM(
        "squared_hinge", alpha="auto", alphas=[0.1, 0.01], cv=2, solver="newton", scale="minmax"
    ),
    "least squares, alpha by a set": RankRLS(alpha="auto", alphas=[0.1, 0.01], solver="cg"),
    "structured": StructuredRankSVM({"map": 1.0, "ndcg@5": 0.5}, alpha=0.1, relevance=1),
}


class StoppedError(Exception):
    pass


class Flaky:
    """An engine that answers only so often, and counts."""

    def __init__(self, engine, calls):
        self.engine, self.calls, self.made = engine, calls, 0
        self.prepare = engine.prepare

    def gather(self, *arguments):
        return self._pass(self.engine.gather, *arguments)

    def tree_sum(self, *arguments):
        return self._pass(self.engine.tree_sum, *arguments)

    def together(self, *arguments):
        return self._pass(self.engine.together, *arguments)

    def _pass(self, ask, *arguments):
        if self.made == self.calls:
            raise StoppedError
        self.made += 1
        return ask(*arguments)


@pytest.fixture(name="path")
def data_on_disk(tmp_path):
    write_dataset(tmp_path / "a.mrd", ranking_data(csr=True), chunk_rows=100)
    return tmp_path / "a.mrd"


def train(estimator, path, journal, calls, *, resume, **options):
    """Train through an engine that stops after some calls; return the calls it got."""
    data = serially(path)
    flaky = Flaky(data.X.engine, calls)
    sets = serially(path) if isinstance(estimator, RankRLS) else None
    with journalled(data, sets, journal, {"a": "b"}, resume=resume) as (rows, validation):
        rows.X.engine._engine = flaky
        estimator.fit(rows, eval_set=validation, **options)
    return flaky.made


@pytest.mark.parametrize("name", CASES)
def test_a_training_stopped_anywhere_goes_on_to_the_same_bits(name, path, tmp_path):
    estimator, journal = CASES[name], tmp_path / "train.journal"
    sets = serially(path) if isinstance(estimator, RankRLS) else None
    expected = estimator.fit(serially(path), eval_set=sets).coef_.copy()
    total = train(estimator, path, journal, 10**6, resume=False)
    assert np.array_equal(estimator.coef_, expected)
    journal.unlink()
    steps = [1, 2, total // 2, total - 1]
    with pytest.raises(StoppedError):
        train(estimator, path, journal, steps[0], resume=False)
    for before, step in pairwise(steps):
        with pytest.raises(StoppedError):
            train(estimator, path, journal, step - before, resume=True)
    # Nothing that was answered before is asked again.
    assert train(estimator, path, journal, 10**6, resume=True) == 1
    assert np.array_equal(estimator.coef_, expected)
    assert train(estimator, path, journal, 0, resume=True) == 0
    assert np.array_equal(estimator.coef_, expected)


def test_the_model_that_an_interrupt_leaves_is_no_part_of_the_checkpoint(path, tmp_path):
    estimator, journal = clone(CASES["newton, alpha by folds"]), tmp_path / "train.journal"
    expected = clone(estimator).fit(serially(path))
    seen = []

    def interrupt(progress):
        seen.append(progress)
        if len(seen) == 8:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        train(estimator, path, journal, 10**6, resume=False, callbacks=interrupt)
    assert estimator.alpha_ in (0.1, 0.01)
    resumed = clone(estimator)
    train(resumed, path, journal, 10**6, resume=True)
    np.testing.assert_array_equal(resumed.coef_, expected.coef_)


def test_a_torn_record_is_dropped(path, tmp_path):
    estimator, journal = CASES["hinge"], tmp_path / "train.journal"
    total = train(estimator, path, journal, 10**6, resume=False)
    expected, whole = estimator.coef_.copy(), journal.read_bytes()
    with open(journal, "rb") as file:
        ends = [end for _, _, end in unpack(file)]
    assert ends[-1] == len(whole)
    assert len(ends) == total + 1
    damaged = bytearray(whole)
    damaged[ends[-2] + 40] ^= 1
    for content in (whole[: ends[-2] + 7], whole[: ends[-1] - 1], bytes(damaged)):
        journal.write_bytes(content)
        assert train(estimator, path, journal, 10**6, resume=True) == 1
        assert np.array_equal(estimator.coef_, expected)
        assert journal.read_bytes() == whole


def raw_record(text):
    record = len(text).to_bytes(8, "little") + bytes(8) + text
    return record + hashlib.sha256(record).digest()


def test_an_answer_that_differs_in_one_bit_is_asked_again(path, tmp_path):
    estimator, journal = CASES["hinge"], tmp_path / "train.journal"
    train(estimator, path, journal, 10**6, resume=False)
    expected, whole = estimator.coef_.copy(), journal.read_bytes()
    damaged = bytearray(whole)
    damaged[-32 - 8] ^= 1  # a number of the last answer, before the checksum
    journal.write_bytes(damaged)
    assert train(estimator, path, journal, 10**6, resume=True) == 1
    assert np.array_equal(estimator.coef_, expected)
    assert journal.read_bytes() == whole


@pytest.mark.parametrize("resume", [False, True])
@pytest.mark.parametrize("content", [b"", MAGIC[:5], MAGIC])
def test_a_journal_without_its_header_blocks_nothing(path, tmp_path, resume, content):
    estimator, journal = CASES["hinge"], tmp_path / "train.journal"
    journal.write_bytes(content)
    assert train(estimator, path, journal, 10**6, resume=resume) > 0
    assert train(estimator, path, journal, 0, resume=True) == 0


def test_a_full_disk_leaves_no_journal_or_a_good_one(path, tmp_path, monkeypatch):
    estimator, journal = CASES["hinge"], tmp_path / "train.journal"
    total = train(estimator, path, journal, 10**6, resume=False)
    expected, whole = estimator.coef_.copy(), journal.read_bytes()
    write_all = journal_module._write_all
    for n_bytes in (0, 10, len(MAGIC) + 30, len(whole) // 2, len(whole) - 5):
        journal.unlink(missing_ok=True)
        room = [n_bytes]

        def write(file, record, room=room):
            write_all(file, record[: room[0]])
            if len(record) > room[0]:
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            room[0] -= len(record)

        monkeypatch.setattr(journal_module, "_write_all", write)
        with pytest.raises(MarginRankError, match=r"cannot write (a|the) checkpoint \(No space left"):
            train(estimator, path, journal, 10**6, resume=False)
        monkeypatch.setattr(journal_module, "_write_all", write_all)
        if n_bytes < 100:
            assert sorted(found.name for found in tmp_path.iterdir()) == ["a.mrd"]
        resume = journal.exists()
        assert train(estimator, path, journal, 10**6, resume=resume) <= total
        assert np.array_equal(estimator.coef_, expected)
        assert journal.read_bytes() == whole


def test_two_trainings_do_not_go_on_from_one_journal_at_once(tmp_path):
    first = Journal(tmp_path / "j", {}, resume=False)
    with pytest.raises(MarginRankError, match="another process is going on from this checkpoint"):
        Journal(tmp_path / "j", {}, resume=True)
    first.close()
    Journal(tmp_path / "j", {}, resume=True).close()


def test_what_is_no_file_is_no_journal(tmp_path):
    os.mkfifo(tmp_path / "pipe")  # opening it must not wait
    for name, what in (("pipe", "a pipe"), (".", "a folder"), ("none", "No such file")):
        with pytest.raises(MarginRankError, match=f"cannot read the checkpoint .*{what}"):
            Journal(tmp_path / name, {}, resume=True)
    with pytest.raises(MarginRankError, match="there is a checkpoint already"):
        Journal(tmp_path / "pipe", {}, resume=False)
    (tmp_path / "link").symlink_to("nothing")
    with pytest.raises(MarginRankError, match="there is a checkpoint already"):
        Journal(tmp_path / "link", {}, resume=False)


def test_a_wrong_place_to_go_on_from_is_refused(path, tmp_path):
    journal = tmp_path / "train.journal"
    with pytest.raises(MarginRankError, match="cannot read the checkpoint"):
        train(RankSVM(), path, journal, 0, resume=True)
    train(RankSVM(alpha=0.1), path, journal, 10**6, resume=False)
    with pytest.raises(MarginRankError, match="there is a checkpoint already"):
        train(RankSVM(alpha=0.1), path, journal, 0, resume=False)
    with pytest.raises(MarginRankError, match="is to another question"):
        train(RankSVM("squared_hinge", alpha=0.1), path, journal, 0, resume=True)
    other = write_dataset(tmp_path / "b.mrd", ranking_data(), chunk_rows=100)
    with pytest.raises(MarginRankError, match="of a training with other data"):
        train(RankSVM(alpha=0.1), other.path, journal, 0, resume=True)
    with (
        pytest.raises(MarginRankError, match="with other parameters"),
        journalled(serially(path), None, journal, {"a": "c"}, resume=True),
    ):
        pass
    records = [{"header": header} for header in ([], 7, None, "data parameters", ["data", "parameters"])]
    sealed = [MAGIC + pack(record) for record in ({}, {"other": 1}, *records)]
    for content in (
        b"PK" * 100,
        MAGIC + b"\xff" * 100,
        *sealed,
        MAGIC + raw_record(b"[]"),
        MAGIC + raw_record(b"7"),
    ):
        journal.write_bytes(content)
        with pytest.raises(MarginRankError, match="expected a checkpoint of marginrank"):
            train(RankSVM(), path, journal, 0, resume=True)


def test_questions_that_differ_in_anything_are_told_apart(tmp_path):
    asked = []

    class Silent:
        def prepare(self, make, chunks, parts):
            return None

        def gather(self, *question):
            asked.append(question)
            return [np.zeros(1)]

        tree_sum = together = gather

    class Seen(Journal):
        def answer(self, inputs, ask):
            seen.append(inputs)
            return super().answer(inputs, ask)

    seen = []
    journal = Seen(tmp_path / "j", {}, resume=False)
    one, two = (JournalledEngine(Silent(), journal, name) for name in "ab")
    handle = one.prepare(None, [0, 1], [None, np.arange(2)])
    one.gather(handle, np.sum, np.zeros(2))
    two.gather(two.prepare(None, [0, 1], [None, np.arange(2)]), np.sum, np.zeros(2))
    one.tree_sum(handle, np.sum, np.zeros(2))
    one.gather(handle, np.dot, np.zeros(2))
    one.gather(handle, np.sum, np.zeros(2, dtype="f4"))
    one.gather(handle, np.sum, np.zeros((2, 1)))
    one.gather(handle, np.sum, None, [np.zeros(2)])
    one.gather(one.prepare(None, [0, 2], [None, np.arange(2)]), np.sum, np.zeros(2))
    one.gather(one.prepare(None, [0, 1], [None, np.arange(1, 3)]), np.sum, np.zeros(2))
    one.together([EngineRequest("gather", handle, np.sum, np.zeros(2))])
    one.together([EngineRequest("tree_sum", handle, np.sum, np.zeros(2))])
    one.together([EngineRequest("gather", handle, np.sum, np.zeros(2))] * 2)
    journal.close()
    assert len(set(seen)) == len(seen) == len(asked) == 12


def test_a_driver_that_is_killed_goes_on(client, path, tmp_path):
    journal = tmp_path / "train.journal"
    script = textwrap.dedent(
        f"""
        import os, signal
        from distributed import Client
        from marginrank import RankSVM
        from marginrank.distributed import DaskRanker

        def die(progress):
            if progress.iteration == 3:
                os.kill(os.getpid(), signal.SIGKILL)

        with Client({client.scheduler.address!r}, timeout={HANG}) as client:
            ranker = DaskRanker(RankSVM(alpha=1e-2), client, checkpoint={str(journal)!r}, timeout={HANG})
            ranker.fit({str(path)!r}, callbacks=die)
        """
    )
    died = subprocess.run([sys.executable, "-c", script], timeout=HANG, check=False)
    assert died.returncode == -signal.SIGKILL
    size = os.path.getsize(journal)
    ranker = DaskRanker(RankSVM(alpha=1e-2), client, resume=journal, timeout=HANG).fit(path)
    assert os.path.getsize(journal) > size
    assert np.array_equal(ranker.estimator_.coef_, RankSVM(alpha=1e-2).fit(serially(path)).coef_)
    with pytest.raises(MarginRankError, match="with other parameters"):
        DaskRanker(RankSVM(alpha=1e-3), client, resume=journal, timeout=HANG).fit(path)
    with pytest.raises(MarginRankError, match="give one of the two"):
        DaskRanker(RankSVM(), client, resume=journal, checkpoint=journal)
