"""Data as users have them: validated once, rows grouped by query."""

from marginrank.data.labels import TrainingView
from marginrank.data.preference_pairs import TrainingPairs
from marginrank.data.ranking_data import RankingData, check_data

__all__ = ["RankingData", "TrainingPairs", "TrainingView", "check_data"]
