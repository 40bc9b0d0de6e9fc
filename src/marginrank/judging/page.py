"""The page that asks: two items side by side, four answers, and what has been learned."""

from __future__ import annotations

from typing import NamedTuple

from marginrank.markup import Markup, tag, unseen, visible
from marginrank.report.page import resource, source_hash


class JudgePage(NamedTuple):
    """A document, and the policy that it is sent with."""

    text: str
    policy: str


def judge_page(rater: str) -> JudgePage:
    """Return the page; its script fetches all else.

    Examples
    --------
    >>> judge_page("<me>").policy[:26]
    "default-src 'none'; style-"
    """
    style = resource("marginrank.report", "page.css") + resource("marginrank.judging", "judge.css")
    script = resource("marginrank.judging", "judge.js")
    policy = (
        f"default-src 'none'; style-src {source_hash(style)}; script-src {source_hash(script)}; "
        "connect-src 'self'; img-src 'self' data:; base-uri 'none'; form-action 'none'; "
        "frame-ancestors 'none'"
    )
    head = tag(
        "head",
        tag("meta", charset="utf-8"),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("meta", name="color-scheme", content="light dark"),
        tag("link", rel="icon", href="data:,"),
        tag("title", "Which is better?"),
        Markup(f"<style>{style}</style>"),
    )
    name = tag("input", type="text", id="rater", value=visible(rater, 40), maxlength="40", autocomplete="off")
    body = tag(
        "body",
        tag("header", tag("h1", "Which is better?"), tag("label", "Your name ", name), " ", _keys()),
        tag("main", _question(), _learned(), id="main"),
        Markup(f"<script>{script}</script>"),
    )
    return JudgePage(f"<!doctype html>\n{tag('html', head, body, lang='en')}\n", policy)


def _keys() -> Markup:
    """Return a switch: who speaks to the computer, or types ahead, may not want single keys to answer."""
    return tag("label", tag("input", type="checkbox", id="keys", checked=True), " Answer by keys")


def _question() -> Markup:
    items = [
        tag(
            "article",
            tag("h2", side.upper(), id=f"title-{side}"),
            tag("div", id=f"item-{side}", class_="item"),
            aria_labelledby=f"title-{side}",
        )
        for side in "ab"
    ]
    answers = [
        tag("button", text, tag("kbd", key), type="button", id=f"answer-{word}", disabled=True)
        for word, text, key in (
            ("a", "A is better ", "A"),
            ("tie", "Equal ", "T"),
            ("skip", "Skip ", "S"),
            ("b", "B is better ", "B"),
        )
    ]
    return tag(
        "section",
        tag("div", *items, class_="pair", id="pair"),
        tag("div", *answers, class_="answers"),
        tag("p", "Keys: A or left arrow, B or right arrow, T, S.", class_="note"),
        tag("p", id="message", role="alert"),
        tag("p", id="news", role="status", class_="unseen"),
        aria_label="Question",
    )


def _learned() -> Markup:
    links = [tag("a", text, id=f"export-{word}", href="#") for word, text in _EXPORTS]
    rows = [tag("tr", tag("th", text, scope="row"), tag("td", "-", id=word)) for word, text in _FIGURES]
    return tag(
        "section",
        tag("h2", "What has been learned", id="learned-title"),
        tag("table", tag("caption", unseen("What has been learned")), tag("tbody", *rows), class_="facts"),
        tag("h3", "Ranking so far", id="top-title"),
        tag("ol", id="top", aria_labelledby="top-title"),
        tag("p", "Save: ", *(Markup(f"{link} ") for link in links)),
        aria_labelledby="learned-title",
    )


_EXPORTS = (("pairs", "pairs"), ("ranking", "ranking"), ("model", "model"))
_FIGURES = (
    ("answers", "answers"),
    ("accuracy", "right on held-out questions"),
    ("certificate", "certificate"),
    ("weights", "features in use"),
)
