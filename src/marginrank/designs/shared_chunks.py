"""Products of several folds of rows of a matrix in chunks: whatever they request, each chunk is read once."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np

from marginrank._kernels import QueryLoss
from marginrank.designs.base import Evaluation
from marginrank.designs.columns import IDENTITY, ColumnTransform
from marginrank.designs.matrix import MatrixProducts
from marginrank.designs.shared_reads import (
    AdjointRequest,
    FusedRequest,
    HessianRequest,
    Request,
    ScoresRequest,
)
from marginrank.losses.base import Loss
from marginrank.storage.chunks import TreeSum
from marginrank.system.threads import run_parallel
from marginrank.types import Array, Rows, Section, StoredMatrix, Vector

# Rows whose loss one thread evaluates at a time; fewer cost more to hand out than to evaluate.
_RUN_ROWS = 4096


class ChunksTogether:
    """Answers the requests of folds in one read of all chunks, scores, adjoints and fused products alike.

    Parameters
    ----------
    X : StoredMatrix
        The rows.
    rows : list of ndarray of int64 or None
        Ascending row numbers of each fold; None stands for all rows.
    transform : ColumnTransform, optional
        Its shift is subtracted within the products.
    n_threads : int
        Threads to use; the result does not depend on it.

    Attributes
    ----------
    n_products, n_vectors : int
        Reads of X so far, and vectors that were multiplied in them.
    """

    fusing = True

    def __init__(
        self,
        X: StoredMatrix,
        rows: list[Rows | None],
        transform: ColumnTransform = IDENTITY,
        *,
        n_threads: int,
    ) -> None:
        self._X = X
        self._transform = transform
        self._n_threads = n_threads
        every = [taken for taken in rows if taken is not None]
        together = np.unique(np.concatenate(every)) if len(every) == len(rows) else None
        self._sections = X.sections(together)
        self._places = [_Places(X, self._sections, together, taken) for taken in rows]
        self.n_products = 0
        self.n_vectors = 0

    def __call__(self, requests: Mapping[int, Request]) -> dict[int, Any]:
        """Answer all requests."""
        jobs = {k: _JOBS[type(request)](request, self._places[k]) for k, request in requests.items()}
        self.n_products += 1
        self.n_vectors += sum(len(job.coefficients) + job.n_adjoints for job in jobs.values())
        numbers = {section.chunk: number for number, section in enumerate(self._sections)}

        def work(section: Section, X: Any, n_threads: int) -> list[tuple[_Job, Array]]:
            products = MatrixProducts(X, section.rows, self._transform, n_threads=n_threads)
            number = numbers[section.chunk]
            return _visit(
                products, number, [job for job in jobs.values() if job.places.has(number)], n_threads
            )

        for parts in self._X.map_pass(work, self._sections, self._n_threads):
            for job, part in parts:
                job.sum.add(part)
        return {k: job.answer() for k, job in jobs.items()}


def _visit(
    products: MatrixProducts, number: int, jobs: list[_Job], n_threads: int
) -> list[tuple[_Job, Array]]:
    """Have the jobs done for one section: scores of all, losses of those that have one, adjoints of all."""
    scored = [job for job in jobs if len(job.coefficients)]
    if scored:
        found = products.scores_block(np.concatenate([job.coefficients for job in scored]))
        for job, part in zip(scored, _shares(found, [len(job.coefficients) for job in scored]), strict=True):
            job.take_scores(number, part)
        tasks = [task for job in scored for task in job.evaluations(number)]
        run_parallel(lambda task: task(), tasks, n_threads)
    summed = [job for job in jobs if job.n_adjoints]
    if not summed:
        return []
    counts = [job.n_adjoints for job in summed]
    spread = np.zeros((sum(counts), products.shape[0]))
    for job, part in zip(summed, _shares(spread, counts), strict=True):
        part[:, job.places.within(number)] = job.multipliers(number)
    return list(zip(summed, _shares(products.adjoint_block(spread), counts), strict=True))


def _shares(rows: Array, counts: list[int]) -> list[Array]:
    """Cut the rows of a matrix into parts of so many each."""
    return np.split(rows, np.cumsum(counts)[:-1])


class _Places:
    """Where the rows of a fold are: in each section, and among its own."""

    def __init__(
        self, X: StoredMatrix, sections: list[Section], together: Rows | None, taken: Rows | None
    ) -> None:
        self.n_rows = X.shape[0] if taken is None else len(taken)
        positions = taken if together is None or taken is None else np.searchsorted(together, taken)
        bounds = [section.first for section in sections] + [sections[-1].last]
        self._positions = positions
        self._starts = bounds
        self.ends = np.asarray(bounds if positions is None else np.searchsorted(positions, bounds))

    def has(self, number: int) -> bool:
        """Whether any row of the fold is in a section."""
        return bool(self.ends[number] < self.ends[number + 1])

    def own(self, number: int) -> slice:
        """Return the rows of a section among those of the fold."""
        return slice(int(self.ends[number]), int(self.ends[number + 1]))

    def within(self, number: int) -> Any:
        """Return the rows of the fold among those of a section."""
        if self._positions is None:
            return slice(None)
        return self._positions[self.own(number)] - self._starts[number]


class _Job:
    """What one fold requests, section by section."""

    def __init__(self, places: _Places, coefficients: Array, n_adjoints: int) -> None:
        self.places = places
        self.coefficients = coefficients
        self.n_adjoints = n_adjoints
        self.sum = TreeSum()

    def take_scores(self, number: int, found: Array) -> None:
        """Take the scores of a section, all of its rows."""
        raise NotImplementedError  # asked only of those that have coefficients

    def evaluations(self, number: int) -> list[Callable[[], None]]:
        """Return what is left to do between scores and adjoint, in parts for several threads."""
        del number
        return []

    def multipliers(self, number: int) -> Array:
        """Return what to multiply the fold's rows of a section with."""
        raise NotImplementedError  # asked only of those that request adjoints

    def answer(self) -> Any:
        """Return what was requested."""
        return self.sum.result()


