"""Ranking metrics by their definitions, in plain Python over written-out orders: the oracle of the kernel."""

from dataclasses import replace
from itertools import combinations, groupby, permutations, product
from math import log2, sqrt

NOTHING = None  # there is nothing to find in this query


def value_of(metric, y, scores, docid=None):
    """Return the metric of one query, or NOTHING."""
    y = [float(label) for label in y]
    if metric.rel == "all":
        values = [value_of(replace(metric, rel=rel), y, scores, docid) for rel in sorted(set(y))[1:]]
        return sum(values) / len(values) if values else NOTHING
    if metric.name in PAIRWISE:
        return PAIRWISE[metric.name](metric, y, scores)
    if is_empty(metric, y):
        return NOTHING
    if metric.short == "zero" and metric.cutoff is not None and len(y) < metric.cutoff:
        return 0.0
    if metric.ties == "threshold":
        return threshold_average_precision(metric, y, scores)
    orders = list(orders_of(metric, y, scores, docid))
    return sum(BY_RANK[metric.name](metric, labels, max(y)) for labels in orders) / len(orders)


def mean_of(metric, values, labels):
    """Return the mean over queries, with what ``empty`` says about those where there is nothing to find."""
    if metric.weighting == "pairs":
        pairs = [sum(a != b for a, b in combinations(y, 2)) for y in labels]
        wrong = sum(n * v for n, v in zip(pairs, values, strict=True) if v is not NOTHING)
        return wrong / sum(pairs) if sum(pairs) else float("nan")
    if metric.empty == "skip":
        values = [v for v in values if v is not NOTHING]
    values = [metric.empty if v is NOTHING else v for v in values]
    return sum(values) / len(values) if values else float("nan")


def orders_of(metric, y, scores, docid):
    """Yield the labels by rank, in every order that the rule for ties allows."""
    rows = sorted(range(len(y)), key=lambda row: -scores[row])
    groups = [list(group) for _, group in groupby(rows, key=lambda row: scores[row])]
    if metric.ties == "average":
        for choice in product(*(permutations(group) for group in groups)):
            yield [y[row] for group in choice for row in group]
        return
    key = {"input": lambda row: row, "pessimistic": lambda row: y[row], "docid": None}[metric.ties]
    if metric.ties == "docid":
        ordered = [sorted(group, key=lambda row: str(docid[row]), reverse=True) for group in groups]
    else:
        ordered = [sorted(group, key=key) for group in groups]
    yield [y[row] for group in ordered for row in group]


def is_empty(metric, y):
    if metric.name in ("ndcg", "dcg", "mean_ndcg"):
        return max(gain(metric, label) for label in y) <= 0
    if metric.name == "err":
        return max(y) <= 0
    return not any(label >= metric.rel for label in y)


def gain(metric, label):
    if not isinstance(metric.gain, str):
        return metric.gain.to_dict()[label]
    return label if metric.gain == "linear" else 2.0**label - 1.0


def discount(metric, rank):
    if metric.discount == "letor":
        return 1.0 if rank <= 2 else 1.0 / log2(rank)
    return 1.0 / log2(1 + rank)


def dcg(metric, labels, _=None):
    top = labels[: metric.cutoff]
    return sum(gain(metric, label) * discount(metric, rank) for rank, label in enumerate(top, 1))


def ndcg(metric, labels, _=None):
    return dcg(metric, labels) / dcg(metric, sorted(labels, reverse=True))


def mean_ndcg(metric, labels, _=None):
    sums, ideal = [], sorted(labels, reverse=True)
    for k in range(1, len(labels) + 1):
        sums.append(dcg(metric, labels[:k]) / dcg(metric, ideal[:k]))
    return sum(sums) / len(sums)


def average_precision(metric, labels, _=None):
    hit = [label >= metric.rel for label in labels]
    k = metric.cutoff or len(labels)
    total = sum(sum(hit[: i + 1]) / (i + 1) for i in range(min(k, len(hit))) if hit[i])
    return total / (min(sum(hit), k) if metric.norm == "cutoff" else sum(hit))


def reciprocal_rank(metric, labels, _=None):
    ranks = [rank for rank, label in enumerate(labels[: metric.cutoff], 1) if label >= metric.rel]
    return 1.0 / ranks[0] if ranks else 0.0


