"""The area under the curve, over all grades."""

from __future__ import annotations

import numpy as np

from marginrank._kernels import StructuredAuc
from marginrank.data import TrainingView
from marginrank.data.validation import nothing_to_rank
from marginrank.losses.native import Kernel
from marginrank.losses.structured.base import SingleTarget, TargetOptions, query_factor
from marginrank.losses.structured.good_bad import without_cutoff
from marginrank.types import Vector


class AucLoss(SingleTarget):
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
        super().__init__(view, query_factor(view, counted), n_threads)

    def _compiled(self) -> Kernel:
        return StructuredAuc(self.y, self.query_ptr, self.factor, self.n_threads)

    def _row_curvature(self) -> Vector:
        # A row has about half of the other rows of its query for partners.
        return self._by_row(8.0 * self.factor / np.diff(self.query_ptr))
