"""What a structured ranker is trained for: the targets that a user named, as losses and as metrics."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np

from marginrank.data import RankingData, TrainingView
from marginrank.exceptions import MarginRankError, shown
from marginrank.losses.structured import (
    DEFAULT_FEATURE_MAP,
    GRADED_TARGETS,
    MOST_GRADES,
    STRUCTURED_TARGETS,
    CombinedLoss,
    StructuredLoss,
    TargetOptions,
    binning_bound,
    choose_bins,
    structured_loss,
)
from marginrank.losses.structured.discounts import discount_table
from marginrank.metrics import Metric, parse_metric
from marginrank.parameters import check_choice, check_flag, check_positive
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
        measures; NDCG keeps its graded gains, and MAP has a threshold at every label where it is trained so.
        Equal scores count as their mean over all orders: a large alpha makes all of them zero, and where
        files are sorted by label the order of the file would make that the best model.
        """
        if self.name == "auc":
            return Metric("pairwise_error", weighting="queries")
        if self.name == "ndcg":
            return Metric(
                "ndcg", cutoff=self.cutoff, gain=options.gain, discount=options.discount, ties="average"
            )
        rel: float | Literal["all"] = options.relevance
        if self.name == "map" and options.graded:
            rel = "all"
        return Metric(self.name, cutoff=self.cutoff, rel=rel, ties="average")


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
        options = replace(self.options, cutoff=target.cutoff if self.truncate else None)
        return structured_loss(view, *self._key(target), options, n_threads=n_threads)

    def _key(self, target: Target) -> tuple[str, str]:
        """Return the target and the feature map that it is trained under."""
        key = (target.name, self.feature_map)
        return key if key in STRUCTURED_TARGETS else (target.name, DEFAULT_FEATURE_MAP)

    def for_labels(self, data: RankingData, relevance: float | None) -> LabelledAim:
        """Decide once, by all training rows, what their labels mean.

        Parameters
        ----------
        data : RankingData
            The training rows.
        relevance : float or None
            The lowest good label, where a user named one; None takes labels as grades if there are more than
            two of them.
        """
        keys = [self._key(target) for target in self.targets]
        splits = any(key in GRADED_TARGETS or key[0] == "mrr" for key in keys)
        if relevance is not None or data.y is None:
            good = self.options.relevance if relevance is None else relevance
            aim = replace(self, options=replace(self.options, relevance=good, graded=False))
            return LabelledAim(aim, good, np.array([good]) if splits else None)
        y = np.asarray(data.y)
        levels, good = np.unique(y), lowest_good_label(y)
        if len(levels) <= 2 or all(target.name == "mrr" for target in self.targets):
            aim = replace(self, options=replace(self.options, relevance=good, graded=False))
            return LabelledAim(aim, good, np.array([good]) if splits else None)
        aim = replace(self, options=replace(self.options, relevance=good, graded=True))
        if not any(key in GRADED_TARGETS for key in keys):
            return LabelledAim(aim, None, np.array([good]) if splits else None)
        if len(levels) <= MOST_GRADES:
            return LabelledAim(aim, None, levels[1:])
        return aim._binned(data.training_view().here())

    def _binned(self, view: TrainingView) -> LabelledAim:
        weights = {"ndcg": 0.0, "map": 0.0}
        for target in self.targets:
            if self._key(target) in GRADED_TARGETS:
                weights[target.name] += 1.0 if target.weight is None else target.weight
        # Average precision asks for no gains, which some labels do not have.
        gain = self.options.gains(view.y) if weights["ndcg"] else np.zeros(len(view.y))
        discount = discount_table(self.options.discount, int(np.diff(view.query_ptr).max()))
        bins = choose_bins(view, gain, discount, ndcg=weights["ndcg"], map=weights["map"])
        bound = binning_bound(view, gain, bins.gains_of(view.y), discount)
        aim = replace(self, options=replace(self.options, bins=bins))
        return LabelledAim(aim, None, np.array(bins.thresholds), bound)


@dataclass(frozen=True, eq=False)
class LabelledAim:
    """An aim that knows what labels mean.

    Parameters
    ----------
    aim : Aim
        With the options that follow from the labels.
    relevance : float or None
        The lowest good label; None where labels are grades.
    thresholds : ndarray or None
        The lowest label of each grade but the first, or the lowest good label; None where no target splits
        rows into good and bad ones.
    binning_bound : float, default=0
        By how much one minus NDCG may be off because labels are binned, at most: the mean over queries, for
        any ranking.
    """

    aim: Aim
    relevance: float | None
    thresholds: Vector | None
    binning_bound: float = 0.0


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
