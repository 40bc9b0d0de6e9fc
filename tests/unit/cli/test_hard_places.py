"""Streams that are closed or full, files that are no files, too little memory: one sentence, no traceback."""

import os
import shlex
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from scipy import sparse

from limits import HANG
from marginrank import RankingModel, RankRLS, RankSVM, StructuredRankSVM, load_letor, write_dataset
from marginrank.cli.app import run
from marginrank.cli.options.path_methods import compute_path
from marginrank.exceptions import MarginRankError
from marginrank.io import read, write

ROWS = "".join(f"{k % 3} qid:{k // 6} 1:{k % 5} 2:{k * 7 % 11}\n" for k in range(36))


@pytest.fixture(autouse=True)
def files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("a.txt").write_text(ROWS)
    Path("a.scores").write_text("1\n" * 36)
    os.mkfifo("pipe")
    Path("folder").mkdir()


@pytest.fixture
def model():
    data = read("a.txt")
    RankSVM(alpha=0.1).fit(data).to_model().save("m.mrk")
    return "m.mrk"


def shell(command, **options):
    """Run a command by the shell, and return its exit code and what it said."""
    program = f"{shlex.quote(sys.executable)} -m marginrank"
    done = subprocess.run(
        ["sh", "-c", command.replace("marginrank", program, 1)],
        stderr=subprocess.PIPE,
        text=True,
        timeout=HANG,
        **{"stdout": subprocess.DEVNULL, "stdin": subprocess.DEVNULL, **options},
    )
    return done.returncode, done.stderr


@pytest.mark.parametrize(
    ("command", "sentence"),
    [
        ("marginrank inspect a.txt >&-", "Error: standard output is closed.\n"),
        ("marginrank --help >&-", "Error: standard output is closed.\n"),
        ("marginrank inspect - <&-", "Error: standard input is closed.\n"),
        ("marginrank nonsense 2>&-", ""),
    ],
)
def test_closed_streams(command, sentence):
    code, said = shell(command)
    assert code == (2 if "nonsense" in command else 1)
    assert said == sentence


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no such device")
def test_a_full_output(model):
    assert shell("marginrank inspect a.txt >/dev/full") == (1, "Error: No space left on device.\n")
    code, said = shell(f"marginrank predict {model} a.txt -o /dev/full")
    assert (code, said) == (1, "Error: /dev/full: No space left on device.\n")


def test_a_reader_that_has_gone():
    gate, output = os.pipe()
    os.close(gate)
    try:
        assert shell("marginrank inspect a.txt --json", stdout=output) == (1, "")
    finally:
        os.close(output)


def test_nothing_that_is_printed_goes_into_a_file_that_got_the_number_of_a_closed_stream(model):
    code, _ = shell(f"marginrank predict {model} a.txt -o b.scores >&- 2>&- <&-")
    assert code == 0
    assert len(Path("b.scores").read_text().split()) == 36


def in_process(capsys, *arguments):
    code = run([str(one) for one in arguments])
    captured = capsys.readouterr()
    return code, captured.err


#: Commands to which a folder of Parquet files is data.
OF_PARQUET = {
    "inspect {}",
    "train {} -o n.mrk",
    "train a.txt -o n.mrk --validate {}",
    "evaluate {} a.scores",
    "convert {} b.npz",
    "convert {} b.mrd --from parquet",
    "convert a.scores b.run --data {}",
}


@pytest.mark.parametrize(
    ("name", "what"), [("pipe", "a pipe"), ("folder", "a folder"), (os.devnull, "a device")]
)
@pytest.mark.parametrize(
    "command",
    [
        "inspect {}",
        "train {} -o n.mrk",
        "train a.txt -o n.mrk --validate {}",
        "train a.txt -o n.mrk --weights {}",
        "evaluate a.txt {}",
        "evaluate {} a.scores",
        "convert {} b.npz",
        "convert {} b.mrd --from letor",
        "convert {} b.mrd --from csv",
        "convert {} b.mrd --from parquet",
        "convert {} b.txt --from npz",
        "convert a.scores b.run --data {}",
        "inspect {} --format lightgbm",
    ],
)
def test_what_is_no_file_is_refused_without_waiting(capsys, command, name, what):
    if "--weights" in command and name == "folder":
        return  # refused as misuse, by click
    code, said = in_process(capsys, *command.format(name).split())
    assert code == 1
    expected = f"expected a file, got {what}. To read from a pipe, give - for standard input."
    if name == "folder" and command in OF_PARQUET:
        expected = "expected Parquet files (.parquet, .pq) in the folder, got none."
    elif name == "folder" and command.endswith("--from csv"):
        expected = "expected a file of csv data, got a folder; folders hold Parquet."
    assert said == f"Error: {name}: {expected}\n"
    assert not Path("b.mrd").exists()


