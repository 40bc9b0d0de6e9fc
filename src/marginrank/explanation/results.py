"""Explanations as values: tables for people, pictures, and plain values for JSON."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import fsum
from typing import Any

import numpy as np
from numpy.typing import NDArray

from marginrank.parameters import check_count
from marginrank.system.pictures import new_figure
from marginrank.types import Vector

_SHOWN = 12


@dataclass(frozen=True, eq=False)
class PairExplanation:
    """Why one row stands above another; made by :meth:`marginrank.RankingModel.explain_pair`.

    Parameters
    ----------
    names : tuple of str
        The columns.
    a, b : ndarray of shape (n_features,)
        The two rows, as they were given.
    contributions : ndarray of shape (n_features,)
        What each column adds to the margin.
    margin : float
        Score of ``a`` less that of ``b``: the sum of the contributions.
    method : {"linear", "integrated gradients"}
        How contributions come about.

    Examples
    --------
    >>> from marginrank import RankingModel
    >>> model = RankingModel([2.0, -1.0], feature_names=["stars", "price"])
    >>> print(model.explain_pair([4.0, 3.0], [1.0, 1.0]))
    a is above b by 4 (linear)
    column  a  b  contribution
    stars   4  1            +6
    price   3  1            -2
    """

    names: tuple[str, ...]
    a: Vector
    b: Vector
    contributions: Vector
    margin: float
    method: str

    def largest(self, n: int = _SHOWN) -> list[int]:
        """Return the columns with the largest contributions, by size."""
        return largest(self.contributions, check_count(n, "n"))

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, for JSON: columns that contribute, the largest first."""
        return {
            "margin": self.margin,
            "method": self.method,
            "contributions": [
                {
                    "feature": self.names[j],
                    "a": float(self.a[j]),
                    "b": float(self.b[j]),
                    "contribution": float(self.contributions[j]),
                }
                for j in largest(self.contributions, len(self.names))
            ],
        }

    def __str__(self) -> str:
        word = "above" if self.margin > 0 else "below" if self.margin < 0 else "level with"
        by = "" if self.margin == 0 else f" by {abs(self.margin):.4g}"
        return f"a is {word} b{by} ({self.method})\n" + self.table()

    def table(self, n: int = _SHOWN) -> str:
        """Return the largest contributions in lines, and what the others add up to."""
        chosen = self.largest(n)
        rows = [
            (self.names[j], f"{self.a[j]:.4g}", f"{self.b[j]:.4g}", f"{self.contributions[j]:+.4g}")
            for j in chosen
        ]
        others = np.delete(self.contributions, chosen)
        if others.any():
            rows.append((f"{np.count_nonzero(others):,} more", "", "", f"{fsum(others):+.4g}"))
        return text_table(("column", "a", "b", "contribution"), rows)

    def plot(self, n: int = _SHOWN) -> Any:
        """Draw the largest contributions.

        Parameters
        ----------
        n : int, default=12
            How many columns.

        Returns
        -------
        matplotlib.figure.Figure
            Save it with ``savefig``. Needs matplotlib (``pip install marginrank[plot]``).
        """
        chosen = self.largest(n)
        labels = [f"{self.names[j]}: {self.a[j]:.3g} | {self.b[j]:.3g}" for j in chosen]
        return bars(labels, self.contributions[chosen], f"contribution to a margin of {self.margin:.4g}")


