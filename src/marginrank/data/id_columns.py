"""Columns that are taken as features and look like the ids of queries."""

from __future__ import annotations

from collections.abc import Iterable

from marginrank.exceptions import Sentence, warn

# As programs and people call the column of query ids; compared without case and punctuation.
_QUERY_IDS = frozenset(
    {"qid", "qids", "queryid", "queryids", "querynumber", "group", "groupid", "groups", "queryno", "qno"}
)


def looks_like_query_ids(name: str) -> bool:
    """Whether the name of a feature is one that ids of queries usually have.

    Examples
    --------
    >>> [looks_like_query_ids(name) for name in ("query_id", "Q-ID", "group", "query_length", "price")]
    [True, True, True, False, False]
    """
    return "".join(letter for letter in name.lower() if letter.isalnum()) in _QUERY_IDS


def warn_of_id_columns(names: Iterable[str] | None) -> None:
    """Warn of features that look like the ids of queries, with what to do about it.

    Parameters
    ----------
    names : iterable of str, or None
        Names of all columns that are taken as features.
    """
    for name in names or ():
        if looks_like_query_ids(name):
            message = Sentence(
                "The column {name!r} is taken as a feature, and looks like query ids.",
                "If it has them, leave it out of the features and {pass} it as {qid}; if it is a feature, "
                "rename it.",
                name=name,
            )
            warn(message, UserWarning)
