"""Data sets on disk on the command line: every command takes them where it takes a file."""

import gzip
import json
import os
import subprocess
import sys

import numpy as np
import pytest

from limits import HANG
from marginrank import RankingData, dump_letor, load_letor, open_dataset
from marginrank import io as mio
from marginrank.cli.app import cli as commands
from marginrank.cli.command import DataError
from marginrank.io import dump_table, load_npz, load_table
from shell import shell


def run(*arguments):
    """Run a command in this process: the sentences are those of the exceptions."""
    return shell().invoke(commands, list(arguments), standalone_mode=False, catch_exceptions=False)


@pytest.fixture(name="rows")
def files(tmp_path, monkeypatch):
    """A text of 40 queries, the same as a data set of several chunks, and what the text holds."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 4)).round(2) * (rng.random((400, 4)) < 0.8)
    y = np.digitize(X[:, 0] + rng.normal(size=400), [0.0, 1.0])
    comments = [f"docid = D{k}" if k != 7 else "" for k in range(400)]
    data = RankingData(X, y, qid=np.arange(400) // 10, comments=comments)
    dump_letor(data, "a.txt")
    run("convert", "a.txt", "a.mrd", "--chunk-rows", "60")
    return data


def same(found, expected, *names):
    assert np.array_equal(found.X, expected.X)
    assert np.array_equal(np.signbit(found.X), np.signbit(expected.X))
    for name in ("y", "qid", "comments", *names):
        assert np.array_equal(getattr(found, name), getattr(expected, name)), name


@pytest.mark.parametrize(("chunk", "n_chunks"), [("2kB", 10), ("0.002MB", 10), ("2000", 10), ("1GiB", 1)])
def test_chunks_have_the_size_that_was_asked_for(rows, chunk, n_chunks):
    done = run("convert", "a.txt", "b.mrd", "--chunk", chunk, "--json")
    report = json.loads(done.stdout)
    assert (report["rows"], report["queries"], report["features"]) == (400, 40, 4)
    assert report["chunks"] == open_dataset("b.mrd").n_chunks
    assert abs(report["chunks"] - n_chunks) <= 1


@pytest.mark.parametrize("name", ["b.txt", "b.txt.gz", "b.csv", "b.parquet", "b.npz"])
def test_there_and_back_again(rows, name, monkeypatch):
    if name.endswith(("csv", "parquet")):
        pytest.importorskip("pyarrow")
    monkeypatch.setattr("marginrank.io.table_writer._VALUES", 100)
    monkeypatch.setattr("marginrank.storage.row_source._PIECE", 3000)
    run("convert", "a.mrd", name)
    read = {"b.npz": load_npz, "b.csv": load_table, "b.parquet": load_table}.get(name, load_letor)
    same(read(name), rows)
    run("convert", name, "c.mrd", "--chunk-rows", "100")
    again = open_dataset("c.mrd")
    assert again.n_chunks == 4
    same(again.in_memory(), rows)


def test_text_of_a_data_set_is_that_of_the_rows_in_memory(rows):
    run("convert", "a.mrd", "b.txt")
    with open("a.txt", "rb") as a, open("b.txt", "rb") as b:
        assert a.read() == b.read()


def test_a_data_set_is_written_in_other_chunks(rows):
    run("convert", "a.mrd", "b.mrd", "--chunk-rows", "200")
    assert open_dataset("b.mrd").n_chunks == 2
    same(open_dataset("b.mrd").in_memory(), rows)


def test_csv_in_pieces_names_the_row_of_a_cell_that_is_no_number(rows, tmp_path, monkeypatch):
    pytest.importorskip("pyarrow")
    monkeypatch.setattr("marginrank.storage.row_source._PIECE", 200)
    (tmp_path / "b.csv").write_text("label,qid,f\n" + "1,a,0.5\n" * 60 + "1,a,word\n")
    with pytest.raises(DataError, match=r"b\.csv: expected csv data; pyarrow says: .*'word'"):
        run("convert", "b.csv", "b.mrd")
    (tmp_path / "c.csv").write_bytes(gzip.compress(b"label,qid,f\n" + b"1,7,0.5\n" * 60 + b"1,,2\n"))
    with pytest.raises(DataError, match=r"c\.csv, row 60 \(counted from 0\), column 'qid'"):
        run("convert", "c.csv", "c.mrd")


def test_labels_and_side_files_come_from_a_data_set(rows):
    for name in ("a.mrd", "a.txt"):
        run("convert", name, f"{name}.query")
    with open("a.mrd.query") as a, open("a.txt.query") as b:
        assert a.read() == b.read()
    run("convert", "a.mrd", "lgb.txt", "--to", "lightgbm")
    again = mio.read("lgb.txt", format="lightgbm")
    assert np.array_equal(again.X, rows.X)
    assert np.array_equal(again.qid, rows.qid)


@pytest.mark.parametrize("options", [[], ["--method", "rankrls"], ["--target", "ndcg@5"]])
def test_training_and_prediction_give_the_same_from_disk(rows, options):
    run("train", "a.txt", "-o", "a.mrk", *options)
    run("train", "a.mrd", "-o", "b.mrk", "--validate", "a.mrd", *options)
    run("predict", "a.mrk", "a.txt", "-o", "a.scores")
    for model, name in (("a.mrk", "b.scores"), ("b.mrk", "c.scores")):
        run("predict", model, "a.mrd", "-o", name)
    memory, disk, trained = (np.loadtxt(f"{name}.scores") for name in "abc")
    assert np.array_equal(memory, disk)
    assert np.allclose(memory, trained, rtol=1e-3, atol=1e-3)
    reports = [json.loads(run("evaluate", name, "a.scores", "--json").stdout) for name in ("a.txt", "a.mrd")]
    assert reports[0] == reports[1]
    assert run("compare", "a.mrd", "a.scores", "b.scores").stdout


def test_weights_pairs_and_the_search_for_alpha(rows):
    with open("w", "w") as file:
        file.write("".join(f"{1 + k % 3}\n" for k in range(400)))
    with open("p.csv", "w") as file:
        file.write("winner,loser\n" + "".join(f"{k},{k + 10}\n" for k in range(0, 380, 7)))
    for options in (["--weights", "w"], ["--pairs", "p.csv", "--pairs-by", "row"]):
        found = [
            json.loads(run("train", name, "-o", "m.mrk", "--json", *options).stdout)["objective"]
            for name in ("a.txt", "a.mrd")
        ]
        assert found[0] == pytest.approx(found[1], rel=1e-9)
    tables = [
        json.loads(run("tune", name, "--alphas", "1e-3:1:3", "--cv", "3", "--json").stdout)["search"]
        for name in ("a.txt", "a.mrd")
    ]
    assert [row["mean"] for row in tables[0]] == pytest.approx([row["mean"] for row in tables[1]], abs=5e-3)


@pytest.mark.filterwarnings("default:The data end at feature 3")
@pytest.mark.parametrize(("width", "fits"), [(3, True), (6, False)])
def test_validation_rows_of_another_width(rows, width, fits):
    wide = np.ones((400, width))
    dump_letor(RankingData(wide, rows.y, qid=rows.qid), "v.txt")
    run("convert", "v.txt", "v.mrd", "--chunk-rows", "60")
    if not fits:
        with pytest.raises(DataError, match=r"does not know \(it has 4\): 5, 6\. Use --ignore-unknown"):
            run("train", "a.mrd", "-o", "m.mrk", "--validate", "v.mrd")
        run("train", "a.mrd", "-o", "m.mrk")
        with pytest.raises(DataError, match=r"does not know \(it has 4\): 5, 6\."):
            run("predict", "m.mrk", "v.mrd")
    reports = [
        json.loads(
            run("train", "a.mrd", "-o", "m.mrk", "--validate", name, "--ignore-unknown", "--json").stdout
        )
        for name in ("v.txt", "v.mrd")
    ]
    assert reports[0]["validation"] == reports[1]["validation"]


def test_inspect_says_the_same_from_disk(rows):
    found = [json.loads(run("inspect", name, "--json").stdout) for name in ("a.txt", "a.mrd")]
    for report in found:
        report.pop("train_seconds")
        report.pop("search_seconds")
    assert found[1].pop("memory_bytes") > found[0].pop("memory_bytes")
    assert found[0] == found[1]


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["path", "a.mrd"], "path computes over data in memory"),
        (["train", "a.mrd", "-o", "m.mrk", "--kernel", "rbf"], "--kernel does not train over data on disk"),
        (["train", "a.mrd", "-o", "m.mrk", "--normalize", "query"], "not normalised within queries"),
        (["convert", "a.txt", "a.mrd"], "a.mrd is there already"),
        (["inspect", "b.mrd"], "b.mrd: expected a data set"),
        (["convert", "a.txt", "b.txt", "--chunk", "1MB"], r"--chunk is for data sets on disk \(.mrd\)"),
        (["convert", "a.txt", "b.mrd", "--chunk", "1XB"], "expected a size, such as 64MB"),
        (["inspect", "a.mrd", "--missing", "0"], "--missing is for LETOR text and tables"),
    ],
)
def test_what_cannot_be_is_said(rows, arguments, sentence):
    with pytest.raises(Exception, match=sentence):
        run(*arguments)


STOPPING = """
import os, signal, sys, marginrank.cli as c
from marginrank.io import letor
from marginrank.storage import row_source
row_source._PIECE = 2000
parse = letor.LetorReading.parse
def stop(self, text, name, lines_before):
    if lines_before > 250:
        os.kill(os.getpid(), signal.{signal})
    return parse(self, text, name, lines_before)
