"""The gate for settings: a clean value, or a sentence of one line that names the parameter."""

from fractions import Fraction

import numpy as np
import pandas as pd
import pytest

from marginrank import RankRLS, RankSVM
from marginrank.exceptions import MarginRankError, shown
from marginrank.parameters import (
    check_count,
    check_flag,
    check_grid,
    check_positive,
    check_seed,
    finite_number,
)
from marginrank.system.threads import resolve_threads


@pytest.mark.parametrize(
    "value", [10**400, -(10**400), Fraction(10**400), np.inf, np.nan, np.float32(np.inf)]
)
def test_what_float64_cannot_hold_is_no_number(value):
    assert finite_number(value) is None
    with pytest.raises(MarginRankError, match=r"^alpha must be a positive, finite number; got "):
        check_positive(value, "alpha")


@pytest.mark.parametrize("value", ["yes", 1, 0, np.array([True]), [], object()])
def test_a_switch_is_true_or_false(value):
    with pytest.raises(MarginRankError, match=r"^warm_start must be True or False; got "):
        check_flag(value, "warm_start")
    assert check_flag(np.True_, "warm_start") is True


def test_numbers_whose_inverse_overflows_are_refused():
    with pytest.raises(MarginRankError, match=r"tol must be at least 2.23e-308; got 5e-324"):
        check_positive(5e-324, "tol")


def test_grids_have_an_order():
    assert check_grid(pd.Series([2, 0.5]), "alphas").tolist() == [2.0, 0.5]
    for values in ({1.0, 2.0}, {1.0: 2}, "12", (k for k in [1.0]), [[1.0]], [1.0, -1.0]):
        with pytest.raises(MarginRankError, match="alphas must be a list of positive, finite numbers"):
            check_grid(values, "alphas")


def test_any_number_of_threads_is_taken_and_none_too_many_started():
    assert resolve_threads(2**63) == resolve_threads(10**400) <= 1024
    with pytest.raises(MarginRankError, match=r"n_jobs must be None or a nonzero integer; got 2.5"):
        resolve_threads(2.5)


def test_counts_and_seeds_have_limits():
    assert check_count(np.int8(3), "max_iter") == 3
    with pytest.raises(MarginRankError, match="random_state must be None, a numpy Generator or an integer"):
        check_seed(2**32, np.random.Generator)


def test_values_are_shown_on_one_short_line():
    frame = pd.DataFrame({"a": range(99)})
    for value in (np.zeros((40, 3)), frame, "a\nb" * 999, [10**5000] * 999, 10**5000):
        assert "\n" not in shown(value)
        assert len(shown(value)) <= 160


def test_parameters_of_pairs_are_called_as_they_were_given():
    X, pairs = np.eye(3), [[0, 1]]
    with pytest.raises(MarginRankError, match=r"^weight must have one entry per pair; got 2 for 1 pairs"):
        RankSVM().fit_pairs(X, pairs, weight=[1.0, 2.0])
    with pytest.raises(MarginRankError, match=r"^magnitude must have one entry per pair; got 2 for 1 pairs"):
        RankRLS().fit_pairs(X, pairs, magnitude=[1.0, 2.0])


def test_masked_entries_are_refused_and_others_are_read():
    X = np.ma.masked_array(np.eye(3), mask=False)
    assert RankSVM().fit(X, [0, 1, 2]).n_features_in_ == 3
    X[1, 1] = np.ma.masked
    with pytest.raises(MarginRankError, match="X has masked entries"):
        RankSVM().fit(X, [0, 1, 2])
