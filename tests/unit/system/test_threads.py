"""How many threads are used, and who may say so."""

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from contextvars import ContextVar
from threading import Thread

import joblib
import numpy as np
import pytest
import threadpoolctl

from impatience import Impatient
from marginrank.exceptions import MarginRankError
from marginrank.system import threads
from marginrank.system.threads import (
    WorkerThreads,
    default_threads,
    in_this_context,
    one_blas_thread,
    resolve_threads,
)


@pytest.fixture(autouse=True)
def _no_limit(monkeypatch):
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)


def test_default_is_the_processors_of_this_process():
    assert default_threads() == joblib.cpu_count()
    assert resolve_threads(None) == joblib.cpu_count()


@pytest.mark.parametrize(("limit", "threads"), [("1", 1), ("3", 3), ("2,1", 2)])
def test_the_environment_limits_the_default(monkeypatch, limit, threads):
    monkeypatch.setenv("OMP_NUM_THREADS", limit)
    assert default_threads() == resolve_threads(None) == threads


@pytest.mark.parametrize("limit", ["", "0", "many", "-2", "1.5"])
def test_a_limit_that_is_no_number_is_no_limit(monkeypatch, limit):
    monkeypatch.setenv("OMP_NUM_THREADS", limit)
    assert default_threads() == joblib.cpu_count()


def test_a_count_is_taken_as_it_is(monkeypatch):
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    assert resolve_threads(3) == 3


def test_negative_counts_are_from_the_end_as_in_joblib():
    for n_jobs in (-1, -2, -100):
        assert resolve_threads(n_jobs) == max(1, joblib.cpu_count() + 1 + n_jobs)


def test_numpy_integers_are_integers():
    assert resolve_threads(np.int64(2)) == 2


@pytest.mark.parametrize("n_jobs", [0, 1.5, True, "2"])
def test_what_is_no_count_is_refused(n_jobs):
    with pytest.raises(MarginRankError, match=f"n_jobs must be None or a nonzero integer; got {n_jobs!r}"):
        resolve_threads(n_jobs)


def test_a_function_in_another_thread_has_the_settings_of_the_place_that_gave_it_away():
    color = ContextVar("color", default="none")

    def settings(_):
        return np.geterr()["over"], color.get()

    with np.errstate(over="raise"), ThreadPoolExecutor(2) as pool:
        color.set("red")
        carried = in_this_context(settings)
        color.set("blue")
        np.seterr(over="ignore")
        assert list(pool.map(carried, range(4))) == [("raise", "red")] * 4
        assert settings(0) == ("ignore", "blue")


def blas_threads():
    return [pool["num_threads"] for pool in threadpoolctl.threadpool_info() if pool["user_api"] == "blas"]


def test_blas_has_one_thread_inside_and_its_own_number_outside():
    before = blas_threads()
    with one_blas_thread():
        assert set(blas_threads()) <= {1}
    assert blas_threads() == before


def test_overlapping_fits_leave_blas_as_they_found_it():
    # Two threads that fit at once neither enter nor leave in the order of nested blocks.
    before = blas_threads()
    first, second = one_blas_thread(), one_blas_thread()
    try:
        first.__enter__()
        second.__enter__()
        first.__exit__(None, None, None)
        assert set(blas_threads()) <= {1}
        second.__exit__(None, None, None)
        assert blas_threads() == before
    finally:
        threadpoolctl.threadpool_limits(max(before, default=1), user_api="blas")


def in_a_thread(work):
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(work).result()


@pytest.mark.skipif(max(blas_threads(), default=1) < 2, reason="BLAS has one thread here in any case")
def test_any_thread_may_keep_blas_to_one_after_another_did():
    before = blas_threads()
    with one_blas_thread():
        pass

    def elsewhere():
        with one_blas_thread():
            return blas_threads()

    assert set(in_a_thread(elsewhere)) == {1}
    assert blas_threads() == before


@pytest.mark.skipif(max(blas_threads(), default=1) < 2, reason="BLAS has one thread here in any case")
def test_the_last_one_out_need_not_be_the_first_one_in():
    before, inner = blas_threads(), one_blas_thread()
    with one_blas_thread():
        in_a_thread(inner.__enter__)
    assert set(blas_threads()) == {1}
    in_a_thread(lambda: inner.__exit__(None, None, None))
    assert blas_threads() == before


@pytest.mark.skipif(max(blas_threads(), default=1) < 2, reason="BLAS has one thread here in any case")
def test_what_others_set_meanwhile_is_limited_again():
    before = blas_threads()
    with one_blas_thread(), threadpoolctl.threadpool_limits(3, user_api="blas"):
        assert max(blas_threads()) > 1
        with one_blas_thread():
            assert set(blas_threads()) == {1}
        assert set(blas_threads()) == {1}  # as long as anybody asks for it
    assert blas_threads() == before


def test_a_blas_that_is_loaded_later_is_limited():
    code = (
        "import sys, numpy, threadpoolctl\n"
        "from marginrank.system.threads import one_blas_thread\n"
        "with one_blas_thread():\n"
        "    assert 'scipy.linalg' not in sys.modules\n"
        "    import scipy.linalg\n"
        "    with one_blas_thread():\n"
        "        found = [one for one in threadpoolctl.threadpool_info() if one['user_api'] == 'blas']\n"
        "        assert {one['num_threads'] for one in found} <= {1}, found\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.parametrize("n", range(1, 10))
def test_an_interrupt_at_any_call_leaves_no_limit(n):
    before = blas_threads()
    of_threads = Impatient(n, lambda code: code.co_filename == threads.__file__)
    with suppress(KeyboardInterrupt), of_threads, one_blas_thread():
        pass
    with one_blas_thread():
        assert set(blas_threads()) <= {1}
    assert blas_threads() == before


def test_threads_of_joblib_have_one_thread_each(monkeypatch):
    monkeypatch.setenv("OMP_NUM_THREADS", "8")
    in_threads = joblib.Parallel(n_jobs=2, backend="threading")
    assert in_threads(joblib.delayed(default_threads)() for _ in range(4)) == [1] * 4
    assert in_threads(joblib.delayed(resolve_threads)(3) for _ in range(2)) == [3] * 2  # as it was asked for
    assert joblib.Parallel(n_jobs=1)(joblib.delayed(default_threads)() for _ in range(2)) == [8] * 2
    assert default_threads() == 8


def test_processes_of_joblib_share_the_processors():
    found = joblib.Parallel(n_jobs=2)(joblib.delayed(default_threads)() for _ in range(2))
    assert found == [max(1, joblib.cpu_count() // 2)] * 2


def test_other_threads_are_not_those_of_joblib():
    with ThreadPoolExecutor(1) as pool:
        assert pool.submit(default_threads).result() == joblib.cpu_count()


@pytest.mark.parametrize("granted", [0, 1, 2])
def test_where_threads_are_refused_those_there_are_do_the_work(monkeypatch, granted):
    start, started = Thread.start, []

    def refuse(thread):
        if len(started) >= granted:
            raise RuntimeError("can't start new thread")
        started.append(thread)
        start(thread)

    monkeypatch.setattr(Thread, "start", refuse)
    with WorkerThreads(4) as pool:
        futures = [pool.submit(pow, k, 2) for k in range(50)]
        assert [future.result() for future in futures] == [k * k for k in range(50)]
        with pytest.raises(ZeroDivisionError):
            pool.submit(divmod, 1, 0).result()
    with pytest.raises(RuntimeError, match="after shutdown"):
        pool.submit(pow, 1, 2)
