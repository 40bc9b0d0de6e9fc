"""``marginrank convert`` between ranking data and the files about their rows."""

import io
import json
from contextlib import redirect_stderr, redirect_stdout
from typing import NamedTuple

import numpy as np
import pytest

from marginrank import RankingData, dump_letor, load_letor
from marginrank import io as mio
from marginrank.cli.app import cli as commands
from marginrank.cli.command import DataError
from marginrank.cli.files.conversion import FILE_KINDS

ROWS = b"""2 qid:q1 1:0.5 3:1.25 #docid = A inc = 1
0 qid:q1 2:-0.75 #docid = B
1 qid:q2 1:0.25 #docid = A
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "rows.txt").write_bytes(ROWS)
    return tmp_path


class Printed(NamedTuple):
    stdout: str
    stderr: str


def convert(*arguments):
    """Run the command in this process: the sentences are those of the exceptions."""
    # Not click's CliRunner, which keeps the two streams apart only as of click 8.2.
    with redirect_stdout(io.StringIO()) as out, redirect_stderr(io.StringIO()) as err:
        commands.main(["convert", *arguments], standalone_mode=False)
    return Printed(out.getvalue(), err.getvalue())


def test_labels_become_qrels_and_come_back(folder):
    convert("rows.txt", "a.qrels")
    assert (folder / "a.qrels").read_text() == "q1 0 A 2\nq1 0 B 0\nq2 0 A 1\n"
    (folder / "b.qrels").write_text("q2 0 A 7\nq1 0 B 5\nq1 0 A 6\n")
    convert("b.qrels", "b.txt", "--data", "rows.txt")
    assert load_letor(folder / "b.txt").y.tolist() == [6, 5, 7]


def test_rows_without_a_judgement_are_an_error_or_get_a_label(folder):
    (folder / "b.qrels").write_text("q1 0 A 6\nq1 0 X 1\n")
    with pytest.raises(DataError, match=r"got none for document 'B' of query 'q1' \(row 1, .*--unjudged"):
        convert("b.qrels", "b.txt", "--data", "rows.txt")
    done = convert("b.qrels", "b.txt", "--data", "rows.txt", "--unjudged", "0")
    assert load_letor(folder / "b.txt").y.tolist() == [6, 0, 0]
    assert "1 judgement is of documents that the data do not have" in done.stderr


def test_scores_become_a_run_and_come_back_in_the_order_of_the_rows(folder):
    (folder / "a.scores").write_text("0.5\n1.5\n-2.0\n")
    convert("a.scores", "a.run", "--data", "rows.txt", "--tag", "mine")
    assert (folder / "a.run").read_text() == "q1 Q0 B 1 1.5 mine\nq1 Q0 A 2 0.5 mine\nq2 Q0 A 1 -2 mine\n"
    convert("a.run", "b.scores", "--data", "rows.txt")
    assert (folder / "b.scores").read_text() == (folder / "a.scores").read_text()


def test_pairs_go_between_files_and_data_and_between_numbers_and_ids(folder):
    dump_letor(load_letor(ROWS).subset([0, 1]), folder / "two.txt")
    (folder / "p.csv").write_text("B,A,0.5\n")
    convert("p.csv", "p.npz", "--from", "pairs", "--data", "two.txt")
    stored = mio.read(folder / "p.npz")
    assert (stored.pairs.tolist(), stored.pair_weight.tolist(), stored.y.tolist()) == (
        [[1, 0]],
        [0.5],
        [2, 0],
    )
    convert("p.npz", "n.pairs")
    assert (folder / "n.pairs").read_text() == "winner,loser,weight\n1,0,0.5\n"
    convert("n.pairs", "d.pairs", "--data", "two.txt", "--write-pairs-by", "docid")
    assert (folder / "d.pairs").read_text() == "winner,loser,weight\nB,A,0.5\n"


def test_side_files_are_taken_out_and_put_in(folder):
    convert("rows.txt", "rows.txt.query")
    assert (folder / "rows.txt.query").read_text() == "2\n1\n"
    dump_letor(RankingData([[1.0], [2.0], [3.0]], y=[0, 1, 2]), folder / "bare.txt")
    convert("rows.txt.query", "grouped.npz", "--data", "bare.txt")
    (folder / "w.weight").write_text("1\n0.5\n2\n")
    convert("w.weight", "weighted.npz", "--data", "grouped.npz")
    found = mio.read(folder / "weighted.npz")
    assert (found.query_ptr.tolist(), found.sample_weight.tolist()) == ([0, 2, 3], [1, 0.5, 2])
    convert("weighted.npz", "v.weight")
    assert (folder / "v.weight").read_text() == "1\n0.5\n2\n"


@pytest.mark.parametrize("ending", ["npz", "csv", "csv.gz", "parquet", "txt.gz"])
def test_data_go_there_and_back_without_a_warning(folder, ending):
    convert("rows.txt", "plain.txt")
    there = convert("rows.txt", f"there.{ending}")
    back = convert(f"there.{ending}", "back.txt")
    assert (folder / "back.txt").read_bytes() == (folder / "plain.txt").read_bytes()
    assert "Warning" not in there.stderr + back.stderr


def test_every_kind_of_file_is_an_ending_or_a_format_of_the_library():
    assert set(mio.FORMATS) <= set(FILE_KINDS)
    assert all(known.endings for name, known in FILE_KINDS.items() if name not in mio.FORMATS)


@pytest.mark.parametrize(
    ("source", "destination", "sentence"),
    [
        ("p.pairs", "x.txt", "letor files cannot hold pairs; convert to one of npz, mrd, pairs"),
        ("a.scores", "x.qrels", "qrels files cannot hold scores; convert to one of run, scores"),
        ("a.scores", "x.npz", "npz files cannot hold scores"),
        ("w.weight", "x.txt", "letor files cannot hold row weights"),
        ("g.query", "x.npz", "The rows have query ids already"),
    ],
)
def test_what_the_source_is_about_is_never_left_out(folder, source, destination, sentence):
    (folder / "p.pairs").write_text("0,1\n")
    (folder / "a.scores").write_text("1\n2\n3\n")
    (folder / "w.weight").write_text("1\n2\n3\n")
    (folder / "g.query").write_text("2\n1\n")
    with pytest.raises(DataError, match=sentence):
        convert(source, destination, "--data", "rows.txt")
    assert not (folder / destination).exists()


@pytest.mark.parametrize("destination", ["x.run", "x.qrels"])
def test_trec_files_need_ids(folder, destination):
    rows = ROWS.replace(b"#docid = B", b"")
    (folder / "nameless.txt").write_bytes(rows)
    (folder / "a.scores").write_text("1\n2\n3\n")
    source = ["a.scores", destination, "--data", "nameless.txt"]
    with pytest.raises(DataError, match=r"row 1 \(counted from 0\) has no document id"):
        convert(*(source if destination == "x.run" else ["nameless.txt", destination]))


def test_what_is_lost_is_said_in_one_sentence(folder):
    weighted = RankingData(
        np.eye(2), y=[1, 0], sample_weight=[1, 2], qid=["a", "a"], feature_names=["u", "v"]
    )
    mio.write(weighted, folder / "w.npz")
    assert (
        "Warning: letor files cannot hold row weights, feature names; left out.\n"
        in convert("w.npz", "w.txt").stderr
    )
    done = convert("w.npz", "l.txt", "--to", "lightgbm", "--json")
    assert json.loads(done.stdout)["left_out"] == [
        "feature names",
        "the names of queries (their sizes are kept)",
    ]
