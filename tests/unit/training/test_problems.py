"""A problem and its parts: folds take rows of X by their numbers and copy none of it."""

import tracemalloc

import numpy as np
import pytest
from scipy import sparse

from marginrank import RankingData, RankRLS, RankSVM, StructuredRankSVM
from marginrank.data import ranking_data, validation
from marginrank.designs import MatrixDesign
from marginrank.losses import LeastSquaresLoss
from marginrank.training import problems
from marginrank.training.problems import Problem, RawColumns
from marginrank.training.selection import Search

N_ROWS, N_COLUMNS = 2000, 500
rng = np.random.default_rng(0)
X = rng.standard_normal((N_ROWS, N_COLUMNS))
Y = (X[:, 0] + rng.standard_normal(N_ROWS) > 0.0).astype(float)
QID = np.arange(N_ROWS) // 10


def make_problem(X):
    data = RankingData(X, Y, qid=QID)
    return Problem(data, lambda view: LeastSquaresLoss(view, n_threads=1), RawColumns(data.X, None, 1))


def test_folds_cover_the_rows_and_their_losses_have_the_others():
    problem = make_problem(X)
    held_out = []
    for part, held in problem.folds(Search(cv=4), 1):
        assert part.whole is problem
        assert part.loss.n_rows == N_ROWS - len(held.rows)
        assert not np.intersect1d(part.rows, held.rows).size
        held_out.append(held.rows)
    np.testing.assert_array_equal(np.sort(np.concatenate(held_out)), np.arange(N_ROWS))


def test_the_held_out_part_shares_memory_with_x(monkeypatch):
    problem = make_problem(X)
    taken = []

    def seen(X, rows=None, *arguments, **named):
        taken.append((X, rows))
        return MatrixDesign(X, rows, *arguments, **named)

    monkeypatch.setattr(problems, "matrix_design", seen)
    for _, held in problem.folds(Search(cv=4), 1):
        scores = problem.space.held_out(held.rows).scores(np.ones(N_COLUMNS))
        np.testing.assert_allclose(scores, X[held.rows].sum(axis=1))
    assert all(np.shares_memory(one, X) for one, _ in taken)
    assert sum(len(rows) for _, rows in taken) == N_ROWS


@pytest.mark.parametrize("make", [np.array, sparse.csr_array], ids=["dense", "sparse"])
def test_folds_take_less_memory_than_one_of_them_has_held_out(make):
    problem = make_problem(make(X))
    tracemalloc.start()
    try:
        folds = list(problem.folds(Search(cv=4), 1))
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert len(folds) == 4
    assert peak < X.nbytes / 4


@pytest.mark.parametrize("ranker", [RankSVM, RankRLS], ids=["hinge", "least squares"])
def test_no_search_by_folds_makes_a_subset_of_the_data(monkeypatch, ranker):
    copied = []
    monkeypatch.setattr(RankingData, "subset", lambda *given: copied.append(given))
    model = ranker(alpha="auto", alphas=[1.0, 0.1], cv=3, tol=0.1).fit(X[:, :5], Y, qid=QID)
    assert len(model.validation_curve_) == 2
    assert not copied


@pytest.mark.parametrize("ranker", [RankSVM, RankRLS, StructuredRankSVM])
def test_a_plain_fit_checks_x_once_and_splits_frames_once(monkeypatch, ranker):
    calls = []
    places = {"check_matrix": validation, "split_frame": ranking_data, "check_finite": validation}
    for name, module in places.items():
        original = getattr(module, name)

        def counting(*arguments, name=name, original=original, **named):
            calls.append(name)
            return original(*arguments, **named)

        monkeypatch.setattr(module, name, counting)
    ranker(tol=0.1).fit(X[:, :5], Y, qid=QID)
    assert sorted(calls) == ["check_finite", "check_matrix", "split_frame"]
