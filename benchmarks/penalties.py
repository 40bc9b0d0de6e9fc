"""What sparse and constrained rankers cost, in units of one pass over the data (``ref`` of ``linear.py``).

python benchmarks/penalties.py                       # everything
python benchmarks/penalties.py --only selection      # 20 of 136 features over 1,200,000 rows
python benchmarks/penalties.py --only selection --share 0.1
python benchmarks/penalties.py --only elastic        # about 1,000 of 47,000 words, against the plain hinge
python benchmarks/penalties.py --only bounds         # bounds on all columns, against none
python benchmarks/penalties.py --only elastic --rows 128000 --alpha 1e-6
python benchmarks/penalties.py --save                # everything, and bounds on 128,000 rows, for the pages
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from typing import Any

from linear import ALPHA, apart, input_bytes, memory_bytes, reference, reset_peak_memory, search_like, tf_idf
from marginrank import RankSVM, rank_rls_selection
from results import Result, add_save_option

# Bounds of all columns: signs, a box that holds few weights, and one that holds most of the large ones.
BOUNDS = {"not negative": (0, None), "from -10 to 10": (-10, 10), "from -1 to 1": (-1, 1)}
COLUMNS = {
    "": "{label}",
    "passes": "{passes:.1f}",
    "time, plain = 1": "{ratio:.3g}[[ ({plain_seconds:.2f} s)]]",
    "features": "{features:,}",
}
#: Keys of result files and labels of what is trained at the small alpha and at the large one.
SMALL = {"plain": ("small-plain", "plain"), "l1_ratio 0.9": ("small-l1", "`l1_ratio=0.9`")}
LARGE = {
    "plain": ("plain", "plain"),
    "not negative": ("non-negative", "`bounds=(0, None)`"),
    "from -10 to 10": ("box-10", "`bounds=(-10, 10)`"),
    "from -1 to 1": ("box-1", "`bounds=(-1, 1)`"),
}


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
    figures = {
        name: {"passes": model.n_passes_, "ratio": cpu / plain, "features": model.n_features_used_}
        for name, cpu, model in rows
    }
    figures["plain"]["plain_seconds"] = plain
    title = f"{n_rows:,} rows of text, hinge, alpha {alpha:g}, processor time"
    return {"title": title, "lines": lines, "figures": figures}


def show_lines(found: dict[str, Any], goal: str) -> dict[str, Any]:
    print(f"{found['title']} (goal: {goal})", *found["lines"], sep="\n", flush=True)
    return found["figures"]


def show(row: dict[str, Any], goal: str) -> dict[str, Any]:
    print(
        f"{row['work']:45s} {row['seconds']:7.2f} s {row['seconds'] / row['unit']:6.1f} ref (goal {goal})"
        f"  processor time {row['cpu']:.2f} s  memory {row['memory']:.2f} x input"
        f"  ref = {1e3 * row['unit']:.1f} ms",
        flush=True,
    )
    return row


def save(found: dict[str, Any], small_alpha: float) -> None:
    """Write what the pages show; the same box on 128,000 rows is measured for that."""
    table = Result("penalties", COLUMNS, "One run, CPU time of one thread.")
    for alpha, keys, part in ((small_alpha, SMALL, "elastic"), (ALPHA, LARGE, "bounds")):
        for name, (key, label) in keys.items():
            shown = f"alpha {alpha:.0e}".replace("e-0", "e-")
            table.add(key, label=f"{shown}, {label}", **found[part][name])
    table.save()
    box = {"from -1 to 1": {"bounds": BOUNDS["from -1 to 1"]}}
    fewer = apart(against_plain, 128_000, ALPHA, box)["figures"]
    small = Result("penalties-small", {}, "One run, CPU time of one thread.")
    ratio, passes = fewer["from -1 to 1"]["ratio"], fewer["from -1 to 1"]["passes"]
    small.add("box-1-128000", passes=passes, plain_passes=fewer["plain"]["passes"], ratio=ratio)
    small.save()
    chosen = found["selection"]
    selection = Result("selection", {}, "One run of the selection, all threads, time passed.")
    selection.add("136", ref=chosen["seconds"] / chosen["unit"], memory=chosen["memory"])
    selection.save()


def main() -> None:
    works: dict[str, Callable[[argparse.Namespace], dict[str, Any]]] = {
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
    add_save_option(parser)
    options = parser.parse_args()
    if options.save and options.only:
        parser.error("--save keeps all of it: leave --only out.")
    found = {name: work(options) for name, work in works.items() if options.only in (None, name)}
    if options.save:
        save(found, options.alpha)


if __name__ == "__main__":
    main()
