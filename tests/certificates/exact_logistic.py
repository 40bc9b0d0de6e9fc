"""Softplus and entropy between two fractions: ``exp`` and ``log`` are not rational, but enclosed as wanted.

``Decimal.exp`` and ``Decimal.ln`` are rounded correctly. With 150 digits everything below is right to 1e-60
of itself, and results are moved outward by that much.
"""

from __future__ import annotations

from decimal import Decimal, localcontext
from fractions import Fraction

DIGITS = 150
_OUTWARD = Fraction(1, 10**60)
_BITS = 300
#: Below this, ``log(1 + e)`` is ``e`` to 1e-60 of itself.
_SMALL = Decimal(10) ** -61
#: Beyond, ``exp(-x)`` lies between 0 and ``2**-2880``.
_FAR = 2000


def _decimal(x):
    return Decimal(x.numerator) / Decimal(x.denominator)


def _dyadic(x, *, up):
    """Return a positive decimal to 300 bits, moved outward: fractions of powers of two are quick to add."""
    value = Fraction(x) * (1 + _OUTWARD if up else 1 - _OUTWARD)
    shift = _BITS - (value.numerator.bit_length() - value.denominator.bit_length())
    scaled = value * Fraction(2) ** shift
    whole = -(-scaled.numerator // scaled.denominator) if up else scaled.numerator // scaled.denominator
    return whole * Fraction(2) ** -shift


def softplus(x, *, up):
    """Return ``log(1 + exp(x))`` of a fraction: not below it, or else not above it."""
    rest = max(x, Fraction(0))
    if abs(x) > _FAR:
        return rest + (Fraction(1, 2**2880) if up else 0)
    with localcontext() as context:
        context.prec = DIGITS
        e = _decimal(-abs(x)).exp()
        found = e if e < _SMALL else (1 + e).ln()
    return rest + _dyadic(found, up=up)


def entropy(b):
    """Return ``-b log b - (1 - b) log(1 - b)`` of a fraction between 0 and 1: not above it."""
    return sum((_one_part(part) for part in (b, 1 - b) if part), Fraction(0))


def _one_part(p):
    """Return ``-p log p`` or less."""
    if 1 - p < Fraction(_SMALL):
        return p * (1 - p)  # -log p >= 1 - p
    with localcontext() as context:
        context.prec = DIGITS
        found = -_decimal(p).ln()  # outside, a minus would round
    return p * _dyadic(found, up=False)
