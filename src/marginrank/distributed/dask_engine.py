"""An engine over Dask workers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from distributed import Future
from numpy.typing import NDArray

from marginrank.distributed import worker
from marginrank.distributed.cluster import Cluster
from marginrank.storage.engines import Make, Operation, finished_sum


class DaskEngine:
    """An engine over the workers of a cluster.

    Parameters
    ----------
    cluster : Cluster
        The workers.
    sources : sequence of Source or Delayed
        Where each chunk comes from.

    Notes
    -----
    Chunks are answers of tasks that can be run again, on any worker; neighbours lie together. A call is one
    task for each worker, over all of its chunks. Where a worker dies, Dask runs its tasks elsewhere; where
    that fails too, the call is repeated as a whole. Nothing depends on where anything ran.
    """

    def __init__(self, cluster: Cluster, sources: Sequence[Any]) -> None:
        self._cluster = cluster
        self.sources = list(sources)
        self._chunks: list[Future[Any] | None] = [None] * len(self.sources)
        self._homes: list[str] = [""] * len(self.sources)
        self._placed_on: list[str] = []
        self._age = 0

    def prepare(self, make: Make, chunks: Sequence[int], parts: Sequence[Any]) -> _Handle:
        """Return a handle to what will be made at the first call."""
        return _Handle(make, list(chunks), list(parts))

    def gather(
        self, handle: _Handle, operation: Operation, shared: Any = None, each: Sequence[Any] | None = None
    ) -> list[Any]:
        """Return the answers, in their order."""
        found = self._call(worker.answers, handle, operation, shared, each)
        return [answer for _, answer in sorted(found, key=lambda pair: int(pair[0]))]

    def tree_sum(
        self, handle: _Handle, operation: Operation, shared: Any = None, each: Sequence[Any] | None = None
    ) -> NDArray[np.float64]:
        """Return the sum of the answers."""
        return np.asarray(finished_sum(self._call(worker.added_answers, handle, operation, shared, each)))

    def check_maps(self) -> None:
        """Refuse workers that make different features by the same map."""
        self._cluster.check_maps()

    def _call(
        self,
        task: Callable[..., Any],
        handle: _Handle,
        operation: Operation,
        shared: Any,
        each: Sequence[Any] | None,
    ) -> list[Any]:
        def once() -> list[Any]:
            self._place()
            groups = self._groups(handle)
            workers = list(groups)
            payload = self._cluster.sent(shared, worker.bytes_of(shared), workers)
            tasks = {}
            for home, positions in groups.items():
                own = None if each is None else [each[k] for k in positions]
                own = self._cluster.sent(own, worker.bytes_of(own), [home])
                futures = [handle.futures[k] for k in positions]
                tasks[home] = self._cluster.submit(
                    task, futures, positions, operation, payload, own, worker=home
                )
            found = self._cluster.collect(tasks)
            parts = self._cluster.take(found)
            if [address for address, _, _ in found] != workers:
                self._cluster.workers(look=True)
            return [answer for part in parts for answer in part]

        def mend() -> None:
            self._age += 1
            for number, chunk in enumerate(self._chunks):
                if chunk is not None and chunk.status not in ("pending", "finished"):
                    self._chunks[number] = None

        return self._cluster.persistently(once, mend)

    def _place(self) -> None:
        """Share the chunks out among the workers that are there, neighbours together."""
        workers = self._cluster.workers()
        if workers == self._placed_on:
            return
        n = len(self.sources)
        homes = [workers[k * len(workers) // n] if len(workers) <= n else workers[k] for k in range(n)]
        for number, home in enumerate(homes):
            if home != self._homes[number]:
                self._chunks[number] = None
        self._homes, self._placed_on = homes, workers
        self._age += 1

    def _groups(self, handle: _Handle) -> dict[str, list[int]]:
        """Prepare everything that a call is about, and return its positions by worker."""
        if handle.age != self._age:
            handle.futures = [
                self._prepared(handle.make, chunk, part)
                for chunk, part in zip(handle.chunks, handle.parts, strict=True)
            ]
            handle.age = self._age
        groups: dict[str, list[int]] = {}
        for position, chunk in enumerate(handle.chunks):
            groups.setdefault(self._homes[chunk], []).append(position)
        return groups

    def _prepared(self, make: Make, number: int, part: Any) -> Future[Any]:
        chunk = self._chunk(number)
        if make is None:
            return chunk
        return self._cluster.submit(worker.prepare_chunk, chunk, make, part, worker=self._homes[number])

    def _chunk(self, number: int) -> Future[Any]:
        chunk = self._chunks[number]
        if chunk is None:
            home = self._homes[number]
            chunk = self._cluster.load(worker.load_chunk, self.sources[number], home)
            self._chunks[number] = chunk
        return chunk


class _Handle:
    """Objects to be made of some chunks, and their futures while these are of the age of the engine."""

    def __init__(self, make: Make, chunks: list[int], parts: list[Any]) -> None:
        self.make = make
        self.chunks = chunks
        self.parts = parts
        self.futures: list[Future[Any]] = []
        self.age = -1
