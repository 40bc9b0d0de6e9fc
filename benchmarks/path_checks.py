"""Proofs that the exact kernel path is exact, on the four sets of its paper, with and without copied rows.

Usage, with MARGINRANK_DATA naming the folder that holds ``path/*.svm``::

    python benchmarks/path_checks.py                       # everything; about ten minutes
    python benchmarks/path_checks.py --sets mixture --kernels rbf --every 3   # of the rows

For all pairs of each set and kernel, from the duals that the path returns, in plain numpy:

- ``gap``: the largest relative duality gap at 20 random alphas, 1e-7 at most;
- ``conditions``: the largest violation of the optimality conditions at 500 random breakpoints, 1e-5 at most
  (margins are 1; they are perturbed by 1e-8, and chains of active pairs add that up next to a breakpoint);
- ``other``: at five random alphas above 1e-3 of the first breakpoint, how far primal and dual value are from
  those at which L-BFGS-B ends on the dual, in units of the gap that L-BFGS-B leaves, 1 at most; ``its gap``
  is the largest of these gaps, relative.

The last word of a line is "holds" or "FAILS"; the exit code is 1 if any fails.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from sklearn.metrics.pairwise import pairwise_kernels
from threadpoolctl import threadpool_limits

from marginrank.paths import KernelRankPath, kernel_rank_path
from path import SETS, load
from results import Result, add_save_option

# The tests and this program share one definition of what is to be proved.
sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
from path_oracle import disagreement, relative_gap, worst_violation

GAP, CONDITIONS = 1e-7, 1e-5


class Proof(NamedTuple):
    """What was found on one path."""

    gap: float
    conditions: float
    other: float
    its_gap: float

    @property
    def holds(self) -> bool:
        """Whether all of it is within its bound."""
        return self.gap <= GAP and self.conditions <= CONDITIONS and self.other <= 1.0


def with_copies(X: Any, y: Any) -> tuple[Any, Any]:
    """Return the rows and every third of them again, with the label of another row."""
    return np.vstack([X, X[::3]]), np.concatenate([y, np.roll(y[::3], 1)])


def prove(path: KernelRankPath, K: Any, seed: int) -> Proof:
    rng = np.random.default_rng(seed)
    first = path.alphas[0]
    anywhere = first * (path.alpha_min_ / first) ** rng.uniform(size=20)
    upper = first * 10.0 ** rng.uniform(-3.0, 0.0, size=5)
    breakpoints = rng.choice(path.alphas, min(500, path.n_events_), replace=False)
    found = [disagreement(K, path, alpha) for alpha in upper]
    return Proof(
        gap=max(relative_gap(K, path, alpha) for alpha in anywhere),
        conditions=max(worst_violation(K, path, alpha) for alpha in breakpoints),
        other=max(ratio for ratio, _ in found),
        its_gap=max(gap for _, gap in found),
    )


def check(name: str, kernel: str, copies: bool, step: int) -> Proof:
    X, y = load(name)
    X, y = X[::step], y[::step]
    if copies:
        X, y = with_copies(X, y)
    start = time.perf_counter()
    path = kernel_rank_path(X, y, kernel=kernel)
    seconds = time.perf_counter() - start
    proof = prove(path, pairwise_kernels(X, metric=kernel), seed=len(y))
    print(
        f"{name:<10}{kernel:<8}{'copies' if copies else '':<8}{path.n_pairs_:7d}{path.n_events_:9d}"
        f"{seconds:8.1f}{proof.gap:10.1e}{proof.conditions:12.1e}{proof.other:8.3f}{proof.its_gap:10.1e}"
        f"  {'holds' if proof.holds else 'FAILS'}",
        flush=True,
    )
    return proof


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--sets", nargs="+", default=SETS, choices=SETS)
    parser.add_argument("--kernels", nargs="+", default=("rbf", "linear"))
    parser.add_argument("--every", type=int, default=1, help="Take every so many rows.")
    add_save_option(parser)
    options = parser.parse_args()
    print("set       kernel            pairs   events seconds       gap  conditions   other   its gap")
    with threadpool_limits(1):
        proofs = [
            check(name, kernel, copies, options.every)
            for name in options.sets
            for kernel in options.kernels
            for copies in (False, True)
        ]
    if options.save:
        result = Result("path-checks", {}, f"The largest of {len(proofs)} paths.")
        for key, field in (("gap", "gap"), ("conditions", "conditions"), ("independent", "its_gap")):
            result.add(key, most=max(getattr(proof, field) for proof in proofs))
        result.save()
    if not all(proof.holds for proof in proofs):
        raise SystemExit(1)


if __name__ == "__main__":
    main()
