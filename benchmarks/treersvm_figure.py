"""Figure 1 of TreeRSVM (Airola et al. 2011): cost of an iteration, time and test error against the rows.

One ranking of text-like rows with 47,000 features by real-valued utility, lambda 1e-5, to a relative gap of
1e-3, as in the paper, for 1,000, 2,000, ... 512,000 rows; 20,000 other rows for the test. Beside each other:

- what ``RankSVM`` does, quasi-Newton with cutting planes as its certificate;
- plain cutting planes (BMRM), the paper's solver, with our counting of pairs: what the solver brings;
- the same with all pairs looked at in turn (PairRSVM), as long as it is bearable: what counting brings.

Times are CPU seconds of one thread, after a fit that warms up; a count of pairs is the mean over a quarter of
a second of them, at the scores where cutting planes ended. The paper has RCV1 instead of made text, and on a
Core 2 of 2006 with 512,000 rows 18 minutes for TreeRSVM, 83 hours for SVM^rank and 122 hours for PairRSVM.

    python benchmarks/treersvm_figure.py --picture figure.png
    python benchmarks/treersvm_figure.py --most 64000 --pairs-most 8000
    python benchmarks/treersvm_figure.py --measured --picture figure.png      # of what was saved, only drawn
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from linear import ALPHA, tf_idf
from marginrank import RankingData, RankSVM
from marginrank.losses import QUERY_LOSSES
from marginrank.metrics import pairwise_error
from marginrank.solvers.planes import CuttingPlanes
from results import FOLDER, Result, add_save_option

TOL = 1e-3
N_TEST = 20_000
SIZES = tuple(1000 * 2**k for k in range(10))
BLOCK = 2_000_000

#: A risk and one of its subgradients from scores.
Oracle = Callable[[NDArray[np.float64]], tuple[float, NDArray[np.float64]]]

COLUMNS = {
    "rows": "{rows:,}",
    "an iteration, pairs counted": "{counted_ms:.3g} ms",
    "looked at in turn": "[[{pairs_ms:,.1f} ms]]",
    "`RankSVM`": "{svm_seconds:.3g} s",
    "cutting planes, pairs counted": "{planes_seconds:.3g} s",
    "cutting planes, in turn": "[[{pairs_seconds:,.2f} s]]",
    "wrong test pairs": "{error:.4f}",
}


def counted(X: Any, y: NDArray[np.float64]) -> Oracle:
    """Return the mean hinge over all pairs by our kernels, one thread."""
    loss = QUERY_LOSSES["hinge"](RankingData(X, y).training_view(), weighting="pairs", n_threads=1)

    def risk(scores: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        point = loss.at(scores)
        return point.value, np.asarray(point.gradient)

    return risk


def in_turn(y: NDArray[np.float64]) -> Oracle:
    """Return the same by looking at every pair, in blocks that stay in cache."""
    step = max(1, BLOCK // len(y))
    n_pairs = sum(int((y[k : k + step, None] < y).sum()) for k in range(0, len(y), step))

    def risk(scores: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        gradient, value = np.zeros(len(y)), 0.0
        for k in range(0, len(y), step):
            slack = 1.0 + scores[k : k + step, None] - scores
            active = (y[k : k + step, None] < y) & (slack > 0)
            value += slack[active].sum()
            gradient[k : k + step] += active.sum(axis=1)
            gradient -= active.sum(axis=0)
        return float(value / n_pairs), gradient / n_pairs

    return risk


def cutting_planes(X: Any, risk: Oracle, most: int = 500) -> tuple[NDArray[np.float64], int]:
    """Minimise by plain cutting planes (BMRM); return the best weights and the number of planes."""
    planes = CuttingPlanes(ALPHA, X.shape[1], capacity=most + 1)
    w, best, best_w = np.zeros(X.shape[1]), np.inf, np.zeros(X.shape[1])
    n_planes = 0
    while n_planes < most:
        value, g = risk(X @ w)
        n_planes += 1
        slope = X.T @ g
        objective = value + ALPHA / 2 * w @ w
        if objective < best:
            best, best_w = objective, w
        planes.add(slope, value - float(slope @ w))
        if best - planes.bound(0.1 * TOL * best) <= TOL * best:
            break
        w = planes.minimizer()  # of the model so far, however far away: no line search
    return best_w, n_planes


def timed(job: Callable[[], Any]) -> tuple[Any, float]:
    """Return what a job gives, and its CPU seconds."""
    start = time.process_time()
    return job(), time.process_time() - start


def mean_ms(job: Callable[[], Any], seconds: float = 0.25) -> float:
    """Return the CPU milliseconds of a job, the mean over so many seconds of it, or of one run."""
    start, runs = time.process_time(), 0
    while runs == 0 or time.process_time() - start < seconds:
        job()
        runs += 1
    return 1e3 * (time.process_time() - start) / runs


def row(
    X: Any, y: NDArray[np.float64], test: tuple[Any, NDArray[np.float64]], *, pairs: bool
) -> dict[str, Any]:
    """Return the figures of one size."""
    model, svm_seconds = timed(lambda: RankSVM(alpha=ALPHA, tol=TOL, scale=None, n_jobs=1).fit(X, y))
    (w, n_planes), planes_seconds = timed(lambda: cutting_planes(X, counted(X, y)))
    errors = [pairwise_error(test[1], test[0] @ weights) for weights in (model.coef_, w)]
    scores, risk = X @ w, counted(X, y)
    figures = {
        "rows": len(y),
        "svm_seconds": svm_seconds,
        "passes": model.history_[-1].passes,
        "planes_seconds": planes_seconds,
        "n_planes": n_planes,
        "counted_ms": mean_ms(lambda: risk(scores)),
        "error": errors[0],
        "planes_error": errors[1],
    }
    if pairs:
        figures["pairs_seconds"] = timed(lambda: cutting_planes(X, in_turn(y)))[1]
        slow = in_turn(y)
        figures["pairs_ms"] = mean_ms(lambda: slow(scores))
    return figures


def draw(rows: list[dict[str, Any]], file: str) -> None:
    """Draw the three panels of the figure."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(11.0, 4.4), layout="constrained")
    panels = figure.subplots(1, 3)
    curves = (
        ("counted_ms", "pairs counted", "#2a6f97", 0),
        ("pairs_ms", "pairs in turn", "#777777", 0),
        ("svm_seconds", "RankSVM", "#2a6f97", 1),
        ("planes_seconds", "cutting planes, counted", "#d1603d", 1),
        ("pairs_seconds", "cutting planes, in turn", "#777777", 1),
        ("error", "RankSVM", "#2a6f97", 2),
        ("planes_error", "cutting planes", "#d1603d", 2),
    )
    for field, label, color, k in curves:
        some = [one for one in rows if field in one]
        panels[k].plot(
            [one["rows"] for one in some],
            [one[field] for one in some],
            "o-" if k < 2 or field == "error" else "x--",
            color=color,
            label=label,
        )
    for axes, title, unit in zip(
        panels,
        ("Counting, an iteration", "Training", "20,000 test rows"),
        ("ms", "CPU s", "wrong pairs"),
        strict=True,
    ):
        axes.set(xscale="log", title=title, xlabel="rows", ylabel=unit)
        axes.legend(frameon=False, loc="upper center", bbox_to_anchor=(0.5, -0.2))
        axes.spines[["top", "right"]].set_visible(False)
    panels[0].set_yscale("log")
    panels[1].set_yscale("log")
    figure.savefig(file, dpi=120)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--most", type=int, default=SIZES[-1], help="rows")
    parser.add_argument("--pairs-most", type=int, default=16_000, help="rows with pairs in turn")
    parser.add_argument("--picture", metavar="FILE")
    parser.add_argument("--measured", action="store_true", help="draw the result file, and measure nothing")
    add_save_option(parser)
    options = parser.parse_args()
    if options.measured:
        if not options.picture:
            parser.error("--measured draws what was saved: add --picture FILE.")
        draw(
            list(json.loads((FOLDER / "treersvm-figure.json").read_text())["rows"].values()), options.picture
        )
        return
    sizes = [size for size in SIZES if size <= options.most]
    X, y = tf_idf(sizes[-1] + N_TEST)
    test = X[-N_TEST:], y[-N_TEST:]
    result = Result("treersvm-figure", COLUMNS, "CPU seconds, one run, one thread.")
    with threadpool_limits(1):
        row(X[: sizes[0]], y[: sizes[0]], test, pairs=True)
    for size in sizes:
        with threadpool_limits(1):
            figures = row(X[:size], y[:size], test, pairs=size <= options.pairs_most)
        print("  ".join(f"{name} {value:.4g}" for name, value in figures.items()), flush=True)
        result.add(str(size), **figures)
    if options.save:
        result.save()
    if options.picture:
        draw(list(result.rows.values()), options.picture)


if __name__ == "__main__":
    main()
