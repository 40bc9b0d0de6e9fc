"""Tables 1 and 3 of the regularisation path paper, for its reduced graph, a sample of pairs, and all pairs.

Usage, with MARGINRANK_DATA naming the folder that holds ``path/*.svm``::

    python benchmarks/path_tables.py                   # ten splits, all graphs; about a minute
    python benchmarks/path_tables.py --sets mixture --splits 3 --graphs sampled reduced

Half of the rows train, a quarter chooses alpha by its pairwise error at 200 alphas of the path, a quarter
tests, as in the paper. The kernel is the RBF with scikit-learn's gamma on standardised columns. Errors are
shares of pairs in wrong order (the paper gives misclassified samples, which depend on a threshold too);
``lambda`` is ``alpha`` times the pairs. ``select`` is the processor time of the choice as a part of that of
the path.
"""

from __future__ import annotations

import argparse
import time
from typing import Any, NamedTuple

import numpy as np

from marginrank import RankingData
from marginrank.metrics import pairwise_error
from marginrank.paths import kernel_rank_path
from marginrank.paths.graphs import graph_pairs
from path import SETS, load
from results import Result, add_save_option, spread

GRAPHS = ("all", "sampled", "reduced")
FIELDS = {"all": "all_pairs", "sampled": "sampled", "reduced": "reduced"}
COLUMNS = {
    "": "[[{label}]]",
    " ": "{value}",
    "all pairs": "{all_pairs}",
    "sampled": "{sampled}",
    "reduced": "{reduced}",
}
#: What pages show of a split: field, its name there, and how many digits.
SHOWN = (("error", "error", ".4f"), ("active", "active pairs", ".0f"), ("seconds", "CPU s", ".2f"))


class Split(NamedTuple):
    """What one split gave."""

    error: float
    lam: float
    active: int
    seconds: float
    select: float


def table_1(sets: list[str]) -> None:
    print("set         rows   all pairs   sampled   reduced")
    for name in sets:
        data = RankingData(*load(name))
        counts = [len(graph_pairs(data, graph).winner) for graph in GRAPHS]
        print(f"{name:<10}{data.n_rows:6d}{counts[0]:12d}{counts[1]:10d}{counts[2]:10d}")


def run_split(X: Any, y: Any, graph: str, seed: int) -> Split:
    order = np.random.default_rng(seed).permutation(len(y))
    half, quarter = len(y) // 2, len(y) // 4
    train, validation, test = np.split(order, [half, half + quarter])
    start = time.process_time()
    path = kernel_rank_path(X[train], y[train], graph=graph, random_state=seed)
    middle = time.process_time()
    alpha = path.select(X[validation], y[validation]).alpha
    seconds, selecting = middle - start, time.process_time() - middle
    beta = path.duals_at(alpha)
    active = int(np.sum((beta > 0.0) & (beta < path.pair_weight_)))
    error = pairwise_error(y[test], path.predict(X[test], alpha=alpha))
    return Split(error, alpha * path.pair_weight_.sum(), active, seconds, selecting / seconds)


def table_3(sets: list[str], graphs: list[str], n_splits: int) -> dict[str, dict[str, Split]]:
    """Print the table, and return the means over splits by set and graph."""
    found: dict[str, dict[str, Split]] = {}
    print("\nset       graph       test error        lambda           active pairs     seconds    select")
    for name in sets:
        X, y = load(name)
        for graph in graphs:
            splits = np.array([run_split(X, y, graph, seed) for seed in range(n_splits)])
            means, deviations = splits.mean(axis=0), splits.std(axis=0)
            found.setdefault(name, {})[graph] = Split(*means)
            print(
                f"{name:<10}{graph:<10}"
                f"{means[0]:7.4f} ({deviations[0]:.4f})  {means[1]:8.3g} ({deviations[1]:8.2g})"
                f"{means[2]:8.1f} ({deviations[2]:5.1f})  {means[3]:6.2f} ({deviations[3]:.2f})"
                f"  {means[4]:7.1%}",
                flush=True,
            )
    return found


def save(found: dict[str, dict[str, Split]], n_splits: int) -> None:
    """Write the table, and what choosing alpha takes of the time of a path."""
    table = Result("path-tables", COLUMNS, f"Means over {n_splits} splits, CPU seconds.")
    for name, graphs in found.items():
        for field, label, digits in SHOWN:
            values = {FIELDS[graph]: format(getattr(one, field), digits) for graph, one in graphs.items()}
            table.add(
                f"{name}-{field}", **({"label": name} if field == "error" else {}), value=label, **values
            )
    table.save()
    halves = Result("path-select", {}, "The choice of alpha in per cent of the path, on halves of the sets.")
    for graph in ("all", "sampled"):
        shares = [100 * graphs[graph].select for graphs in found.values()]
        seconds = [graphs[graph].seconds for graphs in found.values()]
        halves.add(graph, share=spread(shares), seconds=spread(seconds))
    halves.save()


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--sets", nargs="+", default=list(SETS), choices=SETS)
    parser.add_argument("--graphs", nargs="+", default=list(GRAPHS), choices=GRAPHS)
    parser.add_argument("--splits", type=int, default=10)
    add_save_option(parser)
    options = parser.parse_args()
    table_1(options.sets)
    found = table_3(options.sets, options.graphs, options.splits)
    if options.save:
        if [options.sets, options.graphs] != [list(SETS), list(GRAPHS)]:
            parser.error("--save keeps the whole table: leave --sets and --graphs out.")
        save(found, options.splits)


if __name__ == "__main__":
    main()
