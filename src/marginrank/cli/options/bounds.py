"""``--bound`` and ``--non-negative``: bounds of weights as they are typed, and as columns of the data."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import click

from marginrank.cli.command import Decorator, option
from marginrank.data import RankingData
from marginrank.exceptions import MarginRankError

Pair = tuple[float | None, float | None]


def _parsed(context: click.Context, parameter: click.Parameter, values: tuple[str, ...]) -> Any:
    """Return pairs by feature, from ``clicks=0:``, ``price=:0``, ``age=-1:1`` and ``bm25=1``."""
    pairs: dict[str, Pair] = {}
    for value in values:
        feature, equals, limits = value.rpartition("=")
        ends = limits.split(":")
        if not (feature and equals and limits.strip(":") and len(ends) <= 2):
            raise click.BadParameter(
                f"{value!r} is not like clicks=0: (at least), price=:0 (at most), bm25=1."
            )
        low, high = (_number(end) for end in (ends if len(ends) == 2 else [*ends, *ends]))
        if low is not None and high is not None and not low <= high:
            raise click.BadParameter(f"{value!r}: the lower bound must not exceed the upper one.")
        if feature in pairs:
            raise click.BadParameter(f"{feature!r} is bounded twice; write both ends as in {feature}=0:1.")
        pairs[feature] = (low, high)
    return pairs or None


def _number(text: str) -> float | None:
    if not text:
        return None
    try:
        return float(text)
    except ValueError:
        raise click.BadParameter(f"{text!r} is not a number.") from None


#: How sparse weights shall be, and within which bounds.
weight_options: tuple[Decorator, ...] = (
    option(
        "--l1-ratio",
        group="Model",
        type=click.FloatRange(0, 1, max_open=True),
        help="Share of L1 in the penalty, which leaves features out (not for kernel).  [default: 0]",
    ),
    option(
        "--bound",
        "bounds",
        group="Model",
        metavar="FEATURE=LOW:HIGH",
        multiple=True,
        callback=_parsed,
        help="Bounds of a weight, by name or number of the feature: clicks=0: or price=:0 or bm25=1; "
        "may be repeated.",
    ),
    option(
        "--non-negative",
        group="Model",
        is_flag=True,
        default=None,
        help="No weight is negative, but for those of --bound.",
    ),
)


@dataclass(frozen=True)
class TypedBounds:
    """Bounds as they were typed; which columns they are of is known once the data are."""

    pairs: dict[str, Pair]
    non_negative: bool = False

    def of(self, data: RankingData, first: int) -> dict[int | str, Pair]:
        """Return bounds by column; numbers of features count from ``first``, as in the file."""
        found: dict[int | str, Pair] = {}
        if self.non_negative:
            found = dict.fromkeys(range(data.n_features), (0.0, None))
        names = None if data.feature_names is None else {str(n): k for k, n in enumerate(data.feature_names)}
        for feature, pair in self.pairs.items():
            found[_column(feature, data.n_features, names, first)] = pair
        return found


def _column(feature: str, n_features: int, names: dict[str, int] | None, first: int) -> int | str:
    if names is not None and feature in names:
        return names[feature]
    if not feature.isdecimal():
        if names is not None:
            return feature  # refused by the library, which knows names that are near
        raise MarginRankError.saying(
            "{bounds} {feature!s} names a feature, but the data have numbers only; give its number.",
            feature=feature,
        )
    number = int(feature)
    if not first <= number < first + n_features:
        raise MarginRankError.saying(
            "{bounds} {number:d} must be a feature of the data, from {first:d} to {last:d}.",
            number=number,
            first=first,
            last=first + n_features - 1,
        )
    return number - first


def typed_bounds(parameters: dict[str, Any]) -> dict[str, Any]:
    """Return parameters in which ``--non-negative`` is a bound like others.

    Examples
    --------
    >>> typed_bounds({"non_negative": True, "alpha": 0.1})
    {'alpha': 0.1, 'bounds': (0, None)}
    """
    rest = {key: value for key, value in parameters.items() if key not in ("bounds", "non_negative")}
    pairs, non_negative = parameters.get("bounds"), bool(parameters.get("non_negative"))
    if pairs:
        return {**rest, "bounds": TypedBounds(pairs, non_negative)}
    return {**rest, "bounds": (0, None)} if non_negative else rest


def set_bounds(ranker: Any, data: RankingData, first: int) -> None:
    """Make columns of bounds that name features, now that the data are known."""
    bounds = getattr(ranker, "bounds", None)
    if isinstance(bounds, TypedBounds):
        ranker.bounds = bounds.of(data, first)


def names_features(ranker: Any) -> bool:
    """Whether bounds name features, so that all columns have to stay."""
    return isinstance(getattr(ranker, "bounds", None), TypedBounds)
