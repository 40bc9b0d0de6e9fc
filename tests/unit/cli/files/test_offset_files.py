"""``train --offset``: on top of scores of a file or of a column, as the library does it."""

import json

import numpy as np
import pandas as pd
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
from marginrank.metrics import evaluate

NAMES = ["bm25", "clicks", "price", "age"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("offsets")
    rng = np.random.default_rng(0)
    for name in ("train", "vali"):
        X = rng.standard_normal((160, 4)).astype(np.float32).astype(np.float64)
        y = np.digitize(X @ [1.0, 0.5, -0.3, 0.0] + rng.standard_normal(160), [0.0, 1.0])
        qid = np.arange(160) // 8
        dump_letor(RankingData(X, y, qid=qid), folder / f"{name}.txt")
        pd.DataFrame(X, columns=NAMES).assign(label=y, qid=qid).to_csv(folder / f"{name}.csv", index=False)
        np.savetxt(folder / f"{name}.scores", X[:, 0])
    return folder


@pytest.fixture
def run(folder, capsys):
    def run(*arguments, code=0):
        known = (".txt", ".csv", ".scores", ".mrk", ".mrd")
        paths = [str(folder / a) if a.endswith(known) else a for a in arguments]
        assert command(paths) == code
        said = capsys.readouterr()
        return said.out if code == 0 else said.err

    return run


MEASURED = ("--validate", "vali.txt", "-m", "ndcg@5")
FILES = ("--offset", "train.scores", "--eval-offset", "vali.scores")


@pytest.mark.parametrize(
    "options",
    [(), ("--target", "map"), ("--method", "rankrls"), ("--l1-ratio", "0.5", "--bound", "2=0:")],
)
def test_a_file_of_scores_is_the_offset_of_the_library(run, folder, options):
    report = json.loads(
        run("train", "train.txt", "-o", "m.mrk", *FILES, *options, "--alpha", "0.01", *MEASURED, "--json")
    )
    train, vali = load_letor(folder / "train.txt"), load_letor(folder / "vali.txt")
    ranker = StructuredRankSVM("map", alpha=0.01) if "--target" in options else RankSVM(alpha=0.01)
    if "--method" in options:
        ranker = RankRLS(alpha=0.01)
    if "--bound" in options:
        ranker.set_params(l1_ratio=0.5, bounds={1: (0, None)})
    expected = ranker.fit(train, offset=np.loadtxt(folder / "train.scores"))
    np.testing.assert_array_equal(RankingModel.load(folder / "m.mrk").coef, expected.coef_)
    scores = expected.predict(vali) + np.loadtxt(folder / "vali.scores")
    assert report["validation"]["metrics"]["ndcg@5"] == evaluate(
        vali.y, scores, qid=vali.qid, metrics=["ndcg@5"]
    )["ndcg@5"]  # fmt: skip


@pytest.mark.parametrize(("data", "column"), [("train.txt", "1"), ("train.csv", "bm25")])
def test_a_column_is_the_offset_of_training_and_validation_rows_and_has_no_weight(run, folder, data, column):
    vali = data.replace("train", "vali")
    options = ("--validate", vali, "-m", "ndcg@5", "--scale", "none", "--tol", "1e-7", "--json")
    report = json.loads(
        run("train", data, "-o", "column.mrk", "--offset", column, "--alpha", "0.01", *options)
    )
    run("train", data, "-o", "file.mrk", "--bound", f"{column}=0", *FILES, "--alpha", "0.01", *options)
    model, same = (RankingModel.load(folder / name) for name in ("column.mrk", "file.mrk"))
    assert model.coef[0] == 0.0
    assert model.n_features == 4
    # A column that holds nothing is one whose weight is fixed to 0, but for how that is solved.
    np.testing.assert_allclose(model.coef, same.coef, atol=1e-2)
    rows = load_letor(folder / "vali.txt")
    scores = rows.X @ model.coef + rows.X[:, 0]
    figure = evaluate(rows.y, scores, qid=rows.qid, metrics=["ndcg@5"])["ndcg@5"]
    assert report["validation"]["metrics"]["ndcg@5"] == pytest.approx(figure, rel=1e-12)
    # The search measures the sum, too.
    chosen = json.loads(run("train", data, "-o", "auto.mrk", "--offset", column, "--alpha", "auto", *options))
    assert chosen["selection"]["value"] == chosen["validation"]["metrics"]["ndcg@5"]


def test_models_trained_on_top_of_scores_say_so(run, folder):
    run("train", "train.txt", "-o", "on-top.mrk", "--offset", "1")
    assert "offset             trained on top of other scores; add them to those" in run(
        "inspect", "on-top.mrk"
    )
    assert json.loads(run("inspect", "on-top.mrk", "--json"))["training"]["offset"] is True
    run("train", "train.txt", "-o", "plain.mrk")
    assert "offset" not in run("inspect", "plain.mrk")


@pytest.mark.parametrize(
    "ranker", [RankSVM(), RankRLS(), StructuredRankSVM("auc"), KernelRankSVM(n_components=4)]
)
def test_estimators_tell_their_models_of_an_offset(ranker):
    X, y = np.arange(8.0).reshape(4, 2), [0, 1, 0, 1]
    assert ranker.fit(X, y, offset=[0.0, 0.5, 0.1, 0.0]).to_model().metadata["offset"] is True
    assert "offset" not in ranker.fit(X, y).to_model().metadata


def test_data_on_disk_take_scores_of_a_file(run, folder):
    run("convert", "train.txt", "train.mrd")
    run("train", "train.mrd", "-o", "disk.mrk", "--offset", "train.scores", "--alpha", "0.01")
    run("train", "train.txt", "-o", "memory.mrk", "--offset", "train.scores", "--alpha", "0.01")
    disk, memory = (RankingModel.load(folder / name) for name in ("disk.mrk", "memory.mrk"))
    assert disk.metadata["objective"] == pytest.approx(memory.metadata["objective"], rel=1e-3)
    said = run("train", "train.mrd", "-o", "disk.mrk", "--offset", "1", code=1)
    assert "--offset of data on disk must be a file with one score a line" in said


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (("--eval-offset", "vali.scores"), "--eval-offset belongs to --offset"),
        (("--offset", "train.scores", "--validate", "vali.txt"), "need --eval-offset"),
        (
            ("--offset", "1", "--eval-offset", "vali.scores", "--validate", "vali.txt"),
            "leave out --eval-offset",
        ),
        (("--offset", "train.scores", "--eval-offset", "vali.scores"), "is of the rows of --validate"),
        (("--offset", "1", "--alpha", "auto", "--validate", "vali.txt", "--refit"), "--refit does not take"),
    ],
)
def test_offsets_that_make_no_sense_are_misuse(run, options, sentence):
    assert sentence in run("train", "train.txt", "-o", "m.mrk", *options, code=2)


def test_offsets_that_are_not_there_get_a_sentence(run, folder):
    said = run("train", "train.txt", "-o", "m.mrk", "--offset", "5", code=1)
    assert "--offset must be a file of scores or a feature of the data; got '5'." in said
    said = run("train", "train.csv", "-o", "m.mrk", "--offset", "bm52", code=1)
    assert "Did you mean 'bm25'?" in said
    (folder / "short.scores").write_text("1\n2\n")
    said = run("train", "train.txt", "-o", "m.mrk", "--offset", "short.scores", code=1)
    assert "expected one score for each of the 160 rows of the data, got 2" in said
