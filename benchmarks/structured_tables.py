"""What structured targets bring on OHSUMED and MQ2008, like the tables of Chakrabarti et al. (2008).

Each row is a target that was trained for; the columns are metrics of the test queries, over LETOR's five
folds (train on three parts, choose alpha on the fourth, test on the fifth). Conventions:

- Labels of at least 1 are good, in training and for MRR and MAP; NDCG is evaluated with gains
  ``2**label - 1``. The discount is LETOR's, 1, 1, 1/log2(3), ..., in training and evaluation. Equal scores
  count as the mean over their orders.
- Alpha is chosen by ``alpha="auto"`` on its own grid, which goes down as far as it pays, by the target's own
  metric on the validation queries (pairwise error for AUC and pairs).
- Test queries without a good row are left out (they say nothing), so levels are above LETOR's own on MQ2008.
- McRank (Li et al. 2007) is there as in the paper: probabilities of the labels by scikit-learn's histogram
  boosting, rows in the order of the expected gain, as many of 200 rounds as the validation queries' NDCG@10
  wants. It is no other than that in tuning.
- Behind each figure stands its difference from the first row with the standard error of that difference,
  paired over all test queries. "zero" counts the folds in which w = 0 was proved to be optimal: degenerate
  targets, whose figures are those of chance, or of a direction that gains less than tol. Seconds are those of
  the processor, for all folds and alphas.

Of the findings of the paper these hold here: well-posed targets keep up with pairs; the loss of the metric
itself need not be the best for it; a sum of targets is robust (but so is MAP alone); NDCG trains many times
as fast as DORM. That ``phi_mrr`` is better than ``phi_po`` for MRR does not: it is degenerate on OHSUMED and
no different on MQ2008.

    MARGINRANK_DATA=... python benchmarks/structured_tables.py
    MARGINRANK_DATA=... python benchmarks/structured_tables.py --data MQ2008 --rows auc map
"""

from __future__ import annotations

import argparse
import os
import sys
import time
import warnings
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.ensemble import HistGradientBoostingClassifier
from threadpoolctl import threadpool_limits

from marginrank import RankingData, RankSVM, StructuredRankSVM, load_letor
from marginrank.exceptions import ZeroModelWarning
from marginrank.metrics import evaluate
from results import Result, add_save_option

METRICS = {
    "MRR@10": "mrr(ties=average)@10",
    "NDCG@10": "ndcg(discount=letor,ties=average)@10",
    "MAP": "map(ties=average,empty=skip)",
}
COMBO = {"map": 1.0, "ndcg@10": 1.0, "mrr@10": 1.0}
# What is trained, and how; None is the pairwise hinge, which the others are held against.
ROWS: dict[str, dict[str, Any] | None] = {
    "pairs (RankSVM)": None,
    "auc": {"target": "auc"},
    "map": {"target": "map"},
    "ndcg": {"target": "ndcg@10"},
    "mrr": {"target": "mrr@10"},
    "combo": {"target": COMBO},
    "ndcg@10 cut": {"target": "ndcg@10", "truncate": True},
    "mrr@10 cut": {"target": "mrr@10", "truncate": True},
    "combo cut": {"target": COMBO, "truncate": True},
    "mrr phi_mrr": {"target": "mrr@10", "feature_map": "mrr"},
    "mrr@10 phi_mrr cut": {"target": "mrr@10", "feature_map": "mrr", "truncate": True},
    "dorm": {"target": "ndcg@10", "feature_map": "dorm"},
    "dorm discount": {"target": "ndcg@10", "feature_map": "dorm", "rank_weight": "discount"},
}
# The row of another method: class probabilities by boosted trees, ranked by the expected gain.
MCRANK = "mcrank"
ROUNDS = 200

Fold = tuple[RankingData, RankingData, RankingData]


def read_folds(folder: Path) -> list[Fold]:
    """Return training, validation and test data of LETOR's five folds."""
    parts = [load_letor(next(folder.glob(f"S{k}.txt*"))) for k in range(1, 6)]
    dense = [np.asarray(part.X.toarray() if hasattr(part.X, "toarray") else part.X) for part in parts]
    width = max(X.shape[1] for X in dense)
    dense = [np.pad(X, ((0, 0), (0, width - X.shape[1]))) for X in dense]

    def join(*numbers: int) -> RankingData:
        chosen = [k % 5 for k in numbers]
        y = np.concatenate([parts[k].y for k in chosen])
        qid = np.concatenate([parts[k].qid for k in chosen])
        return RankingData(np.concatenate([dense[k] for k in chosen]), y, qid=qid)

    return [(join(k, k + 1, k + 2), join(k + 3), join(k + 4)) for k in range(5)]


def model_of(parameters: dict[str, Any] | None, **more: Any) -> Any:
    if parameters is None:
        return RankSVM(weighting="queries", **more)
    return StructuredRankSVM(relevance=1, discount="letor", **parameters, **more)


def per_query(test: RankingData, scores: np.ndarray) -> np.ndarray:
    """Return the metrics of the queries that have a good row, of shape (n_queries, n_metrics)."""
    result = evaluate(test.y, scores, qid=test.qid, metrics=list(METRICS.values()))
    values = np.column_stack([result.per_query[name] for name in result])
    return values[~np.isnan(values).any(axis=1)]


