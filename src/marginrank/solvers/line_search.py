"""Search along a line, by values and slopes.

A trial on a line costs one evaluation of the loss and no pass over X, so the search stops as soon as a
step is good enough, but does not hesitate to look again where it is not.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import inf, isfinite

from marginrank.solvers.base import Line, Point

_SUFFICIENT_DECREASE = 1e-4
_MARGIN = 0.1  # a trial stays this part of the bracket away from its ends
_LARGEST_GROWTH = 4.0


@dataclass(frozen=True)
class Trial:
    """A point on a line, its step and the slope of the objective there."""

    point: Point
    step: float
    slope: float


@dataclass
class _Bracket:
    """Steps known to lie before (``low``) and behind (``high``) the minimum, with the slopes there."""

    low: float
    low_slope: float
    low_value: float
    high: float = inf
    high_slope: float = inf

    def update(self, trial: Trial) -> None:
        if trial.slope < 0.0 and trial.point.value <= self.low_value:
            self.low, self.low_slope, self.low_value = trial.step, trial.slope, trial.point.value
        else:
            self.high, self.high_slope = trial.step, trial.slope

    def next_step(self, previous: tuple[float, float]) -> float:
        """Secant step of the slopes, kept inside the bracket; while it is open, limited growth."""
        if not isfinite(self.high):
            step, slope = previous
            rise = self.low_slope - slope
            secant = self.low - self.low_slope * (self.low - step) / rise if rise > 0.0 else inf
            return min(max(secant, 1.2 * self.low), _LARGEST_GROWTH * self.low)
        width = self.high - self.low
        rise = self.high_slope - self.low_slope
        secant = -self.low_slope / rise if isfinite(rise) and rise > 0.0 else 0.5
        return self.low + width * min(max(secant, _MARGIN), 1.0 - _MARGIN)


def search(
    line: Line, start: Point, slope: float, *, flatness: float, max_trials: int, first_step: float = 1.0
) -> Trial | None:
    """Find a step with a lower value and a flat enough slope.

    Parameters
    ----------
    line : Line
        The line through ``start``.
    start : Point
        The point at step 0.
    slope : float
        Slope at step 0; negative for a descent direction.
    flatness : float
        Accept a step when its slope is at most this part of the first one, in absolute value.
    max_trials : int
        After this many trials the best one so far is good enough.
    first_step : float, default=1.0
        First trial.

    Returns
    -------
    Trial or None
        None when no trial was below the start, within three times ``max_trials`` if need be.

    Notes
    -----
    Close to the minimum, what a step gains is less than the values are right to, while slopes are right
    still: there a value that is not known to be higher is low enough (Hager and Zhang, SIAM J. Optim. 16,
    2005).
    """
    if not slope < 0.0:
        return None
    bracket = _Bracket(0.0, slope, start.value)
    best: Trial | None = None
    step = first_step
    for n_trials in range(1, 3 * max_trials + 1):
        point = line.at(step)
        trial = Trial(point, step, line.slope(point))
        if point.value < (start.value if best is None else best.point.value):
            best = trial
        if _is_lower(trial, start, slope, first_step) and abs(trial.slope) <= -flatness * slope:
            return trial
        if n_trials >= max_trials and best is not None:
            break
        previous = (bracket.low, bracket.low_slope)
        bracket.update(trial)
        step = bracket.next_step(previous)
    return best


def _is_lower(trial: Trial, start: Point, slope: float, first_step: float) -> bool:
    """Whether the value of a trial fell far enough, or as far as values are right.

    What the first step promises decides whether they can: every promise is below their rounding once steps
    are short enough, as at a kink, where short steps lead nowhere.
    """
    if trial.point.value <= start.value + _SUFFICIENT_DECREASE * trial.step * slope:
        return True
    error = start.value_error
    promised = -max(trial.step, first_step) * slope
    return promised <= error and trial.point.value <= start.value + error
