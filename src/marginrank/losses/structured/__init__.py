"""Structured losses: the worst ranking of each query, weighing its metric against its score.

For a query with the ideal ranking ``y*`` and the feature map ``phi``,

    R_q(p) = max over rankings y of [ Delta(y) + p.(phi(y) - phi(y*)) ],

an upper bound of ``Delta`` at the ranking by scores. ``STRUCTURED_TARGETS`` maps target and feature map to
the loss; the maximum is exact for each of them. The risk is the mean over the queries in which there is
something to rank, weighted by ``query_weight``.
"""

from marginrank.losses.structured.auc import AucLoss
from marginrank.losses.structured.base import StructuredLoss, TargetOptions
from marginrank.losses.structured.combined import CombinedLoss
from marginrank.losses.structured.dorm import LARGEST_ASSIGNMENT, DormLoss
from marginrank.losses.structured.good_bad import MapLoss, MrrFirstLoss, MrrLoss, NdcgLoss
from marginrank.losses.structured.targets import DEFAULT_FEATURE_MAP, STRUCTURED_TARGETS, structured_loss

__all__ = [
    "DEFAULT_FEATURE_MAP",
    "LARGEST_ASSIGNMENT",
    "STRUCTURED_TARGETS",
    "AucLoss",
    "CombinedLoss",
    "DormLoss",
    "MapLoss",
    "MrrFirstLoss",
    "MrrLoss",
    "NdcgLoss",
    "StructuredLoss",
    "TargetOptions",
    "structured_loss",
]
