"""``marginrank convert --format quepid``: labels of several raters join rows, and their agreement is told."""

import json

import pytest

from marginrank.cli.app import run
from marginrank.io import read

DOCS = "0 qid:q1 1:1 # docid = a\n0 qid:q1 1:2 # docid = b\n0 qid:q2 1:3 # docid = a\n"


@pytest.fixture(autouse=True)
def _files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "docs.txt").write_text(DOCS)
    (tmp_path / "judgements.csv").write_text("query,docid,ann,bob\nq1,a,3,2\nq1,b,1,1\nq2,a,0,\n")


def test_ratings_become_labels_and_agreement_is_told(capfd):
    arguments = ["convert", "judgements.csv", "train.txt", "--format", "quepid", "--data", "docs.txt"]
    assert run(arguments) == 0
    assert read("train.txt").y.tolist() == [2.5, 1.0, 0.0]
    assert "5 ratings of 3 documents; two raters agree on 50.0%" in capfd.readouterr().err
    assert run([*arguments, "--combine", "majority", "--json"]) == 0
    assert read("train.txt").y.tolist() == [2.0, 1.0, 0.0]
    said = json.loads(capfd.readouterr().out)
    assert (said["n_ratings"], said["agreement"]) == (5, 0.5)


def test_wrong_uses_are_sentences(capfd):
    assert run(["convert", "judgements.csv", "train.txt", "--format", "quepid"]) == 2
    assert "holds no features; name the rows with --data" in capfd.readouterr().err
    assert run(["convert", "docs.txt", "out.csv", "--to", "quepid"]) == 2
    assert "quepid" in capfd.readouterr().err
