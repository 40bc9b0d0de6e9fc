"""What alpha="auto" by folds costs where all folds go down at once, against one fold after another.

The folds of a block share every read of X; alone, a fold reads its own rows only, and dense rows once for
scores and adjoint. Prints seconds, processor seconds and passes of both ways, best of ``--repeats`` runs that
alternate, and their ratios: below 1 where the block pays. ``cold`` drops the files from the page cache before
every read, as if the data were larger than memory.

    python benchmarks/fold_blocks.py                      # generated data
    MARGINRANK_DATA=... python benchmarks/fold_blocks.py  # MQ2008 and OHSUMED, too
    python benchmarks/fold_blocks.py --only text --columns 47000 --cv 8
"""

from __future__ import annotations

import argparse
import os
import tempfile
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from linear import search_like, tf_idf
from marginrank import (
    KernelRankSVM,
    RankingData,
    RankSVM,
    StructuredRankSVM,
    load_letor,
    open_dataset,
    write_dataset,
)
from marginrank.storage.chunks import PassLoader
from marginrank.training import alpha_searches, fold_blocks


def text(n_rows: int, n_columns: int, *, queries: bool) -> RankingData:
    """Return sparse rows of the most frequent words, in queries of 20 or as one global ranking."""
    X, utility = tf_idf(n_rows)
    X = X[:, :n_columns]
    X.sort_indices()
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


def letor(folder: Path) -> RankingData:
    return load_letor(next(folder.glob("S1.txt*")))


def on_disk(make: Callable[[], RankingData], folder: Path, *, cold: bool) -> RankingData:
    """Return the data as they lie on disk, in about 16 chunks; cold: forgotten before each pass."""
    if not folder.exists():
        data = make()
        write_dataset(folder, data, chunk_rows=max(1, data.n_rows // 16))
    found = open_dataset(folder)
    if cold:
        load, read_ahead = found.X._passes

        def load_cold(number: int) -> Any:
            if number == 0:
                drop_from_cache(folder)
            return load(number)

        found.X._passes = PassLoader(load_cold, read_ahead)
    return found


def works(
    rows: int, columns: int, scratch: Path
) -> Iterator[tuple[str, Callable[[], RankingData], dict[str, Any]]]:
    """Name the kinds of work: data, and options of the ranker."""
    if "MARGINRANK_DATA" in os.environ:
        root = Path(os.environ["MARGINRANK_DATA"])
        for name in ("MQ2008", "OHSUMED"):
            yield name, partial(letor, root / name), {}
        yield "MQ2008 structured", partial(letor, root / "MQ2008"), {"structured": True}
    # Below, text like this can nearly be ranked without error: hundreds of passes for alphas nobody chooses.
    alphas = np.geomspace(1e-2, 1e-4, 33)
    in_queries = partial(text, rows, columns, queries=True)
    yield "text in queries, hinge", in_queries, {"alphas": alphas}
    yield "text in queries, squared hinge", in_queries, {"alphas": alphas, "loss": "squared_hinge"}
    yield "text, one ranking, hinge", partial(text, rows, columns, queries=False), {"alphas": alphas}
    yield "web search, hinge", partial(web_search, 2 * rows), {"alphas": alphas}
    few = {"alphas": alphas[::16]}
    yield "text in queries, hinge, 3 alphas", in_queries, few
    yield "text, one ranking, hinge, 3 alphas", partial(text, rows, columns, queries=False), few
    yield "web search, hinge, 3 alphas", partial(web_search, 2 * rows), few
    yield (
        "kernel features made in every pass, 3 alphas",
        partial(web_search, rows // 4),
        {**few, "kernel": True},
    )
    kinds = {"text": in_queries, "web search": partial(web_search, 2 * rows)}
    for kind, make in kinds.items():
        folder = scratch / f"{kind.replace(' ', '-')}.mrd"
        for how, cold in {"in the cache": False, "cold": True}.items():
            yield f"{kind} on disk, {how}", partial(on_disk, make, folder, cold=cold), {"alphas": alphas}


def ranker_of(options: dict[str, Any]) -> Any:
    options = dict(options)
    if options.pop("kernel", False):
        return KernelRankSVM(
            gamma=0.01,
            linear_block=False,
            n_components=200,
            store="recompute",
            random_state=0,
            alpha="auto",
            **options,
        )
    if options.pop("structured", False):
        return StructuredRankSVM("ndcg@10", alpha="auto", **options)
    return RankSVM(alpha="auto", **options)


def compare(ranker: Any, data: RankingData, repeats: int) -> dict[str, Any]:
    """Return wall and processor seconds and passes of both ways, and how many folds the rule takes."""
    best: dict[str, Any] = {}
    rule = alpha_searches.folds_at_once

    def forced(at_once: int, training: Any) -> int:
        best["rule"] = rule(training)
        return at_once

    try:
        for _ in range(repeats):
            for way, at_once in {"block": fold_blocks.MOST_AT_ONCE, "alone": 1}.items():
                alpha_searches.folds_at_once = partial(forced, at_once)
                wall, processor = time.perf_counter(), time.process_time()
                passes = ranker.fit(data).n_passes_
                took = time.perf_counter() - wall, time.process_time() - processor, passes
                best[way] = tuple(map(min, best.get(way, took), took))
    finally:
        alpha_searches.folds_at_once = rule
    return best


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=60_000, help="of text; web search has twice as many")
    parser.add_argument("--columns", type=int, default=5_000, help="of text; at most 47,000")
    parser.add_argument("--cv", type=int, default=5)
    parser.add_argument("--n-jobs", type=int)
    parser.add_argument("--repeats", type=int, default=2)
    parser.add_argument("--only", default="", help="work whose name contains this")
    options = parser.parse_args()
    names = ["work", "block s", "alone s", "ratio", "processor", "block passes", "alone passes", "the rule"]
    print("| " + " | ".join(names) + " |\n" + "| --- " * len(names) + "|")
    with tempfile.TemporaryDirectory() as scratch:
        for name, make, given in works(options.rows, options.columns, Path(scratch)):
            if options.only not in name:
                continue
            ranker = ranker_of({**given, "cv": options.cv, "n_jobs": options.n_jobs})
            found = compare(ranker, make(), options.repeats)
            (wall, processor, passes), (wall_1, processor_1, passes_1) = found["block"], found["alone"]
            print(
                f"| {name} | {wall:.2f} | {wall_1:.2f} | {wall / wall_1:.2f} | "
                f"{processor / processor_1:.2f} | {passes:.0f} | {passes_1:.0f} | {found['rule']} |",
                flush=True,
            )


if __name__ == "__main__":
    main()