letor.LetorReading.parse = stop
sys.exit(c.main(sys.argv[1:]))
"""


@pytest.mark.parametrize("signal", ["SIGINT", "SIGKILL"])
def test_a_conversion_that_was_stopped_goes_on(rows, cli, signal):
    command = ["convert", "a.txt", "b.mrd", "--chunk-rows", "60"]
    code = STOPPING.format(signal=signal)
    done = subprocess.run(
        [sys.executable, "-c", code, *command], capture_output=True, text=True, timeout=HANG
    )
    if signal == "SIGINT":
        assert done.returncode == 130
        assert done.stderr.strip() == (
            "Interrupted; what was written is kept (4 chunks). To go on there, give the same command with "
            "--resume."
        )
    assert not os.path.exists("b.mrd")
    refused = cli(*command)
    assert refused.returncode == 1
    assert refused.stderr == (
        "Error: b.mrd was begun before and not finished; give --resume to go on with it, or --overwrite to "
        "start anew.\n"
    )
    assert cli(*command, "--resume").returncode == 0
    for name in os.listdir("a.mrd"):
        with open(f"a.mrd/{name}", "rb") as a, open(f"b.mrd/{name}", "rb") as b:
            assert a.read() == b.read()


def test_tables_keep_their_names_on_disk(rows):
    pytest.importorskip("pyarrow")
    named = RankingData(rows.X, rows.y, qid=rows.qid, feature_names=list("abcd"))
    dump_table(named, "n.parquet")
    run("convert", "n.parquet", "n.mrd", "--chunk-rows", "60")
    run("train", "n.mrd", "-o", "n.mrk")
    run("predict", "n.mrk", "n.mrd", "-o", "n.scores")
    run("predict", "n.mrk", "n.parquet", "-o", "p.scores")
    assert np.array_equal(np.loadtxt("n.scores"), np.loadtxt("p.scores"))
