"""Table 4 of Chen et al. (2017), "Ranking support vector machine with kernel approximation", on OHSUMED.

Five folds, the LETOR evaluation, 500 landmarks or frequencies, next to the figures of the paper. The authors'
program minimises ``1/2 |w|^2 + (C/2) sum loss``, so ``alpha = 2 / (C N)`` for N pairs.

    MARGINRANK_DATA=... python benchmarks/kernel_tables.py
    MARGINRANK_DATA=... python benchmarks/kernel_tables.py --seeds 3 --rows nystroem fourier
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

from marginrank import RankingData, load_letor
from marginrank.designs import MatrixDesign, mapped_design
from marginrank.feature_maps import FeatureMap, FourierFeatures, NystroemFeatures
from marginrank.losses import QUERY_LOSSES
from marginrank.metrics import evaluate
from marginrank.objective import Objective
from marginrank.solvers import SOLVERS
from marginrank.threads import default_threads, one_blas_thread

METRICS = ["ndcg@1", "ndcg@3", "ndcg@5", "precision@1", "precision@3", "map"]
PAPER = {
    "linear": [0.5645, 0.5004, 0.4782, 0.6710, 0.6112, 0.4439],
    "nystroem": [0.5730, 0.4874, 0.4780, 0.6801, 0.5890, 0.4473],
    "fourier": [0.5728, 0.4965, 0.4804, 0.6801, 0.5983, 0.4472],
}
LINEAR_C = [2.0**k for k in range(-12, 7)]
KERNEL_C = KERNEL_GAMMA = 2.0**-6
N_COMPONENTS = 500

Fold = tuple[RankingData, RankingData, RankingData]


def read_folds(folder: Path) -> list[Fold]:
    """Return training, validation and test data of LETOR's five folds."""
    parts = [load_letor(folder / f"S{k}.txt.gz") for k in range(1, 6)]
    dense = [np.asarray(part.X.toarray() if hasattr(part.X, "toarray") else part.X) for part in parts]
    width = max(X.shape[1] for X in dense)
    dense = [np.pad(X, ((0, 0), (0, width - X.shape[1]))) for X in dense]

    def join(*numbers: int) -> RankingData:
        chosen = [k % 5 for k in numbers]
        y = np.concatenate([parts[k].y for k in chosen])
        qid = np.concatenate([parts[k].qid for k in chosen])
        return RankingData(np.concatenate([dense[k] for k in chosen]), y, qid=qid)

    return [(join(k, k + 1, k + 2), join(k + 3), join(k + 4)) for k in range(5)]


def train(data: RankingData, c: float, mapping: FeatureMap | None, tol: float) -> np.ndarray:
    """Return the coefficients of the squared hinge at the authors' C."""
    view, threads = data.training_view(), default_threads()
    loss = QUERY_LOSSES["squared_hinge"](view, weighting="pairs", n_threads=threads)
    if mapping is None:
        design = MatrixDesign(data.X, view.rows, n_threads=threads)
    else:
        design = mapped_design(mapping.block_map(), data.X, view.rows, n_threads=threads)
    with one_blas_thread():
        result = SOLVERS["newton"](tol=tol).minimize(Objective(design, loss, 2.0 / (c * loss.n_pairs)))
    if result.status != "converged":
        print(f"  C = 2^{np.log2(c):.0f} {result.status} at a gap of {result.gap:.1e}")
    return result.w


def figures(data: RankingData, scores: np.ndarray) -> np.ndarray:
    result = evaluate(data.y, scores, qid=data.qid, metrics=METRICS, flavor="letor")
    return np.array([result[name] for name in METRICS])


def linear_row(folds: list[Fold], tol: float) -> np.ndarray:
    """Return the mean over folds, C by validation MAP."""
    rows, chosen = [], []
    for training, validation, test in folds:
        tried = [(c, train(training, c, None, tol)) for c in LINEAR_C]
        # The first of equals: the smallest C.
        c, w = max(tried, key=lambda pair: figures(validation, validation.X @ pair[1])[-1])
        chosen.append(int(np.log2(c)))
        rows.append(figures(test, test.X @ w))
    print(f"linear: C = 2^k with k = {chosen}")
    return np.mean(rows, axis=0)


def mapped_row(folds: list[Fold], make: Callable[[], FeatureMap], tol: float) -> np.ndarray:
    """Return the mean over folds for one seed."""
    rows = []
    for training, _, test in folds:
        mapping = make().fit(training.X)
        w = train(training, KERNEL_C, mapping, tol)
        rows.append(figures(test, mapping.transform(test.X).astype(np.float64) @ w))
    return np.mean(rows, axis=0)


def mapped_rows(name: str, folds: list[Fold], seeds: int, dtype: str, tol: float) -> np.ndarray:
    kind = {"nystroem": NystroemFeatures, "fourier": FourierFeatures}[name]

    def maker(seed: int) -> Callable[[], FeatureMap]:
        return lambda: kind(gamma=KERNEL_GAMMA, n_components=N_COMPONENTS, dtype=dtype, random_state=seed)

    return np.array([mapped_row(folds, maker(seed), tol) for seed in range(seeds)])


def show(name: str, values: np.ndarray) -> None:
    print(f"{name:<24}" + "".join(f"{value:>9.4f}" for value in values))


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rows", nargs="+", default=list(PAPER), choices=list(PAPER))
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--dtype", default="float32", choices=["float32", "float64"])
    parser.add_argument("--tol", type=float, default=1e-6)
    options = parser.parse_args()
    data = os.environ.get("MARGINRANK_DATA")
    if not data:
        parser.error("MARGINRANK_DATA must name the folder that holds OHSUMED.")
    folds = read_folds(Path(data) / "OHSUMED")
    print(" " * 24 + "".join(f"{name.replace('precision', 'P'):>9}" for name in METRICS))
    for name in options.rows:
        began = time.perf_counter()
        if name == "linear":
            found = linear_row(folds, options.tol)[None, :]
        else:
            found = mapped_rows(name, folds, options.seeds, options.dtype, options.tol)
        show(f"{name}, paper", np.array(PAPER[name]))
        show(f"{name}, ours", found.mean(axis=0))
        show("  difference", found.mean(axis=0) - PAPER[name])
        if len(found) > 1:
            show(f"  sd over {len(found)} seeds", found.std(axis=0, ddof=1))
        print(f"  {time.perf_counter() - began:.1f} s")


if __name__ == "__main__":
    main()
