"""How a path ends, what it reports on the way, and what it refuses."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from marginrank import RankingData
from marginrank.exceptions import MarginRankError, NothingToRankError
from marginrank.paths import gram, kernel_rank_path


@pytest.fixture(scope="module")
def problem():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 2))
    return X, np.digitize(X[:, 0] * X[:, 1] + rng.normal(size=80), [-1.0, 0.0, 1.0])


@pytest.fixture(scope="module")
def whole(problem):
    return kernel_rank_path(*problem)


def test_default_end_is_a_part_of_the_first_breakpoint(whole):
    assert whole.alpha_min_ == pytest.approx(1e-5 * whole.alphas[0])
    assert whole.status_ == "finished"


def test_alpha_min_is_reached_exactly_and_nothing_below_is_claimed(problem, whole):
    end = 0.02 * whole.alphas[0]
    path = kernel_rank_path(*problem, alpha_min=end)
    assert path.alpha_min_ == pytest.approx(end, rel=1e-12)
    assert (path.scores_at(end) == whole.scores_at(end)).all()
    with pytest.raises(MarginRankError, match=r"The path ends at alpha=.* 'finished'.* smaller alpha_min"):
        path.scores_at(0.99 * end)


def test_alpha_min_above_the_first_breakpoint_leaves_the_one_model_there(problem, whole):
    path = kernel_rank_path(*problem, alpha_min=2.0 * whole.alphas[0])
    assert path.n_events_ == 0
    end = whole.alphas[0]
    np.testing.assert_allclose(path.scores_at(3.0 * end), whole.scores_at(3.0 * end), rtol=1e-12)


def test_max_events_ends_the_path_on_its_way(problem, whole):
    path = kernel_rank_path(*problem, max_events=1500)
    assert path.status_ == "max_events"
    assert 1500 <= path.n_events_ <= 1501  # the last event may be an exchange of two pairs
    assert (path.alphas == whole.alphas[: path.n_events_]).all()
    assert path.gap_ <= 1e-7


def test_progress_goes_down_in_alpha_to_the_end(problem):
    seen = []
    kernel_rank_path(*problem, callbacks=seen.append)
    assert len(seen) >= 2
    assert all(a.alpha >= b.alpha and a.done <= b.done for a, b in pairwise(seen))
    assert seen[-1].done == 1.0
    assert 0.0 < seen[0].done < 1.0


def test_callback_that_returns_true_stops_quietly(problem, whole):
    path = kernel_rank_path(*problem, callbacks=[lambda progress: progress.n_events >= 2000])
    assert path.status_ == "stopped"
    assert (path.alphas == whole.alphas[: path.n_events_]).all()


def test_interruption_returns_the_path_so_far(problem, whole):
    def impatient(progress):
        raise KeyboardInterrupt

    with pytest.warns(RuntimeWarning, match="interrupted at alpha="):
        path = kernel_rank_path(*problem, callbacks=impatient)
    assert path.status_ == "interrupted"
    assert 1000 <= path.n_events_ < whole.n_events_
    alpha = 1.1 * path.alpha_min_
    assert (path.scores_at(alpha) == whole.scores_at(alpha)).all()


def test_verbose_writes_lines_to_standard_error(problem, capsys):
    kernel_rank_path(*problem, verbose=1, max_events=1000)
    assert capsys.readouterr().err.splitlines()[0].split() == ["events", "alpha", "done", "active", "seconds"]


def test_lost_accuracy_is_said(problem, monkeypatch):
    from marginrank.paths import kernel_model

    monkeypatch.setattr(kernel_model, "_ACCURATE", 1e-20)
    with pytest.warns(ConvergenceWarning, match="lost accuracy"):
        path = kernel_rank_path(*problem, max_events=300)
    assert not path.is_accurate


def test_a_kernel_that_is_not_positive_definite_is_refused(problem):
    X, y = problem
    with pytest.raises(MarginRankError, match="not positive definite: its matrix has the eigenvalue -"):
        kernel_rank_path(X, y, kernel="sigmoid", gamma=2.0)
    flipped = -np.eye(4)
    with pytest.raises(MarginRankError, match="not positive definite"):
        kernel_rank_path(flipped, [0, 1, 2, 3], kernel="precomputed")


def test_distances_make_a_kernel_because_only_differences_count():
    x = np.arange(5.0)
    K = -((x[:, None] - x[None, :]) ** 2) / 2.0  # x x' up to terms that pairs do not see
    path = kernel_rank_path(K, [0, 1, 2, 3, 4], kernel="precomputed")
    same = kernel_rank_path(x[:, None], [0, 1, 2, 3, 4], kernel="linear")
    np.testing.assert_allclose(np.diff(path.scores_at(0.3)), np.diff(same.scores_at(0.3)), atol=1e-6)
    assert path.gap_ <= 1e-7


def test_too_many_rows_are_refused_with_the_memory_and_the_alternative(monkeypatch):
    monkeypatch.setattr(gram, "physical_memory", lambda: 2**30)
    with pytest.raises(MarginRankError, match=r"8\.9 GiB .* has 1\.0\. Use graph='sampled'.*RankSVM"):
        gram.check_memory(20_000, 50_000_000)
    X = np.ones((9000, 1))
    with pytest.raises(MarginRankError, match="9,000 rows"):
        kernel_rank_path(X, np.arange(9000) % 2)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"kernel": "radial"}, "kernel, unless it is a function, must be one of"),
        ({"gamma": -1.0}, "gamma must be a positive, finite number; got -1.0"),
        ({"alpha_min": 0.0}, "alpha_min must be a positive, finite number"),
        ({"max_events": 0}, "max_events must be a positive integer; got 0"),
        ({"callbacks": 3}, "callbacks must be a callable"),
        ({"graph": "sampled", "pairs_per_row": "ten"}, "pairs_per_row must be a positive integer; got 'ten'"),
        ({"kernel": "precomputed"}, "must be square"),
        ({"kernel": lambda a, b: np.nan}, "gave NaN"),
    ],
)
def test_bad_arguments_get_one_clear_sentence(problem, arguments, message):
    with pytest.raises(MarginRankError, match=message):
        kernel_rank_path(*problem, **arguments)


def test_an_asymmetric_matrix_is_no_kernel():
    with pytest.raises(MarginRankError, match="not symmetric"):
        kernel_rank_path([[1.0, 0.5], [0.0, 1.0]], [0, 1], kernel="precomputed")


def test_input_that_teaches_nothing_is_refused():
    with pytest.raises(NothingToRankError, match="All rows have the same label"):
        kernel_rank_path([[1.0], [2.0]], [1, 1])
    with pytest.raises(MarginRankError, match="give y or pairs"):
        kernel_rank_path([[1.0], [2.0]])
    with pytest.raises(MarginRankError, match="do not pass them again"):
        kernel_rank_path(RankingData([[1.0], [2.0]], [0, 1]), [0, 1])


def test_predict_refuses_other_columns_and_bad_alpha(whole):
    with pytest.raises(MarginRankError, match="X has 3 columns, but the path was computed with 2"):
        whole.predict(np.ones((1, 3)), alpha=0.1)
    with pytest.raises(MarginRankError, match="alpha must be a positive, finite number; got -1"):
        whole.predict(np.ones((1, 2)), alpha=-1)
    with pytest.raises(MarginRankError, match="NaN"):
        whole.predict([[np.nan, 0.0]], alpha=0.1)
