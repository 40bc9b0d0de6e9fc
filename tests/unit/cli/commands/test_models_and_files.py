"""Several training files, models to compare, validation rows to train on, files that lack features."""

import json
import warnings

import numpy as np
import pytest

from marginrank import RankingData, RankingModel, RankSVM, dump_letor, load_letor
from marginrank.cli.app import run as command
from marginrank.metrics import evaluate


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("files")
    rng = np.random.default_rng(0)
    X = rng.normal(loc=1.0, size=(400, 6))
    y = np.digitize(X[:, 0] - X[:, 5] + rng.normal(size=400), [0.0, 1.0])
    data = RankingData(X, y, qid=np.arange(400) // 8)
    parts = {"train": (0, 25), "a": (0, 10), "b": (10, 25), "vali": (25, 35), "test": (35, 50)}
    for name, (begin, end) in parts.items():
        dump_letor(data.subset((data.qid >= begin) & (data.qid < end)), folder / f"{name}.txt")
    test = load_letor(folder / "test.txt")
    dump_letor(RankingData(test.X[:, :4], test.y, qid=test.qid), folder / "narrow.txt")
    return folder


@pytest.fixture
def run(folder, capsys, monkeypatch):
    monkeypatch.chdir(folder)

    def run(*arguments, code=0):
        with warnings.catch_warnings():
            warnings.simplefilter("default")
            assert command([*arguments]) == code
        said = capsys.readouterr()
        run.err = said.err
        return said.out if code == 0 else " ".join(said.err.split())

    return run


def test_several_training_files_give_the_model_of_the_file_that_holds_all(run, folder):
    run("train", "a.txt", "b.txt", "-o", "parts.mrk")
    run("train", "train.txt", "-o", "whole.mrk")
    parts, whole = (RankingModel.load(folder / name) for name in ("parts.mrk", "whole.mrk"))
    np.testing.assert_array_equal(parts.coef, whole.coef)
    search = [
        json.loads(run("tune", *data, "--alphas", "1,0.1", "--json"))
        for data in (["a.txt", "b.txt"], ["train.txt"])
    ]
    assert search[0]["search"] == search[1]["search"]
    assert run("predict", "whole.mrk", "a.txt", "b.txt") == run("predict", "whole.mrk", "train.txt")
    assert run("evaluate", "a.txt", "b.txt", "whole.mrk") == run("evaluate", "train.txt", "whole.mrk")


def test_a_query_in_two_training_files_is_refused(run):
    assert "Query 0 is in a.txt and in train.txt" in run("train", "a.txt", "train.txt", "-o", "m.mrk", code=1)


@pytest.mark.parametrize("name", ["train", "tune"])
def test_refit_trains_on_validation_rows_too_with_what_they_chose(run, folder, name):
    search = ["--validate", "vali.txt", "--alphas", "1,0.1,0.01", "--json"]
    search += ["--alpha", "auto"] if name == "train" else []
    report = json.loads(run(name, "train.txt", "-o", "refit.mrk", "--refit", *search))
    plain = json.loads(run(name, "train.txt", "-o", "plain.mrk", *search))
    assert (report["refit"], plain["refit"]) == (True, False)
    assert report["alpha"] == plain["alpha"]
    train, vali = (load_letor(folder / f"{part}.txt") for part in ("train", "vali"))
    together = RankingData(
        np.vstack([train.X, vali.X]), [*train.y, *vali.y], qid=[*train.qid.tolist(), *vali.qid.tolist()]
    )
    expected = RankSVM(alpha=report["alpha"]).fit(together)
    np.testing.assert_array_equal(RankingModel.load(folder / "refit.mrk").coef, expected.coef_)
    if name == "train":  # what was measured before the validation rows were trained on
        assert report["validation"] == plain["validation"]
        assert report["selection"] == plain["selection"]
        assert report["rows"] == together.n_rows


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--alpha", "auto", "--refit"], "--alpha auto with --validate"),
        (["--validate", "vali.txt", "--refit"], "--alpha auto with --validate"),
        (["--alpha", "auto", "--validate", "a.txt", "--refit"], "Query 0 is in train.txt and in a.txt"),
        (
            ["--alpha", "auto", "--validate", "vali.txt", "--refit", "--weights", "w"],
            "--weights says nothing of",
        ),
        (
            [
                "--method",
                "rankrls",
                "--regularization",
                "hybrid",
                "--alpha",
                "auto",
                "--validate",
                "vali.txt",
                "--refit",
            ],
            "--regularization hybrid chooses more",
        ),
    ],
)
def test_a_refit_that_makes_no_sense_is_one_sentence(run, arguments, sentence):
    code = 1 if "Query" in sentence else 2
    assert sentence in run("train", "train.txt", "-o", "m.mrk", *arguments, code=code)


def test_models_and_scores_are_compared(run, folder):
    run("train", "train.txt", "-o", "one.mrk", "--alpha", "1")
    run("train", "a.txt", "-o", "two.mrk")
    run("predict", "two.mrk", "test.txt", "-o", "two.scores")
    found = json.loads(run("compare", "test.txt", "one.mrk", "two.mrk", "--json"))
    by_scores = json.loads(run("compare", "test.txt", "one.mrk", "two.scores", "--json"))
    assert (found.pop("a"), found.pop("b"), by_scores.pop("b")) == ("one.mrk", "two.mrk", "two.scores")
    assert found.items() <= by_scores.items()
    test = load_letor(folder / "test.txt")
    mean = evaluate(test.y, RankingModel.load(folder / "one.mrk").predict(test), qid=test.qid)["ndcg@10"]
    assert found["metrics"]["ndcg@10"]["mean_a"] == mean
    three = json.loads(run("compare", "test.txt", "one.mrk", "two.mrk", "one.mrk", "--json"))["comparisons"]
    assert [(one["a"], one["b"]) for one in three] == [("one.mrk", "two.mrk"), ("one.mrk", "one.mrk (2)")]
    said = run("compare", "test.txt", "one.mrk", "two.mrk", "two.scores")
    assert "a: one.mrk, b: two.mrk\n" in said
    assert "a: one.mrk, b: two.scores\n" in said
    assert "For one alone there is marginrank evaluate" in run("compare", "test.txt", "one.mrk", code=2)


def test_features_that_a_file_lacks_get_a_word(run):
    run("train", "train.txt", "-o", "six.mrk")
    word = "The data end at feature 4, and the model knows 6: 5, 6 count as 0 in every row"
    for arguments in (
        ["predict", "six.mrk", "narrow.txt"],
        ["evaluate", "narrow.txt", "six.mrk"],
        ["compare", "narrow.txt", "six.mrk", "six.mrk"],
        ["train", "train.txt", "-o", "other.mrk", "--validate", "narrow.txt"],
    ):
        run(*arguments)
        assert run.err.count(word) == 1, arguments
    run("predict", "six.mrk", "test.txt")
    assert run.err == ""


def test_rare_features_may_be_absent_from_a_file_without_a_word(run, folder):
    rows = ["1 qid:1 1:1 9:1", *("0 qid:1 1:2" for _ in range(99)), "1 qid:2 1:1", "0 qid:2 1:2"]
    (folder / "rare.txt").write_text("\n".join(rows) + "\n")
    (folder / "short.txt").write_text("1 qid:1 1:1\n0 qid:1 1:2\n")
    run("train", "rare.txt", "-o", "rare.mrk")
    run("predict", "rare.mrk", "short.txt")
    assert run.err == ""
