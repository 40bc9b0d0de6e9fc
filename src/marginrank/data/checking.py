"""A check that is made wherever a function takes nothing but ranking data."""

from __future__ import annotations

from typing import Any

from marginrank.data.ranking_data import RankingData
from marginrank.exceptions import ParameterError


def check_data(data: Any, name: str = "data") -> RankingData:
    """Return data that are ranking data, in memory or on disk.

    Examples
    --------
    >>> check_data([[1.0]])
    Traceback (most recent call last):
        ...
    marginrank.exceptions.ParameterError: data must be a RankingData; got [[1.0]].
    """
    if not isinstance(data, RankingData):
        raise ParameterError(name, "a RankingData", data)
    return data
