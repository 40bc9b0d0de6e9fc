"""What somebody probably meant who mistyped a command, an option or a value."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches


def did_you_mean(written: str, known: Iterable[str]) -> str:
    """Return a question to put behind an error: the known word that is nearest; nothing where none is near.

    Capitals, underscores and hyphens do not count.

    Examples
    --------
    >>> did_you_mean("trian", ["train", "tune"])
    " Did you mean 'train'?"
    >>> did_you_mean("Squared-Hinge", ["hinge", "squared_hinge"])
    " Did you mean 'squared_hinge'?"
    >>> did_you_mean("xyz", ["train", "tune"])
    ''
    """
    by_plain = {_plain(word): word for word in known}
    close = get_close_matches(_plain(written), by_plain, n=1, cutoff=0.6)
    if not close:  # the short name of something, or a part of it
        close = [plain for plain in by_plain if len(_plain(written)) >= 3 and _plain(written) in plain][:1]
    return f" Did you mean {by_plain[close[0]]!r}?" if close else ""


def long_option(arguments: Iterable[str], known: Iterable[str]) -> str:
    """Return the same question where an option of several letters was typed with one hyphen.

    Examples
    --------
    >>> long_option(["train.txt", "-alpha", "1"], ["--alpha"])
    " Did you mean '--alpha'?"
    """
    options = set(known)
    for word in arguments:
        if len(word) > 2 and word[0] == "-" and word[1] != "-" and f"-{word}" in options:
            return f" Did you mean '-{word}'?"
    return ""


def _plain(word: str) -> str:
    return word.lower().replace("_", "").replace("-", "")