def precision(metric, labels, _=None):
    k = min(metric.cutoff, len(labels)) if metric.short == "cut" else metric.cutoff
    return sum(label >= metric.rel for label in labels[: metric.cutoff]) / k


def recall(metric, labels, _=None):
    found = sum(label >= metric.rel for label in labels[: metric.cutoff])
    return found / sum(label >= metric.rel for label in labels)


def r_precision(metric, labels, _=None):
    hit = [label >= metric.rel for label in labels]
    return sum(hit[: sum(hit)]) / sum(hit)


def hit(metric, labels, _=None):
    return float(any(label >= metric.rel for label in labels[: metric.cutoff]))


def rank_biased_precision(metric, labels, _=None):
    top = labels[: metric.cutoff]
    return (1.0 - metric.p) * sum(metric.p**k for k, label in enumerate(top) if label >= metric.rel)


def err(metric, labels, highest):
    top = highest if metric.max_label is None else metric.max_label
    total, reached = 0.0, 1.0
    for rank, label in enumerate(labels[: metric.cutoff], 1):
        satisfied = (2.0**label - 1.0) / 2.0**top
        total += reached * satisfied / rank
        reached *= 1.0 - satisfied
    return total


def threshold_average_precision(metric, y, scores):
    """Sum precision times the step of recall over thresholds, as on a precision-recall curve."""
    relevant = [label >= metric.rel for label in y]
    total, seen = 0.0, 0
    for threshold in sorted(set(scores), reverse=True):
        within = [r for r, score in zip(relevant, scores, strict=True) if score >= threshold]
        if metric.cutoff is None or len(within) <= metric.cutoff:
            total += (sum(within) - seen) * sum(within) / len(within)
        seen = sum(within)
    k = metric.cutoff or len(y)
    return total / (min(sum(relevant), k) if metric.norm == "cutoff" else sum(relevant))


def auc(metric, y, scores):
    won = [
        (scores[i] > scores[j]) + 0.5 * (scores[i] == scores[j])
        for i in range(len(y))
        for j in range(len(y))
        if y[i] >= metric.rel > y[j]
    ]
    return sum(won) / len(won) if won else NOTHING


def sign(x):
    return int(x > 0) - int(x < 0)


def pair_signs(y, scores):
    return [(sign(y[i] - y[j]), sign(scores[i] - scores[j])) for i, j in combinations(range(len(y)), 2)]


def pairwise_error(metric, y, scores):
    comparable = [(a, b) for a, b in pair_signs(y, scores) if a]
    return sum(0.5 - 0.5 * a * b for a, b in comparable) / len(comparable) if comparable else NOTHING


def kendall(metric, y, scores):
    signs = pair_signs(y, scores)
    by_label, by_score = sum(a != 0 for a, _ in signs), sum(b != 0 for _, b in signs)
    if not by_label:
        return NOTHING
    return sum(a * b for a, b in signs) / sqrt(by_label * by_score) if by_score else 0.0


def mean_ranks(values):
    """Return ranks from 1, the mean of theirs for equal values."""
    return [sum(v < x for v in values) + (sum(v == x for v in values) + 1) / 2 for x in values]


def spearman(metric, y, scores):
    a, b = ([rank - (len(y) + 1) / 2 for rank in mean_ranks(values)] for values in (y, scores))
    by_label, by_score = sum(x * x for x in a), sum(x * x for x in b)
    if not by_label:
        return NOTHING
    return sum(x * z for x, z in zip(a, b, strict=True)) / sqrt(by_label * by_score) if by_score else 0.0


PAIRWISE = {"auc": auc, "pairwise_error": pairwise_error, "kendall": kendall, "spearman": spearman}
BY_RANK = {
    "ndcg": ndcg,
    "dcg": dcg,
    "mean_ndcg": mean_ndcg,
    "map": average_precision,
    "mrr": reciprocal_rank,
    "precision": precision,
    "recall": recall,
    "err": err,
    "hit": hit,
    "r_precision": r_precision,
    "rbp": rank_biased_precision,
}
#: The lowest value of the metrics that can be below 0.
LOWEST = {"kendall": -1.0, "spearman": -1.0}
