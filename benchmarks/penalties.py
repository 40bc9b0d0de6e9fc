"""What sparse and constrained rankers cost, in units of one pass over the data (``ref`` of ``linear.py``).

python benchmarks/penalties.py                       # everything
python benchmarks/penalties.py --only selection      # 20 of 136 features over 1,200,000 rows
python benchmarks/penalties.py --only selection --share 0.1
python benchmarks/penalties.py --only elastic        # about 1,000 of 47,000 words, against the plain hinge
python benchmarks/penalties.py --only bounds         # bounds on all columns, against none
python benchmarks/penalties.py --only elastic --rows 128000 --alpha 1e-6
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from typing import Any

from linear import ALPHA, apart, input_bytes, memory_bytes, reference, reset_peak_memory, search_like, tf_idf
from marginrank import RankSVM, rank_rls_selection

# Bounds of all columns: signs, a box that holds few weights, and one that holds most of the large ones.
BOUNDS = {"not negative": (0, None), "from -10 to 10": (-10, 10), "from -1 to 1": (-1, 1)}


def selection(share: float) -> dict[str, Any]:
    """Choose 20 of 136 features over some of the queries of ``search_like``, validation included."""
    X, y, qid = search_like()
    kept = qid < share * (qid[-1] + 1)
    X, y, qid = X[kept], y[kept], qid[kept]
    before = reset_peak_memory()
    start, cpu = time.perf_counter(), time.process_time()
    chosen = rank_rls_selection(X, y, qid=qid, n_features=20, alpha=1e-4)
    seconds, cpu = time.perf_counter() - start, time.process_time() - cpu
    return {
        "work": f"{len(chosen)} of {X.shape[1]} features, {len(y):,} rows",
        "seconds": seconds,
        "cpu": cpu,
        "unit": reference(X),
        "memory": (memory_bytes("VmHWM") - before) / input_bytes(X),
    }


def against_plain(n_rows: int, alpha: float, fits: dict[str, dict[str, Any]]) -> dict[str, Any]:
    """Train plainly and with penalties on one thread, to the same gap; the ratios are of processor time."""
    X, y = tf_idf(n_rows)
    rows: list[tuple[str, float, RankSVM]] = []
    for name, penalty in {"plain": {}, **fits}.items():
        start = time.process_time()
        # Rows of text have the length 1 and need no scale.
        model = RankSVM(alpha=alpha, scale=None, n_jobs=1, **penalty).fit(X, y)
        rows.append((name, time.process_time() - start, model))
    plain = rows[0][1]
    lines = [
        f"{name:16s} {cpu:7.2f} s {cpu / plain:5.2f} x plain  {model.n_passes_:5.1f} passes"
        f"  gap {model.gap_:.1e}  {model.n_features_used_:6,} features"
        for name, cpu, model in rows
    ]
    return {"title": f"{n_rows:,} rows of text, hinge, alpha {alpha:g}, processor time", "lines": lines}


def show_lines(found: dict[str, Any], goal: str) -> None:
    print(f"{found['title']} (goal: {goal})", *found["lines"], sep="\n", flush=True)


def show(row: dict[str, Any], goal: str) -> None:
    print(
        f"{row['work']:45s} {row['seconds']:7.2f} s {row['seconds'] / row['unit']:6.1f} ref (goal {goal})"
        f"  processor time {row['cpu']:.2f} s  memory {row['memory']:.2f} x input"
        f"  ref = {1e3 * row['unit']:.1f} ms",
        flush=True,
    )


def main() -> None:
    works: dict[str, Callable[[argparse.Namespace], None]] = {
        "selection": lambda options: show(apart(selection, options.share), "60"),
        "elastic": lambda options: show_lines(
            apart(against_plain, options.rows, options.alpha, {"l1_ratio 0.9": {"l1_ratio": 0.9}}),
            "3 x plain at about 1,000 features",
        ),
        "bounds": lambda options: show_lines(
            apart(against_plain, options.rows, ALPHA, {name: {"bounds": b} for name, b in BOUNDS.items()}),
            "2 x plain",
        ),
    }
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", choices=list(works))
    parser.add_argument("--share", type=float, default=1.0, help="of the queries, for the selection")
    parser.add_argument("--rows", type=int, default=512_000, help="of text")
    parser.add_argument("--alpha", type=float, default=3e-7, help="that leaves about 1,000 features")
    options = parser.parse_args()
    for name, work in works.items():
        if options.only in (None, name):
            work(options)


if __name__ == "__main__":
    main()
