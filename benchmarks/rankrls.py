"""How fast RankRLS trains, in units of one pass over the data: conjugate gradients, grids, pairs, direct.

``ref`` as in ``linear.py``: one scipy or numpy ``X @ w`` plus ``X.T @ v`` plus ``np.argsort(scores)``, timed
in the same run.

    python benchmarks/rankrls.py                 # everything, some minutes
    python benchmarks/rankrls.py --rows 64000    # a smaller global ranking
    python benchmarks/rankrls.py --only direct
"""

from __future__ import annotations

import argparse
from typing import Any

import numpy as np

from linear import apart, measure, search_like, show, tf_idf
from marginrank import RankRLS

SMALLEST = 1e-7
GRID = np.logspace(-7, -1, 21)
N_VALIDATION = 8_192


def one_alpha(n_rows: int, repeats: int) -> dict[str, Any]:
    X, y = tf_idf(n_rows)
    return measure(
        f"{n_rows:,} rows, alpha {SMALLEST:g}", X, lambda: RankRLS(SMALLEST, solver="cg").fit(X, y), repeats
    )


def grid(n_rows: int, repeats: int) -> dict[str, Any]:
    X, y = tf_idf(n_rows + N_VALIDATION)
    train, validation = X[:n_rows], X[n_rows:]
    model = RankRLS("auto", alphas=GRID, solver="cg")
    return measure(
        f"{n_rows:,} rows, {len(GRID)} alphas, {N_VALIDATION:,} validation rows",
        train,
        lambda: model.fit(train, y[:n_rows], eval_set=(validation, y[n_rows:])),
        repeats,
    )


def explicit_pairs(n_rows: int, repeats: int) -> dict[str, Any]:
    X, y = tf_idf(n_rows)
    rng = np.random.default_rng(2)
    pairs = rng.integers(len(y), size=(1_100_000, 2))
    pairs = pairs[y[pairs[:, 0]] != y[pairs[:, 1]]][:1_000_000]
    wrong = y[pairs[:, 0]] < y[pairs[:, 1]]
    pairs[wrong] = pairs[wrong, ::-1]
    magnitude = y[pairs[:, 0]] - y[pairs[:, 1]]
    return measure(
        f"{len(pairs):,} pairs over {n_rows:,} rows, alpha {SMALLEST:g}",
        X,
        lambda: RankRLS(SMALLEST).fit_pairs(X, pairs, magnitude=magnitude),
        repeats,
    )


def direct(leave_query_out: bool, repeats: int) -> dict[str, Any]:
    X, y, qid = search_like()
    if leave_query_out:
        return measure(
            f"10,000 queries x 120, 136 dense, {len(GRID)} alphas, leave-query-out",
            X,
            lambda: RankRLS("auto", alphas=GRID, cv=None).fit(X, y, qid=qid),
            repeats,
        )
    few = np.flatnonzero(qid < 20)
    model = RankRLS("auto", alphas=GRID)
    return measure(
        f"10,000 queries x 120, 136 dense, {len(GRID)} alphas",
        X,
        lambda: model.fit(X, y, qid=qid, eval_set=(X[few], y[few]), eval_qid=qid[few]),
        repeats,
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=512_000, help="rows of the global ranking")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--only", choices=["global", "pairs", "direct"])
    options = parser.parse_args()
    if options.only in (None, "global"):
        alone = apart(one_alpha, options.rows, options.repeats)
        show(alone, "25")
        whole = apart(grid, options.rows, options.repeats)
        show(whole, "-")
        print(f"the grid against its smallest alpha alone: {whole['ref'] / alone['ref']:.2f} (goal 1.3)")
    if options.only in (None, "pairs"):
        show(apart(explicit_pairs, options.rows, options.repeats), "25")
    if options.only in (None, "direct"):
        show(apart(direct, False, options.repeats), "10")
        show(apart(direct, True, 1), "300")


if __name__ == "__main__":
    main()
