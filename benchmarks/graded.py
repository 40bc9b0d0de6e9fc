"""What grades bring: NDCG and MAP as sums over label thresholds, against good and bad rows.

Five folds (train on three parts, choose alpha on the fourth, test on the fifth). Each target is trained with
``relevance=1``, labels of at least 1 are good, and with ``relevance=None``, labels are grades. Alpha is
chosen by ``alpha="auto"``, with the target's own metric on the validation queries. Behind each figure of the
graded form stands its difference from the binary one and the standard error of that difference, paired over
all test queries with two labels. Seconds are those of the processor, for all folds and alphas.

``--time`` measures one evaluation of the loss instead, on random scores of queries with 2 to 32 grades: the
graded one over the binary one, against the number of thresholds.

    MARGINRANK_DATA=... python benchmarks/graded.py
    python benchmarks/graded.py --time
    python benchmarks/graded.py --picture docs/images/graded.png

The picture is of made data: one column tells label 0 from the others, another one tells these apart.
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
from sklearn.exceptions import ConvergenceWarning

from marginrank import RankingData, StructuredRankSVM
from marginrank.data.labels import LabelledQueries
from marginrank.exceptions import ZeroModelWarning
from marginrank.losses.structured import StructuredLoss, TargetOptions, structured_loss
from marginrank.losses.structured.discounts import discount_table
from marginrank.losses.structured.thresholds import graded_queries, ndcg_shares
from marginrank.metrics import evaluate
from results import Result, add_save_option, spread
from structured_tables import Fold, read_folds

METRICS = {
    "NDCG@10": "ndcg(ties=average,empty=skip)@10",
    "MAP": "map(ties=average,empty=skip)",
    "MAP, all thresholds": "map(rel=all,ties=average,empty=skip)",
}
TARGETS: dict[str, Any] = {
    "ndcg@10": "ndcg@10",
    "map": "map",
    "map + ndcg@10 + mrr@10": {"map": 1.0, "ndcg@10": 1.0, "mrr@10": 1.0},
}
#: Targets and labels in the keys of result files, and the fields of the metrics there.
KEYS = {
    "ndcg@10": "ndcg",
    "map": "map",
    "map + ndcg@10 + mrr@10": "combo",
    "good or bad": "binary",
    "grades": "graded",
}
FIELDS = {"NDCG@10": "ndcg_10", "MAP": "map", "MAP, all thresholds": "map_all_thresholds"}
COLUMNS = {
    "set": "{set}",
    "trained for": "{trained_for}",
    "labels": "{labels}",
    **{
        name: f"{{{field}:.4f}}[[ ({{{field}_difference:+.4f}} ± {{{field}_error:.4f}})]]"
        for name, field in FIELDS.items()
    },
    "CPU s": "{cpu_s:.1f}",
}


def per_query(test: RankingData, scores: np.ndarray) -> np.ndarray:
    """Return the metrics of the test queries, NaN where one has nothing to find: (n_queries, n_metrics)."""
    result = evaluate(test.y, scores, qid=test.qid, metrics=list(METRICS.values()))
    values = np.column_stack([result.per_query[name] for name in result])
    return values[~np.isnan(values[:, -1])]


def train(folds: list[Fold], target: Any, relevance: float | None) -> tuple[np.ndarray, list[float], float]:
    """Return the figures of all test queries, the alphas and processor seconds."""
    figures, alphas, seconds = [], [], 0.0
    for training, validation, test in folds:
        start = time.process_time()
        model = StructuredRankSVM(target, relevance=relevance, alpha="auto")
        model.fit(training, eval_set=validation)
        seconds += time.process_time() - start
        alphas.append(model.alpha_)
        figures.append(per_query(test, model.predict(test)))
    return np.concatenate(figures), alphas, seconds


def compared(values: np.ndarray, base: np.ndarray) -> dict[str, float]:
    """Return the means of the metrics and, if they are not the base, the differences from it."""
    found = {}
    for field, column, reference in zip(FIELDS.values(), values.T, base.T, strict=True):
        both = ~np.isnan(column) & ~np.isnan(reference)
        difference = column[both] - reference[both]
        found[field] = column[both].mean()
        if base is not values:
            found[f"{field}_difference"] = difference.mean()
            found[f"{field}_error"] = difference.std(ddof=1) / np.sqrt(len(difference))
    return found


def tables(root: Path, data: list[str], targets: list[str]) -> Result:
    """Train every target both ways on every set, print the figures and return them."""
    result = Result("graded", COLUMNS, "CPU seconds of all folds and alphas.")
    for name in data:
        folds = read_folds(root / name)
        print(f"\n{name}: {', '.join(METRICS)}, difference ± its standard error, alphas, CPU s")
        for target in targets:
            base = None
            for relevance, labels in ((1.0, "good or bad"), (None, "grades")):
                values, alphas, seconds = train(folds, TARGETS[target], relevance)
                base = values if base is None else base
                figures = compared(values, base)
                key = f"{name.lower()}-{KEYS[target]}-{KEYS[labels]}"
                result.add(key, set=name, trained_for=target, labels=labels, **figures, cpu_s=seconds)
                shown = " ".join(f"{value:+.4f}" for value in figures.values())
                print(f"{key:24s} {shown}  {min(alphas):.0e}..{max(alphas):.0e}  {seconds:.1f}", flush=True)
    return result


def evaluation_seconds(losses: dict[str, StructuredLoss], scores: np.ndarray) -> dict[str, float]:
    """Return the least processor time of one evaluation of each, measured in turns."""
    least = dict.fromkeys(losses, np.inf)
    for _ in range(15):
        for name, loss in losses.items():
            start = time.process_time()
            loss.at(scores)
            least[name] = min(least[name], time.process_time() - start)
    return least


def times() -> Result:
    """Time one evaluation of the graded loss against the binary one, print the ratios and return them."""
    rng = np.random.default_rng(0)
    ratios: dict[int, list[float]] = {3: [], 5: [], 32: []}
    print("| rows a query | grades | target | binary, ms | graded, ms | ratio | thresholds |")
    print("| --- | --- | --- | --- | --- | --- | --- |")
    for size, n_queries in ((20, 4000), (120, 800), (5000, 20)):
        qid = np.repeat(np.arange(n_queries), size)
        scores = 0.3 * rng.normal(size=len(qid))
        for n_grades in ratios:
            y = rng.integers(n_grades, size=len(qid)).astype(float)
            view = LabelledQueries.of(y, qid=qid).training_view()
            for target in ("ndcg", "map"):
                middle = TargetOptions(relevance=n_grades // 2)
                losses = {
                    "binary": structured_loss(view, target, options=middle),
                    "graded": structured_loss(
                        view, target, options=TargetOptions(graded=True, gain="linear")
                    ),
                }
                spent = evaluation_seconds(losses, scores)
                ratio = spent["graded"] / spent["binary"]
                ratios[n_grades].append(ratio)
                print(
                    f"| {size} | {n_grades} | {target} | {1e3 * spent['binary']:.2f} | "
                    f"{1e3 * spent['graded']:.2f} | {ratio:.2f} | {n_grades - 1} |",
                    flush=True,
                )
    result = Result("graded-notes", {}, "Ranges over sizes of queries and targets, CPU time.")
    for n_grades, found in ratios.items():
        result.add(str(n_grades), ratio=spread(found))
    return result


def made_data(seed: int, n_queries: int, size: int = 30) -> RankingData:
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n_queries * size, 5))
    good = X[:, 0] + 0.5 * rng.standard_normal(len(X)) > 0.5
    how = np.digitize(X[:, 1] + 0.5 * rng.standard_normal(len(X)), [-0.5, 0.5, 1.2])
    return RankingData(X, np.where(good, 1 + how, 0), qid=np.arange(len(X)) // size)


def weight_of_thresholds(data: RankingData, options: TargetOptions, labels: np.ndarray) -> np.ndarray:
    """Return what each label counts as a threshold, as a mean over queries."""
    view = data.training_view()
    queries = graded_queries(options.gains(view.y), view.query_ptr)
    discount = discount_table(options.discount, int(np.diff(view.query_ptr).max()))
    shares = ndcg_shares(queries, discount, view.query_ptr)[1:]
    above = view.y[queries.order][:-1]
    return np.array([shares[above == label].sum() for label in labels]) / (len(view.query_ptr) - 1)


def draw(file: str) -> None:
    from matplotlib.figure import Figure

    training, test, labels = made_data(0, 100), made_data(1, 2000), np.arange(1, 5)
    kinds = {
        "labels from 1 on are good": ({"relevance": 1}, np.array([1.0, 0.0, 0.0, 0.0]), "#999999"),
        'grades, gain="linear"': ({"gain": "linear"}, None, "#56a0d3"),
        'grades, gain="exponential"': ({}, None, "#c2410c"),
    }
    figure = Figure(figsize=(9.0, 3.6), layout="constrained")
    left, right = figure.subplots(1, 2)
    for k, (name, (parameters, weight, color)) in enumerate(kinds.items()):
        model = StructuredRankSVM("ndcg@10", alpha=1e-2, **parameters).fit(training)
        if weight is None:
            gain = parameters.get("gain", "exponential")
            weight = weight_of_thresholds(training, TargetOptions(graded=True, gain=gain), labels)
        left.bar(labels + 0.27 * (k - 1), weight, 0.25, color=color, label=name)
        scores = model.predict(test).reshape(-1, 30)
        by_rank = np.take_along_axis(test.y.reshape(-1, 30), np.argsort(-scores, axis=1), axis=1)
        figure_of = evaluate(test.y, model.predict(test), qid=test.qid)["ndcg@10"]
        right.plot(
            range(1, 11), by_rank[:, :10].mean(axis=0), "o-", color=color, label=f"NDCG@10 {figure_of:.3f}"
        )
    left.set(
        xlabel="label at which good rows begin", ylabel="weight in the loss", title="What is trained for"
    )
    left.set_xticks(labels)
    left.legend(frameon=False)
    right.set(xlabel="rank", ylabel="mean label", title="Test queries, ranked by the model")
    right.legend(frameon=False)
    for axes in (left, right):
        axes.spines[["top", "right"]].set_visible(False)
    figure.savefig(file, dpi=120)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", nargs="+", default=["OHSUMED", "MQ2008", "ClueWeb09"])
    parser.add_argument("--targets", nargs="+", default=list(TARGETS), choices=list(TARGETS))
    parser.add_argument("--time", action="store_true")
    parser.add_argument("--picture", metavar="FILE")
    add_save_option(parser)
    options = parser.parse_args()
    if options.picture:
        draw(options.picture)
        return
    if options.time:
        result = times()
        if options.save:
            result.save()
        return
    root = os.environ.get("MARGINRANK_DATA")
    if root is None:
        sys.exit("Set MARGINRANK_DATA to the folder that holds OHSUMED, MQ2008 and ClueWeb09.")
    warnings.simplefilter("ignore", ZeroModelWarning)
    warnings.simplefilter("ignore", ConvergenceWarning)
    result = tables(Path(root), options.data, options.targets)
    if options.save:
        result.save()


if __name__ == "__main__":
    main()
