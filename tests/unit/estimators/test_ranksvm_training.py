"""How a fit runs: threads, starts, stops, scales and what it says meanwhile."""

import io
import os
import signal
import subprocess
import sys
import threading

import numpy as np
import pytest
from ranking_cases import ranking_case, same_minimum
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning

from limits import HANG
from marginrank import RankSVM
from marginrank.solvers import Progress
from random_matrices import random_csr

X, Y, QID = ranking_case()
LOSSES = ["hinge", "squared_hinge"]
SOLVERS = [("hinge", "lbfgs"), ("hinge", "bundle"), *(("squared_hinge", s) for s in ("lbfgs", "newton"))]


# Threads


def fit_large_sparse(loss, n_jobs):
    X = random_csr((80_000, 60), 0.1, np.random.default_rng(0))
    noise = np.random.default_rng(1).standard_normal(80_000)
    return RankSVM(loss, alpha=1e-3, n_jobs=n_jobs).fit(X, X @ np.linspace(-1, 1, 60) + 0.3 * noise)


def fit_many_queries(loss, n_jobs):
    X, y, qid = ranking_case(6000, 10, 300, dtype=np.float32)
    return RankSVM(loss, n_jobs=n_jobs).fit(X, y, qid=qid)


def fit_weighted(loss, n_jobs):
    X, y, _ = ranking_case(20_000, 5, n_levels=None)
    weight = np.random.default_rng(2).random(len(y))
    return RankSVM(loss, n_jobs=n_jobs).fit(X, y, sample_weight=weight)


def fit_weighted_queries(loss, n_jobs):
    X, y, qid = ranking_case(6000, 10, 300)
    weight = np.random.default_rng(2).random(len(y))
    model = RankSVM(loss, weighting="queries", scale="standard", n_jobs=n_jobs)
    return model.fit(X, y, qid=qid, sample_weight=weight, query_weight=np.linspace(0.1, 2.0, 300))


def fit_pairs(loss, n_jobs):
    X, _, _ = ranking_case(20_000, 5)
    pairs = np.random.default_rng(3).integers(20_000, size=(100_000, 2))
    pairs = pairs[pairs[:, 0] != pairs[:, 1]]
    weight = np.random.default_rng(4).random(len(pairs))
    better = X[pairs[:, 0], 0] > X[pairs[:, 1], 0] - 1.0
    pairs[~better] = pairs[~better, ::-1]
    return RankSVM(loss, n_jobs=n_jobs).fit_pairs(X, pairs, weight=weight, margin=1.0 + weight)


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize(
    "train", [fit_large_sparse, fit_many_queries, fit_weighted, fit_weighted_queries, fit_pairs]
)
def test_any_number_of_threads_gives_the_same_bits(train, loss):
    one = train(loss, 1)
    for n_jobs in (2, 4):
        other = train(loss, n_jobs)
        np.testing.assert_array_equal(other.coef_, one.coef_)
        assert (other.objective_, other.gap_, other.n_iter_) == (one.objective_, one.gap_, one.n_iter_)


