"""The area under the curve, over all grades."""

from __future__ import annotations

import numpy as np

from marginrank.data import TrainingView
from marginrank.data.validation import nothing_to_rank
from marginrank.losses.recipes import QueryRecipe, structured_auc
from marginrank.losses.structured.base import StructuredLoss, TargetOptions, by_row, query_scale
from marginrank.losses.structured.good_bad import without_cutoff


class AucLoss(StructuredLoss):
    """Share of the pairs of different label that are in wrong order, under averaged differences.

    It is the mean over queries of the pairwise hinge at twice the scores, so it has the minimiser of
    ``RankSVM(weighting="queries", alpha=alpha / 4)`` with its coefficients halved.

    Parameters
    ----------
    view : TrainingView
        Labels, weights and query offsets, in the order of the scores.
    options : TargetOptions
        Without a cut-off.
    n_threads : int
        Threads to use; the result does not depend on it.

    Notes
    -----
    An evaluation costs O(m log m) for m rows.
    """

    name = "auc"
    feature_map = "po"

    def __init__(self, view: TrainingView, options: TargetOptions, *, n_threads: int) -> None:
        without_cutoff(self.name, options)
        starts = view.query_ptr[:-1]
        counted = np.minimum.reduceat(view.y, starts) < np.maximum.reduceat(view.y, starts)
        if not counted.any():
            raise nothing_to_rank(len(counted))
        scale = query_scale(view, counted)
        recipe = QueryRecipe(structured_auc, view.y, None, view.query_ptr, scale)
        # A row has about half of the other rows of its query for partners.
        curvature = by_row(view, 8.0 * scale / np.diff(view.query_ptr))
        super().__init__(recipe, curvature, view, n_threads)
