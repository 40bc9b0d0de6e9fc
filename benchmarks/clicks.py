"""What position bias costs, and how much of it inverse propensity weights give back.

A weak ranker shows 3,000 queries of 20 rows to five readers each, who look at position k with probability
k**-1.5.
NDCG@10 on 500 other queries of models of: the clicks as they are, clicks with true and with estimated
propensities, skip-above pairs, and the full labels::

    python benchmarks/clicks.py --seeds 20
    python benchmarks/clicks.py --seeds 1 --picture docs/images/clicks.png
"""

from __future__ import annotations

import argparse
import warnings

import numpy as np

from marginrank import RankSVM, inverse_propensity
from marginrank.clicks import skip_above_pairs
from marginrank.datasets import make_clicks, make_ranking
from marginrank.metrics import evaluate
from results import Result, add_save_option

N_QUERIES, N_TEST, N_ROWS, N_FEATURES, BIAS, READERS = 3000, 500, 20, 20, 1.5, 5


def simulate(seed: int):
    """Return the figures of one seed, the log and the estimated propensities."""
    X, y, qid, coef = make_ranking(
        N_QUERIES + N_TEST, N_ROWS, N_FEATURES, n_informative=10, return_coef=True, random_state=seed
    )
    rng = np.random.default_rng(1000 + seed)
    scores = X @ (coef + 2.0 * rng.normal(size=N_FEATURES) / np.sqrt(N_FEATURES))
    train, test = qid < N_QUERIES, qid >= N_QUERIES
    log = make_clicks(
        y[train], scores[train], qid=qid[train], bias=BIAS, n_sessions=READERS, random_state=seed
    )
    shown = X[train][log.rows]

    def ndcg(values):
        return evaluate(y[test], values, qid=qid[test])["ndcg@10"]

    def trained(labels, weight=None):
        ranker = RankSVM().fit(shown, labels, qid=log.sessions, sample_weight=weight)
        return ndcg(ranker.predict(X[test]))

    true = inverse_propensity(log.clicks, log.positions, "given", propensities=log.examination)
    estimated = inverse_propensity(log.clicks, log.positions, X=shown)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        pairs = skip_above_pairs(log.clicks, log.positions, qid=log.sessions)
    return (
        {
            "random": ndcg(rng.random(test.sum())),
            "skip-above pairs": ndcg(RankSVM().fit_pairs(shown, pairs).predict(X[test])),
            "logging ranker": ndcg(scores[test]),
            "naive clicks": trained(log.clicks),
            "estimated propensities": trained(log.clicks, estimated),
            "true propensities": trained(log.clicks, true),
            "full labels": ndcg(RankSVM().fit(X[train], y[train], qid=qid[train]).predict(X[test])),
        },
        log,
        estimated,
    )


def draw(figures, log, estimated, file: str) -> None:
    """Draw click rates and propensities by position, and what models of the clicks reach."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(10, 3.8), layout="constrained")
    left, right = figure.subplots(1, 2)
    places = np.arange(1, N_ROWS + 1)
    rates = np.bincount(log.positions - 1, log.clicks) / np.bincount(log.positions - 1)
    left.plot(places, rates / rates[0], "o-", color="0.6", label="clicks, first position = 1")
    left.plot(places, places**-BIAS, "k-", label="looked at, truth")
    left.plot(places, estimated.propensities, "C0s--", markersize=4, label="looked at, estimated")
    left.set(yscale="log", xlabel="position", title="Attention falls with the position")
    left.set_xticks([1, 5, 10, 15, 20])
    left.legend(frameon=False)
    names = list(figures)
    colours = ["C0" if "propensities" in name else "0.7" for name in names]
    bars = right.barh(names, [figures[name] for name in names], color=colours)
    right.bar_label(bars, fmt="%.3f", padding=3)
    right.set(xlim=(0, 1.08), xlabel="NDCG@10 on other queries", title="What models of the same clicks reach")
    for axes in (left, right):
        axes.spines[["top", "right"]].set_visible(False)
    figure.savefig(file, dpi=120)


def keep(names: list[str], rows: np.ndarray) -> Result:
    """Return the means over seeds, and what part of the gap is closed, in per cent."""
    result = Result("clicks", {}, f"{len(rows)} seeds; NDCG@10.")
    means = dict(zip(names, rows.mean(axis=0), strict=False))
    result.add("naive", ndcg=means["naive clicks"])
    result.add("full", ndcg=means["full labels"])
    for key, column in (("true", 100 * rows[:, -2]), ("estimated", 100 * rows[:, -1])):
        seeds = {"low": column.min(), "high": column.max()}
        result.add(key, closed=column.mean(), closed_seeds=seeds, ndcg=means[f"{key} propensities"])
    return result


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--first", type=int, default=0, help="the first of them, to run them in parts")
    parser.add_argument("--picture")
    add_save_option(parser)
    options = parser.parse_args()
    rows = []
    for seed in range(options.first, options.first + options.seeds):
        figures, log, estimated = simulate(seed)
        naive, full = figures["naive clicks"], figures["full labels"]
        closed = [
            (figures[name] - naive) / (full - naive)
            for name in ("true propensities", "estimated propensities")
        ]
        rows.append([*figures.values(), *closed])
        print(f"seed {seed}: closed {closed[0]:.0%} with true, {closed[1]:.0%} with estimated propensities")
    print("means:")
    for name, value in zip(
        [*figures, "closed, true", "closed, estimated"], np.mean(rows, axis=0), strict=True
    ):
        print(f"  {name:<24} {value:.3f}")
    if options.save:
        keep(list(figures), np.array(rows)).save()
    if options.picture:
        draw(figures, log, estimated, options.picture)


if __name__ == "__main__":
    main()
