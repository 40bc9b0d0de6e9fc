"""A model as an SQL query, in float64: for PostgreSQL, DuckDB, SQLite and others that know standard SQL.

Columns are quoted, cast, and named together with their table: SQLite takes a quoted name that it does not
know for a text, whose value is 0. Normalisation within queries is a window over the query.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from importlib import import_module
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from marginrank.exceptions import MarginRankError
from marginrank.export.base import ExportedModel, Options, Scorer, Target, Written, used_columns
from marginrank.export.numbers import literal, nested_sum
from marginrank.types import Rows, Vector

_TABLE = "rows"
_QID = "qid"
# SQLite is compiled for so many columns of a table by default; one is the number of the row.
_SQLITE_COLUMNS = 1990


class Sql(Target):
    """A query that adds a column ``score`` to a table."""

    name: ClassVar[str] = "sql"
    title: ClassVar[str] = "SQL"
    takes: ClassVar[frozenset[str]] = frozenset({"table", "qid_column"})
    holds_query_normalization: ClassVar[bool] = True

    def write(self, model: ExportedModel, options: Options) -> Written:
        """Return a SELECT statement."""
        columns = used_columns(model.coef)
        by_query = model.query_normalization is not None
        _check_distinct([options.names[j] for j in columns])
        alias = _alias(options.names)
        terms = []
        for j in columns:
            value = f"CAST(t.{_quoted(options.names[j])} AS DOUBLE PRECISION)"
            terms.append(f"{literal(model.coef[j])} * {_within_query(value) if by_query else value}")
        if model.intercept:
            terms.append(literal(model.intercept))
        window = f"\nWINDOW w AS (PARTITION BY t.{_quoted(options.qid_column or _QID)})" if by_query else ""
        text = (
            "-- Higher is better within a query.\n"
            "SELECT t.*,\n"
            f"  {nested_sum(terms, '  ')} AS {alias}\n"
            f"FROM {_quoted(options.table or _TABLE)} AS t{window}\n"
        )
        return Written(text.encode(), columns)

    def scorer(self, content: bytes, options: Options) -> Scorer:
        """Return what runs the query: in SQLite, or in DuckDB where it has too many columns for that."""
        statement = content.decode()
        # Rows come back in any order, so they are numbered, in a column that no other is called like.
        number = "n" * (1 + max(map(len, (*options.names, options.qid_column or _QID))))
        used = [j for j, name in enumerate(options.names) if f"t.{_quoted(name)} AS" in statement]
        qid = options.qid_column or _QID
        with_qid = " OVER w" in statement and qid not in [options.names[j] for j in used]
        names = [number, *([qid] if with_qid else []), *(options.names[j] for j in used)]
        ordered = f"SELECT {_alias(options.names)} FROM ({statement}) AS scored ORDER BY {_quoted(number)}"

        def score(X: NDArray[np.float64], queries: Rows) -> Vector:
            parts = [np.arange(len(X), dtype=np.float64)[:, None], X[:, used]]
            if with_qid:
                parts.insert(1, queries.astype(np.float64)[:, None])
            return _run(ordered, options.table or _TABLE, names, np.concatenate(parts, axis=1))

        return score


def _alias(names: Sequence[str]) -> str:
    """Return what the scores are called: as no column of the model is."""
    alias, taken = "score", {name.lower() for name in names}
    while alias in taken:
        alias += "_"
    return alias


def _within_query(value: str) -> str:
    low, high = f"MIN({value}) OVER w", f"MAX({value}) OVER w"
    return f"CASE WHEN {high} > {low} THEN ({value} - {low}) / ({high} - {low}) ELSE 0e0 END"


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _check_distinct(names: list[str]) -> None:
    """Refuse names that differ in case only, which databases take for one."""
    seen: dict[str, str] = {}
    for name in names:
        other = seen.setdefault(name.lower(), name)
        if other != name:
            raise MarginRankError.saying(
                "The columns {first!r} and {second!r} differ in case only, and are one to many databases.",
                "Rename them for the export with {names}.",
                first=other,
                second=name,
            )


def _run(statement: str, table: str, names: list[str], values: NDArray[np.float64]) -> Vector:
    columns = ", ".join(f"{_quoted(name)} DOUBLE PRECISION" for name in names)
    create = f"CREATE TABLE {_quoted(table)} ({columns})"
    if len(names) <= _SQLITE_COLUMNS:
        connection = sqlite3.connect(":memory:")
        try:
            connection.execute(create)
            marks = ", ".join("?" * len(names))
            connection.executemany(f"INSERT INTO {_quoted(table)} VALUES ({marks})", values.tolist())
            return np.array([row[0] for row in connection.execute(statement)], dtype=np.float64)
        finally:
            connection.close()
    return _run_in_duckdb(statement, table, names, values)


def _run_in_duckdb(statement: str, table: str, names: list[str], values: NDArray[np.float64]) -> Vector:
    try:
        duckdb, pyarrow = import_module("duckdb"), import_module("pyarrow")
    except ImportError:
        raise MarginRankError(
            f"The query reads {len(names):,} columns, and SQLite, which checks it, has tables of at most "
            "2,000. Install duckdb and pyarrow to check it there: pip install duckdb pyarrow."
        ) from None
    with duckdb.connect(":memory:") as connection:
        rows = pyarrow.table(list(values.T), names=names)
        connection.register("given", rows)
        connection.execute(f"CREATE TABLE {_quoted(table)} AS SELECT * FROM given")
        found = connection.execute(statement).fetchnumpy()
    (scores,) = found.values()
    return np.asarray(scores, dtype=np.float64)
