"""Every loss of the library by its definition, in fractions: from rows, labels and weights to an exact risk.

Floats are taken as the rational numbers that they are. The tables of NDCG's discount and of DORM's rank
weights are data of the loss, as labels are: the library's own floats, taken exactly. A separate test compares
them with logarithms of many digits.
"""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations, pairwise, permutations

import numpy as np
from exact_objectives import Block, BlockRisk, PairTerm, Plane, combination, hinge_risk, pair_risk

from marginrank.losses.structured.discounts import discount_table


def rational(values):
    return [Fraction(float(value)) for value in values]


def rational_rows(X):
    """Return the rows of a dense or sparse matrix; entries that are stored twice count as their sum."""
    if isinstance(X, np.ndarray):
        return [tuple(rational(row)) for row in X]
    rows = []
    for first, last in zip(X.indptr[:-1], X.indptr[1:], strict=True):
        row = [Fraction(0)] * X.shape[1]
        for j, value in zip(X.indices[first:last], X.data[first:last], strict=True):
            row[j] += Fraction(float(value))
        rows.append(tuple(row))
    return rows


def rational_product(B, F):
    """Return the rows of the product of two float matrices."""
    columns = rational_rows(F)
    return [tuple(combination(row, columns, F.shape[1])) for row in rational_rows(B)]


class Queries:
    """Rows by query, with weights; what weighs nothing is left out, as the library says it is."""

    def __init__(self, y, qid=None, sample_weight=None, query_weight=None):
        n = len(y)
        self.y = rational(y)
        self.weight = [Fraction(1)] * n if sample_weight is None else rational(sample_weight)
        qid = [0] * n if qid is None else list(qid)
        ids = list(dict.fromkeys(qid))
        of_query = [Fraction(1)] * len(ids) if query_weight is None else rational(query_weight)
        self.queries = [
            ([i for i in range(n) if qid[i] == one and self.weight[i]], v)
            for one, v in zip(ids, of_query, strict=True)
            if v
        ]

    def compared(self, rows):
        """Return winner, loser and weight of the comparable pairs of a query."""
        return [(i, j, self.weight[i] * self.weight[j]) for i in rows for j in rows if self.y[i] > self.y[j]]


def difference(a, b):
    return tuple(x - y for x, y in zip(a, b, strict=True))


def query_terms(rows, queries, weighting):
    """Return the terms of pairwise losses: a mean over pairs, or over queries of each query's own mean."""
    terms = []
    for members, v in queries.queries:
        pairs = queries.compared(members)
        total = sum((weight for *_, weight in pairs), Fraction(0))
        for i, j, weight in pairs:
            share = v * weight if weighting == "pairs" else v * weight / total
            terms.append(PairTerm(share, None, difference(rows[i], rows[j])))
    return _as_mean(terms)


def explicit_terms(rows, pairs, weight=None, margin=None):
    """Return the terms of preferences that are given as pairs of row numbers, winner first."""
    weights = [Fraction(1)] * len(pairs) if weight is None else rational(weight)
    margins = [None] * len(pairs) if margin is None else rational(np.broadcast_to(margin, len(pairs)))
    return _as_mean(
        PairTerm(w, m, difference(rows[i], rows[j]))
        for (i, j), w, m in zip(pairs, weights, margins, strict=True)
    )


def _as_mean(terms):
    terms = list(terms)
    total = sum((term.coefficient for term in terms), Fraction(0))
    return [term._replace(coefficient=term.coefficient / total) for term in terms]


def least_squares_terms(rows, queries):
    """Return RankRLS as pairs, all of a query: squares about the mean are squares of differences.

    ``sum_i s_i (e_i - mean e)^2 = sum_{i<j} s_i s_j (e_i - e_j)^2 / sum_i s_i`` for weights ``s``.
    """
    terms, mass = [], Fraction(0)
    for members, v in queries.queries:
        total = sum((queries.weight[i] for i in members), Fraction(0))
        mass += v * total
        for i, j in combinations(members, 2):
            share = v * queries.weight[i] * queries.weight[j] / total
            margin = queries.y[i] - queries.y[j]
            terms.append(PairTerm(share, margin, difference(rows[i], rows[j])))
    return [term._replace(coefficient=term.coefficient / mass) for term in terms]


