"""Measured figures of README and docs, rendered from the result files of the benchmarks.

A page names what it shows, in comments that readers do not see, and has it beside the name::

    <!-- table: linear -->
    ... the table of benchmarks/results/linear.json, as Markdown ...
    <!-- /table -->

    In text: it takes <!-- figure: linear/hinge/ref:range .1f -->3.5 to 6.3<!-- / --> times as long.

A table may choose, ``<!-- table: linear; columns: work, time; rows: hinge, squared-hinge -->``. A figure is
``file/row/field:format``, the format as in Python; ``range`` before it shows the lowest and the highest of
what was measured. ``<!-- sources -->`` to ``<!-- /sources -->`` lists all result files. What lies between
the comments is written by ``render`` and compared by ``check``::

    python tools/figures.py check            # what pages say and result files do not; fails on a difference
    python tools/figures.py render           # writes the pages anew

A result file whose provenance is "recorded" has figures that were in a page before there were result files:
its commit is the one that brought them there, and its command is what the page or the commit says, or "was
not kept".
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
RESULTS = ROOT / "benchmarks" / "results"
FIGURE = re.compile(r"<!-- figure: ([^>]+?) -->(.*?)<!-- / -->", re.DOTALL)
SOURCES = re.compile(r"^<!-- sources -->\n.*?^<!-- /sources -->$", re.DOTALL | re.MULTILINE)
TABLE = re.compile(r"^<!-- table: ([^>]+?) -->\n(.*?)^<!-- /table -->$", re.DOTALL | re.MULTILINE)
FENCE = re.compile(r"^```.*?^```$", re.DOTALL | re.MULTILINE)
OPENING = re.compile(r"<!-- (?:figure|table): ")
FIELD = re.compile(r"\{(\w+)(?::([^}]*))?\}")
OPTIONAL = re.compile(r"\[\[(.*?)\]\]")
PROVENANCE = ("measured", "recorded")
NOT_KEPT = "was not kept"


class FigureError(Exception):
    """What a page asks for and the result files do not have."""


def pages(root: Path = ROOT) -> list[Path]:
    """Return the pages that may have figures."""
    return sorted([*root.glob("*.md"), *(root / "docs").rglob("*.md")])


class Results:
    """The result files of a folder, read when they are first asked for."""

    def __init__(self, folder: Path = RESULTS) -> None:
        self.folder = folder
        self._read: dict[str, dict[str, Any]] = {}

    def names(self) -> list[str]:
        """Return the names of all result files."""
        return sorted(path.stem for path in self.folder.glob("*.json"))

    def __getitem__(self, name: str) -> dict[str, Any]:
        if name not in self._read:
            path = self.folder / f"{name}.json"
            if not path.exists():
                raise FigureError(f"there is no result file {name}.json; there are {', '.join(self.names())}")
            self._read[name] = json.loads(path.read_text(encoding="utf-8"))
        return self._read[name]

    def row(self, name: str, key: str) -> dict[str, Any]:
        """Return the fields of a row."""
        rows = self[name]["rows"]
        if key not in rows:
            raise FigureError(f"{name}.json has no row {key!r}; it has {', '.join(rows)}")
        return dict(rows[key])

    def figure(self, reference: str) -> str:
        """Return ``file/row/field:format`` as text."""
        place, _, spec = reference.partition(":")
        parts = place.split("/")
        if len(parts) != 3:
            raise FigureError(f"expected file/row/field:format, got {reference!r}")
        name, key, field = parts
        row = self.row(name, key)
        if field not in row:
            raise FigureError(f"row {key!r} of {name}.json has no {field!r}; it has {', '.join(row)}")
        return shown(row[field], spec)

    def table(self, request: str) -> str:
        """Return the Markdown of a table, or of the rows and columns of it that are asked for."""
        name, *choices = (part.strip() for part in request.split(";"))
        columns, rows = dict(self[name]["columns"]), dict(self[name]["rows"])
        for choice in choices:
            what, _, names = choice.partition(":")
            chosen = [one.strip() for one in names.split(",")]
            of = {"columns": columns, "rows": rows}.get(what)
            missing = [one for one in chosen if of is None or one not in of]
            if of is None or missing:
                raise FigureError(
                    f"{name}.json has no {what} {', '.join(missing)}; it has {', '.join(of or ())}"
                )
            kept = {one: of[one] for one in chosen}
            of.clear()
            of.update(kept)
        lines = [[title.strip() for title in columns], ["---"] * len(columns)]
        lines += [[cell(form, row) for form in columns.values()] for row in rows.values()]
        return "".join(
            "|" + "|".join(f" {text} " if text else " " for text in line) + "|\n" for line in lines
        )


def cell(form: str, row: dict[str, Any]) -> str:
    """Fill in the fields of a row; parts in [[...]] are left out where it lacks one, as is the whole."""

    def fill(text: str) -> str:
        if any(name not in row for name, _ in FIELD.findall(text)):
            return ""
        return FIELD.sub(lambda match: shown(row[match[1]], match[2] or ""), text)

    return fill(OPTIONAL.sub(lambda match: fill(match[1]), form))


def shown(value: Any, spec: str) -> str:
    """Return a value as a page has it: by a format, as a range of its measurements, or as it is."""
    if isinstance(value, str):
        return value
    if spec.startswith("range"):
        spec = spec.removeprefix("range").strip()
        ends = [shown(value[end], spec) for end in ("low", "high")]
        return ends[0] if ends[0] == ends[1] else " to ".join(ends)
    if isinstance(value, dict):
        value = value["value"]
    if spec.endswith("x"):  # rounded to so many digits, with the zeros that the format leaves
        value, spec = float(f"{value:.{spec[:-1]}g}"), ",.0f"
    text = format(value, spec) if spec else str(value)
    return re.sub(r"e([+-])0*(\d)", lambda match: "e" + match[1].replace("+", "") + match[2], text)


def rendered(text: str, results: Results) -> str:
    """Return a page with its tables and figures as the result files have them."""
    check_places(text)
    text = SOURCES.sub(lambda _: f"<!-- sources -->\n{sources(results)}<!-- /sources -->", text)
    text = TABLE.sub(lambda m: f"<!-- table: {m[1]} -->\n{results.table(m[1])}<!-- /table -->", text)
    return FIGURE.sub(lambda m: f"<!-- figure: {m[1]} -->{results.figure(m[1])}<!-- / -->", text)


def check_places(text: str) -> None:
    """Refuse comments that would not be comments, or that nobody ends."""
    for match in FENCE.finditer(text):
        if OPENING.search(match[0]):
            raise FigureError("a figure stands in a code block, where readers see its comment")
    if early := re.search(r"^[ >]*(?:[-*+] +|\d+[.)] +)?<!-- figure: .*$", text, re.MULTILINE):
        raise FigureError(
            f"a line begins with {early[0][:60]!r}, which Markdown takes for HTML; break it elsewhere"
        )
    if len(OPENING.findall(text)) != len(FIGURE.findall(text)) + len(TABLE.findall(text)):
        raise FigureError(
            "a figure or a table has no end, or its comment is not spelt as tools/figures.py says"
        )


def differences(page: Path, results: Results) -> Iterator[str]:
    """Yield the lines that result files would have otherwise."""
    text = page.read_text(encoding="utf-8")
    try:
        renewed = rendered(text, results)
    except FigureError as error:
        yield f"{page.name}: {error}"
        return
    old, new = text.splitlines(), renewed.splitlines()
    if len(old) != len(new):
        yield f"{page.name}: a table has other rows than its result file"
        return
    for number, (before, after) in enumerate(zip(old, new, strict=True), 1):
        if before != after:
            yield f"{page.name}:{number}: {before}\n{'':>{len(page.name)}}  measured: {after}"


def problems_of(name: str, result: dict[str, Any]) -> Iterator[str]:
    """Yield what a result file lacks, or has and must not."""
    for key in ("provenance", "command", "date", "commit", "rows", "columns"):
        if not result.get(key) and key != "columns":
            yield f"{name}.json has no {key}"
    if result.get("provenance") not in PROVENANCE:
        yield f"{name}.json: provenance must be {' or '.join(PROVENANCE)}; got {result.get('provenance')!r}"
    text = json.dumps(result)
    if found := re.search(r"/(?:home|tmp|root|work|usr|Users)/|://", text):
        yield f"{name}.json names a folder or a host: {text[max(0, found.start() - 20) : found.end() + 20]}"


def sources(results: Results) -> str:
    """Return a table of all result files: what they show, the command, and when it was measured."""
    lines = ["| file | command | measured |", "| --- | --- | --- |"]
    for name in results.names():
        one = results[name]
        words = f"recorded {one['date']}" if one["provenance"] == "recorded" else f"{one['date']}"
        how = one["command"] if one["command"] == NOT_KEPT else f"`{one['command']}`"
        lines.append(f"| `{name}` | {how} | {words}, {one['commit']} |")
    return "".join(f"{line}\n" for line in lines)


def shown_in(root: Path = ROOT) -> dict[str, set[str]]:
    """Return the pages that show each result file."""
    where: dict[str, set[str]] = {}
    for page in pages(root):
        text = page.read_text(encoding="utf-8")
        for match in [*FIGURE.finditer(text), *TABLE.finditer(text)]:
            where.setdefault(re.split("[/;]", match[1])[0].strip(), set()).add(
                page.relative_to(root).as_posix()
            )
    return where


def check(results: Results, root: Path = ROOT) -> list[str]:
    """Return everything that is wrong with pages and result files."""
    found = [line for page in pages(root) for line in differences(page, results)]
    for name in results.names():
        found += problems_of(name, results[name])
    unused = set(results.names()) - set(shown_in(root))
    return found + [f"{name}.json is shown by no page" for name in sorted(unused)]


def main() -> None:
    """Render or check the pages of this clone."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("action", choices=["render", "check"])
    action = parser.parse_args().action
    results = Results()
    if action == "render":
        for page in pages():
            text = page.read_text(encoding="utf-8")
            try:
                renewed = rendered(text, results)
            except FigureError as error:
                sys.exit(f"{page.relative_to(ROOT)}: {error}")
            if renewed != text:
                page.write_text(renewed, encoding="utf-8")
                print(f"rendered {page.relative_to(ROOT)}")
    if found := check(results):
        sys.exit("\n".join(found))


if __name__ == "__main__":
    main()
