"""Imports go downward, those within functions and for types included, and in no circle.

The import linter holds the layers for imports at the top of modules; this reads every import statement.
"""

import ast
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SOURCE = ROOT / "src"
PACKAGE = "marginrank"
# The package's own __init__ names the public modules lazily: it stands above all of them.
FACADE = {PACKAGE}
# The linter cannot see a compiled module, and neither can this.
COMPILED = f"{PACKAGE}._native"


def modules() -> dict[str, Path]:
    """Return the source file of each module."""
    found = {}
    for path in sorted((SOURCE / PACKAGE).rglob("*.py")):
        parts = path.relative_to(SOURCE).with_suffix("").parts
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


def imported(path: Path, known: set[str]) -> Iterator[str]:
    """Return the modules that the import statements of a file name, wherever they stand."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name in known)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: imports are written in full"
            for alias in node.names:
                inner = f"{node.module}.{alias.name}"
                if inner in known:
                    yield inner
                elif node.module in known:
                    yield str(node.module)


@pytest.fixture(scope="module")
def graph() -> dict[str, set[str]]:
    known = modules()
    return {name: set(imported(path, set(known))) - {name} for name, path in known.items()}


def circles(graph: dict[str, set[str]]) -> list[list[str]]:
    """Return the groups of modules that reach each other (Tarjan's strongly connected components)."""
    number, lowest, stack, found = {}, {}, [], []

    def visit(name: str) -> None:
        number[name] = lowest[name] = len(number)
        stack.append(name)
        for other in sorted(graph[name]):
            if other not in number:
                visit(other)
                lowest[name] = min(lowest[name], lowest[other])
            elif other in stack:
                lowest[name] = min(lowest[name], number[other])
        if lowest[name] == number[name]:
            group = stack[stack.index(name) :]
            del stack[stack.index(name) :]
            if len(group) > 1:
                found.append(sorted(group))

    for name in sorted(graph):
        if name not in number:
            visit(name)
    return found


def layer_of() -> dict[str, int]:
    """Return the layer of each room, counted from the top, as the import linter has them."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["importlinter"]
    (layers,) = (one["layers"] for one in settings["contracts"] if one.get("containers") == [PACKAGE])
    return {room.strip(): k for k, layer in enumerate(layers) for room in layer.split("|")}


def test_the_search_finds_a_circle():
    assert circles({"a": {"b"}, "b": {"c"}, "c": {"a"}, "d": {"a"}}) == [["a", "b", "c"]]


def test_no_modules_import_each_other_in_a_circle(graph):
    below = {name: others - FACADE for name, others in graph.items() if name not in FACADE}
    assert circles(below) == []


def test_every_import_goes_to_a_lower_layer_or_stays_in_its_room(graph):
    layer, upward = layer_of(), []
    for name, others in graph.items():
        for other in others:
            if name in FACADE or other in FACADE or COMPILED in (name, other):
                continue
            here, there = name.split(".")[1], other.split(".")[1]
            if here != there and layer[there] <= layer[here]:
                upward.append(f"{name} -> {other}")
    assert upward == []


def test_only_the_entry_points_import_the_whole_package(graph):
    whole = {name for name, others in graph.items() if PACKAGE in others}
    assert whole == set(), "name the module that is meant, or the package is needed to build itself"


def test_the_map_in_the_documentation_has_the_layers_of_the_linter():
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["importlinter"]
    (layers,) = (one["layers"] for one in settings["contracts"] if one.get("containers") == [PACKAGE])
    page = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    assert "".join(f"    {layer}\n" for layer in layers) in page
    # ... and says what is in each of them.
    rooms = set(layer_of()) - {"__main__"}
    parts = page.split("## The parts")[1].split("Imports go downward")[0].split()
    assert rooms - {word.strip(",;:").removesuffix("/").removesuffix(".py") for word in parts} == set()


def test_files_have_up_to_400_lines_and_functions_up_to_50():
    """Docstrings are not counted, nor constructors: those of estimators store each parameter by name."""
    long = []
    for path in sorted((SOURCE / PACKAGE).rglob("*.py")):
        text = path.read_text(encoding="utf-8")
        if text.count("\n") > 400:
            long.append(f"{path}: {text.count(chr(10))} lines")
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.FunctionDef) and node.name != "__init__":
                assert node.end_lineno is not None
                first = node.body[1 if ast.get_docstring(node) is not None and len(node.body) > 1 else 0]
                described = first.lineno - node.body[0].lineno
                if node.end_lineno - node.lineno + 1 - described > 50:
                    long.append(f"{path}:{node.lineno} {node.name}")
    assert long == []
