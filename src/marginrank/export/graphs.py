"""A graph of operators in the making, which knows nothing of ONNX but the names of its operators."""

from __future__ import annotations

from dataclasses import dataclass
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

    @property
    def ordered(self) -> bool:
        """Whether sums have the order of the library's own, so that scores have its bits.

        Only in float64 throughout: a float32 result is rounded to far less than what an order changes.
        """
        return self.dtype == np.float64

    def constant(self, values: NDArray[Any], dtype: Any = None) -> str:
        """Add a constant, and return its name."""
        name = f"c{len(self.constants) + 1}"
        with np.errstate(over="ignore"):
            self.constants[name] = (
                np.ascontiguousarray(values).astype(dtype or self.inner).reshape(values.shape)
            )
        return name

    def numbers(self, *values: int) -> str:
        """Add a constant list of whole numbers, and return its name."""
        return self.constant(np.array(values), np.int64)

    def product(self, x: str, matrix: NDArray[Any]) -> str:
        """Multiply rows by a constant matrix, in whatever order of sums."""
        return self.add("MatMul", x, self.constant(matrix))

    def columns(self, x: str, first: int, last: int) -> str:
        """Take the columns from ``first`` to before ``last``."""
        return self.add("Slice", x, self.numbers(first), self.numbers(last), self.numbers(1))

    def filled(self, x: str, width: int, value: float) -> str:
        """Make as many rows as x has, of so many equal numbers."""
        n_rows = self.add("Gather", self.add("Shape", x), self.numbers(0))
        shape = self.add("Concat", n_rows, self.numbers(width), axis=0)
        return self.add("Expand", self.constant(np.full((1, 1), value)), shape)


@dataclass(frozen=True)
class Step:
    """What a sum does with each part of its inputs: adds it, or the product of the two."""

    multiplies: bool
    width: int
