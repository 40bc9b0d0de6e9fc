"""The page around the sections: one file, a policy that lets nothing else run, and no request."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Sequence
from hashlib import sha256
from importlib.resources import files

from marginrank.markup import Markup, named, tag, visible


def resource(package: str, name: str) -> str:
    """Return the text of a file that comes with the library."""
    return files(package).joinpath(name).read_text("utf-8")


def source_hash(text: str) -> str:
    """Return how a content security policy names an inline script or style.

    Examples
    --------
    >>> source_hash("")
    "'sha256-47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU='"
    """
    return f"'sha256-{b64encode(sha256(text.encode()).digest()).decode('ascii')}'"


def page(title: str, made_by: str, sections: Sequence[tuple[str, str, Markup]]) -> str:
    """Return the whole document.

    Parameters
    ----------
    title : str
        Of the page.
    made_by : str
        The line below it.
    sections : sequence of (id, title, markup)
        In their order.
    """
    style = resource("marginrank.report", "page.css")
    script = resource("marginrank.report", "page.js")
    policy = (
        f"default-src 'none'; style-src {source_hash(style)}; script-src {source_hash(script)}; "
        "base-uri 'none'; form-action 'none'"
    )
    head = tag(
        "head",
        tag("meta", charset="utf-8"),
        tag("meta", http_equiv="Content-Security-Policy", content=policy),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("meta", name="color-scheme", content="light dark"),
        tag("meta", name="referrer", content="no-referrer"),
        tag("title", visible(title, 200)),
        Markup(f"<style>{style}</style>"),
    )
    links = [tag("li", tag("a", name, href=f"#{identity}")) for identity, name, _ in sections]
    body = tag(
        "body",
        tag("a", "Skip to the figures", href="#main", class_="skip"),
        tag("header", tag("h1", named(title, 200)), tag("p", made_by)),
        tag("nav", tag("ul", *links), aria_label="Sections"),
        tag("main", *(one for _, _, one in sections), id="main", tabindex="-1"),
        Markup(f"<script>{script}</script>"),
    )
    return f"<!doctype html>\n{tag('html', head, body, lang='en')}\n"
