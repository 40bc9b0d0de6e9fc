"""Ctrl-C at every block of a Gram matrix: the exact model of what is in it, with a true certificate."""

import copy
import warnings
from itertools import count

import numpy as np
import pytest
from scipy import sparse

from impatience import PACKAGE, Impatient
from marginrank import RankRLS
from marginrank.designs import centred
from marginrank.exceptions import InterruptedWarning
from marginrank.paths import rank_rls_path
from random_matrices import random_csr

rng = np.random.default_rng(0)
TALL = rng.standard_normal((96, 4)) * [1.0, 2.0, 0.5, 1.0]
WIDE = rng.standard_normal((24, 60))
FEW = random_csr((96, 30), 0.03, rng).toarray() + np.eye(96, 30)
WEIGHT = rng.uniform(0.2, 3.0, 96)
CASES = {
    "rows": (TALL, np.arange(96) // 8, {}),
    "rows with weights": (TALL, np.arange(96) // 8, {"sample_weight": WEIGHT}),
    "pieces of a long query": (TALL, np.zeros(96), {"sample_weight": WEIGHT}),
    "sparse rows, multiplied dense": (sparse.csr_array(TALL), np.arange(96) // 8, {}),
    "columns": (WIDE, np.arange(24) // 8, {}),
    "columns with weights": (WIDE, np.arange(24) // 8, {"sample_weight": WEIGHT[:24]}),
}
AT_ONCE = {
    "sparse rows": sparse.csr_array(FEW),
    "sparse columns": sparse.csr_array(WIDE),
}


@pytest.fixture(autouse=True)
def _small_blocks(monkeypatch):
    """Cut 96 rows into blocks of 16, and 60 columns into blocks of 16."""
    monkeypatch.setattr(centred, "_BLOCK_ENTRIES", 64)
    monkeypatch.setattr(centred, "_LEAST_ROWS", 16)


def labels(X, n_targets=1):
    scores = np.asarray(X @ np.linspace(1.0, -1.0, X.shape[1]))
    y = scores[:, None] + np.random.default_rng(1).standard_normal((X.shape[0], n_targets))
    return y[:, 0] if n_targets == 1 else y


def block_of_the_gram_matrix(code):
    """What counts: a block, and the decomposition after the last one."""
    in_package = code.co_name in {"dense", "columns"} and code.co_filename.startswith(PACKAGE)
    return in_package or (code.co_name == "eigh" and "scipy" in code.co_filename)


def centred_by_query(values, qid, weight):
    """Rows minus the weighted mean of their query, times the roots of the weights."""
    out = np.empty_like(values)
    for query in np.unique(qid):
        rows = qid == query
        mean = np.average(values[rows], axis=0, weights=weight[rows])
        out[rows] = np.sqrt(weight[rows])[:, None] * (values[rows] - mean)
    return out


class Problem:
    """Least squares by its definition, for all rows and columns or for those of some blocks."""

    def __init__(self, X, y, qid, sample_weight=None):
        dense = X.toarray() if sparse.issparse(X) else X
        self.weight = np.ones(len(dense)) if sample_weight is None else sample_weight
        self.X = centred_by_query(dense, qid, self.weight)
        self.Y = centred_by_query(y.reshape(len(dense), -1), qid, self.weight)

    def minimiser(self, alpha, rows=slice(None), columns=slice(None)):
        X, mass = self.X[rows, columns], self.weight[rows].sum()
        w = np.zeros((self.X.shape[1], self.Y.shape[1]))
        w[columns] = np.linalg.solve(X.T @ X + alpha * mass / 2 * np.eye(X.shape[1]), X.T @ self.Y[rows])
        return w.T

    def objective(self, alpha, w):
        w = np.atleast_2d(w)
        return np.square(self.X @ w.T - self.Y).sum() / self.weight.sum() + alpha / 2 * np.square(w).sum()


def interrupted(model, n, fit):
    """Return whether the n-th block was interrupted, and whether the model then is as before."""
    before, moment = dict(vars(model)), Impatient(n, block_of_the_gram_matrix)
    try:
        with moment:
            fit(model)
    except KeyboardInterrupt:
        return True, vars(model) == before
    assert moment.left > 0, "The interrupt was swallowed."
    return False, False


def assert_certified(model, problem):
    here = problem.objective(model.alpha_, model.coef_)
    least = problem.objective(model.alpha_, problem.minimiser(model.alpha_))
    assert model.objective_ == pytest.approx(here, rel=1e-9)
    assert 0.0 <= model.lower_bound_ <= least * (1 + 1e-9)
    assert model.gap_ >= (here - least) / here - 1e-9


@pytest.mark.parametrize("n_targets", [1, 2])
@pytest.mark.parametrize("name", CASES)
def test_the_exact_model_of_the_blocks_so_far_is_kept(name, n_targets):
    X, qid, weights = CASES[name]
    y = labels(X, n_targets)
    problem = Problem(X, y, qid, **weights)
    seen = []
    for n in count(1):
        model = RankRLS(alpha=0.1, solver="direct", n_jobs=1)
        happened, same = interrupted(model, n, lambda one: one.fit(X, y, qid=qid, **weights))
        if not happened:
            break
        part = slice(0, 16 * (n - 1))  # the blocks before
        seen.append(part.stop)
        assert same == (n == 1)
        if n > 1:
            assert model.solver_ == "direct"
            only = {"columns": part} if name.startswith("columns") else {"rows": part}
            np.testing.assert_allclose(
                np.atleast_2d(model.coef_), problem.minimiser(0.1, **only), rtol=1e-9, atol=1e-12
            )
            assert_certified(model, problem)
    assert len(seen) >= 5
    assert max(seen) >= X.shape[1 if name.startswith("columns") else 0], "The decomposition was left out."


@pytest.mark.parametrize("name", AT_ONCE)
def test_products_of_sparse_rows_leave_a_model_once_the_matrix_is_whole(name):
    X = AT_ONCE[name]
    y, qid = labels(X), np.arange(X.shape[0]) // 8
    problem, model = Problem(X, y, qid), RankRLS(alpha=0.1, solver="direct", n_jobs=1)
    assert interrupted(model, 1, lambda one: one.fit(X, y, qid=qid)) == (True, False)
    np.testing.assert_allclose(model.coef_, problem.minimiser(0.1)[0], rtol=1e-9, atol=1e-12)
    assert_certified(model, problem)
    assert model.gap_ <= 1e-9


@pytest.mark.parametrize("name", CASES)
def test_a_path_is_left_with_the_exact_models_of_the_blocks_so_far(name):
    X, qid, weights = CASES[name]
    y = labels(X)
    problem = Problem(X, y, qid, **weights)
    settings = {"solver": "direct", "scale": None, "alpha_max": 1.0, "alpha_min": 0.01, "n_jobs": 1}
    for n in count(1):
        path, moment = None, Impatient(n, block_of_the_gram_matrix)
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always", InterruptedWarning)
            try:
                with moment:
                    path = rank_rls_path(X, y, qid=qid, **weights, **settings)
            except KeyboardInterrupt:
                assert n == 1, "The blocks before got lost."
        if moment.left > 0:
            break
        assert (path is None) == (n == 1)
        if path is None:
            continue
        assert path.status_ == "interrupted"
        assert [warning.category for warning in said] == [InterruptedWarning]
        part = slice(0, 16 * (n - 1))
        only = {"columns": part} if name.startswith("columns") else {"rows": part}
        for alpha in (1.0, 0.1, 0.01):
            w = problem.minimiser(alpha, **only)[0]
            np.testing.assert_allclose(path.coef_at(alpha), w, rtol=1e-9, atol=1e-12)
            here, least = problem.objective(alpha, w), problem.objective(alpha, problem.minimiser(alpha))
            value, bound = path.objective_at(alpha)
            assert value == pytest.approx(here, rel=1e-9)
            assert 0.0 <= bound <= least * (1 + 1e-9)
    assert n > 6
    assert path.status_ == "finished"


@pytest.mark.parametrize("alphas", [None, [10.0, 0.1, 0.001]], ids=["default grid", "grid"])
@pytest.mark.parametrize("cv", [None, 2], ids=["leave-query-out", "folds"])
@pytest.mark.parametrize("name", ["rows with weights", "columns"])
def test_a_search_that_has_measured_nothing_keeps_the_model_of_the_largest_alpha(name, cv, alphas):
    X, qid, weights = CASES[name]
    y = labels(X)
    problem = Problem(X, y, qid, **weights)
    settings = {"alpha": "auto", "alphas": alphas, "cv": cv, "solver": "direct", "n_jobs": 1}
    complete = RankRLS(**settings).fit(X, y, qid=qid, **weights)
    for n in range(2, 6):
        model = RankRLS(**settings)
        assert interrupted(model, n, lambda one: one.fit(X, y, qid=qid, **weights)) == (True, False)
        assert not hasattr(model, "validation_curve_")
        assert_certified(model, problem)
        # The default grid follows the data, of which there is only a part.
        assert model.alpha_ == pytest.approx(complete.alphas_.max(), rel=2.0 if alphas is None else 0.0)


def test_an_interrupt_before_the_first_block_leaves_a_fitted_ranker_as_it_was():
    X, qid, _ = CASES["rows"]
    fitted = RankRLS(alpha=1.0, solver="direct", n_jobs=1).fit(X[:40, :2], labels(X)[:40], qid=qid[:40])
    model = copy.copy(fitted)
    assert interrupted(model, 1, lambda one: one.fit(X, labels(X), qid=qid)) == (True, True)
    assert model.coef_ is fitted.coef_
