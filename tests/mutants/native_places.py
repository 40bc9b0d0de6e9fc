"""Places in C++, found in the tokens of a header; a mutant is a copy of the header that stands before it.

There is no compiler in this: binary operators have blanks around them here, brackets of templates do
not, and a place that does not compile is left out when it is tried.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from mutant_places import ROOT, Place, numbered

HEADERS = ROOT / "native" / "include" / "marginrank"

_TOKEN = re.compile(
    r"(?P<skip>//[^\n]*|/\*.*?\*/|^[ \t]*#(?:[^\n]|\\\n)*)"
    r'|(?P<text>"(?:\\.|[^"\\])*"|\'(?:\\.|[^\'\\])+\')'
    r"|(?P<number>(?:\d[\w.']*(?:(?<=[eE])[+-]\d+)?)|\.\d+\w*)"
    r"|(?P<word>[A-Za-z_]\w*)"
    r"|(?P<sign><<=|>>=|<=>|->\*|\.\.\.|<<|>>|<=|>=|==|!=|&&|\|\||\+\+|--|\+=|-=|\*=|/=|%=|&=|\|=|\^=|->|::|.)",
    re.MULTILINE | re.DOTALL,
)
_OTHER = {"<": "<=", "<=": "<", ">": ">=", ">=": ">", "==": "!=", "!=": "=="}
_ENDS_OF_TERM = {
    "+",
    "-",
    "<",
    ">",
    "<=",
    ">=",
    "==",
    "!=",
    "&&",
    "||",
    "?",
    ":",
    ",",
    ";",
    "<<",
    ">>",
    "=",
    "&",
    "|",
}
_ENDS_OF_AND = {"&&", "||", "?", ":", ",", ";", "="}
_ENDS_OF_OR = {"||", "?", ":", ",", ";", "="}
_LEAVES = {"throw", "return", "continue", "break"}
_SCOPES = {"namespace", "struct", "class", "enum", "union", "extern"}


class Token(NamedTuple):
    """A piece of code and where it begins."""

    text: str
    kind: str
    start: int

    @property
    def end(self) -> int:
        """Where it ends."""
        return self.start + len(self.text)


class Change(NamedTuple):
    """What stands between two positions of a file becomes ``text``; a reader is shown ``shown``."""

    kind: str
    start: int
    end: int
    text: str
    shown: tuple[int, int]


def places_of(path: Path) -> list[Place]:
    """Return the places of a header."""
    code = path.read_text(encoding="utf-8")
    return numbered(place for place, _ in _found(code, path.name))


def mutated(path: Path, name: str) -> str:
    """Return the code of a header with the mistake of that name made."""
    code = path.read_text(encoding="utf-8")
    found = list(_found(code, path.name))
    for place, (_, change) in zip(numbered(place for place, _ in found), found, strict=True):
        if place.name == name:
            return code[: change.start] + change.text + code[change.end :]
    raise LookupError(f"There is no place {name!r}.")


def tokens_of(code: str) -> list[Token]:
    """Return the tokens of a file without comments, directives and blanks."""
    found = (Token(m.group(), m.lastgroup or "", m.start()) for m in _TOKEN.finditer(code))
    return [token for token in found if token.kind != "skip" and not token.text.isspace()]


def _found(code: str, file: str) -> Iterator[tuple[Place, Change]]:
    tokens = tokens_of(code)
    for function, first, last in functions_of(tokens):
        for at in range(first, last):
            for change in _changes(code, tokens, at, last):
                start, end = change.shown
                right = " ".join(code[start:end].split())
                wrong = " ".join((code[start : change.start] + change.text + code[change.end : end]).split())
                yield Place(file, function, change.kind, right, wrong), change


def functions_of(tokens: list[Token]) -> Iterator[tuple[str, int, int]]:
    """Yield the name of each function and the tokens of its body, from its first to behind its last."""
    scopes: list[str] = []
    begin = at = 0
    while at < len(tokens):
        text = tokens[at].text
        if text == "{":
            name, is_function = _opened(tokens[begin:at])
            end = _closing(tokens, at)
            if is_function:
                yield ".".join([*filter(None, scopes), name]), at + 1, end
            if is_function or not name:
                at = end
            else:
                scopes.append("" if name == "namespace" else name)
            begin = at + 1
        elif text == "}":
            scopes.pop()
            begin = at + 1
        elif text == ";":
            begin = at + 1
        at += 1


def _opened(head: list[Token]) -> tuple[str, bool]:
    """Return the name of what a brace opens, and whether it is a function; no name for values."""
    words = [token.text for token in head]
    if "template" in words[:1]:
        words = words[_after_angles(words, 1) :]
    for at, word in enumerate(words):
        if word in _SCOPES:
            named = at + 1 < len(words) and word != "namespace"
            return (words[at + 1] if named else "namespace"), False
        if word == "=":
            return "", False
        if word == "(":
            if words[at - 1] == ")" or "operator" in words[max(at - 3, 0) : at]:
                return "operator", True
            return words[at - 1], True
    return "", False


def _after_angles(words: list[str], at: int) -> int:
    depth = 0
    while at < len(words):
        depth += {"<": 1, ">": -1, ">>": -2}.get(words[at], 0)
        at += 1
        if depth <= 0:
            return at
    return at


def _closing(tokens: list[Token], at: int) -> int:
    """Return where the bracket that opens at a token is closed."""
    depth = 0
    while True:
        depth += (tokens[at].text in "([{") - (tokens[at].text in ")]}")
        if depth == 0:
            return at
        at += 1


def _changes(code: str, tokens: list[Token], at: int, last: int) -> Iterator[Change]:
    token, before, after = tokens[at], tokens[at - 1], tokens[at + 1]
    apart = code[token.start - 1].isspace() and code[token.end].isspace()
    shown = _around(tokens, at, last)
    if token.text in _OTHER and apart:
        yield Change("comparison", token.start, token.end, _OTHER[token.text], shown)
    elif token.text in "+-" and apart:
        yield Change("sign", token.start, token.end, "-" if token.text == "+" else "+", shown)
        yield _dropped(tokens, at, last, _ENDS_OF_TERM, shown)
    elif (
        token.text == "-"
        and code[token.end - 2] in " ("
        and before.kind != "number"
        and before.text not in ")]"
    ):
        yield Change("sign", token.start, token.end, "", shown)
    elif token.text in ("+=", "-="):
        yield Change("sign", token.start, token.end, "-=" if token.text == "+=" else "+=", shown)
    elif token.text == "&&" and apart:
        yield _dropped(tokens, at, last, _ENDS_OF_AND, shown)
    elif token.text == "||" and apart:
        yield _dropped(tokens, at, last, _ENDS_OF_OR, shown)
    elif token.kind == "number" and token.text.isdigit() and before.text not in "<" and after.text != ">":
        yield Change("off by one", token.start, token.end, str(int(token.text) + 1), shown)
    elif token.text == "if" and after.text == "(":
        closed = _closing(tokens, at + 1)
        follows = tokens[closed + 1 + (tokens[closed + 1].text == "{")]
        if follows.text in _LEAVES:
            inside = after.end, tokens[closed].start
            yield Change("skipped check", *inside, "false", (token.start, follows.end))


def _dropped(tokens: list[Token], at: int, last: int, ends: set[str], shown: tuple[int, int]) -> Change:
    """Return the change that leaves out an operator and what stands right of it."""
    end = at + 1
    while end < last:
        if tokens[end].text in "([{":
            end = _closing(tokens, end)
        elif tokens[end].text in ends | set(")]}"):
            break
        end += 1
    stop = tokens[end - 1].end
    return Change("dropped term", tokens[at].start, stop, "", (shown[0], max(shown[1], stop)))


def _around(tokens: list[Token], at: int, last: int) -> tuple[int, int]:
    """Return where the statement or the part of it begins and ends that a reader needs."""
    stops = {";", "{", "}"}
    first, end = at, at
    depth = 0
    while tokens[first - 1].text not in stops or depth:
        depth += (tokens[first - 1].text in ")]") - (tokens[first - 1].text in "([")
        first -= 1
        if depth < 0 and tokens[first].text == "(" and tokens[first - 1].text in ("if", "while", "for"):
            first += 1
            break
        depth = max(depth, 0)
    is_condition = tokens[first - 1].text == "(" and tokens[first - 2].text in ("if", "while", "for")
    limit = _closing(tokens, first - 1) if is_condition else last
    while end < min(limit, last) and tokens[end].text not in stops:
        end += 1
    return tokens[first].start, tokens[min(end, last) - 1].end
