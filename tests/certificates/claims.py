"""What a fitted model claims about itself, and which of its claims exact arithmetic refutes."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import isfinite

from exact_objectives import ExactObjective
from independent_solver import optimum

#: The independent solver must enclose the optimum this closely, or the harness itself is at fault.
CLOSE_ENOUGH = Fraction(1, 10**15)
#: No float but 0 is below; what the logistic loss has left there is enclosed by 0 and a power of two.
LEAST_FLOAT = Fraction(2) ** -1074


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
        What the value of the model is at most, the optimum at least, and the relative distance of the two at
        most.
    further_bounds : tuple of float
        Other lower bounds of the same optimum, as those of the history.
    largest_gap : float or None
        What the gap is said to be at most, unless the optimum is 0, to which nothing is relative.
    """

    what: str
    exact: ExactObjective
    alpha: float
    w: list[Fraction]
    objective: float
    bound: float
    gap: float
    further_bounds: tuple[float, ...] = ()
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
    best = optimum(claim.exact, claim.alpha)
    assert best.lower <= best.upper
    enclosed = best.width <= CLOSE_ENOUGH or best.upper < LEAST_FLOAT
    assert enclosed, f"the independent solver left a gap of {float(min(best.width, 1)):.1e}"
    value, objective = claim.exact.value(claim.w, claim.alpha), Fraction(claim.objective)
    if claim.largest_gap is not None and claim.gap > claim.largest_gap and best.upper:
        found.append(f"the gap {claim.gap!r} is above {claim.largest_gap!r}, which it is said to be at most")
    for bound in (claim.bound, *claim.further_bounds):
        if Fraction(bound) > best.upper:
            excess = float(Fraction(bound) - best.upper)
            found.append(f"the bound {bound!r} exceeds the optimum by {excess:.3e}")
    for what, above in (("value of the model", value), ("objective", objective)):
        if above - best.upper > Fraction(claim.gap) * above:
            true = float((above - best.upper) / above)
            found.append(f"the {what} has the true gap {true:.3e}, above gap {claim.gap!r}")
    if value > objective:
        excess = float(value - objective)
        found.append(f"the value of the model exceeds the objective {claim.objective!r} by {excess:.3e}")
    return found
