"""A pipeline of scalers, perhaps a feature map, and a linear ranker as one model.

Each scaler is ``x -> multiplier * x + offset`` per column. After a map, or without one, scalers fold into the
coefficients, up to a constant; those before a map are kept as one scaling of the raw columns.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import MaxAbsScaler, MinMaxScaler, RobustScaler, StandardScaler
from sklearn.utils.validation import check_is_fitted

from marginrank.exceptions import MarginRankError
from marginrank.feature_maps import FEATURE_MAPS, FeatureMap
from marginrank.model.mapping import InputMapping, compose
from marginrank.types import Vector


class Affine(NamedTuple):
    """``x -> multiplier * x + offset``, column by column."""

    multiplier: Vector
    offset: Vector


class Folded(NamedTuple):
    """A pipeline taken apart.

    Its ranker; what the scalers do together before the map and after it (all of them, where there is none);
    the map; the names of all steps, and those of the columns.
    """

    ranker: Any
    before: Affine | None
    feature_map: FeatureMap | None
    scaling: Affine | None
    steps: list[str]
    feature_names: list[str] | None


def fold_pipeline(pipeline: Any) -> Folded:
    """Take a fitted pipeline of scalers, at most one map, and a ranker apart.

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
    before: Affine | None = None
    scaling: Affine | None = None
    feature_map = names = None
    for name, step in steps[:-1]:
        names = names if names is not None else getattr(step, "feature_names_in_", None)
        if type(step) in FEATURE_MAPS.values():
            _check_one_map(name, feature_map)
            before, scaling, feature_map = scaling, None, step
            continue
        part = _affine(name, step)
        if scaling is not None:
            part = Affine(
                part.multiplier * scaling.multiplier, part.multiplier * scaling.offset + part.offset
            )
        scaling = part
    return Folded(
        ranker=steps[-1][1],
        before=before,
        feature_map=feature_map,
        scaling=scaling,
        steps=[type(step).__name__ for _, step in steps[:-1]],
        feature_names=None if names is None else [str(name) for name in names],
    )


def folded_arguments(folded: Folded, own: dict[str, Any], mapping: InputMapping | None) -> dict[str, Any]:
    """Return the arguments of the model of a whole pipeline, from those of its ranker and its mapping."""
    arguments: dict[str, Any] = {
        **own,
        "feature_names": folded.feature_names or own["feature_names"],
        "metadata": {**own["metadata"], "folded": folded.steps},
    }
    if mapping is not None:
        if folded.feature_map is not None:
            _check_one_map("the ranker", folded.feature_map)
        trained = None if mapping.multiplier is None else (mapping.multiplier, mapping.offset)
        if mapping.linear_coef is not None:
            multiplier, offset = folded.scaling or (1.0, None)
            arguments["linear_coef"] = mapping.linear_coef * multiplier
            if offset is not None:
                arguments["intercept"] = own["intercept"] + float(mapping.linear_coef @ offset)
        return {
            **arguments,
            "feature_map": mapping.feature_map,
            "input_scaling": compose(folded.scaling, trained),
        }
    if folded.scaling is not None:
        multiplier, offset = folded.scaling
        trained_scale = 1.0 if own["column_scale"] is None else own["column_scale"]
        arguments["coef"] = own["coef"] * multiplier
        arguments["intercept"] = own["intercept"] + float(own["coef"] @ offset)
        arguments["column_scale"] = trained_scale / np.abs(multiplier)
    return {**arguments, "feature_map": folded.feature_map, "input_scaling": folded.before}


def _check_one_map(name: str, found: FeatureMap | None) -> None:
    if found is not None:
        raise MarginRankError(
            f"The pipeline has a second feature map, {name!r}, after a {type(found).__name__}; a model holds "
            "one."
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
