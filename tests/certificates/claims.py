"""What a fitted model claims about itself, and which of its claims exact arithmetic refutes."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import isfinite

from exact_objectives import ExactObjective
from independent_solver import optimum

#: The independent solver must enclose the optimum this closely, or the harness itself is at fault.
CLOSE_ENOUGH = Fraction(1, 10**15)


@dataclass(frozen=True)
class Claim:
    """A model with its certificate: floats as the library gave them, the model and its problem in fractions.

    Parameters
    ----------
    what : str
        Estimator and parameters, to be read in a failure.
    exact : ExactObjective
        The problem that was solved.
    alpha : float
        At which the claims are made.
    w : list of Fraction
        The model.
    objective, bound, gap : float
        Value of the model, lower bound of the optimum, and largest relative distance between the two.
    further_bounds : tuple of float
        Other lower bounds of the same optimum, as those of the history.
    objective_is_upper : bool
        Whether the value is said to be at least that of the model, not to be about it.
    largest_gap : float or None
        What the gap is said to be at most.
    """

    what: str
    exact: ExactObjective
    alpha: float
    w: list[Fraction]
    objective: float
    bound: float
    gap: float
    further_bounds: tuple[float, ...] = ()
    objective_is_upper: bool = False
    largest_gap: float | None = None


def violations(claim):
    """Return a sentence for each claim that is false, in exact arithmetic and without any allowance.

    The optimum lies between two values that the independent solver's model and dual variables give exactly.
    A bound is refuted if it exceeds the upper one, because that is the value of a model. A gap is refuted if
    the model is worse than that model by more than the gap says.
    """
    numbers = (claim.objective, claim.bound, claim.gap, *claim.further_bounds)
    if not all(isfinite(number) for number in numbers):
        return [f"not all finite: objective {claim.objective}, bound {claim.bound}, gap {claim.gap}"]
    found = []
    if not 0.0 <= claim.bound <= claim.objective:
        found.append(f"not 0 <= bound {claim.bound!r} <= objective {claim.objective!r}")
    if not 0.0 <= claim.gap <= 1.0:
        found.append(f"the gap {claim.gap!r} is not between 0 and 1")
    if claim.largest_gap is not None and claim.gap > claim.largest_gap:
        found.append(f"the gap {claim.gap!r} is above {claim.largest_gap!r}, which it is said to be at most")
    best = optimum(claim.exact, claim.alpha)
    assert best.lower <= best.upper
    assert best.width <= CLOSE_ENOUGH, f"the independent solver left a gap of {float(best.width):.1e}"
    value, objective, gap = (
        claim.exact.value(claim.w, claim.alpha),
        Fraction(claim.objective),
        Fraction(claim.gap),
    )
    for bound in (claim.bound, *claim.further_bounds):
        if Fraction(bound) > best.upper:
            excess = float((Fraction(bound) - best.upper) / best.upper)
            found.append(f"the bound {bound!r} exceeds the optimum by {excess:.2e} of it")
    if value - best.upper > gap * value:
        true = float((value - best.upper) / value)
        found.append(f"the true gap of the model is {true:.3e}, above gap {claim.gap!r}")
    if objective - best.upper > gap * objective:
        true = float((objective - best.upper) / objective)
        found.append(f"the objective is {true:.3e} above the optimum, more than gap {claim.gap!r}")
    if claim.objective_is_upper and value > objective:
        excess = float((value - objective) / value)
        found.append(f"the model's value exceeds the objective {claim.objective!r} by {excess:.2e} of it")
    return found
