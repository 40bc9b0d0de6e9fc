"""``marginrank explain`` as a process."""

import json

import numpy as np
import pytest

from marginrank import RankingModel, RankSVM, load_letor

ROWS = """1 qid:1 1:0.5 2:1 # docid = a
0 qid:1 1:0.25 # docid = b
2 qid:2 1:2 2:3 # docid = c
0 qid:2 1:1 # docid = d
1 qid:2 1:2 2:1 # docid = a
"""


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "test.txt").write_text(ROWS)
    model = RankSVM(alpha=0.1).fit(load_letor(tmp_path / "test.txt")).to_model()
    coef = np.array([2.0, -1.0])
    RankingModel(coef, column_statistics=model.column_statistics).save(tmp_path / "model.mrk")
    return tmp_path


def test_a_pair_of_a_query_is_explained_by_docids(cli, folder):
    done = cli("explain", "model.mrk", "test.txt", "--query", "1", "--pair", "a", "b")
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == [
        "query 1: a (a) is below b (b), by 0.5 (linear)",
        "column    a     b  contribution",
        "f2        1     0            -1",
        "f1      0.5  0.25          +0.5",
    ]
    done = cli("explain", "model.mrk", "test.txt", "--query", "1", "--pair", "a", "b", "--json")
    found = json.loads(done.stdout)
    assert found["margin"] == -0.5
    assert sum(one["contribution"] for one in found["contributions"]) == found["margin"]


def test_the_query_of_a_pair_is_found_where_there_is_one(cli, folder):
    done = cli("explain", "model.mrk", "test.txt", "--pair", "c", "d")
    assert done.stdout.startswith("query 2: c (a) is below d (b), by 1 ")
    done = cli("explain", "model.mrk", "test.txt", "--pair", "b", "c")
    assert done.returncode == 1
    assert "no query has both rows" in done.stderr


def test_rows_of_files_without_docids_have_numbers(cli, folder):
    (folder / "plain.txt").write_text("\n".join(line.split(" #")[0] for line in ROWS.splitlines()))
    done = cli("explain", "model.mrk", "plain.txt", "--query", "2", "--pair", "1", "2")
    assert done.stdout.startswith("query 2: 1 (a) is below 2 (b), by 1 ")
    done = cli("explain", "model.mrk", "plain.txt", "--pair", "1", "2")
    assert done.returncode == 1
    assert "give --query, too" in done.stderr


def test_a_query_shows_its_rows_from_the_best_on(cli, folder):
    done = cli("explain", "model.mrk", "test.txt", "--query", "2", "--json")
    rows = json.loads(done.stdout)["rows"]
    assert [row["row"] for row in rows] == ["a", "d", "c"]
    assert rows[0]["margin"] == pytest.approx(3.0 - 2.0)
    done = cli("explain", "model.mrk", "test.txt", "--query", "2")
    assert done.stdout.splitlines()[1].split()[0] == "a"


def test_weights_importance_and_pictures(cli, folder):
    done = cli("explain", "model.mrk")
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[0].split() == ["column", "weight", "deviation", "effect"]
    done = cli("explain", "model.mrk", "test.txt", "--plot", "all.svg")
    assert done.returncode == 0, done.stderr
    assert b"<svg" in (folder / "all.svg").read_bytes()
    done = cli("explain", "model.mrk", "test.txt", "--permutation", "ndcg@2", "--json", "--repeats", "3")
    found = json.loads(done.stdout)
    assert found["metric"] == "ndcg@2"
    assert {one["feature"] for one in found["losses"]} == {"f1", "f2"}


@pytest.mark.parametrize(
    ("arguments", "code", "sentence"),
    [
        (["model.mrk", "--query", "1"], 2, "--query looks at DATA"),
        (["model.mrk", "test.txt", "--query", "7"], 1, "the data have no query"),
        (["model.mrk", "test.txt", "--query", "1", "--pair", "a", "z"], 1, "has no row called"),
        (["model.mrk", "test.txt", "--query", "1", "--permutation", "map"], 2, "leave out --query"),
        (["model.mrk", "test.txt", "--permutation", "mapp"], 2, "--permutation"),
        (["model.mrk", "test.txt", "--plot", "a.xyz"], 2, "--plot a.xyz: the ending"),
    ],
)
def test_wrong_uses_end_in_a_sentence(cli, folder, arguments, code, sentence):
    done = cli("explain", *arguments)
    assert done.returncode == code
    assert sentence in done.stderr
    assert "Traceback" not in done.stderr


def test_a_model_that_normalises_within_queries_is_explained_in_its_query(cli, folder):
    RankingModel([2.0, -1.0], query_normalization="minmax").save(folder / "model.mrk")
    done = cli("explain", "model.mrk", "test.txt", "--query", "2", "--pair", "c", "d", "--json")
    assert json.loads(done.stdout)["margin"] == 1.0


def test_names_of_a_file_stand_in_every_explanation(cli, folder):
    (folder / "features.txt").write_text("1\tbm25_title\n2\tprice\n")
    named = ("--names", "features.txt")
    done = cli("explain", "model.mrk", "test.txt", "--query", "1", "--pair", "a", "b", *named)
    assert done.returncode == 0, done.stderr
    assert [line.split()[0] for line in done.stdout.splitlines()[2:]] == ["price", "bm25_title"]
    for asked in ([], ["test.txt"], ["test.txt", "--query", "2"], ["test.txt", "--permutation", "map"]):
        done = cli("explain", "model.mrk", *asked, *named, "--json")
        assert done.returncode == 0, done.stderr
        assert "bm25_title" in done.stdout
        assert '"f1"' not in done.stdout


def test_a_file_with_too_few_names_is_refused(cli, folder):
    (folder / "features.txt").write_text("bm25_title\n")
    done = cli("explain", "model.mrk", "--names", "features.txt")
    assert done.returncode == 1
    assert "--names: the model has 2 columns, and features.txt has 1 names." in done.stderr


@pytest.mark.parametrize("asked", [[], ["test.txt"], ["test.txt", "--permutation", "map"]])
def test_top_says_how_many_columns_are_shown(asked, cli, folder):
    both = cli("explain", "model.mrk", *asked).stdout.splitlines()
    first = cli("explain", "model.mrk", *asked, "--top", "1").stdout.splitlines()
    assert [line.split()[0] for line in first] == [line.split()[0] for line in both[:-1]]
