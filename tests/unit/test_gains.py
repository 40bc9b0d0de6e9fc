"""Gains of labels: names, tables, and what is refused."""

import numpy as np
import pytest

from marginrank.exceptions import MarginRankError
from marginrank.gains import GainTable, gains_of, read_gain
from marginrank.metrics import Metric, evaluate, parse_metric


@pytest.mark.parametrize(
    ("gain", "expected"),
    [("exponential", [0, 1, 3, 15]), ("linear", [0, 1, 2, 4]), ({0: 0, 1: 1, 2: 1, 4: 9.5}, [0, 1, 1, 9.5])],
    ids=str,
)
def test_gains_are_those_that_were_named(gain, expected):
    assert gains_of(np.array([0.0, 1.0, 2.0, 4.0]), read_gain(gain)).tolist() == expected


def test_a_table_is_the_same_in_any_order_and_spelling():
    table = GainTable.of({1.5: 2, -1: 0.1})
    assert table == GainTable.of({-1: 0.1, 1.5: 2})
    assert table == GainTable.parse("1.5:2,-1:0.1") == GainTable.parse(str(table))
    assert hash(table) == hash(GainTable.parse(str(table)))
    assert read_gain(table) is table


@pytest.mark.parametrize(
    "gain",
    [None, "square", 2, [0, 1], {}, {"a": 1}, {0: "1"}, {0: np.nan}, {0: np.inf}, {np.nan: 0}, {True: 1}],
    ids=str,
)
def test_what_is_no_gain_is_refused(gain):
    with pytest.raises(MarginRankError, match=r"^gain must be 'exponential', 'linear', or a dict of labels"):
        read_gain(gain)


@pytest.mark.parametrize("gain", [{0: -1, 1: 0}, {0: 0, 1: 2, 2: 1}], ids=str)
def test_gains_below_zero_or_decreasing_are_refused(gain):
    with pytest.raises(MarginRankError, match=r"^gain must be of at least 0, and not decreasing"):
        read_gain(gain)


@pytest.mark.parametrize("text", ["0:0/1", "0:0,0:1", "a:1", "0:0//1:1", "0:0/1:nan"])
def test_spellings_that_are_no_table_are_refused(text):
    with pytest.raises(MarginRankError, match="gain must be"):
        GainTable.parse(text)
    with pytest.raises(MarginRankError):
        parse_metric(f"ndcg(gain={text})")


@pytest.mark.parametrize(
    ("gain", "y", "message"),
    [
        (
            "exponential",
            [-1, 0],
            r"gain='exponential' needs labels from 0 to 1000; got labels from -1 to 0\.",
        ),
        ("exponential", [0, 1001], "got labels from 0 to 1001"),
        ("linear", [-1, 2], "gain='linear' needs labels of at least 0; got labels from -1 to 2.*relevance"),
        ({0: 0, 1: 1}, [0, 1, 3], "gain must have an entry for every label; it has none for 3, at row 2"),
    ],
    ids=str,
)
def test_labels_without_a_gain_are_named(gain, y, message):
    with pytest.raises(MarginRankError, match=message):
        gains_of(np.array(y, dtype=float), read_gain(gain))


def test_a_table_that_says_what_a_name_says_gives_the_same_figures():
    rng = np.random.default_rng(0)
    y, scores, qid = rng.integers(4, size=60), rng.normal(size=60).round(1), np.arange(60) // 6
    table = Metric("ndcg", cutoff=3, gain={0: 0, 1: 1, 2: 3, 3: 7}, ties="average")
    both = evaluate(y, scores, qid=qid, metrics=[table, "ndcg(ties=average)@3", "map"])
    assert np.array_equal(both.per_query[str(table)], both.per_query["ndcg(ties=average)@3"])
    shifted = Metric("ndcg", cutoff=3, gain={-1: 0, 0: 1, 1: 3, 2: 7}, ties="average")
    alone = evaluate(y - 1, scores, qid=qid, metrics=shifted)  # labels below 0 have gains, too
    assert np.array_equal(alone.per_query[str(shifted)], both.per_query[str(table)])
    assert alone.n_tied == both.n_tied


def test_only_average_precision_has_every_threshold():
    with pytest.raises(MarginRankError, match="rel of mrr must be a finite number"):
        Metric("mrr", rel="all")
    assert parse_metric("AP(rel=ALL)@5") == Metric("map", cutoff=5, rel="all")
