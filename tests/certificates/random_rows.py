"""Small ranking data by seed: mild ones as users have them, and hard ones at the limits of arithmetic.

Mild data have columns of about the same size and an alpha of 1e-3 to 1. Hard data have some of: offsets up to
1e15, the same for all rows or for the rows of a query; columns from 1e-8 to 1e8; alphas from 1e-10 to 1e6.
Both have ties, weights (zeros, too), duplicate rows and columns, sparse matrices that store entries twice,
float32, single pairs, many tiny queries and one global ranking.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse


@dataclass
class Rows:
    """Features, labels and queries; weights where there are any."""

    X: Any
    y: np.ndarray
    qid: np.ndarray | None
    sample_weight: np.ndarray | None = None
    query_weight: np.ndarray | None = None

    @property
    def n_trained(self):
        """How many rows weigh something."""
        weight = np.ones(len(self.y)) if self.sample_weight is None else self.sample_weight.copy()
        if self.query_weight is not None:
            ids = dict.fromkeys(self.qid.tolist())
            by_id = dict(zip(ids, self.query_weight.tolist(), strict=True))
            weight *= [by_id[one] for one in self.qid.tolist()]
        return int(np.count_nonzero(weight))

    @property
    def given(self):
        """What ``fit`` takes beside X and y, as far as it is there."""
        names = ("qid", "sample_weight", "query_weight")
        return {name: getattr(self, name) for name in names if getattr(self, name) is not None}


#: Sizes of the queries; None is one ranking of all rows.
SHAPES = (
    ("ordinary", lambda rng, most: [int(n) for n in rng.integers(2, most + 1, rng.integers(2, 6))]),
    ("tiny queries", lambda rng, most: [2] * int(rng.integers(6, 13))),
    ("single pair", lambda rng, most: [2]),
    ("few rows", lambda rng, most: [3]),
    ("alone in a query", lambda rng, most: [1, min(4, most), 1, 3]),
    ("global", None),
)
_SHAPE_SHARES = (0.5, 0.12, 0.08, 0.06, 0.06, 0.18)


def draw_rows(rng, *, hard, sample_weights=True, largest=6, graded=True, offsets=True, sparse_too=True):
    """Return random rows in which there is something to rank."""
    name, sizes_of = SHAPES[rng.choice(len(SHAPES), p=_SHAPE_SHARES)]
    sizes = (
        [int(rng.integers(4, largest + 4 if sample_weights else largest + 1))]
        if sizes_of is None
        else (sizes_of(rng, largest))
    )
    n, d = sum(sizes), int(rng.integers(1, 6))
    qid = None if name == "global" else np.repeat(np.arange(len(sizes)), sizes)
    X = _features(rng, n, d)
    y = _labels(rng, X, sizes, graded)
    if hard:
        X = _made_hard(rng, X, qid, offsets)
    if qid is not None and rng.random() < 0.3:  # ids in any order
        order = rng.permutation(n)
        X, y, qid = X[order], y[order], qid[order]
    weights = _weights(rng, y, qid, len(sizes), sample_weights)
    return Rows(_stored(rng, X, sparse_too), y, qid, *weights)


def draw_alpha(rng, *, hard):
    """Return an alpha that suits columns of unit size, or any."""
    low, high = (-10, 6) if hard and rng.random() < 0.7 else (-3, 0)
    return float(10.0 ** rng.uniform(low, high))


def _features(rng, n, d):
    X = rng.normal(size=(n, d)) if rng.random() < 0.7 else rng.integers(-3, 4, (n, d)).astype(np.float64)
    if n > 3 and rng.random() < 0.3:
        X[rng.integers(n)] = X[rng.integers(n)]
    if d > 1 and rng.random() < 0.3:
        X[:, 0] = X[:, -1]
    return X


def _labels(rng, X, sizes, graded):
    """Return labels with ties that the features explain in part; one query at least has two of them."""
    n = len(X)
    latent = X @ rng.normal(size=X.shape[1]) + rng.uniform(0.1, 2.0) * rng.normal(size=n)
    levels = int(rng.integers(2, 5)) if graded else 2
    y = np.digitize(latent, np.quantile(latent, np.arange(1, levels) / levels)).astype(np.float64)
    largest = int(np.argmax(sizes))
    start = sum(sizes[:largest])
    y[start], y[start + 1] = 0.0, levels - 1.0
    return y


def _made_hard(rng, X, qid, offsets):
    X = X.copy()
    d = X.shape[1]
    if rng.random() < 0.6:
        X *= 10.0 ** rng.uniform(-8, 8, d)
    if offsets and rng.random() < 0.6:
        for j in np.flatnonzero(rng.random(d) < 0.6):
            offset = 10.0 ** rng.uniform(3, 15)
            X[:, j] += offset
            if qid is not None and rng.random() < 0.5:
                X[:, j] += qid * 10.0 ** rng.uniform(0, 12)
        if rng.random() < 0.4:  # constant within queries: it ranks nothing
            X[:, rng.integers(d)] = 10.0 ** rng.uniform(3, 15) + (0.0 if qid is None else qid)
    return X


def _weights(rng, y, qid, n_queries, sample_weights):
    n = len(y)
    sample_weight = query_weight = None
    if sample_weights and rng.random() < 0.35:
        sample_weight = rng.integers(0, 4, n).astype(float) if rng.random() < 0.5 else rng.lognormal(size=n)
        lowest, highest = int(np.argmin(y)), int(np.argmax(y))
        if qid is None:
            sample_weight[[lowest, highest]] = 1.0
        else:
            sample_weight[_two_labels(y, qid)] = 1.0
    if qid is not None and rng.random() < 0.35:
        query_weight = rng.lognormal(size=n_queries)
        ids = list(dict.fromkeys(qid.tolist()))
        if n_queries > 1 and rng.random() < 0.5:
            kept = ids.index(qid[_two_labels(y, qid)[0]])
            query_weight[(kept + 1) % n_queries] = 0.0
    return sample_weight, query_weight


def _two_labels(y, qid):
    """Return two rows of one query with different labels."""
    i, j = np.nonzero((qid[:, None] == qid) & (y[:, None] < y))
    return [int(i[0]), int(j[0])]


def _stored(rng, X, sparse_too):
    """Return the matrix dense, in float32, or as CSR in which entries may be stored twice."""
    draw = rng.random()
    if draw < 0.15:
        return X.astype(np.float32)
    if draw < 0.8 or not sparse_too:
        return X
    X = np.where(rng.random(X.shape) < 0.3, 0.0, X)
    matrix = sparse.csr_matrix(X)
    if rng.random() < 0.5:
        return matrix
    # Each entry becomes two that add up to it exactly.
    indptr = 2 * matrix.indptr
    data = np.column_stack([2.0 * matrix.data, -matrix.data])
    data[::2] = 0.5 * matrix.data[::2, None]
    return sparse.csr_matrix((data.ravel(), np.repeat(matrix.indices, 2), indptr), shape=X.shape)