@pytest.mark.parametrize(("name", "what"), [("pipe", "a pipe"), ("folder", "a folder")])
def test_a_model_that_is_no_file_is_refused_without_waiting(capsys, name, what):
    code, said = in_process(capsys, "predict", name, "a.txt")
    assert (code, said) == (1, f"Error: {name} is {what}; expected a model file.\n")


@pytest.mark.skipif(os.name == "nt" or os.geteuid() == 0, reason="root may read anything")
def test_a_file_that_may_not_be_read_is_named(capsys):
    Path("a.txt").chmod(0)
    assert in_process(capsys, "inspect", "a.txt") == (1, "Error: a.txt: Permission denied.\n")


@pytest.mark.parametrize(
    "command",
    [
        "train a.txt -o {}",
        "train other.txt -o {} --validate a.txt",
        "tune a.txt -o {}",
        "path a.txt --csv {}",
        "predict m.mrk a.txt -o {}",
        "evaluate a.txt a.scores --per-query {}",
        "convert a.txt {} --to letor",
        "convert a.scores {} --to run --data a.txt",
    ],
)
@pytest.mark.parametrize("name", ["a.txt", "folder/../a.txt", "link", "hard"])
def test_a_file_that_is_read_is_not_replaced(capsys, model, command, name):
    Path("link").symlink_to("a.txt")
    os.link("a.txt", "hard")
    code, said = in_process(capsys, *command.format(name).split())
    assert code == 1
    assert said == f"Error: {name}: the result would replace a file that is read; write elsewhere.\n"
    assert Path("a.txt").read_text() == ROWS


def too_large(*_, **__):
    return np.empty(1 << 60, dtype=np.uint8)  # more than any machine can address


@pytest.mark.parametrize(
    ("command", "place"),
    [
        ("inspect a.txt", "marginrank.io.letor._parse"),
        ("convert a.txt b.mrd", "marginrank.storage.dataset_files.np.ascontiguousarray"),
        ("convert a.txt b.npz", "marginrank.io.npz.BytesIO"),
        ("inspect c.npz", "marginrank.io.npz._build"),
        ("train a.txt -o n.mrk", "marginrank.RankSVM.fit"),
        ("predict m.mrk a.txt", "marginrank.RankingModel.predict"),
        ("evaluate a.txt a.scores", "marginrank.cli.commands.evaluate.evaluate_scores"),
    ],
)
def test_too_little_memory_is_said_in_a_sentence(capsys, monkeypatch, model, command, place):
    run(["convert", "a.txt", "c.npz"])
    capsys.readouterr()
    monkeypatch.setattr(place, too_large)
    code, said = in_process(capsys, *command.split())
    assert code == 1
    assert said.startswith("Error: There is not enough memory: ")
    assert said.endswith(
        ". Data that outgrow memory are trained on from disk: marginrank convert DATA data.mrd.\n"
    )
    assert said.count("\n") == 1
    assert not any(os.path.exists(name) for name in ("b.mrd", "b.npz", "n.mrk"))
    assert not [name for name in os.listdir() if name.startswith(".marginrank")]


@pytest.mark.parametrize("command", ["inspect {}", "convert {} b.mrd", "train {} -o n.mrk"])
@pytest.mark.parametrize(
    ("name", "content"),
    [("head.csv", b"pr\xe9is,qid,label\n1,1,1\n2,1,0\n"), ("cell.csv", b"a,qid,label\n1,\xe9,1\n2,1,0\n")],
)
def test_a_table_that_is_not_utf8_is_named(capsys, command, name, content):
    Path(name).write_bytes(content)
    code, said = in_process(capsys, *command.format(name).split())
    assert code == 1
    assert said.startswith(f"Error: {name}:")
    assert "UTF-8" in said or "UTF8" in said
    assert said.count("\n") == 1


def test_bytes_that_are_not_utf8_in_comments_and_ids_come_back(capsys):
    Path("b.txt").write_bytes(b"1 qid:\xff\xfe 1:1 #docid = \xe9\n0 qid:\xff\xfe 1:2\n")
    assert in_process(capsys, "convert", "b.txt", "b.mrd")[0] == 0
    assert in_process(capsys, "convert", "b.mrd", "c.txt")[0] == 0
    assert Path("c.txt").read_bytes() == b"1 qid:\xff\xfe 1:1 #docid = \xe9\n0 qid:\xff\xfe 1:2\n"


def test_a_data_set_may_be_written_anew_from_itself(capsys):
    write_dataset("a.mrd", np.eye(4), [0, 1, 0, 1])
    assert in_process(capsys, "convert", "a.mrd", "a.mrd", "--overwrite", "--chunk-rows", "2")[0] == 0
    assert read("a.mrd").n_chunks == 2