_FORK = f"""
import multiprocessing, warnings
import numpy as np
from marginrank import RankSVM

warnings.simplefilter("ignore")  # Python 3.12 warns of any fork beside threads
X = np.random.default_rng(0).standard_normal((20_000, 5))
y = X.sum(axis=1) + np.random.default_rng(1).standard_normal(20_000)
here = RankSVM(n_jobs=2).fit(X, y).coef_
with multiprocessing.get_context("fork").Pool(1) as pool:
    there = pool.apply_async(RankSVM(n_jobs=2).fit, (X, y)).get(timeout={HANG}).coef_
assert (here == there).all()
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="There is no fork on this system.")
def test_a_forked_process_trains_after_its_parent_did():
    run = subprocess.run([sys.executable, "-c", _FORK], capture_output=True, text=True, timeout=HANG)
    assert run.returncode == 0, run.stderr


def test_two_fits_give_the_same_bits():
    np.testing.assert_array_equal(RankSVM().fit(X, Y).coef_, RankSVM().fit(X, Y).coef_)


# The record of a fit


@pytest.mark.parametrize(("loss", "solver"), SOLVERS)
def test_history_descends_to_what_is_reported(loss, solver):
    model = RankSVM(loss, solver=solver, tol=1e-6).fit(X, Y, qid=QID)
    values = [progress.value for progress in model.history_]
    bounds = [progress.bound for progress in model.history_]
    assert values == sorted(values, reverse=True)
    assert bounds == sorted(bounds)
    assert [progress.iteration for progress in model.history_] == list(range(model.n_iter_ + 1))
    assert model.history_[-1].gap == model.gap_ <= 1e-6
    assert values[-1] == model.objective_


def test_pairs_and_queries_are_counted():
    model = RankSVM().fit(np.eye(6)[:, :2], [0, 1, 2, 0, 0, 5.5], qid=list("aaabbc"))
    assert (model.n_pairs_, model.n_queries_) == (3, 3)
    model.fit(np.eye(6)[:, :2], [0, 1, 2, 0, 0, 5.5])
    assert (model.n_pairs_, model.n_queries_) == (3 + 2 + 3 + 4, 1)
    assert model.fit_pairs(np.eye(6)[:, :2], [[0, 1], [0, 1]]).n_pairs_ == 2
    assert isinstance(model.n_pairs_, int)


# Warm start


@pytest.mark.parametrize(("loss", "solver"), [case for case in SOLVERS if case[1] != "bundle"])
@pytest.mark.parametrize("scale", [None, "standard"])
def test_warm_start_at_the_optimum_takes_no_step(loss, solver, scale):
    # So many rows that the hinge is smooth at this precision: one plane at the optimum proves it.
    X, y, _ = ranking_case(20_000, 10)
    model = RankSVM(loss, solver=solver, scale=scale, tol=1e-5, warm_start=True).fit(X, y)
    assert model.n_iter_ > 0
    coef = model.coef_
    model.set_params(tol=1e-3).fit(X, y)
    assert model.n_iter_ == 0
    np.testing.assert_allclose(model.coef_, coef, rtol=1e-15)


def test_warm_bundle_needs_a_few_planes_only():
    X, y, qid = ranking_case(3000, 10, 40)
    model = RankSVM(solver="bundle", warm_start=True).fit(X, y, qid=qid)
    cold = model.n_iter_
    assert model.fit(X, y, qid=qid).n_iter_ < cold / 2


def test_warm_start_from_a_neighbouring_alpha_saves_iterations():
    X, y, qid = ranking_case(3000, 30, 40)
    cold = RankSVM(alpha=1e-4).fit(X, y, qid=qid)
    warm = RankSVM(alpha=2e-4, warm_start=True).fit(X, y, qid=qid)
    warm.set_params(alpha=1e-4).fit(X, y, qid=qid)
    assert warm.n_iter_ < cold.n_iter_
    same_minimum(warm, cold)


def test_warm_start_with_other_columns_starts_afresh():
    model = RankSVM(warm_start=True).fit(X, Y)
    fresh = RankSVM().fit(X[:, :3], Y)
    np.testing.assert_array_equal(model.fit(X[:, :3], Y).coef_, fresh.coef_)


def test_cold_start_does_not_depend_on_the_last_fit():
    model = RankSVM().fit(X, -Y)
    np.testing.assert_array_equal(model.fit(X, Y).coef_, RankSVM().fit(X, Y).coef_)


# Callbacks


def test_callbacks_see_every_iteration():
    seen, again = [], []
    model = RankSVM().fit(X, Y, qid=QID, callbacks=[seen.append, again.append])
    assert all(isinstance(progress, Progress) for progress in seen)
    assert seen == again == model.history_


@pytest.mark.parametrize(("loss", "solver"), SOLVERS)
def test_a_callback_that_returns_true_stops_quietly(loss, solver):
    model = RankSVM(loss, solver=solver, tol=1e-9)
    model.fit(X, Y, qid=QID, callbacks=lambda progress: progress.iteration == 2)
    assert model.n_iter_ == 2
    assert model.gap_ > 1e-9
    assert model.score(X, Y, qid=QID) > 0.6


def test_fit_pairs_calls_back_too():
    seen = []
    RankSVM().fit_pairs(X, [[0, 1], [2, 3], [5, 4]], callbacks=seen.append)
    assert seen


# Ctrl-C


@pytest.mark.parametrize(("loss", "solver"), SOLVERS)
def test_interrupt_in_a_callback_leaves_the_best_model_so_far(loss, solver):
    def interrupt(progress):
        if progress.iteration == 3:
            raise KeyboardInterrupt

    model = RankSVM(loss, solver=solver, tol=1e-9)
    with pytest.raises(KeyboardInterrupt):
        model.fit(X, Y, qid=QID, callbacks=interrupt)
    assert model.objective_ == min(progress.value for progress in model.history_)
    assert model.n_queries_ == 12
    assert model.score(X, Y, qid=QID) > 0.6


def test_ctrl_c_in_a_pass_leaves_the_best_model_so_far():
    X, _, _ = ranking_case(20_000, 100)
    y = np.random.default_rng(1).standard_normal(len(X))  # noise: three iterations do not reach the gap
    model = RankSVM(alpha=1e-7, tol=1e-13, max_iter=1_000_000)
    # It gets to run when a kernel of the main thread lets it, and not later than in the third iteration.
    press = threading.Thread(target=signal.raise_signal, args=(signal.SIGINT,))

    def interrupt(progress):
        if progress.iteration == 2:
            press.start()
        elif progress.iteration == 3:
            press.join()

    with pytest.raises(KeyboardInterrupt):
        model.fit(X, y, callbacks=interrupt)
    press.join()
    assert model.n_iter_ >= 2
    assert model.objective_ <= min(progress.value for progress in model.history_)
    assert 1e-13 < model.gap_ < 1.0
    assert model.predict(X[:5]).shape == (5,)


# Not converged


def test_too_few_iterations_are_said_with_what_to_do():
    with pytest.warns(ConvergenceWarning) as caught:
        model = RankSVM(max_iter=1).fit(X, Y, qid=QID)
    message = str(caught[0].message)
    assert message.startswith(f"RankSVM stopped after 1 iteration at a certified gap of {model.gap_:.1e}")
    assert "above tol=0.001. Raise max_iter or tol, use a larger alpha, or try another solver." in message
    assert message.endswith("Scale the features (scale='standard') if they differ much in size.")
    assert model.n_iter_ == 1
    assert caught[0].filename == __file__


def test_too_few_iterations_over_pairs_are_said():
    with pytest.warns(ConvergenceWarning, match="certified gap"):
        RankSVM(max_iter=1).fit_pairs(X, np.random.default_rng(0).permutation(len(X)).reshape(-1, 2))


# Progress


def test_verbose_prints_a_header_and_a_line_per_iteration_to_stderr(capsys):
    model = RankSVM(verbose=1).fit(X, Y, qid=QID)
    out, err = capsys.readouterr()
    lines = err.splitlines()
    assert out == ""
    assert lines[0].split() == ["iter", "objective", "lower", "bound", "gap", "passes", "seconds"]
    assert len(lines) == model.n_iter_ + 2
    last = lines[-1].split()
    assert int(last[0]) == model.n_iter_
    assert float(last[1]) == pytest.approx(model.objective_, abs=1e-6)
    assert float(last[3]) == pytest.approx(model.gap_, rel=0.1)


def test_a_terminal_gets_a_bar_and_no_lines(monkeypatch):
    terminal = io.StringIO()
    terminal.isatty = lambda: True
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.setenv("COLUMNS", "120")
    model = RankSVM(verbose=1).fit(X, Y, qid=QID)
    shown = terminal.getvalue()
    assert "training" in shown
    assert f"gap {model.gap_:.1e}" in shown  # the last state stays
    assert "lower bound" not in shown


def test_quiet_by_default(capsys):
    RankSVM().fit(X, Y, qid=QID)
    assert capsys.readouterr() == ("", "")


# Scale


def divisors(X, scale):
    return X.std(axis=0) if scale == "standard" else np.ptp(X, axis=0)


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("scale", ["standard", "minmax"])
@pytest.mark.parametrize("storage", [np.array, sparse.csr_array])
def test_scale_equals_training_on_divided_columns_in_raw_units(loss, scale, storage):
    raw = X * 10.0 ** np.arange(6)
    d = divisors(raw, scale)
    model = RankSVM(loss, alpha=1e-2, scale=scale, tol=1e-8).fit(storage(raw), Y, qid=QID)
    divided = RankSVM(loss, alpha=1e-2, tol=1e-8).fit(storage(raw / d), Y, qid=QID)
    reach = 2 * np.sqrt(2 * 1e-8 * divided.objective_ / 1e-2)
    assert model.objective_ == pytest.approx(divided.objective_, rel=1e-8)
    np.testing.assert_allclose(model.coef_ * d, divided.coef_, rtol=0, atol=reach)
    np.testing.assert_allclose(model.predict(storage(raw)), raw @ model.coef_, rtol=1e-9, atol=1e-9)


def test_a_constant_added_to_a_column_changes_nothing_under_scale():
    same_model = RankSVM(scale="standard", alpha=1e-2, tol=1e-8).fit(X, Y, qid=QID)
    shifted = RankSVM(scale="standard", alpha=1e-2, tol=1e-8).fit(X + 100.0, Y, qid=QID)
    same_minimum(same_model, shifted)


def test_scale_over_pairs_uses_all_rows():
    pairs = np.random.default_rng(5).permutation(len(Y)).reshape(-1, 2)
    d = X.std(axis=0)
    model = RankSVM(scale="standard", alpha=1e-2, tol=1e-8).fit_pairs(X, pairs)
    divided = RankSVM(alpha=1e-2, tol=1e-8).fit_pairs(X / d, pairs)
    np.testing.assert_allclose(model.coef_ * d, divided.coef_, rtol=0, atol=1e-3)


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("n_queries", [1, 12, 150])
def test_badly_scaled_raw_features_converge(loss, n_queries):
    X, y, qid = ranking_case(2000, 10, n_queries)
    raw = X * 10.0 ** np.linspace(-3, 6, 10)
    model = RankSVM(loss).fit(raw, y, qid=qid)
    assert model.gap_ <= 1e-3
    assert model.n_iter_ < 200


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("scale", ["standard", "minmax"])
def test_scale_trains_beside_a_time_in_nanoseconds(loss, scale):
    with_time = X.copy()
    with_time[:, 0] = 1.7e18 + 8.64e13 * X[:, 0]  # days about a date
    model = RankSVM(loss, scale=scale).fit(with_time, Y, qid=QID)
    plain = RankSVM(loss, scale=scale).fit(X, Y, qid=QID)
    assert model.gap_ <= 1e-3
    assert model.objective_ == pytest.approx(plain.objective_, rel=2e-3)
    assert model.score(with_time, Y, qid=QID) == pytest.approx(plain.score(X, Y, qid=QID), abs=0.01)


@pytest.mark.parametrize("loss", LOSSES)
def test_hardly_any_regularisation_does_not_leave_the_quasi_newton_steps_too_early(loss):
    # Values settle after six steps of the sampled Hessian. A bundle takes over a hundred passes from there.
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(9000, 50))
    labels = np.digitize(rows @ rng.normal(size=50) + 7 * rng.normal(size=9000), [-5, 0, 5])
    model = RankSVM(loss, alpha=1e-10).fit(rows, labels, qid=np.arange(9000) // 90)
    assert model.gap_ <= 1e-3
    assert model.n_passes_ < 30
