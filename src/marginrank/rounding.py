"""What rounding may have done to a certificate, so that it holds in exact arithmetic.

Every operation in double precision is right to a factor of ``1 +- u``, ``u = 2**-53``, and a sum of n terms
to about ``n u`` times the sum of their absolute values. Nothing here is an estimate: each figure bounds what
was computed against what exact arithmetic gives for the same X, y, weights, alpha and coefficients.

**Scores.** A design says how far its products may be off (``ProductRounding``): with
``S(w) = sum_j column_j |w_j|`` every score is right to ``eps = steps u S(w)``. Scores that are combinations
of others carry the combination of their errors. All that follows needs one number for all scores.

**Loss.** At the computed scores ``p`` a loss is computed up to ``value``; its gradient g, up to ``slope`` in
the 1-norm, gives a plane that holds at scores within ``shift`` of p (:class:`LossRounding`). And a loss knows
how far it rises when every score moves by at most eps: by ``2 eps`` for the hinge, because a difference of
two scores moves by that; the root of the squared hinge by as much, because it is a norm.

**From above.** So ``J(w)`` is at most the computed value plus the point's ``value_error``. That includes what
dividing w by the scale of its columns and mixing it with other models rounds later (:data:`LATER`).

**From below.** With ``a = X' g`` computed, and g' the true slope of the plane,

    R(X v)  >=  R(p') + g'.(X v - p')  >=  a.v + risk - a.w - sum_j e_j |v_j| - offset

for every v, with ``e_j = column_j (steps u ||g||_1 + slope)`` and ``offset`` the sum of ``value``,
``||g'||_1 (eps + shift)``, ``sum_j e_j |w_j|`` and the rounding of ``a.w``. Weights theta of several planes
with ``sum theta <= 1`` give

    min_v R(X v) + alpha/2 ||v||^2  >=  level - sum_j (|abar_j| + e_j)^2 / (2 alpha),

where abar and e are the means of slopes and errors; ``solvers/planes.py`` evaluates that with its own
rounding taken off. Errors are kept by column: one column of values around 1e8 does not spoil the others.
"""

from __future__ import annotations

from typing import NamedTuple

#: Half the distance from 1 to the next number.
UNIT = 2.0**-53
#: Roundings of a coefficient after its objective was computed: by column scales, between models of a path.
LATER = 16
#: More than all products of two numbers together lose where they are too small to be represented.
TINY = 1e-290


class LossRounding(NamedTuple):
    """How far a loss and its gradient may be off, at scores that are taken as they are.

    Attributes
    ----------
    value : float
        The risk is within this of the computed one, at scores within ``shift`` of those given.
    slope : float
        1-norm of what separates the computed gradient from that of a plane that holds there.
    shift : float
        How far these scores are from those given, each at most.
    """

    value: float
    slope: float = 0.0
    shift: float = 0.0


class PlaneRounding(NamedTuple):
    """How far the plane ``R(v) >= a.v + b`` of a point may be off; all zero for one that is exact.

    Attributes
    ----------
    offset : float
        What has to be taken off b.
    slope : float
        Times ``columns[j]``: how far entry j of a may be off.
    length : float or None
        ``columns[j]`` times this is at least the absolute value of entry j; None if it is not known.
    """

    offset: float = 0.0
    slope: float = 0.0
    length: float | None = None


def upward(x: float, steps: float = 4.0) -> float:
    """Return a number that is not below the exact result of so many operations on positive numbers.

    Examples
    --------
    >>> upward(1.0) > 1.0, upward(0.0)
    (True, 0.0)
    """
    return x * (1.0 + 2.0 * steps * UNIT)
