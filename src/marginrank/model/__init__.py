"""The fitted artefact: what a trained ranker leaves behind to score, to save and to load."""

from marginrank.model.columns import align_width, model_matrix, unknown_columns
from marginrank.model.ranking_model import RankingModel

__all__ = ["RankingModel", "align_width", "model_matrix", "unknown_columns"]
