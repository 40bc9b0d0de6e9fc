"""The options of everything that reads data, and the words of what goes wrong."""

import gzip
import inspect as python
import json
import re
import warnings

import click
import numpy as np
import pytest

from marginrank import RankingModel, RankSVM, load_letor, write_dataset
from marginrank.cli.app import COMMANDS, run
from marginrank.cli.app import cli as commands
from marginrank.cli.commands.inspect import inspect as inspect_command
from marginrank.cli.commands.train import train
from marginrank.cli.options.reading import ReadingOption
from marginrank.cli.words import in_options
from marginrank.exceptions import MarginRankError, ParameterError, Sentence

TABLE = "grade,query,w,name,a,b\n2,007,1,X,0.5,\n0,007,2,Y,0.25,1\n1,7,1,Z,0,3\n0,7,1,U,1,2\n"
COLUMNS = [
    "--label-column",
    "grade",
    "--qid-column",
    "query",
    "--weight-column",
    "w",
    "--docid-column",
    "name",
]


def command(name):
    return commands.get_command(click.Context(commands), name)


def test_every_command_that_reads_data_has_the_same_options():
    wanted = {max(one.opts, key=len) for one in inspect_command.params if isinstance(one, ReadingOption)}
    assert len(wanted) == 9
    wanted.add("--format")
    for name in COMMANDS.keys() - {"sample", "import", "clicks", "judge"}:  # which read no ranking data
        offered = {option for parameter in command(name).params for option in parameter.opts}
        assert wanted - offered == set(), name


def test_the_list_of_commands_says_what_their_help_says():
    for name, sentence in COMMANDS.items():
        assert python.cleandoc(command(name).help).splitlines()[0] == sentence


def test_columns_of_a_table_are_named(cli, tmp_path):
    (tmp_path / "t.csv").write_text(TABLE)
    (tmp_path / "p.csv").write_text("X,Y\n")
    assert cli("train", "t.csv", "-o", "m.mrk", *COLUMNS, "--missing", "0", "--alpha", "0.1").returncode == 0
    X = [[0.5, 0], [0.25, 1], [0, 3], [1, 2]]
    expected = RankSVM(alpha=0.1).fit(X, [2, 0, 1, 0], qid=[1, 1, 2, 2], sample_weight=[1, 2, 1, 1])
    assert np.array_equal(RankingModel.load(tmp_path / "m.mrk").coef, expected.coef_)
    done = cli("train", "t.csv", "--pairs", "p.csv", "-o", "p.mrk", *COLUMNS, "--missing", "0", "--json")
    assert json.loads(done.stdout)["pairs"] == 1
    done = cli("predict", "m.mrk", "t.csv", *COLUMNS, "--missing", "0", "--json")
    report = json.loads(done.stdout)
    assert report["scores"] == expected.predict(X).tolist()
    assert (report["rows"], report["queries"]) == (4, 2)


def test_text_with_null_from_zero_on(cli, tmp_path):
    (tmp_path / "z.txt").write_text("1 qid:1 0:1 2:NULL\n0 qid:1 0:1 1:3\n")
    refused = cli("inspect", "z.txt")
    assert (refused.returncode, "give --zero-based" in refused.stderr) == (1, True)
    refused = cli("inspect", "z.txt", "--zero-based")
    assert "z.txt:1:13: " in refused.stderr
    assert "give --missing 0" in refused.stderr
    found = json.loads(cli("inspect", "z.txt", "--zero-based", "--missing", "2", "--json").stdout)
    assert found["constant_features"] == [0]
    text = cli("inspect", "z.txt", "--zero-based", "--missing", "2").stdout
    assert re.search(r"constant features +1: 0\n", text)


def test_features_are_counted_as_in_the_file(cli, tmp_path):
    (tmp_path / "a.txt").write_text("1 qid:1 1:1 2:5\n0 qid:1 1:1 2:3\n")
    assert json.loads(cli("inspect", "a.txt", "--json").stdout)["constant_features"] == [1]
    assert re.search(r"constant features +1: 1\n", cli("inspect", "a.txt").stdout)


