"""What the documentation says to run, runs; what it links to is there."""

from __future__ import annotations

import doctest
import importlib
import re
import shlex
from functools import partial
from pathlib import Path
from typing import NamedTuple

import pytest

from marginrank.losses import QUERY_LOSSES

pytestmark = pytest.mark.filterwarnings("error:The chosen alpha")

ROOT = Path(__file__).parents[2]
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])
FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\]\(([^)\s]+)\)")
HEADING = re.compile(r"^#+ +(.+)$", re.MULTILINE)


class Block(NamedTuple):
    line: int
    code: str


def name_of(page: Path) -> str:
    return page.relative_to(ROOT).as_posix()


def python_blocks(page: Path) -> list[Block]:
    text = page.read_text(encoding="utf-8")
    return [
        Block(text.count("\n", 0, match.start(2)), match[2])
        for match in FENCE.finditer(text)
        if match[1] == "python"
    ]


def run_session(block: Block, page: Path, names: dict[str, object]) -> None:
    test = doctest.DocTestParser().get_doctest(block.code, names, name_of(page), str(page), block.line)
    test.globs = names  # get_doctest copies, but the next block shall see what this one defines
    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS, verbose=False)
    report: list[str] = []
    runner.run(test, out=report.append, clear_globs=False)
    assert runner.summarize(verbose=False).failed == 0, "".join(report)


def run_statements(block: Block, page: Path, names: dict[str, object]) -> None:
    # Blank lines before it, so that a traceback names the line of the page.
    exec(compile("\n" * block.line + block.code, str(page), "exec"), names)


def prose(page: Path) -> str:
    return FENCE.sub("", page.read_text(encoding="utf-8"))


def anchors(page: Path) -> set[str]:
    """Return the anchors of a page's headings, as GitHub makes them."""
    return {
        re.sub(r"[^\w\- ]", "", heading.lower()).strip().replace(" ", "-")
        for heading in HEADING.findall(prose(page))
    }


@pytest.mark.parametrize("page", [page for page in PAGES if python_blocks(page)], ids=name_of)
def test_python_blocks_run_in_the_order_of_the_page(
    page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {"__name__": "__main__"}
    for block in python_blocks(page):
        if block.code.lstrip().startswith(">>>"):
            run_session(block, page, names)
        else:
            run_statements(block, page, names)


COMMAND_PAGES = [page for page in PAGES if page.name.startswith("letor-to-") or page.name == "start.md"]


def commands(page: Path) -> list[str]:
    """Return the commands of the shell blocks of a page that are our own; engines do not run here."""
    shell = [match[2] for match in FENCE.finditer(page.read_text(encoding="utf-8")) if match[1] == "sh"]
    return [line for block in shell for line in block.splitlines() if line.startswith("marginrank ")]


@pytest.mark.parametrize("page", COMMAND_PAGES, ids=name_of)
def test_commands_of_the_pages_for_a_first_job_run(
    page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from marginrank.cli.app import run

    monkeypatch.chdir(tmp_path)
    found = commands(page)
    assert len(found) >= 4
    for command in found:
        assert run(shlex.split(command, comments=True)[1:]) == 0, command


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_relative_links_lead_somewhere(page: Path) -> None:
    missing = []
    for link in LINK.findall(prose(page)):
        if re.match(r"[a-z]+:", link):
            continue
        file, _, anchor = link.partition("#")
        target = (page.parent / file).resolve() if file else page
        if not target.exists() or (anchor and anchor not in anchors(target)):
            missing.append(link)
    assert missing == []


QUOTE = re.compile(r"From\s+\[[^\]]+\]\(([^)]+)\)|^```(?:cpp|py)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize("page", [page for page in PAGES if QUOTE.search(page.read_text())], ids=name_of)
def test_quoted_code_is_that_of_the_file_it_is_from(page: Path) -> None:
    """A fence of ``cpp`` or ``py`` quotes the file that the last ``From [...](...)`` before it links to."""
    source, wrong = "", []
    for link, code in QUOTE.findall(page.read_text(encoding="utf-8")):
        if link:
            source = (page.parent / link).read_text(encoding="utf-8")
        elif code not in source:
            wrong.append(code)
    assert wrong == []


def test_every_registered_loss_has_a_row_in_the_table_of_losses() -> None:
    page = (ROOT / "docs" / "ranksvm.md").read_text(encoding="utf-8")
    assert set(re.findall(r'^\| `"(\w+)"`', page, re.MULTILINE)) >= QUERY_LOSSES.keys()


def test_every_page_is_linked_from_the_index() -> None:
    index = ROOT / "docs" / "index.md"
    linked = {(index.parent / link.partition("#")[0]).resolve() for link in LINK.findall(prose(index))}
    assert [name_of(page) for page in PAGES if page != index and page.resolve() not in linked] == []


def test_demo_runs_and_fits_a_terminal_of_80_columns(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(ROOT / "examples")
    demo = importlib.import_module("demo")
    monkeypatch.setattr(demo, "search_results", partial(demo.search_results, n_queries=60))
    demo.main()
    shown = capsys.readouterr().out
    assert [line for line in shown.splitlines() if len(line) > 80] == []
    assert "lower bound" in shown
    assert "demo-report.html" in shown
    assert (tmp_path / "demo-report.html").read_text(encoding="utf-8").startswith("<!doctype html>")


def test_readme_fits_a_screen() -> None:
    """Two commands, one picture, one table, and when not to use it; all else is in the documentation."""
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    assert len(text.splitlines()) <= 80
    assert text.count("![") == 1
    assert len(re.findall(r"^\| --- ", text, re.MULTILINE)) == 1
    assert "When not to use it" in text
