"""Rankers with scikit-learn's interface."""

from marginrank.estimators.auto import AutoRanker
from marginrank.estimators.kernel import KernelRankSVM
from marginrank.estimators.rank_rls import RankRLS
from marginrank.estimators.rank_svm import RankSVM
from marginrank.estimators.structured import StructuredRankSVM

__all__ = ["AutoRanker", "KernelRankSVM", "RankRLS", "RankSVM", "StructuredRankSVM"]
