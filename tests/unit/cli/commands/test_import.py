"""``marginrank import`` as a process."""

import json

from numpy.testing import assert_array_equal

from marginrank import RankingModel


def test_weights_of_ranklib_become_a_model_that_scores(cli, tmp_path):
    (tmp_path / "weights.txt").write_text("## Coordinate Ascent\n1:0.5 3:-2\n")
    (tmp_path / "names.txt").write_text("bm25\nviews\nage\n")
    done = cli("import", "weights.txt", "--from", "ranklib", "-o", "model.mrk", "--names", "names.txt")
    assert done.returncode == 0, done.stderr
    assert "3 features, 2 in use" in done.stderr
    model = RankingModel.load(tmp_path / "model.mrk")
    assert_array_equal(model.coef, [0.5, 0.0, -2.0])
    assert model.feature_names == ("bm25", "views", "age")
    (tmp_path / "test.txt").write_text("1 qid:1 1:2 3:1\n")
    done = cli("predict", "model.mrk", "test.txt")
    assert done.stdout == "-1.0\n"


def test_report_and_refusal(cli, tmp_path):
    (tmp_path / "weights.txt").write_text("1:0.5 3:-2\n")
    done = cli("import", "weights.txt", "--from", "ranklib", "-o", "model.mrk", "--features", "5", "--json")
    assert json.loads(done.stdout) == {"model": "model.mrk", "program": "ranklib", "features": 5, "used": 2}
    done = cli("import", "weights.txt", "--from", "ranklib", "-o", "other.mrk", "--features", "2")
    assert done.returncode == 1
    assert "--features must be at least" in done.stderr
    assert not (tmp_path / "other.mrk").exists()
    done = cli("import", "weights.txt", "--from", "svmrank", "-o", "other.mrk")
    assert done.returncode == 1
    assert "weights.txt:1:1: expected a model file of SVM^rank" in done.stderr
