"""``--l1-ratio``, ``--bound`` and ``--non-negative``: what is typed, and the weights of the model."""

import numpy as np
import pytest

from marginrank import RankingData, RankingModel, RankRLS, RankSVM, dump_letor
from marginrank.cli.app import run as command

NAMES = ["bm25", "clicks", "price", "9"]


@pytest.fixture(name="rows")
def ranking_rows():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 4)).round(3)
    y = np.digitize(X[:, 0] - X[:, 1] + 0.3 * rng.normal(size=200), [-1, 0, 1])
    return RankingData(X, y, qid=np.arange(200) // 10)


@pytest.fixture
def numbered(tmp_path, rows):
    dump_letor(rows, tmp_path / "rows.txt")
    return tmp_path / "rows.txt"


@pytest.fixture
def named(tmp_path, rows):
    header, table = ",".join(["qid", "label", *NAMES]), np.column_stack([rows.qid, rows.y, rows.X])
    np.savetxt(tmp_path / "rows.csv", table, delimiter=",", header=header, comments="", fmt="%.6g")
    return tmp_path / "rows.csv"


@pytest.fixture
def run(tmp_path, capsys):
    def run(path, *options, code=0):
        output = tmp_path / "model.mrk"
        assert command(["train", str(path), "-o", str(output), *options]) == code
        said = capsys.readouterr()
        return (RankingModel.load(output).coef, said.out) if code == 0 else said.err

    return run


def test_numbers_are_those_of_the_file(run, numbered, rows):
    coef, _ = run(numbered, "--alpha", "0.01", "--bound", "1=1", "--bound", "2=0:", "--l1-ratio", "0.5")
    expected = RankSVM(alpha=0.01, l1_ratio=0.5, bounds={0: (1, 1), 1: (0, None)}).fit(rows)
    np.testing.assert_allclose(coef, expected.coef_, atol=1e-12)
    assert coef[:2].tolist() == [1.0, 0.0]


def test_least_squares_take_them_too(run, numbered, rows):
    options = (
        "--method",
        "rankrls",
        "--alpha",
        "0.01",
        "--bound",
        "1=1",
        "--l1-ratio",
        "0.5",
        "--non-negative",
    )
    coef, said = run(numbered, *options)
    limits = {0: (1, 1), 1: (0, None), 2: (0, None), 3: (0, None)}
    expected = RankRLS(0.01, l1_ratio=0.5, bounds=limits).fit(rows)
    np.testing.assert_allclose(coef, expected.coef_, atol=1e-12)
    assert coef[:2].tolist() == [1.0, 0.0]
    assert "have a weight" in said
    refused = run(numbered, *options, "--solver", "cg", code=1)
    assert "--solver cg solves linear systems, and with --l1-ratio or --bound there are none" in refused


def test_features_are_bounded_by_name_and_a_name_goes_before_a_number(run, named):
    coef, _ = run(named, "--bound", "bm25=1", "--bound", "clicks=-0.25:0.5", "--bound", "9=2:3")
    assert coef[[0, 1, 3]].tolist() == [1.0, -0.25, 2.0]


def test_bounds_of_some_override_non_negative(run, numbered):
    coef, _ = run(numbered, "--non-negative", "--bound", "2=:-0.1")
    assert coef[1] <= -0.1
    assert coef[[0, 2, 3]].min() >= 0.0
    assert run(numbered, "--non-negative")[0].min() == 0.0


def test_how_many_features_have_a_weight_is_said(run, numbered):
    coef, said = run(numbered, "--alpha", "0.2", "--l1-ratio", "0.9")
    assert np.count_nonzero(coef) == 2
    assert "features    2 of 4 have a weight" in said


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (["--bound", "1"], "'1' is not like clicks=0:"),
        (["--bound", "1=:"], "'1=:' is not like clicks=0:"),
        (["--bound", "1=a:"], "'a' is not a number."),
        (["--bound", "1=2:1"], "'1=2:1': the lower bound must not exceed the upper one."),
        (["--bound", "1=0:", "--bound", "1=:2"], "'1' is bounded twice"),
        (["--l1-ratio", "1"], "--l1-ratio"),
        (["--method", "kernel", "--non-negative"], "--bound is for --method ranksvm"),
    ],
)
def test_misuse_is_refused_in_a_sentence(run, numbered, options, sentence):
    assert sentence in run(numbered, *options, code=2)


def test_features_that_the_data_do_not_have_are_refused(run, numbered, named):
    assert "--bound 9 must be a feature of the data, from 1 to 4." in run(numbered, "--bound", "9=0:", code=1)
    said = run(numbered, "--bound", "clicks=0:", code=1)
    assert "--bound clicks names a feature, but the data have numbers only" in said
    assert "Did you mean 'clicks'?" in run(named, "--bound", "click=0:", code=1)
