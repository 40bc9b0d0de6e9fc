"""What a pass costs as a function of rows, nonzeros, features, chunks and workers; part of ``scale.py``.

Passes in memory are timed by processor time, which other work on the machine stretches least. Calls to Dask
workers are timed by wall time (their median for the report, their lower quartile for the fit), beside empty
tasks at the same moment.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from distributed import Client, LocalCluster
from numpy.typing import NDArray
from scipy import sparse
from scipy.optimize import nnls

from marginrank import RankingData
from marginrank.designs import matrix_design
from marginrank.distributed.cluster import Cluster
from marginrank.distributed.dask_engine import DaskEngine
from marginrank.distributed.worker import InMemory
from marginrank.losses import HingeLoss
from marginrank.storage.engines import RemoteMatrix, subtrees

ROWS_A_QUERY, ROWS_A_CHUNK = 100, 100
#: Rows, nonzeros a row, features; those with True are fitted, the others only predicted.
SHAPES = [
    (100_000, 20, 10_000, True),
    (40_000, 100, 10_000, True),
    (400_000, 10, 10_000, True),
    (100_000, 75, 47_000, True),
    (20_000, 75, 300_000, True),
    (100_000, 100, 1_000_000, True),
    (20_000, 75, 1_000_000, True),
    (200_000, 40, 47_000, False),
    (80_000, 100, 200_000, False),
    (50_000, 50, 1_000_000, False),
]
FEATURES = [1_000, 47_000, 250_000, 1_000_000]
# A coefficient and an entry of the gradient each, in 512 KB.
CACHED_FEATURES = (512 << 10) / 16
CHUNK_BYTES, ENTRY_BYTES = 256e6, 12


@dataclass
class Costs:
    """Seconds: of a pass, by processor time; of a call, by wall time."""

    row: float = 0.0
    nonzero: float = 0.0
    far_nonzero: float = 0.0
    feature: float = 0.0
    call: float = 0.0
    task: float = 0.0
    byte: float = 0.0


def pass_terms(rows: float, nonzeros: float, features: float) -> list[float]:
    """Return what the processor time of a pass over a chunk is proportional to.

    Rows; nonzeros; nonzeros times the square of how often the features double beyond what the second level of
    cache holds (no law, only what fits); entries of the partial sums, of which there are as many as
    ``adjoint_blocks`` of the kernels says.
    """
    doublings = max(0.0, np.log2(features / CACHED_FEATURES))
    most = min(nonzeros / (16 * features), max(2**20 / features, 4.0), 64.0)
    blocks = 2.0 ** np.floor(np.log2(max(most, 1.0)))
    return [rows, nonzeros, nonzeros * doublings**2, features * blocks]


def pass_seconds(costs: Costs, rows: float, nonzeros: float, features: float) -> float:
    """Return the processor time of a pass."""
    found = pass_terms(rows, nonzeros, features)
    return float(np.dot(found, [costs.row, costs.nonzero, costs.far_nonzero, costs.feature]))


def sums_a_worker(n_chunks: int, n_workers: int) -> float:
    """Return how many partial sums a worker sends, on average."""
    home = [k * n_workers // n_chunks for k in range(n_chunks)]
    held: list[list[int]] = [[] for _ in range(n_workers)]
    for chunk, worker in enumerate(home):
        held[worker].append(chunk)
    return sum(len(list(subtrees(positions))) for positions in held) / n_workers


def moved_bytes(features: float, n_chunks: int, n_workers: int) -> float:
    """Return the bytes of a call: coefficients to every worker, partial sums from every worker."""
    return 8 * features * n_workers * (1 + sums_a_worker(n_chunks, n_workers))


def generated(rows: int, per_row: int, features: int) -> RankingData:
    """Return queries of sparse rows, with frequent words more often, as in ``scale.py``."""
    rng = np.random.default_rng(0)
    words = np.sort((features * rng.random((rows, per_row)) ** 3).astype(np.int32), axis=1).ravel()
    ptr = np.arange(0, rows * per_row + 1, per_row)
    X = sparse.csr_matrix((rng.random(rows * per_row), words, ptr), shape=(rows, features))
    y = np.digitize(rng.standard_normal(rows), [0.5, 1.5])
    return RankingData(X, y, qid=np.arange(rows) // ROWS_A_QUERY)


def measured_pass(rows: int, per_row: int, features: int, repeats: int = 7) -> float:
    """Return the least processor time of a pass over one chunk in memory."""
    data = generated(rows, per_row, features)
    loss = HingeLoss(data.training_view(), weighting="pairs", n_threads=1)
    design = matrix_design(data.X, n_threads=1)
    w = np.random.default_rng(1).standard_normal(features)
    times = []
    for _ in range(repeats):
        start = time.process_time()
        design.evaluate(w, loss)
        times.append(time.process_time() - start)
    return min(times)


@contextmanager
def workers(n_workers: int) -> Iterator[Client]:
    """Give a client of processes on this machine, one thread each."""
    with (
        LocalCluster(
            n_workers=n_workers, threads_per_worker=1, processes=True, dashboard_address="127.0.0.1:0"
        ) as cluster,
        Client(cluster, set_as_default=False) as client,
    ):
        yield client


def tiny_call(client: Client, features: int, n_chunks: int) -> Callable[[], Any]:
    """Return an evaluation of next to no rows: what is left is what the engine costs."""
    data = generated(n_chunks * ROWS_A_CHUNK, 5, features)
    bounds = np.arange(0, data.n_rows + 1, ROWS_A_CHUNK)
    parts = [InMemory(data.X[first : first + ROWS_A_CHUNK]) for first in bounds[:-1]]
    engine = DaskEngine(Cluster(client, 60.0, 3), parts)
    design: Any = matrix_design(RemoteMatrix(engine, bounds, features, data.X.dtype), n_threads=1)
    loss = HingeLoss(data.training_view(), weighting="pairs", n_threads=1)
    w = np.random.default_rng(1).standard_normal(features)
    return lambda: design.evaluate(w, loss)


def empty_calls(client: Client, tasks: int) -> Callable[[], Any]:
    """Return the same number of tasks without anything in them."""
    addresses = list(client.nthreads())

    def call() -> Any:
        numbers = range(tasks)
        futures = [
            client.submit(_nothing, k, pure=False, workers=[addresses[k % len(addresses)]]) for k in numbers
        ]
        return client.gather(futures)

    return call


def _nothing(number: int) -> int:
    return number


def in_turn(works: dict[Any, Callable[[], Any]], rounds: int, each: int = 8) -> dict[Any, NDArray[Any]]:
    """Return the wall times of works, a few calls of each at a time."""
    times: dict[Any, list[float]] = {name: [] for name in works}
    for number in range(rounds + 1):
        for name, work in works.items():
            for k in range(each):
                start = time.perf_counter()
                work()
                if number and k:  # after another work, the first call pays for what that one left behind
                    times[name].append(time.perf_counter() - start)
    return {name: np.array(found) for name, found in times.items()}


def dask_overhead(rounds: int = 12) -> None:
    """Print what a call costs at 2 workers, 4 chunks and 47,000 features."""
    with workers(2) as client:
        works = {"a call": tiny_call(client, 47_000, 4), "two empty tasks": empty_calls(client, 2)}
        times = {name: 1e3 * found for name, found in in_turn(works, rounds).items()}
    print("2 Dask workers, 4 chunks, 47,000 features")
    for name, found in times.items():
        low, middle = np.quantile(found, [0.05, 0.5])
        print(f"  {name:<18} median {middle:6.1f} ms, 5 % below {low:6.1f} ms, {len(found)} calls")
    ratio = np.median(times["a call"]) / np.median(times["two empty tasks"])
    print(f"  ratio of the medians {ratio:.2f}")


def fitted_calls(costs: Costs, rounds: int = 6) -> list[tuple[str, float, float]]:
    """Fit the costs of calls to 2 workers, and return what was measured beside what they say."""
    with workers(2) as client:
        works: dict[Any, Callable[[], Any]] = {(2, p): tiny_call(client, p, 4) for p in FEATURES}
        works |= {(tasks, 0): empty_calls(client, tasks) for tasks in (2, 8, 32)}
        times = {
            name: float(np.quantile(found, 0.25)) for name, found in in_turn(works, rounds, each=5).items()
        }
    terms = {(tasks, p): [1.0, tasks, moved_bytes(p, 4, 2)] for tasks, p in times}
    A = np.array([terms[name] for name in times])
    b = np.array(list(times.values()))
    costs.call, costs.task, costs.byte = nnls(A / b[:, None], np.ones(len(b)))[0]
    names = [f"{tasks} tasks, {p:,} features" for tasks, p in times]
    return list(zip(names, (A @ [costs.call, costs.task, costs.byte]).tolist(), b.tolist(), strict=True))


def fitted_passes(costs: Costs) -> list[tuple[str, float, float]]:
    """Fit the costs of passes, and return what was measured beside what they say."""
    times = [measured_pass(*shape[:3]) for shape in SHAPES]
    terms = np.array([pass_terms(rows, rows * per_row, p) for rows, per_row, p, _ in SHAPES])
    chosen = np.array([shape[3] for shape in SHAPES])
    A = terms / np.array(times)[:, None]
    found = nnls(A[chosen], np.ones(int(chosen.sum())))[0]
    costs.row, costs.nonzero, costs.far_nonzero, costs.feature = found
    names = [f"{n:,} rows, {k} each, {p:,} features{'' if fit else ' *'}" for n, k, p, fit in SHAPES]
    return list(zip(names, (terms @ found).tolist(), times, strict=True))


def iteration(
    costs: Costs, rows: float, per_row: float, features: float, n_workers: int, **other: float
) -> dict[str, float]:
    """Return the seconds of an iteration over a cluster, by what takes them; ``other`` as in the defaults."""
    cores, network = other.get("cores", 2), other.get("network", 1.25e9)
    n_chunks = int(other.get("n_chunks", max(n_workers, rows * per_row * ENTRY_BYTES // CHUNK_BYTES)))
    share = rows / n_chunks
    compute = pass_seconds(costs, share, share * per_row, features) * n_chunks / n_workers / cores
    traffic = moved_bytes(features, n_chunks, n_workers)
    return {
        "compute": compute,
        "tasks": costs.call + costs.task * n_workers,
        # By way of the scheduler, whose own network every byte passes twice, and copied by processors.
        "traffic": traffic * max(2 / network, costs.byte),
        "gigabytes": traffic / 1e9,
        "sums": sums_a_worker(n_chunks, n_workers),
    }


def report(*, fit: bool, picture: str | None) -> None:
    """Print what a call to Dask workers costs or, with ``fit``, all coefficients and predictions."""
    if not fit:
        dask_overhead()
        return
    costs = Costs()
    tables = {"passes, CPU": fitted_passes(costs), "calls, wall": fitted_calls(costs)}
    for title, lines in tables.items():
        print(f"\n{title:<46}predicted  measured   (* not used in the fit)")
        for name, said, took in lines:
            print(f"  {name:<46}{1e3 * said:7.1f} ms {1e3 * took:7.1f} ms  {said / took - 1:+.0%}")
    print("\ncoefficients, nanoseconds")
    for field in fields(Costs):
        print(f"  {field.name:<14}{1e9 * getattr(costs, field.name):14.3f}")
    print("\n10^9 rows, 100 nonzeros each, 10^6 features; seconds an iteration")
    for n_workers, n_chunks in [(1, 4608), (10, 4608), (64, 4096), (100, 4687), (128, 4096), (1024, 4096)]:
        found = iteration(costs, 1e9, 100, 1e6, n_workers, n_chunks=n_chunks)
        told = ", ".join(f"{name} {value:.3g}" for name, value in found.items())
        print(f"  {n_workers:>4} workers, {n_chunks} chunks: {told}")
    if picture:
        draw(costs, picture)


def draw(costs: Costs, path: str) -> None:
    """Draw the seconds of an iteration over the number of workers."""
    import matplotlib as mpl

    mpl.use("agg")
    from matplotlib import pyplot as plt

    figure, axes = plt.subplots(1, 2, figsize=(10, 4.2), sharey=True, layout="constrained")
    counts = [2**k for k in range(11)]
    for ax, (rows, features) in zip(axes, [(1e9, 1_000_000), (1e8, 47_000)], strict=True):
        found = [iteration(costs, rows, 100, features, n, n_chunks=4096) for n in counts]
        parts = {name: np.array([one[name] for one in found]) for name in ("compute", "traffic", "tasks")}
        for (name, values), style in zip(parts.items(), ("--", "-.", ":"), strict=True):
            ax.loglog(counts, values, style, label=name)
        ax.loglog(counts, sum(parts.values()), "k-", linewidth=2, label="iteration")
        ax.set_title(f"{rows:.0e} rows, 100 nonzeros each, {features:,} features", fontsize=10)
        ax.set_xlabel("workers of two cores")
        ax.grid(alpha=0.3)
    axes[0].set_ylabel("seconds, predicted")
    axes[0].legend()
    figure.savefig(path, dpi=110)
