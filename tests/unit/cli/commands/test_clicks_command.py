"""``marginrank clicks``: the weights of ``inverse_propensity``, in files that ``train`` takes."""

import json
import warnings

import numpy as np
import pandas as pd
import pytest

from marginrank import RankingModel, RankSVM, inverse_propensity, open_dataset
from marginrank.cli.app import run
from marginrank.datasets import make_clicks, make_ranking
from marginrank.io import load_weight, read

X, Y, QID = make_ranking(60, 6, 5)
LOG = make_clicks(Y, [X[:, 0], None], qid=QID, n_sessions=4, bias=1.0)
NAMES = [f"f{k}" for k in range(5)]
TABLE = pd.DataFrame(X[LOG.rows], columns=NAMES).assign(
    click=LOG.clicks.astype(int),
    position=LOG.positions,
    session=[f"s{k}" for k in LOG.sessions],
    item=[f"item {row}" for row in LOG.rows],
)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    TABLE.drop(columns="item").to_csv("log.csv", index=False)
    return tmp_path


def test_text_with_weights_beside_it_trains_the_model_of_python(folder, capfd):
    assert run(["clicks", "log.csv", "-o", "train.txt", "--propensities", "estimate"]) == 0
    said = capfd.readouterr()
    weights = inverse_propensity(LOG.clicks, LOG.positions, X=TABLE[NAMES])
    np.testing.assert_array_equal(load_weight("train.txt.weight"), weights.weights)
    assert f"{weights.n_clicks:,}, of them {weights.n_clipped:,} at clipped" in said.out
    assert f"{weights.effective_sample_size:,.1f} clicks" in said.out
    assert "letor files cannot hold feature names" in said.err
    arguments = ["train", "train.txt", "--format", "lightgbm", "-o", "model.mrk"]
    assert run(arguments) == 0
    expected = RankSVM().fit(X[LOG.rows], LOG.clicks, qid=LOG.sessions, sample_weight=weights)
    np.testing.assert_array_equal(RankingModel.load("model.mrk").coef, expected.coef_)


@pytest.mark.parametrize("ending", ["npz", "csv", "parquet", "mrd"])
def test_other_formats_hold_the_weights(folder, capfd, ending):
    assert run(["clicks", "log.csv", "-o", f"train.{ending}", "--json"]) == 0
    said = json.loads(capfd.readouterr().out)
    data = open_dataset("train.mrd") if ending == "mrd" else read(f"train.{ending}")
    weights = inverse_propensity(LOG.clicks, LOG.positions, X=TABLE[NAMES])
    np.testing.assert_array_equal(data.sample_weight, weights.weights)
    assert list(data.feature_names) == NAMES
    assert (said["weights"], said["clicks"], said["features"]) == (None, weights.n_clicks, 5)
    assert said["effective_sample_size"] == weights.effective_sample_size
    np.testing.assert_array_equal(said["propensities"], weights.propensities)


def test_propensities_by_item_given_and_from_random_orders(folder, capfd):
    TABLE.assign(propensity=1.0 / LOG.positions).to_csv("all.csv", index=False)
    table = TABLE.assign(propensity=1.0 / LOG.positions).drop(columns="item")
    table.to_parquet("given.parquet", index=False)
    for arguments, expected in (
        (["all.csv", "--item-column", "item"], {"items": LOG.rows}),
        (["given.parquet", "--propensities", "given"], {"propensities": 1.0 / LOG.positions}),
        (["log.csv", "--propensities", "randomised"], {}),
    ):
        method = {"items": "em", "propensities": "given"}.get(next(iter(expected), ""), "randomised")
        assert run(["clicks", *arguments, "-o", "train.npz", "--clip", "0.3"]) == 0
        weights = inverse_propensity(LOG.clicks, LOG.positions, method, clip=0.3, **expected)
        np.testing.assert_array_equal(read("train.npz").sample_weight, weights.weights)
        assert read("train.npz").n_features == 5  # neither positions nor propensities


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (
            ["log.csv", "-o", "train.doc"],
            "--output, train.doc, stands for no format of weighted rows; say it with --to",
        ),
        (["log.csv", "-o", "train.txt", "--position-column", "place"], "--position-column must be a column"),
        (["log.csv", "-o", "train.txt", "--click-column", "f0"], "must be 0 or 1"),
        (["log.csv", "-o", "train.txt", "--position-column", "f0"], "must be integers from 1"),
        (["log.csv", "-o", "train.txt", "--propensities", "given"], "--propensity-column must be a column"),
        (["log.csv", "-o", "train.txt", "--clip", "2"], "--clip must be a number from 1e-12 to 1; got 2.0"),
        (["log.csv", "-o", "log.csv"], "would replace a file that is read"),
        (["no.csv", "-o", "train.txt"], "no.csv"),
        (["bare.csv", "-o", "train.txt"], "The log has no features"),
    ],
)
def test_wrong_uses_are_sentences(folder, capfd, arguments, sentence):
    TABLE[["click", "position", "session"]].to_csv("bare.csv", index=False)
    assert run(["clicks", *arguments]) in (1, 2)
    said = capfd.readouterr().err
    assert sentence in said
    assert "Traceback" not in said
    assert not (folder / "train.txt").exists()


def test_weights_that_training_would_not_read_are_warned_of(folder, capfd):
    assert run(["clicks", "log.csv", "-o", "train.txt"]) == 0
    assert "marginrank train train.txt --format lightgbm -o model.mrk" in capfd.readouterr().out
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        said = []
        for more in ([], ["--format", "letor"], ["--format", "lightgbm"], ["--weights", "train.txt.weight"]):
            assert run(["train", "train.txt", "-o", "model.mrk", *more]) == 0
            said.append(capfd.readouterr().err)
    sentence = "train.txt.weight lies beside train.txt, and its weights are not read. Take them with"
    assert [sentence in one for one in said] == [True, False, False, False]
    # Once, and not where it would be wrong.
    assert [one.count("lies beside") for one in said] == [1, 0, 0, 0]
    assert "--format lightgbm or --weights; --format letor leaves them out" in said[0]