def query_risk(loss, rows, queries, weighting="pairs"):
    """Return the exact risk of a loss over labelled rows, by the name that estimators take."""
    n_columns = len(rows[0])
    if loss == "least_squares":
        return pair_risk(loss, least_squares_terms(rows, queries), n_columns)
    return pair_risk(loss, query_terms(rows, queries, weighting), n_columns)


def structured_risk(rows, queries, targets, *, feature_map, relevance, discount, rank_weight, gain=None):
    """Return the weighted sum of structured losses over every ranking of each query.

    ``targets`` are name, cut-off or None, and weight of each. Queries in which a target has nothing to rank
    are left out of its mean. With ``gain``, from labels to fractions, MAP and NDCG are graded: ``relevance``
    is for MRR only.
    """
    n_columns = len(rows[0])
    blocks = []
    for name, cutoff, share in targets:
        chosen = feature_map if (name, feature_map) in (("mrr", "mrr"), ("ndcg", "dorm")) else "po"
        if gain is not None and chosen == "po" and name in ("map", "ndcg"):
            grade = gain if name == "ndcg" else (lambda label: label)
            blocks += _graded_blocks(rows, queries, name, cutoff, share, discount, grade)
            continue
        counted = [
            (members, v)
            for members, v in queries.queries
            if _ranks_anything(name, chosen, [queries.y[i] for i in members], relevance)
        ]
        total = sum((v for _, v in counted), Fraction(0))
        for members, v in counted:
            labels = [queries.y[i] for i in members]
            features = [rows[i] for i in members]
            weight = Fraction(share) * v / total
            if name == "auc":
                blocks += _auc_blocks(labels, features, weight, n_columns)
                continue
            table = discount_table(discount, len(members))
            ranks = table if rank_weight == "discount" else np.arange(1.0, len(members) + 1.0) ** -0.25
            rankings = _Rankings(labels, relevance, rational(table), rational(ranks), cutoff)
            blocks.append(rankings.block(name, chosen, weight, features, n_columns))
    return BlockRisk(tuple(blocks), n_columns)


def _graded_blocks(rows, queries, name, cutoff, share, discount, grade):
    """Return a block for each query and threshold, of weight ``v_q omega_qt / sum v``."""
    counted = [
        (members, v) for members, v in queries.queries if len({grade(queries.y[i]) for i in members}) > 1
    ]
    total = sum((v for _, v in counted), Fraction(0))
    blocks = []
    for members, v in counted:
        labels = [queries.y[i] for i in members]
        levels = sorted(set(labels))
        table = rational(discount_table(discount, len(members)))
        counts = [d if cutoff is None or k < cutoff else Fraction(0) for k, d in enumerate(table)]
        ideal = sum(grade(y) * d for y, d in zip(sorted(labels, reverse=True), counts, strict=True))
        for before, here in pairwise(levels):
            n_good = sum(label >= here for label in labels)
            if name == "map":
                omega = Fraction(1, len(levels) - 1)
            else:
                omega = (grade(here) - grade(before)) * sum(counts[:n_good]) / ideal
            if omega:
                rankings = _Rankings(labels, here, table, table, cutoff)
                features = [rows[i] for i in members]
                weight = Fraction(share) * v / total * omega
                blocks.append(rankings.block(name, "po", weight, features, len(rows[0])))
    return blocks


def exact_gain(gain):
    """Return the gain of a label, a fraction: ``2**label - 1`` of whole labels, the label, or a table's."""
    if gain == "linear":
        return lambda label: label
    if gain == "exponential":
        return lambda label: Fraction(2) ** int(label) - 1
    table = {Fraction(label): Fraction(value) for label, value in gain.to_dict().items()}
    return lambda label: table[label]


def _ranks_anything(name, feature_map, labels, relevance):
    graded = name == "auc" or feature_map == "dorm"
    return len(set(labels if graded else [label >= relevance for label in labels])) > 1


def _auc_blocks(labels, features, weight, n_columns):
    """Return a block for each pair, which is ordered on its own: ``max(0, 1/n + 2/n (p_low - p_high))``."""
    pairs = [(i, j) for i in range(len(labels)) for j in range(len(labels)) if labels[i] > labels[j]]
    terms = [
        PairTerm(weight / len(pairs), Fraction(1), tuple(2 * d for d in difference(features[i], features[j])))
        for i, j in pairs
    ]
    return hinge_risk(terms, n_columns).blocks


