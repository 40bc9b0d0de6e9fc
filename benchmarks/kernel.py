"""How fast kernel features are made and trained on, in units of the products that cannot be avoided.

The unit is one pair of dense float32 products with a 69,623 x 2,000 matrix plus one product
``X @ landmarks.T`` for X 69,623 x 46, timed in the same run. The data have the shape of MQ2007: about 41 rows
a query, features scaled to [0, 1] within queries, labels 0 to 2; C and gamma are those of the paper. Each
kind of work has a process of its own.

    python benchmarks/kernel.py                        # both maps, stored
    python benchmarks/kernel.py --only recompute       # 1,000,000 rows, features made again in every pass
    python benchmarks/kernel.py --only pairs           # against LinearSVC on written-out pairs of 5,000 rows
"""

from __future__ import annotations

import argparse
import multiprocessing
import resource
import time
import warnings
from collections.abc import Callable

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.kernel_approximation import Nystroem, RBFSampler
from sklearn.svm import LinearSVC

from marginrank import KernelRankSVM, RankingData
from marginrank.designs import mapped_design
from marginrank.feature_maps import FeatureMap, FourierFeatures, NystroemFeatures
from marginrank.losses import QUERY_LOSSES
from marginrank.solvers import SOLVERS
from marginrank.solvers.objective import Objective
from marginrank.system.threads import default_threads, one_blas_thread

N_ROWS, N_FEATURES, N_COMPONENTS = 69_623, 46, 2_000
C, GAMMA = 2.0**-2, 2.0**-5  # table 2 of the paper


def search_like(n_rows: int, seed: int = 0) -> RankingData:
    """Generate queries of 5 to 77 rows whose labels follow a bent function of the features."""
    rng = np.random.default_rng(seed)
    qid = np.repeat(np.arange(n_rows), rng.integers(5, 78, n_rows))[:n_rows]
    X = rng.gamma(0.5, size=(n_rows, N_FEATURES)).astype(np.float32)
    data = RankingData(X, np.zeros(n_rows), qid=qid).normalized_by_query()
    w, v = rng.normal(size=(2, N_FEATURES))
    utility = data.X @ w + 2 * np.sin(2 * (data.X @ v)) + 1.5 * rng.standard_normal(n_rows)
    return RankingData(data.X, np.digitize(utility, np.quantile(utility, [0.75, 0.93])), qid=qid)


def best(work: Callable[[], object], times: int) -> float:
    seconds = []
    for _ in range(times):
        began = time.perf_counter()
        work()
        seconds.append(time.perf_counter() - began)
    return min(seconds)


def unit_seconds(times: int) -> float:
    rng = np.random.default_rng(0)
    Z = rng.random((N_ROWS, N_COMPONENTS), dtype=np.float32)
    w, g = rng.random(N_COMPONENTS, dtype=np.float32), rng.random(N_ROWS, dtype=np.float32)
    X, landmarks = rng.random((N_ROWS, N_FEATURES), dtype=np.float32), rng.random((N_COMPONENTS, N_FEATURES))
    landmarks = landmarks.astype(np.float32)
    products = best(lambda: (Z @ w, g @ Z), times)
    distances = best(lambda: X @ landmarks.T, times)
    print(f"unit: products {products:.3f} s + X @ landmarks.T {distances:.3f} s")
    return products + distances


def touch_memory() -> None:
    """Touch as much memory as the mapped matrix takes, and give it back.

    A virtual machine may get its memory from its host only when it is first used, which once took 2 s for
    these 557 MB; a second use takes 0.07 s, page faults included.
    """
    np.empty((N_ROWS, N_COMPONENTS), dtype=np.float32).fill(0.0)


def peak_mb() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def train(data: RankingData, mapping: FeatureMap, store: str, solver: str, tol: float) -> float:
    """Fit the map and train, print where time and memory went, and return the seconds."""
    threads, before = default_threads(), peak_mb()
    began = time.perf_counter()
    mapping.fit(data.X)
    fitted = time.perf_counter()
    view = data.training_view()
    loss = QUERY_LOSSES["squared_hinge"](view, weighting="pairs", n_threads=threads)
    design = mapped_design(mapping.block_map(), data.X, view.rows, n_threads=threads, store=store)
    mapped = time.perf_counter()
    objective = Objective(design, loss, 2.0 / (C * loss.n_pairs))
    with one_blas_thread():
        result = SOLVERS[solver](tol=tol).minimize(objective)
    ended = time.perf_counter()
    print(
        f"{type(mapping).__name__}, {type(design).__name__} of {design.shape[1]} columns: "
        f"{ended - began:.2f} s, of that fit {fitted - began:.2f}, map {mapped - fitted:.2f}, "
        f"training {ended - mapped:.2f}"
    )
    print(
        f"  {solver}: {objective.passes:.1f} passes, {result.n_iter} steps, gap {result.gap:.1e} "
        f"({result.status}), {'fused' if objective.fused else 'split'}; peak memory "
        f"{peak_mb():.0f} MB, {before:.0f} MB before"
    )
    return ended - began


