"""The documentation site: our pages, a reference of every public name, and one of the command line.

Pages stay as they are, readable on their own; Sphinx sees a copy of them beside pages that are written here.
Warnings are errors, and every link of the finished site is followed, without a network::

    python tools/docs.py build/docs      # build/docs/html/index.html
"""

from __future__ import annotations

import inspect
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from html.parser import HTMLParser
from importlib import import_module
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import click

import marginrank
from marginrank.cli.app import COMMANDS, command_of
from marginrank.cli.command import GROUPS, Option

ROOT = Path(__file__).resolve().parents[1]
#: Links within the project, without their anchors.
LINK = re.compile(r"\]\(([^)\s#:]+)(?:#[^)\s]*)?\)")
#: Pages by what people look for, beside those that are written here; all others are in the last part.
PARTS = {
    "Start": (
        *("README", "docs/start", "docs/quick-tour", "docs/which-ranker", "docs/from-other-libraries"),
        *("docs/datasets", "docs/report", "docs/judging"),
    ),
    "Rankers": (
        *("docs/ranksvm", "docs/rankrls", "docs/structured-ranking", "docs/kernels", "docs/sparse"),
        *("docs/choosing-features", "docs/linear-paths", "docs/paths", "docs/structured"),
    ),
    "Choose, measure, explain": (
        *("docs/model-selection", "docs/scikit-learn", "docs/metrics", "docs/explanations", "docs/clicks"),
        "docs/regularization",
    ),
    "Data": ("docs/data", "docs/files", "docs/on-disk", "docs/distributed", "docs/cluster-security"),
    "Put to use": (
        *("docs/models", "docs/export", "docs/letor-to-solr", "docs/letor-to-elasticsearch"),
        *("docs/letor-to-vespa", "docs/letor-to-a-database", "docs/command-line"),
    ),
    "Reference": ("reference/index", "reference/commands", "docs/glossary"),
    "Background": (
        *("docs/mathematics", "docs/papers", "docs/speed", "docs/benchmarks", "docs/reliability"),
        "docs/deprecation",
    ),
}
_SETTINGS = '''"""Written by tools/docs.py."""

project = "marginrank"
author = "the marginrank developers"
release = version = {version!r}
extensions = ["myst_parser", "sphinx.ext.autodoc", "numpydoc"]
source_suffix = {{".md": "markdown", ".rst": "restructuredtext"}}
html_theme = "furo"
html_title = "marginrank"
html_show_sphinx = False
html_copy_source = False
html_show_sourcelink = False
myst_heading_anchors = 4
myst_enable_extensions = ["dollarmath"]
suppress_warnings = ["myst.header"]
autodoc_typehints = "none"
autodoc_member_order = "groupwise"
numpydoc_show_class_members = False
add_module_names = False
smartquotes = False
'''


