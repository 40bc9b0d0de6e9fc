"""What is done at the same time, again and again, or while Python ends; each returns its result as bytes."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from marginrank import KernelRankSVM, RankingModel, RankRLS, RankSVM, StructuredRankSVM
from marginrank.metrics import evaluate

RNG = np.random.default_rng(0)
X = RNG.standard_normal((1200, 8))
QID = np.repeat(np.arange(200), 6)
Y = RNG.integers(3, size=1200).astype(float)


def small_queries() -> bytes:
    """Train on many small queries: the fused pass."""
    return RankSVM(alpha=0.1, tol=0.1, n_jobs=2).fit(X, Y, qid=QID).coef_.tobytes()


def one_ranking() -> bytes:
    """Train on one global ranking: sorting, prefix sets, all threads in one query."""
    return RankSVM(alpha=0.1, tol=0.1, n_jobs=2).fit(X, Y).coef_.tobytes()


def hinge() -> bytes:
    """Train with the hinge: planes and their quadratic programme."""
    return RankSVM("hinge", alpha=0.1, tol=0.1, n_jobs=2).fit(X[:300], Y[:300], qid=QID[:300]).coef_.tobytes()


def least_squares() -> bytes:
    """Train RankRLS: BLAS in threads of ours."""
    return RankRLS(alpha=0.1, n_jobs=2).fit(X, Y, qid=QID).coef_.tobytes()


def structured() -> bytes:
    """Train for NDCG: loss-augmented inference."""
    ranker = StructuredRankSVM("ndcg", alpha=0.1, tol=0.2, n_jobs=2)
    return ranker.fit(X[:300], Y[:300], qid=QID[:300]).coef_.tobytes()


def kernel() -> bytes:
    """Train with a kernel map: eigenvectors by LAPACK, products by BLAS."""
    ranker = KernelRankSVM(gamma=0.1, alpha=0.1, tol=0.2, n_components=20, random_state=0, n_jobs=2)
    return ranker.fit(X[:300], Y[:300], qid=QID[:300]).predict(X[:50]).tobytes()


@lru_cache
def model() -> RankingModel:
    """Return a model to score with."""
    return RankSVM(alpha=0.1).fit(X, Y, qid=QID).to_model()


def predicted() -> bytes:
    """Score rows."""
    return model().predict(X[:100]).tobytes()


def judged() -> bytes:
    """Compute metrics."""
    found = evaluate(Y, X[:, 0], qid=QID, metrics=["ndcg@3", "map"])
    return np.array([found[name] for name in found]).tobytes()


#: What is done, by name.
WORK = {
    work.__name__: work
    for work in (small_queries, one_ranking, hinge, least_squares, structured, kernel, predicted, judged)
}


def results(first: int = 0) -> dict[str, bytes]:
    """Do everything, beginning somewhere, so that several at once do different things."""
    names = list(WORK)
    return {name: WORK[name]() for name in names[first % len(names) :] + names[: first % len(names)]}
