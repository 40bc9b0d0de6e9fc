"""What may happen to a cluster in the middle of a training: the same bits, or one clear sentence."""

import os
import signal
import time
from contextlib import suppress
from threading import Timer

import dask
import numpy as np
import pytest
from dask_cases import ranking_data, serially
from distributed import Client, LocalCluster

from limits import HANG
from marginrank import RankSVM, write_dataset
from marginrank.distributed import DaskRanker, disk_chunks
from marginrank.distributed import cluster as cluster_module
from marginrank.distributed.cluster import Cluster, WorkersGoneError
from marginrank.exceptions import ClusterError, MarginRankError

# Nannies and the scheduler tell of what is done to them here.
pytestmark = pytest.mark.filterwarnings("ignore")


# Not shared: a nanny whose worker is killed while it starts gives up for good.
@pytest.fixture(name="cluster")
def cluster_to_break():
    with (
        # A local cluster gives up on workers that take longer than this to come back.
        dask.config.set({"distributed.deploy.lost-worker-timeout": HANG}),
        LocalCluster(
            n_workers=2,
            threads_per_worker=1,
            processes=True,
            dashboard_address="127.0.0.1:0",
            silence_logs=60,
        ) as cluster,
    ):
        yield cluster


@pytest.fixture(name="breakable")
def client_of_cluster_to_break(cluster):
    with Client(cluster, set_as_default=False) as client:
        client.wait_for_workers(2, timeout=HANG)
        yield client


@pytest.fixture(name="path")
def data_on_disk(tmp_path):
    write_dataset(tmp_path / "a.mrd", ranking_data(), chunk_rows=60)
    return tmp_path / "a.mrd"


def estimator():
    return RankSVM(alpha=1e-4, tol=1e-6)


class At:
    """A callback that does something once at each of some iterations."""

    def __init__(self, iterations, action):
        self.iterations = set(iterations)
        self.action = action

    def __call__(self, progress):
        if progress.iteration in self.iterations:
            self.iterations.remove(progress.iteration)
            self.action()


def one_pid(cluster, rng):
    pids = [nanny.pid for nanny in cluster.workers.values() if nanny.pid]
    return pids[rng.integers(len(pids))] if pids else None


def await_replacements(cluster, client, timers, killed):
    """Wait until all that shall be killed is dead and replaced, and every nanny knows its worker.

    A nanny gives up on a worker that dies while it starts, though the scheduler may know it by then.
    """
    for timer in timers:
        timer.join()
    deadline = time.monotonic() + HANG

    def is_well(nanny):
        process = nanny.process
        return process is not None and process.status.name == "running" and nanny.pid not in killed

    while True:
        nannies = list(cluster.workers.values())
        if all(map(is_well, nannies)) and {one.worker_address for one in nannies} == set(client.nthreads()):
            return
        assert time.monotonic() < deadline, "A worker was not replaced."
        time.sleep(0.01)


def kill(pid):
    with suppress(ProcessLookupError, TypeError):
        os.kill(pid, signal.SIGKILL)


def test_what_is_sent_to_a_worker_that_has_left_is_a_failure_of_the_cluster(breakable):
    left = "tcp://127.0.0.1:9"
    vector = np.zeros(cluster_module._LARGE)
    with pytest.raises(WorkersGoneError, match=left):
        Cluster(breakable, HANG, retries=0).sent(vector, vector.nbytes, [left])


def test_an_answer_that_is_lost_before_it_is_fetched_is_a_failure_of_the_cluster(
    cluster, breakable, monkeypatch
):
    real = cluster_module.wait

    def wait_and_lose(*arguments, **named):
        real(*arguments, **named)
        for nanny in list(cluster.workers.values()):
            cluster.sync(nanny.close)

    monkeypatch.setattr(cluster_module, "wait", wait_and_lose)
    workers = Cluster(breakable, HANG, retries=0)
    home = workers.workers()[0]
    with pytest.raises(WorkersGoneError, match=home):
        workers.collect({home: workers.submit(sum, [1, 2], worker=home)})


@pytest.mark.parametrize("laid_down", [False, True], ids=["sent along", "laid down"])
def test_killed_workers_change_no_bit(cluster, breakable, path, tmp_path, monkeypatch, laid_down):
    if laid_down:  # vectors go to the workers before the tasks, and are lost with them
        monkeypatch.setattr(cluster_module, "_LARGE", 64)
        path = tmp_path / "global.mrd"
        write_dataset(path, ranking_data(queries=False), chunk_rows=60)
    expected = estimator().fit(serially(path)).coef_
    rng = np.random.default_rng(0)
    timers, killed = [], []

    def kill_soon():
        await_replacements(cluster, breakable, timers, killed)
        killed.append(one_pid(cluster, rng))
        # Somewhere in the passes that follow, which take some hundredths of a second each, or later.
        timers.append(Timer(rng.uniform(0.0, 0.1), kill, killed[-1:]))
        timers[-1].start()

    killer = At([1, 3, 4, 7], kill_soon)
    try:
        ranker = DaskRanker(estimator(), breakable, timeout=HANG).fit(path, callbacks=killer)
    finally:
        for timer in timers:
            timer.join()
    assert not killer.iterations
    assert np.array_equal(ranker.estimator_.coef_, expected)


