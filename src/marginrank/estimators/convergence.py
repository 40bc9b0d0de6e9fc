"""What is warned of after a training: one that ended above its tolerance, a choice at the end of a grid."""

from __future__ import annotations

from typing import Any

from marginrank.exceptions import Sentence, warn
from marginrank.solvers import SolverResult
from marginrank.training.fitting import Row
from marginrank.training.selection import Search

_REMEDY = "Raise {max_iter} or {tol}, use a larger {alpha}, or try another {solver}."
_ROUNDED = (
    "Of it {rounding:.1e} is what rounding in double precision may have done to the certificate, so more "
    "iterations do not help. Raise {tol} or {alpha}."
)
_UNSCALED = "Scale the features ({scale='standard'}) if they differ much in size."


def why_not_converged(ranker: Any, result: SolverResult) -> Sentence:
    """Return what ended the training of a ranker, how near it came, and what to do."""
    who, tol = type(ranker).__name__, ranker.tol
    if ranker._on_offset and not result.w.any() and result.rounding >= result.gap:
        return Sentence(
            "{who!s} has nothing to learn: what the {offset} alone loses is at most {value:.1e}, which "
            "rounding makes of 0, so every weight is 0.",
            "Look whether the {offset} was made of the labels, or is in units far above the margin of 1.",
            who=who,
            value=result.value,
        )
    count = "1 iteration" if result.n_iter == 1 else f"{result.n_iter} iterations"
    how = f"stopped after {count}" if result.status == "max_iter" else f"stalled after {count}"
    said = Sentence(
        "{who!s} {how!s} at a certified gap of {gap:.1e}, above {tol=:g}.",
        who=who,
        how=how,
        gap=result.gap,
        tol=tol,
    )
    if result.rounding >= tol:
        said = said.and_then(_ROUNDED, rounding=result.rounding)
    else:
        said = said.and_then(_REMEDY)
    return said if ranker.scale_ is not None else said.and_then(_UNSCALED)


def warn_of_edge(search: Search, chosen: Row | None) -> None:
    """Warn where the chosen alpha is at an end of the user's own grid; default grids go on by themselves."""
    edge = None if chosen is None or search.alphas is None else chosen.selection.edge
    if edge is None:
        return
    assert chosen is not None
    warn(
        Sentence(
            "The chosen alpha, {alpha:.3g}, is the {edge!s} of {alphas}; try {others!s} ones.",
            alpha=chosen.selection.alpha,
            edge=edge,
            others="smaller" if edge == "smallest" else "larger",
        ),
        UserWarning,
    )
