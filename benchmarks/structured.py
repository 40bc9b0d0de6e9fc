"""How fast the structured losses are, beside the pairwise hinge.

One iteration is one point with its gradient: scores, loss and adjoint on the dense 10,000-query set of
``linear.py``, where labels of at least 2 are good. Each row gives the time, its ratio to the hinge's
iteration and to ``ref`` (``X @ w``, ``X.T @ v`` and an argsort, timed in the same run). Then one query of
20,000 rows, the loss alone; and, where ``MARGINRANK_DATA`` names the data, the training fold of OHSUMED to a
gap of 1e-3.

    python benchmarks/structured.py                  # everything, a minute or two
    python benchmarks/structured.py --only dense     # or long, or ohsumed
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

from linear import reference, search_like
from marginrank import RankingData, load_letor
from marginrank.data import TrainingView
from marginrank.designs import MatrixDesign
from marginrank.losses import HingeLoss, Loss
from marginrank.losses.structured import CombinedLoss, TargetOptions, structured_loss
from marginrank.solvers import Bundle, QuasiNewton
from marginrank.solvers.objective import Objective
from marginrank.system.threads import default_threads, one_blas_thread

GOOD = 2.0
ALPHA = 1e-2
# Name, target, feature map, options, and the goal in iterations of the hinge.
TARGETS: list[tuple[str, str, str, TargetOptions, str]] = [
    ("auc", "auc", "po", TargetOptions(), "3"),
    ("map", "map", "po", TargetOptions(relevance=GOOD), "3"),
    ("mrr", "mrr", "po", TargetOptions(relevance=GOOD), "3"),
    ("mrr@10", "mrr", "po", TargetOptions(relevance=GOOD, cutoff=10), "3"),
    ("mrr, phi_mrr", "mrr", "mrr", TargetOptions(relevance=GOOD), "3"),
    ("ndcg", "ndcg", "po", TargetOptions(relevance=GOOD), "6"),
    ("ndcg, letor discount", "ndcg", "po", TargetOptions(relevance=GOOD, discount="letor"), "6"),
    ("ndcg@10", "ndcg", "po", TargetOptions(relevance=GOOD, cutoff=10), "6"),
    ("ndcg@100", "ndcg", "po", TargetOptions(relevance=GOOD, cutoff=100), "6"),
    ("dorm, discount", "ndcg", "dorm", TargetOptions(rank_weight="discount"), "-"),
    ("dorm", "ndcg", "dorm", TargetOptions(), "-"),
]


def loss_of(view: TrainingView, row: tuple[str, str, str, TargetOptions, str]) -> Loss:
    _, target, feature_map, options, _ = row
    return structured_loss(view, target, feature_map, options, n_threads=default_threads())


def seconds(work: Callable[[], object], repeats: int) -> float:
    """Return the median time."""
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        work()
        times.append(time.perf_counter() - start)
    return float(np.median(times))


def dense(repeats: int) -> None:
    X, y, qid = search_like()
    view = RankingData(X, y, qid=qid).training_view()
    design = MatrixDesign(X, n_threads=default_threads())
    hinge: Loss = HingeLoss(view, weighting="queries", n_threads=default_threads())
    w = np.random.default_rng(3).normal(size=X.shape[1]) / 30

    def iteration(loss: Loss) -> Callable[[], object]:
        objective = Objective(design, loss, ALPHA)
        return lambda: objective.at(w).risk_gradient

    ref = reference(X)
    unit = seconds(iteration(hinge), 3 * repeats)
    print(f"10,000 queries x 120 rows, 136 features: hinge {1e3 * unit:.1f} ms, ref {1e3 * ref:.1f} ms")
    for row in TARGETS:
        took = seconds(iteration(loss_of(view, row)), 1 if row[0] == "dorm" else repeats)
        # The hinge is timed again beside each, because other work may slow the machine down in between.
        unit = seconds(iteration(hinge), repeats)
        print(
            f"  {row[0]:22s} {1e3 * took:8.1f} ms {took / unit:6.2f} hinge (goal {row[4]:>2s})"
            f" {took / ref:6.2f} ref"
        )


def long(n_rows: int, repeats: int) -> None:
    rng = np.random.default_rng(4)
    y = (rng.random(n_rows) < 0.3) * GOOD
    view = RankingData(np.zeros((n_rows, 1)), y).training_view()
    scores = y / 4 + rng.normal(size=n_rows)
    print(f"one query of {n_rows:,} rows, the loss alone")
    for row in TARGETS:
        if row[0] == "dorm":
            continue
        loss = loss_of(view, row)
        print(f"  {row[0]:22s} {1e3 * seconds(lambda loss=loss: loss.at(scores), repeats):8.1f} ms")


def ohsumed(folder: Path, repeats: int) -> None:
    parts = [load_letor(folder / "OHSUMED" / f"S{k}.txt.gz") for k in (1, 2, 3)]
    X = np.vstack([part.X for part in parts])
    y = np.concatenate([part.y for part in parts])
    qid = np.concatenate([np.repeat(part.query_ids, np.diff(part.query_ptr)) for part in parts])
    data = RankingData(X, y, qid=qid)
    view = data.training_view()
    design = MatrixDesign(data.X, view.rows, n_threads=default_threads())
    ref = reference(data.X, 201)
    print(f"OHSUMED, {len(y):,} rows, alpha {ALPHA:g}, gap 1e-3: ref {1e3 * ref:.2f} ms")
    rows = [
        (name, loss_of(view, (name, target, feature_map, TargetOptions(), "")))
        for name, target, feature_map in [
            ("auc", "auc", "po"),
            ("map", "map", "po"),
            ("ndcg", "ndcg", "po"),
            ("mrr", "mrr", "po"),
            ("dorm", "ndcg", "dorm"),
        ]
    ]
    combo = [(1.0, loss) for name, loss in rows if name in ("map", "ndcg", "mrr")]
    rows.append(("map + ndcg + mrr", CombinedLoss(view, combo, n_threads=default_threads())))
    for name, loss in rows:
        for solver in (Bundle(), QuasiNewton()):
            if name == "dorm" and isinstance(solver, Bundle):
                continue  # The same result in the same number of passes, and a minute.
            times = []
            for _ in range(1 if name == "dorm" else repeats):
                start = time.perf_counter()
                with one_blas_thread():
                    result = solver.minimize(Objective(design, loss, ALPHA))
                times.append(time.perf_counter() - start)
            took = float(np.median(times))
            print(
                f"  {name:18s} {type(solver).__name__:12s} {1e3 * took:8.1f} ms {took / ref:7.0f} ref"
                f" (goal 400) {result.history[-1].passes:6.1f} passes, gap {result.gap:.1e}, {result.status}"
            )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--only", choices=["dense", "long", "ohsumed"])
    options = parser.parse_args()
    if options.only in (None, "dense"):
        dense(options.repeats)
    if options.only in (None, "long"):
        long(20_000, options.repeats)
    folder = os.environ.get("MARGINRANK_DATA")
    if options.only in (None, "ohsumed"):
        if folder is None:
            print("OHSUMED: set MARGINRANK_DATA to the directory that holds it")
        else:
            ohsumed(Path(folder), options.repeats)


if __name__ == "__main__":
    main()
