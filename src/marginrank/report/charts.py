"""Pictures as SVG of our own: lines over a logarithmic axis, means with intervals, sorted differences, bars.

Colours are classes of the style sheet, so that a picture follows light and dark, and no attribute ``style``
is needed, which the security policy of the page forbids.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from marginrank.markup import Markup, named, tag, visible
from marginrank.types import Vector

WIDTH, HEIGHT = 560, 260
LEFT, RIGHT, TOP, BOTTOM = 64, 14, 12, 40
_COLOURS = 8


@dataclass(frozen=True, eq=False)
class Line:
    """A named line of a picture; the number of its colour is its place, unless it is given."""

    name: str
    values: Vector
    dashed: bool = False


@dataclass(frozen=True)
class Scale:
    """From values of an axis to places in the picture."""

    low: float
    high: float
    start: float
    end: float
    log: bool = False
    whole: bool = False

    def __call__(self, value: float) -> float:
        """Return the place of a value."""
        low, high = (np.log10([self.low, self.high])) if self.log else (self.low, self.high)
        at = np.log10(value) if self.log else value
        share = 0.5 if high == low else (at - low) / (high - low)
        return float(self.start + share * (self.end - self.start))

    def ticks(self) -> list[float]:
        """Return round values within the axis, about five."""
        if self.log:
            low, high = int(np.ceil(np.log10(self.low) - 1e-9)), int(np.floor(np.log10(self.high) + 1e-9))
            apart = max(1, -(-(high - low) // 5))
            return [10.0**k for k in range(low, high + 1, apart)] or [self.low]
        if self.high == self.low:
            return [self.low]
        raw = (self.high - self.low) / 5
        size = 10.0 ** np.floor(np.log10(raw))
        step = float(size * next(m for m in (1, 2, 5, 10) if m * size >= raw * 0.999))
        if self.whole:
            step = max(1.0, step)
        first = int(np.ceil(self.low / step - 1e-9))
        last = int(np.floor(self.high / step + 1e-9))
        return [k * step for k in range(first, last + 1)]


def line_chart(
    xs: Vector, lines: Sequence[Line], *, x_name: str, y_name: str, log_x: bool, label: str, id_: str | None
) -> Markup:
    """Return lines over an axis; over a logarithmic one the largest value is on the left, as alphas go."""
    low, high = _padded(np.concatenate([line.values for line in lines]))
    x = _x_scale(xs, log_x)
    y = Scale(low, high, HEIGHT - BOTTOM, TOP)
    drawn = []
    for k, line in enumerate(lines):
        points = [
            f"{x(float(a)):.1f},{y(float(b)):.1f}"
            for a, b in zip(xs, line.values, strict=True)
            if np.isfinite(b)
        ]
        classes = f"line c{k % _COLOURS}{' dashed' if line.dashed else ''}"
        drawn.append(tag("polyline", points=" ".join(points), class_=classes, pathLength=None))
    cursor = tag("line", x1=x(float(xs[0])), x2=x(float(xs[0])), y1=TOP, y2=HEIGHT - BOTTOM, class_="cursor")
    parts = [*_axes(x, y, x_name, y_name), *drawn, *([cursor] if id_ else [])]
    legend = _legend([line.name for line in lines]) if len(lines) > 1 else Markup("")
    ends = {"data_first": f"{x.start:.2f}", "data_last": f"{x.end:.2f}"} if id_ else {}
    return tag("figure", _picture(parts, label, HEIGHT, id=id_, **ends), legend)


def interval_chart(
    names: Sequence[str], means: Vector, ends: Sequence[tuple[float, float]], *, x_name: str, label: str
) -> Markup:
    """Return a dot for each mean, on the line of its interval."""
    known = [v for pair in ends for v in pair if np.isfinite(v)]
    low, high = _padded(np.array([*means[np.isfinite(means)], *known]))
    step, top = 34, 10
    height = top + step * len(names) + BOTTOM
    x = Scale(low, high, 150, WIDTH - RIGHT)
    parts = [*_grid(x, top, height - BOTTOM, x_name, height)]
    for k, (name, mean, (left, right)) in enumerate(zip(names, means, ends, strict=True)):
        at = top + step * (k + 0.5)
        parts.append(tag("text", visible(name, 20), x=142, y=at + 4, class_="end"))
        if np.isfinite(left):
            parts.append(tag("line", x1=x(left), x2=x(right), y1=at, y2=at, class_=f"line c{k % _COLOURS}"))
        if np.isfinite(mean):
            parts.append(tag("circle", cx=x(float(mean)), cy=at, r=5, class_=f"dot c{k % _COLOURS}"))
    return tag("figure", _picture(parts, label, height))


def difference_chart(differences: Vector, *, better: int, y_name: str, label: str) -> Markup:
    """Return the differences of all queries, sorted: above 0 is what was won, below what was lost."""
    values = np.sort(differences[np.isfinite(differences)])[::-1]
    low, high = min(float(values.min()), 0.0), max(float(values.max()), 0.0)
    low, high = (low - 0.5, high + 0.5) if low == high else (low, high)
    x = Scale(0.0, float(len(values)), LEFT, WIDTH - RIGHT, whole=True)
    y = Scale(low, high, HEIGHT - BOTTOM, TOP)
    parts = [*_axes(x, y, "queries, sorted by their difference", y_name)]
    # At most one step for each pixel: the picture does not grow with the queries.
    edges = np.unique(np.linspace(0, len(values), min(len(values), WIDTH) + 1).round().astype(int))
    for sign, name in ((1, "gain"), (-1, "loss")):
        points = [f"{x(0.0):.1f},{y(0.0):.1f}"]
        for a, b in pairwise(edges.tolist()):
            mean = float(values[a:b].mean())
            height = y(mean if mean * sign > 0 else 0.0)
            points += [f"{x(float(a)):.1f},{height:.1f}", f"{x(float(b)):.1f},{height:.1f}"]
        points.append(f"{x(float(len(values))):.1f},{y(0.0):.1f}")
        parts.append(tag("polygon", points=" ".join(points), class_=name if better > 0 else _OTHER[name]))
    return tag("figure", _picture(parts, label, HEIGHT))


_OTHER = {"gain": "loss", "loss": "gain"}


def bar(value: float, largest: float, **attributes: str) -> Markup:
    """Return a bar from the middle of a cell, to the left below 0."""
    share = 0.0 if largest == 0.0 else float(np.clip(value / largest, -1.0, 1.0))
    x, width = (60.0 + 58.0 * min(share, 0.0), 58.0 * abs(share))
    rect = tag("rect", x=x, y=2, width=width, height=10, class_="minus" if share < 0 else "plus")
    middle = tag("line", x1=60, x2=60, y1=0, y2=14, class_="axis")
    return tag("svg", rect, middle, viewBox="0 0 120 14", class_="bar", aria_hidden="true", **attributes)


def _picture(parts: Sequence[Markup], label: str, height: int, **attributes: str | None) -> Markup:
    box = f"0 0 {WIDTH} {height}"
    return tag("svg", *parts, viewBox=box, role="img", aria_label=label, class_="chart", **attributes)


def _axes(x: Scale, y: Scale, x_name: str, y_name: str) -> list[Markup]:
    parts = _grid(x, TOP, HEIGHT - BOTTOM, x_name, HEIGHT)
    ticks = y.ticks()
    for value, text in zip(ticks, _texts(ticks), strict=True):
        parts.append(tag("line", x1=LEFT, x2=WIDTH - RIGHT, y1=y(value), y2=y(value), class_="grid"))
        parts.append(tag("text", text, x=LEFT - 6, y=y(value) + 4, class_="end"))
    middle = (TOP + HEIGHT - BOTTOM) / 2
    turned = f"rotate(-90 14 {middle:g})"
    parts.append(tag("text", visible(y_name, 40), x=14, y=middle, transform=turned, class_="middle"))
    return parts


def _grid(x: Scale, top: float, bottom: float, name: str, height: float) -> list[Markup]:
    parts = []
    ticks = x.ticks()
    for value, text in zip(ticks, _texts(ticks, x.log), strict=True):
        parts.append(tag("line", x1=x(value), x2=x(value), y1=top, y2=bottom, class_="grid"))
        parts.append(tag("text", text, x=x(value), y=bottom + 16, class_="middle"))
    centre = (x.start + x.end) / 2
    parts.append(tag("text", visible(name, 70), x=centre, y=height - 6, class_="middle"))
    return parts


def _texts(ticks: Sequence[float], log: bool = False) -> list[str]:
    if log:
        return [f"{value:.0e}".replace("e-0", "e-").replace("e+0", "e") for value in ticks]
    return [f"{value:.6g}" for value in ticks]


def _x_scale(xs: Vector, log_x: bool) -> Scale:
    low, high = float(xs.min()), float(xs.max())
    if log_x:
        return Scale(low, high, WIDTH - RIGHT, LEFT, log=True)
    return Scale(low, high, LEFT, WIDTH - RIGHT, whole=True)


def _padded(values: Vector) -> tuple[float, float]:
    known = values[np.isfinite(values)]
    if len(known) == 0:
        return 0.0, 1.0
    low, high = float(known.min()), float(known.max())
    space = 0.05 * (high - low) or 0.05 * (abs(high) or 1.0)
    return low - space, high + space


def _legend(names: Sequence[str]) -> Markup:
    keys = [
        tag(
            "li",
            tag(
                "svg",
                tag("line", x1=0, x2=18, y1=5, y2=5, class_=f"line c{k % _COLOURS}"),
                viewBox="0 0 18 10",
                class_="key",
                aria_hidden="true",
            ),
            named(name, 40),
        )
        for k, name in enumerate(names)
    ]
    return tag("ul", *keys, class_="legend")