class _ScoresJob(_Job):
    def __init__(self, request: ScoresRequest, places: _Places) -> None:
        super().__init__(places, request.vectors, 0)
        self._scores = np.empty((len(request.vectors), places.n_rows))

    def take_scores(self, number: int, found: Array) -> None:
        self._scores[:, self.places.own(number)] = found[:, self.places.within(number)]

    def answer(self) -> Array:
        return self._scores


class _AdjointJob(_Job):
    def __init__(self, request: AdjointRequest, places: _Places) -> None:
        super().__init__(places, request.vectors[:0], len(request.vectors))
        self._vectors = request.vectors

    def multipliers(self, number: int) -> Array:
        return self._vectors[:, self.places.own(number)]


class _QueryJob(_Job):
    """A job of which each section is a number of whole queries of the fold."""

    def __init__(self, w: Vector, loss: Loss, places: _Places) -> None:
        super().__init__(places, w[None], 1)
        self._compiled: QueryLoss = loss.compiled
        self._queries = np.searchsorted(loss.query_ptr, places.ends)
        self._queries[-1] = loss.n_queries
        self._scores, self._product = np.empty(places.n_rows), np.empty(places.n_rows)

    def take_scores(self, number: int, found: Array) -> None:
        self._scores[self.places.own(number)] = found[0, self.places.within(number)]

    def _runs(self, number: int) -> list[tuple[int, int]]:
        """Cut the queries of a section into runs, as many as its rows call for."""
        rows = self.places.own(number)
        count = max(1, (rows.stop - rows.start) // _RUN_ROWS)
        first, last = self._queries[number : number + 2].tolist()
        return list(pairwise([first + (last - first) * k // count for k in range(count + 1)]))

    def multipliers(self, number: int) -> Array:
        return self._product[None, self.places.own(number)]


class _FusedJob(_QueryJob):
    def __init__(self, request: FusedRequest, places: _Places) -> None:
        super().__init__(request.w, request.loss, places)
        self._w = request.w
        self._values: dict[int, Vector] = {}

    def evaluations(self, number: int) -> list[Callable[[], None]]:
        runs = self._runs(number)
        values = np.zeros(len(runs))
        self._values[number] = values

        def evaluate(k: int) -> None:
            values[k] = self._compiled.evaluate_queries(*runs[k], self._scores, self._product)

        return [partial(evaluate, k) for k in range(len(runs))]

    def answer(self) -> Evaluation:
        value = TreeSum.of(float(values.sum()) for _, values in sorted(self._values.items()))
        adjoint = self.sum.result()[0]
        return Evaluation(self._w, float(value), adjoint, self._scores, self._product)


class _HessianJob(_QueryJob):
    """Here the scores that are taken are those of the direction."""

    def __init__(self, request: HessianRequest, places: _Places) -> None:
        super().__init__(request.v, request.loss, places)
        self._at = request.scores

    def evaluations(self, number: int) -> list[Callable[[], None]]:
        multiply = self._compiled.hessian_queries
        return [partial(multiply, *run, self._at, self._scores, self._product) for run in self._runs(number)]

    def answer(self) -> Vector:
        return np.asarray(self.sum.result()[0])


_JOBS: dict[type[Request], Callable[[Any, _Places], _Job]] = {
    ScoresRequest: _ScoresJob,
    AdjointRequest: _AdjointJob,
    FusedRequest: _FusedJob,
    HessianRequest: _HessianJob,
}
