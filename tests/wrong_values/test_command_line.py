"""Wrong values for the options of the commands: an exit code and a sentence that names the option."""

import re

import click
import pytest
from base_calls import LETOR, SCORES, X

from marginrank import RankingModel
from marginrank.cli.app import COMMANDS, command_of, run
from marginrank.exceptions import shown_path

WRONG_TEXTS = ["", "abc", "-1", "0", "0.0", "nan", "inf", "-inf", "1e400", str(2**31), str(2**63), "9" * 400]
WRONG_TEXTS += [
    "9" * 5000,
    "a\nb",
    "1,2",
    "[1]",
    "None",
    "ndcg@",
    "../",
    "\udcff",
    "x" * 5000,
    "1/2",
    "0x10",
    "5e-324",
]
LOG = "session,position,click,propensity,price\na,1,1,1,0.5\na,2,0,0.5,1\nb,1,0,1,2\nb,2,1,0.5,3\n"
# A cluster is started for this one, on whatever address was given.
NEEDS_A_CLUSTER = {"dask"}
ARGUMENTS = {
    "auto": ["data.txt", "-o", "new.mrk", "--cv", "2", "--candidate", "rankrls"],
    "clicks": ["log.csv", "-o", "clicked.npz"],
    "compare": ["data.txt", "scores.txt", "scores.txt"],
    "convert": ["data.txt", "out.csv"],
    "evaluate": ["data.txt", "scores.txt"],
    "explain": ["model.mrk", "data.txt"],
    "export": ["model.mrk", "--to", "json", "-o", "export.json"],
    "import": ["weights.txt", "--from", "ranklib", "-o", "imported.mrk"],
    "inspect": ["data.txt"],
    "path": ["data.txt"],
    "predict": ["model.mrk", "data.txt"],
    "report": ["--test", "data.txt", "scores.txt", "-o", "report.html", "--no-path"],
    "sample": ["sample", "--overwrite"],
    "select": ["data.txt", "--features", "1"],
    "train": ["data.txt", "-o", "new.mrk"],
}


def options_of(command):
    found = command_of(command)
    return [
        one
        for one in found.params
        if isinstance(one, click.Option) and not one.is_flag and one.name not in NEEDS_A_CLUSTER
    ]


# tune shares its options with train, and would train for each of them; judge would serve a page for ever.
NOT_RUN = ("judge", "tune")
OPTIONS = [
    (command, option) for command in COMMANDS if command not in NOT_RUN for option in options_of(command)
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    found = tmp_path_factory.mktemp("commands")
    (found / "data.txt").write_bytes(LETOR)
    (found / "weights.txt").write_text("1:0.5 2:-1\n")
    (found / "log.csv").write_text(LOG)
    (found / "scores.txt").write_text("".join(f"{score}\n" for score in SCORES[:4]))
    RankingModel([1.0] * X.shape[1]).save(found / "model.mrk")
    return found


@pytest.mark.parametrize(("command", "option"), OPTIONS, ids=lambda value: getattr(value, "name", value))
def test_wrong_values_of_options_end_in_a_sentence(command, option, folder, monkeypatch, capfd):
    monkeypatch.chdir(folder)
    wrong = {}
    for text in WRONG_TEXTS:
        code = run([command, *ARGUMENTS[command], f"{max(option.opts, key=len)}={text}"])
        said = capfd.readouterr().err
        # An option by its name, or the file that it names; an empty name of a file is "a path".
        names = [*option.opts, option.name, option.name.replace("_", "-"), text or "a path", shown_path(text)]
        named = any(re.search(rf"(?<!\w){re.escape(name)}(?!\w)", said) for name in names if name)
        if code not in (0, 1, 2) or "Traceback" in said or (code != 0 and not named):
            wrong[text[:20]] = (code, said[-200:])
    assert wrong == {}
