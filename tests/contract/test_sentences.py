"""Templates of sentences: what stands in braces is a parameter, or a word that the command line knows."""

import ast
from pathlib import Path
from string import Formatter

import pytest

import marginrank
from marginrank.cli.words import _WORDS

ROOT = Path(marginrank.__file__).parent
TREES = {path.relative_to(ROOT): ast.parse(path.read_text()) for path in sorted(ROOT.rglob("*.py"))}
MAKERS = {"Sentence", "saying", "and_then"}


def parameters():
    """Return the name of everything that can be passed to a function, or set on a value."""
    for tree in TREES.values():
        for node in ast.walk(tree):
            if isinstance(node, ast.arg):
                yield node.arg
            elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
                yield node.target.id


def templates(tree):
    """Return the literal templates of a module."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            name = getattr(node.func, "id", getattr(node.func, "attr", ""))
            if name in MAKERS:
                yield from (one.value for one in node.args if isinstance(one, ast.Constant))


WITH_TEMPLATES = [module for module, tree in TREES.items() if any(templates(tree))]


@pytest.mark.parametrize("module", WITH_TEMPLATES, ids=str)
def test_fields_of_templates_are_parameters_or_known_words(module):
    known = {*parameters(), *_WORDS}
    for template in templates(TREES[module]):
        for _, field, spec, conversion in Formatter().parse(template):
            name = (field or "").partition("=")[0]
            is_python_only = "(" in name
            if field and not ((spec or conversion) and "=" not in field) and not is_python_only:
                assert name in known, template


def test_there_are_templates():
    assert len(WITH_TEMPLATES) > 20
