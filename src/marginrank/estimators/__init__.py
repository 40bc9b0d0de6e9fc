"""scikit-learn estimators."""

from marginrank.estimators.rank_svm import RankSVM

__all__ = ["RankSVM"]
