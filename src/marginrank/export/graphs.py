"""A graph of operators in the making, which knows nothing of ONNX but the names of its operators."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray


class Graph:
    """Operators in order, and their constants.

    Parameters
    ----------
    dtype : dtype
        Of all numbers that are not whole: float32 or float64.

    Examples
    --------
    >>> graph = Graph(np.dtype("float64"))
    >>> graph.add("Exp", graph.product("x", np.ones((2, 1))))
    't2'
    >>> [(operator, inputs, output) for operator, inputs, output, _ in graph.nodes]
    [('MatMul', ['x', 'c1'], 't1'), ('Exp', ['t1'], 't2')]
    """

    def __init__(self, dtype: np.dtype[Any]) -> None:
        self.dtype = dtype
        self.nodes: list[tuple[str, list[str], str, dict[str, Any]]] = []
        self.constants: dict[str, NDArray[Any]] = {}

    @property
    def type_name(self) -> str:
        """What ONNX calls the numbers."""
        return "FLOAT" if self.dtype == np.float32 else "DOUBLE"

    def add(self, operator: str, *inputs: str, **attributes: Any) -> str:
        """Add an operator, and return the name of its result."""
        name = f"t{len(self.nodes) + 1}"
        self.nodes.append((operator, list(inputs), name, attributes))
        return name

    def constant(self, values: NDArray[Any], dtype: Any = None) -> str:
        """Add a constant, and return its name."""
        name = f"c{len(self.constants) + 1}"
        with np.errstate(over="ignore"):
            self.constants[name] = (
                np.ascontiguousarray(values).astype(dtype or self.dtype).reshape(values.shape)
            )
        return name

    def product(self, x: str, matrix: NDArray[Any]) -> str:
        """Multiply rows by a constant matrix."""
        return self.add("MatMul", x, self.constant(matrix))
