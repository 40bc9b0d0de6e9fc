"""Grouping rows by query equals a dictionary of lists, for any ids in any order."""

import datetime
import string
from itertools import chain, pairwise

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from marginrank.data import RankingData
from marginrank.data.queries import check_qid, group_rows

small = st.integers(-3, 3)
ids_of_one_type = st.one_of(
    st.lists(small, min_size=1),
    st.lists(st.integers(-(2**63), 2**63 - 1), min_size=1),
    st.lists(st.integers(-(2**70), 2**70), min_size=1),
    st.lists(st.sampled_from([0, 2**63, 2**64 - 1, -1]), min_size=1),
    st.lists(st.floats(allow_nan=False), min_size=1),
    st.lists(st.sampled_from([0.0, -0.0, 1.5]), min_size=1),
    st.lists(st.booleans(), min_size=1),
    st.lists(st.text(string.ascii_lowercase + "\0", max_size=2), min_size=1),
    st.lists(st.tuples(small, st.sampled_from("ab")), min_size=1),
    st.lists(st.dates(datetime.date(2024, 1, 1), datetime.date(2024, 1, 4)), min_size=1),
)
mixed_ids = st.lists(
    st.one_of(small, st.sampled_from(["1", "a", 1.5, True, b"a", (1,), frozenset([1])])), min_size=1
)
any_ids = st.one_of(ids_of_one_type, mixed_ids)


def rows_by_query(ids):
    """Return the oracle: a plain dictionary of lists."""
    groups = {}
    for row, query in enumerate(ids):
        groups.setdefault(query, []).append(row)
    return groups


def grouped(qid, n_rows):
    groups = group_rows(check_qid(qid, n_rows))
    order = np.arange(n_rows) if groups.order is None else groups.order
    return groups, [order[a:b].tolist() for a, b in pairwise(groups.query_ptr)]


@given(any_ids)
@settings(max_examples=300)
def test_groups_equal_a_dictionary_of_lists(ids):
    expected = rows_by_query(ids)
    groups, rows = grouped(ids, len(ids))
    assert rows == list(expected.values())
    assert groups.query_ids.tolist() == list(expected)


@given(any_ids)
def test_order_is_none_exactly_when_rows_are_grouped_already(ids):
    expected = [row for rows in rows_by_query(ids).values() for row in rows]
    groups, _ = grouped(ids, len(ids))
    assert (groups.order is None) == (expected == list(range(len(ids))))


@given(any_ids)
def test_in_original_order_undoes_the_grouping(ids):
    n_rows = len(ids)
    data = RankingData(np.zeros((n_rows, 1)), np.zeros(n_rows), qid=ids)
    order = np.arange(n_rows) if data.order is None else data.order
    assert data.in_original_order(order).tolist() == list(range(n_rows))


@given(
    st.lists(small, min_size=1),
    st.sampled_from(["i1", "u1", "i2", ">i4", "u8", "f2", "f4", "f8", "S4", "U4", "M8[ns]"]),
)
def test_numpy_type_of_the_ids_does_not_matter(ids, dtype):
    ids = np.abs(ids)
    _, rows = grouped(ids.astype(dtype), len(ids))
    assert rows == list(rows_by_query(ids.tolist()).values())


@pytest.mark.parametrize(
    "container",
    [
        pd.Series,
        pd.Index,
        pd.Categorical,
        lambda ids: pd.Series(ids, dtype="category"),
        lambda ids: pd.Series(ids, dtype="string"),
        lambda ids: pd.Series(ids, index=range(10, 10 + len(ids))),
        pl.Series,
        lambda ids: pl.Series(ids, dtype=pl.Categorical),
        tuple,
        np.array,
    ],
)
def test_containers_of_strings_group_like_a_list(container):
    ids = ["b", "a", "b", "c", "a", "b"]
    groups, rows = grouped(container(ids), len(ids))
    assert rows == [[0, 2, 5], [1, 4], [3]]
    assert groups.query_ids.tolist() == ["b", "a", "c"]


def test_ids_that_collide_in_the_hash_table_stay_apart():
    rng = np.random.default_rng(0)
    ids = rng.integers(-(2**63), 2**63 - 1, 20_000)[rng.integers(0, 20_000, 60_000)]
    _, rows = grouped(ids, len(ids))
    assert rows == list(rows_by_query(ids.tolist()).values())


@given(st.lists(st.tuples(small, st.integers(0, 3), st.booleans()), min_size=1))
def test_training_view_keeps_exactly_the_rows_of_positive_weight(rows):
    qid, weight, query_counts = zip(*rows, strict=True)
    query_weight = {q: float(dict(zip(qid, query_counts, strict=True))[q]) for q in qid}
    expected = [
        kept
        for q, members in rows_by_query(qid).items()
        if (kept := [i for i in members if weight[i] and query_weight[q]])
    ]
    if not any(weight) or not any(query_weight.values()) or not expected:
        return
    y = np.arange(float(len(qid)))
    data = RankingData(y[:, None], y, qid=qid, sample_weight=weight, query_weight=query_weight)
    view = data.training_view()
    ptr = view.query_ptr
    assert [view.y[a:b].tolist() for a, b in pairwise(ptr)] == expected
    taken = np.arange(len(qid)) if view.rows is None else view.rows
    assert taken.tolist() == list(chain.from_iterable(expected))


@given(st.lists(small, min_size=1), st.data())
def test_subset_equals_building_from_the_rows(qid, draw):
    rows = draw.draw(st.lists(st.integers(0, len(qid) - 1), min_size=1))
    y = np.arange(float(len(qid)))
    query_weight = {q: abs(q) + 1.0 for q in qid}
    whole = RankingData(y[:, None], y, qid=qid, query_weight=query_weight).subset(rows)
    direct = RankingData(y[rows, None], y[rows], qid=np.array(qid)[rows], query_weight=query_weight)
    for name in ("X", "y", "qid", "query_ids", "query_ptr", "query_weight", "order"):
        np.testing.assert_array_equal(getattr(whole, name), getattr(direct, name))
