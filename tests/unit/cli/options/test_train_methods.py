"""``marginrank train``: methods, their options, and selection."""

import json

import numpy as np
import pytest

from marginrank import (
    KernelRankSVM,
    RankingData,
    RankingModel,
    RankRLS,
    RankSVM,
    StructuredRankSVM,
    dump_letor,
    load_letor,
)
from marginrank.cli.app import run as command


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("methods")
    rng = np.random.default_rng(0)
    for name, n_features in (("train.txt", 5), ("vali.txt", 4)):  # the validation file is narrower
        X = rng.standard_normal((120, n_features))
        X[2:, 4:] = 0.0  # a rare feature, whose absence gets no word
        y = np.digitize(X[:, 0] - X[:, 1] + rng.standard_normal(120), [0.0, 1.0])
        dump_letor(RankingData(X, y, qid=np.arange(120) // 8), folder / name)
    return folder


@pytest.fixture
def run(folder, capsys):
    def run(*arguments, code=0):
        paths = [str(folder / a) if a.endswith((".txt", ".mrk", ".csv")) else a for a in arguments]
        assert command(["train", *paths]) == code
        said = capsys.readouterr()
        return said.out if code == 0 else said.err

    return run


def data(folder):
    train, vali = load_letor(folder / "train.txt"), load_letor(folder / "vali.txt")
    padded = np.zeros((vali.n_rows, train.n_features))
    padded[:, : vali.n_features] = vali.X.toarray() if hasattr(vali.X, "toarray") else vali.X
    return train, RankingData(padded, vali.y, qid=vali.qid)


def coef(folder):
    return RankingModel.load(folder / "m.mrk").coef


def test_rankrls_equals_the_library(run, folder):
    run("train.txt", "-o", "m.mrk", "--method", "rankrls", "--alpha", "1e-2", "--scale", "standard")
    train, _ = data(folder)
    np.testing.assert_array_equal(coef(folder), RankRLS(1e-2, scale="standard").fit(train).coef_)


@pytest.mark.parametrize(
    ("typed", "parameters"),
    [
        ([], {}),
        (["--relevance", "1"], {"relevance": 1.0}),
        (["--gain", "linear"], {"gain": "linear"}),
        (["--gain", "0:0,1:1,2:7"], {"gain": {0: 0, 1: 1, 2: 7}}),
    ],
    ids=str,
)
def test_grades_and_gains_equal_the_library(run, folder, typed, parameters):
    run("train.txt", "-o", "m.mrk", "--target", "ndcg@5", *typed)
    train, _ = data(folder)
    np.testing.assert_array_equal(coef(folder), StructuredRankSVM("ndcg@5", **parameters).fit(train).coef_)


@pytest.mark.parametrize("typed", ["log", "0:0,1", "1:1,2:0", "0:-1"])
def test_gains_that_are_none_are_refused(run, typed):
    said = run("train.txt", "-o", "m.mrk", "--target", "ndcg", f"--gain={typed}", code=2)
    assert "neither exponential nor linear nor gains of labels as in 0:0,1:1,2:5" in said


@pytest.mark.parametrize(("method", "estimator"), [("rankrls", RankRLS), ("ranksvm", RankSVM)])
def test_alpha_auto_selects_on_a_narrower_validation_file_by_the_named_metric(run, folder, method, estimator):
    report = json.loads(
        run("train.txt", "-o", "m.mrk", "--method", method, "--alpha", "auto", "--alphas", "1e-4:1:5",
            "--validate", "vali.txt", "-m", "ndcg@5", "--json")
    )  # fmt: skip
    train, vali = data(folder)
    model = estimator(alpha="auto", alphas=[1e-4, 1e-3, 1e-2, 1e-1, 1.0], metric="ndcg@5").fit(
        train, eval_set=vali
    )
    np.testing.assert_array_equal(coef(folder), model.coef_)
    assert report["alpha"] == model.alpha_
    assert report["selection"]["metric"] == "ndcg@5"
    np.testing.assert_allclose(report["selection"]["curve"], model.validation_curve_)
    assert report["validation"]["metrics"]["ndcg@5"] == pytest.approx(model.best_score_)


def test_without_a_validation_file_folds_select_by_the_pairwise_error(run, folder):
    report = json.loads(run("train.txt", "-o", "m.mrk", "--alpha", "auto", "--cv", "3", "--json"))
    model = RankSVM(alpha="auto", cv=3).fit(data(folder)[0])
    np.testing.assert_array_equal(coef(folder), model.coef_)
    assert report["selection"]["metric"] == "pairwise_error(weighting=queries)"


def test_early_stopping_says_where_it_stopped(run, folder):
    said = run("train.txt", "-o", "m.mrk", "--method", "rankrls", "--validate", "vali.txt",
               "--regularization", "early_stopping")  # fmt: skip
    train, vali = data(folder)
    model = RankRLS(regularization="early_stopping").fit(train, eval_set=vali)
    np.testing.assert_array_equal(coef(folder), model.coef_)
    assert f"at iteration {model.best_iteration_} of {model.n_iter_}" in said
    assert "stopped short of its optimum" in said


def test_normalised_data_are_validated_normalised(run, folder):
    run("train.txt", "-o", "m.mrk", "--method", "rankrls", "--alpha", "auto", "--normalize", "query",
        "--validate", "vali.txt")  # fmt: skip
    train, vali = data(folder)
    expected = RankRLS("auto").fit(train.normalized_by_query(), eval_set=vali.normalized_by_query())
    np.testing.assert_array_equal(coef(folder), expected.coef_)


def test_pairs_are_learnt_by_least_squares_with_their_margins_as_magnitudes(run, folder):
    (folder / "pairs.csv").write_text("0,1,1,2\n3,2,2,1\n5,4,1,0.5\n")
    run("train.txt", "--pairs", "pairs.csv", "-o", "m.mrk", "--method", "rankrls", "--tol", "1e-9")
    pairs = [[0, 1], [3, 2], [5, 4]]
    train, _ = data(folder)
    expected = RankRLS(tol=1e-9).fit_pairs(train.X, pairs, weight=[1, 2, 1], magnitude=[2, 1, 0.5])
    np.testing.assert_allclose(coef(folder), expected.coef_, rtol=1e-12)


def test_a_target_chooses_the_structured_method(run, folder):
    said = run("train.txt", "-o", "m.mrk", "--target", "ndcg@10", "--relevance", "2", "--discount", "letor")
    train, _ = data(folder)
    model = StructuredRankSVM("ndcg@10", relevance=2, discount="letor").fit(train)
    np.testing.assert_array_equal(coef(folder), model.coef_)
    assert "pairs" not in said


def test_a_kernel_chooses_the_kernel_machine_and_its_seed_draws(run, folder):
    options = ["--approximation", "fourier", "--components", "20", "--gamma", "0.1", "--seed", "5"]
    report = json.loads(run("train.txt", "-o", "m.mrk", "--kernel", "rbf", *options, "--json"))
    train, vali = data(folder)
    model = KernelRankSVM("rbf", approximation="fourier", n_components=20, gamma=0.1, random_state=5).fit(
        train
    )
    loaded = RankingModel.load(folder / "m.mrk")
    np.testing.assert_array_equal(loaded.predict(vali), model.predict(vali))
    assert (report["method"], report["gamma"]) == ("kernel", 0.1)


@pytest.mark.filterwarnings("ignore:The best gamma")  # at an end of these three, which is not the point here
def test_gamma_and_alpha_are_chosen_together(run, folder):
    report = json.loads(
        run("train.txt", "-o", "m.mrk", "--kernel", "rbf", "--components", "20", "--alpha", "auto",
            "--alphas", "1e-2,1", "--gamma", "auto", "--gammas", "0.01,0.1,1", "--validate", "vali.txt",
            "--json")
    )  # fmt: skip
    found = report["selection"]
    assert np.shape(found["curve"]) == (3, 2)
    assert found["value"] == np.min(found["curve"])
    assert report["gamma"] in found["gammas"]


def test_several_targets_have_weights_and_the_heaviest_selects(run, folder):
    report = json.loads(
        run("train.txt", "-o", "m.mrk", "--target", "map", "--target", "ndcg@5=2", "--alpha", "auto",
            "--alphas", "1e-2,1", "--validate", "vali.txt", "--json")
    )  # fmt: skip
    train, vali = data(folder)
    model = StructuredRankSVM({"map": 1.0, "ndcg@5": 2.0}, alpha="auto", alphas=[1e-2, 1]).fit(
        train, eval_set=vali
    )
    np.testing.assert_array_equal(coef(folder), model.coef_)
    assert report["selection"]["metric"] == "ndcg@5"
    assert report["selection"]["value"] == pytest.approx(model.best_score_)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--method", "rankrls", "--loss", "hinge"], "--loss is for --method ranksvm"),
        (["--regularization", "hybrid"], "--regularization is for --method rankrls"),
        (["--solver", "cg"], "--solver cg is not one of --method ranksvm"),
        (["--method", "rankrls", "--solver", "lbfgs"], "that has auto, cg, direct"),
        (["--alphas", "1,2"], "--alphas is for --alpha auto"),
        (["--rule", "one_se"], "--rule is for --alpha auto"),
        (["--cv", "3"], "--cv is for --alpha auto"),
        (["--method", "rankrls", "--cv", "leave_query_out"], "--cv is for --alpha auto"),
        (["--alpha", "auto", "--cv", "3", "--validate", "v.txt"], "--cv is for searches without --validate"),
        (["--alpha", "auto", "--alphas", "1:2"], "neither"),
        (["--alpha", "auto", "--alphas", "0,1"], "0"),
        (["--alpha", "often"], "often"),
        (["--method", "forest"], "forest"),
        (["--target", "accuracy"], "none of auc, map, mrr, ndcg"),
        (["--target", "map=-1"], "not a positive number"),
        (["--target", "map", "--method", "rankrls"], "--target is for --method structured"),
        (["--target", "map", "--pairs", "p.csv"], "--pairs is not for --method structured"),
        (["--gamma", "1"], "--gamma is for --method kernel"),
        (["--components", "5"], " --components is for --method kernel"),
        (
            ["--kernel", "rbf", "--approximation", "exact", "--components", "5"],
            "--components is for --approximation nystroem or fourier",
        ),
        (["--kernel", "rbf", "--gamma", "wide"], "neither a positive number nor 'scale'"),
        (["--kernel", "rbf", "--gammas", "1,2"], "--gammas is for --gamma auto"),
        (["--kernel", "rbf", "--loss", "hinge", "--solver", "newton"], "--solver newton needs"),
        (["--loss", "least_squares"], "--method rankrls"),
        (["--truncate"], "--truncate is for --method structured"),
    ],
)
def test_misuse_is_refused_before_files_are_read(run, folder, options, words):
    assert words in run("nowhere.txt", "-o", "x.mrk", *options, code=2)
    assert not (folder / "x.mrk").exists()


