"""Models as ONNX graphs, in float64 or float32: for any runtime of it, kernels included.

The input ``features`` is a matrix with all columns of the model, in their order; the output ``scores`` has a
number for each row. Normalisation within queries takes the rows of a batch for one query. A feature map is
written out: distances and products with the landmarks, exponentials, cosines, always in float64, with casts
where input and output are float32.
"""

from __future__ import annotations

import json
from importlib import import_module
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from marginrank.exceptions import MarginRankError
from marginrank.export.base import ExportedModel, Options, Scorer, Target, Written, used_columns
from marginrank.export.graphs import Graph, Step, type_code
from marginrank.export.map_graphs import add_map
from marginrank.export.numbers import check_float32
from marginrank.types import Rows, Vector

# Of the operators: every runtime since 2020 has it.
_OPSET = 13
_IR_VERSION = 7


class Onnx(Target):
    """A graph of ONNX, with one input and one output."""

    name: ClassVar[str] = "onnx"
    title: ClassVar[str] = "ONNX in float32"
    takes: ClassVar[frozenset[str]] = frozenset({"dtype"})
    holds_kernels: ClassVar[bool] = True
    holds_query_normalization: ClassVar[bool] = True

    def float32(self, options: Options) -> bool:
        """Scores are of the dtype that was asked for."""
        return options.dtype == "float32"

    def roundings(self, options: Options, n_terms: int) -> Vector:
        """Value, weight and product; then sums in an order that is the runtime's."""
        return np.full(n_terms, n_terms + 2.0)

    def write(self, model: ExportedModel, options: Options) -> Written:
        """Return a graph."""
        onnx = _onnx()
        dtype = np.dtype(options.dtype or "float64")
        # The terms of a feature map are large and cancel: float32 would lose up to 1e-2 of the spread.
        graph = Graph(dtype, None if model.mapping is None else np.dtype("float64"))
        if self.float32(options) and model.mapping is None:
            check_float32(model.coef, options.names, self.title)
        x = graph.taken("features")
        x = x if model.query_normalization is None else _normalized(graph, x)
        if model.mapping is None:
            scores, features = graph.product(x, model.coef[:, None]), used_columns(model.coef)
        else:
            scores, features = add_map(graph, x, model.mapping, model.coef), np.arange(model.n_features)
        constant = _dropped_constant(model) if graph.inner != graph.dtype else 0.0
        shift = graph.constant(np.array(model.intercept - constant))
        scores = graph.given(graph.add("Add", scores, shift))
        graph.nodes.append(("Reshape", [scores, graph.constant(np.array([-1]), np.int64)], "scores", {}))
        properties = {"columns": json.dumps(options.names), "dropped_constant": repr(constant)}
        return Written(_serialized(onnx, graph, model, options, properties), features)

    def scorer(self, content: bytes, options: Options) -> Scorer:
        """Return what runs the graph, a query at a time: by onnxruntime, or else by onnx itself."""
        run = _runner(content)
        dtype = np.dtype(options.dtype or "float64")

        def score(X: NDArray[np.float64], queries: Rows) -> Vector:
            scores = np.empty(len(X))
            order = np.argsort(queries, kind="stable")
            starts = np.flatnonzero(np.diff(queries[order], prepend=-1))
            with np.errstate(over="ignore"):
                for rows in np.split(order, starts[1:]):
                    scores[rows] = run(X[rows].astype(dtype))
            return scores

        return score


def _normalized(graph: Graph, x: str) -> str:
    """Scale columns to [0, 1] over the rows of the batch; one that is constant becomes 0."""
    low = graph.add("ReduceMin", x, axes=[0], keepdims=1)
    high = graph.add("ReduceMax", x, axes=[0], keepdims=1)
    span = graph.add("Sub", high, low)
    one = graph.constant(np.array(1.0))
    flat = graph.add("Equal", span, graph.constant(np.array(0.0)))
    return graph.add("Div", graph.add("Sub", x, low), graph.add("Where", flat, one, span))


def _dropped_constant(model: ExportedModel) -> float:
    """Return the score of the mean training row, about which float32 tells scores best apart."""
    if model.mapping is None or model.column_statistics is None:
        return 0.0
    middle = model.column_statistics.mean[None, :]
    return float(model.mapping.scores(middle, model.coef, n_threads=1)[0]) + model.intercept


def _serialized(
    onnx: Any, graph: Graph, model: ExportedModel, options: Options, properties: dict[str, str]
) -> bytes:
    helper, kind = onnx.helper, type_code(graph.dtype)
    nodes = [
        # With names: onnxruntime 1.20 joins nodes that have none into several of one name, which it refuses.
        helper.make_node(operator, inputs, [output], output, **_attributes(helper, kind, attributes))
        for operator, inputs, output, attributes in graph.nodes
    ]
    whole = helper.make_graph(
        nodes,
        options.model_name,
        [helper.make_tensor_value_info("features", kind, ["n_rows", model.n_features])],
        [helper.make_tensor_value_info("scores", kind, ["n_rows"])],
        [onnx.numpy_helper.from_array(values, name) for name, values in graph.constants.items()],
    )
    made = helper.make_model(
        whole,
        producer_name="marginrank",
        ir_version=_IR_VERSION,
        opset_imports=[helper.make_opsetid("", _OPSET)],
        doc_string="Scores; higher is better within a query."
        + ("" if model.query_normalization is None else " One query a batch."),
    )
    helper.set_model_props(made, properties)
    onnx.checker.check_model(made)
    content: bytes = made.SerializeToString(deterministic=True)
    return content


def _attributes(helper: Any, kind: int, given: dict[str, Any]) -> dict[str, Any]:
    """Return the attributes of an operator, with the step of a scan as a graph."""
    return {name: _body(helper, kind, a) if isinstance(a, Step) else a for name, a in given.items()}


def _body(helper: Any, kind: int, step: Step) -> Any:
    """Return the graph that a scan runs for each part of its inputs: the sum so far, and what is added."""
    part = ["n_rows", 1 if step.multiplies else step.width]
    inputs = [("sum", ["n_rows", step.width]), ("part", part)]
    nodes, term = [], "part"
    if step.multiplies:
        inputs.append(("weights", [1, step.width]))
        nodes.append(helper.make_node("Mul", ["part", "weights"], ["term"], "term"))
        term = "term"
    nodes.append(helper.make_node("Add", ["sum", term], ["next"], "next"))
    values = [helper.make_tensor_value_info(name, kind, shape) for name, shape in inputs]
    result = helper.make_tensor_value_info("next", kind, ["n_rows", step.width])
    return helper.make_graph(nodes, "step", values, [result])


def _onnx() -> Any:
    try:
        return import_module("onnx")
    except ImportError:
        raise MarginRankError(
            "Exports to ONNX need the package onnx, which is not installed: pip install 'marginrank[onnx]'."
        ) from None


def _runner(content: bytes) -> Any:
    """Return what scores a matrix by a graph."""
    try:
        runtime = import_module("onnxruntime")
    except ImportError:
        evaluator = import_module("onnx.reference").ReferenceEvaluator(_onnx().load_from_string(content))
        return lambda X: evaluator.run(None, {"features": X})[0]
    options = runtime.SessionOptions()
    options.log_severity_level = 3
    session = runtime.InferenceSession(content, options, providers=["CPUExecutionProvider"])
    return lambda X: session.run(None, {"features": X})[0]
