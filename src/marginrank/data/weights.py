"""Weights of any size: only their ratios count, so very large and very small ones are scaled.

Losses multiply weights with each other and with the features, so weights of 1e155 overflow and weights of
1e-160 vanish, though every mean is the same as with weights of 1. Scaling by a power of two changes no bit of
what comes out.
"""

from __future__ import annotations

from typing import overload

import numpy as np

from marginrank.exceptions import MarginRankError
from marginrank.types import Vector

#: The largest weight may be so many times the smallest one that is not 0. A pair weighs a product of three
#: weights, so 200 bits each leave room for sums, for their inverses and for the features.
LARGEST_RATIO = 2.0**200
_MODERATE = 2.0**64


def check_ratio(weight: Vector, name: str, unit: str) -> None:
    """Refuse weights whose products could not be distinguished from 0.

    Examples
    --------
    >>> check_ratio(np.array([0.0, 1e-300, 1.0]), "sample_weight", "row")
    Traceback (most recent call last):
        ...
    marginrank.exceptions.MarginRankError: sample_weight goes from 1e-300 (row 1) to 1 (row 2), a ratio \
beyond 1.6e+60; give rows that shall not count the weight 0.
    """
    largest = int(np.argmax(weight))
    smallest = int(np.argmin(np.where(weight > 0.0, weight, np.inf)))
    if weight[smallest] < weight[largest] / LARGEST_RATIO:
        units = {"query": "queries"}.get(unit, f"{unit}s")
        raise MarginRankError.naming(
            name,
            f"goes from {weight[smallest]:g} ({unit} {smallest}) to {weight[largest]:g} ({unit} "
            f"{largest}), a ratio beyond {LARGEST_RATIO:.1e}; give {units} that shall not count the "
            "weight 0.",
        )


@overload
def moderate(weight: Vector) -> Vector: ...
@overload
def moderate(weight: None) -> None: ...
def moderate(weight: Vector | None) -> Vector | None:
    """Return weights with the same ratios whose largest is neither huge nor tiny; ordinary ones as they are.

    Examples
    --------
    >>> moderate(np.array([2.0**1000, 2.0**999])).tolist()
    [1.0, 0.5]
    >>> moderate(np.array([3.0, 1.0])).tolist()
    [3.0, 1.0]
    """
    if weight is None:
        return None
    largest = float(weight.max(initial=0.0))
    if largest == 0.0 or 1.0 / _MODERATE <= largest <= _MODERATE:
        return weight
    # An even power: least squares take the roots of weights, and these keep their bits, too.
    scaled: Vector = np.ldexp(weight, -2 * (int(np.frexp(largest)[1]) // 2))
    return scaled
