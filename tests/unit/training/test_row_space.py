"""Fits in the space of the rows: the same problem, the same claims, chosen where they pay."""

from __future__ import annotations

from itertools import pairwise
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning

import brute_force
from marginrank import RankingData, RankSVM, StructuredRankSVM
from marginrank.losses import QUERY_LOSSES
from marginrank.training import row_space
from marginrank.training.row_space import RowSpace

ALWAYS = {"COLUMNS_A_ROW": 0, "_pays": lambda rows, balance: True}
NEVER = {"_pays": lambda rows, balance: False}


def _text(n_rows: int = 60, n_columns: int = 900, seed: int = 0) -> tuple[Any, np.ndarray, np.ndarray]:
    """Return sparse rows, some of them equal or empty, labels and queries."""
    rng = np.random.default_rng(seed)
    X = sparse.random(n_rows, n_columns, density=0.03, random_state=seed, format="lil")
    X[5] = X[17]
    X[9] = 0.0
    return X.tocsr(), rng.integers(0, 4, n_rows).astype(np.float64), np.repeat(np.arange(6), n_rows // 6)


def _fits(ranker: Any, *args: Any, **given: Any) -> tuple[Any, Any]:
    """Return the ranker fitted in the space of the rows, and fitted as others are."""
    from sklearn.base import clone

    with patch.multiple(row_space, **ALWAYS):
        inside = clone(ranker).fit(*args, **given)
    with patch.multiple(row_space, **NEVER):
        return inside, clone(ranker).fit(*args, **given)


@pytest.mark.parametrize("loss", QUERY_LOSSES)
@pytest.mark.parametrize("scale", [None, "standard"])
@pytest.mark.parametrize("dense", [False, True])
def test_the_optimum_is_that_of_the_given_problem(loss: str, scale: str | None, dense: bool) -> None:
    X, y, qid = _text()
    X = X.toarray().astype(np.float32) if dense else X
    inside, usual = _fits(RankSVM(loss, alpha=1e-2, scale=scale, tol=1e-5), X, y, qid=qid)
    assert inside.gap_ <= 1e-5
    # Both lie between the bounds of both.
    for model in (inside, usual):
        assert max(inside.lower_bound_, usual.lower_bound_) <= model.objective_
    assert inside.objective_ == pytest.approx(usual.objective_, rel=2e-5)


def test_the_objective_is_that_of_the_coefficients() -> None:
    X, y, qid = _text()
    with patch.multiple(row_space, **ALWAYS):
        model = RankSVM("squared_hinge", alpha=1e-3, scale=None).fit(X, y, qid=qid)
    pairs = brute_force.query_pairs(RankingData(X, y, qid=qid).training_view(), "pairs")
    risk = brute_force.risk("squared_hinge", pairs, X @ model.coef_).value
    assert model.objective_ == pytest.approx(risk + 0.5e-3 * model.coef_ @ model.coef_, rel=1e-10)


def test_coefficients_are_combinations_of_the_rows() -> None:
    X, y, qid = _text()
    with patch.multiple(row_space, **ALWAYS):
        model = RankSVM(alpha=1e-3, scale=None).fit(X, y, qid=qid)
    rows = X.toarray()
    found, *_ = np.linalg.lstsq(rows.T, model.coef_, rcond=None)
    assert np.linalg.norm(rows.T @ found - model.coef_) <= 1e-8 * np.linalg.norm(model.coef_)


@pytest.mark.parametrize("shift", [False, True])
def test_pairs_offsets_weights_and_structured_targets(shift: bool) -> None:
    X, y, qid = _text()
    rng = np.random.default_rng(1)
    X = X.toarray()
    if shift:
        X[:, 3] += 1e7
    weight = rng.integers(0, 3, 60).astype(np.float64)
    inside, usual = _fits(RankSVM(alpha=1e-2, scale=None), X, y, qid=qid, sample_weight=weight)
    assert inside.objective_ == pytest.approx(usual.objective_, rel=2e-3)
    given = {"qid": qid, "offset": rng.normal(size=60)}
    inside, usual = _fits(RankSVM("squared_hinge", alpha=1e-2, scale=None), X, y, **given)
    assert inside.objective_ == pytest.approx(usual.objective_, rel=2e-3)
    inside, usual = _fits(StructuredRankSVM("ndcg", alpha=1e-1, scale=None), X, y, qid=qid)
    assert inside.objective_ == pytest.approx(usual.objective_, rel=2e-3)
    with patch.multiple(row_space, **ALWAYS):
        pairs = RankSVM(alpha=1e-2, scale=None).fit_pairs(X, [[0, 1], [2, 3], [3, 4]])
    assert pairs.gap_ <= 1e-3


def test_history_is_one_and_monotone() -> None:
    X, y, qid = _text()
    with patch.multiple(row_space, **ALWAYS):
        model = RankSVM(alpha=1e-4, scale=None).fit(X, y, qid=qid)
    history = model.history_
    assert [step.iteration for step in history] == list(range(len(history)))
    assert model.n_iter_ == history[-1].iteration
    for before, after in pairwise(history):
        assert after.value <= before.value
        assert after.bound >= before.bound
        assert after.passes >= before.passes
        assert after.seconds >= before.seconds
    assert (history[-1].value, history[-1].gap) == (model.objective_, model.gap_)


def test_callbacks_see_coefficients_of_the_columns_and_can_stop() -> None:
    X, y, qid = _text()
    seen = []

    def stop_after_five(progress: Any) -> bool:
        seen.append(progress)
        return progress.iteration >= 5

    with patch.multiple(row_space, **ALWAYS):
        model = RankSVM(alpha=1e-6, scale=None).fit(X, y, qid=qid, callbacks=[stop_after_five])
    assert all(progress.w.shape == (900,) for progress in seen)
    assert [progress.iteration for progress in seen] == [0, 1, 2, 3, 4, 5]
    assert model.n_iter_ == 5
    assert model.coef_.any()
    assert np.array_equal(model.coef_, seen[-1].w)


def test_an_interrupt_leaves_the_best_model_with_its_certificate() -> None:
    X, y, qid = _text()

    def interrupt(progress: Any) -> None:
        if progress.iteration == 3:
            raise KeyboardInterrupt

    model = RankSVM(alpha=1e-6, scale=None)
    with patch.multiple(row_space, **ALWAYS), pytest.raises(KeyboardInterrupt):
        model.fit(X, y, qid=qid, callbacks=[interrupt])
    assert model.coef_.any()
    assert 0.0 < model.lower_bound_ <= model.objective_ < 1.0


def test_the_limit_of_iterations_is_kept() -> None:
    X, y, qid = _text()
    with patch.multiple(row_space, **ALWAYS), pytest.warns(ConvergenceWarning, match="4 iterations"):
        model = RankSVM(alpha=1e-6, scale=None, max_iter=4).fit(X, y, qid=qid)
    assert model.n_iter_ == 4


def test_bits_do_not_depend_on_threads() -> None:
    X, y, qid = _text()
    with patch.multiple(row_space, **ALWAYS):
        models = [RankSVM(alpha=1e-3, n_jobs=n_jobs).fit(X, y, qid=qid) for n_jobs in (1, 3)]
    assert np.array_equal(models[0].coef_, models[1].coef_)


@pytest.mark.parametrize(
    ("shape", "alpha", "expected"),
    [
        ((60, 30_000), 1e-5, True),
        ((1_000, 30_000), 1e3, False),
        ((60, 200), 1e-5, False),
        ((900, 20), 1e-5, False),
    ],
)
def test_it_is_chosen_where_rows_are_few_and_alpha_is_small(
    shape: tuple[int, int], alpha: float, expected: bool
) -> None:
    rng = np.random.default_rng(0)
    X = sparse.random(*shape, density=min(1.0, 20 / shape[1]), random_state=0, format="csr")
    used = []
    minimize = RowSpace.minimize

    def noted(self: RowSpace, *args: Any) -> Any:
        used.append(self)
        return minimize(self, *args)

    with patch.object(RowSpace, "minimize", noted):
        RankSVM(alpha=alpha, scale=None, tol=0.5).fit(X, rng.integers(0, 3, shape[0]))
    assert bool(used) is expected


def test_rows_whose_products_overflow_have_no_factor() -> None:
    with np.errstate(over="ignore"):
        assert row_space._factor(np.full((2, 2), 1e160)) is None
    assert row_space._factor(np.zeros((2, 2))) is None


def test_equal_rows_have_a_factor() -> None:
    factor = row_space._factor(np.ones((3, 2)))
    assert factor is not None
    assert np.allclose(factor @ factor.T, 2.0, rtol=1e-7)
