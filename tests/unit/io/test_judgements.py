"""Judgements of several raters: one label a document, and how far they agree."""

from itertools import combinations

import numpy as np
import pytest

from marginrank.exceptions import MarginRankError
from marginrank.io import load_judgements

WIDE = b'query,docid,Ann,"Bob, jr."\n"star wars, 1977",1,3,2\n"star wars, 1977",2,0,\ndune,1,1,1\n\n'
LONG = b"query,docid,rating,rater\nq,a,1,x\nq,b,0,x\nq,a,3,y\nq,a,3,z\nq,c,,x\n"


def test_a_column_for_each_rater_and_a_row_for_each_rating():
    wide = load_judgements(WIDE)
    assert wide.qid.tolist() == ["star wars, 1977", "star wars, 1977", "dune"]
    assert wide.docid.tolist() == ["1", "2", "1"]
    assert wide.label.tolist() == [2.5, 0.0, 1.0]
    assert (wide.n_ratings, wide.agreement) == (5, 0.5)
    long = load_judgements(LONG)
    assert long.docid.tolist() == ["a", "b"]
    assert long.label.tolist() == [7 / 3, 0.0]
    assert (long.n_ratings, long.agreement) == (4, pytest.approx(1 / 3))


def test_the_majority_of_several_the_lowest():
    assert load_judgements(LONG, combine="majority").label.tolist() == [3.0, 0.0]
    assert load_judgements(WIDE, combine="majority").label.tolist() == [2.0, 0.0, 1.0]


def test_one_rater_has_nobody_to_agree_with():
    found = load_judgements("\ufeffQuery,DocID,Rating\r\nq,a,1\r\n".encode())
    assert found.label.tolist() == [1.0]
    assert np.isnan(found.agreement)
    assert np.isnan(found.alpha)


@pytest.mark.parametrize("seed", range(5))
def test_agreement_by_its_definition(seed):
    rng = np.random.default_rng(seed)
    units = [rng.integers(0, 4, rng.integers(1, 5)).tolist() for _ in range(20)]
    lines = [f"q,{k},{rating}" for k, unit in enumerate(units) for rating in unit]
    found = load_judgements("\n".join(["query,docid,rating", *lines]).encode())
    units = [unit for unit in units if len(unit) > 1]
    values = [value for unit in units for value in unit]
    observed = sum(
        2 * (a - b) ** 2 / (len(unit) - 1) for unit in units for a, b in combinations(unit, 2)
    ) / len(values)
    expected = sum(2 * (a - b) ** 2 for a, b in combinations(values, 2)) / (len(values) * (len(values) - 1))
    pairs = [a == b for unit in units for a, b in combinations(unit, 2)]
    assert found.alpha == pytest.approx(1 - observed / expected, abs=1e-12)
    assert found.agreement == pytest.approx(np.mean(pairs), abs=1e-12)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (b"", "expected a header with the columns query and docid"),
        (b"query,rating\nq,1\n", "expected a header with the columns query and docid"),
        (b"query,docid\nq,1\n", "expected a column rating, or one for each rater"),
        (b"query,docid,rating\nq,a,good\n", "2: expected a rating, a number, got 'good'"),
        (b"query,docid,rating\nq,a,nan\n", "2: expected a rating"),
        (b"query,docid,rating\nq,a\n", "2: expected 3 cells, got 2"),
        (b"query,docid,rating\nq,a,\n", "expected ratings, got none"),
    ],
)
def test_what_cannot_be_read_is_a_sentence(text, sentence):
    with pytest.raises(MarginRankError, match=sentence):
        load_judgements(text)
