"""Mutants are where they are said to be, and what is written of them is about mutants that there are."""

import ast
import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import chosen_mutants
import mutant_rooms
import native_places
import pytest
import python_places
import run_mutants
from mutant_places import KINDS, ROOT, drawn
from mutant_trials import HOOK


@pytest.fixture(scope="module")
def sample():
    return mutant_rooms.sample()


def functions_of(file):
    tree = ast.parse((ROOT / file).read_text(encoding="utf-8"))
    return {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}


@pytest.mark.parametrize("name", chosen_mutants.MUTANTS)
def test_a_chosen_mutant_changes_one_place_and_has_a_test(name):
    mutant = chosen_mutants.MUTANTS[name]
    assert chosen_mutants.mutated(name) != chosen_mutants.source_of(mutant).read_text(encoding="utf-8")
    file, function = mutant.test.split("::")
    assert function in functions_of(file)


def test_every_room_has_its_share_of_every_kind(sample):
    for name, room in mutant_rooms.ROOMS.items():
        assert len(sample[name]) == room.n_places, name
        assert len({place.kind for place in sample[name]}) >= 4, name
    assert {place.kind for places in sample.values() for place in places} == set(KINDS)


def test_names_of_places_are_unique():
    names = [place.name for room in mutant_rooms.ROOMS.values() for place in mutant_rooms.places_of(room)]
    assert len(names) == len(set(names))


def test_every_drawn_mutant_changes_its_file_and_has_tests_that_are_there(sample):
    for name, places in sample.items():
        room = mutant_rooms.ROOMS[name]
        for place in places:
            if room.is_native:
                path = native_places.HEADERS / place.file
                assert native_places.mutated(path, place.name) != path.read_text(encoding="utf-8")
            else:
                path = python_places.SOURCE / place.file
                compile(python_places.mutated(path, place.name), str(path), "exec")
            tests = mutant_rooms.nearest_tests(room, place)
            assert tests, place.name
            assert [test for test in tests if not (ROOT / test).exists()] == []


def test_a_draw_keeps_its_places_when_others_are_added():
    places = mutant_rooms.places_of(mutant_rooms.ROOMS["metrics"])
    few = drawn(places[::2], 40)
    more = drawn(places, 40)
    assert set(more) & set(places[::2]) <= set(few)


def test_survivors_have_a_place_and_one_answer():
    places = {place.name for room in mutant_rooms.ROOMS.values() for place in mutant_rooms.places_of(room)}
    for name, entry in run_mutants.survivors().items():
        assert name in places, f"There is no such place any more; remove it from survivors.toml: {name}"
        assert ("test" in entry) != ("equivalent" in entry), name
        file, _, function = entry.get("test", "").partition("::")
        assert (ROOT / file).exists(), name
        assert not function or function in functions_of(file), name


def test_a_mistake_is_made_in_the_process_and_in_those_that_it_starts():
    path = python_places.SOURCE / "rounding.py"
    place = next(place for place in python_places.places_of(path) if place.function == "upward")
    code = "import marginrank.rounding as m; print(m.upward.__code__.co_code.hex())"
    environment = os.environ | {"PYTHONPATH": str(HOOK)}
    mutant = {"MARGINRANK_MUTATED": "marginrank.rounding", "MARGINRANK_MUTANT": place.name}
    outer = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {code!r}], check=True)"
    plain, changed = (
        subprocess.run(
            [sys.executable, "-c", outer], env=one, check=True, capture_output=True, text=True
        ).stdout
        for one in (environment, environment | mutant)
    )
    assert place.kind in KINDS
    assert plain != changed
    origin = importlib.util.find_spec("marginrank.rounding").origin
    assert Path(origin).read_text() == path.read_text(), "Files stay as they are."


def test_code_in_comments_and_texts_is_no_place():
    code = 'int f() {\n    // a < b\n    /* c + d */ const char* s = "e == f";\n    return g - 1;\n}\n'
    tokens = native_places.tokens_of(code)
    assert not {"a", "c", "e"} & {token.text for token in tokens}
    assert [name for name, _, _ in native_places.functions_of(tokens)] == ["f"]


def test_methods_constructors_and_functions_of_templates_are_told_apart():
    code = """
    namespace n {
    template <class T, int K = 2>
    struct S : Base<T> {
        explicit S(int a) : a_(a), b_{a} { check(a); }
        double at(int i) const { return a_[i - 1]; }
        static constexpr int table[] = {1, 2};
        T operator()(int x) const { return x + 1; }
    };
    inline int free(int a) noexcept { return [a](int b) { return a + b; }(1); }
    }
    """
    found = [name for name, _, _ in native_places.functions_of(native_places.tokens_of(code))]
    assert found == ["S.S", "S.at", "S.operator", "free"]


@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        (
            "if (a < b && c) return 1;",
            ["if (a <= b && c) return 1;", "if (a < b ) return 1;", "if (false) return 1;"],
        ),
        ("x = a + b * c - d;", ["x = a - b * c - d;", "x = a - d;", "x = a + b * c + d;", "x = a + b * c ;"]),
        ("total += f(-a);", ["total -= f(-a);", "total += f(a);"]),
        ("std::vector<int> v(3);", ["std::vector<int> v(4);"]),
        ("p->x = q[i >> 2];", ["p->x = q[i >> 3];"]),
    ],
)
def test_mistakes_in_a_line_of_cpp(tmp_path, right, wrong):
    path = tmp_path / "line.hpp"
    path.write_text(f"void f() {{ {right} g(); }}\n")
    changed = [native_places.mutated(path, place.name) for place in native_places.places_of(path)]
    assert {line.replace(" ", "") for line in wrong} <= {one[11:-7].replace(" ", "") for one in changed}
