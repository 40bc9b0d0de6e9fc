"""Feature maps as graphs: what ``transform`` computes, in operators that every runtime has."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from marginrank.data.matrices import as_dense
from marginrank.export.base import Mapping as InputMapping
from marginrank.export.graphs import Graph
from marginrank.types import Vector


def add_map(graph: Graph, x: str, mapping: InputMapping, coef: Vector) -> str:
    """Add scores of mapped rows, as a column, and return their name."""
    z = x
    if mapping.multiplier is not None:
        z = graph.add("Mul", z, graph.constant(mapping.multiplier))
        if mapping.offset is not None:
            z = graph.add("Add", z, graph.constant(mapping.offset))
    feature_map: Any = mapping.feature_map
    scores = _MAPS[feature_map.map_name](graph, z, feature_map, coef)
    if mapping.linear_coef is not None:
        scores = graph.add("Add", scores, graph.product(x, mapping.linear_coef[:, None]))
    return scores


def _fourier(graph: Graph, z: str, feature_map: Any, coef: Vector) -> str:
    centred = graph.add("Sub", z, graph.constant(feature_map.centre_))
    angles = graph.add(
        "Add", graph.product(centred, feature_map.frequencies_), graph.constant(feature_map.phases_)
    )
    return graph.product(graph.add("Cos", angles), np.sqrt(2.0 / len(coef)) * coef[:, None])


def _nystroem(graph: Graph, z: str, feature_map: Any, coef: Vector) -> str:
    from marginrank.feature_maps.kernel_units import KernelUnits  # with scikit-learn, slow to import

    duals = (feature_map.whitening_ @ coef)[:, None]
    kernel = feature_map.kernel
    if kernel == "precomputed":
        numbers = graph.constant(feature_map.landmarks_, np.int64)
        return graph.product(graph.add("Gather", z, numbers, axis=1), duals)
    parameters = {"gamma": feature_map.gamma_, "degree": feature_map.degree, "coef0": feature_map.coef0}
    landmarks = np.asarray(as_dense(feature_map.landmarks_), dtype=np.float64)
    units = KernelUnits(kernel, parameters)
    landmarks = np.asarray(units.rows(landmarks))
    if kernel != "cosine":  # which needs no unit
        unit = float(np.asarray(units.rows(np.ones((1, 1))))[0, 0])
        z = z if unit == 1.0 else graph.add("Mul", z, graph.constant(np.array(unit)))
    return graph.product(_KERNELS[kernel](graph, z, landmarks, units.parameters), duals)


_MAPS: Mapping[str, Callable[[Graph, str, Any, Vector], str]] = {"fourier": _fourier, "nystroem": _nystroem}


def _rbf(graph: Graph, z: str, landmarks: NDArray[np.float64], parameters: Mapping[str, Any]) -> str:
    """``exp(2 gamma x.l - gamma |x|^2 - gamma |l|^2)`` about the centre, as the library computes it."""
    gamma, centre = float(parameters["gamma"]), landmarks.mean(axis=0)
    centred = landmarks - centre
    x = graph.add("Sub", z, graph.constant(centre))
    squares = graph.add("ReduceSumSquare", x, axes=[1], keepdims=1)
    exponent = graph.add(
        "Sub",
        graph.product(x, 2.0 * gamma * centred.T),
        graph.add("Mul", squares, graph.constant(np.array(gamma))),
    )
    offsets = graph.constant(gamma * np.einsum("ij,ij->i", centred, centred))
    exponent = graph.add("Sub", exponent, offsets)
    return graph.add("Exp", graph.add("Min", exponent, graph.constant(np.array(0.0))))


def _polynomial(graph: Graph, z: str, landmarks: NDArray[np.float64], parameters: Mapping[str, Any]) -> str:
    gamma, degree, coef0 = (float(parameters[name]) for name in ("gamma", "degree", "coef0"))
    base = graph.add("Add", graph.product(z, gamma * landmarks.T), graph.constant(np.array(coef0)))
    return graph.add("Pow", base, graph.constant(np.array(degree)))


def _cosine(graph: Graph, z: str, landmarks: NDArray[np.float64], parameters: Mapping[str, Any]) -> str:
    lengths = np.linalg.norm(landmarks, axis=1, keepdims=True)
    directions = landmarks / np.where(lengths > 0.0, lengths, 1.0)
    length = graph.add("Sqrt", graph.add("ReduceSumSquare", z, axes=[1], keepdims=1))
    zero = graph.add("Equal", length, graph.constant(np.array(0.0)))
    length = graph.add("Where", zero, graph.constant(np.array(1.0)), length)
    return graph.product(graph.add("Div", z, length), directions.T)


def _laplacian(graph: Graph, z: str, landmarks: NDArray[np.float64], parameters: Mapping[str, Any]) -> str:
    apart = graph.add("Abs", graph.add("Sub", _each(graph, z), graph.constant(landmarks)))
    return _exponential(graph, apart, float(parameters["gamma"]))


def _chi2(graph: Graph, z: str, landmarks: NDArray[np.float64], parameters: Mapping[str, Any]) -> str:
    rows, others = _each(graph, z), graph.constant(landmarks)
    apart, both = graph.add("Sub", rows, others), graph.add("Add", rows, others)
    zero = graph.add("Equal", both, graph.constant(np.array(0.0)))
    both = graph.add("Where", zero, graph.constant(np.array(1.0)), both)
    terms = graph.add("Div", graph.add("Mul", apart, apart), both)
    return _exponential(graph, terms, float(parameters["gamma"]))


def _each(graph: Graph, z: str) -> str:
    """Return rows of shape (n_rows, 1, n_features), to meet every landmark."""
    return graph.add("Unsqueeze", z, graph.constant(np.array([1]), np.int64))


def _exponential(graph: Graph, terms: str, gamma: float) -> str:
    sums = graph.add("ReduceSum", terms, graph.constant(np.array([2]), np.int64), keepdims=0)
    return graph.add("Exp", graph.add("Mul", sums, graph.constant(np.array(-gamma))))


_KERNELS: Mapping[str, Callable[[Graph, str, NDArray[np.float64], Mapping[str, Any]], str]] = {
    "rbf": _rbf,
    "laplacian": _laplacian,
    "polynomial": _polynomial,
    "cosine": _cosine,
    "chi2": _chi2,
}
