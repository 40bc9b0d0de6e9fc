"""What alpha="auto" by folds costs where all folds go down at once, against one fold after another.

The folds of a block share every read of X; alone, a fold reads its own rows only, and dense rows once for
scores and adjoint. Prints seconds, processor seconds and passes of both ways, best of ``--repeats`` runs that
alternate, and their ratios: below 1 where the block pays. ``cold`` drops the files from the page cache before
every read, as if the data were larger than memory.

    python benchmarks/fold_blocks.py                      # generated data
    MARGINRANK_DATA=... python benchmarks/fold_blocks.py  # MQ2008 and OHSUMED, too
    python benchmarks/fold_blocks.py --only text --rows 8000 --cv 5
"""

from __future__ import annotations

import argparse
import os
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from linear import search_like, tf_idf

from marginrank import RankingData, RankSVM, StructuredRankSVM, load_letor, open_dataset, write_dataset
from marginrank.estimators import certified, fold_blocks


def text(n_rows: int, *, queries: bool) -> RankingData:
    """Return sparse rows, in queries of 20 or as one global ranking."""
    X, utility = tf_idf(n_rows)
    grades = np.digitize(utility, np.quantile(utility, [0.5, 0.8, 0.95])).astype(np.float64)
    return RankingData(X, grades, qid=np.arange(n_rows) // 20 if queries else None)


def web_search(n_rows: int) -> RankingData:
    """Return dense rows with 136 features, in queries of about 120."""
    X, y, qid = search_like()
    last = int(np.searchsorted(qid, qid[n_rows]))
    return RankingData(X[:last], y[:last], qid=qid[:last])


def drop_from_cache(folder: Path) -> None:
    for path in folder.rglob("*"):
        if path.is_file():
            with path.open("rb") as file:
                os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def on_disk(data: RankingData, folder: Path, *, mmap: bool, cold: bool) -> RankingData:
    """Return the data as they lie on disk, in about 16 chunks."""
    if not folder.exists():
        write_dataset(folder, data, chunk_rows=max(1, data.n_rows // 16))
    found = open_dataset(folder, mmap=mmap)
    if cold:
        load, X = found.X._load, found.X

        def load_cold(number: int) -> Any:
            if number == 0:
                drop_from_cache(folder)
            return load(number)

        X._load = load_cold
    return found


def works(rows: int, scratch: Path) -> Iterator[tuple[str, Callable[[], RankingData], Any]]:
    """Name the kinds of work: data, and the ranker."""
    hinge, squared = RankSVM(alpha="auto"), RankSVM("squared_hinge", alpha="auto")
    if "MARGINRANK_DATA" in os.environ:
        root = Path(os.environ["MARGINRANK_DATA"])
        for name in ("MQ2008", "OHSUMED"):
            yield name, lambda name=name: load_letor(next((root / name).glob("S1.txt*"))), hinge
        yield (
            "MQ2008 structured",
            lambda: load_letor(next((root / "MQ2008").glob("S1.txt*"))),
            StructuredRankSVM("ndcg@10", alpha="auto"),
        )
    yield "text in queries, hinge", lambda: text(rows, queries=True), hinge
    yield "text in queries, squared hinge", lambda: text(rows, queries=True), squared
    yield "text, one ranking, hinge", lambda: text(rows, queries=False), hinge
    yield "web search, hinge", lambda: web_search(4 * rows), hinge
    for kind, make in {"text": lambda: text(rows, queries=True), "web search": lambda: web_search(4 * rows)}.items():
        folder = scratch / f"{kind.replace(' ', '-')}.mrd"
        for how, options in {
            "mapped": {"mmap": True, "cold": False},
            "read": {"mmap": False, "cold": False},
            "read, cold": {"mmap": False, "cold": True},
        }.items():
            yield (
                f"{kind} on disk, {how}",
                lambda make=make, folder=folder, options=options: on_disk(make(), folder, **options),
                hinge,
            )


def compare(ranker: Any, data: RankingData, repeats: int) -> dict[str, tuple[float, float, float]]:
    """Return wall and processor seconds and passes of both ways."""
    best: dict[str, tuple[float, float, float]] = {}
    ways = {"block": fold_blocks.MOST_AT_ONCE, "alone": 1}
    chosen = certified.folds_at_once
    try:
        for _ in range(repeats):
            for way, at_once in ways.items():
                certified.folds_at_once = lambda training, at_once=at_once: at_once
                wall, processor = time.perf_counter(), time.process_time()
                passes = ranker.fit(data).n_passes_
                took = time.perf_counter() - wall, time.process_time() - processor, passes
                best[way] = min(best.get(way, took), took)
    finally:
        certified.folds_at_once = chosen
    return best


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=8_000, help="rows of text; web search has four times as many")
    parser.add_argument("--cv", type=int, default=5)
    parser.add_argument("--n-jobs", type=int)
    parser.add_argument("--repeats", type=int, default=2)
    parser.add_argument("--only", default="", help="work whose name contains this")
    options = parser.parse_args()
    print("| work | block s | alone s | ratio | processor | block passes | alone passes | rule |\n" + "| --- " * 8 + "|")
    with tempfile.TemporaryDirectory() as scratch:
        for name, make, ranker in works(options.rows, Path(scratch)):
            if options.only not in name:
                continue
            data = make()
            ranker.set_params(cv=options.cv, n_jobs=options.n_jobs)
            found = compare(ranker, data, options.repeats)
            (wall, processor, passes), (wall_1, processor_1, passes_1) = found["block"], found["alone"]
            print(
                f"| {name} | {wall:.2f} | {wall_1:.2f} | {wall / wall_1:.2f} | {processor / processor_1:.2f} | "
                f"{passes:.0f} | {passes_1:.0f} | |",
                flush=True,
            )


if __name__ == "__main__":
    main()
