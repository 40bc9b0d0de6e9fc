"""Small figures of pages that no other benchmark has: an alpha by leave-pair-out, the bound of binned labels.

    python benchmarks/page_notes.py [--save]

A few seconds. CPU time of one thread: one alpha more in the grid of ``cv="leave_pair_out"``, 3,000 rows of
100 columns; ``binning_bound_`` for 200 queries of 50 rows whose labels are spread evenly over 0 to 4.
"""

from __future__ import annotations

import argparse
import time

import numpy as np
from threadpoolctl import threadpool_limits

from marginrank import RankRLS, StructuredRankSVM
from results import Result, add_save_option, spread

N_MORE = 8


def leave_pair_out(repeats: int) -> Result:
    """Return the CPU seconds of an alpha: those of a grid less those of two alphas, for each one more."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(3000, 100))
    y = X[:, 0] + rng.normal(size=3000)

    def seconds(n_alphas: int) -> float:
        start = time.process_time()
        RankRLS("auto", alphas=np.geomspace(10.0, 1e-3, n_alphas), cv="leave_pair_out", n_jobs=1).fit(X, y)
        return time.process_time() - start

    with threadpool_limits(1):
        found = [(seconds(2 + N_MORE) - seconds(2)) / N_MORE for _ in range(repeats)]
    result = Result("leave-pair-out", {}, "CPU seconds of one alpha, one thread.")
    result.add("3000", seconds=spread(found))
    return result


def binning() -> Result:
    """Return the bound of binned labels by gain."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(10_000, 2)), rng.uniform(0.0, 4.0, size=10_000)
    result = Result("graded-binning", {}, "200 queries of 50 rows.")
    for gain in ("exponential", "linear"):
        model = StructuredRankSVM("ndcg@10", gain=gain, alpha=1.0).fit(X, y, qid=np.arange(10_000) // 50)
        result.add(gain, bound=model.binning_bound_)
    return result


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--repeats", type=int, default=5)
    add_save_option(parser)
    options = parser.parse_args()
    for result in (leave_pair_out(options.repeats), binning()):
        print(result.name, result.rows)
        if options.save:
            result.save()


if __name__ == "__main__":
    main()
