"""Columns that look like ids of queries or an index of pandas, and are taken as features."""

from __future__ import annotations

import re
from collections.abc import Iterable

from marginrank.exceptions import Sentence, warn

# As programs and people call the column of query ids; compared without case and punctuation.
_QUERY_IDS = frozenset(
    {"qid", "qids", "queryid", "queryids", "querynumber", "group", "groupid", "groups", "queryno", "qno"}
)


# What an index of pandas without a name is called: in Parquet, and in CSV as others and pandas read it.
_INDEX_IN_PARQUET = re.compile(r"__index_level_\d+__")
_INDEX_IN_CSV = frozenset({"", "Unnamed: 0"})


def is_pandas_index(name: str) -> bool:
    """Whether a column of Parquet is an unnamed index of pandas, which pandas takes for no column.

    Examples
    --------
    >>> [is_pandas_index(name) for name in ("__index_level_0__", "index_level", "price")]
    [True, False, False]
    """
    return _INDEX_IN_PARQUET.fullmatch(name) is not None


def looks_like_query_ids(name: str) -> bool:
    """Whether the name of a feature is one that ids of queries usually have.

    Examples
    --------
    >>> [looks_like_query_ids(name) for name in ("query_id", "Q-ID", "group", "query_length", "price")]
    [True, True, True, False, False]
    """
    return "".join(letter for letter in name.lower() if letter.isalnum()) in _QUERY_IDS


def warn_of_id_columns(names: Iterable[str] | None) -> None:
    """Warn of features that look like the ids of queries or an index of pandas, with what to do about it.

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
        elif name in _INDEX_IN_CSV or is_pandas_index(name):
            message = Sentence(
                "The column {name!r} is taken as a feature, and looks like an index that pandas wrote.",
                "Leave it out (to_csv(index=False) and to_parquet(index=False) write none); if it is a "
                "feature, rename it.",
                name=name,
            )
            warn(message, UserWarning)
