"""Choosing models: grids, folds of queries, validation curves, scorers and the rule that picks from them."""

from marginrank.model_selection.learning_curve import LearningCurve, learning_curve
from marginrank.model_selection.query_splits import QueryKFold, QueryShuffleSplit
from marginrank.model_selection.scorer import ranking_scorer
from marginrank.training.selection import (
    MOST_ALPHAS,
    Search,
    Selection,
    check_alphas,
    default_alphas,
)
from marginrank.training.selection import Rule as Rule

__all__ = [
    "MOST_ALPHAS",
    "LearningCurve",
    "QueryKFold",
    "QueryShuffleSplit",
    "Search",
    "Selection",
    "check_alphas",
    "default_alphas",
    "learning_curve",
    "ranking_scorer",
]
