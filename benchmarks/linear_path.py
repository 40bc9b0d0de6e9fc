"""What the certified path costs, in passes over the data, against solutions of single alphas.

For alpha from 2e-2 to 2e-6: one solution at the small end, the path, a grid of 21 alphas solved from the
large end down (each from the one before, with its cutting planes), and the same grid solved one by one from
zero. Then the largest gap that 200 random alphas of the path show, and the share that choosing alpha adds.

    MARGINRANK_DATA=... python benchmarks/linear_path.py                  # film reviews and 64,000 rows
    python benchmarks/linear_path.py --only generated --rows 16000
"""

from __future__ import annotations

import argparse
import os
import time
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from linear import tf_idf
from marginrank import RankingData
from marginrank.designs import MatrixDesign
from marginrank.losses import QUERY_LOSSES
from marginrank.paths import rank_path
from marginrank.solvers import CuttingPlanes, QuasiNewton
from marginrank.solvers.objective import Objective
from marginrank.system.threads import default_threads, one_blas_thread

TOP, BOTTOM, N_ALPHAS = 2e-2, 2e-6, 21


def reviews(folder: Path) -> tuple[Any, np.ndarray]:
    X = sparse.load_npz(folder / "IMDB" / "train.X.npz").tocsr()
    return X, np.load(folder / "IMDB" / "train.labels.npz")["y"]


def grid_passes(data: RankingData, alphas: np.ndarray, eps: float, *, warm: bool) -> tuple[float, float]:
    """Solve at each alpha and return passes and seconds."""
    view = data.training_view()
    design = MatrixDesign(data.X, view.rows, n_threads=default_threads())
    loss = QUERY_LOSSES["hinge"](view, weighting="pairs", n_threads=default_threads())
    solver, planes, w, passes = QuasiNewton(tol=eps), None, None, 0.0
    start = time.perf_counter()
    with one_blas_thread():
        for alpha in alphas:
            objective = Objective(design, loss, float(alpha))
            if warm and planes is None:
                planes = CuttingPlanes(float(alpha), design.shape[1])
            result = solver.minimize(objective, w, None, planes)
            w = result.w if warm else None
            passes += objective.passes
    return passes, time.perf_counter() - start


def compare(name: str, X: Any, y: np.ndarray, eps: float) -> None:
    held = np.random.default_rng(0).permutation(len(y))[: len(y) // 10]
    data, validation = RankingData(X, y), RankingData(X[held], y[held])
    alphas = np.geomspace(TOP, BOTTOM, N_ALPHAS)
    one, one_seconds = grid_passes(data, alphas[-1:], eps, warm=False)
    start = time.perf_counter()
    path = rank_path(data, alpha_max=TOP, alpha_min=BOTTOM, eps=eps)
    seconds = time.perf_counter() - start
    path.select(validation)
    select_seconds = time.perf_counter() - start - seconds
    warm, warm_seconds = grid_passes(data, alphas, eps, warm=True)
    cold, cold_seconds = grid_passes(data, alphas, eps, warm=False)
    between = TOP * (BOTTOM / TOP) ** np.random.default_rng(1).uniform(size=200)
    worst = max(path.gap_at(alpha) for alpha in between)
    print(
        f"{name:24s} eps {eps:g}: one {one:5.1f} passes {one_seconds:5.1f} s | path {path.n_passes_:5.1f} "
        f"{seconds:5.1f} s = {path.n_passes_ / one:4.2f} of one ({path.n_solutions_} solutions, "
        f"{path.n_cuts_} cuts) | warm grid {warm:5.1f} {warm_seconds:5.1f} s | cold grid {cold:5.1f} "
        f"{cold_seconds:5.1f} s | worst gap {worst:.1e} | selection + {select_seconds / seconds:.0%}",
        flush=True,
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=64_000, help="generated rows")
    parser.add_argument("--only", choices=["reviews", "generated"])
    options = parser.parse_args()
    folder = os.environ.get("MARGINRANK_DATA")
    if options.only != "generated" and folder:
        X, y = reviews(Path(folder))
        for eps in (1e-2, 1e-3):
            compare("film reviews", X, y, eps)
    if options.only != "reviews":
        X, y = tf_idf(options.rows)
        for eps in (1e-2, 1e-3):
            compare(f"generated {options.rows:,} rows", X, y, eps)


if __name__ == "__main__":
    main()
