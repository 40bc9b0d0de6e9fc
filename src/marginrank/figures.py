"""How figures are written for people: the same on a terminal, in a notebook and in a report."""

from __future__ import annotations

from math import isnan


def rounded(value: float) -> str:
    """Return a figure with four digits after the point.

    Examples
    --------
    >>> rounded(0.81234), rounded(float("nan"))
    ('0.8123', '-')
    """
    return "-" if isnan(value) else f"{value:.4f}"


def counted(n: int, noun: str) -> str:
    """Return a number with its noun.

    Examples
    --------
    >>> counted(1, "query"), counted(2000, "query"), counted(0, "row")
    ('1 query', '2,000 queries', '0 rows')
    """
    if n != 1:
        noun = f"{noun[:-1]}ies" if noun.endswith("y") else f"{noun}s"
    return f"{n:,} {noun}"


def bytes_for_people(size: float) -> str:
    """Return a size in the unit that fits.

    Examples
    --------
    >>> bytes_for_people(3_500_000)
    '3.5 MB'
    """
    for unit in ("bytes", "kB", "MB", "GB"):
        if size < 1000:
            return f"{size:.0f} {unit}" if unit == "bytes" else f"{size:.1f} {unit}"
        size /= 1000
    return f"{size:.1f} TB"


def seconds_for_people(seconds: float) -> str:
    """Return a duration with the digits that matter.

    Examples
    --------
    >>> seconds_for_people(0.0123), seconds_for_people(75), seconds_for_people(0.0001)
    ('0.01 s', '75 s', 'less than 0.01 s')
    """
    if seconds < 0.005:
        return "less than 0.01 s"
    return f"{seconds:.2f} s" if seconds < 10 else f"{seconds:.0f} s"
