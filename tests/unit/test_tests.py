"""Every test states a fact: it asserts something, or calls a helper that does."""

import ast

from reliability import ROOT

FILES = sorted((ROOT / "tests").rglob("*.py"))
TREES = {path: ast.parse(path.read_text(encoding="utf-8")) for path in FILES}
STATEMENTS = ("raises", "warns", "fail")


def called_names(node):
    """Yield what is called within a node, by its last name, and what is passed on to be called."""
    for call in ast.walk(node):
        if isinstance(call, ast.Call):
            function = call.func
            yield function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")


def states_a_fact(node, helpers):
    if any(isinstance(part, ast.Assert) for part in ast.walk(node)):
        return True
    return any(
        name in STATEMENTS or name.startswith("assert") or name in helpers for name in called_names(node)
    )


def candidates_in(tree):
    """Return the functions of a file, and its names for pytest.raises, which may state facts."""
    candidates = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef) and not node.name.startswith("test_"):
            candidates[node.name] = node
        elif (
            isinstance(node, ast.Assign)
            and isinstance(node.targets[0], ast.Name)
            and isinstance(node.value, ast.Call | ast.IfExp | ast.Lambda)
        ):
            candidates.setdefault(node.targets[0].id, node.value)
    return candidates


def stating_helpers():
    """Return, for each file, the names that state facts there: its own ones, else those of other files."""
    candidates = {path: candidates_in(tree) for path, tree in TREES.items()}
    helpers = {path: set() for path in TREES}
    stating = set()
    while found := {
        (path, name)
        for path, nodes in candidates.items()
        for name, node in nodes.items()
        if (path, name) not in stating
        and (states_a_fact(node, helpers[path]) or passes_on(node, helpers[path]))
    }:
        stating |= found
        anywhere = {name for _, name in stating}
        for path, nodes in candidates.items():
            helpers[path] = {name for name in anywhere if name not in nodes or (path, name) in stating}
    return helpers


def passes_on(node, helpers):
    """Whether a value is made of ways to state facts: ``partial(pytest.raises, ...)``, ``a if b else c``."""
    if isinstance(node, ast.FunctionDef):
        return False
    names = {getattr(part, "attr", getattr(part, "id", "")) for part in ast.walk(node)}
    return bool(names & ({*STATEMENTS} | helpers))


def test_every_test_asserts_something():
    helpers = stating_helpers()
    silent = [
        f"{path.relative_to(ROOT)}::{node.name}"
        for path, tree in TREES.items()
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef)
        and node.name.startswith("test_")
        and not states_a_fact(node, helpers[path])
    ]
    assert silent == []


def test_folders_of_unit_tests_are_those_of_the_source():
    unit, source = ROOT / "tests" / "unit", ROOT / "src" / "marginrank"
    folders = {path.parent.relative_to(unit) for path in unit.rglob("test_*.py")}
    assert {str(folder) for folder in folders if not (source / folder).is_dir()} == set()
