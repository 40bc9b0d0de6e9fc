"""How fast passes over data on disk are, and how little memory they need.

Writes generated data sets (dense float32 rows of 136 features; sparse rows of 47,000 features, as words of
texts) and times passes over them: the hinge of ``RankSVM`` with its gradient, one read of the features each.
From disk (cold: the system is told to forget the files first) and from the cache of the system (warm: right
after a cold one), beside reading the same files one after another, and beside the pass over the same rows in
memory. The share is that of the slower of these two; beside wall times, which other work on the machine
stretches, that of processor times.

    python benchmarks/scale.py                          # 1 GB each, chunks of 64 MB
    python benchmarks/scale.py --gigabytes 4 --chunk-megabytes 256
    python benchmarks/scale.py --dask                   # what a call to two Dask workers costs
    python benchmarks/scale.py --fit                    # the coefficients of docs/scaling.md, and its picture
    python benchmarks/scale.py --limit 700              # 2.1 GB, converted and trained within 700 MB

With ``--limit`` a process converts LETOR text and trains on the result, three times as large as the limit on
all that it may allocate (RLIMIT_DATA). It first
shows that an allocation of the size of the limit fails.
"""

from __future__ import annotations

import argparse
import mmap
import os
import resource
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from marginrank import RankingData, RankSVM, dump_letor, open_dataset, write_dataset
from marginrank.designs import matrix_design
from marginrank.io import convert_to_dataset
from marginrank.losses import HingeLoss

ROWS_A_QUERY = 100
WORDS, WORDS_A_ROW = 47_000, 75
COLUMNS = 136
READ_BYTES = 4 << 20


def dense_blocks(n_bytes: float, seed: int = 0) -> Iterator[Any]:
    """Give blocks of queries with dense float32 features."""
    rng = np.random.default_rng(seed)
    for first in range(0, int(n_bytes / (4 * COLUMNS * ROWS_A_QUERY)), 200):
        X = rng.standard_normal((200 * ROWS_A_QUERY, COLUMNS), dtype=np.float32)
        yield X, *labels(X[:, 0], rng, first)


def sparse_blocks(n_bytes: float, seed: int = 0) -> Iterator[Any]:
    """Give blocks of queries with rows of words, frequent ones more often."""
    rng = np.random.default_rng(seed)
    n = 200 * ROWS_A_QUERY
    for first in range(0, int(n_bytes / (12 * WORDS_A_ROW * ROWS_A_QUERY)), 200):
        words = np.sort((WORDS * rng.random((n, WORDS_A_ROW)) ** 3).astype(np.int32), axis=1)
        values = rng.random(n * WORDS_A_ROW)
        ptr = np.arange(0, n * WORDS_A_ROW + 1, WORDS_A_ROW)
        X = sparse.csr_matrix((values, words.ravel(), ptr), shape=(n, WORDS))
        yield X, *labels(values[::WORDS_A_ROW], rng, first)


