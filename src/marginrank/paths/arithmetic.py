"""Paths that leave the range of float64 end in a sentence that names what is too large or too small."""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Any

from marginrank.data import RankingData
from marginrank.data.finite import check_finite_results, extremes, finite_arithmetic


def out_of_range(data: RankingData, *, labels: bool = False, **parameters: float | None) -> str:
    """Say what of the data or the parameters is of extreme size; labels only where their size counts."""
    sizes: dict[str, Any] = {"pair_margin": data.pair_margin, **parameters}
    if labels:
        sizes["y"] = data.y
    reason = extremes(data.X, **sizes)
    return f"The path left the range of float64. {reason}"


def finite_path(
    data: RankingData, *, labels: bool = False, **parameters: float | None
) -> AbstractContextManager[None]:
    """Return the context to compute a path in."""
    return finite_arithmetic(lambda: out_of_range(data, labels=labels, **parameters))


def check_path(data: RankingData, *results: Any) -> None:
    """Refuse a path whose models or certificates are not finite."""
    check_finite_results(lambda: out_of_range(data, labels=True), *results)
