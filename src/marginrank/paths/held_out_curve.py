"""A held-out figure by number of features, and how sure one may be of it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from marginrank.training.forward_selection import Parts
from marginrank.training.paired_parts import PairedParts, error_of_difference, mean_and_error
from marginrank.types import Vector

# Of the standard error of a difference: how much worse the careful rule takes for as good.
_SHARE_OF_ERROR = 0.5


class HeldOutCurve(NamedTuple):
    """A figure of held-out rows by number of features, with its standard errors.

    Parameters
    ----------
    values : ndarray of shape (n_features,)
        The mean with one feature, with two, and so on.
    std : ndarray of shape (n_features,)
        Its standard error over queries, or over rows where pairs of them are held out.
    diff_std : ndarray of shape (n_features,)
        The standard error of the difference to the best number of features, over the same; 0 there.
    best : int
        The best number of features.
    smallest : int
        The smallest number that is worse by at most half of the standard error of the difference.

    Examples
    --------
    >>> import numpy as np
    >>> curve = HeldOutCurve(np.array([0.5, 0.3]), np.zeros(2), np.zeros(2), best=2, smallest=2)
    >>> curve.values[curve.best - 1].item()
    0.3
    """

    values: Vector
    std: Vector
    diff_std: Vector
    best: int
    smallest: int


def held_out_curve(parts: Sequence[Parts], *, higher_is_better: bool) -> HeldOutCurve:
    """Return the curve of what its means are made of, one entry for each number of features."""
    paired = PairedParts(np.array([part.values for part in parts]).T, parts[0].weight)
    values, std = mean_and_error(paired)
    worse = -values if higher_is_better else values
    best = int(np.argmin(worse)) if np.isfinite(worse).all() else 0
    diff_std = parts[0].repeated * error_of_difference(paired, best)
    room = np.where(np.isfinite(diff_std), _SHARE_OF_ERROR * diff_std, 0.0)
    smallest = int(np.argmax(worse <= worse[best] + room))
    return HeldOutCurve(values, parts[0].repeated * std, diff_std, best + 1, smallest + 1)