class _Rankings:
    """Delta and ``phi(y) - phi(y*)`` of the rankings of a query; ``rank[i]`` is that of row i, from 0."""

    def __init__(self, labels, relevance, discount, rank_weight, cutoff):
        self.n = len(labels)
        self.good = [label >= relevance for label in labels]
        self.cutoff = self.n if cutoff is None else cutoff
        self.discount = [d if k < self.cutoff else Fraction(0) for k, d in enumerate(discount)]
        self.rank_weight = rank_weight
        self.labels = labels
        self._ideal_mean = None

    def block(self, name, feature_map, weight, features, n_columns):
        """Return the maximum over all rankings, as a function of the coefficients."""
        planes = {
            Plane(self.delta(name, feature_map, rank), tuple(combination(psi, features, n_columns)))
            for rank in permutations(range(self.n))
            for psi in [self.psi(feature_map, rank)]
        }
        return Block(weight, tuple(sorted(planes)))

    def delta(self, name, feature_map, rank):
        first = min((r for r, good in zip(rank, self.good, strict=True) if good), default=self.n)
        if name == "mrr":
            return 1 - Fraction(1, first + 1) if first < self.cutoff else Fraction(1)
        if name == "map":
            at = sorted(r for r, good in zip(rank, self.good, strict=True) if good)
            return 1 - sum(Fraction(k + 1, r + 1) for k, r in enumerate(at)) / len(at)
        if feature_map == "dorm":
            gain = [Fraction(2) ** int(label) - 1 for label in self.labels]
        else:
            gain = [Fraction(int(good)) for good in self.good]
        ideal = sum(g * d for g, d in zip(sorted(gain, reverse=True), self.discount, strict=True))
        return 1 - sum(g * self.discount[r] for g, r in zip(gain, rank, strict=True)) / ideal

    def psi(self, feature_map, rank):
        if feature_map == "dorm":
            return [self.rank_weight[r] - m for r, m in zip(rank, self._ideal(), strict=True)]
        psi = [Fraction(0)] * self.n
        n_good = sum(self.good)
        if feature_map == "mrr":
            first = min(range(self.n), key=lambda i: rank[i] if self.good[i] else self.n)
            above = [i for i in range(self.n) if rank[i] < rank[first]]
            pairs, scale = [(first, bad) for bad in above], Fraction(1)
        else:
            indices = range(self.n)
            pairs = [
                (g, b)
                for g in indices
                for b in indices
                if self.good[g] and not self.good[b] and rank[b] < rank[g]
            ]
            scale = Fraction(2, n_good * (self.n - n_good))
        for good, bad in pairs:
            psi[bad] += scale
            psi[good] -= scale
        return psi

    def _ideal(self):
        """Return the mean weight of each row over all ideal rankings."""
        if self._ideal_mean is None:
            mean = []
            for label in self.labels:
                start = sum(other > label for other in self.labels)
                tied = sum(other == label for other in self.labels)
                mean.append(sum(self.rank_weight[start : start + tied]) / tied)
            self._ideal_mean = mean
        return self._ideal_mean


def factored_kernel(K):
    """Return ``L`` and ``D`` with ``K = L diag(D) L'`` exactly, or None where K is not positive semidefinite.

    Scores ``K c`` are then ``L u`` with ``u = D L' c``, and ``c' K c`` is the sum of ``u_j^2 / D_j``: a
    linear ranker with a penalty for each column. Columns with ``D_j = 0`` are left out.
    """
    rest = [list(row) for row in rational_rows(np.asarray(K))]
    n = len(rest)
    columns, pivots = [], []
    for k in range(n):
        pivot = rest[k][k]
        if pivot < 0 or (pivot == 0 and any(rest[i][k] for i in range(k, n))):
            return None
        if pivot == 0:
            continue
        column = [Fraction(0)] * k + [rest[i][k] / pivot for i in range(k, n)]
        for i in range(k, n):
            for j in range(k, n):
                rest[i][j] -= column[i] * column[j] * pivot
        columns.append(column)
        pivots.append(pivot)
    return [tuple(column[i] for column in columns) for i in range(n)], tuple(pivots)
