"""The three regularisations of RankRLS on film reviews, like table 1 of the paper.

One global ranking by star rating: of 25,000 reviews a tenth is for validation, 25,000 others for the test.

    MARGINRANK_DATA=... python benchmarks/rankrls_tables.py
    MARGINRANK_DATA=... python benchmarks/rankrls_tables.py --separate   # also alpha by alpha: much slower
"""

from __future__ import annotations

import argparse
import os
import sys
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning

from marginrank import RankRLS
from marginrank.metrics import pairwise_error
from results import Result, add_save_option

# RLScore's lambda is alpha m / 2: the paper's grid 2^-10 .. 2^10.
LAMBDAS = 2.0 ** np.arange(-10, 11)
PAPER_TOL, PAPER_ITERATIONS = 1e-5, 500
COLUMNS = {
    "regularisation": "{regularisation}",
    "alpha": "[[{alpha:.2e}]]",
    "passes": "{passes:,.0f}",
    "CPU s": "{seconds:.1f}",
    "test error": "{test_error:.4f}",
}
KEYS = {
    "Tikhonov, the grid in one run": "tikhonov",
    "early stopping": "early-stopping",
    "hybrid, the grid in one run": "hybrid",
    "hybrid, the default grid": "hybrid-default",
}


def reviews() -> dict[str, tuple[Any, np.ndarray]]:
    folder = Path(os.environ.get("MARGINRANK_DATA", "")) / "IMDB"
    if not (folder / "train.X.npz").exists():
        sys.exit("Set MARGINRANK_DATA to the folder that holds IMDB/train.X.npz.")
    parts = {}
    for name in ("train", "test"):
        labels = np.load(folder / f"{name}.labels.npz", allow_pickle=False)
        parts[name] = sparse.load_npz(folder / f"{name}.X.npz").tocsr(), labels["y"].astype(np.float64)
    X, y = parts["train"]
    rows = np.random.default_rng(0).permutation(len(y))
    tenth = len(y) // 10
    parts["validation"] = X[rows[:tenth]], y[rows[:tenth]]
    parts["train"] = X[rows[tenth:]], y[rows[tenth:]]
    return parts


def report(
    name: str, model: RankRLS, seconds: float, passes: float, test: tuple[Any, np.ndarray]
) -> dict[str, Any]:
    """Print a row and return it as pages have it."""
    error = pairwise_error(test[1], model.predict(test[0]))
    iteration = getattr(model, "best_iteration_", model.n_iter_)
    print(
        f"{name:44s} {model.alpha_:9.2e} {iteration:6d} {passes:8.1f} {seconds:8.2f} {error:8.4f}", flush=True
    )
    alpha = {} if model.regularization == "early_stopping" else {"alpha": model.alpha_}
    return {"regularisation": name, **alpha, "passes": passes, "seconds": seconds, "test_error": error}


def timed(model: RankRLS, train: Any, validation: Any) -> tuple[RankRLS, float]:
    start = time.process_time()
    model.fit(*train, eval_set=validation)
    return model, time.process_time() - start


def separate(train: Any, validation: Any, test: Any, alphas: np.ndarray) -> dict[str, Any]:
    """The paper's first method: a grid search, each alpha to convergence on its own."""
    best, passes, seconds = None, 0.0, 0.0
    for alpha in alphas:
        model, spent = timed(
            RankRLS(alpha, tol=PAPER_TOL, max_iter=PAPER_ITERATIONS, solver="cg"), train, validation
        )
        passes, seconds = passes + model.n_passes_, seconds + spent
        if best is None or model.validation_table_[0, -1] < best.validation_table_[0, -1]:
            best = model
    return report("Tikhonov, alpha by alpha", best, seconds, passes, test)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--separate", action="store_true", help="also solve alpha by alpha")
    add_save_option(parser)
    options = parser.parse_args()
    if options.save and not options.separate:
        parser.error("--save keeps the whole table: add --separate.")
    warnings.simplefilter("ignore", ConvergenceWarning)
    parts = reviews()
    train, validation, test = parts["train"], parts["validation"], parts["test"]
    alphas = 2.0 * LAMBDAS / train[0].shape[0]
    print(f"{'regularisation':44s} {'alpha':>9s} {'iter.':>6s} {'passes':>8s} {'seconds':>8s} {'error':>8s}")
    rows = {}
    for name, model in {
        "Tikhonov, the grid in one run": RankRLS(
            "auto", alphas=alphas, tol=PAPER_TOL, max_iter=PAPER_ITERATIONS, solver="cg"
        ),
        "early stopping": RankRLS(regularization="early_stopping"),
        "hybrid, the grid in one run": RankRLS("auto", regularization="hybrid", alphas=alphas),
        "hybrid, the default grid": RankRLS("auto", regularization="hybrid"),
    }.items():
        fitted, seconds = timed(model, train, validation)
        rows[KEYS[name]] = report(name, fitted, seconds, fitted.n_passes_, test)
    if options.separate:
        best = separate(train, validation, test, alphas)
        for row in rows.values():
            lead = row["test_error"] - best["test_error"]
            print(f"{row['regularisation']}: {lead:+.4f} against separate Tikhonov")
        rows = {"separate": best, **rows}
    if options.save:
        result = Result("rankrls-tables", COLUMNS, "CPU seconds of one run, all threads.")
        for key, row in rows.items():
            result.add(key, **row)
        result.save()


if __name__ == "__main__":
    main()
