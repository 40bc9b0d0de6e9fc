"""Each mutant changes one line that is there, and names a test that is there; ``make mutants`` runs them."""

import ast

import pytest

from mutants import MUTANTS, ROOT, source_of


@pytest.mark.parametrize("name", MUTANTS)
def test_a_mutant_changes_one_place_and_has_a_test(name):
    mutant = MUTANTS[name]
    assert source_of(mutant).read_text(encoding="utf-8").count(mutant.right) == 1
    file, function = mutant.test.split("::")
    tree = ast.parse((ROOT / file).read_text(encoding="utf-8"))
    assert function in {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}
