"""What sparse and constrained rankers cost, in units of one pass over the data (``ref`` of ``linear.py``).

python benchmarks/penalties.py                       # everything
python benchmarks/penalties.py --only selection      # 20 of 136 features over 1,200,000 rows
python benchmarks/penalties.py --only selection --share 0.1
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from typing import Any

from linear import apart, input_bytes, memory_bytes, reference, reset_peak_memory, search_like
from marginrank import rank_rls_selection


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
    }
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", choices=list(works))
    parser.add_argument("--share", type=float, default=1.0, help="of the queries, for the selection")
    options = parser.parse_args()
    for name, work in works.items():
        if options.only in (None, name):
            work(options)


if __name__ == "__main__":
    main()
