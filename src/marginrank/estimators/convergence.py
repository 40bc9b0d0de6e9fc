"""What a warning says of a training that ended above its tolerance."""

from __future__ import annotations

from marginrank.exceptions import Sentence
from marginrank.solvers import SolverResult

_REMEDY = "Raise {max_iter} or {tol}, use a larger {alpha}, or try another {solver}."
_ROUNDED = (
    "Of it {rounding:.1e} is what rounding in double precision may have done to the certificate, so more "
    "iterations do not help. Raise {tol} or {alpha}."
)
_UNSCALED = "Scale the features ({scale='standard'}) if they differ much in size."


def why_not_converged(who: str, result: SolverResult, tol: float, *, scaled: bool) -> Sentence:
    """Return what ended the training of a ranker, how near it came, and what to do."""
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
    return said if scaled else said.and_then(_UNSCALED)
