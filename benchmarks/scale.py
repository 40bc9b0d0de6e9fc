"""How fast passes over data on disk are, and how little memory they need.

Writes generated data sets (dense float32 rows of 136 features; sparse rows of 47,000 features, as words of
texts) and times passes over them: the hinge of ``RankSVM`` with its gradient, one read of the features each.
Mapped and read, with the files in the cache of the system (warm) and without (cold), beside reading the same
files one after another, and beside the pass over the same rows in memory. The share is that of the slower of
these two.

    python benchmarks/scale.py                          # 1 GB each, chunks of 64 MB
    python benchmarks/scale.py --gigabytes 4 --chunk-megabytes 256
    python benchmarks/scale.py --limit 700              # 2.1 GB, converted and trained within 700 MB

With ``--limit`` a process converts LETOR text and trains on the result, three times as large as the limit on
all that it may allocate (RLIMIT_DATA; files that are mapped do not count, so the chunks are read). It first
shows that an allocation of the size of the limit fails.
"""

from __future__ import annotations

import argparse
import os
import resource
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
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
    """Read all files one after another."""
    buffer = bytearray(READ_BYTES)
    for path in sorted(folder.glob("chunk-*.bin")):
        with open(path, "rb", buffering=0) as file:
            os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_SEQUENTIAL)
            while file.readinto(buffer):
                pass


def seconds(work: Callable[[], Any], repeats: int, before: Callable[[], Any] = lambda: None) -> float:
    """Return the shortest of some wall times."""
    times = []
    for _ in range(repeats):
        before()
        start = time.perf_counter()
        work()
        times.append(time.perf_counter() - start)
    return min(times)


def pass_over(data: Any, n_threads: int) -> Callable[[], Any]:
    """Return what goes through the data once: scores, hinge, gradient."""
    loss = HingeLoss(data.training_view(), weighting="pairs", n_threads=n_threads).native
    design = matrix_design(data.X, n_threads=n_threads)
    w = np.random.default_rng(1).standard_normal(data.n_features) / 10
    return lambda: design.fused(w, loss)


def measure(name: str, folder: Path, options: argparse.Namespace) -> None:
    """Time everything about one data set, and print it."""
    ds = open_dataset(folder)
    size = sum(path.stat().st_size for path in folder.glob("chunk-*.bin"))
    passes = {
        "mapped": pass_over(ds, options.jobs),
        "read": pass_over(open_dataset(folder, mmap=False), options.jobs),
    }
    for one in passes.values():
        one()  # checksums are compared in the first pass
    print(f"\n{name}: {ds}, {size / 1e9:.2f} GB, {options.jobs} threads; best of {options.repeats}")
    works = {"pass in memory": pass_over(ds.in_memory(), options.jobs)}
    works["reading the files"] = lambda: read_files(folder)
    works |= {f"pass, {way}": one for way, one in passes.items()}
    best = dict.fromkeys([(name, cold) for cold in (False, True) for name in works], np.inf)
    del best["pass in memory", True]  # it reads no file
    for _ in range(options.repeats):  # in turn, so that a busy moment of the machine meets all of them
        for name, cold in best:
            forget = (lambda: drop_from_cache(folder)) if cold else (lambda: None)
            best[name, cold] = min(best[name, cold], seconds(works[name], 1, forget))
    for (name, cold), took in best.items():
        slower = max(best["reading the files", cold], best["pass in memory", False])
        share = f"  {slower / took:5.0%}" if "," in name else ""
        label = f"{name}, {'cold' if cold else 'warm'}"
        print(f"  {label:<28}{took:7.3f} s  {size / took / 1e9:6.2f} GB/s{share}")


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
    took = seconds(lambda: convert_to_dataset(text, target, chunk_bytes=chunk, n_jobs=options.jobs), 1)
    size = sum(path.stat().st_size for path in target.glob("chunk-*.bin"))
    print(f"converted {text.stat().st_size / 1e9:.2f} GB of text in {took:.0f} s")
    for mmap in (False, True):
        ranker = RankSVM(alpha=1e-3, n_jobs=options.jobs)
        ds = open_dataset(target, mmap=mmap)
        took = seconds(lambda ranker=ranker, ds=ds: ranker.fit(ds), 1)
        print(
            f"trained on {ds}, {size / 1e9:.2f} GB, {'mapped' if mmap else 'read'}: {took:.0f} s, "
            f"{ranker.n_passes_:g} passes, gap {ranker.gap_:.1e}"
        )
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3
    print(f"peak of all memory, mapped pages too: {peak:.0f} MB")


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
    options = parser.parse_args()
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
