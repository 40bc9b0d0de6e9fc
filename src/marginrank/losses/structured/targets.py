"""The structured targets by name."""

from __future__ import annotations

from typing import Protocol

from marginrank.data import TrainingView
from marginrank.exceptions import MarginRankError, shown
from marginrank.losses.structured.auc import AucLoss
from marginrank.losses.structured.base import StructuredLoss, TargetOptions
from marginrank.losses.structured.dorm import DormLoss
from marginrank.losses.structured.good_bad import MapLoss, MrrFirstLoss, MrrLoss, NdcgLoss
from marginrank.losses.structured.graded import GradedMapLoss, GradedNdcgLoss


class TargetLoss(Protocol):
    """How a loss is built from data and options."""

    def __call__(self, view: TrainingView, options: TargetOptions, *, n_threads: int) -> StructuredLoss:
        """Return the loss."""


#: Losses by target and feature map; the contract tests run over them.
STRUCTURED_TARGETS: dict[tuple[str, str], TargetLoss] = {
    ("auc", "po"): AucLoss,
    ("map", "po"): MapLoss,
    ("ndcg", "po"): NdcgLoss,
    ("ndcg", "dorm"): DormLoss,
    ("mrr", "po"): MrrLoss,
    ("mrr", "mrr"): MrrFirstLoss,
}
#: Those of them that have another form where labels are grades; the others compare grades anyway, or cannot.
GRADED_TARGETS: dict[tuple[str, str], TargetLoss] = {
    ("map", "po"): GradedMapLoss,
    ("ndcg", "po"): GradedNdcgLoss,
}
DEFAULT_FEATURE_MAP = "po"


def structured_loss(
    view: TrainingView,
    target: str,
    feature_map: str = DEFAULT_FEATURE_MAP,
    options: TargetOptions | None = None,
    *,
    n_threads: int = 1,
) -> StructuredLoss:
    """Build the loss of a target.

    Parameters
    ----------
    view : TrainingView
        Labels, weights and query offsets.
    target : {"auc", "map", "ndcg", "mrr"}
        The metric whose loss is bounded.
    feature_map : {"po", "mrr", "dorm"}
        Averaged differences; for ``mrr`` also the first good row against those above it; for ``ndcg`` also
        rows weighted by rank.
    options : TargetOptions, optional
        Cut-off, relevance or grades, gains, discount.
    n_threads : int, default=1
        Threads to use; the result does not depend on it.

    Returns
    -------
    StructuredLoss
        The risk as a function of the scores.

    Examples
    --------
    >>> import numpy as np
    >>> from marginrank.data.labels import LabelledQueries
    >>> from marginrank.losses.structured import structured_loss
    >>> loss = structured_loss(LabelledQueries.of([0, 0, 1]).training_view(), "map")
    >>> round(loss.at(np.array([0.2, 0.0, 0.1])).value, 3)
    0.667
    >>> graded = structured_loss(
    ...     LabelledQueries.of([0, 2, 1]).training_view(), "ndcg", options=TargetOptions(graded=True)
    ... )
    >>> round(graded.at(np.array([0.0, 0.2, 0.1])).value, 3)
    0.151
    """
    maps = [known for name, known in STRUCTURED_TARGETS if name == target]
    if not maps:
        known = ", ".join(dict.fromkeys(name for name, _ in STRUCTURED_TARGETS))
        raise MarginRankError(f"Unknown structured target {target!r}; known are {known}.")
    if feature_map not in maps:
        raise MarginRankError(
            f"The target {target!r} has the feature maps {', '.join(maps)}; got {shown(feature_map)}."
        )
    options = options or TargetOptions()
    losses = STRUCTURED_TARGETS | GRADED_TARGETS if options.graded else STRUCTURED_TARGETS
    return losses[target, feature_map](view.here(), options, n_threads=n_threads)
