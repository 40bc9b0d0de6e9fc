"""Every public name says what it is, with an example; ``pytest src`` runs the examples."""

from __future__ import annotations

import doctest
import inspect
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

import marginrank

SOURCES = Path(marginrank.__file__).parent
#: What only the workers of a cluster have; the example of DaskRanker goes through both.
OF_A_CLUSTER = {"DaskEngine", "RemoteData"}


def public_objects() -> Iterator[tuple[str, Any]]:
    """Yield each public class and function once, by the first place that has it."""
    seen = set()
    for place in ["marginrank", *(f"marginrank.{name}" for name in sorted(marginrank._MODULES))]:
        module = import_module(place)
        defined = [name for name, one in vars(module).items() if getattr(one, "__module__", "") == place]
        for name in sorted(getattr(module, "__all__", defined)):
            value = getattr(module, name)
            is_object = inspect.isclass(value) or inspect.isroutine(value)
            if is_object and not name.startswith("_") and id(value) not in seen:
                seen.add(id(value))
                yield f"{place}.{name}", value


OBJECTS = dict(public_objects())


@pytest.mark.parametrize("name", OBJECTS)
def test_a_public_name_has_a_docstring_with_an_example(name: str) -> None:
    value = OBJECTS[name]
    text = value.__doc__ or ""
    assert text.split("\n")[0].strip(), f"{name} has no docstring"
    if name.rpartition(".")[2] not in OF_A_CLUSTER:
        assert doctest.DocTestParser().get_examples(text), f"the docstring of {name} has no example"
        # Where pytest collects the examples of docstrings.
        assert SOURCES in Path(inspect.getsourcefile(value) or "").parents


def test_the_names_are_those_that_people_know() -> None:
    known = {"marginrank.RankSVM", "marginrank.metrics.evaluate", "marginrank.io.load_qrels"}
    assert known <= OBJECTS.keys()
    assert len(OBJECTS) > 100
