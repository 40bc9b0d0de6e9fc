"""``marginrank convert --format quepid``: labels of several raters join rows, and their agreement is told."""

import json

import pytest

from marginrank.cli.app import run
from marginrank.io import docids, read

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
    assert run(["convert", "judgements.csv", "train.npz", "--format", "quepid"]) == 2
    assert (
        "holds no features; name the rows with --data. Without --data they become" in capfd.readouterr().err
    )
    assert run(["convert", "docs.txt", "out.csv", "--to", "quepid"]) == 2
    assert "quepid" in capfd.readouterr().err


def test_without_rows_judgements_become_a_list_to_log_features_for(tmp_path, capfd):
    text = (
        "Query Text,Doc ID,Title,Rating\nstar wars,11,x,3\ntrek,7,y,1\nstar  wars,12,z,0\nstar wars,11,x,2\n"
    )
    (tmp_path / "judgements.csv").write_text(text)
    assert run(["convert", "judgements.csv", "train.txt", "--format", "quepid"]) == 0
    # The query as it was typed: two blanks are another query, and a comment shows one.
    lines = ["# qid:1: star wars", "# qid:2: trek", "# qid:3: star wars"]
    rows = ["2.5 qid:1 #docid = 11", "1 qid:2 #docid = 7", "0 qid:3 #docid = 12"]
    assert (tmp_path / "train.txt").read_text().splitlines() == [*lines, *rows]
    said = capfd.readouterr().err
    assert "4 ratings of 3 documents; two raters agree on 0.0%" in said
    assert "nothing to train on yet. Log the features" in said
    assert run(["train", "train.txt", "-o", "m.mrk"]) == 1
    assert "expected features" in capfd.readouterr().err


def test_a_list_that_was_filled_trains(tmp_path, capfd):
    assert run(["convert", "judgements.csv", "train.txt", "--format", "quepid", "--json"]) == 0
    said = json.loads(capfd.readouterr().out)
    assert (said["rows"], said["queries"], said["features"], said["n_ratings"]) == (3, 2, 0, 5)
    filled = (tmp_path / "train.txt").read_text().replace(" #docid", " 1:0.5 2:3 #docid")
    filled = filled.replace("2.5 qid:1 1:0.5", "2.5 qid:1 1:0.75")
    (tmp_path / "train.txt").write_text(filled)
    assert run(["train", "train.txt", "-o", "m.mrk"]) == 0
    data = read("train.txt")
    assert data.y.tolist() == [2.5, 1.0, 0.0]
    assert data.qid.tolist() == [1, 1, 2]
    assert docids(data) == ["a", "b", "a"]


def test_a_list_goes_to_standard_output(capfdbinary):
    assert run(["convert", "judgements.csv", "-", "--to", "letor", "--format", "quepid"]) == 0
    assert capfdbinary.readouterr().out.startswith(b"# qid:1: q1\n# qid:2: q2\n2.5 qid:1 #docid = a\n")


def test_new_judgements_join_a_list_that_was_filled_by_the_text_of_its_queries(tmp_path):
    (tmp_path / "judgements.csv").write_text(
        "query,docid,rating\nstar wars,11,3\nstar wars,12,0\ntrek,11,1\n"
    )
    assert run(["convert", "judgements.csv", "docs.txt", "--format", "quepid"]) == 0
    filled = (tmp_path / "docs.txt").read_text().replace(" #docid", " 1:0.5 #docid")
    (tmp_path / "docs.txt").write_text(filled)
    (tmp_path / "new.csv").write_text("query,docid,rating\nstar wars,12,2\nstar wars,11,1\n")
    arguments = ["convert", "new.csv", "new.txt", "--format", "quepid", "--data", "docs.txt"]
    assert run([*arguments, "--unjudged", "0"]) == 0
    assert read("new.txt").y.tolist() == [1.0, 2.0, 0.0]


def test_without_rows_judgements_become_qrels(tmp_path, capfd):
    assert run(["convert", "judgements.csv", "a.qrels", "--format", "quepid"]) == 0
    assert (tmp_path / "a.qrels").read_text() == "q1 0 a 2.5\nq1 0 b 1\nq2 0 a 0\n"
    assert "Warning" not in capfd.readouterr().err
    (tmp_path / "judgements.csv").write_text("query,docid,rating\nstar wars,11,3\n")
    assert run(["convert", "judgements.csv", "b.qrels", "--format", "quepid"]) == 1
    assert "must be one word without blanks and NUL; got 'star wars'" in capfd.readouterr().err
    assert not (tmp_path / "b.qrels").exists()
