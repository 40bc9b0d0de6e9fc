"""The documentation site: its reference has every public name and option, and dead links are found."""

import importlib.util
import inspect
import re
import sys
from importlib import import_module
from pathlib import Path

import click
import pytest

import marginrank
from marginrank.cli.app import COMMANDS, command_of

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def docs():
    """Return tools/docs.py as a module; its reference needs no Sphinx."""
    tool = ROOT / "tools" / "docs.py"
    if not tool.exists():
        pytest.skip("The tools are not there; a clone of the repository has them.")
    found = importlib.util.spec_from_file_location("site_of_docs", tool)
    module = importlib.util.module_from_spec(found)
    sys.modules[found.name] = module
    found.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def source(docs, tmp_path_factory):
    folder = tmp_path_factory.mktemp("source")
    docs.write_sources(folder)
    return folder


def test_every_public_name_has_a_heading_and_every_object_one_entry(source):
    entries = []
    for name in ["marginrank", *(f"marginrank.{one}" for one in marginrank._MODULES)]:
        text = (source / "reference" / f"{name}.md").read_text("utf-8")
        module = import_module(name)
        for public in getattr(module, "__all__", ()):
            assert f"\n## {public}\n" in text, f"{name}.{public}"
        lines = text.splitlines()
        entries += [line.split(":: ")[1] for line in lines if line.startswith((".. auto", ".. py:data"))]
    assert len(entries) == len(set(entries))
    objects = [getattr(import_module(e.rpartition(".")[0]), e.rpartition(".")[2]) for e in entries]
    kinds = [one for one in objects if inspect.isclass(one) or inspect.isroutine(one)]
    assert len({id(one) for one in kinds}) == len(kinds)
    assert marginrank.RankSVM in kinds


def test_every_command_and_every_option_is_in_the_reference(source):
    text = (source / "reference" / "commands.md").read_text("utf-8")
    parts = dict(zip(COMMANDS, text.split("\n## ")[1:], strict=True))
    for name, part in parts.items():
        assert part.startswith(f"{name}\n")
        for parameter in command_of(name).params:
            if isinstance(parameter, click.Option) and not parameter.hidden:
                assert all(f"{one}" in part for one in parameter.opts), (name, parameter.opts)


def test_every_page_is_on_the_way_from_the_first(source):
    lines = (source / "index.md").read_text("utf-8").splitlines()
    listed = [re.sub(r"^[^<]+<(.*)>$", r"\1", line) for line in lines]
    pages = [path.relative_to(source).with_suffix("").as_posix() for path in source.rglob("*.md")]
    below = [page for page in pages if page.startswith("reference/marginrank")]  # named by reference/index
    assert sorted(page for page in listed if page in pages) == sorted({*pages} - {*below} - {"index"})


def test_dead_links_are_found(docs, tmp_path):
    (tmp_path / "a.html").write_text('<h2 id="here"></h2><a href="b.html#there">x</a> <a href="#here">y</a>')
    (tmp_path / "b.html").write_text('<p id="there"><a href="https://example.com/">z</a></p>')
    assert docs.dead_links(tmp_path) == []
    (tmp_path / "b.html").write_text('<img src="no.png"><a href="a.html#gone">z</a>')
    assert sorted(docs.dead_links(tmp_path)) == [
        "a.html: b.html#there",
        "b.html: a.html#gone",
        "b.html: no.png",
    ]
