"""Primal and dual value of a kernel machine, with the rounding of their computation on the safe side.

Every score ``(K c)_i`` is right to ``n u sum_j |K_ij c_j|`` in whatever order it is added up, and
``|K_ij| <= sqrt(r_i r_j)`` for the largest entries r of the rows, so a product of that size is known without
a second look at the matrix. Where alpha is small, coefficients are large and cancel in every score, so these
sums are made with as many digits as the processor has: ``u`` is ``2**-64`` on most. Coefficients are sums of
dual variables over alpha times the total weight; what these sums round, and what weights of pairs were
rounded to before, enters relative to the sums of absolute values. All of it is for this matrix, which is
taken to be positive semidefinite, as it was checked to be.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from marginrank.paths.graphs import GraphPairs
from marginrank.rounding import UNIT, upward
from marginrank.types import Vector

# Roundings in sums over pairs, which numpy adds in halves, by the sum of weights that were computed alike.
_SUM = 80.0
_ENTRIES_AT_ONCE = 1 << 18


def row_roots(K: NDArray[np.float64]) -> Vector:
    """Return r with ``|K_ij| <= r_i r_j``, without a copy of the matrix.

    Examples
    --------
    >>> row_roots(np.array([[4.0, -1.0], [-1.0, 9.0]])).round(6).tolist()
    [2.0, 3.0]
    """
    roots: Vector = np.sqrt(np.maximum(K.max(axis=1), -K.min(axis=1))) * (1.0 + 4.0 * UNIT)
    return roots


def machine_coefficients(pairs: GraphPairs, beta: Vector, n_rows: int) -> tuple[Vector, Vector]:
    """Return sum and sum of absolute values of the dual variables of each row: of pairs won minus lost."""
    won: Vector = np.asarray(np.bincount(pairs.winner, beta, minlength=n_rows), dtype=np.float64)
    lost: Vector = np.asarray(np.bincount(pairs.loser, beta, minlength=n_rows), dtype=np.float64)
    return won - lost, won + lost


def _long_product(K: NDArray[np.float64], coef: Vector) -> NDArray[np.longdouble]:
    """Return ``K coef`` in the longest numbers that there are, a few rows at a time."""
    wide = coef.astype(np.longdouble)
    step = max(1, _ENTRIES_AT_ONCE // len(K))
    return np.concatenate([K[k : k + step].astype(np.longdouble) @ wide for k in range(0, len(K), step)])


def certified_values(
    K: NDArray[np.float64], roots: Vector, pairs: GraphPairs, beta: Vector, alpha: float
) -> tuple[float, float]:
    """Return what the objective of the machine of these duals is at most, and the optimum at least.

    Parameters
    ----------
    K : ndarray of shape (n_rows, n_rows)
        The kernel matrix.
    roots : ndarray of shape (n_rows,)
        See :func:`row_roots`.
    pairs : GraphPairs
        Pairs with weights and margins.
    beta : ndarray of shape (n_pairs,)
        Dual variables, between 0 and the weights.
    alpha : float
        Strength of the regularisation.

    Returns
    -------
    upper, lower : float
        ``0 <= lower <= upper``.

    Examples
    --------
    >>> pairs = GraphPairs(np.array([0]), np.array([1]), np.ones(1), np.ones(1))
    >>> upper, lower = certified_values(np.eye(2), np.ones(2), pairs, np.array([0.5]), 1.0)
    >>> lower <= 0.25 <= upper, round(upper - lower, 9)
    (True, 0.0)
    """
    n_rows, total = len(K), float(pairs.weight.sum())
    sums, sizes = machine_coefficients(pairs, beta, n_rows)
    coef = sums / (alpha * total)
    exact = _long_product(K, coef)
    scores = exact.astype(np.float64)
    steps = (n_rows + 8.0) * float(np.finfo(np.longdouble).eps)
    sized = roots * (float(np.abs(coef) @ roots) * (1.0 + steps))
    error = steps * sized + 2.0 * UNIT * np.abs(scores)
    reach = np.abs(scores) + error

    first, second = pairs.winner, pairs.loser
    room = error[first] + error[second] + 8.0 * UNIT * (reach[first] + reach[second] + pairs.margin)
    slack = np.maximum(0.0, pairs.margin - (scores[first] - scores[second]) + room)
    loss = upward(float(np.sum(pairs.weight * slack)) / total, _SUM)

    penalty = 0.5 * alpha * float(coef.astype(np.longdouble) @ exact)
    penalty_error = 0.5 * alpha * steps * float(np.abs(coef) @ (sized + reach))
    upper = upward(loss + penalty + penalty_error + 8.0 * UNIT * abs(penalty))

    # The dual's own coefficients, without rounding, are so close to those of the machine.
    degree = float(np.bincount(first, minlength=1).max() + np.bincount(second, minlength=1).max())
    apart = 4.0 * (degree + _SUM) * UNIT * sizes / (alpha * total)
    dual_error = alpha * float(apart @ reach) + 0.5 * alpha * float(apart @ roots) ** 2
    spent = upward(penalty + penalty_error + upward(dual_error, n_rows + 8.0) + 8.0 * UNIT * abs(penalty))
    gained = float(np.sum(pairs.margin * beta)) / total * (1.0 - 4.0 * _SUM * UNIT)
    lower = gained - spent - 4.0 * UNIT * (abs(gained) + abs(spent))
    return upper, min(max(lower, 0.0), upper)
