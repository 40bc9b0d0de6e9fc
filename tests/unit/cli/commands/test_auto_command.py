"""``marginrank auto``: the choice of the library, as a table, as JSON, and as a model."""

import json
from typing import get_args

import numpy as np
import pytest

from marginrank import AutoRanker, RankingData, RankingModel, dump_letor, load_letor
from marginrank.choices import CandidateName
from marginrank.cli.app import run as command
from marginrank.cli.output.progress import CandidateBar
from marginrank.estimators.auto import CANDIDATES


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("auto")
    rng = np.random.default_rng(0)
    for name in ("train.txt", "vali.txt"):
        X = rng.random((160, 4))
        y = np.digitize(np.sin(7 * X[:, 0]) + X[:, 1], [0.2, 1.0])
        dump_letor(RankingData(X, y, qid=np.arange(160) // 8), folder / name)
    return folder


@pytest.fixture
def run(folder, capsys):
    def run(*arguments, code=0):
        paths = [str(folder / a) if a.endswith((".txt", ".mrk", ".csv")) else a for a in arguments]
        assert command(["auto", *paths]) == code
        said = capsys.readouterr()
        return said.out if code == 0 else said.err

    return run


def test_the_names_are_those_of_the_library():
    assert get_args(CandidateName) == tuple(CANDIDATES)


def test_the_choice_and_the_model_are_those_of_the_library(run, folder):
    report = json.loads(run("train.txt", "-o", "m.mrk", "--cv", "3", "-m", "ndcg@5", "--json"))
    data = load_letor(folder / "train.txt")
    ranker = AutoRanker("ndcg@5", cv=3).fit(data)
    assert report["candidates"] == ranker.results_.to_dicts()
    assert (report["chosen"], report["alpha"]) == (ranker.best_name_, ranker.alpha_)
    model = RankingModel.load(folder / "m.mrk")
    assert np.array_equal(model.predict(data), ranker.predict(data))


def test_the_table_lists_what_was_not_tried(run):
    said = run("train.txt", "-o", "m.mrk", "--cv", "3", "--budget", "0.000001s")
    assert "<- chosen" in said
    assert "not tried: no time left" in said
    assert "m.mrk" in said


def test_named_candidates_are_tried_in_their_order(run):
    names = ["ranksvm-squared", "rankrls"]
    options = [part for name in names for part in ("--candidate", name)]
    report = json.loads(run("train.txt", "-o", "m.mrk", "--cv", "2", *options, "--json"))
    assert [row["name"] for row in report["candidates"]] == names


def test_the_choice_rests_on_as_many_partitions_as_in_python(run, folder):
    close = ["close.txt", "-o", "m.mrk", "--cv", "2"]
    rng = np.random.default_rng(0)
    X = rng.random((80, 3))
    y = np.digitize(X[:, 0] + 0.5 * rng.normal(size=80), [0.2, 0.8])
    data = RankingData(X, y, qid=np.arange(80) // 10)
    dump_letor(data, folder / "close.txt")
    for repeats in (1, 2):
        options = [*close, "--repeats", str(repeats)]
        report = json.loads(run(*options, "--json"))
        assert report["partitions"] == AutoRanker(cv=2, repeats=repeats).fit(data).n_partitions_ == repeats
        assert ("over 2 partitions" in run(*options)) == (repeats == 2)


def test_the_bar_is_told_of_every_candidate_and_never_goes_back(run, monkeypatch):
    shown = []
    monkeypatch.setattr(CandidateBar, "show", lambda self, done, said, **more: shown.append((done, said)))
    run("train.txt", "-o", "m.mrk", "--cv", "2")
    done, said = zip(*shown, strict=True)
    assert list(done) == sorted(done)
    assert any(one.startswith("rankrls, 1 of ") for one in said)
    assert any(one.startswith("rankrls-kernel, 2 of ") for one in said)


def test_validation_rows_are_reported_on_and_select_nothing(run):
    first, second = (
        json.loads(run("train.txt", "-o", "m.mrk", "--cv", "2", "-m", "ndcg@5", "--json", *more))
        for more in ((), ("--validate", "vali.txt"))
    )
    assert first["validation"] is None
    assert second["validation"] is not None
    assert first["candidates"] == second["candidates"]


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--budget", "soon"], "must be a positive time, such as 60s"),
        (["--budget", "-5s"], "must be a positive time"),
        (["--budget", "nans"], "must be a positive time"),
        (["--repeats", "0"], "0 is not in the range"),
        (["--candidate", "trees"], "'trees' is not one of"),
        (["--pairs", "p.csv"], "--pairs is not for auto"),
    ],
)
def test_misuse_is_said_in_a_sentence(run, options, said):
    assert said in run("train.txt", "-o", "m.mrk", *options, code=2)


@pytest.mark.parametrize(("text", "seconds"), [("90", 90.0), ("60s", 60.0), ("5m", 300.0), ("1.5h", 5400.0)])
def test_times_have_units(text, seconds):
    from marginrank.cli.commands.auto import _seconds

    assert _seconds(None, None, text) == seconds
