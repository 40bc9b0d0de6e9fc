"""Weights of any size give the model of weights of ordinary size, to the last bit."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from marginrank import KernelRankSVM, RankingData, RankRLS, RankSVM, StructuredRankSVM
from marginrank.data.weights import LARGEST_RATIO, check_ratio, moderate
from marginrank.exceptions import MarginRankError
from marginrank.feature_maps import FourierFeatures, NystroemFeatures
from marginrank.io import write_dataset
from marginrank.losses.pairwise import HingeLoss, SquaredHingeLoss
from marginrank.metrics import evaluate, pairwise_error
from marginrank.paths import kernel_rank_path, rank_path, rank_rls_path, structured_rank_path

# Exact powers of two, so that the scaled weights hold the same digits: beyond both ends of products.
_FACTORS = [2.0**520, 2.0**1000, 2.0**-520, 2.0**-1040]

_RNG = np.random.default_rng(3)
_X = _RNG.normal(size=(60, 3))
_Y = _RNG.integers(0, 3, 60) + (_X[:, 0] > 0)
_QID = np.arange(60) // 10
_ROWS = _RNG.integers(1, 5, 60).astype(np.float64)
_QUERIES = _RNG.integers(1, 5, 6).astype(np.float64)
_PAIRS = np.column_stack([np.arange(0, 60, 2), np.arange(1, 60, 2)])


def _by_rows(ranker: Any, factor: float) -> Any:
    return ranker.fit(_X, _Y, qid=_QID, sample_weight=_ROWS * factor)


def _by_queries(ranker: Any, factor: float) -> Any:
    return ranker.fit(_X, _Y, qid=_QID, query_weight=_QUERIES * factor)


def _by_pairs(ranker: Any, factor: float) -> Any:
    return ranker.fit_pairs(_X, _PAIRS, weight=_ROWS[:30] * factor)


_FITS = [
    (lambda: RankSVM(), _by_rows),
    (lambda: RankSVM(), _by_queries),
    (lambda: RankSVM(), _by_pairs),
    (lambda: RankSVM(weighting="queries", loss="squared_hinge", scale="standard"), _by_rows),
    (lambda: RankSVM(weighting="queries"), _by_queries),
    (lambda: RankSVM(alpha="auto", cv=3), _by_rows),
    (lambda: RankSVM(alpha="auto", cv=3), _by_queries),
    (lambda: RankSVM(alpha="auto", cv=3), _by_pairs),
    (lambda: RankRLS(solver="cg"), _by_rows),
    (lambda: RankRLS(solver="direct", scale="minmax"), _by_rows),
    (lambda: RankRLS(solver="cg", alpha="auto", cv=3), _by_queries),
    (lambda: RankRLS(solver="direct", alpha="auto"), _by_queries),
    (lambda: RankRLS(), _by_pairs),
    (lambda: StructuredRankSVM(alpha=0.01), _by_queries),
    (lambda: KernelRankSVM(n_components=20, landmarks="leverage", random_state=0), _by_rows),
    (lambda: KernelRankSVM(approximation="fourier", n_components=20, random_state=0), _by_rows),
]


@pytest.mark.parametrize("factor", _FACTORS)
@pytest.mark.parametrize("case", range(len(_FITS)))
def test_a_fit_has_the_same_bits_with_weights_of_any_size(case: int, factor: float) -> None:
    make, fit = _FITS[case]
    expected, found = fit(make(), 1.0), fit(make(), factor)
    assert found.coef_.any()
    np.testing.assert_array_equal(found.coef_, expected.coef_)
    assert (found.objective_, found.gap_) == (expected.objective_, expected.gap_)


@pytest.mark.parametrize("factor", _FACTORS)
@pytest.mark.parametrize("trace", [rank_path, rank_rls_path, kernel_rank_path])
def test_a_path_has_the_same_bits_with_weights_of_any_size(trace: Any, factor: float) -> None:
    def scores(size: float) -> Any:
        weights = {"sample_weight": _ROWS * size, "query_weight": _QUERIES * size}
        return trace(_X, _Y, qid=_QID, **weights).predict(_X, alpha=0.01)

    np.testing.assert_array_equal(scores(factor), scores(1.0))


@pytest.mark.parametrize("factor", _FACTORS)
def test_a_structured_path_has_the_same_bits_with_weights_of_any_size(factor: float) -> None:
    def scores(size: float) -> Any:
        path = structured_rank_path(_X, _Y, qid=_QID, query_weight=_QUERIES * size)
        return path.predict(_X, alpha=0.01)

    np.testing.assert_array_equal(scores(factor), scores(1.0))


@pytest.mark.parametrize("factor", _FACTORS)
def test_metrics_are_the_same_with_weights_of_any_size(factor: float) -> None:
    scores = _X[:, 0]
    for weighting in ("pairs", "queries"):
        error = [
            pairwise_error(
                _Y,
                scores,
                qid=_QID,
                sample_weight=_ROWS * size,
                query_weight=_QUERIES * size,
                weighting=weighting,
            )
            for size in (1.0, factor)
        ]
        assert error[0] == error[1]
    means = [
        dict(evaluate(_Y, scores, metrics=["ndcg@5", "map"], qid=_QID, query_weight=_QUERIES * size))
        for size in (1.0, factor)
    ]
    assert means[0] == means[1]
    model = RankSVM().fit(_X, _Y, qid=_QID)
    agreement = [model.score(_X, _Y, qid=_QID, sample_weight=_ROWS * size) for size in (1.0, factor)]
    assert agreement[0] == agreement[1]


@pytest.mark.parametrize("factor", _FACTORS)
@pytest.mark.parametrize("features", [NystroemFeatures, FourierFeatures])
def test_a_feature_map_is_the_same_with_weights_of_any_size(features: Any, factor: float) -> None:
    mapped = [
        features(n_components=15, random_state=0).fit(_X, sample_weight=_ROWS * size).transform(_X)
        for size in (1.0, factor)
    ]
    np.testing.assert_array_equal(mapped[0], mapped[1])


@pytest.mark.parametrize("factor", _FACTORS)
def test_data_on_disk_take_weights_of_any_size(tmp_path: Any, factor: float) -> None:
    def coef(size: float) -> Any:
        data = RankingData(_X, _Y, qid=_QID, sample_weight=_ROWS * size, query_weight=_QUERIES * size)
        target = tmp_path / f"{size:g}.mrd"
        stored = write_dataset(target, data)
        np.testing.assert_array_equal(stored.sample_weight, _ROWS * size)  # files keep what was given
        return RankSVM(scale="standard").fit(stored).coef_

    np.testing.assert_array_equal(coef(factor), coef(1.0))


def test_ordinary_weights_are_not_touched() -> None:
    weight = np.array([0.0, 3.0, 7.0])
    assert moderate(weight) is weight
    assert moderate(None) is None


def test_weights_of_zero_stay_zero() -> None:
    assert moderate(np.array([0.0, 4e300])).tolist()[0] == 0.0
    assert moderate(np.zeros(2)).tolist() == [0.0, 0.0]


@pytest.mark.parametrize("name", ["sample_weight", "query_weight"])
def test_weights_of_too_large_a_ratio_are_refused(name: str) -> None:
    weight = np.ones(60 if name == "sample_weight" else 6)
    weight[2] = 1e-300
    with pytest.raises(MarginRankError, match=rf"{name} goes from 1e-300 \((row|query) 2\) to 1 .* weight 0"):
        RankSVM().fit(_X, _Y, qid=_QID, **{name: weight})


def test_pair_weights_of_too_large_a_ratio_are_refused() -> None:
    with pytest.raises(MarginRankError, match="weight goes from 1e-300"):
        RankSVM().fit_pairs(_X, _PAIRS[:2], weight=[1.0, 1e-300])


def test_the_ratio_is_that_of_weights_that_are_not_zero() -> None:
    check_ratio(np.array([0.0, 1.0, 1.0 / LARGEST_RATIO]), "sample_weight", "row")
    with pytest.raises(MarginRankError, match="ratio beyond"):
        check_ratio(np.array([0.0, 1.0, 0.5 / LARGEST_RATIO]), "sample_weight", "row")


@pytest.mark.parametrize("weighting", ["pairs", "queries"])
def test_a_query_of_tiny_weights_counts_as_its_ratio_says(weighting: str) -> None:
    # Beside weights of 1 a query of weights 2**-180 counts for nothing among pairs, and fully among queries.
    weight = np.where(_QID == 0, 2.0**-180, 1.0)
    model = RankSVM(weighting=weighting).fit(_X, _Y, qid=_QID, sample_weight=weight)
    plain = RankSVM(weighting=weighting)
    rest = _QID > 0
    if weighting == "pairs":
        plain.fit(_X[rest], _Y[rest], qid=_QID[rest])
    else:
        plain.fit(_X, _Y, qid=_QID)
    # Both are certified to tol = 1e-3 of the same objective.
    assert abs(model.objective_ - plain.objective_) <= 2e-3 * plain.objective_


@pytest.mark.parametrize("make", [HingeLoss, SquaredHingeLoss])
def test_pairs_of_rows_of_very_different_weights_are_summed_right_in_small_queries(make: Any) -> None:
    # One heavy row, and pairs of 1e-30 with it: the sum over all rows would swallow them.
    y = np.array([0.0, 1.0, 1.0, 2.0])
    weight = np.array([1.0, 1e-30, 1e-30, 2e-30])
    data = RankingData(np.zeros((4, 1)), y, sample_weight=weight)
    scores = np.array([0.0, 0.5, -0.25, 0.75])
    found = make(data.training_view(), weighting="pairs", n_threads=1).at(scores).value
    margins = np.array([0.5, -0.25, 0.75])
    cost = np.maximum(0.0, 1.0 - margins) ** (2 if make is SquaredHingeLoss else 1)
    # Pairs among the light rows weigh 1e-60, nothing beside these.
    assert found == pytest.approx(cost @ [0.25, 0.25, 0.5], rel=1e-12)


def test_weights_that_drown_the_pairs_of_a_large_query_are_refused() -> None:
    y = np.append(np.zeros(1), np.arange(1.0, 401.0))
    weight = np.append(1.0, np.full(400, 1e-30))
    with pytest.raises(MarginRankError, match="lost in the rounding of their sums"):
        RankSVM().fit(np.random.default_rng(0).normal(size=(401, 2)), y, sample_weight=weight)
    # The same rows with a heavy one of each of two labels are a sound problem.
    weight[-1] = 1.0
    assert RankSVM().fit(np.random.default_rng(0).normal(size=(401, 2)), y, sample_weight=weight).gap_ <= 1e-3