def test_queries_or_pairs_left_out_choose_alpha_as_in_the_library(run, folder):
    train, _ = data(folder)
    searched = ["-o", "m.mrk", "--method", "rankrls", "--alpha", "auto", "--json", "--cv"]
    by_query = json.loads(run("train.txt", *searched, "leave_query_out"))
    library = RankRLS("auto", cv=None).fit(train)
    assert by_query["alpha"] == library.alpha_
    np.testing.assert_allclose(by_query["selection"]["curve"], library.validation_curve_, rtol=1e-12)
    assert library.validation_curve_[0] != RankRLS("auto").fit(train).validation_curve_[0]  # not by folds
    one = RankingData(train.X, train.y)
    dump_letor(RankingData(train.X, train.y, qid=np.ones(120, dtype=int)), folder / "one.txt")
    by_pair = json.loads(run("one.txt", *searched, "leave_pair_out", "-m", "pairwise_error"))
    library = RankRLS("auto", cv="leave_pair_out", metric="pairwise_error").fit(one)
    assert by_pair["alpha"] == library.alpha_
    np.testing.assert_allclose(by_pair["selection"]["curve"], library.validation_curve_, rtol=1e-12)


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (["--cv", "leave_query_out"], 2, "--cv leave_query_out is for --method rankrls, not for ranksvm."),
        (["--cv", "leave_pairs_out"], 2, "did you mean 'leave_pair_out'"),
        (["--cv", "1"], 2, "'1' is neither a whole number of at least 2 folds"),
        (["--cv", "2.5"], 2, "'2.5' is neither a whole number of at least 2 folds"),
        (
            ["--cv", "leave_pair_out", "--method", "rankrls"],
            1,
            "Use --cv leave_query_out, which leaves out one query at a time.",
        ),
    ],
)
def test_what_cannot_be_left_out_is_said(run, arguments, code, said):
    assert (
        said.lower()
        in " ".join(run("train.txt", "-o", "m.mrk", "--alpha", "auto", *arguments, code=code).split()).lower()
    )
