"""Where to solve along an interval of alphas."""

from __future__ import annotations

import numpy as np

from marginrank.types import Vector

# At large alpha a model is hardly more than the gradient at zero over alpha, and a start is often all that a
# solution takes. At small alpha starts are worse, and models between knots need knots of their own. By this
# much for each decade, steps are longer than their mean at the upper end and shorter at the lower one: on
# film reviews that saves a tenth of the passes at eps = 1e-3, anything from 0.05 to 0.15 about the same. With
# few features, where steps cost about the same everywhere, it does not pay.
_PER_DECADE, _LARGEST = 0.1, 0.5


def knots_between(alpha_max: float, alpha_min: float, steps: int, *, even: bool) -> Vector:
    """Return ``steps + 1`` alphas from ``alpha_max`` to ``alpha_min``, both exact.

    Their ratios are all the same, or fall on the way down.

    Examples
    --------
    >>> alphas = knots_between(1.0, 1e-4, 4, even=False)
    >>> (alphas[:-1] / alphas[1:]).round(1)
    array([20. , 12.6,  7.9,  5. ])
    """
    part = np.linspace(0.0, 1.0, steps + 1)
    if not even:
        decades = float(np.log10(alpha_max / alpha_min))
        part += min(_PER_DECADE * decades, _LARGEST) * part * (1.0 - part)
    alphas: Vector = alpha_max * (alpha_min / alpha_max) ** part
    alphas[0], alphas[-1] = alpha_max, alpha_min
    return alphas