def labels(signal: Any, rng: np.random.Generator, first: int) -> tuple[Any, Any]:
    """Return labels that follow a signal, and query ids from ``first`` on."""
    y = np.digitize(signal + rng.standard_normal(len(signal)), [0.5, 1.5])
    return y, np.repeat(np.arange(first, first + len(signal) // ROWS_A_QUERY), ROWS_A_QUERY)


def drop_from_cache(folder: Path) -> None:
    """Make the system forget the content of files; it keeps what is not yet on disk."""
    for path in folder.iterdir():
        descriptor = os.open(path, os.O_RDONLY)
        os.fsync(descriptor)
        os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
        os.close(descriptor)


def read_files(folder: Path) -> None:
    """Read all files one after another, into memory that starts with a page: the fastest there is."""
    buffer = mmap.mmap(-1, READ_BYTES)
    for path in sorted(folder.glob("chunk-*.bin")):
        with open(path, "rb", buffering=0) as file:
            os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_SEQUENTIAL)
            while file.readinto(buffer):
                pass


def seconds(work: Callable[[], Any]) -> NDArray[np.float64]:
    """Return wall time and processor time."""
    start = time.perf_counter(), time.process_time()
    work()
    return np.array([time.perf_counter() - start[0], time.process_time() - start[1]])


def pass_over(data: Any, n_threads: int) -> Callable[[], Any]:
    """Return what goes through the data once: scores, hinge, gradient."""
    loss = HingeLoss(data.training_view(), weighting="pairs", n_threads=n_threads)
    design = matrix_design(data.X, n_threads=n_threads)
    w = np.random.default_rng(1).standard_normal(data.n_features) / 10
    return lambda: design.evaluate(w, loss)


def measure(name: str, folder: Path, options: argparse.Namespace) -> None:
    """Time everything about one data set, and print it."""
    ds = open_dataset(folder)
    size = sum(path.stat().st_size for path in folder.glob("chunk-*.bin"))
    on_disk = pass_over(ds, options.jobs)
    on_disk()  # checksums are compared in the first pass
    print(f"\n{name}: {ds}, {size / 1e9:.2f} GB, {options.jobs} threads; best of {options.repeats}")
    works = {"pass in memory": pass_over(ds.in_memory(), options.jobs)}
    works["reading the files"] = lambda: read_files(folder)
    works["pass on disk"] = on_disk
    best = {(name, cold): np.full(2, np.inf) for cold in (False, True) for name in works}
    for _ in range(options.repeats):  # in turn, so that a busy moment of the machine meets all of them
        for name, work in works.items():
            drop_from_cache(folder)
            for cold in (True, False):
                best[name, cold] = np.minimum(best[name, cold], seconds(work))
    memory = best["pass in memory", False]
    for (name, cold), took in best.items():
        if name == "pass in memory" and cold:  # it reads no file
            continue
        # Processor time: that of the pass and of reading together, for both need it.
        needed = memory[1] + best["reading the files", cold][1]
        slower = max(best["reading the files", cold][0], memory[0])
        share = f"  {slower / took[0]:5.0%}  {needed / took[1]:5.0%}" if name == "pass on disk" else ""
        label = f"{name}, {'cold' if cold else 'warm'}"
        print(f"  {label:<26}{took[0]:7.3f} s  {size / took[0] / 1e9:6.2f} GB/s {took[1]:7.3f} s CPU{share}")


def write_text(path: Path, n_bytes: float) -> None:
    """Write LETOR text whose features take so many bytes as float64, a block of queries over and over."""
    X, y, qid = next(dense_blocks(4 * COLUMNS * ROWS_A_QUERY))
    part = slice(0, 50 * ROWS_A_QUERY)
    block = RankingData(X[part].astype(np.float64).round(3), y[part], qid=qid[part])
    with path.open("wb") as file:
        for number in range(int(n_bytes / (8 * COLUMNS * block.n_rows))):
            dump_letor(RankingData(block.X, block.y, qid=block.qid + 50 * number), file)


def train_within(megabytes: int, folder: Path, options: argparse.Namespace) -> None:
    """Convert and train three times as much as this process may allocate from here on."""
    text, target, limit = folder / "train.txt", folder / "train.mrd", megabytes * 10**6
    write_text(text, 3 * limit)
    resource.setrlimit(resource.RLIMIT_DATA, (limit, limit))
    try:
        np.empty(limit, dtype=np.uint8)
    except MemoryError as error:
        print(f"limit of {megabytes} MB on what is allocated; {error}")
    else:
        raise SystemExit("The limit does not hold here.")
    chunk = int(options.chunk_megabytes * 1e6)
    took, _ = seconds(lambda: convert_to_dataset(text, target, chunk_bytes=chunk, n_jobs=options.jobs))
    size = sum(path.stat().st_size for path in target.glob("chunk-*.bin"))
    print(f"converted {text.stat().st_size / 1e9:.2f} GB of text in {took:.0f} s")
    ranker = RankSVM(alpha=1e-3, n_jobs=options.jobs)
    ds = open_dataset(target)
    took, _ = seconds(lambda: ranker.fit(ds))
    print(
        f"trained on {ds}, {size / 1e9:.2f} GB: {took:.0f} s, {ranker.n_passes_:g} passes, "
        f"gap {ranker.gap_:.1e}"
    )
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3
    print(f"peak of all memory: {peak:.0f} MB")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--gigabytes", type=float, default=1.0)
    parser.add_argument("--chunk-megabytes", type=float, default=64.0)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--repeats", type=int, default=10)
    parser.add_argument("--kind", choices=["dense", "sparse"], action="append")
    parser.add_argument("--folder", help="Where to write; by default a temporary folder.")
    parser.add_argument(
        "--limit", type=int, help="Megabytes that may be allocated, to train on three times as many."
    )
    parser.add_argument("--dask", action="store_true", help="Time calls to Dask workers.")
    parser.add_argument("--fit", action="store_true", help="Fit the cost model of docs/scaling.md.")
    parser.add_argument("--picture", help="Where --fit draws it.")
    options = parser.parse_args()
    if options.dask or options.fit:
        import scale_costs

        scale_costs.report(fit=options.fit, picture=options.picture)
        return
    makers = {"dense": dense_blocks, "sparse": sparse_blocks}
    with tempfile.TemporaryDirectory(dir=options.folder) as folder:
        if options.limit:
            train_within(options.limit, Path(folder), options)
            return
        for kind in options.kind or makers:
            path = Path(folder) / f"{kind}.mrd"
            blocks = makers[kind](options.gigabytes * 1e9)
            write_dataset(path, blocks, chunk_bytes=int(options.chunk_megabytes * 1e6))
            measure(kind, path, options)


if __name__ == "__main__":
    main()
