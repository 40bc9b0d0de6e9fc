"""How often 95 % intervals of coefficients hold the minimiser of a far larger sample at the same alpha.

    python benchmarks/intervals.py [--repeats 500] [--boot 200] [--loss squared_hinge]

Each repeat draws queries of its own. The reference is fitted to 100 times as many queries of the same kind.
"""

from __future__ import annotations

import argparse
import time

import numpy as np

from marginrank import RankingData, RankSVM
from marginrank.intervals import coefficient_intervals

N_FEATURES = 4
ROWS = 8


def queries(n: int, seed: int) -> RankingData:
    """Return queries whose labels are a noisy, rounded, linear function of columns that are correlated."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n * ROWS, N_FEATURES))
    X[:, 1] += 0.5 * X[:, 0]
    # Queries differ in what they look for, so rows of a query are no independent draws.
    weights = [1.0, -0.5, 0.25, 0.0] + 0.5 * rng.normal(size=(n, N_FEATURES))
    utility = np.einsum("ij,ij->i", X, np.repeat(weights, ROWS, axis=0)) + rng.normal(size=n * ROWS)
    return RankingData(X, np.clip(np.round(utility), -1, 2), qid=np.repeat(np.arange(n), ROWS))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=500)
    parser.add_argument("--boot", type=int, default=200)
    parser.add_argument("--queries", type=int, default=100)
    parser.add_argument("--loss", default="squared_hinge")
    parser.add_argument("--alpha", type=float, default=0.01)
    parser.add_argument("--jobs", type=int, default=None)
    given = parser.parse_args()
    ranker = RankSVM(given.loss, alpha=given.alpha, scale=None, tol=1e-6)
    reference = ranker.fit(queries(100 * given.queries, 10**9)).coef_
    start, held = time.process_time(), np.zeros(N_FEATURES)
    for k in range(given.repeats):
        found = coefficient_intervals(ranker, queries(given.queries, k), n_boot=given.boot, n_jobs=given.jobs)
        held += (found.low <= reference) & (reference <= found.high)
    shares = held / given.repeats
    print(f"{given.repeats} repeats of {given.queries} queries, {given.boot} draws, loss {given.loss}")
    print(f"coverage of each coefficient: {', '.join(f'{share:.3f}' for share in shares)}")
    print(f"mean coverage {shares.mean():.3f}; {time.process_time() - start:.0f} s of CPU time")


if __name__ == "__main__":
    main()
