"""Scores of ordinary arrays: the bits of the usual way, and None wherever that has something to say."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from marginrank import RankingModel, RankSVM
from marginrank.designs import matrix_design
from marginrank.designs.plain_scores import plain_scores
from marginrank.exceptions import MarginRankError

COEF = np.random.default_rng(1).normal(size=7)


def _rows(n: int = 11, dtype: Any = np.float64) -> np.ndarray:
    return np.random.default_rng(0).normal(size=(n, 7)).astype(dtype)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("n", [1, 11, 20_000])
@pytest.mark.parametrize("n_jobs", [None, 1, 3, -1])
def test_bits_are_those_of_a_design(dtype: Any, n: int, n_jobs: int | None) -> None:
    X = _rows(n, dtype)
    scores = plain_scores(X, COEF, n_jobs)
    assert scores is not None
    assert np.array_equal(scores, matrix_design(X, n_threads=1).scores(COEF))


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("row", range(11))
@pytest.mark.parametrize("column", [0, 3, 6])
def test_entries_that_are_not_finite_are_noticed_even_with_weight_zero(
    bad: float, row: int, column: int
) -> None:
    coef = COEF.copy()
    coef[column] = 0.0
    X = _rows()
    X[row, column] = bad
    assert plain_scores(X, coef, None) is None


def _unaligned(X: np.ndarray) -> np.ndarray:
    buffer = np.empty(X.nbytes + 1, dtype=np.uint8)
    view = buffer[1:].view(X.dtype).reshape(X.shape)
    view[...] = X
    return view


@pytest.mark.parametrize(
    "given",
    [
        _rows().tolist(),
        np.asfortranarray(_rows()),
        _rows(22)[::2],
        _unaligned(_rows()),
        _rows().astype(">f8"),
        _rows().astype(np.int64),
        _rows().view(np.matrix),
        np.ma.masked_array(_rows()),
        _rows()[:, :6],
        _rows()[:0],
        _rows()[0],
        None,
    ],
)
def test_what_the_kernels_do_not_take_as_it_is_goes_the_usual_way(given: Any) -> None:
    assert plain_scores(given, COEF, None) is None


def test_an_intercept_beyond_the_range_is_noticed() -> None:
    X, coef = np.array([[1.0]]), np.array([1e308])
    assert plain_scores(X, coef, None, 1e308) is None
    assert plain_scores(X, coef, None, -1e308) == 0.0
    with pytest.raises(MarginRankError, match="beyond the range of float64"):
        RankingModel(coef, intercept=1e308).predict(X)


def test_estimator_and_model_give_the_scores_of_the_usual_way() -> None:
    X, y = _rows(), np.arange(11) % 3
    ranker = RankSVM(alpha=0.1).fit(X, y)
    usual = ranker.predict(np.asfortranarray(X))  # copied first
    assert np.array_equal(ranker.predict(X), usual)
    assert np.array_equal(ranker.to_model().predict(X), usual)
    model = RankingModel(ranker.coef_, intercept=0.3)
    assert np.array_equal(model.predict(X), model.predict(np.asfortranarray(X)))


def test_wrong_rows_are_named_as_ever() -> None:
    ranker = RankSVM(alpha=0.1).fit(_rows(), np.arange(11) % 3)
    X = _rows()
    X[2, 4] = np.nan
    for scorer in (ranker, ranker.to_model()):
        with pytest.raises(MarginRankError, match=r"X contains NaN \(first at row 2, column 4"):
            scorer.predict(X)
        with pytest.raises(MarginRankError, match="X has 6 features"):
            scorer.predict(X[:, :6].copy())
        with pytest.raises(MarginRankError, match="n_jobs must be"):
            RankingModel(ranker.coef_).predict(_rows(), n_jobs=0)


def test_names_that_are_missing_are_still_warned_of() -> None:
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(_rows(), columns=[f"column {k}" for k in range(7)])
    ranker = RankSVM(alpha=0.1).fit(frame, np.arange(11) % 3)
    with pytest.warns(UserWarning, match="does not have valid feature names"):
        ranker.predict(_rows())
