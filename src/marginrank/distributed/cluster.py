"""A Dask cluster as this library uses it: every wait has a deadline, and what fails is tried again."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import CancelledError
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import count
from time import monotonic
from typing import Any, TypeVar
from uuid import uuid4

import dask
import numpy as np
from dask.base import is_dask_collection
from dask.delayed import delayed
from distributed import Client, Future, KilledWorker, wait
from distributed.comm.core import CommClosedError

from marginrank.distributed.handshake import Introduction, answers_in_time, introduce, oddities
from marginrank.distributed.local_workers import local_workers
from marginrank.exceptions import ClusterError, Sentence, warn
from marginrank.system.threads import default_threads

Answer = TypeVar("Answer")

#: What a cluster may recover from.
FAILURES = (CancelledError, KilledWorker, CommClosedError, TimeoutError, OSError)
# Payloads above it go by scatter, not within the task.
_LARGE = 1 << 20
_LOOK_AGAIN = 10.0
_GLANCE = 1.0


class WorkersGoneError(OSError):
    """Workers that were to answer are there no longer."""


@dataclass
class Cluster:
    """A client, and how patient to be with it.

    Parameters
    ----------
    client : Client
        Connected.
    timeout : float
        Seconds that one call, or waiting for a worker, may take.
    retries : int
        How often a call that failed is repeated.
    checkpoint : str, optional
        The file that a stopped training goes on from, to be named in errors.
    """

    client: Client
    timeout: float
    retries: int
    checkpoint: str | None = None
    #: Calls that failed and were repeated.
    failures: int = 0
    _numbers: Iterator[int] = field(default_factory=count)
    _name: str = field(default_factory=lambda: f"marginrank-{uuid4().hex[:12]}")
    _workers: list[str] = field(default_factory=list)
    # Workers that did not answer in time; they get nothing as long as there are others.
    _avoided: set[str] = field(default_factory=set)
    # What each worker said of itself, or why nothing is taken from it; None for those who said nothing.
    _roll: dict[str, Introduction | str | None] = field(default_factory=dict)
    _looked: float = float("-inf")

    def workers(self, *, look: bool = False) -> list[str]:
        """Return the addresses of the workers, in a fixed order; looked up every few seconds."""
        if look or monotonic() - self._looked > _LOOK_AGAIN or not self._workers:
            there = self._run(self._ask_workers) or self._first_workers()
            admitted = self._admitted(there)
            self._workers = sorted(admitted - self._avoided) or sorted(admitted)
            self._looked = monotonic()
        return self._workers

    def _admitted(self, there: Iterable[str]) -> set[str]:
        """Return the workers that compute as this process does; those who are new are asked first.

        At the start an odd one is an error. One that joins a training is left out, so as not to end it.
        """
        new = [address for address in there if address not in self._roll]
        if new:
            at_start = not self._roll
            found = self.client.sync(
                lambda: oddities(self._ask, new), callback_timeout=2.0 * self.timeout + _LOOK_AGAIN
            )
            self._roll |= found
            odd = [why for why in found.values() if isinstance(why, str)]
            if odd and at_start:
                self._roll = {}
                raise ClusterError(Sentence.of(f"{odd[0][:1].upper()}{odd[0][1:]}"))
            for why in odd:
                warn(f"Left out: {why}", RuntimeWarning)
        admitted = {one for one in there if isinstance(self._roll[one], Introduction)}
        if not admitted:
            raise WorkersGoneError("no worker is there that computes as this process does")
        return admitted

    async def _ask(self, question: Callable[..., Any], *arguments: Any, workers: Sequence[str]) -> Any:
        """Return answers by worker; those who are gone, or silent too long, have none."""
        asked = {
            address: self.client.run(
                question, *arguments, workers=[address], on_error="return", asynchronous=True
            )
            for address in workers
        }
        found = await answers_in_time(asked, self.timeout)
        return {address: answer[address] for address, answer in found.items() if address in answer}

    def take(self, found: Sequence[tuple[str, str, Any]]) -> list[Any]:
        """Return answers of tasks, which come with the worker and its mark, if all marks are that of here."""
        odd = [address for address, mark, _ in found if mark != introduce().mark]
        if odd:
            for address in odd:  # it came after the last look, and is asked what it is now
                self._roll.pop(address, None)
            self.workers(look=True)
            raise WorkersGoneError(f"{', '.join(odd)} computes other bits")
        return [answer for _, _, answer in found]

    def check_maps(self) -> None:
        """Refuse workers that make different features by the same map, as other kernels of BLAS do."""
        self.workers()
        known = {one: told for one, told in self._roll.items() if isinstance(told, Introduction)}
        kinds = {(told.blas, told.mapped): (one, told.blas) for one, told in sorted(known.items())}
        if len(kinds) > 1:
            (first, one), (second, other) = list(kinds.values())[:2]
            raise ClusterError(
                f"The features that a kernel or a map makes depend on BLAS in their last bits, and workers "
                f"differ: {first} has {one}, and {second} {other}. Give all workers the same, for instance "
                "by OPENBLAS_CORETYPE=Haswell in their environment."
            )

    @property
    def _chosen(self) -> dict[str, Any]:
        """Where a task may run: anywhere, unless there are workers whose answers are of no use."""
        if any(isinstance(told, str) for told in self._roll.values()):
            return {"workers": self.workers(), "allow_other_workers": False}
        return {}

    def _first_workers(self) -> Any:
        try:
            self.client.wait_for_workers(1, timeout=self.timeout)
        except TimeoutError:
            raise WorkersGoneError(f"no worker was there for {self.timeout:g} seconds") from None
        return self._run(self._ask_workers)

    def submit(self, function: Callable[..., Any], *arguments: Any, worker: str) -> Future[Any]:
        """Submit a task, by preference to a worker; it can be run again if its answer is lost."""
        self._check_open()
        key = f"{self._name}-{function.__name__}-{next(self._numbers)}"
        # What a task needs to be run again travels with it, though it be large.
        with dask.config.set({"distributed.admin.large-graph-warning-threshold": "1TB"}):
            return self.client.submit(function, *arguments, key=key, pure=False, **self._at(worker))

    def _at(self, worker: str) -> dict[str, Any]:
        """Return where a task shall run: by preference there, and only there if others are of no use."""
        return {"workers": [worker], "allow_other_workers": not self._chosen}

    def load(self, function: Callable[..., Any], source: Any, worker: str) -> Future[Any]:
        """Submit the loading of something, which may be a part of a Dask collection."""
        if not is_dask_collection(source):
            return self.submit(function, source, worker=worker)
        self._check_open()
        loading = delayed(function, pure=False)(source)
        future: Future[Any] = self.client.compute(loading, **self._at(worker))
        return future

    def of_all(self, function: Callable[[Any], Any], arguments: Sequence[Any]) -> list[Any]:
        """Return the answers of a function to each argument, wherever there is room."""

        def once() -> list[Any]:
            self._check_open()
            self.workers()
            futures = self.client.map(function, arguments, pure=False, **self._chosen)
            return list(self._run(lambda: self.client.gather(futures, asynchronous=True)))

        return self.persistently(once, lambda: None)

    def computed(self, value: Any, *, as_array: bool = True) -> Any:
        """Return a value in memory, computed by the workers where it is a Dask collection."""
        if not is_dask_collection(value):
            return value
        (found,) = self.all_computed([value])
        return np.asarray(found) if as_array else found

    def all_computed(self, values: Sequence[Any]) -> list[Any]:
        """Return Dask collections in memory, computed by the workers."""

        def once() -> list[Any]:
            self._check_open()
            self.workers()
            futures = self.client.compute(list(values), **self._chosen)
            return list(self._run(lambda: self.client.gather(futures, asynchronous=True)))

        return self.persistently(once, lambda: None)

    def sent(self, payload: Any, size: int, workers: Sequence[str]) -> Any:
        """Return a payload as a task takes it: itself while it is small, else laid down on the workers."""
        if size <= _LARGE:
            return payload
        try:
            return self.client.scatter(
                payload, workers=list(workers), broadcast=len(workers) > 1, hash=False, timeout=self.timeout
            )
        except KeyError as error:  # how the scheduler says that it knows no such worker any more
            raise WorkersGoneError(f"{error} went away") from error

    def collect(self, tasks: Mapping[str, Future[Any]]) -> list[Any]:
        """Wait for the answers of tasks, by worker, not longer than the deadline.

        Dask forgets that a task may run elsewhere where for a moment there was no worker at all. So this
        looks after those who have not answered, and does not wait for one that is gone.
        """
        deadline = monotonic() + self.timeout
        while True:
            try:
                with self.client.as_current():
                    wait(list(tasks.values()), timeout=min(_GLANCE, max(deadline - monotonic(), 0.0)))
                break
            except TimeoutError:
                late = self._run(lambda: self._late(tasks))
                if monotonic() >= deadline:
                    self._avoided |= late
                    raise
        return list(self._run(lambda: self._fetched(tasks)))

    async def _fetched(self, tasks: Mapping[str, Future[Any]]) -> Any:
        """Return answers; one that is lost on the way has to be computed again, so look after these, too."""
        fetching = asyncio.ensure_future(self.client.gather(list(tasks.values()), asynchronous=True))
        try:
            while not (await asyncio.wait([fetching], timeout=_GLANCE))[0]:
                await self._late(tasks)
        finally:
            fetching.cancel()
        return fetching.result()

    async def _late(self, tasks: Mapping[str, Future[Any]]) -> set[str]:
        """Return the workers of tasks without an answer; raise if one of them is gone."""
        late = {home for home, task in tasks.items() if task.status in ("pending", "lost")}
        if late and (gone := late - set(await self._ask_workers())):
            raise WorkersGoneError(f"{', '.join(sorted(gone))} went away")
        return late

    def persistently(self, call: Callable[[], Answer], mend: Callable[[], None]) -> Answer:
        """Return the answer to a call, repeated where the cluster failed and was mended."""
        for attempt in range(self.retries + 1):
            try:
                return call()
            except ImportError as error:
                raise ClusterError(
                    f"A worker cannot import what it is sent ({error}); install this version of marginrank "
                    "on the scheduler and all workers."
                ) from error
            except FAILURES as error:
                self.failures += 1
                if attempt == self.retries or self.client.status not in ("running", "connecting"):
                    raise self._given_up(error, attempt + 1) from error
                self._wait_for_workers(error, attempt + 1)
                mend()
        raise AssertionError

    def _wait_for_workers(self, error: BaseException, attempts: int) -> None:
        try:
            self.workers(look=True)
        except (*FAILURES, ValueError) as another:
            raise self._given_up(another, attempts) from error

    def _given_up(self, error: BaseException, attempts: int) -> ClusterError:
        if self.client.status != "running":
            what = Sentence("The Dask scheduler does not answer any more.")
        elif isinstance(error, TimeoutError):
            what = Sentence(
                "A pass over the Dask workers did not end within {timeout=:g} seconds.", timeout=self.timeout
            )
        else:
            times = "once" if attempts == 1 else f"{attempts} times"
            told = " ".join(str(error).split())[:300]
            what = Sentence.of(
                f"The Dask workers failed {times}, at last with {type(error).__name__}: {told or 'no word'}."
            )
        what = what.and_then(
            "Look at their logs and memory (mapped data count there, unless dask worker gets --memory-limit "
            "0)."
        )
        if self.checkpoint is None:
            return ClusterError(what.and_then("A training with a {checkpoint} can be resumed."))
        return ClusterError(what.and_then("{resume=} goes on from here.", resume=self.checkpoint))

    async def _ask_workers(self) -> Any:
        return await self.client.nthreads(asynchronous=True)

    def _check_open(self) -> None:
        if self.client.status not in ("running", "connecting"):
            raise CommClosedError("the client is closed")

    def _run(self, coroutine: Callable[[], Any]) -> Any:
        self._check_open()
        return self.client.sync(coroutine, callback_timeout=self.timeout)


@contextmanager
def connected(client: Client | str | None, timeout: float, retries: int) -> Iterator[Cluster]:
    """Give a cluster: that of a client or an address, or processes on this machine while they are needed."""
    if isinstance(client, str):
        try:
            own = Client(client, timeout=timeout, set_as_default=False)
        except (OSError, ValueError, TypeError, RuntimeError) as error:  # the latter ones of settings of TLS
            raise ClusterError(f"No Dask scheduler answers at {client}: {error}") from error
        with own:
            yield Cluster(own, timeout, retries)
        return
    if client is not None:
        yield Cluster(client, timeout, retries)
        return
    with local_workers(default_threads(), timeout=timeout) as own:
        yield Cluster(own, timeout, retries)
