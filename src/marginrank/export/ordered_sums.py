"""Sums of a graph in the order in which the library makes its own, so that every runtime gives the same bits.

A runtime sums a matrix product in any order, and its exponential may be off by a last place. Where weights of
landmarks cancel, that is 1e-11 of the scores and more. A scan adds one term after the other, and operators on
single numbers are rounded in one way only. It takes about eight times as long as a matrix product; graphs
that give float32 do without.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from marginrank.export.graphs import Graph, Step
from marginrank.types import Vector

# Of RowProduct (row_product.hpp): products are added in blocks of so many.
_DEPTH = 256
# Of the scores of dense rows (matrix.hpp): so many sums at a time.
_LANES = 8
# Of exponential.hpp: exp(-t) is 2^-n exp(z), and 0 from the largest t on.
_LARGEST, _SHIFT, _LOG2_E = 708.0, float.fromhex("0x1.8p52"), float.fromhex("0x1.71547652b82fep0")
_LN2, _LN2_REST = float.fromhex("0x1.62e42feep-1"), float.fromhex("0x1.a39ef35793c76p-33")
_SERIES = (6227020800, 479001600, 39916800, 3628800, 362880, 40320, 5040, 720, 120, 24, 6, 2, 1, 1)


def product(graph: Graph, x: str, matrix: NDArray[np.float64]) -> str:
    """Multiply rows by a constant matrix, as ``RowProduct`` does."""
    if not graph.ordered:
        return graph.product(x, matrix)
    depth, width = matrix.shape
    total = ""
    for first in range(0, depth, _DEPTH):
        last = min(first + _DEPTH, depth)
        part = x if last - first == depth else graph.columns(x, first, last)
        columns = graph.add(
            "Unsqueeze", graph.add("Transpose", part, perm=[1, 0]), graph.numbers(2)
        )  # one after the other, each to meet a row of the matrix
        weights = graph.constant(matrix[first:last, None, :])
        start = graph.filled(x, width, 0.0)
        block = graph.add("Scan", start, columns, weights, body=Step(True, width), num_scan_inputs=2)
        total = graph.add("Add", total, block) if total else block
    return total


def dot(graph: Graph, x: str, weights: Vector) -> str:
    """Return each row's sum of products with weights, as a column, as the library scores dense rows."""
    if not graph.ordered:
        return graph.product(x, weights[:, None])
    n_columns = len(weights)
    whole = n_columns // _LANES * _LANES
    products = graph.add("Mul", x, graph.constant(weights))
    total = ""
    if whole:
        shape = graph.numbers(0, whole // _LANES, _LANES)
        lanes = graph.add("Reshape", graph.columns(products, 0, whole), shape)
        lanes = graph.add("Transpose", lanes, perm=[1, 0, 2])
        start = graph.filled(x, _LANES, 0.0)
        total = graph.add("Scan", start, lanes, body=Step(False, _LANES), num_scan_inputs=1)
        for half in (4, 2, 1):
            total = graph.add("Add", graph.columns(total, 0, half), graph.columns(total, half, 2 * half))
    tail = ""
    for k in range(whole, n_columns):
        one = graph.columns(products, k, k + 1)
        tail = graph.add("Add", tail, one) if tail else one
    return graph.add("Add", total, tail) if total and tail else total or tail


def exponential(graph: Graph, x: str) -> str:
    """Return exp of numbers that are not positive, as ``exponential.hpp`` does."""
    if not graph.ordered:
        return graph.add("Exp", x)
    number = {
        name: graph.constant(np.array(value))
        for name, value in (
            ("largest", _LARGEST),
            ("shift", _SHIFT),
            ("log2_e", _LOG2_E),
            ("ln2", _LN2),
            ("rest", _LN2_REST),
        )
    }
    t = graph.add("Neg", x)
    inside = graph.add("Min", t, number["largest"])
    shifted = graph.add("Add", graph.add("Mul", inside, number["log2_e"]), number["shift"])
    n = graph.add("Sub", shifted, number["shift"])
    z = graph.add("Sub", graph.add("Mul", n, number["ln2"]), inside)
    z = graph.add("Add", z, graph.add("Mul", n, number["rest"]))
    first, *others = (graph.constant(np.array(1.0 / factorial)) for factorial in _SERIES)
    series = first
    for coefficient in others:
        series = graph.add("Add", graph.add("Mul", series, z), coefficient)
    halves = graph.constant(np.ldexp(1.0, -np.arange(1024)))
    power = graph.add("Gather", halves, graph.add("Cast", n, to=7))  # TensorProto.INT64
    found = graph.add("Mul", series, power)
    zero = graph.constant(np.array(0.0))
    return graph.add("Where", graph.add("Less", t, number["largest"]), found, zero)
