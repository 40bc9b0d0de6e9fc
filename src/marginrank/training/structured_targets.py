"""What a structured ranker is trained for: the targets that a user named, as losses and as metrics."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from marginrank.data import TrainingView
from marginrank.exceptions import MarginRankError, shown
from marginrank.losses.structured import (
    DEFAULT_FEATURE_MAP,
    STRUCTURED_TARGETS,
    CombinedLoss,
    StructuredLoss,
    TargetOptions,
    structured_loss,
)
from marginrank.metrics import Metric, parse_metric
from marginrank.parameters import check_choice, check_flag, check_number, check_positive
from marginrank.types import Vector

FEATURE_MAPS = tuple(dict.fromkeys(known for _, known in STRUCTURED_TARGETS))
_NAMES = tuple(dict.fromkeys(name for name, _ in STRUCTURED_TARGETS))


@dataclass(frozen=True)
class Target:
    """One of the metrics that are trained for, and its weight; None where it stands alone."""

    name: str
    cutoff: int | None
    weight: float | None = None

    def metric(self, options: TargetOptions) -> Metric:
        """Return what tells on further data how well the target was met.

        AUC is trained on all grades, query by query, which is what the pairwise error over queries
        measures; NDCG keeps its graded gains. Equal scores count as their mean over all orders: a large alpha
        makes all of them zero, and where files are sorted by label the order of the file would make that the
        best model.
        """
        if self.name == "auc":
            return Metric("pairwise_error", weighting="queries")
        if self.name == "ndcg":
            return Metric("ndcg", cutoff=self.cutoff, discount=options.discount, ties="average")
        return Metric(self.name, cutoff=self.cutoff, rel=options.relevance, ties="average")


@dataclass(frozen=True)
class Aim:
    """All targets together, with the conventions of the training; builds the loss.

    Parameters
    ----------
    targets : tuple of Target
        At least one.
    feature_map : str
        For those of the targets that have it; the others have the default one.
    options : TargetOptions
        Relevance, discount and rank weight; the cut-offs are those of the targets.
    truncate : bool
        Train with the cut-offs, too.
    """

    targets: tuple[Target, ...]
    feature_map: str
    options: TargetOptions
    truncate: bool

    @property
    def metrics(self) -> list[Metric]:
        """What to measure, the metric of the heaviest target first."""
        heaviest_first = sorted(self.targets, key=lambda target: -(target.weight or 0.0))
        return [target.metric(self.options) for target in heaviest_first]

    def loss(self, view: TrainingView, n_threads: int) -> StructuredLoss:
        """Return the risk of the training rows."""
        parts = [(target.weight, self._part(view, target, n_threads)) for target in self.targets]
        weighted = [(weight, loss) for weight, loss in parts if weight is not None]
        return CombinedLoss(view, weighted, n_threads=n_threads) if weighted else parts[0][1]

    def _part(self, view: TrainingView, target: Target, n_threads: int) -> StructuredLoss:
        has_it = (target.name, self.feature_map) in STRUCTURED_TARGETS
        feature_map = self.feature_map if has_it else DEFAULT_FEATURE_MAP
        options = replace(self.options, cutoff=target.cutoff if self.truncate else None)
        return structured_loss(view, target.name, feature_map, options, n_threads=n_threads)


def read_aim(target: Any, feature_map: Any, options: TargetOptions, truncate: Any) -> Aim:
    """Return what the parameters of an estimator ask for, checked.

    Parameters
    ----------
    target : str, Metric, or a mapping from these to weights
        As a user wrote it.
    feature_map : {"po", "mrr", "dorm"}
        At least one of the targets must have it.
    options : TargetOptions
        Without a cut-off.
    truncate : bool
        Whether the cut-offs are for training, too.

    Examples
    --------
    >>> aim = read_aim({"map": 1.0, "ndcg@10": 2.0}, "po", TargetOptions(), False)
    >>> [str(metric) for metric in aim.metrics]
    ['ndcg(ties=average)@10', 'map(ties=average)']
    """
    check_choice("feature_map", feature_map, FEATURE_MAPS)
    check_choice("discount", options.discount, ("log2", "letor"))
    check_choice("rank_weight", options.rank_weight, ("fourth_root", "discount"))
    check_number(options.relevance, "relevance")
    truncate = check_flag(truncate, "truncate")
    if isinstance(target, Mapping):
        if not target:
            raise MarginRankError("target must name at least one metric, such as {'map': 1.0}; got none.")
        targets = tuple(_weighted(name, weight) for name, weight in target.items())
    else:
        targets = (_target(target),)
    if not any((one.name, feature_map) in STRUCTURED_TARGETS for one in targets):
        having = " or ".join(repr(name) for name, known in STRUCTURED_TARGETS if known == feature_map)
        raise MarginRankError(f"feature_map={feature_map!r} is for the target {having}; got {shown(target)}.")
    if truncate and all(one.cutoff is None for one in targets):
        raise MarginRankError(
            f"truncate=True needs a target with a cut-off, as 'ndcg@10'; got {shown(target)}."
        )
    return Aim(targets, feature_map, options, truncate)


def lowest_good_label(y: Vector) -> float:
    """Return where good labels begin if nobody said so.

    That is 1 where it separates any, as it does for labels that start from 0, and else the second lowest
    label: people also write -1 and 0.5, or 1 and 2.

    Examples
    --------
    >>> import numpy as np
    >>> lowest_good_label(np.array([0.0, 2.0, 1.0])), lowest_good_label(np.array([1.0, 2.0, 3.0]))
    (1.0, 2.0)
    """
    if y.min() < 1.0 <= y.max():
        return 1.0
    above = y[y > y.min()]
    return float(above.min()) if len(above) else 1.0


def _weighted(name: Any, weight: Any) -> Target:
    target = _target(name)
    return replace(
        target, weight=check_positive(weight, f"The weight of {name!r} in target", "a positive number")
    )


def _target(written: Any) -> Target:
    try:
        metric = parse_metric(written)
    except MarginRankError:
        metric = None
    if metric is None or metric.name not in _NAMES:
        raise MarginRankError(
            f"target must be one of {', '.join(_NAMES)}, with a cut-off to evaluate at if you like (as in "
            f"'ndcg@10'), or a dict of these with weights; got {shown(written)}."
        )
    if metric != Metric(metric.name, cutoff=metric.cutoff):
        raise MarginRankError(
            f"target is a name with or without a cut-off; got {shown(written)}. Give the parameters "
            "relevance and discount instead of options in the name, and metric for other conventions of "
            "evaluation."
        )
    return Target(metric.name, metric.cutoff)
