"""``marginrank tune``: the search of the library, as a table, as JSON, and as a model."""

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
from marginrank.cli.commands.tune import search_table


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("tune")
    rng = np.random.default_rng(0)
    for name in ("train.txt", "vali.txt"):
        X = rng.standard_normal((120, 4))
        y = np.digitize(X[:, 0] - X[:, 1] + rng.standard_normal(120), [0.0, 1.0])
        dump_letor(RankingData(X, y, qid=np.arange(120) // 8), folder / name)
    return folder


@pytest.fixture
def run(folder, capsys):
    def run(*arguments, code=0):
        paths = [str(folder / a) if a.endswith((".txt", ".mrk", ".csv")) else a for a in arguments]
        assert command(["tune", *paths]) == code
        said = capsys.readouterr()
        return said.out if code == 0 else said.err

    return run


def column(report, name):
    return [row[name] for row in report["search"]]


@pytest.mark.parametrize(
    ("options", "ranker"),
    [
        ([], RankSVM(alpha="auto", alphas=[1e-4, 1e-2, 1], metric="ndcg@5")),
        (["--method", "rankrls"], RankRLS("auto", alphas=[1e-4, 1e-2, 1], metric="ndcg@5")),
        (
            ["--target", "map", "--scale", "standard"],
            StructuredRankSVM("map", alpha="auto", alphas=[1e-4, 1e-2, 1], metric="ndcg@5", scale="standard"),
        ),
    ],
)
def test_the_table_on_a_validation_file_is_the_search_of_the_library(run, folder, options, ranker):
    report = json.loads(
        run("train.txt", *options, "--alphas", "1e-4:1:3", "--validate", "vali.txt", "-m", "ndcg@5", "--json")
    )
    ranker.fit(load_letor(folder / "train.txt"), eval_set=load_letor(folder / "vali.txt"))
    assert column(report, "alpha") == ranker.alphas_.tolist()
    assert column(report, "mean") == ranker.validation_curve_.tolist()
    assert column(report, "standard_error") == ranker.validation_std_.tolist()
    assert [row["alpha"] for row in report["search"] if row["chosen"]] == [ranker.alpha_] == [report["alpha"]]
    assert report["metric"] == "ndcg@5"
    assert report["model"] is None


def test_folds_rule_and_normalisation_reach_the_search_and_the_model(run, folder):
    out = run("train.txt", "--cv", "3", "--rule", "one_se", "--normalize", "query", "-o", "m.mrk", "--json")
    ranker = RankSVM(alpha="auto", cv=3, rule="one_se").fit(
        load_letor(folder / "train.txt").normalized_by_query()
    )
    model = RankingModel.load(folder / "m.mrk")
    np.testing.assert_array_equal(model.coef, ranker.coef_)
    assert model.query_normalization == "minmax"
    assert column(json.loads(out), "mean") == ranker.validation_curve_.tolist()


@pytest.mark.parametrize(
    ("grid", "advice"),
    [("1e3,1e-3,1e-4", None), ("1e2,1e3", "smallest alpha; try smaller"), ("1e5,1e6", "equally good")],
)
def test_people_see_one_mark_and_where_to_look_further(run, grid, advice):
    said = run("train.txt", "--alphas", grid, "--cv", "3")
    assert said.count("<- chosen") == 1
    assert "by cross-validation" in said
    assert "advice" not in said if advice is None else advice in said


def test_pairs_are_searched_by_the_error_on_pairs_held_out(run, folder):
    pairs = [[i, i + 1] for i in range(0, 60, 2)]
    (folder / "pairs.csv").write_text("".join(f"{a},{b}\n" for a, b in pairs))
    report = json.loads(
        run("train.txt", "--pairs", "pairs.csv", "--alphas", "1e-3,1e-1", "--cv", "3", "--json")
    )
    ranker = RankSVM(alpha="auto", alphas=[1e-3, 1e-1], cv=3).fit_pairs(
        load_letor(folder / "train.txt").X, pairs
    )
    np.testing.assert_allclose(column(report, "mean"), ranker.validation_curve_)


def test_a_search_over_gamma_too_has_a_row_for_each_of_both(folder):
    data = load_letor(folder / "train.txt")
    ranker = KernelRankSVM(
        gamma="auto", gammas=[0.1, 1.0], alpha="auto", alphas=[1.0, 0.1, 0.01], n_components=20, cv=2,
        random_state=0,
    ).fit(data)  # fmt: skip
    table = search_table(ranker)
    assert [(row["gamma"], row["alpha"]) for row in table] == [
        (g, a) for g in ranker.gammas_ for a in (1.0, 0.1, 0.01)
    ]
    assert [row["mean"] for row in table] == ranker.validation_curve_.ravel().tolist()
    assert [(r["gamma"], r["alpha"]) for r in table if r["chosen"]] == [(ranker.gamma_, ranker.alpha_)]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--alpha", "1"], "No such option"),
        (["--method", "rankrls", "--loss", "hinge"], "--loss is for --method ranksvm"),
        (["--method", "rankrls", "--regularization", "early_stopping"], "no alpha to search for"),
        (["-m", "accuracy"], "accuracy"),
        (["--weights", "-", "--validate", "-"], "Only one of the inputs"),
        (["--pairs", "p.csv", "--weights", "w.csv"], "--weights weighs labelled rows"),
        (["-o", "-"], "A model goes to a file"),
    ],
)
def test_misuse_is_refused_before_files_are_read(run, options, words):
    assert words in run("nowhere.txt", *options, code=2)


def test_too_many_folds_are_refused_in_the_words_of_options(run):
    assert "give a smaller --cv, or --validate" in run("train.txt", "--cv", "99", code=1)