@pytest.mark.parametrize(
    ("arguments", "code", "sentence"),
    [
        (["inspect", "a.txt", "--max-feature", "3"], 1, "raise --max-feature"),
        (
            ["inspect", "a.txt", "--label-column", "x"],
            2,
            "--label-column is for tables, but a.txt is read as",
        ),
        (["inspect", "t.csv", "--zero-based"], 2, "--zero-based is for LETOR text, but t.csv is read as csv"),
        (["inspect", "t.csv"], 1, "Name it with --label-column COLUMN."),
        (
            ["inspect", "t.csv", "--label-column", "grade"],
            1,
            "--qid-column COLUMN. If there is none, give --no-qid",
        ),
        (["inspect", "t.csv", "--no-qid", "--qid-column", "query"], 2, "contradict"),
        (
            ["inspect", "t.csv", *COLUMNS],
            1,
            "t.csv:2, column 'b': expected a finite number, got an empty cell",
        ),
        (["train", "a.txt", "-o", "m.mrk", "--seed", "-1"], 2, "--seed"),
        (["convert", "a.txt", "a.doc"], 2, "stands for no format; say it with --to"),
        (["convert", "a.scores", "a.run"], 2, "name the rows with --data"),
        (["convert", "a.txt", "b.npz", "--data", "a.txt"], 2, "leave out --data"),
        (["convert", "a.txt", "-", "--to", "letor", "--json"], 2, "mix"),
        (["convert", "shuffled.txt", "l.txt", "--to", "lightgbm"], 1, "sort the rows by query first"),
    ],
)
def test_mistakes_are_told_in_the_words_of_the_command_line(
    tmp_path, monkeypatch, capsys, arguments, code, sentence
):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(warnings, "showwarning", warnings.showwarning)  # run sets its own
    (tmp_path / "a.txt").write_text("1 qid:1 4:1\n0 qid:1 4:2\n")
    (tmp_path / "shuffled.txt").write_text("1 qid:1 1:1\n0 qid:2 1:2\n0 qid:1 1:3\n")
    (tmp_path / "t.csv").write_text(TABLE)
    assert run(arguments) == code
    told = capsys.readouterr()
    assert told.out == ""
    assert sentence in told.err


def test_side_files_that_are_not_used_are_named(cli, tmp_path):
    (tmp_path / "a.txt").write_text("1 1:1\n0 1:2\n1 1:3\n")
    (tmp_path / "a.txt.query").write_text("2\n1\n")
    done = cli("inspect", "a.txt")
    assert done.stderr == (
        "Warning: a.txt.query lies beside a.txt and is not used; to use it, read with --format lightgbm.\n"
    )
    done = cli("inspect", "a.txt", "--format", "lightgbm", "--json")
    assert (json.loads(done.stdout)["n_queries"], done.stderr) == (2, "")


def test_the_seed_is_reported_and_changes_nothing(cli, tmp_path):
    (tmp_path / "a.txt").write_text("1 qid:1 1:1\n0 qid:1 1:2\n")
    assert json.loads(cli("train", "a.txt", "-o", "a.mrk", "--seed", "7", "--json").stdout)["seed"] == 7
    expected = RankSVM().fit(load_letor(tmp_path / "a.txt")).coef_
    assert np.array_equal(RankingModel.load(tmp_path / "a.mrk").coef, expected)


@pytest.mark.parametrize(
    ("sentence", "words"),
    [
        (
            Sentence("Use {solver='bundle'}, or {loss='squared_hinge'}."),
            "Use --solver bundle, or --loss squared_hinge.",
        ),
        (ParameterError("n_jobs", "a nonzero integer", 0), "--jobs must be a nonzero integer; got 0."),
        (
            Sentence("expected a finite number, got 'nan'.", "To read it, {pass} {allow_nonfinite=True}."),
            "expected a finite number, got 'nan'.",
        ),
        (
            Sentence("{n_components=} is more than the 8 rows of X", n_components=9),
            "--components 9 is more than the 8 rows of X",
        ),
        (MarginRankError("X contains NaN").about(Sentence("{eval_set}: ")), "--validate: X contains NaN"),
        (Sentence("Not better for {target=}.", target={"map": 2.0}), "Not better for --target map=2."),
        (
            Sentence("Train without the cut-off ({truncate=False})."),
            "Train without the cut-off (no --truncate).",
        ),
        ("{words} as they are", "{words} as they are"),
    ],
)
def test_arguments_become_options(sentence, words):
    assert in_options(sentence, train) == words


def test_the_advice_of_an_unfinished_training_names_options(cli, tmp_path):
    rng = np.random.default_rng(0)
    lines = (f"{k % 3} qid:1 1:{a:.3f} 2:{b:.3f}\n" for k, (a, b) in enumerate(rng.normal(size=(60, 2))))
    (tmp_path / "a.txt").write_text("".join(lines))
    done = cli("train", "a.txt", "-o", "a.mrk", "--max-iter", "1", "--tol", "1e-9")
    assert "Raise --max-iter or --tol" in done.stderr
    assert not re.search(r"\b(max_iter|tol=|scale=)", done.stderr)


def test_how_far_a_file_expands_is_limited_and_the_limit_can_be_raised(cli, tmp_path):
    (tmp_path / "a.txt.gz").write_bytes(gzip.compress(b"1 qid:1 1:1\n0 qid:1 1:2\n" * 1_000_000))
    done = cli("inspect", "a.txt.gz")
    assert (done.returncode, done.stderr) == (
        1,
        "Error: a.txt.gz: the gzip data expand to more than 200 times its size; raise --max-expansion if "
        "the file is to be trusted.\n",
    )
    assert cli("inspect", "a.txt.gz", "--max-expansion", "2000").returncode == 0
    write_dataset(tmp_path / "a.mrd", [[1.0], [2.0]], [0, 1])
    done = cli("inspect", "a.mrd", "--max-expansion", "2000")
    assert done.returncode == 2
    assert "--max-expansion is for LETOR text and tables and .npz, but a.mrd is read as mrd." in done.stderr