def test_a_file_that_is_cut_short_while_workers_map_it_is_named(breakable, path):
    chunk = path / "chunk-000001.bin"
    cut = At([2], lambda: os.truncate(chunk, 0))
    # The system ends the worker that maps it; whoever loads it again sees its size.
    sentence = r"chunk-000001\.bin: expected \d+ bytes, got 0; the file is cut"
    with pytest.raises(MarginRankError, match=sentence):
        DaskRanker(estimator(), breakable, timeout=HANG).fit(path, callbacks=cut)
    assert breakable.submit(sum, [1, 2]).result(timeout=HANG) == 3


class OthersTime:
    """A clock by which nobody is late but a worker that was stopped, however slow the machine is."""

    def __init__(self):
        self.stopped = None
        self._tasks = {}
        self._ahead = 0.0

    def watched(self, tasks):
        self._tasks = tasks
        return tasks

    def monotonic(self):
        late = {home for home, task in self._tasks.items() if task.status == "pending"}
        if late == {self.stopped}:
            self._ahead += HANG
        return time.monotonic() + self._ahead


def test_a_worker_that_hangs_is_done_without(cluster, breakable, path, monkeypatch):
    expected = estimator().fit(serially(path)).coef_
    clock, collect, stopped = OthersTime(), Cluster.collect, []
    monkeypatch.setattr(Cluster, "collect", lambda self, tasks: collect(self, clock.watched(tasks)))
    monkeypatch.setattr(cluster_module, "monotonic", clock.monotonic)

    def stop():
        stopped.append(one_pid(cluster, np.random.default_rng(1)))
        os.kill(stopped[0], signal.SIGSTOP)
        clock.stopped = next(one.worker_address for one in cluster.workers.values() if one.pid == stopped[0])

    try:
        ranker = DaskRanker(estimator(), breakable, timeout=HANG).fit(path, callbacks=At([2], stop))
    finally:
        os.kill(stopped[0], signal.SIGCONT)
    assert np.array_equal(ranker.estimator_.coef_, expected)
    assert ranker.n_failures_ == 1


def test_a_training_goes_on_from_a_scheduler_that_went_away(client, path, tmp_path, monkeypatch):
    journal = tmp_path / "train.journal"
    cluster = LocalCluster(
        n_workers=1, threads_per_worker=1, processes=True, dashboard_address="127.0.0.1:0", silence_logs=60
    )
    with cluster, Client(cluster.scheduler_address, timeout=HANG, set_as_default=False) as lost:

        def go_away():
            # Dask looks for the scheduler so many seconds; none comes back, however many they are.
            monkeypatch.setattr(lost, "_timeout", 1.0)
            cluster.close()

        ranker = DaskRanker(estimator(), lost, timeout=HANG, checkpoint=journal)
        with pytest.raises(ClusterError, match=r"scheduler does not answer any more.*train.journal' goes on"):
            ranker.fit(path, callbacks=At([2], go_away))
    ranker = DaskRanker(estimator(), client, timeout=HANG, resume=journal).fit(path)
    assert np.array_equal(ranker.estimator_.coef_, estimator().fit(serially(path)).coef_)


def test_workers_that_never_come_are_told_of(path, monkeypatch):
    # Half a second is as good as any number: only the scheduler may take its time to answer.
    wait = Client.wait_for_workers
    monkeypatch.setattr(Client, "wait_for_workers", lambda self, n, timeout: wait(self, n, timeout=0.5))
    with (
        LocalCluster(n_workers=0, dashboard_address="127.0.0.1:0", silence_logs=60) as cluster,
        Client(cluster) as client,
        pytest.raises(ClusterError, match=rf"no worker was there for {HANG} seconds"),
    ):
        DaskRanker(estimator(), client, timeout=HANG, retries=0).fit(path)


def test_a_worker_that_always_dies_is_told_of(breakable, path, monkeypatch):
    ranker = DaskRanker(estimator(), breakable, timeout=HANG, retries=0)
    monkeypatch.setattr(disk_chunks, "DiskChunk", Deadly)
    with pytest.raises(ClusterError, match="The Dask workers failed once, at last with"):
        ranker.fit(path)
    assert ranker.n_failures_ == 1


def test_a_call_is_repeated_so_often_and_not_more(client):
    cluster = Cluster(client, HANG, 2, checkpoint="a.journal")
    tried = []

    def fail():
        tried.append("call")
        raise OSError("the disk is gone")

    told = "workers failed 3 times, at last with OSError: the disk is gone.*resume='a.journal' goes on"
    with pytest.raises(ClusterError, match=told):
        cluster.persistently(fail, lambda: tried.append("mend"))
    assert tried == ["call", "mend", "call", "mend", "call"]
    with pytest.raises(ZeroDivisionError):
        cluster.persistently(lambda: 1 // 0, lambda: None)


class Deadly:
    """A chunk that no worker survives, as though it did not fit into memory."""

    in_memory = True

    def __init__(self, *unused):
        pass

    def load(self):
        os.kill(os.getpid(), signal.SIGKILL)