def train(folds: list[Fold], parameters: dict[str, Any] | None) -> tuple[np.ndarray, list[float], int, float]:
    """Return the figures of all test queries, the alphas, degenerate folds and processor seconds."""
    figures, alphas, zero, seconds = [], [], 0, 0.0
    for training, validation, test in folds:
        start = time.process_time()
        model = model_of(parameters, alpha="auto")
        model.fit(training, eval_set=validation)
        seconds += time.process_time() - start
        zero += getattr(model, "degenerate_", False)
        alphas.append(model.alpha_)
        figures.append(per_query(test, model.predict(test)))
    return np.concatenate(figures), alphas, zero, seconds


def train_mcrank(folds: list[Fold]) -> tuple[np.ndarray, list[float], int, float]:
    """Return the same for class probabilities by boosting, with the rounds in the place of alphas."""
    figures, rounds, seconds = [], [], 0.0
    for training, validation, test in folds:
        start = time.process_time()
        boosting = HistGradientBoostingClassifier(max_iter=ROUNDS, early_stopping=False, random_state=0)
        with threadpool_limits(1):
            boosting.fit(training.X, training.y)
            gains = 2.0**boosting.classes_ - 1.0
            watched = [
                evaluate(validation.y, chances @ gains, qid=validation.qid, metrics=METRICS["NDCG@10"])
                for chances in boosting.staged_predict_proba(validation.X)
            ]
            best = int(np.argmax([next(iter(result.values())) for result in watched]))
            scores = next(islice(boosting.staged_predict_proba(test.X), best, None)) @ gains
        seconds += time.process_time() - start
        rounds.append(best + 1.0)
        figures.append(per_query(test, scores))
    return np.concatenate(figures), rounds, 0, seconds


def show(
    result: Result,
    name: str,
    values: np.ndarray,
    base: np.ndarray,
    alphas: list[float],
    zero: int,
    spent: float,
) -> None:
    cells, fields = [], {}
    for metric, column, reference in zip(METRICS, values.T, base.T, strict=True):
        difference = column - reference
        error = difference.std(ddof=1) / np.sqrt(len(difference))
        cells.append(f"{column.mean():.4f} {difference.mean():+.4f}+-{error:.4f}")
        fields[FIELDS[metric]] = column.mean()
        if values is not base:
            fields |= {f"{FIELDS[metric]}_difference": difference.mean(), f"{FIELDS[metric]}_error": error}
    key, label = KEYS[name]
    result.add(key, label=label, zero=zero, seconds=spent, queries=len(values), **fields)
    alpha = f"{min(alphas):.0e}..{max(alphas):.0e}"
    print(f"{name:20s} " + "  ".join(cells) + f"  {zero:4d}  {alpha:14s} {spent:7.1f}", flush=True)


FIELDS = {"MRR@10": "mrr", "NDCG@10": "ndcg", "MAP": "map"}
#: What pages show.
COLUMNS = {
    "trained for": "{label}",
    **{
        name: f"{{{field}:.3f}}[[ ({{{field}_difference:+.3f}} ± {{{field}_error:.3f}})]]"
        for name, field in FIELDS.items()
    },
    "degenerate folds": "{zero}",
    "CPU s": "{seconds:.3g}",
}
#: Keys of result files, and labels.
KEYS = {
    "pairs (RankSVM)": ("pairs", "pairs: `RankSVM`"),
    "auc": ("auc", "auc"),
    "map": ("map", "map"),
    "ndcg": ("ndcg", "ndcg"),
    "mrr": ("mrr", "mrr"),
    "combo": ("combo", "map + ndcg + mrr"),
    "ndcg@10 cut": ("ndcg-cut", "ndcg@10, truncated"),
    "mrr@10 cut": ("mrr-cut", "mrr@10, truncated"),
    "combo cut": ("combo-cut", "map + ndcg@10 + mrr@10, truncated"),
    "mrr phi_mrr": ("mrr-phi", 'mrr, `feature_map="mrr"`'),
    "mrr@10 phi_mrr cut": ("mrr-phi-cut", 'mrr@10, `feature_map="mrr"`, truncated'),
    "dorm": ("dorm", 'ndcg, `feature_map="dorm"`'),
    "dorm discount": ("dorm-discount", 'the same, `rank_weight="discount"`'),
    MCRANK: ("mcrank", "McRank: labels, by boosting"),
}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", nargs="+", default=["OHSUMED", "MQ2008"])
    parser.add_argument("--rows", nargs="+", default=[*ROWS, MCRANK], choices=[*ROWS, MCRANK])
    add_save_option(parser)
    options = parser.parse_args()
    root = os.environ.get("MARGINRANK_DATA")
    if root is None:
        sys.exit("Set MARGINRANK_DATA to the folder that holds OHSUMED and MQ2008.")
    warnings.simplefilter("ignore", ZeroModelWarning)
    for data in options.data:
        folds = read_folds(Path(root) / data)
        base, *rest = train(folds, None)
        print(f"\n{data}: {len(base)} test queries with a good row")
        print(
            f"{'trained for':20s} "
            + "  ".join(f"{m:21s}" for m in METRICS)
            + "  zero  alpha          seconds"
        )
        note = f"{len(base)} test queries; CPU seconds of all folds and alphas."
        result = Result(f"structured-{data.lower()}", COLUMNS, note)
        show(result, "pairs (RankSVM)", base, base, *rest)
        for name in options.rows:
            if name == MCRANK:
                values, *rest = train_mcrank(folds)
            elif ROWS[name] is not None:
                values, *rest = train(folds, ROWS[name])
            else:
                continue
            show(result, name, values, base, *rest)
        if options.save:
            result.save()


if __name__ == "__main__":
    main()
