"""Ranking data whose features lie elsewhere; every ranker takes it as it takes data on disk."""

from __future__ import annotations

from dataclasses import fields, replace
from typing import Any, NoReturn

from marginrank.data import RankingData
from marginrank.data.queries import row_numbers
from marginrank.exceptions import MarginRankError
from marginrank.storage.chunk_vectors import ChunkVector
from marginrank.storage.engines import Engine, RemoteMatrix


class RemoteData(RankingData):
    """Ids and weights in memory; features where an engine reaches them, and labels cut like these.

    Parameters
    ----------
    X : RemoteMatrix
        The features.
    **known
        The other fields of :class:`~marginrank.RankingData`, validated.
    """

    X: RemoteMatrix

    def __init__(self, X: RemoteMatrix, **known: Any) -> None:
        queries = known.pop("queries")
        self._set(**{"comments": None, **known}, X=X, allow_nonfinite=False)
        self._set(queries=replace(queries, y=ChunkVector.along(queries.y, X)))

    @classmethod
    def like(cls, data: RankingData, X: RemoteMatrix) -> RemoteData:
        """Return the data with their features elsewhere."""
        left_out = {"X", "comments", "allow_nonfinite"}
        names = [field.name for field in fields(RankingData) if field.name not in left_out]
        return cls(X, **{name: getattr(data, name) for name in names})

    def __repr__(self) -> str:
        return (
            f"RemoteData(n_rows={self.n_rows}, n_features={self.n_features}, n_queries={self.n_queries}, "
            f"n_chunks={self.X.n_chunks}, {self.X.dtype})"
        )

    def through(self, engine: Engine) -> RemoteData:
        """Return the same data, their features reached through another engine."""
        return RemoteData.like(self, self.X.through(engine))

    def subset(self, rows: Any) -> RankingData:
        """Return the data of some rows; ascending ones stay where they are, others are brought here."""
        numbers = row_numbers(rows, self.n_rows)
        return self._subset(numbers, self.X.taken(numbers), None)

    def normalized_by_query(self) -> NoReturn:
        """Refuse: the result is dense and in memory."""
        raise MarginRankError.saying(
            "Data that lie on workers are not normalised within queries: normalise them before they are "
            "written.",
            "{RankingData.normalized_by_query()} does that.",
        )
