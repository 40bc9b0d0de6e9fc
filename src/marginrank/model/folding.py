"""A pipeline of scalers and a linear ranker as one linear model.

Each scaler is ``x -> multiplier * x + offset`` per column, so the scores of the pipeline are linear in the
raw features, up to a constant.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import MaxAbsScaler, MinMaxScaler, RobustScaler, StandardScaler
from sklearn.utils.validation import check_is_fitted

from marginrank.exceptions import MarginRankError
from marginrank.validation import Vector


class Affine(NamedTuple):
    """``x -> multiplier * x + offset``, column by column."""

    multiplier: Vector
    offset: Vector


class Folded(NamedTuple):
    """A pipeline taken apart: its ranker, what the scalers do together, their names, the columns' names."""

    ranker: Any
    scaling: Affine | None
    scalers: list[str]
    feature_names: list[str] | None


def fold_pipeline(pipeline: Any) -> Folded:
    """Take a fitted pipeline of scalers and a ranker apart.

    Examples
    --------
    >>> from sklearn.pipeline import make_pipeline
    >>> from marginrank import RankSVM
    >>> pipeline = make_pipeline(MaxAbsScaler(), RankSVM()).fit([[2.0, 1.0], [4.0, 0.0]], [0, 1])
    >>> fold_pipeline(pipeline).scaling.multiplier.tolist()
    [0.25, 1.0]
    """
    steps = list(_flat(pipeline))
    if not steps or not hasattr(steps[-1][1], "to_model"):
        raise MarginRankError(
            f"The last step of the pipeline must be a linear ranker, such as RankSVM; got {_say(steps)}."
        )
    scaling: Affine | None = None
    names = None
    for name, step in steps[:-1]:
        part = _affine(name, step)
        if scaling is not None:
            part = Affine(
                part.multiplier * scaling.multiplier, part.multiplier * scaling.offset + part.offset
            )
        scaling = part
        names = names if names is not None else getattr(step, "feature_names_in_", None)
    return Folded(
        ranker=steps[-1][1],
        scaling=scaling,
        scalers=[type(step).__name__ for _, step in steps[:-1]],
        feature_names=None if names is None else [str(name) for name in names],
    )


def _flat(pipeline: Any) -> Iterator[tuple[str, Any]]:
    """Go through the steps, those of pipelines within included, without the ones that do nothing."""
    for name, step in pipeline.steps:
        if isinstance(step, Pipeline):
            yield from _flat(step)
        elif step is not None and step != "passthrough":
            yield name, step


def _affine(name: str, step: Any) -> Affine:
    # Not isinstance: a subclass may transform as it likes.
    find = _SCALERS.get(type(step))
    if find is None:
        known = ", ".join(kind.__name__ for kind in _SCALERS)
        raise MarginRankError(
            f"Step {name!r} of the pipeline is a {type(step).__name__}, which cannot be folded into a linear "
            f"model; these can: {known}."
        )
    if getattr(step, "clip", False):
        raise MarginRankError(
            f"Step {name!r} of the pipeline clips (clip=True), which cannot be folded into a linear model; "
            "train with clip=False."
        )
    check_is_fitted(step)
    return find(step)


def _centred(step: Any, centre: Any) -> Affine:
    """``(x - centre) / scale``, where either may be None."""
    n_features = step.n_features_in_
    multiplier = np.ones(n_features) if step.scale_ is None else 1.0 / np.asarray(step.scale_, np.float64)
    offset = np.zeros(n_features) if centre is None else -np.asarray(centre, np.float64) * multiplier
    return Affine(multiplier, offset)


_SCALERS: dict[type, Callable[[Any], Affine]] = {
    StandardScaler: lambda step: _centred(step, step.mean_ if step.with_mean else None),
    MinMaxScaler: lambda step: Affine(np.asarray(step.scale_, float), np.asarray(step.min_, float)),
    MaxAbsScaler: lambda step: _centred(step, None),
    RobustScaler: lambda step: _centred(step, step.center_),
}


def _say(steps: list[tuple[str, Any]]) -> str:
    return "no step at all" if not steps else f"{steps[-1][0]!r}, a {type(steps[-1][1]).__name__}"
