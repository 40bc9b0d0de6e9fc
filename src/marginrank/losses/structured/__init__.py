"""Structured losses: the worst ranking of each query, weighing its metric against its score.

For a query with the ideal ranking ``y*`` and the feature map ``phi``,

    R_q(p) = max over rankings y of [ Delta(y) + p.(phi(y) - phi(y*)) ],

an upper bound of ``Delta`` at the ranking by scores. ``STRUCTURED_TARGETS`` maps target and feature map to
the loss; the maximum is exact for each of them. The risk is the mean over the queries in which there is
something to rank, weighted by ``query_weight``. Where labels are grades, the risk of MAP and NDCG is a sum
over the thresholds between these (:mod:`marginrank.losses.structured.thresholds`).
"""

from marginrank.losses.structured.auc import AucLoss
from marginrank.losses.structured.base import StructuredLoss, TargetOptions, refuses_row_weights
from marginrank.losses.structured.bins import Bins, binning_bound, choose_bins
from marginrank.losses.structured.combined import CombinedLoss
from marginrank.losses.structured.dorm import LARGEST_ASSIGNMENT, DormLoss
from marginrank.losses.structured.good_bad import MapLoss, MrrFirstLoss, MrrLoss, NdcgLoss
from marginrank.losses.structured.graded import GradedMapLoss, GradedNdcgLoss
from marginrank.losses.structured.targets import (
    DEFAULT_FEATURE_MAP,
    GRADED_TARGETS,
    STRUCTURED_TARGETS,
    structured_loss,
)
from marginrank.losses.structured.thresholds import MOST_GRADES

__all__ = [
    "DEFAULT_FEATURE_MAP",
    "GRADED_TARGETS",
    "LARGEST_ASSIGNMENT",
    "MOST_GRADES",
    "STRUCTURED_TARGETS",
    "AucLoss",
    "Bins",
    "CombinedLoss",
    "DormLoss",
    "GradedMapLoss",
    "GradedNdcgLoss",
    "MapLoss",
    "MrrFirstLoss",
    "MrrLoss",
    "NdcgLoss",
    "StructuredLoss",
    "TargetOptions",
    "binning_bound",
    "choose_bins",
    "refuses_row_weights",
    "structured_loss",
]
