"""``marginrank select``: the selection of the library, and what is written."""

import json
import re
import warnings

import numpy as np
import pandas as pd
import pytest

from marginrank import RankingData, RankingModel, dump_letor, load_letor, rank_rls_selection, write_dataset
from marginrank.cli.app import run as command
from marginrank.training.query_out import QueryOut


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("select")
    rng = np.random.default_rng(0)
    X = rng.standard_normal((160, 6))
    y = np.digitize(X[:, 4] - X[:, 1] + rng.standard_normal(160), [0.0, 1.0])
    qid = np.arange(160) // 8
    dump_letor(RankingData(X, y, qid=qid), folder / "train.txt")
    (folder / "weights.txt").write_text("".join(f"{1 + k % 3}\n" for k in range(160)))
    names = ["age", "bm25", "clicks", "depth", "stars", "price"]
    pd.DataFrame(X, columns=names).assign(label=y, qid=qid).to_csv(folder / "train.csv", index=False)
    write_dataset(folder / "train.mrd", X, y, qid=qid)
    return folder


@pytest.fixture
def run(folder, capsys):
    endings = (".txt", ".mrk", ".csv", ".png", ".mrd")

    def run(*arguments, code=0):
        paths = [str(folder / a) if a.endswith(endings) else a for a in arguments]
        assert command(["select", *paths]) == code
        said = capsys.readouterr()
        return said.out if code == 0 else said.err

    return run


@pytest.mark.parametrize(
    ("options", "parameters"),
    [
        ([], {}),
        (["-m", "ndcg@5", "--alpha", "0.1"], {"metric": "ndcg@5", "alpha": 0.1}),
        (["--scale", "minmax", "--jobs", "1"], {"scale": "minmax"}),
        (["--scale", "none"], {"scale": None}),
        (["--weights", "weights.txt"], {"sample_weight": 1.0 + np.arange(160) % 3}),
    ],
)
def test_the_report_is_that_of_the_library(run, folder, options, parameters):
    report = json.loads(run("train.txt", "--features", "4", *options, "--json"))
    data = load_letor(folder / "train.txt")
    found = rank_rls_selection(data.X, data.y, qid=data.qid, n_features=4, **parameters)
    features = report["features"]
    assert [one["feature"] for one in features] == [column + 1 for column in found.features]
    assert [one["error"] for one in features] == found.curve.tolist()
    assert [one["value"] for one in features] == found.quality.values.tolist()
    assert [one["difference_standard_error"] for one in features] == found.quality.diff_std.tolist()
    assert [one["error_difference_standard_error"] for one in features] == found.error.diff_std.tolist()
    assert report["best"], report["one_se"] == (found.quality.best, found.quality.smallest)


@pytest.mark.parametrize("rule", ["all", "best", "one_se"])
def test_the_written_model_is_that_of_the_rule(run, folder, rule):
    report = json.loads(
        run("train.txt", "--features", "5", "-m", "ndcg@5", "--rule", rule, "-o", f"{rule}.mrk", "--json")
    )
    data = load_letor(folder / "train.txt")
    found = rank_rls_selection(data, n_features=5, metric="ndcg@5")
    count = 5 if rule == "all" else found.n_best(rule)
    assert report["model_features"] == count
    model = RankingModel.load(folder / f"{rule}.mrk")
    assert model.coef.tobytes() == found.model(count).coef.tobytes()


def test_the_table_has_a_line_for_each_feature_and_names_it(run):
    lines = run("train.csv", "--features", "3").splitlines()
    assert lines[0].split()[:3] == ["features", "added", "error"]
    assert [line.split()[0] for line in lines[1:4]] == ["1", "2", "3"]
    assert {line.split()[1] for line in lines[1:3]} == {"stars", "bm25"}
    assert {line.split()[1] for line in run("train.txt", "--features", "2").splitlines()[1:3]} == {"f5", "f2"}


def test_a_picture_is_written(run, folder):
    run("train.txt", "--features", "3", "--plot", "features.png")
    assert (folder / "features.png").read_bytes().startswith(b"\x89PNG")


def test_normalised_data_leave_a_model_that_normalises(run, folder):
    run("train.txt", "--features", "2", "--normalize", "query", "-o", "normal.mrk")
    model = RankingModel.load(folder / "normal.mrk")
    data = load_letor(folder / "train.txt")
    expected = rank_rls_selection(data.normalized_by_query(), n_features=2).model()
    assert model.query_normalization == "minmax"
    assert model.coef.tobytes() == expected.coef.tobytes()


