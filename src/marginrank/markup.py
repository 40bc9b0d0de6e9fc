"""HTML and SVG whose text cannot become markup: everything is escaped unless it was made here.

Names of queries, features and files come from anywhere. Each is escaped, isolated from the direction of the
text around it (``bdi``), freed of characters that steer what others look like, and cut to a length.
"""

from __future__ import annotations

import json
import math
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from html import escape
from typing import Any

LONGEST = 80
_VOID = {"input", "meta", "br", "hr", "link"}
# Other than "Cc", the control characters: marks that turn the direction of text, and line ends of JavaScript.
_STEERING = {"Cf", "Cc", "Cs", "Zl", "Zp", "Co", "Cn"}


class Markup(str):
    """Text that is HTML already, and so is not escaped again."""

    __slots__ = ()


def visible(text: object, longest: int = LONGEST) -> str:
    r"""Return a text that shows what is in it: steering characters as escapes, the rest cut to a length.

    Examples
    --------
    >>> visible("abc\u202ecba\n"), visible("x" * 100, 5)
    ('abc\\u202ecba\\n', 'xxxx…')
    """
    shown = str(text)
    if len(shown) > longest:
        shown = shown[: longest - 1] + "…"
    if shown.isascii() and shown.isprintable():
        return shown
    return "".join(_shown(one) if unicodedata.category(one) in _STEERING else one for one in shown)


def _shown(character: str) -> str:
    return character.encode("unicode_escape", "surrogatepass").decode("ascii")


def tag(name: str, /, *content: object, **attributes: Any) -> Markup:
    """Return an element; content that is not ``Markup`` is escaped.

    ``class_`` is the attribute class, and an underscore within a name a hyphen; an attribute of None or False
    is left out, one of True stands without a value.

    Examples
    --------
    >>> tag("td", "<b>", tag("i", "x"), class_="name", aria_label='"', hidden=True, title=None)
    '<td class="name" aria-label="&quot;" hidden>&lt;b&gt;<i>x</i></td>'
    """
    written = "".join(_attribute(key, value) for key, value in attributes.items())
    if name in _VOID:
        return Markup(f"<{name}{written}>")
    return Markup(f"<{name}{written}>{joined(content)}</{name}>")


def _attribute(key: str, value: Any) -> str:
    if value is None or value is False:
        return ""
    name = key.rstrip("_").replace("_", "-")
    if value is True:
        return f" {name}"
    if isinstance(value, float):
        value = f"{value:.2f}".rstrip("0").rstrip(".")
    return f' {name}="{_text(value)}"'


def joined(content: Iterable[object]) -> Markup:
    """Return pieces one after the other, each escaped unless it is ``Markup``."""
    return Markup("".join(one if isinstance(one, Markup) else _text(one) for one in content))


def _text(value: object) -> str:
    shown = str(value)
    return escape(visible(shown, len(shown)))


def named(text: object, longest: int = LONGEST) -> Markup:
    r"""Return a name that came from outside.

    Examples
    --------
    >>> named("<script>")
    '<bdi>&lt;script&gt;</bdi>'
    """
    return tag("bdi", visible(text, longest))


def table(
    header: Sequence[object], rows: Iterable[Sequence[object]], *, caption: object = None, **attributes: Any
) -> Markup:
    """Return a table whose first column names the rows, and whose others hold figures.

    Examples
    --------
    >>> table(["metric", "mean"], [["map", "0.5"]])[:60]
    '<table><thead><tr><th scope="col">metric</th><th scope="col"'
    """
    head = tag("tr", *(tag("th", cell, scope="col") if cell else tag("td") for cell in header))
    body = [tag("tr", tag("th", row[0], scope="row"), *(tag("td", cell) for cell in row[1:])) for row in rows]
    title = () if caption is None else (tag("caption", caption),)
    return tag("table", *title, tag("thead", head), tag("tbody", *body), **attributes)


def facts(pairs: Iterable[tuple[object, object]], *, caption: object = None, **attributes: Any) -> Markup:
    """Return names and values in two columns."""
    rows = [tag("tr", tag("th", name, scope="row"), tag("td", value)) for name, value in pairs]
    title = () if caption is None else (tag("caption", caption),)
    return tag("table", *title, tag("tbody", *rows), **attributes)


def unseen(text: object) -> Markup:
    """Return a name that is read aloud only: what the eye has from a heading above."""
    return tag("span", visible(text), class_="unseen")


def data_block(identity: str, content: Any) -> Markup:
    r"""Return values for a script to read: JSON that can end no element.

    Examples
    --------
    >>> data_block("d", {"ids": ["</script>"]})
    '<script type="application/json" id="d">{"ids":["\\u003c/script\\u003e"]}</script>'
    """
    text = json.dumps(_plain(content), separators=(",", ":"), allow_nan=False)
    for character in "<>&":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return Markup(f'<script type="application/json" id="{escape(identity)}">{text}</script>')


def _plain(content: Any) -> Any:
    if isinstance(content, Mapping):
        return {str(key): _plain(value) for key, value in content.items()}
    if isinstance(content, list | tuple):
        return [_plain(value) for value in content]
    if isinstance(content, float) and not math.isfinite(content):
        return None
    return content
