"""A choice at the end of the user's own grid is warned of, whatever ranker and engine made it."""

import re
import warnings

import numpy as np
import pytest
from sklearn.base import clone

from marginrank import AutoRanker, KernelRankSVM, RankingData, RankRLS, RankSVM, StructuredRankSVM, dump_letor
from marginrank.cli.app import run as command

pytestmark = pytest.mark.filterwarnings("error:The chosen alpha")

QID = np.arange(90) // 10
RANKERS = {
    "hinge": RankSVM(),
    "squared hinge": RankSVM("squared_hinge"),
    "elastic net": RankSVM(l1_ratio=0.1),
    "least squares": RankRLS(solver="cg"),
    "direct": RankRLS(solver="direct"),
    "leave-query-out": RankRLS(solver="direct", cv=None),
    "leave-pair-out": RankRLS(cv="leave_pair_out"),
    "kernel": KernelRankSVM(n_components=40, random_state=0),
    "kernel least squares": KernelRankSVM(loss="least_squares", n_components=40, random_state=0),
    "ndcg": StructuredRankSVM("ndcg@10"),
}


def weak(seed):
    """Return a column that tells everything beside a far larger one: the smaller alpha, the better."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((90, 2)) * [10.0, 0.1]
    return X, np.digitize(X[:, 1], [-0.1, 0.0, 0.1])


def noisy(seed):
    """Return a large column that tells something, many small ones of noise: the larger alpha, the better."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((90, 80)) * np.where(np.arange(80) == 0, 1.0, 0.2)
    return X, np.digitize(X[:, 0] + 0.5 * rng.standard_normal(90), [-1.0, 0.0, 1.0])


def fitted(ranker, problem, alphas, on_set=False):
    X, y = problem(0)
    ranker = clone(ranker).set_params(alpha="auto", alphas=alphas, scale=None)
    held = {"eval_set": problem(1), "eval_qid": QID} if on_set else {}
    return ranker.fit(X, y, qid=None if ranker.cv == "leave_pair_out" else QID, **held)


@pytest.mark.parametrize(
    ("problem", "grid", "said"),
    [
        (weak, [1e-5, 10.0, 0.1], "The chosen alpha, 1e-05, is the smallest of alphas; try smaller ones."),
        (noisy, [1e-4, 1e-2, 1.0], "The chosen alpha, 1, is the largest of alphas; try larger ones."),
    ],
    ids=["smallest", "largest"],
)
@pytest.mark.parametrize("on_set", [False, True], ids=["folds", "set"])
@pytest.mark.parametrize("name", RANKERS)
def test_the_end_of_a_grid_is_warned_of_with_where_to_look_further(name, on_set, problem, grid, said):
    with pytest.warns(UserWarning, match=f"^{re.escape(said)}$"):
        fitted(RANKERS[name], problem, grid, on_set and name != "leave-pair-out")


@pytest.mark.parametrize("name", ["hinge", "direct", "kernel"])
def test_the_warning_points_to_the_call_of_fit(name):
    with pytest.warns(UserWarning, match="The chosen alpha") as caught:
        fitted(RANKERS[name], weak, [1e-5, 10.0, 0.1])
    assert caught[0].filename == __file__


@pytest.mark.parametrize("alphas", [None, [1e-5, 0.1], [0.1]], ids=["default", "two", "one"])
def test_default_grids_and_those_of_fewer_than_three_alphas_are_not_warned_of(alphas):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        fitted(RankSVM(), weak, alphas)
        fitted(RankRLS(), weak, alphas)
    assert [str(warning.message) for warning in caught if "The chosen alpha" in str(warning.message)] == []


def test_alphas_that_are_all_as_good_are_not_warned_of():
    X = np.arange(8.0)[:, None]
    model = RankSVM(alpha="auto", alphas=[1.0, 0.1, 0.01], cv=2).fit(X, np.arange(8))
    assert np.ptp(model.validation_curve_) == 0.0
    assert model.alpha_ == 1.0


def test_a_choice_within_the_grid_is_not_warned_of():
    model = fitted(RankRLS(), noisy, [1e-4, 1e-2, 1.0, 1e12])
    assert model.alphas_[0] > model.alpha_ > model.alphas_[-1]


def test_a_candidate_with_a_grid_of_its_own_is_warned_of():
    X, y = weak(0)
    with pytest.warns(UserWarning, match="smallest of alphas"):
        AutoRanker(candidates=[RankRLS(alphas=[1e-5, 10.0, 0.1], scale=None)]).fit(X, y, qid=QID)


@pytest.mark.parametrize(
    "arguments", [["tune"], ["train", "--alpha", "auto", "-o", "m.mrk"]], ids=["tune", "train"]
)
@pytest.mark.parametrize("method", ["ranksvm", "rankrls"])
def test_the_shell_names_its_option_and_says_it_once(arguments, method, tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    X, y = weak(0)
    dump_letor(RankingData(X, y, qid=QID), tmp_path / "train.txt")
    name, *options = arguments
    grid = ["--alphas", "1e-5,10,0.1", "--scale", "none", "--method", method]
    with warnings.catch_warnings():
        warnings.simplefilter("default")
        assert command([name, "train.txt", *options, *grid]) == 0
    out, err = capsys.readouterr()
    assert err.count("Warning: The chosen alpha, 1e-05, is the smallest of --alphas; try smaller ones.") == 1
    assert "try smaller" not in out
