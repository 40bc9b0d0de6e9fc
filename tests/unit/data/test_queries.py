"""Query ids and group sizes: anything hashable in, one clear sentence where something is missing."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from marginrank.data.queries import check_group, check_qid
from marginrank.data.validation import nothing_to_rank
from marginrank.exceptions import MarginRankError, NothingToRankError


def refuses(message):
    return pytest.raises(MarginRankError, match=message)


@pytest.mark.parametrize(
    "qid",
    [
        ["a"] * 17 + [None, "b"],
        [1.0] * 17 + [np.nan, 2.0],
        pd.Series([1] * 17 + [None, 2], dtype="Int64"),
        pd.Series(["a"] * 17 + [None, "b"]),
        pd.Series(["a"] * 17 + [None, "b"], dtype="category"),
        np.array(["a"] * 17 + [pd.NA, "b"], dtype=object),
        np.array([1] * 17 + [float("nan"), "b"], dtype=object),
        pd.to_datetime(["2024-01-01"] * 17 + [None, "2024-01-02"]),
        pl.Series([1] * 17 + [None, 2]),
        pl.Series(["a"] * 17 + [None, "b"]),
        pa.chunked_array([["a"] * 17 + [None, "b"]]),
    ],
)
def test_missing_ids_are_located(qid):
    with refuses("^qid has missing values, first at row 17; every row needs an id.$"):
        check_qid(qid, 19)


def test_ids_that_look_alike_stay_apart():
    assert check_qid([1, "1"], 2).tolist() == [1, "1"]
    assert check_qid([2**63, -1], 2).tolist() == [2**63, -1]


def test_qid_that_cannot_be_used_is_refused():
    with refuses("^qid must have one entry per row of X; got 120 for 119 rows.$"):
        check_qid(np.zeros(120), 119)
    with refuses(r"qid must be 1-D, one id per row of X; got shape \(2, 1\)"):
        check_qid(np.zeros((2, 1)), 2)
    with refuses(r"qid must hold hashable ids.*; row 1 holds \[2\]"):
        check_qid([(1,), [2]], 2)


def test_group_sizes_must_fit():
    assert check_group([2, 1], 3).tolist() == [2, 1]
    with refuses("must sum to the number of rows of X; got 3 for 4 rows"):
        check_group([2, 1], 4)
    with refuses("at least 1; got 0 at position 1"):
        check_group([2, 0, 1], 3)
    with refuses("list of group sizes"):
        check_group([1.5, 1.5], 3)


def test_nothing_to_rank_says_how_many_queries_were_checked():
    error = nothing_to_rank(120)
    assert isinstance(error, NothingToRankError)
    assert str(error) == (
        "No query has two different labels (checked 120 queries), so there is nothing to rank. "
        "Is qid unique per row, or y constant?"
    )
    assert "All rows have the same label" in str(nothing_to_rank(1))
