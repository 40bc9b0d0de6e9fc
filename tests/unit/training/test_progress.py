"""Where in a search training is: folds, alphas, the share that is done; and the kernel map."""

import io
from itertools import pairwise

import numpy as np
import pytest

from marginrank import KernelRankSVM, RankRLS, RankSVM
from marginrank.solvers import Progress
from marginrank.system.progress_bar import ProgressBar, stage
from marginrank.training.progress import TrainingBar, along_grid

RNG = np.random.default_rng(0)
X = RNG.normal(size=(160, 5))
Y, QID = np.digitize(X[:, 0] + RNG.normal(size=160), [0.0, 1.0]), np.arange(160) // 8


def states_of(ranker, **fit):
    states = []
    ranker.fit(X, Y, qid=QID, callbacks=lambda state: states.append(state), **fit)
    return states


@pytest.mark.parametrize(
    "ranker",
    [
        RankSVM(alpha="auto", alphas=[1.0, 0.1, 0.01], cv=3),
        RankSVM("squared_hinge", alpha="auto", cv=3),
        RankRLS("auto", alphas=[1.0, 0.1], cv=3, solver="cg"),
        KernelRankSVM(
            gamma="auto", gammas=[0.1, 1.0], alpha="auto", alphas=[1.0, 0.1], cv=3, n_components=10
        ),
    ],
    ids=["grid", "path", "least squares", "kernel"],
)
def test_a_search_by_folds_says_which_fold_it_is_and_how_much_is_done(ranker):
    states = states_of(ranker)
    folds = [state.fold for state in states if state.fold is not None]
    assert set(folds) == {(1, 3), (2, 3), (3, 3)}
    done = [state.done for state in states]
    assert all(0.0 <= share < 1.0 for share in done)
    # Between folds and spaces it never falls; within one, solutions may go back to a larger alpha.
    assert all(later >= earlier - 0.31 for earlier, later in pairwise(done))
    assert done[-1] >= 0.85  # what is left is the model of all rows


def test_a_validation_set_fills_the_bar_as_alpha_falls():
    states = states_of(RankSVM(alpha="auto", alphas=[1.0, 0.1, 0.01]), eval_set=(X, Y), eval_qid=QID)
    assert {state.fold for state in states} == {None}
    by_alpha = {state.alpha: state.done for state in states if state.alpha and state.done < 0.9}
    assert by_alpha[1.0] == 0.0
    assert by_alpha[0.1] == pytest.approx(0.45)


def test_one_model_has_no_place_in_a_search():
    assert {(state.fold, state.done) for state in states_of(RankSVM())} == {(None, None)}


def test_a_grid_of_one_alpha_is_no_way_to_go():
    found = []
    (tell,) = along_grid([found.append], np.array([0.1]))
    tell(Progress(1, value=0.5, bound=0.4, gap=0.2, passes=2.0, seconds=0.0, alpha=0.1))
    assert found[0].done == 0.0


def test_a_callback_of_a_search_can_stop_it():
    model = RankSVM(alpha="auto", alphas=[1.0, 0.1], cv=2, tol=1e-9)
    model.fit(X, Y, qid=QID, callbacks=lambda state: state.iteration == 2)
    assert model.history_[-1].iteration == 2


@pytest.fixture
def terminal(monkeypatch):
    stream = io.StringIO()
    stream.isatty = lambda: True
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.setenv("COLUMNS", "150")
    return stream


def test_the_bar_names_fold_alpha_and_figures(terminal):
    with TrainingBar(1e-3, "ndcg@10", terminal) as bar:
        bar(
            Progress(
                4, value=0.5, bound=0.4, gap=0.2, passes=9.0, seconds=2.0, validation=0.75, alpha=1e-2,
                fold=(2, 5), done=0.3,
            )
        )  # fmt: skip
    assert "fold 2 of 5  alpha 1.0e-02  gap 2.0e-01  pass 9  ndcg@10 0.7500" in terminal.getvalue()


def test_the_kernel_map_is_a_stage_of_the_bar(terminal, monkeypatch):
    monkeypatch.setattr("marginrank.designs.blocks.block_rows", lambda mapping: 16)
    shown = []
    with TrainingBar(1e-3, stream=terminal) as bar:
        kept = bar.stage
        monkeypatch.setattr(
            bar, "stage", lambda what, total: shown.append((what, total)) or kept(what, total)
        )
        KernelRankSVM(n_components=20, store="memory", random_state=0).fit(X, Y, qid=QID, callbacks=bar)
    assert ("kernel map", 10) in shown


def test_stages_without_a_bar_are_told_to_nobody_and_lines_are_rare():
    stage("kernel map", 3)()
    stream = io.StringIO()
    with ProgressBar("training", stream):
        part_done = stage("kernel map", 3)
        for _ in range(3):
            part_done()
    assert stream.getvalue() == ""
