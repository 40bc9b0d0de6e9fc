"""Why one row stands above another: contributions of columns, weights in comparable units, importance."""

from marginrank.explanation.importance import FeatureWeights, PermutationImportance
from marginrank.explanation.results import PairExplanation, RowExplanations

__all__ = ["FeatureWeights", "PairExplanation", "PermutationImportance", "RowExplanations"]
