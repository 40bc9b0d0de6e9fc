"""Feature maps as graphs: what ``transform`` computes, in operators that every runtime has."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from marginrank.data.matrices import as_dense
from marginrank.designs.blocks import block_weights
from marginrank.export.base import Mapping as InputMapping
from marginrank.export.graphs import Graph
from marginrank.export.ordered_sums import dot, exponential, product
from marginrank.types import Vector

if TYPE_CHECKING:
    from marginrank.feature_maps.kernel_columns import KernelColumns

Landmarks: TypeAlias = NDArray[np.float64]


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
        scores = graph.add("Add", scores, dot(graph, x, mapping.linear_coef))
    return scores


def _fourier(graph: Graph, z: str, feature_map: Any, coef: Vector) -> str:
    centred = graph.add("Sub", z, graph.constant(feature_map.centre_))
    # A quarter of a turn on, because most releases of onnxruntime have no cosine in float64 (1.28 has none).
    phases = np.asarray(feature_map.phases_, dtype=np.float64) + np.pi / 2
    angles = graph.add("Add", graph.product(centred, feature_map.frequencies_), graph.constant(phases))
    return graph.product(graph.add("Sin", angles), np.sqrt(2.0 / len(coef)) * coef[:, None])


def _nystroem(graph: Graph, z: str, feature_map: Any, coef: Vector) -> str:
    # With scikit-learn, slow to import.
    from marginrank.feature_maps.kernel_columns import KernelColumns
    from marginrank.feature_maps.kernel_units import KernelUnits

    duals = block_weights(feature_map.whitening_, coef)
    kernel = feature_map.kernel
    if kernel == "precomputed":
        numbers = graph.constant(feature_map.landmarks_, np.int64)
        return dot(graph, graph.add("Gather", z, numbers, axis=1), duals)
    parameters = {"gamma": feature_map.gamma_, "degree": feature_map.degree, "coef0": feature_map.coef0}
    landmarks = np.asarray(as_dense(feature_map.landmarks_), dtype=np.float64)
    units = KernelUnits(kernel, parameters)
    if kernel != "cosine":  # which needs no unit
        unit = float(np.asarray(units.rows(np.ones((1, 1))))[0, 0])
        # For each column, as one factor for all would be rounded to float32 by onnxruntime.
        z = z if unit == 1.0 else graph.add("Mul", z, graph.constant(np.full(landmarks.shape[1], unit)))
    columns = KernelColumns(kernel, landmarks, parameters, np.dtype(np.float64))
    landmarks = np.asarray(units.rows(landmarks))
    return dot(graph, _KERNELS[kernel](graph, z, columns, landmarks, units.parameters), duals)


_MAPS: Mapping[str, Callable[[Graph, str, Any, Vector], str]] = {"fourier": _fourier, "nystroem": _nystroem}


def _rbf(
    graph: Graph, z: str, columns: KernelColumns, landmarks: Landmarks, parameters: Mapping[str, Any]
) -> str:
    """``exp(2 gamma x.l - gamma |x|^2 - gamma |l|^2)`` about the centre, as the library computes it."""
    x = graph.add("Sub", z, graph.constant(columns.centre))
    squares = product(graph, graph.add("Mul", x, x), np.ones((len(columns.centre), 1)))
    wide = graph.add("Concat", x, squares, graph.filled(x, 1, 1.0), axis=1)
    exponent = product(graph, wide, columns.product_matrix)
    values = exponential(graph, graph.add("Min", exponent, graph.constant(np.array(0.0))))
    far = columns.far_landmarks
    if not len(far):
        return values
    apart = graph.add("Sub", _each(graph, z), graph.constant(landmarks[far]))
    others = _exponential(graph, graph.add("Mul", apart, apart), float(parameters["gamma"]))
    places = np.arange(len(landmarks))
    places[far] = len(landmarks) + np.arange(len(far))
    both = graph.add("Concat", values, others, axis=1)
    return graph.add("Gather", both, graph.constant(places, np.int64), axis=1)


def _polynomial(
    graph: Graph, z: str, columns: KernelColumns, landmarks: Landmarks, parameters: Mapping[str, Any]
) -> str:
    from marginrank.feature_maps.kernel_columns import power_by_products  # with scikit-learn

    gamma, degree, coef0 = (float(parameters[name]) for name in ("gamma", "degree", "coef0"))
    if graph.ordered:
        products = product(graph, z, columns.product_matrix)
        scaled = graph.add("Mul", products, graph.constant(np.array(gamma)))
    else:  # onnxruntime would make one operator of a product and a factor, and round the factor to float32
        scaled = product(graph, z, gamma * columns.product_matrix)
    base = graph.add("Add", scaled, graph.constant(np.array(coef0)))
    factors = power_by_products(degree)
    if factors is None:
        return graph.add("Pow", base, graph.constant(np.array(degree)))
    power = base
    for by_itself in factors:
        power = graph.add("Mul", power, power if by_itself else base)
    return power


def _cosine(
    graph: Graph, z: str, columns: KernelColumns, landmarks: Landmarks, parameters: Mapping[str, Any]
) -> str:
    matrix = columns.product_matrix
    squares = product(graph, graph.add("Mul", z, z), np.ones((len(matrix), 1)))
    length = graph.add("Sqrt", squares)
    zero = graph.add("Equal", length, graph.constant(np.array(0.0)))
    length = graph.add("Where", zero, graph.constant(np.array(1.0)), length)
    return product(graph, graph.add("Div", z, length), matrix)


def _laplacian(
    graph: Graph, z: str, columns: KernelColumns, landmarks: Landmarks, parameters: Mapping[str, Any]
) -> str:
    apart = graph.add("Abs", graph.add("Sub", _each(graph, z), graph.constant(landmarks)))
    return _exponential(graph, apart, float(parameters["gamma"]))


def _chi2(
    graph: Graph, z: str, columns: KernelColumns, landmarks: Landmarks, parameters: Mapping[str, Any]
) -> str:
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


_KERNELS: Mapping[str, Callable[[Graph, str, KernelColumns, Landmarks, Mapping[str, Any]], str]] = {
    "rbf": _rbf,
    "laplacian": _laplacian,
    "polynomial": _polynomial,
    "cosine": _cosine,
    "chi2": _chi2,
}
