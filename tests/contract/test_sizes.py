"""Files and functions are short enough to be read as a whole."""

import ast
from pathlib import Path

SOURCE = Path(__file__).resolve().parents[2] / "src"
FILES = sorted(SOURCE.rglob("*.py"))
MOST_LINES_OF_A_FILE = 400
MOST_LINES_OF_A_FUNCTION = 50


def body_lines(function):
    """Return the lines of what a function does, without its signature and its docstring."""
    first = function.body[0]
    has_text = isinstance(first, ast.Expr) and isinstance(getattr(first.value, "value", None), str)
    done = function.body[1:] if has_text else function.body
    return function.end_lineno - done[0].lineno + 1 if done else 0


def test_no_file_has_more_than_400_lines():
    lines = {str(path.relative_to(SOURCE)): len(path.read_text("utf-8").splitlines()) for path in FILES}
    assert len(lines) > 100
    assert {name: count for name, count in lines.items() if count > MOST_LINES_OF_A_FILE} == {}


def test_no_function_has_more_than_50_lines():
    long = {}
    for path in FILES:
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.FunctionDef) and body_lines(node) > MOST_LINES_OF_A_FUNCTION:
                long[f"{path.relative_to(SOURCE)}:{node.name}"] = body_lines(node)
    assert long == {}
