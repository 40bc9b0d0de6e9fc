"""When to stop going down to smaller alphas: by what validation says, and why a search ended, in words."""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import NDArray

from marginrank.training.paired_parts import PairedParts, error_of_difference, mean_and_error
from marginrank.training.selection import Search
from marginrank.types import Vector

SearchEnd = Literal["grid", "worse", "no better", "passes", "smallest", "interrupted"]

#: Why a search over alphas went no further.
SEARCH_ENDS: dict[SearchEnd, str] = {
    "grid": "every alpha of the grid was measured",
    "worse": "smaller alphas were worse",
    "no better": "no alpha of the three decades below the best was better",
    "passes": "cut, because smaller alphas take too many passes",
    "smallest": "the default grid has no smaller alpha",
    "interrupted": "interrupted",
}

# A default grid always goes down this far below the alpha at which regularisation and risk balance: above it
# curves have local optima, and searches that trusted these were up to 0.09 behind.
_LEAST_DESCENT = 100.0
# Without a new best over this factor, the search is over. By NDCG on small validation sets curves have a
# second peak that far below the first; two decades miss it, and save a tenth of the passes.
_WITHOUT_BEST = 1000.0
_ROUNDED = 1.0 - 1e-2  # alphas of grids have three digits
# Neighbouring alphas that must both be worse than the best by more than one standard error.
_WORSE_IN_A_ROW = 2


def best_so_far(search: Search, curve: Vector) -> int:
    """Return the number of the first alpha, descending, that none is better than by what counts.

    Examples
    --------
    >>> best_so_far(Search(resolution=0.01), np.array([0.30, 0.200, 0.199, 0.25]))
    1
    """
    signed = -curve if search.parsed.higher_is_better else curve
    lowest = float(np.nanmin(signed))
    return int(np.flatnonzero(signed <= lowest + search.resolution * abs(lowest))[0])


def is_far_down(alpha: float, balance: float) -> bool:
    """Whether an alpha is so far below the balance that a search may end there.

    Examples
    --------
    >>> is_far_down(1e-3, balance=1.0), is_far_down(0.1, balance=1.0)
    (True, False)
    """
    return bool(alpha * _LEAST_DESCENT * _ROUNDED <= balance)


def told_worse(search: Search, parts: PairedParts, best: int) -> NDArray[np.bool_]:
    """Return which alphas are worse than the best one by more than the standard error of the difference.

    Examples
    --------
    >>> errors = np.array([[0.3, 0.2, 0.3], [0.4, 0.2, 0.1], [0.3, 0.4, 0.5]])
    >>> told_worse(Search(), PairedParts(errors), 1).tolist()
    [False, False, False]
    >>> told_worse(Search(), PairedParts(errors[[0, 2, 0, 2]]), 1).tolist()
    [False, False, True]
    """
    if parts.n_counted < 2:
        return np.zeros(parts.values.shape[1], dtype=bool)
    curve = mean_and_error(parts)[0]
    behind = (-1.0 if search.parsed.higher_is_better else 1.0) * (curve - curve[best])
    return np.asarray(behind > error_of_difference(parts, best))


def validation_ends(
    search: Search, balance: float, alphas: Vector, parts: PairedParts
) -> Literal["worse", "no better"] | None:
    """Return why validation says that smaller alphas will not pay; None where they may.

    Parameters
    ----------
    search : Search
        What is measured, and what counts as equal.
    balance : float
        The alpha at which regularisation and risk balance.
    alphas : ndarray of shape (n_alphas,)
        Those that were measured, descending.
    parts : PairedParts
        What their figures are means of: the queries of all folds, or of the validation set.

    Examples
    --------
    >>> alphas = np.array([1.0, 0.1, 0.01, 0.001])
    >>> errors = np.array([[0.3, 0.2, 0.3, 0.31], [0.4, 0.2, 0.31, 0.33], [0.5, 0.4, 0.52, 0.51]])
    >>> validation_ends(Search(), 0.1, alphas, PairedParts(errors))
    'worse'
    >>> validation_ends(Search(), 1e-3, alphas, PairedParts(errors)) is None  # not far enough down
    True
    """
    curve = mean_and_error(parts)[0]
    if not is_far_down(float(alphas[-1]), balance) or not np.isfinite(curve).all():
        return None
    best = best_so_far(search, curve)
    if len(alphas) - 1 - best >= _WORSE_IN_A_ROW and told_worse(search, parts, best)[-_WORSE_IN_A_ROW:].all():
        return "worse"
    return "no better" if alphas[best] >= _WITHOUT_BEST * _ROUNDED * alphas[-1] else None
