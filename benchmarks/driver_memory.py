"""What a row costs the driver and the scheduler of a training over Dask workers, in memory.

Trains on two sizes of the same data (a .mrd folder of two features, in 16 chunks) over two workers, a few
iterations of each, with queries of 100 rows and as one global ranking. Peaks of resident memory are those of
the training alone, for the driver and for the process of the scheduler, and the slope between the two sizes
is what a row costs, whatever a process takes to begin with. Every training has a driver of its own. Linux.

    python benchmarks/driver_memory.py                              # 1e6 and 1e7 rows, some minutes
    python benchmarks/driver_memory.py --rows 200000 2000000 --only queries
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from marginrank import RankSVM
from marginrank.io import write_dataset

ROWS_A_QUERY = 100
N_CHUNKS = 16
N_BLOCKS = 20
SHAPES = ("queries", "one ranking")


def reset_peak(pid: int | str) -> float:
    """Forget the peak of a process, and return what it has now, in bytes."""
    Path(f"/proc/{pid}/clear_refs").write_text("5")
    return memory(pid, "VmRSS")


def memory(pid: int | str, field: str) -> float:
    """Return a figure of the memory of a process, in bytes."""
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return 1024.0 * next(int(line.split()[1]) for line in lines if line.startswith(f"{field}:"))


def write_rows(path: Path, shape: str, n_rows: int) -> None:
    """Write rows with labels of five grades, a block at a time."""

    def blocks() -> Iterator[Any]:
        rng = np.random.default_rng(0)
        for k in range(N_BLOCKS):
            X = rng.normal(size=(n_rows // N_BLOCKS, 2)).astype(np.float32)
            y = np.clip(np.round(X[:, 0] + rng.normal(size=len(X)) + 2.0), 0.0, 4.0)
            qid = np.arange(k * len(X), (k + 1) * len(X)) // ROWS_A_QUERY
            yield (X, y, qid) if shape == "queries" else (X, y)

    write_dataset(path, blocks(), chunk_rows=-(-n_rows // N_CHUNKS))


def serve(connection: Any) -> None:
    """Run a scheduler in this process, with two workers in others, until there is word to stop."""
    from distributed import LocalCluster

    with LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster:
        connection.send(cluster.scheduler_address)
        connection.recv()


def drive(address: str, path: str, scheduler: int) -> dict[str, float]:
    """Train, and return what driver and scheduler took for it."""
    from distributed import Client

    from marginrank.distributed import DaskRanker

    estimator = RankSVM(alpha=1e-2, max_iter=5)
    with Client(address) as client, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        DaskRanker(estimator, client).fit(f"{path}-small.mrd")  # what is imported and opened at first use
        before = {"driver": reset_peak("self"), "scheduler": reset_peak(scheduler)}
        DaskRanker(estimator, client).fit(f"{path}.mrd")
        peaks = {"driver": memory("self", "VmHWM"), "scheduler": memory(scheduler, "VmHWM")}
    return {name: peaks[name] - before[name] for name in peaks}


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--rows", type=int, nargs=2, default=[1_000_000, 10_000_000])
    parser.add_argument("--only", choices=SHAPES)
    parser.add_argument("--drive", nargs=3, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.drive:
        print(json.dumps(drive(options.drive[0], options.drive[1], int(options.drive[2]))))
        return
    context = multiprocessing.get_context("spawn")
    for shape in SHAPES if options.only is None else [options.only]:
        took = []
        for n_rows in options.rows:
            with tempfile.TemporaryDirectory() as folder:
                path = Path(folder) / "rows"
                write_rows(Path(f"{path}.mrd"), shape, n_rows)
                write_rows(Path(f"{path}-small.mrd"), shape, 20 * ROWS_A_QUERY)
                ours, theirs = context.Pipe()
                process = context.Process(target=serve, args=(theirs,))
                process.start()
                address = ours.recv()
                command = [sys.executable, __file__, "--drive", address, str(path), str(process.pid)]
                done = subprocess.run(command, capture_output=True, text=True, check=True)
                took.append(json.loads(done.stdout.splitlines()[-1]))
                ours.send("stop")
                process.join()
        for name in took[0]:
            slope = (took[1][name] - took[0][name]) / (options.rows[1] - options.rows[0])
            peaks = ", ".join(f"{one[name] / 1e6:.0f} MB" for one in took)
            print(f"{shape:12} {name:10} {slope:7.1f} bytes a row  ({peaks} more than before)", flush=True)


if __name__ == "__main__":
    main()
