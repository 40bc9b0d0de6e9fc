"""Losses: risks of the scores.

``QUERY_LOSSES`` and ``PREFERENCE_LOSSES`` map the names that estimators accept to the loss over labelled
queries and over explicit pairs. The contract tests run over both. The least-squares losses stand apart: their
pairs are all pairs, tied ones too, and none is ever satisfied.
"""

from marginrank.losses.base import ComparesPairs, Loss, ScorePoint
from marginrank.losses.least_squares import LeastSquaresLoss, LeastSquaresPreferences
from marginrank.losses.logistic import LogisticLoss, LogisticPreferences
from marginrank.losses.native import LARGEST_QUADRATIC
from marginrank.losses.pairwise import HingeLoss, PairwiseLoss, SquaredHingeLoss, Weighting
from marginrank.losses.preferences import HingePreferences, PreferenceLoss, SquaredHingePreferences

QUERY_LOSSES: dict[str, type[PairwiseLoss]] = {
    "hinge": HingeLoss,
    "squared_hinge": SquaredHingeLoss,
    "logistic": LogisticLoss,
}
PREFERENCE_LOSSES: dict[str, type[PreferenceLoss]] = {
    "hinge": HingePreferences,
    "squared_hinge": SquaredHingePreferences,
    "logistic": LogisticPreferences,
}

__all__ = [
    "LARGEST_QUADRATIC",
    "PREFERENCE_LOSSES",
    "QUERY_LOSSES",
    "ComparesPairs",
    "HingeLoss",
    "HingePreferences",
    "LeastSquaresLoss",
    "LeastSquaresPreferences",
    "LogisticLoss",
    "LogisticPreferences",
    "Loss",
    "PairwiseLoss",
    "PreferenceLoss",
    "ScorePoint",
    "SquaredHingeLoss",
    "SquaredHingePreferences",
    "Weighting",
]
