"""Places in Python, found in the syntax tree; mutants are compiled from the changed tree."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from copy import deepcopy
from pathlib import Path
from typing import Any

from mutant_places import ROOT, Place, numbered

SOURCE = ROOT / "src" / "marginrank"

_OTHER: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
}
# What people read is wrong in other ways than numbers are, and has tests of sentences.
_SHOWN = {"__repr__", "__str__", "_repr_html_", "_repr_mimebundle_"}
_NOT_ENTERED = (ast.Raise, ast.Assert, ast.JoinedStr)
_ENTERED = (
    ast.expr,
    ast.stmt,
    ast.keyword,
    ast.arguments,
    ast.comprehension,
    ast.excepthandler,
    ast.withitem,
)
# A wrong axis fails at once, everywhere.
_OTHER_NUMBERS = {"axis", "ndmin", "stacklevel", "protocol"}
_CHECKS = ("check", "refuse", "require", "verify", "validate", "fsync", "sync", "flush")

# A place, and what makes the mistake in the tree that it was found in.
Found = tuple[Place, Callable[[], None]]


def places_of(path: Path) -> list[Place]:
    """Return the places of a file."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    return numbered(place for place, _ in _found(tree, str(path.relative_to(SOURCE))))


def mutated(path: Path, name: str) -> ast.Module:
    """Return the tree of a file with the mistake of that name made."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    found = list(_found(tree, str(path.relative_to(SOURCE))))
    for place, (_, make) in zip(numbered(place for place, _ in found), found, strict=True):
        if place.name == name:
            make()
            return ast.fix_missing_locations(tree)
    raise LookupError(f"There is no place {name!r}.")


def _found(tree: ast.Module, file: str) -> Iterator[Found]:
    parents = {child: node for node in ast.walk(tree) for child in ast.iter_child_nodes(node)}
    for node, parent, field, index, function in _walk(tree):
        for kind, wrong in _mistakes(node, parent, field):
            shown = _enclosing(node, parents) if isinstance(node, ast.Constant) else node
            make, undo = (_putter(parent, field, index, one) for one in (wrong, node))
            right = _text(shown)
            make()
            changed = _text(wrong if shown is node else shown)
            undo()
            yield Place(file, function, kind, right, changed), make


def _enclosing(node: ast.AST, parents: dict[ast.AST, ast.AST]) -> ast.AST:
    """Return enough around a number to tell where it stands."""
    around = parents[node]
    while isinstance(around, ast.Slice | ast.UnaryOp | ast.keyword | ast.Tuple | ast.List | ast.Starred):
        node, around = around, parents[around]
    return node if hasattr(around, "body") and isinstance(around, ast.stmt) else around


def _text(node: ast.AST) -> str:
    if isinstance(node, ast.If):
        return f"if {ast.unparse(node.test)}: {type(node.body[0]).__name__.lower()}"
    return ast.unparse(node)


def _putter(parent: ast.AST, field: str, index: int | None, node: ast.AST) -> Callable[[], None]:
    def put() -> None:
        if index is None:
            setattr(parent, field, node)
        else:
            getattr(parent, field)[index] = node

    return put


def _walk(tree: ast.Module) -> Iterator[tuple[ast.AST, ast.AST, str, int | None, str]]:
    """Yield nodes inside functions with where they hang and the name of the function, in order."""
    waiting: list[tuple[ast.AST, ast.AST, str, int | None, str, bool]] = []

    def push(node: ast.AST, function: str, inside: bool) -> None:
        children = []
        for field, value in ast.iter_fields(node):
            if field in ("annotation", "returns", "decorator_list", "type_comment"):
                continue
            for index, child in enumerate(value) if isinstance(value, list) else [(None, value)]:
                if isinstance(child, _ENTERED):
                    children.append((child, node, field, index, function, inside))
        waiting.extend(reversed(children))

    push(tree, "", False)
    while waiting:
        node, parent, field, index, function, inside = waiting.pop()
        if isinstance(node, _NOT_ENTERED) or _says_something(node):
            continue
        if inside:
            yield node, parent, field, index, function
        if isinstance(node, ast.ClassDef | ast.FunctionDef):
            if node.name not in _SHOWN:
                inside_now = inside or isinstance(node, ast.FunctionDef)
                push(node, f"{function}.{node.name}".lstrip("."), inside_now)
        else:
            push(node, function, inside)


def _says_something(node: ast.AST) -> bool:
    """Tell docstrings and warnings."""
    if not isinstance(node, ast.Expr):
        return False
    return isinstance(node.value, ast.Constant) or (
        isinstance(node.value, ast.Call) and _called(node.value).endswith("warn")
    )


def _called(call: ast.Call) -> str:
    function = call.func
    if isinstance(function, ast.Attribute):
        return function.attr
    return function.id if isinstance(function, ast.Name) else ""


def _mistakes(node: ast.AST, parent: ast.AST, field: str) -> Iterator[tuple[str, ast.AST]]:
    """Yield what may be wrong at a node: the kind, and what stands there instead."""
    if isinstance(node, ast.Compare):
        for position, operator in enumerate(node.ops):
            wrong = deepcopy(node)
            wrong.ops[position] = _OTHER[type(operator)]()
            yield "comparison", wrong
    elif isinstance(node, ast.BinOp):
        yield from _mistakes_of_sums(node)
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        if not isinstance(node.operand, ast.Constant):
            yield "sign", node.operand
    elif isinstance(node, ast.BoolOp):
        for position in range(len(node.values)):
            left = node.values[:position] + node.values[position + 1 :]
            yield "dropped term", left[0] if len(left) == 1 else ast.BoolOp(node.op, left)
    elif isinstance(node, ast.AugAssign):
        yield "dropped term", ast.Pass()
    elif isinstance(node, ast.Call):
        if _called(node) in ("max", "min", "maximum", "minimum") and len(node.args) == 2:
            yield "dropped term", node.args[0]
            yield "dropped term", node.args[1]
    elif isinstance(node, ast.Constant):
        yield from _mistakes_of_constants(node, parent, field)
    elif isinstance(node, ast.If | ast.Expr):
        yield from _mistakes_of_checks(node)


def _mistakes_of_sums(node: ast.BinOp) -> Iterator[tuple[str, ast.AST]]:
    if not isinstance(node.op, ast.Add | ast.Sub) or _is_text(node.left) or _is_text(node.right):
        return
    other = ast.Sub() if isinstance(node.op, ast.Add) else ast.Add()
    yield "sign", ast.BinOp(node.left, other, node.right)
    yield "dropped term", node.left
    if isinstance(node.op, ast.Add):
        yield "dropped term", node.right


def _is_text(node: ast.AST) -> bool:
    kind = ast.JoinedStr | ast.List | ast.Tuple
    return isinstance(node, kind) or (isinstance(node, ast.Constant) and isinstance(node.value, str | bytes))


def _mistakes_of_constants(node: ast.Constant, parent: Any, field: str) -> Iterator[tuple[str, ast.AST]]:
    is_power = isinstance(parent, ast.BinOp) and isinstance(parent.op, ast.Pow) and field == "right"
    is_other = isinstance(parent, ast.keyword) and parent.arg in _OTHER_NUMBERS
    if type(node.value) is int and not is_power and not is_other:
        yield "off by one", ast.Constant(node.value + 1)


def _mistakes_of_checks(node: ast.If | ast.Expr) -> Iterator[tuple[str, ast.AST]]:
    if isinstance(node, ast.If):
        if not node.orelse and isinstance(node.body[0], ast.Raise | ast.Return | ast.Continue | ast.Break):
            yield "skipped check", ast.If(ast.Constant(False), node.body, [])
    elif isinstance(node.value, ast.Call) and any(word in _called(node.value) for word in _CHECKS):
        yield "skipped check", ast.Pass()
