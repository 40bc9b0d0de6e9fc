"""Several searches over the same folds, side by side: their figures, and which of them to take."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

import numpy as np

from marginrank.exceptions import MarginRankError
from marginrank.training.paired_parts import PairedParts, error_of_difference
from marginrank.types import Vector

# Of the standard error of the difference to the best: how much worse a simpler candidate may be.
_SHARE_OF_ERROR = 0.5


@dataclass(frozen=True)
class CandidateResult:
    """What one candidate came to.

    Attributes
    ----------
    name : str
        What it is called.
    status : {"chosen", "tried", "not tried"}
        Whether it is the one that was taken.
    figure, standard_error : float or None
        Its metric at its own alpha, the mean over the folds, and the standard error of that mean; where
        there were several partitions, the means of both.
    difference, difference_std : float or None
        How much better than the best of all it is (never positive), over the same queries, and the standard
        error of that.
    alpha : float or None
        What its search chose.
    reason : str or None
        Why it was not tried.
    """

    name: str
    status: str
    figure: float | None = None
    standard_error: float | None = None
    difference: float | None = None
    difference_std: float | None = None
    alpha: float | None = None
    reason: str | None = None


@dataclass(frozen=True)
class CandidateTable(Sequence[CandidateResult]):
    """The candidates, in the order in which they were tried; it prints as a table.

    Attributes
    ----------
    metric : str
        What figures are of.
    rows : tuple of CandidateResult
        One for each candidate.

    Examples
    --------
    >>> row = CandidateResult("rankrls", "chosen", 0.25, 0.01, 0.0, 0.0, 0.1)
    >>> other = CandidateResult("kernel", "not tried", reason="no time left")
    >>> table = CandidateTable("pairwise_error", (row, other))
    >>> table
    candidate  pairwise_error  std. error  to the best  std. error    alpha
    rankrls            0.2500      0.0100      +0.0000      0.0000      0.1  <- chosen
    kernel                  -           -            -           -        -  not tried: no time left
    >>> [row["name"] for row in table.to_dicts()]
    ['rankrls', 'kernel']
    """

    metric: str
    rows: tuple[CandidateResult, ...]

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, index: Any) -> Any:
        return self.rows[index]

    def __iter__(self) -> Iterator[CandidateResult]:
        return iter(self.rows)

    def __repr__(self) -> str:
        return str(self)

    def __str__(self) -> str:
        # Without its options, which are long and the same for all; ``metric`` has them.
        figure = self.metric.split("(")[0]
        header = ["candidate", figure, "std. error", "to the best", "std. error", "alpha", ""]
        lines = [_cells(row) for row in self.rows]
        widths = [max(map(len, column)) for column in zip(header, *lines, strict=True)]
        return "\n".join(_line(cells, widths) for cells in (header, *lines))

    def to_dicts(self) -> list[dict[str, Any]]:
        """Return a dictionary for each candidate, in JSON values, as data frames are made of."""
        return [asdict(row) for row in self.rows]

    def to_frame(self) -> Any:
        """Return a pandas data frame with a row for each candidate."""
        try:
            import pandas as pd
        except ImportError as error:
            raise MarginRankError("to_frame needs pandas; install it, or take to_dicts().") from error
        return pd.DataFrame(self.to_dicts())


@dataclass(frozen=True)
class Tried:
    """A candidate that was fitted: what its search found, and whether it is no linear ranker."""

    name: str
    alpha: float
    figure: float
    standard_error: float
    parts: PairedParts
    is_kernel: bool


class Choice(NamedTuple):
    """The number of the candidate to take; figures of all, and differences to the best with their errors."""

    chosen: int
    figures: list[float]
    differences: list[float]
    errors: list[float]
    is_close: bool


def choose_candidate(*rounds: Sequence[Tried], higher_is_better: bool) -> Choice:
    """Choose a candidate.

    The best mean wins; where that is a kernel's, the best linear ranker is taken that is worse by at most
    half of the standard error of the difference, over the queries of all folds. It is close where the best
    linear ranker and the best kernel are within one standard error of each other.

    Parameters
    ----------
    *rounds : sequence of Tried
        All candidates on one partition of the queries into folds, and on others. Figures are means of all;
        so are standard errors, which further partitions of the same queries do not make smaller.
    higher_is_better : bool
        Which way figures are read.

    Examples
    --------
    >>> queries = [[0.30, 0.32, 0.35], [0.20, 0.22, 0.30]]
    >>> tried = [
    ...     Tried(name, 1.0, sum(one) / 3, 0.0, PairedParts(np.array([one]).T), name == "kernel")
    ...     for name, one in zip(("linear", "kernel"), queries, strict=True)
    ... ]
    >>> choose_candidate(tried, higher_is_better=False).chosen
    1
    """
    sign = 1.0 if higher_is_better else -1.0
    figures = np.mean([[sign * one.figure for one in tried] for tried in rounds], axis=0)
    best = int(np.argmax(figures))
    errors = np.mean([_errors(tried, best) for tried in rounds], axis=0)
    is_kernel = np.array([one.is_kernel for one in rounds[0]])
    behind = figures[best] - figures
    others = is_kernel != is_kernel[best]
    is_close = bool((behind <= errors)[others].any())
    chosen = best
    if is_kernel[best]:
        near = np.flatnonzero(others & (behind <= _SHARE_OF_ERROR * np.nan_to_num(errors)))
        chosen = max(near.tolist(), key=lambda k: (figures[k], -k), default=best)
    differences = (figures - figures[best]).tolist()
    return Choice(chosen, (sign * figures).tolist(), differences, errors.tolist(), is_close)


def _errors(tried: Sequence[Tried], best: int) -> Vector:
    """Return the standard errors of the differences to one candidate."""
    together = PairedParts(np.hstack([one.parts.values for one in tried]), tried[best].parts.weight)
    return error_of_difference(together, best)


def candidate_table(
    metric: str,
    rounds: Sequence[Sequence[Tried]],
    not_tried: Sequence[tuple[str, str]],
    *,
    higher_is_better: bool,
) -> tuple[int, CandidateTable]:
    """Return the number of the candidate to take, and the table; ``not_tried`` has names and reasons.

    Alphas are those of the first round, whose searches train the models.
    """
    chosen, figures, differences, errors, _ = choose_candidate(*rounds, higher_is_better=higher_is_better)
    rows = [
        CandidateResult(
            name=again[0].name,
            status="chosen" if k == chosen else "tried",
            figure=figures[k],
            standard_error=_known(float(np.mean([one.standard_error for one in again]))),
            difference=differences[k],
            difference_std=_known(errors[k]),
            alpha=again[0].alpha,
        )
        for k, again in enumerate(zip(*rounds, strict=True))
    ]
    rows += [CandidateResult(name, "not tried", reason=reason) for name, reason in not_tried]
    return chosen, CandidateTable(metric, tuple(rows))


def _known(error: float) -> float | None:
    return float(error) if np.isfinite(error) else None


def _cells(row: CandidateResult) -> list[str]:
    def number(value: float | None, form: str = ".4f") -> str:
        return "-" if value is None else format(value, form)

    figures = [number(row.figure), number(row.standard_error), number(row.difference, "+.4f")]
    said = {"chosen": "<- chosen", "tried": ""}.get(row.status, f"not tried: {row.reason}")
    return [row.name, *figures, number(row.difference_std), number(row.alpha, ".3g"), said]


def _line(cells: Sequence[str], widths: Sequence[int]) -> str:
    first, *numbers, last = cells
    middle = (cell.rjust(max(width, 7)) for cell, width in zip(numbers, widths[1:-1], strict=True))
    return "  ".join([first.ljust(widths[0]), *middle, last]).rstrip()
