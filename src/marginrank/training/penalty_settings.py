"""What users say about weights: how sparse they shall be, and within which bounds, in raw units."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from marginrank.designs import ColumnTransform
from marginrank.exceptions import MarginRankError, ParameterError, did_you_mean, shown
from marginrank.parameters import as_list, finite_number, whole_number
from marginrank.solvers.penalties import SQUARED_NORM, ElasticNet, Penalty
from marginrank.types import Array, Vector

_PAIR = "a pair (lowest, highest) for all weights, or one by name or column number; None is no limit"


@dataclass(frozen=True, eq=False)
class PenaltySettings:
    """The penalty of a ranker, before the units of its columns are known.

    Parameters
    ----------
    l1_ratio : float, default=0.0
        Share of the absolute values in the elastic net.
    low, high : float or ndarray of shape (n_features,)
        Bounds of the weights, in raw units.

    Examples
    --------
    >>> settings = PenaltySettings(0.5, low=0.0)
    >>> settings.penalty(ColumnTransform(scale=np.array([2.0, 1.0])))
    ElasticNet(l1_ratio=0.5, low=array([0., 0.]), high=array([inf, inf]))
    >>> settings.within(np.array([-1e-17, 2.0])).tolist()
    [0.0, 2.0]
    """

    l1_ratio: float = 0.0
    low: Vector | float = -np.inf
    high: Vector | float = np.inf

    @property
    def is_bounded(self) -> bool:
        """Whether any weight has a bound."""
        return bool(np.any(np.isfinite(self.low)) or np.any(np.isfinite(self.high)))

    @property
    def is_plain(self) -> bool:
        """Whether the penalty is the squared norm."""
        return self.l1_ratio == 0.0 and not self.is_bounded

    def penalty(self, transform: ColumnTransform) -> Penalty:
        """Return the penalty in the units of a transform: of L1 those, of bounds made from raw ones."""
        if self.is_plain:
            return SQUARED_NORM
        if transform.scale is None:
            return ElasticNet(self.l1_ratio, self.low, self.high)
        return ElasticNet(self.l1_ratio, self.low * transform.scale, self.high * transform.scale)

    def within(self, coef: Array) -> Array:
        """Return weights in raw units, with what the division by scales rounded beyond a bound cut off."""
        return np.clip(coef, self.low, self.high) if self.is_bounded else coef


#: The squared norm, and nothing else.
PLAIN = PenaltySettings()


def check_l1_ratio(l1_ratio: Any) -> float:
    """Return the share of L1.

    Examples
    --------
    >>> check_l1_ratio(0.9)
    0.9
    """
    number = finite_number(l1_ratio)
    if number is None or not 0.0 <= number < 1.0:
        raise ParameterError("l1_ratio", "at least 0 and below 1 (0.99 is nearly all L1)", l1_ratio)
    return number


def read_penalty(l1_ratio: Any, bounds: Any, n_features: int, names: Sequence[str] | None) -> PenaltySettings:
    """Return what a user said about the weights of so many features.

    Parameters
    ----------
    l1_ratio : float
        As users pass it.
    bounds : None, pair or mapping
        ``(lowest, highest)`` for all weights, or such pairs by name or column number.
    n_features : int
        Number of columns.
    names : sequence of str, optional
        Their names.

    Examples
    --------
    >>> found = read_penalty(0.0, {"clicks": (0, None)}, 2, ["bm25", "clicks"])
    >>> found.low.tolist(), found.high.tolist()
    ([-inf, 0.0], [inf, inf])
    """
    share = check_l1_ratio(l1_ratio)
    if bounds is None:
        return PenaltySettings(share)
    if isinstance(bounds, Mapping):
        low, high = np.full(n_features, -np.inf), np.full(n_features, np.inf)
        for key, pair in bounds.items():
            column = _column(key, n_features, names)
            low[column], high[column] = _pair(pair, bounds, f" of {key!r}")
        found = PenaltySettings(share, low, high)
    else:
        found = PenaltySettings(share, *_pair(bounds, bounds))
    if np.all(np.broadcast_to(np.equal(found.low, found.high), n_features)):
        raise MarginRankError.saying(
            "{bounds} fix every weight, so there is nothing to learn.", "Leave one of them free at least."
        )
    return found


def written_penalty(l1_ratio: Any, bounds: Any) -> dict[str, Any]:
    """Return what a user said about weights as a model file holds it; nothing where that is nothing.

    Examples
    --------
    >>> written_penalty(0.5, {0: (0, None)}), written_penalty(0.0, None)
    ({'l1_ratio': 0.5, 'bounds': {'0': [0.0, None]}}, {})
    """
    written: dict[str, Any] = {} if float(l1_ratio) == 0.0 else {"l1_ratio": float(l1_ratio)}
    if isinstance(bounds, Mapping):
        written["bounds"] = {str(key): _written_pair(pair) for key, pair in bounds.items()}
    elif bounds is not None:
        written["bounds"] = _written_pair(bounds)
    return written


def _written_pair(pair: Any) -> list[float | None]:
    ends = [None if end is None else float(end) for end in pair]
    return [None if end is None or np.isinf(end) else end for end in ends]


def _pair(pair: Any, bounds: Any, whose: str = "") -> tuple[float, float]:
    ends = as_list(pair)
    if ends is None or len(ends) != 2:
        raise ParameterError("bounds", _PAIR, bounds)
    low, high = (_end(end, default, bounds) for end, default in zip(ends, (-np.inf, np.inf), strict=True))
    if not low <= high or low == np.inf or high == -np.inf:
        raise MarginRankError.saying(
            "The lower one of the {bounds}{whose!s} must not exceed the upper one; got {low!s} and {high!s}.",
            whose=whose,
            low=f"{low:g}",
            high=f"{high:g}",
        )
    return low, high


def _end(end: Any, default: float, bounds: Any) -> float:
    if end is None:
        return default
    if isinstance(end, float) and np.isinf(end):
        return float(end)
    number = finite_number(end)
    if number is None:
        raise ParameterError("bounds", _PAIR, bounds)
    return number


def _column(key: Any, n_features: int, names: Sequence[str] | None) -> int:
    number = whole_number(key)
    if number is not None:
        if not 0 <= number < n_features:
            raise MarginRankError.saying(
                "{bounds} must name columns from 0 to {last:d}; got {number:d}.",
                last=n_features - 1,
                number=number,
            )
        return number
    if not isinstance(key, str):
        raise MarginRankError.saying(
            "{bounds} must name features, or number columns from 0; got {key!s}.", key=shown(key)
        )
    if names is None:
        raise MarginRankError.saying(
            "{bounds} name the feature {key!r}, but the columns have no names.",
            "Number them from 0, or pass a data frame.",
            key=key,
        )
    listed = [str(name) for name in names]
    if key not in listed:
        raise MarginRankError.saying(
            "{bounds} name {key!r}, which is no feature.{hint!s}", key=key, hint=did_you_mean(key, listed)
        )
    return listed.index(key)
