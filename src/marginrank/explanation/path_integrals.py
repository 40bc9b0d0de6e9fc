"""What each column adds to the difference of two scores of a feature map: integrated gradients.

The two rows are joined by a straight line in the columns. Along it the score ``f`` changes by the sum over
columns of ``(a_j - b_j) df/dx_j``, and the integral of each term is the contribution of its column. So
contributions add up to ``f(a) - f(b)``; a column in which the rows agree contributes 0; and a linear score
gets ``w_j (a_j - b_j)``. The integrals of Fourier features and of the laplacian kernel are closed forms,
those of the other kernels are computed by Gauss-Legendre quadrature until they no longer change.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.distance import cdist

from marginrank.data.matrices import as_dense
from marginrank.exceptions import MarginRankError
from marginrank.types import Vector

_Gradient = Callable[[NDArray[np.float64]], tuple[NDArray[np.float64], NDArray[np.float64]]]
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(16)
_NODES, _WEIGHTS = (_NODES + 1.0) / 2.0, _WEIGHTS / 2.0
_MOST_PANELS = 1024
_TOLERANCE = 1e-12
# Rounding of a sum of kernel values, as a part of the sum of their sizes.
_ROUNDING = 1e-14


class Map(Protocol):
    """A fitted feature map, by its name and state."""

    map_name: str

    def to_state(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        """Return what a file keeps of it."""


def map_contributions(feature_map: Map, coef: Vector, start: Vector, end: Vector) -> Vector:
    """Return what each column contributes to ``f(end) - f(start)``, for ``f`` the map's features times coef.

    Examples
    --------
    >>> from marginrank import FourierFeatures
    >>> X = np.random.default_rng(0).normal(size=(9, 3))
    >>> fitted = FourierFeatures(n_components=8, dtype="float64", random_state=0).fit(X)
    >>> w = np.ones(8)
    >>> margin = fitted.transform(X[:2]) @ w
    >>> found = map_contributions(fitted, w, X[1], X[0])
    >>> bool(abs(found.sum() - (margin[0] - margin[1])) < 1e-12)
    True
    """
    return _MAPS[feature_map.map_name](feature_map, coef, start, end)


def _fourier(feature_map: Any, coef: Vector, start: Vector, end: Vector) -> Vector:
    """Integrate ``sqrt(2/D) sum_k w_k cos(u_k . (x - c) + b_k)``.

    The mean of the sine between two angles is ``sin(middle) sin(half) / half``.
    """
    frequencies = feature_map.frequencies_.astype(np.float64)
    half = (end - start) @ frequencies / 2.0
    middle = ((start - feature_map.centre_) + (end - start) / 2.0) @ frequencies + feature_map.phases_
    slopes = -np.sqrt(2.0 / len(coef)) * coef * np.sin(middle) * np.sinc(half / np.pi)
    return np.asarray((frequencies @ slopes) * (end - start))


def _nystroem(feature_map: Any, coef: Vector, start: Vector, end: Vector) -> Vector:
    """Integrate ``sum_m beta_m k(x, l_m)`` with ``beta = T coef``."""
    duals = feature_map.whitening_ @ coef
    kernel = feature_map.kernel
    if kernel == "precomputed":  # the columns are kernel values themselves
        found = np.zeros(len(start))
        numbers = feature_map.landmarks_
        found[numbers] = duals * (end - start)[numbers]
        return found
    landmarks = np.asarray(as_dense(feature_map.landmarks_), dtype=np.float64)
    parameters = {"gamma": feature_map.gamma_, "degree": feature_map.degree, "coef0": feature_map.coef0}
    if kernel == "cosine":  # of any unit
        unit = max(float(np.abs(start).max()), float(np.abs(end).max())) or 1.0
        start, end = start / unit, end / unit
        landmarks = landmarks / np.maximum(np.abs(landmarks).max(axis=1), 1e-300)[:, None]
    else:
        from marginrank.feature_maps.kernel_units import KernelUnits  # with scikit-learn, slow to import

        units = KernelUnits(kernel, parameters)
        start, end, landmarks = (
            np.asarray(units.rows(rows), dtype=np.float64) for rows in (start[None], end[None], landmarks)
        )
        start, end, parameters = start[0], end[0], units.parameters
    if kernel == "laplacian":
        return _laplacian(duals, landmarks, float(parameters["gamma"]), start, end)
    gradient = _GRADIENTS[kernel](duals, landmarks, parameters)
    return _integrated(gradient, float(np.abs(duals).sum()), start, end)


_MAPS: Mapping[str, Callable[[Any, Vector, Vector, Vector], Vector]] = {
    "fourier": _fourier,
    "nystroem": _nystroem,
}


def _integrated(gradient: _Gradient, size: float, start: Vector, end: Vector) -> Vector:
    """Integrate a gradient from start to end, on twice as many panels until nothing changes any more."""
    step = end - start
    (first, last), _ = gradient(np.stack([start, end]))
    before = np.full(len(step), np.inf)
    n_panels = 1
    while n_panels <= _MOST_PANELS:
        found = np.zeros(len(step))
        for panel in range(n_panels):
            at = (panel + _NODES) / n_panels
            slopes = gradient(start + at[:, None] * step)[1]
            found += (_WEIGHTS / n_panels) @ slopes
        found *= step
        allowed = _TOLERANCE * float(np.abs(found).sum()) + _ROUNDING * size
        rest = float(last - first) - float(found.sum())
        if np.abs(found - before).max() <= allowed and abs(rest) <= 10.0 * allowed:
            return _with_rest(found, rest)
        before, n_panels = found, 2 * n_panels
    raise MarginRankError(
        "The scores change too often between the two rows for an explanation; train with a smaller gamma, or "
        "compare rows that are closer to each other."
    )


def _with_rest(found: Vector, rest: float) -> Vector:
    """Share out what rounding has left of the difference of the scores, in proportion to contributions."""
    sizes = np.abs(found)
    total = float(sizes.sum())
    return found if total == 0.0 else found + rest * sizes / total


def _laplacian(
    duals: Vector, landmarks: NDArray[np.float64], gamma: float, start: Vector, end: Vector
) -> Vector:
    """Integrate ``exp(-gamma |x - l|_1)``, whose logarithm is linear between the places where x_j is l_j.

    A column pulls the score towards a landmark before it passes it, and away from it afterwards.
    """
    step = end - start
    moving = np.flatnonzero(step)
    found = np.zeros(len(step))
    if len(moving) == 0:
        return found
    with np.errstate(over="ignore"):
        passing = np.clip((landmarks[:, moving] - start[moving]) / step[moving], 0.0, 1.0)
    order = np.argsort(passing, axis=1, kind="stable")
    places = np.take_along_axis(passing, order, axis=1)
    lengths = np.abs(step[moving])[order]
    bounds = np.concatenate([np.zeros((len(places), 1)), places, np.ones((len(places), 1))], axis=1)
    widths = np.diff(bounds, axis=1)
    passed = np.concatenate([np.zeros((len(places), 1)), np.cumsum(lengths, axis=1)], axis=1)
    slopes = -gamma * (2.0 * passed - passed[:, -1:])
    logs = -gamma * np.abs(landmarks - start).sum(axis=1)[:, None] + np.concatenate(
        [np.zeros((len(places), 1)), np.cumsum(slopes * widths, axis=1)], axis=1
    )
    areas = _mean_exponential(logs[:, :-1], logs[:, 1:]) * widths
    before = np.cumsum(areas, axis=1)[:, :-1]
    pulls = gamma * lengths * (2.0 * before - areas.sum(axis=1, keepdims=True)) * duals[:, None]
    np.add.at(found, moving[order], pulls)
    return found


def _mean_exponential(low: NDArray[np.float64], high: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the mean of ``exp`` between two numbers.

    Examples
    --------
    >>> _mean_exponential(np.array([0.0, 0.0]), np.array([0.0, 1.0])).round(6).tolist()
    [1.0, 1.718282]
    """
    top, gap = np.maximum(low, high), np.abs(high - low)
    share = np.ones_like(gap)
    np.divide(-np.expm1(-gap), gap, out=share, where=gap > 0.0)
    return np.asarray(np.exp(top) * share)


