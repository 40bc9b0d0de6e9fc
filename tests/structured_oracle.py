"""Structured losses by their definition, over every ranking of a small query: the oracle of all inference."""

from dataclasses import replace
from functools import cache
from itertools import pairwise, permutations, product

import numpy as np


@cache
def all_ranks(n):
    """Return one row for each ranking of n documents: the rank of each document, from 0."""
    ranks = np.array(list(permutations(range(n))), dtype=np.int64)
    ranks.flags.writeable = False
    return ranks


def discount(name, n, cutoff=None):
    rank = np.arange(1, n + 1)
    table = 1 / np.log2(1 + rank) if name == "log2" else np.where(rank <= 2, 1.0, 1 / np.log2(rank.clip(2)))
    return table if cutoff is None else np.where(rank <= cutoff, table, 0.0)


def averaged_differences(ranks, good):
    """Return psi(y) = 2/(PN) sum of (bad - good) over pairs with the bad one above, one row per ranking."""
    wrong = good[None, :, None] & ~good[None, None, :] & (ranks[:, None, :] < ranks[:, :, None])
    scale = 2 / (good.sum() * (~good).sum())
    return scale * (wrong.sum(axis=1) - wrong.sum(axis=2))


def first_against_above(ranks, good):
    """Return psi(y) = sum over the bad documents above the first good one of (bad - good)."""
    first = np.where(good, ranks, ranks.shape[1]).argmin(axis=1)
    first_rank = ranks[np.arange(len(ranks)), first]
    psi = np.where(~good & (ranks < first_rank[:, None]), 1.0, 0.0)
    psi[np.arange(len(ranks)), first] = -first_rank
    return psi


def map_delta(ranks, good):
    at = np.sort(ranks[:, good], axis=1) + 1
    return 1 - np.mean(np.arange(1, at.shape[1] + 1) / at, axis=1)


def mrr_delta(ranks, good, cutoff):
    first = np.where(good, ranks, ranks.shape[1]).min(axis=1) + 1
    delta = 1 - 1 / first
    return delta if cutoff is None else np.where(first <= cutoff, delta, 1.0)


def ndcg_delta(ranks, gain, table):
    return 1 - (gain * table[ranks]).sum(axis=1) / (np.sort(gain)[::-1] * table).sum()


def dorm_psi(ranks, gain, weight):
    """Return c(rank) minus its mean over all ideal rankings."""
    ordered = np.argsort(ranks, axis=1)
    ideal = np.all(np.diff(gain[ordered], axis=1) <= 0, axis=1)
    return weight[ranks] - weight[ranks[ideal]].mean(axis=0)


def pair_orders(y):
    """Return Delta and psi for every way to order the pairs of different label, one by one."""
    low, high = np.nonzero(y[:, None] < y[None, :])
    choices = np.array(list(product([0, 1], repeat=len(low))), dtype=np.float64)
    psi = np.zeros((len(choices), len(y)))
    for k, (i, j) in enumerate(zip(low, high, strict=True)):
        psi[:, i] += 2 * choices[:, k] / len(low)
        psi[:, j] -= 2 * choices[:, k] / len(low)
    return choices.mean(axis=1), psi


def planes(target, feature_map, y, options):
    """Return Delta and phi(y) - phi(y*) for all rankings of a query: R(s) is the maximum of Delta + psi.s."""
    y = np.asarray(y, dtype=np.float64)
    n = len(y)
    ranks, good = all_ranks(n), y >= options.relevance
    if target == "auc":
        # With more than two grades pairs may be ordered in a circle, so rankings alone are not enough.
        return pair_orders(y)
    if feature_map == "dorm":
        table = discount(options.discount, n, options.cutoff)
        weight = discount(options.discount, n)
        if options.rank_weight == "fourth_root":
            weight = np.arange(1.0, n + 1) ** -0.25
        gain = 2.0**y - 1
        return ndcg_delta(ranks, gain, table), dorm_psi(ranks, gain, weight)
    psi = first_against_above(ranks, good) if feature_map == "mrr" else averaged_differences(ranks, good)
    if target == "map":
        return map_delta(ranks, good), psi
    if target == "mrr":
        return mrr_delta(ranks, good, options.cutoff), psi
    return ndcg_delta(ranks, good.astype(float), discount(options.discount, n, options.cutoff)), psi


def gain_of(options, y):
    """Return the gain of each label."""
    if options.gain == "linear":
        return y
    if options.gain == "exponential":
        return 2.0**y - 1
    return np.array([options.gain.to_dict()[label] for label in y])


def is_graded(target, feature_map, options):
    return options.graded and feature_map == "po" and target in ("map", "ndcg")


def terms(target, feature_map, y, options, levels=None):
    """Return weight, Delta and psi of each maximum that a query costs: one, or one for each threshold.

    ``levels`` are the labels at which thresholds lie, ascending; more than the query has change nothing.
    """
    y = np.asarray(y, dtype=np.float64)
    if not is_graded(target, feature_map, options):
        return [(1.0, *planes(target, feature_map, y, options))]
    levels = np.unique(y) if levels is None else np.asarray(levels, dtype=np.float64)
    if target == "map":
        splits = np.unique(y)[1:].tolist()
        return [(1 / len(splits), *planes(target, "po", y, replace(options, relevance=t))) for t in splits]
    table = discount(options.discount, len(y), options.cutoff)
    gain = gain_of(options, levels)
    ideal = (np.sort(gain_of(options, y))[::-1] * table).sum()
    found = []
    for before, here, t in zip(gain[:-1], gain[1:], levels[1:], strict=True):
        good = y >= t
        if good.all() or not good.any() or here == before:
            continue
        omega = (here - before) * table[: good.sum()].sum() / ideal
        found.append((omega, *planes(target, "po", y, replace(options, relevance=t))))
    return found


def query_risk(target, feature_map, y, options, scores, levels=None):
    """Return what a query costs: the worst ranking, of each term."""
    parts = terms(target, feature_map, y, options, levels)
    return sum(weight * np.max(delta + psi @ scores) for weight, delta, psi in parts)


def delta_by_scores(target, feature_map, y, options, scores):
    """Return Delta of the ranking by descending scores, which must differ from one another."""
    if target == "auc":
        low, high = np.nonzero(y[:, None] < y[None, :])
        return np.mean(scores[low] > scores[high])
    ranks = np.argsort(np.argsort(-scores))
    delta = sum(weight * delta for weight, delta, _ in terms(target, feature_map, y, options))
    return delta[np.flatnonzero((all_ranks(len(y)) == ranks).all(axis=1))[0]]


def ranks_anything(target, feature_map, y, options):
    """Whether a query counts: it has two labels, or good and bad rows."""
    if is_graded(target, feature_map, options):
        kinds = gain_of(options, y) if target == "ndcg" else y
    else:
        kinds = y if target == "auc" or feature_map == "dorm" else y >= options.relevance
    return len(np.unique(kinds)) > 1


def risk(target, feature_map, view, options, scores):
    """Return the weighted mean over the queries that count, by brute force."""
    total = weights = 0.0
    for q, (first, last) in enumerate(pairwise(view.query_ptr)):
        y = view.y[first:last]
        if not ranks_anything(target, feature_map, y, options):
            continue
        weight = 1.0 if view.query_weight is None else view.query_weight[q]
        levels = np.unique(view.y)
        total += weight * query_risk(target, feature_map, y, options, scores[first:last], levels)
        weights += weight
    return total / weights
