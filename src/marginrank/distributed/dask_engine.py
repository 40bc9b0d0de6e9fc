"""An engine over Dask workers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from distributed import Future
from numpy.typing import NDArray

from marginrank.distributed import worker
from marginrank.distributed.cluster import Cluster
from marginrank.storage.engines import EngineRequest, Make, Operation, finished_sum


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
        found: list[Any] = self.together([EngineRequest("gather", handle, operation, shared, each)])[0]
        return found

    def tree_sum(
        self, handle: _Handle, operation: Operation, shared: Any = None, each: Sequence[Any] | None = None
    ) -> NDArray[np.float64]:
        """Return the sum of the answers."""
        return np.asarray(self.together([EngineRequest("tree_sum", handle, operation, shared, each)])[0])

    def together(self, requests: Sequence[EngineRequest]) -> list[Any]:
        """Return the answers to several requests, by one task for each worker."""
        found = self._call(requests)
        return [
            finished_sum(parts)
            if request.kind == "tree_sum"
            else [answer for _, answer in sorted(parts, key=lambda pair: int(pair[0]))]
            for request, parts in zip(requests, found, strict=True)
        ]

    def check_maps(self) -> None:
        """Refuse workers that make different features by the same map."""
        self._cluster.check_maps()

    def _call(self, requests: Sequence[EngineRequest]) -> list[list[Any]]:
        """Return what the workers have to say to each request."""

        def once() -> list[list[Any]]:
            self._place()
            batches: dict[str, list[list[Any]]] = {}
            for number, request in enumerate(requests):
                for home, part in self._parts(request).items():
                    batches.setdefault(home, []).append([number, request.kind, *part])
            submit = self._cluster.submit
            tasks = {home: submit(worker.answers, batch, worker=home) for home, batch in batches.items()}
            found = self._cluster.collect(tasks)
            said = self._cluster.take(found)
            if [address for address, _, _ in found] != list(batches):
                self._cluster.workers(look=True)
            answers: list[list[Any]] = [[] for _ in requests]
            for number, some in (one for parts in said for one in parts):
                answers[number] += some
            return answers

        def mend() -> None:
            self._age += 1
            for number, chunk in enumerate(self._chunks):
                if chunk is not None and chunk.status not in ("pending", "finished"):
                    self._chunks[number] = None

        return self._cluster.persistently(once, mend)

    def _parts(self, request: EngineRequest) -> dict[str, list[Any]]:
        """Return what each worker needs for its share of a request, large payloads laid down there."""
        groups = self._groups(request.handle)
        payload = self._cluster.sent(request.shared, worker.bytes_of(request.shared), list(groups))
        parts = {}
        for home, positions in groups.items():
            own = None if request.each is None else [request.each[k] for k in positions]
            own = self._cluster.sent(own, worker.bytes_of(own), [home])
            futures = [request.handle.futures[k] for k in positions]
            parts[home] = [futures, positions, request.operation, payload, own]
        return parts

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
