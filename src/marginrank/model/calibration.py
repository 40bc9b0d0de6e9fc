"""Probabilities that one row is above another, from the difference of their scores."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from marginrank.data.validation import check_numbers
from marginrank.exceptions import MarginRankError
from marginrank.model.values import frozen_vector
from marginrank.parameters import check_count
from marginrank.types import Vector

_PREFIX = "calibration."


@dataclass(frozen=True, eq=False, repr=False)
class PairCalibration:
    """A monotone function from differences of scores to probabilities; made by ``calibrate``.

    It is given by its values at differences of at least 0, is linear between them, starts at 1/2 for a
    difference of 0, stays at the last value beyond the last, and is mirrored for negative differences, so
    that ``P(d) + P(-d) = 1``.

    Attributes
    ----------
    differences : ndarray of shape (n_knots,)
        Positive, ascending.
    probabilities : ndarray of shape (n_knots,)
        From 1/2 to 1, never falling.
    n_pairs : int
        Held-out pairs that it was fitted to.

    Examples
    --------
    >>> import numpy as np
    >>> calibration = PairCalibration(np.array([1.0, 2.0]), np.array([0.75, 1.0]), n_pairs=8)
    >>> calibration.probability(np.array([0.0, 0.5, -0.5, 9.0])).tolist()
    [0.5, 0.625, 0.375, 1.0]
    """

    differences: Vector
    probabilities: Vector
    n_pairs: int

    def __post_init__(self) -> None:
        differences = frozen_vector(self.differences, "differences")
        probabilities = frozen_vector(self.probabilities, "probabilities")
        if differences.shape != probabilities.shape:
            raise MarginRankError(
                "differences and probabilities must have as many entries as each other; got "
                f"{len(differences)} and {len(probabilities)}."
            )
        if differences[0] <= 0.0 or (np.diff(differences) <= 0.0).any():
            raise MarginRankError("differences must be positive and ascending.")
        if probabilities[0] < 0.5 or probabilities[-1] > 1.0 or (np.diff(probabilities) < 0).any():
            raise MarginRankError("probabilities must be from 0.5 to 1 and never fall.")
        check_count(self.n_pairs, "n_pairs")
        object.__setattr__(self, "differences", differences)
        object.__setattr__(self, "probabilities", probabilities)

    def __repr__(self) -> str:
        return (
            f"PairCalibration({self.n_pairs} pairs, up to {self.probabilities[-1]:.3f} from a difference of "
            f"{self.differences[-1]:.3g} on)"
        )

    def probability(self, difference: Any) -> Vector:
        """Return the probability that the first of two rows is above, for differences of their scores.

        Parameters
        ----------
        difference : array-like of shape (n_pairs,)
            Score of the first row less that of the second.

        Returns
        -------
        ndarray of shape (n_pairs,)
            Probabilities.

        Examples
        --------
        >>> PairCalibration([1.0, 2.0], [0.75, 0.875], 100).probability([0.0, 1.0, -1.0, 9.0]).tolist()
        [0.5, 0.75, 0.25, 0.875]
        """
        d = check_numbers(difference, "difference")
        above = np.interp(
            np.abs(d), np.append(0.0, self.differences), np.append(0.5, self.probabilities)
        ).clip(0.5, 1.0)
        # 1 - p is exact for p from 1/2 to 1, so the two probabilities of a pair sum to 1 to the last bit.
        return np.asarray(np.where(d >= 0.0, above, 1.0 - above))


def calibration_to_file(calibration: PairCalibration) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """Return header and arrays for a model file."""
    arrays = {_PREFIX + name: getattr(calibration, name) for name in ("differences", "probabilities")}
    return {"calibration": {"n_pairs": calibration.n_pairs}}, arrays


def calibration_from_file(
    header: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]
) -> PairCalibration | None:
    """Return the calibration that a file holds, checked; None where it holds none."""
    found = header.get("calibration")
    if found is None:
        return None
    n_pairs = found["n_pairs"] if isinstance(found, dict) else None
    if type(n_pairs) is not int:
        raise MarginRankError("calibration has no number of pairs")
    return PairCalibration(arrays[_PREFIX + "differences"], arrays[_PREFIX + "probabilities"], n_pairs)