def write_sources(folder: Path) -> None:
    """Copy our pages as they lie beside each other, and write the others."""
    for page in [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*")]:
        if page.is_file():
            target = folder / page.relative_to(ROOT)
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(page, target)
    for page in list(folder.rglob("*.md")):
        for link in LINK.findall(page.read_text("utf-8")):
            copy_linked(folder, (page.parent / link).resolve())
    (folder / "conf.py").write_text(_SETTINGS.format(version=marginrank.__version__), encoding="utf-8")
    write_reference(folder / "reference")
    pages = {path.relative_to(folder).with_suffix("").as_posix() for path in folder.rglob("*.md")}
    named = {page for part in PARTS.values() for page in part}
    missing = sorted(named - pages - {"reference/index"})
    if missing:
        raise SystemExit(f"tools/docs.py names pages that are not there: {', '.join(missing)}")
    rest = sorted(pages - named - {"index"} - {page for page in pages if page.startswith("reference/")})
    (folder / "index.md").write_text(front_page({**PARTS, "Project": tuple(rest)}), encoding="utf-8")


def copy_linked(folder: Path, target: Path) -> None:
    """Copy a file of the project that a page links to, to be looked at from the site."""
    if target.is_relative_to(folder) and not target.exists():
        source = ROOT / target.relative_to(folder)
        if source.is_file():
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(source, target)


def front_page(parts: dict[str, tuple[str, ...]]) -> str:
    """Return the first page: what this is, how to begin, and the way to everything."""
    trees = [
        "\n".join(["```{toctree}", f":caption: {name}", ":hidden:", "", *map(_entry, pages), "```"])
        for name, pages in parts.items()
    ]
    lines = [
        "# marginrank",
        "",
        "Large-margin learning to rank for Python: exact, fast, certified.",
        "",
        "```sh",
        "marginrank sample .",
        "marginrank train train.txt -o model.mrk --alpha auto --validate vali.txt",
        "marginrank report --train train.txt --test test.txt model.mrk -o report.html",
        "```",
        "",
        "- New here: [what it is](README.md), [five minutes](docs/start.md),",
        "  [a quick tour](docs/quick-tour.md), then [which ranker to take](docs/which-ranker.md).",
        "- [From LightGBM, XGBoost, SVM^rank, RankLib or RLScore](docs/from-other-libraries.md).",
        "- Looking for something: [every page by what you want to do](docs/index.md), or the search.",
        "- By name: [Python](reference/index.md), and [the commands](reference/commands.md).",
        "",
        "![The models of every alpha in a report](docs/images/report.png)",
        "",
    ]
    return "\n".join([*lines, *trees, ""])


def _entry(page: str) -> str:
    """Return how a page stands in the list of pages: by its own title, unless that is the name of all."""
    return f"What it is <{page}>" if page == "README" else page


def write_reference(folder: Path) -> None:
    """Write a page for each public module, one of all names, and one of the commands."""
    folder.mkdir(parents=True, exist_ok=True)
    seen: dict[int, str] = {}
    pages = [("marginrank", list(marginrank.__all__))]
    for name in sorted(marginrank._MODULES):
        pages.append((f"marginrank.{name}", public_names(import_module(f"marginrank.{name}"))))
    rows = []
    for module, names in pages:
        text, documented = module_page(module, names, seen)
        (folder / f"{module}.md").write_text(text, encoding="utf-8")
        rows += [f"| {link} | {said} |" for link, said in documented]
    listed = ["```{toctree}", ":maxdepth: 1", "", *(module for module, _ in pages), "```"]
    head = ["# Every public name", "", *listed, "", "| name | is |", "| --- | --- |", *rows, ""]
    (folder / "index.md").write_text("\n".join(head), encoding="utf-8")
    (folder / "commands.md").write_text("\n".join(command_lines()), encoding="utf-8")


def public_names(module: Any) -> list[str]:
    """Return what a module says is public, or else what it defines without an underscore."""
    known = getattr(module, "__all__", None)
    if known is not None:
        return sorted(known)
    return sorted(
        name
        for name, value in vars(module).items()
        if not name.startswith("_") and getattr(value, "__module__", None) == module.__name__
    )


def module_page(module: str, names: list[str], seen: dict[int, str]) -> tuple[str, list[tuple[str, str]]]:
    """Return the page of a module, and its names with what they are in a line; each is documented once."""
    home = import_module(module)
    lines = [f"# {module}", "", first_line(home), ""]
    documented = []
    for name in names:
        value = getattr(home, name)
        place = f"{module}.{name}"
        is_object = inspect.isclass(value) or inspect.isroutine(value)
        if is_object and id(value) in seen:
            known = seen[id(value)]
            lines += [f"## {name}", "", f"The same as {{py:obj}}`{known}`.", ""]
            continue
        seen[id(value)] = place
        said = first_line(value) if is_object else "A constant."
        role = "obj" if is_object else "data"
        documented.append((f"{{py:{role}}}`{place}`", said.replace("|", "\\|")))
        lines += [f"## {name}", "", *directive(place, value), ""]
    return "\n".join(lines), documented


def directive(place: str, value: Any) -> list[str]:
    """Return what has autodoc write about an object."""
    if inspect.isclass(value):
        options = [
            "   :members:",
            "   :inherited-members: BaseEstimator, BaseCrossValidator, Mapping, dict, str,",
        ]
        options[-1] += " tuple, Exception, UserWarning, NamedTuple"
        hidden = [name for name in dir(value) if name.startswith("set_") and name.endswith("_request")]
        # What scikit-learn and tuples bring along, which their own documentation has.
        hidden += ["get_metadata_routing", "set_output", "count", "index"]
        options.append(f"   :exclude-members: {', '.join(hidden)}")
        body = [f".. autoclass:: {place}", *options]
    elif inspect.isroutine(value):
        body = [f".. autofunction:: {place}"]
    else:
        body = [f".. py:data:: {place}"]
    return ["```{eval-rst}", *body, "```"]


def first_line(value: Any) -> str:
    """Return the first sentence of a docstring, as far as it stands in its first paragraph."""
    text = inspect.getdoc(value) or ""
    return " ".join(text.split("\n\n")[0].split()).replace("``", "`")


def command_lines() -> Iterator[str]:
    """Yield the reference of the commands, from the commands themselves."""
    yield "# Commands"
    yield ""
    yield "What `marginrank COMMAND --help` prints. How they work together is told by"
    yield "[Command line](../docs/command-line.md)."
    for name in COMMANDS:
        command = command_of(name)
        context = click.Context(command, info_name=f"marginrank {name}", max_content_width=100)
        yield from ["", f"## {name}", "", "```text", command.get_usage(context), "```", ""]
        yield from _help(command.help or "")
        yield from _options(command, context)


def _help(text: str) -> Iterator[str]:
    """Yield the paragraphs of a help; those that keep their lines are blocks."""
    for paragraph in inspect.cleandoc(text).split("\n\n"):
        lines = paragraph.split("\n")
        if lines[0].strip() == "\b":
            yield from ["```text", *lines[1:], "```", ""]
        else:
            yield from [" ".join(line.strip() for line in lines).replace("<", "&lt;"), ""]


def _options(command: click.Command, context: click.Context) -> Iterator[str]:
    records: dict[str, list[tuple[str, str]]] = {group: [] for group in GROUPS}
    for parameter in command.get_params(context):
        record = parameter.get_help_record(context) if isinstance(parameter, click.Option) else None
        if record is not None:
            records[parameter.group if isinstance(parameter, Option) else GROUPS[-1]].append(record)
    for group, found in records.items():
        if found:
            yield from [f"**{group}**", "", "| option | |", "| --- | --- |"]
            yield from (f"| `{_cell(names)}` | {_cell(said).replace('<', '&lt;')} |" for names, said in found)
            yield ""


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")


class Links(HTMLParser):
    """The links of a page, and what can be linked to in it."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.links: list[str] = []
        self.anchors: set[str] = set()
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note what a tag links to, and what it is called."""
        found = dict(attrs)
        self.anchors.update(value for value in (found.get("id"), found.get("name")) if value)
        self.links += [value for value in (found.get("href"), found.get("src")) if value]


def dead_links(html: Path) -> list[str]:
    """Return the links within the site that lead nowhere."""
    pages = {path.resolve(): Links(path.read_text("utf-8")) for path in html.rglob("*.html")}
    dead = []
    for page, found in pages.items():
        for link in found.links:
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            target = (page.parent / unquote(parts.path)).resolve() if parts.path else page
            known = pages.get(target)
            wanted = unquote(parts.fragment)
            if not target.exists() or (wanted and known is not None and wanted not in known.anchors):
                dead.append(f"{page.relative_to(html.resolve())}: {link}")
    return dead


def main() -> None:
    """Build the site, and follow its links."""
    target = Path(sys.argv[1] if len(sys.argv) > 1 else "build/docs").resolve()
    source, html = target / "source", target / "html"
    for folder in (source, html):
        shutil.rmtree(folder, ignore_errors=True)
    write_sources(source)
    command = [
        sys.executable,
        "-m",
        "sphinx",
        "-W",
        "--keep-going",
        "-q",
        "-b",
        "html",
        "-d",
        str(target / "cache"),
    ]
    done = subprocess.run([*command, str(source), str(html)], check=False)
    if done.returncode:
        sys.exit(done.returncode)
    dead = dead_links(html)
    if dead:
        sys.exit("Links that lead nowhere:\n  " + "\n  ".join(dead))
    print(f"Wrote {len(list(html.rglob('*.html')))} pages: {html / 'index.html'}")


if __name__ == "__main__":
    main()