WIDE = ROWS.replace("2 qid:0 ", "2 qid:0 9999999:1 ", 1)


@pytest.mark.parametrize("scale", ["none", "standard"])
@pytest.mark.parametrize("method", ["ranksvm", "rankrls", "structured"])
def test_a_large_feature_number_costs_no_more_than_its_column(capsys, monkeypatch, method, scale):
    monkeypatch.setattr("marginrank.cli.files.columns._MANY_COLUMNS", 1000)
    Path("wide.txt").write_text(WIDE.replace("9999999", "5000"))
    narrow = load_letor(ROWS.replace("2 qid:0 ", "2 qid:0 3:1 ", 1).encode(), dense=False)
    write(narrow, "narrow.npz")
    options = ["--method", method, "--scale", scale, "--validate", "a.txt", "--alpha", "0.01"]
    for name in ("wide.txt", "narrow.npz"):
        assert in_process(capsys, "train", name, "-o", f"{name}.mrk", *options)[0] == 0
    wide, narrow = (RankingModel.load(f"{name}.mrk") for name in ("wide.txt", "narrow.npz"))
    assert wide.n_features == 5000
    assert np.flatnonzero(wide.coef).tolist() == [0, 1, 4999]
    assert np.array_equal(wide.coef[[0, 1, 4999]], narrow.coef)
    if scale == "standard":
        assert np.array_equal(wide.column_scale[[0, 1, 4999]], narrow.column_scale)


@pytest.mark.parametrize("method", ["ranksvm", "rankrls"])
def test_a_path_costs_no_more_than_the_columns_with_entries(capsys, monkeypatch, method):
    matplotlib = pytest.importorskip("matplotlib")
    monkeypatch.setattr("marginrank.cli.files.columns._MANY_COLUMNS", 1000)
    seen = []

    def compute(name, rows, *more):
        seen.append(rows.n_features)
        return compute_path(name, rows, *more)

    monkeypatch.setattr("marginrank.cli.commands.path.compute_path", compute)
    Path("wide.txt").write_text(WIDE.replace("9999999", "5000"))
    options = ["--method", method, "--validate", "a.txt", "-o", "m.mrk", "--plot", "m.svg"]
    monkeypatch.setitem(matplotlib.rcParams, "svg.fonttype", "none")
    assert in_process(capsys, "path", "wide.txt", *options)[0] == 0
    model = RankingModel.load("m.mrk")
    assert seen == [3]
    assert model.n_features == 5000
    assert set(np.flatnonzero(model.coef)) <= {0, 1, 4999}
    assert ">5000<" in Path("m.svg").read_text().split('id="legend_1"')[1]


def test_validation_rows_may_have_other_columns_than_those_that_were_trained_on(capsys, monkeypatch):
    monkeypatch.setattr("marginrank.cli.files.columns._MANY_COLUMNS", 1000)
    Path("wide.txt").write_text(WIDE.replace("9999999", "5000"))
    Path("vali.txt").write_text(ROWS.replace("1:", "1:2 77:", 1))
    for command in ("train", "tune", "path"):
        arguments = [command, "wide.txt", "-o", "m.mrk", "--validate", "vali.txt"]
        assert in_process(capsys, *arguments)[0] == 0
        assert RankingModel.load("m.mrk").n_features == 5000


def test_the_memory_of_a_training_does_not_follow_the_largest_feature_number():
    Path("wide.txt").write_text(WIDE)
    script = (
        "import re, sys, marginrank.cli as c\n"
        "def peak(): return int(re.search(r'VmHWM:\\s+(\\d+)', open('/proc/self/status').read())[1]) / 1024\n"
        "c.main(['train', 'a.txt', '-o', 'm.mrk'])\n"
        "before = peak()\n"
        "assert c.main(['train', 'wide.txt', '-o', 'm.mrk']) == 0\n"
        "print('more', peak() - before)\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=HANG)
    assert done.returncode == 0, done.stderr
    # Megabytes: a vector with an entry for each column is 80, and a model and its file are a few of them.
    assert float(done.stdout.split("more")[1]) < 800


def test_more_columns_than_any_memory_has_room_for_are_refused(monkeypatch):
    monkeypatch.setattr("marginrank.system.memory.physical_memory", lambda: 10**9)
    X = sparse.csr_matrix(([1.0, 2.0], [0, 9_999_999], [0, 1, 2]), shape=(2, 10_000_000))
    for ranker in (RankSVM(), RankRLS(), StructuredRankSVM("auc")):
        with pytest.raises(MarginRankError, match=r"10000000 columns, .* takes at least 1\.3 GB"):
            ranker.fit(X, [0, 1])