def written_out(Z: np.ndarray, data: RankingData) -> np.ndarray:
    """Return the differences of the features of every comparable pair, winner minus loser."""
    view = data.training_view()
    parts = []
    for first, last in zip(view.query_ptr[:-1], view.query_ptr[1:], strict=True):
        y = view.y[first:last]
        better, worse = np.nonzero(y[:, None] > y[None, :])
        parts.append(Z[first + better] - Z[first + worse])
    return np.concatenate(parts)


def against_pairs(n_components: int, tol: float) -> None:
    """Compare KernelRankSVM with scikit-learn's map and LinearSVC on pairs: time, and the same objective.

    LinearSVC minimises ``1/2 |w|^2 + C sum max(0, 1 - t d.w)^2``, so ``alpha = 1 / (C N)``; every other pair
    is mirrored, because it wants to see two classes. Its tolerance is tightened until its objective is no
    worse than ours. The maps draw their own landmarks and frequencies, so the optima differ a little.
    Writing the pairs out counts, as it must be done.
    """
    rng = np.random.default_rng(0)
    base = search_like(5_000)
    qid = np.arange(5_000) // 50
    data = RankingData(base.X, base.y, qid=qid)
    seed = int(rng.integers(1000))
    for name, theirs in (("nystroem", Nystroem), ("fourier", RBFSampler)):
        began = time.perf_counter()
        ours = KernelRankSVM(
            gamma=GAMMA,
            approximation=name,
            linear_block=False,
            n_components=n_components,
            alpha=1e-4,
            tol=tol,
            random_state=seed,
        ).fit(data)
        seconds = time.perf_counter() - began
        print(f"{name}: KernelRankSVM {seconds:.2f} s, objective {ours.objective_:.6f}, gap {ours.gap_:.1e}")
        for their_tol in (1e-1, 1e-2, 1e-3):
            began = time.perf_counter()
            mapping = theirs(gamma=GAMMA, n_components=n_components, random_state=seed)
            D = written_out(mapping.fit_transform(data.X), data)
            sign = np.where(np.arange(len(D)) % 2 == 0, 1.0, -1.0)
            D *= sign[:, None]
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", ConvergenceWarning)
                svc = LinearSVC(
                    C=1.0 / (1e-4 * len(D)), dual=False, fit_intercept=False, tol=their_tol, max_iter=1000
                )
                w = svc.fit(D, sign).coef_[0]
            spent = time.perf_counter() - began
            slack = np.maximum(0.0, 1.0 - sign * (D @ w))
            objective = float(slack @ slack) / len(D) + 0.5e-4 * float(w @ w)
            print(
                f"  LinearSVC on {len(D):,} pairs, tol {their_tol:g}: {spent:.2f} s, "
                f"{spent / seconds:.1f} times, objective {objective:.6f}",
                flush=True,
            )
            if objective <= ours.objective_:
                break


def run(name: str, n_rows: int, solver: str, tol: float) -> None:
    if name == "pairs":
        against_pairs(500, tol)
        return
    kind = NystroemFeatures if name == "nystroem" else FourierFeatures
    mapping = kind(gamma=GAMMA, n_components=N_COMPONENTS, random_state=0)
    if name == "recompute":
        train(search_like(n_rows), mapping, "recompute", solver, tol)
        return
    seconds = train(search_like(N_ROWS), mapping, "memory", solver, tol)
    print(f"  {seconds / unit_seconds(3):.2f} units")


def start(work: Callable[..., None], *args: object) -> None:
    """Run something in a process of its own, to its end."""
    process = multiprocessing.get_context("spawn").Process(target=work, args=args)
    process.start()
    process.join()


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--only", choices=["nystroem", "fourier", "recompute", "pairs"])
    parser.add_argument("--rows", type=int, default=1_000_000, help="of --only recompute")
    parser.add_argument("--solver", default="lbfgs", choices=list(SOLVERS))
    parser.add_argument("--tol", type=float, help="1e-3 by default, 1e-5 for --only pairs")
    options = parser.parse_args()
    start(touch_memory)
    for name in [options.only] if options.only else ["nystroem", "fourier"]:
        tol = options.tol or (1e-5 if name == "pairs" else 1e-3)
        work = (name, options.rows, options.solver, tol)
        start(run, *work)


if __name__ == "__main__":
    main()
