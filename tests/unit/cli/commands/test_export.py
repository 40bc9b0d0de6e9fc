"""``marginrank export`` as a process."""

import json

import numpy as np
import pytest

from marginrank import RankingModel

ROWS = "1 qid:1 1:0.5 2:1\n0 qid:1 1:0.25\n2 qid:2 2:3\n0 qid:2 1:1\n"


@pytest.fixture
def folder(tmp_path):
    RankingModel([2.0, -1.0, 0.0]).save(tmp_path / "model.mrk")
    (tmp_path / "test.txt").write_text(ROWS)
    return tmp_path


def test_a_model_is_written_with_its_features_and_the_commands(cli, folder):
    done = cli("export", "model.mrk", "--to", "elasticsearch", "--feature-set", "products", "-o", "m.json")
    assert done.returncode == 0, done.stderr
    written = json.loads((folder / "m.json").read_text())
    assert written["model"]["model"]["definition"] == {"f1": 2.0, "f2": -1.0}
    assert "_ltr/_featureset/products/_createmodel" in done.stderr
    assert (folder / "m.features.json").exists()


def test_the_check_takes_files_that_are_narrower_than_the_model(cli, folder):
    done = cli("export", "model.mrk", "--to", "solr", "-o", "m.json", "--check", "test.txt", "--json")
    assert done.returncode == 0, done.stderr
    check = json.loads(done.stdout)["check"]
    assert (check["n_rows"], check["n_pairs"], check["order_changes"]) == (4, 1 + (2.0 != -3.0), 0)


def test_names_come_from_a_file_and_the_model_goes_to_standard_output(cli, folder):
    (folder / "names.txt").write_text("bm25(title)\nage\nother\n")
    done = cli("export", "model.mrk", "--to", "vespa", "--names", "names.txt", "-o", "-")
    assert done.returncode == 0, done.stderr
    assert "2e0 * bm25(title)" in done.stdout
    assert "-1e0 * attribute(age)" in done.stdout


def test_names_may_stand_behind_their_numbers(cli, folder):
    (folder / "features.txt").write_text("1\tbm25\n2\tage\n3\t3 things\n")
    done = cli("export", "model.mrk", "--to", "json", "--names", "features.txt", "-o", "-")
    assert [one["name"] for one in json.loads(done.stdout)["features"]] == ["bm25", "age"]
    (folder / "features.txt").write_text("1 bm25\n3 age\n2 things\n")  # not their numbers: whole lines
    done = cli("export", "model.mrk", "--to", "json", "--names", "features.txt", "-o", "-")
    assert [one["name"] for one in json.loads(done.stdout)["features"]] == ["1 bm25", "3 age"]


def test_refusals_name_options(cli, folder):
    done = cli("export", "model.mrk", "--to", "sql", "--normalizers", "target", "-o", "m.sql")
    assert done.returncode == 1
    assert "--normalizers is not for --to sql" in done.stderr
    RankingModel(np.ones(2), query_normalization="minmax").save(folder / "model.mrk")
    done = cli("export", "model.mrk", "--to", "solr", "-o", "m.json")
    assert done.returncode == 1
    assert "--to sql" in done.stderr
    assert not (folder / "m.json").exists()


def test_the_check_alone_writes_nothing(cli, folder):
    before = {path.name for path in folder.iterdir()}
    done = cli("export", "model.mrk", "--to", "solr", "--check", "test.txt")
    assert done.returncode == 0, done.stderr
    assert "checked on 4 rows of 2 queries: of 2 pairs 0 change their order" in done.stderr
    assert "curl" not in done.stderr
    assert {path.name for path in folder.iterdir()} == before
    done = cli("export", "model.mrk", "--to", "solr")
    assert done.returncode == 2
    assert "-o" in done.stderr
    assert "--check" in done.stderr


def test_commands_quote_the_names_of_files(cli, folder):
    done = cli("export", "model.mrk", "--to", "solr", "-o", "my model.json")
    assert done.returncode == 0, done.stderr
    assert "--data-binary @'my model.json'" in done.stderr