def test_few_of_many_columns_are_chosen_by_their_own_numbers(run, folder):
    rng = np.random.default_rng(1)
    lines = [
        f"{label} qid:{k // 4} 7:{label + rng.normal():.3f} 200000:{rng.normal():.3f}\n"
        for k, label in enumerate(rng.integers(3, size=40))
    ]
    (folder / "wide.txt").write_text("".join(lines))
    report = json.loads(run("wide.txt", "--features", "2", "-o", "wide.mrk", "--json"))
    assert [one["feature"] for one in report["features"]] == [7, 200000]
    assert RankingModel.load(folder / "wide.mrk").features_used.tolist() == [6, 199999]


def test_predict_does_not_warn_of_missing_columns_that_are_not_used(run, folder, capsys):
    rng = np.random.default_rng(2)
    X = rng.uniform(1.0, 2.0, (40, 5))
    dump_letor(
        RankingData(X, X[:, 1] + 0.1 * rng.normal(size=40), qid=np.arange(40) // 4), folder / "full.txt"
    )
    run("full.txt", "--features", "1", "-o", "one.mrk")
    narrow = "".join(f"0 qid:{k // 4} 2:{x:.17g}\n" for k, x in enumerate(X[:, 1]))
    (folder / "narrow.txt").write_text(narrow)
    model, scores = str(folder / "one.mrk"), []
    for name in ("full.txt", "narrow.txt"):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            assert command(["predict", model, str(folder / name)]) == 0
        said = capsys.readouterr()
        assert said.err == ""
        scores.append(said.out)
    assert scores[0] == scores[1]


def parted(text):
    """Return a text without its numbers, and these."""
    number = r"-?\d+\.\d+(?:e-?\d+)?"
    return re.sub(number, "#", text), [float(found) for found in re.findall(number, text)]


def test_tables_need_only_the_columns_that_a_model_uses(run, folder, capsys):
    run("train.csv", "--features", "2", "-o", "named.mrk")
    model, few = str(folder / "named.mrk"), str(folder / "few.csv")
    pd.read_csv(folder / "train.csv")[["qid", "stars", "bm25", "label"]].to_csv(few, index=False)
    for arguments in (["predict", model], ["explain", model, "--json"]):
        said = []
        for name in (str(folder / "train.csv"), few):
            assert command([*arguments, name]) == 0
            said.append(capsys.readouterr())
            assert said[-1].err == ""
        words, numbers = zip(*(parted(one.out) for one in said), strict=True)
        assert words[0] == words[1]
        # A product of fewer columns may round otherwise.
        np.testing.assert_allclose(numbers[0], numbers[1], rtol=1e-12, atol=1e-14)
    assert command(["evaluate", few, model]) == 0
    assert command(["compare", few, model, model]) == 0
    pd.read_csv(few).drop(columns="stars").to_csv(few, index=False)
    capsys.readouterr()
    assert command(["predict", model, few]) == 1
    assert "'stars'" in capsys.readouterr().err


def test_a_ctrl_c_keeps_the_features_so_far_if_they_are_wanted(run, monkeypatch, capsys):
    choose, calls = QueryOut.choose, []

    def interrupted(self, column):
        calls.append(column)
        if len(calls) % 3 == 0:
            raise KeyboardInterrupt
        choose(self, column)

    monkeypatch.setattr(QueryOut, "choose", interrupted)
    assert "Interrupted" in run("train.txt", "--features", "4", code=130)
    assert "the first 2 features are kept" in run("train.txt", "--features", "4", "--keep-partial", code=130)


def test_ctrl_c_in_a_search_keeps_the_best_alpha_only_if_asked(run, folder, monkeypatch):
    choose, left = QueryOut.choose, [0]

    def interrupted(self, column):
        left[0] -= 1
        if left[0] == 0:
            raise KeyboardInterrupt
        choose(self, column)

    monkeypatch.setattr(QueryOut, "choose", interrupted)
    options = ("train.txt", "--features", "2", "--alpha", "auto", "-o", "part.mrk")
    left[0] = 3  # in the second alpha
    assert "Interrupted" in run(*options, code=130)
    assert not (folder / "part.mrk").exists()
    left[0] = 3
    assert "the features chosen at alpha 100 are kept" in run(*options, "--keep-partial", code=130)
    assert RankingModel.load(folder / "part.mrk").metadata["alpha"] == 100.0


def test_what_cannot_work_gets_a_sentence(run):
    assert "Missing option '--features'" in run("train.txt", code=2)
    assert "--rule best names the model that -o writes" in run(
        "train.txt", "--features", "2", "--rule", "best", code=2
    )
    assert "--features must be an integer from 1 to 6; got 9" in run("train.txt", "--features", "9", code=1)
    assert "got a data set on disk" in run("train.mrd", "--features", "2", code=1)