@dataclass(frozen=True, eq=False)
class RowExplanations:
    """Where rows stand in their queries, and why; made by :meth:`marginrank.RankingModel.explain`.

    Parameters
    ----------
    names : tuple of str
        The columns.
    contributions : ndarray of shape (n_rows, n_features)
        What each column adds to the margin of each row.
    margins : ndarray of shape (n_rows,)
        Score of each row less that of the mean row of its query: the sums of the contributions.
    method : {"linear", "integrated gradients"}
        How contributions come about.

    Examples
    --------
    >>> from marginrank import RankingModel
    >>> model = RankingModel([2.0, -1.0], feature_names=["stars", "price"])
    >>> found = model.explain([[4.0, 3.0], [1.0, 1.0], [4.0, 1.0]], qid=["x", "x", "y"])
    >>> found.contributions.tolist(), found.margins.tolist()
    ([[3.0, -1.0], [-3.0, 1.0], [0.0, 0.0]], [2.0, -2.0, 0.0])
    >>> print(found)
    3 rows (linear)
    column  mean size
    stars           2
    price      0.6667
    """

    names: tuple[str, ...]
    contributions: NDArray[np.float64]
    margins: Vector
    method: str

    @property
    def importance(self) -> Vector:
        """Mean size of the contributions of each column."""
        return np.asarray(np.abs(self.contributions).mean(axis=0))

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, for JSON."""
        return {
            "method": self.method,
            "features": list(self.names),
            "importance": self.importance.tolist(),
            "margins": self.margins.tolist(),
            "contributions": self.contributions.tolist(),
        }

    def __str__(self) -> str:
        return self.table()

    def table(self, n: int = _SHOWN) -> str:
        """Return the columns of the largest contributions, in lines."""
        chosen = largest(self.importance, check_count(n, "n"))
        rows = [(self.names[j], f"{self.importance[j]:.4g}") for j in chosen]
        return f"{len(self.margins):,} rows ({self.method})\n" + text_table(("column", "mean size"), rows)

    def plot(self, row: int | None = None, *, n: int = _SHOWN) -> Any:
        """Draw the contributions of a row, or the mean sizes over all rows.

        Parameters
        ----------
        row : int, optional
            Which row, from 0; by default all.
        n : int, default=12
            How many columns.

        Returns
        -------
        matplotlib.figure.Figure
            Save it with ``savefig``. Needs matplotlib (``pip install marginrank[plot]``).
        """
        n = check_count(n, "n")
        if row is None:
            values, title = self.importance, "mean size of contributions"
        else:
            row = check_count(row, "row", least=0, most=len(self.margins) - 1)
            values = self.contributions[row]
            title = f"contribution to {self.margins[row]:.4g} above the mean row of the query"
        chosen = largest(values, n)
        return bars([self.names[j] for j in chosen], values[chosen], title)


def largest(values: Vector, n: int) -> list[int]:
    """Return the columns of the largest values by size, without zeros unless there is nothing else.

    Examples
    --------
    >>> largest(np.array([1.0, 0.0, -3.0]), 9), largest(np.zeros(2), 9)
    ([2, 0], [0])
    """
    order = np.argsort(-np.abs(values), kind="stable")[:n]
    kept = order[values[order] != 0.0]
    return [int(j) for j in (kept if len(kept) else order[:1])]


def bars(labels: Sequence[str], values: Vector, title: str) -> Any:
    """Draw horizontal bars, the first on top."""
    figure = new_figure(7.0, 1.2 + 0.3 * len(labels), "an explanation")
    axis = figure.subplots()
    places = np.arange(len(labels))
    axis.barh(places, values, color=np.where(np.asarray(values) < 0, "C3", "C0").tolist())
    # A dollar would start a formula.
    axis.set_yticks(places, [label.replace("$", r"\$") for label in labels], fontsize="small")
    axis.invert_yaxis()
    axis.axvline(0.0, color="0.6", linewidth=0.8)
    axis.set_xlabel(title)
    return figure


def text_table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return lines: the first column to the left, the others to the right."""
    widths = [max(len(row[k]) for row in [header, *rows]) for k in range(len(header))]
    lines = []
    for row in [header, *rows]:
        cells = [
            row[0].ljust(widths[0]),
            *(cell.rjust(w) for cell, w in zip(row[1:], widths[1:], strict=True)),
        ]
        lines.append("  ".join(cells).rstrip())
    return "\n".join(lines)
