"""A graph of operators in the making, which knows nothing of ONNX but the names of its operators."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray


def type_code(dtype: np.dtype[Any]) -> int:
    """Return the number that ONNX has for a type of numbers: ``TensorProto.FLOAT`` or ``DOUBLE``.

    Examples
    --------
    >>> type_code(np.dtype("float32")), type_code(np.dtype("float64"))
    (1, 11)
    """
    return 1 if dtype == np.float32 else 11


class Graph:
    """Operators in order, and their constants.

    Parameters
    ----------
    dtype : dtype
        Of the numbers that go in and come out: float32 or float64.
    inner : dtype, optional
        Of all other numbers that are not whole; by default the same.

    Examples
    --------
    >>> graph = Graph(np.dtype("float64"))
    >>> graph.add("Exp", graph.product("x", np.ones((2, 1))))
    't2'
    >>> [(operator, inputs, output) for operator, inputs, output, _ in graph.nodes]
    [('MatMul', ['x', 'c1'], 't1'), ('Exp', ['t1'], 't2')]
    """

    def __init__(self, dtype: np.dtype[Any], inner: np.dtype[Any] | None = None) -> None:
        self.dtype = dtype
        self.inner = inner or dtype
        self.nodes: list[tuple[str, list[str], str, dict[str, Any]]] = []
        self.constants: dict[str, NDArray[Any]] = {}

    def add(self, operator: str, *inputs: str, **attributes: Any) -> str:
        """Add an operator, and return the name of its result."""
        name = f"t{len(self.nodes) + 1}"
        self.nodes.append((operator, list(inputs), name, attributes))
        return name

    def taken(self, x: str) -> str:
        """Return an input in the numbers of the inside."""
        return x if self.dtype == self.inner else self.add("Cast", x, to=type_code(self.inner))

    def given(self, x: str) -> str:
        """Return a result in the numbers of the outside."""
        return x if self.dtype == self.inner else self.add("Cast", x, to=type_code(self.dtype))

    def constant(self, values: NDArray[Any], dtype: Any = None) -> str:
        """Add a constant, and return its name."""
        name = f"c{len(self.constants) + 1}"
        with np.errstate(over="ignore"):
            self.constants[name] = (
                np.ascontiguousarray(values).astype(dtype or self.inner).reshape(values.shape)
            )
        return name

    def product(self, x: str, matrix: NDArray[Any]) -> str:
        """Multiply rows by a constant matrix."""
        return self.add("MatMul", x, self.constant(matrix))
