"""``marginrank inspect`` of a model, and ``predict`` far from what it was trained on."""

import json

import numpy as np
import pytest

from marginrank import RankingModel, RankSVM

ROWS = "2 qid:1 1:0.5 2:10\n0 qid:1 1:0.25 2:30\n1 qid:2 1:0.75 2:20\n0 qid:2 1:0.5 2:40\n"


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "train.txt").write_text(ROWS)
    return tmp_path


def test_a_model_is_described_with_its_certificate_and_ranges(cli, folder):
    assert cli("train", "train.txt", "-o", "model.mrk", "--alpha", "0.01").returncode == 0
    done = cli("inspect", "model.mrk")
    assert done.returncode == 0, done.stderr
    text = done.stdout
    assert "linear: RankSVM" in text
    assert "2, 2 in use" in text
    assert "no model is below" in text
    assert "4 rows, 2 queries, 2 pairs" in text
    assert text.splitlines()[-1].split()[0] == "f2"
    assert text.splitlines()[-1].split()[2:] == ["10", "40", "0.0%"]
    report = json.loads(cli("inspect", "model.mrk", "--json").stdout)
    assert report["ranges"]["f2"] == {"low": 10.0, "high": 40.0, "zeros": 0.0}
    assert report["training"]["gap"] <= 1e-3
    assert report["features_used"] == ["f1", "f2"]


def test_models_made_by_hand_or_imported_are_described_as_far_as_they_are_known(cli, folder):
    RankingModel([1.0, 0.0], query_normalization="minmax").save(folder / "model.mrk")
    text = cli("inspect", "model.mrk").stdout
    assert "made by hand" in text
    assert "minmax within queries" in text
    assert "features not used  1: f2" in text
    assert "certificate        none" in text
    (folder / "w.txt").write_text("1:2\n")
    assert cli("import", "w.txt", "--from", "ranklib", "-o", "model.mrk").returncode == 0
    assert "linear: ranklib" in cli("inspect", "model.mrk").stdout


def test_predict_warns_of_values_in_other_units(cli, folder):
    rng = np.random.default_rng(0)
    X = rng.random((20, 2))
    RankSVM(alpha=0.01).fit(X, X @ [1.0, 2.0]).save(folder / "model.mrk")
    (folder / "test.txt").write_text("1 qid:1 1:0.5 2:0.5\n0 qid:1 1:0.25 2:900\n")
    done = cli("predict", "model.mrk", "test.txt")
    assert done.returncode == 0
    assert "Warning: Values lie far outside of what the model was trained on: 'f2' (0.5 to 900" in done.stderr
    (folder / "test.txt").write_text("1 qid:1 1:0.5 2:0.5\n0 qid:1 1:0.25 2:0.75\n")
    assert cli("predict", "model.mrk", "test.txt").stderr == ""


def test_predict_warns_of_a_column_that_the_data_lack_before_their_last(cli, folder):
    rng = np.random.default_rng(0)
    X = rng.random((20, 3)) + 0.1
    RankSVM(alpha=0.01).fit(X, X @ [1.0, 2.0, 3.0]).save(folder / "model.mrk")
    lacking = [f"0 qid:1 1:0.5 3:{k / 20}\n" for k in range(1, 11)]
    (folder / "test.txt").write_text("".join(lacking))
    done = cli("predict", "model.mrk", "test.txt")
    assert done.returncode == 0
    assert "Warning: The data have nothing but 0 in 'f2', which was not so in training." in done.stderr
    # (0 + 1) / (20 + 1) for each of three rows is no wonder, nor is a value in one row of ten.
    for rows in (lacking[:3], [*lacking[:9], "0 qid:1 1:0.5 2:0.5 3:0.5\n"]):
        (folder / "test.txt").write_text("".join(rows))
        assert cli("predict", "model.mrk", "test.txt").stderr == ""
