"""How many threads the kernels and BLAS may use, and with which settings functions run in them."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import copy_context
from functools import lru_cache
from threading import Lock, current_thread, main_thread
from typing import Any, TypeVar
from weakref import WeakSet

import numpy as np
import threadpoolctl
from joblib import cpu_count
from joblib.parallel import get_active_backend
from threadpoolctl import ThreadpoolController

from marginrank.exceptions import ParameterError
from marginrank.parameters import whole_number

# More would gain nothing on any machine, and a system that refuses to start a thread ends a training.
_MOST_THREADS = 1024

Result = TypeVar("Result")


def default_threads() -> int:
    """Return the threads to use where nobody said: the processors this process may run on.

    ``OMP_NUM_THREADS`` limits it, as it limits scikit-learn; joblib sets it in its worker processes, so that
    parallel fits do not fight over the processors. In its worker threads, where nothing says how many there
    are, it is 1.
    """
    if _in_joblib_thread():
        return 1
    limit = os.environ.get("OMP_NUM_THREADS", "").split(",")[0]
    if limit.isdigit() and int(limit) > 0:
        return int(limit)
    return int(cpu_count())


def _in_joblib_thread() -> bool:
    """Whether this thread is one of a pool of joblib's threading backend; worker processes run their own."""
    if current_thread() is main_thread():
        return False
    backend, _ = get_active_backend()
    return (getattr(backend, "nesting_level", 0) or 0) > 0


def resolve_threads(n_jobs: int | None) -> int:
    """Return the number of threads for scikit-learn's ``n_jobs``: None, a count, or -1 for all.

    Examples
    --------
    >>> resolve_threads(3)
    3
    """
    if n_jobs is None:
        return default_threads()
    wanted = whole_number(n_jobs)
    if not wanted:
        raise ParameterError("n_jobs", "None or a nonzero integer", n_jobs)
    return min(wanted, _MOST_THREADS) if wanted > 0 else max(1, int(cpu_count()) + 1 + wanted)


def in_this_context(function: Callable[..., Result]) -> Callable[..., Result]:
    """Return a function that runs in any thread with the context variables and numpy's errstate of this one.

    Examples
    --------
    >>> with np.errstate(over="raise"):
    ...     settings = in_this_context(np.geterr)
    >>> settings()["over"]
    'raise'
    """
    context, settings = copy_context(), np.geterr()

    def run(*arguments: Any) -> Result:
        # Before numpy 2, errstate belongs to the thread and not to the context.
        with np.errstate(**settings):
            return context.copy().run(function, *arguments)  # two threads cannot be in one context

    return run


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Keep BLAS to one thread in a ``with`` block, also where several overlap.

    Solvers call it for vectors only, where its threads gain nothing, wait for each other for milliseconds
    when the machine is busy, and change the last bits with their number.
    """
    user = _User()
    try:
        _limit.enter(user)  # within the try: an interrupt may come at any moment
        yield
    finally:
        _limit.leave(user)


def run_parallel(work: Callable[[Any], None], items: Iterable[Any], n_threads: int) -> None:
    """Call ``work`` on every item; the first exception, Ctrl-C included, stops the rest."""
    todo = list(items)
    with one_blas_thread():
        if n_threads == 1 or len(todo) < 2:
            for item in todo:
                work(item)
            return
        with WorkerThreads(min(n_threads, len(todo))) as pool:
            run = in_this_context(work)
            futures = [pool.submit(run, item) for item in todo]
            try:
                for future in futures:
                    future.result()
            except BaseException:
                pool.shutdown(wait=False, cancel_futures=True)
                raise


class WorkerThreads(ThreadPoolExecutor):
    """A pool of threads that makes do with those that the system grants, in the end with the one that asks.

    A pool of the standard library raises where a thread cannot be started, and runs the work nevertheless if
    it has other threads.

    Examples
    --------
    >>> with WorkerThreads(2) as pool:
    ...     pool.submit(abs, -3).result()
    3
    """

    _alone = False

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        """Have a function called by a thread, or call it."""
        if not self._alone:
            try:
                return super().submit(fn, *args, **kwargs)
            except _NoThreadError:
                self._alone = True  # nothing that was handed in is ever taken up: nobody is there
        if self._shutdown:
            raise RuntimeError("cannot schedule new futures after shutdown")
        done: Future[Any] = Future()
        try:
            done.set_result(fn(*args, **kwargs))
        except Exception as error:
            done.set_exception(error)
        return done

    def _adjust_thread_count(self) -> None:
        try:
            super()._adjust_thread_count()
        except RuntimeError:
            if not self._threads:
                raise _NoThreadError from None


class _NoThreadError(RuntimeError):
    """Not one thread could be started."""


class _User:
    """Somebody who wants the limit; gone with the block that made it, however that ended."""

    __slots__ = ("__weakref__",)


class _SharedLimit:
    """A limit for the whole process: the first one in sets it, the last one out takes it back.

    An interrupt may come at any moment. So what was there is written down before anything is set, and users
    who could not leave are forgotten.
    """

    def __init__(self) -> None:
        self._renew_lock()
        self._users: WeakSet[_User] = WeakSet()
        self._before: list[list[tuple[Any, int]]] = []
        if hasattr(os, "register_at_fork"):
            # A thread that holds it is not there in a forked process. What it limited stays limited there.
            os.register_at_fork(after_in_child=self._renew_lock)

    def _renew_lock(self) -> None:
        self._lock = Lock()

    def enter(self, user: _User) -> None:
        with self._lock:
            libraries = [one for one in _controller().lib_controllers if one.user_api == "blas"]
            found = [(library, library.num_threads) for library in libraries]
            # Others may have set other numbers meanwhile, or loaded a BLAS.
            if not self._users or any(number > 1 for _, number in found):
                self._before.append(found)
                _set_threads((library, 1) for library in libraries)
            self._users.add(user)

    def leave(self, user: _User) -> None:
        with self._lock:
            self._users.discard(user)
            while self._before and not self._users:
                _set_threads(self._before[-1])
                self._before.pop()


def _set_threads(numbers: Iterable[tuple[Any, int]]) -> None:
    _free_control()
    for library, number in numbers:
        library.set_num_threads(number)
    _free_control()


def _free_control() -> None:
    """Let whatever thread comes next set the threads of OpenBLAS.

    From version 3.8 on, threadpoolctl leaves that to the first thread that did, and ignores the others. Here
    any thread may be the first one in or the last one out.
    """
    free = getattr(getattr(threadpoolctl, "OpenBLASController", None), "clear_controlling_thread", None)
    if free is not None:
        free(force=True)


_limit = _SharedLimit()


def _controller() -> ThreadpoolController:
    """Return what controls the libraries that are loaded; scipy brings a BLAS of its own, when it is used."""
    return _controller_of("scipy.linalg" in sys.modules)


@lru_cache(maxsize=2)
def _controller_of(with_scipy: bool) -> ThreadpoolController:
    del with_scipy
    return ThreadpoolController()
