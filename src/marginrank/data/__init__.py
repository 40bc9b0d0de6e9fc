"""Data as users have them: validated once, rows grouped by query."""

from marginrank.data.checking import check_data
from marginrank.data.labels import TrainingView
from marginrank.data.preference_pairs import TrainingPairs
from marginrank.data.ranking_data import RankingData

__all__ = ["RankingData", "TrainingPairs", "TrainingView", "check_data"]