def _rbf(duals: Vector, landmarks: NDArray[np.float64], parameters: Mapping[str, Any]) -> _Gradient:
    gamma, centre = float(parameters["gamma"]), landmarks.mean(axis=0)
    centred = landmarks - centre

    def gradient(points: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        points = points - centre
        weighed = np.exp(-gamma * cdist(points, centred, "sqeuclidean")) * duals
        values = weighed.sum(axis=1)
        return values, -2.0 * gamma * (points * values[:, None] - weighed @ centred)

    return gradient


def _polynomial(duals: Vector, landmarks: NDArray[np.float64], parameters: Mapping[str, Any]) -> _Gradient:
    gamma, degree, coef0 = (float(parameters[name]) for name in ("gamma", "degree", "coef0"))

    def gradient(points: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        base = gamma * (points @ landmarks.T) + coef0
        slopes = (degree * gamma) * base ** (degree - 1.0) * duals
        return base**degree @ duals, slopes @ landmarks

    return gradient


def _cosine(duals: Vector, landmarks: NDArray[np.float64], parameters: Mapping[str, Any]) -> _Gradient:
    directions = landmarks / np.maximum(np.linalg.norm(landmarks, axis=1), 1e-300)[:, None]
    sums = duals @ directions  # the score is x . sums / |x|

    def gradient(points: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        length = np.linalg.norm(points, axis=1)[:, None]
        length[length == 0.0] = 1.0
        values = points @ sums / length[:, 0]
        return values, (sums - points / length * values[:, None]) / length

    return gradient


def _chi2(duals: Vector, landmarks: NDArray[np.float64], parameters: Mapping[str, Any]) -> _Gradient:
    gamma = float(parameters["gamma"])

    def gradient(points: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        values, slopes = np.empty(len(points)), np.empty_like(points)
        for k, point in enumerate(points):
            both = point + landmarks
            both[both == 0.0] = 1.0
            apart = point - landmarks
            weighed = np.exp(-gamma * (apart**2 / both).sum(axis=1)) * duals
            values[k] = weighed.sum()
            slopes[k] = -gamma * (weighed @ (apart * (both + 2.0 * landmarks) / both**2))
        return values, slopes

    return gradient


_GRADIENTS: Mapping[str, Callable[[Vector, NDArray[np.float64], Mapping[str, Any]], _Gradient]] = {
    "rbf": _rbf,
    "polynomial": _polynomial,
    "cosine": _cosine,
    "chi2": _chi2,
}
