"""At the same time as others, in threads and processes of any kind, work gives the bits it gives alone."""

import multiprocessing
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from threading import Event

import joblib
import numpy as np
import pytest
import threadpoolctl
from workloads import results

from limits import HANG

EIGHT = range(8)


@pytest.fixture(scope="module", name="alone")
def results_alone():
    return results()


def test_again_is_the_same(alone):
    assert results(3) == alone


def test_eight_threads_at_once(alone):
    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(results, EIGHT)) == [alone] * 8


def test_beside_products_of_blas(alone):
    done, A = Event(), np.random.default_rng(1).standard_normal((300, 300))

    def multiply():
        while not done.is_set():
            A @ A

    with ThreadPoolExecutor(5) as pool:
        others = [pool.submit(multiply) for _ in range(2)]
        try:
            found = list(pool.map(results, range(3)))
        finally:
            done.set()
    assert found == [alone] * 3
    assert [one.result() for one in others] == [None, None]


@pytest.mark.parametrize("threads", [1, 3])
def test_within_a_limit_of_blas(alone, threads):
    with threadpoolctl.threadpool_limits(threads):
        assert results() == alone


# Forked after work with threads in this process: what they left must not be waited for in the other one.
@pytest.mark.parametrize("how", sorted({"fork", "spawn"} & set(multiprocessing.get_all_start_methods())))
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_processes(alone, how):
    with ProcessPoolExecutor(2, mp_context=multiprocessing.get_context(how)) as pool:
        futures = [pool.submit(results, first) for first in range(2)]
        assert [future.result(HANG) for future in futures] == [alone] * 2


@pytest.mark.parametrize("backend", ["loky", "threading"])
def test_joblib(alone, backend):
    jobs = 2 if backend == "loky" else 8
    with joblib.parallel_config(backend=backend, n_jobs=jobs):
        found = joblib.Parallel()(joblib.delayed(results)(first) for first in range(jobs))
    assert found == [alone] * jobs


def test_threads_of_dask(alone):
    dask = pytest.importorskip("dask")
    tasks = [dask.delayed(results, pure=False)(first) for first in EIGHT]
    assert list(dask.compute(*tasks, scheduler="threads", num_workers=8)) == [alone] * 8
