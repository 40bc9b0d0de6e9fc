"""Whatever the size of features, labels, weights and parameters: a finite result, or one sentence.

Never a warning of numpy, never an error of numpy or scipy, never NaN.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import numpy as np
import pytest
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning

from marginrank import KernelRankSVM, RankingData, RankRLS, RankSVM, StructuredRankSVM
from marginrank.exceptions import MarginRankError, ZeroModelWarning
from marginrank.feature_maps import FourierFeatures, NystroemFeatures
from marginrank.losses import QUERY_LOSSES
from marginrank.metrics import evaluate, pairwise_error
from marginrank.paths import (
    kernel_rank_path,
    rank_path,
    rank_rls_path,
    rank_rls_selection,
    structured_rank_path,
)

_RNG = np.random.default_rng(0)
_QID = np.arange(60) // 10
_X = _RNG.normal(size=(60, 4))
_Y = _RNG.integers(0, 3, 60) + (_X[:, 0] > 0.0)
_PAIRS = np.column_stack([np.arange(0, 60, 2), np.arange(1, 60, 2)])
_ONE_CELL = np.where(np.arange(240).reshape(60, 4) == 7, 1e300, _X)
_OUTLIER = np.where(np.arange(60)[:, None] == 3, 1e150 * _X, _X)

FEATURES: dict[str, Any] = {
    **{f"X * {size:g}": _X * size for size in (1e300, 1e170, 1e100, 1e60, 1e20, 1e-20, 1e-60, 1e-80)},
    **{f"X * {size:g}": _X * size for size in (1e-100, 1e-170, 1e-300, 5e-324)},
    "column 1e160": _X * [1.0, 1.0, 1e160, 1.0],
    "column 1e-160": _X * [1.0, 1.0, 1e-160, 1.0],
    "columns 1e300 and 1e-300": _X * [1.0, 1e-300, 1e300, 1.0],
    "one cell 1e300": _ONE_CELL,
    "one row 1e150": _OUTLIER,
    "largest": np.where(_X > 0.0, np.finfo(np.float64).max, -np.finfo(np.float64).max),
    "float32 * 1e30": (_X * 1e30).astype(np.float32),
    "float32 * 1e-30": (_X * 1e-30).astype(np.float32),
    "sparse * 1e170": sparse.csr_matrix(_X * 1e170),
    "sparse * 1e-170": sparse.csr_matrix(_X * 1e-170),
}
OTHERS: dict[str, dict[str, Any]] = {
    **{f"y * {size:g}": {"y": _Y * size} for size in (1e300, 1e154, 1e60, 1e-60, 1e-154, 1e-300, 5e-324)},
    **{f"sample_weight {size:g}": {"sample_weight": np.full(60, size)} for size in (1.5e308, 1e155, 5e-324)},
    **{f"query_weight {size:g}": {"query_weight": np.full(6, size)} for size in (1.5e308, 1e155, 5e-324)},
    "a ratio of 1e300": {"sample_weight": np.where(np.arange(60) % 3, 1.0, 1e-300)},
    "a ratio of 1e50": {"sample_weight": np.where(np.arange(60) % 3, 1.0, 1e-50)},
}
CASES: dict[str, dict[str, Any]] = {**{name: {"X": X} for name, X in FEATURES.items()}, **OTHERS}


def _figures(ranker: Any, X: Any) -> list[Any]:
    assert ranker.gap_ >= 0.0
    assert ranker.lower_bound_ <= ranker.objective_
    assert ranker.n_iter_ <= ranker.max_iter
    certificate = [ranker.objective_, ranker.lower_bound_, ranker.gap_]
    return [ranker.coef_, *certificate, ranker.predict(X), ranker.to_model().predict(X)]


def _fits(make: Callable[[], Any], *, weights: bool = True) -> Callable[..., list[Any]]:
    def run(X: Any = _X, y: Any = _Y, **options: Any) -> list[Any]:
        if not weights:
            options.pop("sample_weight", None)
        ranker = make().fit(X, y, qid=_QID, **options)
        return [*_figures(ranker, X), ranker.score(X, y, qid=_QID, **options)]

    return run


def _fits_pairs(make: Callable[[], Any]) -> Callable[..., list[Any]]:
    def run(X: Any = _X, **options: Any) -> list[Any]:
        weight = options.get("sample_weight")
        return _figures(make().fit_pairs(X, _PAIRS, weight=None if weight is None else weight[:30]), X)

    return run


def _traces(
    trace: Callable[..., Any], *, weights: bool = True, **parameters: Any
) -> Callable[..., list[Any]]:
    def run(X: Any = _X, y: Any = _Y, **options: Any) -> list[Any]:
        if not weights:
            options.pop("sample_weight", None)
        path = trace(X, y, qid=_QID, **parameters, **options)
        alphas = path.grid(3)
        figures = [np.asarray([path.gap_at(alpha) for alpha in alphas])]
        return [alphas, *figures, *(path.predict(X, alpha=alpha) for alpha in alphas)]

    return run


def _maps(make: Callable[[], Any]) -> Callable[..., list[Any]]:
    def run(X: Any = _X, sample_weight: Any = None, **options: Any) -> list[Any]:
        del options
        features = make().fit(X, sample_weight=sample_weight)
        return [features.transform(X), features.transform(X[:2])]

    return run


def _kernel(**parameters: Any) -> Callable[..., list[Any]]:
    return _fits(lambda: KernelRankSVM(n_components=15, random_state=0, **parameters))


def _nystroem(kernel: str, **parameters: Any) -> Callable[..., list[Any]]:
    return _maps(lambda: NystroemFeatures(kernel, n_components=15, random_state=0, **parameters))


def _fourier(kernel: str, **parameters: Any) -> Callable[..., list[Any]]:
    return _maps(lambda: FourierFeatures(kernel, n_components=15, random_state=0, **parameters))


def _selects(*, queries: bool = True, **parameters: Any) -> Callable[..., list[Any]]:
    def call(X: Any = _X, y: Any = _Y, **options: Any) -> list[Any]:
        given = {"qid": _QID, **options} if queries else {}
        chosen = rank_rls_selection(X, y, n_features=3, **given, **parameters)
        curves = [chosen.curve, chosen.error.std, chosen.quality.values, chosen.quality.diff_std]
        return [*curves, chosen.model(1).coef, chosen.model().predict(X)]

    return call


def _measures(X: Any = _X, y: Any = _Y, **options: Any) -> list[Any]:
    scores = X[:, [2]].toarray().ravel() if sparse.issparse(X) else X[:, 2]
    error = pairwise_error(y, scores, qid=_QID, **options)
    options.pop("sample_weight", None)
    metrics = ["pairwise_error", "kendall", "map", "ndcg@5(gain=linear)"]
    return [error, *dict(evaluate(y, scores, qid=_QID, metrics=metrics, **options)).values()]


CALLS: dict[str, Callable[..., list[Any]]] = {
    "hinge": _fits(lambda: RankSVM()),
    "hinge, bundle": _fits(lambda: RankSVM(solver="bundle", weighting="queries")),
    "hinge, standard": _fits(lambda: RankSVM(scale="standard")),
    "hinge, minmax": _fits(lambda: RankSVM(scale="minmax")),
    "hinge, auto": _fits(lambda: RankSVM(alpha="auto", cv=3)),
    "hinge, alpha 1e-300": _fits(lambda: RankSVM(alpha=1e-300)),
    "hinge, alpha 1e300": _fits(lambda: RankSVM(alpha=1e300)),
    "squared hinge": _fits(lambda: RankSVM("squared_hinge")),
    "squared hinge, newton": _fits(lambda: RankSVM("squared_hinge", solver="newton")),
    "squared hinge, standard": _fits(lambda: RankSVM("squared_hinge", scale="standard")),
    "squared hinge, alpha 1e-300": _fits(lambda: RankSVM("squared_hinge", alpha=1e-300)),
    "logistic": _fits(lambda: RankSVM("logistic")),
    "logistic, newton": _fits(lambda: RankSVM("logistic", solver="newton")),
    "logistic, auto": _fits(lambda: RankSVM("logistic", alpha="auto", cv=3)),
    "logistic, alpha 1e-300": _fits(lambda: RankSVM("logistic", alpha=1e-300)),
    "logistic, pairs": _fits_pairs(lambda: RankSVM("logistic")),
    "hinge, pairs": _fits_pairs(lambda: RankSVM()),
    "squared hinge, pairs": _fits_pairs(lambda: RankSVM("squared_hinge")),
    "rls, cg": _fits(lambda: RankRLS(solver="cg")),
    "rls, direct": _fits(lambda: RankRLS(solver="direct")),
    "rls, cg, auto": _fits(lambda: RankRLS(solver="cg", alpha="auto", cv=3)),
    "rls, direct, auto": _fits(lambda: RankRLS(solver="direct", alpha="auto")),
    "rls, standard": _fits(lambda: RankRLS(scale="standard")),
    "rls, early stopping": _fits(lambda: RankRLS(regularization="early_stopping", cv=3)),
    "rls, alpha 1e-300": _fits(lambda: RankRLS(alpha=1e-300)),
    "rls, alpha 1e300": _fits(lambda: RankRLS(alpha=1e300)),
    "rls, pairs": _fits_pairs(lambda: RankRLS()),
    "structured": _fits(lambda: StructuredRankSVM(alpha=0.01), weights=False),
    "structured, map": _fits(lambda: StructuredRankSVM(target="map", alpha=0.01), weights=False),
    "structured, auto": _fits(lambda: StructuredRankSVM(alpha="auto", cv=3), weights=False),
    "path": _traces(rank_path, eps=1e-2),
    "path, squared hinge": _traces(rank_path, loss="squared_hinge", eps=1e-2),
    "path, logistic": _traces(rank_path, loss="logistic", eps=1e-2),
    "path, standard": _traces(rank_path, scale="standard", eps=1e-2),
    "path of rls": _traces(rank_rls_path, eps=1e-2),
    "path of rls, certified": _traces(rank_rls_path, solver="certified", eps=1e-2),
    "selection": _selects(),
    "selection, standard": _selects(scale="standard"),
    "selection, alpha 1e-300": _selects(alpha=1e-300),
    "selection, one ranking": _selects(queries=False),
    "structured path": _traces(structured_rank_path, weights=False, eps=1e-2),
    "kernel path": _traces(kernel_rank_path, kernel="rbf"),
    "kernel path, linear": _traces(kernel_rank_path, kernel="linear"),
    "kernel path, polynomial": _traces(kernel_rank_path, kernel="poly"),
    "kernel path, gamma 1e300": _traces(kernel_rank_path, gamma=1e300),
    "kernel, rbf": _kernel(kernel="rbf"),
    "kernel, rbf, least squares": _kernel(kernel="rbf", loss="least_squares"),
    "kernel, exact": _kernel(kernel="rbf", approximation="exact"),
    "kernel, laplacian": _kernel(kernel="laplacian"),
    "kernel, polynomial": _kernel(kernel="polynomial", scale="standard"),
    "kernel, cosine": _kernel(kernel="cosine"),
    "kernel, fourier": _kernel(approximation="fourier"),
    "kernel, auto": _kernel(gamma="auto", alpha="auto", cv=3),
    **{f"nystroem, {kernel}": _nystroem(kernel) for kernel in ("rbf", "laplacian", "polynomial", "cosine")},
    **{
        f"nystroem, {landmarks}": _nystroem("rbf", landmarks=landmarks, gamma="median")
        for landmarks in ("kmeans++", "leverage")
    },
    **{
        f"nystroem, {kernel}, gamma {gamma:g}": _nystroem(kernel, gamma=gamma)
        for kernel in ("rbf", "laplacian", "polynomial")
        for gamma in (1e300, 1e-300)
    },
    "fourier": _fourier("rbf"),
    "fourier, laplacian": _fourier("laplacian", gamma="median", dtype="float64"),
    "fourier, gamma 1e300": _fourier("rbf", gamma=1e300),
    "fourier, gamma 1e-300": _fourier("rbf", gamma=1e-300, dtype="float64"),
    "metrics": _measures,
}


def _told_apart(call: str, case: str) -> bool:
    """Whether the case can matter to the call, and is not one of many that cost much."""
    if call.startswith(("nystroem", "fourier")):
        return "X" in CASES[case] or "sample_weight" in CASES[case]
    return call != "kernel, auto" or case in ("X * 1e+60", "X * 1e-170", "one cell 1e300", "sparse * 1e170")


@pytest.mark.parametrize(
    ("call", "case"), [(call, case) for call in CALLS for case in CASES if _told_apart(call, case)]
)
def test_a_result_is_finite_or_there_is_a_sentence(call: str, case: str) -> None:
    with warnings.catch_warnings():
        for honest in (ConvergenceWarning, ZeroModelWarning):
            warnings.simplefilter("ignore", honest)
        with suppress(MarginRankError):
            for result in CALLS[call](**CASES[case]):
                assert np.isfinite(result).all()


@pytest.mark.parametrize("size", [1e-140, 1e-80, 1e80, 1e140])
@pytest.mark.parametrize("loss", QUERY_LOSSES)
def test_a_path_does_not_depend_on_the_unit_of_the_features(loss: str, size: float) -> None:
    plain = rank_path(_X, _Y, qid=_QID, loss=loss, eps=1e-3)
    other = rank_path(_X * size, _Y, qid=_QID, loss=loss, eps=1e-3)
    assert other.status_ == "finished"
    np.testing.assert_allclose(other.alpha_max_, plain.alpha_max_ * size * size, rtol=1e-9)
    a, b = (path.grid(7)[3] for path in (plain, other))
    # Both are within eps = 1e-3 of the same optimum.
    assert other.objective_at(b)[0] == pytest.approx(plain.objective_at(a)[0], rel=2e-3)


@pytest.mark.parametrize("size", [1e-60, 1e60])
@pytest.mark.parametrize("solver", ["cg", "direct"])
def test_the_alpha_that_is_chosen_follows_the_unit_of_the_features(solver: str, size: float) -> None:
    plain = RankRLS(alpha="auto", solver=solver, cv=3).fit(_X, _Y, qid=_QID)
    other = RankRLS(alpha="auto", solver=solver, cv=3).fit(_X * size, _Y, qid=_QID)
    assert other.alpha_ == pytest.approx(plain.alpha_ * size * size, rel=0.02)  # grids have three digits


@pytest.mark.parametrize(
    ("fit", "message"),
    [
        (lambda: RankSVM().fit(_X * 1e170, _Y, qid=_QID), "X reaches .*e.170 .column [0-3]."),
        (
            lambda: RankRLS(scale=None).fit(_X * [1, 1, 1e160, 1], _Y, qid=_QID),
            "X reaches .*e.160 .column 2.",
        ),
        (lambda: RankRLS().fit(_X, _Y * 1e200, qid=_QID), "y reaches .*divide it by a power of ten"),
        (lambda: rank_path(_X * 1e-200, _Y, qid=_QID), "X is nowhere above .*e-200"),
        (lambda: RankSVM().fit_pairs(_X, _PAIRS, margin=1e308), "pair_margin reaches 1e.308"),
    ],
)
def test_the_sentence_names_what_is_too_large_or_too_small(fit: Any, message: str) -> None:
    with pytest.raises(MarginRankError, match=message):
        fit()


def test_scores_that_overflow_are_refused() -> None:
    ranker = RankSVM().fit(_X, _Y, qid=_QID)
    ranker.coef_ = ranker.coef_ * 1e300
    for predict in (ranker.predict, ranker.to_model().predict):
        with pytest.raises(MarginRankError, match=r"scores beyond the range of float64\. X reaches"):
            predict(_X * 1e100)
    with pytest.raises(MarginRankError, match="scores beyond the range"):
        ranker.score(_X * 1e100, _Y, qid=_QID)
    path = rank_path(_X * 1e-100, _Y, qid=_QID)
    with pytest.raises(MarginRankError, match="The path gives scores beyond"):
        path.predict(_X * 1e300, alpha=path.alpha_min_)


def test_validation_rows_whose_scores_overflow_are_refused() -> None:
    huge = RankingData(np.full((60, 4), 1.7e308) * np.sign(_X), _Y, qid=_QID)
    with pytest.raises(MarginRankError, match="validation rows left the range of float64"):
        RankSVM(alpha=1e-6).fit(_X * 1e-3, _Y, qid=_QID, eval_set=huge)


def test_a_model_that_was_there_stays_when_training_overflows() -> None:
    ranker = RankSVM().fit(_X, _Y, qid=_QID)
    before = ranker.coef_.copy()
    with pytest.raises(MarginRankError):
        ranker.fit(_X * 1e170, _Y, qid=_QID)
    np.testing.assert_array_equal(ranker.coef_, before)


def test_callbacks_keep_their_own_settings_for_floating_point_errors() -> None:
    found = []

    def callback(progress: Any) -> None:
        found.append(np.geterr())
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            np.array(1.0) / 0.0

    with np.errstate(over="ignore", divide="warn"):
        expected = np.geterr()
        RankSVM().fit(_X, _Y, qid=_QID, callbacks=callback)
        rank_path(_X, _Y, qid=_QID, callbacks=callback)
    assert found
    assert all(settings == expected for settings in found)


def test_a_kernel_of_the_user_keeps_its_own_settings() -> None:
    found = []

    def linear(a: Any, b: Any) -> float:
        found.append(np.geterr()["divide"])
        return float(a @ b)

    with np.errstate(divide="print"):
        kernel_rank_path(_X[:10], _Y[:10], kernel=linear).predict(_X[:3], alpha=1.0)
    assert set(found) == {"print"}


@pytest.mark.parametrize("error", [ZeroDivisionError, FloatingPointError, np.linalg.LinAlgError, KeyError])
def test_an_error_of_a_callback_is_raised_as_it_is(error: type[Exception]) -> None:
    def callback(progress: Any) -> None:
        raise error("the user's own")

    for train in (RankSVM().fit, RankRLS(solver="cg").fit, rank_path):
        with pytest.raises(error, match="the user's own"):
            train(_X, _Y, qid=_QID, callbacks=callback)


@pytest.mark.parametrize("size", [1e-140, 1e-120, 1e120, 1e140])
@pytest.mark.parametrize("make", [RankSVM, RankRLS, StructuredRankSVM])
def test_scale_standard_takes_columns_of_very_different_sizes(make: Any, size: float) -> None:
    sizes = np.array([1.0, size, 1.0 / size, size])
    plain = make(alpha=0.01, scale="standard").fit(_X, _Y, qid=_QID)
    other = make(alpha=0.01, scale="standard").fit(_X * sizes, _Y, qid=_QID)
    # Both are within tol = 1e-3 of the same optimum.
    assert other.objective_ == pytest.approx(plain.objective_, rel=2e-3)
    assert other.gap_ <= 1e-3
