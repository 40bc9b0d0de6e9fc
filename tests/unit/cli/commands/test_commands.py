"""The command line, run as a process on real files."""

import csv
import json
import os
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

from limits import HANG
from marginrank import RankingData, RankingModel, RankSVM, dump_letor, load_letor
from marginrank.metrics import evaluate

BAD_DATA, BAD_USAGE, INTERRUPTED = 1, 2, 130


def run(*arguments, cwd, text=None, warning="error"):
    return subprocess.run(
        [sys.executable, "-W", warning, "-m", "marginrank", *map(str, arguments)],
        cwd=cwd,
        input=text,
        capture_output=True,
        text=True,
        timeout=HANG,
    )


def ok(*arguments, cwd, text=None):
    done = run(*arguments, cwd=cwd, text=text)
    assert done.returncode == 0, done.stderr
    return done.stdout


def write(path, n_queries, seed, n_features=6):
    rng = np.random.default_rng(seed)
    qid = np.repeat([f"q{k}" for k in range(n_queries)], 15)
    X = rng.normal(size=(len(qid), n_features)).round(3)
    y = np.digitize(X[:, 0] - X[:, 1] + rng.normal(size=len(qid)), [-0.5, 1.0])
    dump_letor(RankingData(X, y, qid=qid), path)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("cli")
    write(folder / "train.txt", 40, 0)
    write(folder / "vali.txt", 12, 1)
    write(folder / "test.txt", 12, 2)
    ok("train", "train.txt", "-o", "model.mrk", "--alpha", "1e-3", cwd=folder)
    ok("predict", "model.mrk", "test.txt", "-o", "a.scores", cwd=folder)
    return folder


def test_train_and_predict_equal_the_library(folder):
    train, test = load_letor(folder / "train.txt"), load_letor(folder / "test.txt")
    expected = RankSVM(alpha=1e-3).fit(train).predict(test)
    scores = np.loadtxt(folder / "a.scores")
    assert np.array_equal(scores, expected)
    assert np.array_equal(RankingModel.load(folder / "model.mrk").coef, RankSVM(alpha=1e-3).fit(train).coef_)


def test_train_reports_on_the_validation_file(folder):
    arguments = ["train", "train.txt", "-o", "v.mrk", "--validate", "vali.txt"]
    report = json.loads(ok(*arguments, "-m", "ndcg@10", "--json", cwd=folder))
    vali = load_letor(folder / "vali.txt")
    scores = RankingModel.load(folder / "v.mrk").predict(vali.X)
    expected = evaluate(vali.y, scores, qid=vali.qid, metrics=["ndcg@10"])["ndcg@10"]
    assert report["validation"]["metrics"]["ndcg@10"] == expected
    assert report["gap"] <= 1e-3
    text = ok(*arguments, cwd=folder)
    assert "certified within" in text
    assert "ndcg@10" in text
    assert max(map(len, text.splitlines())) <= 80


def test_evaluate_prints_means_and_writes_each_query(folder):
    test, scores = load_letor(folder / "test.txt"), np.loadtxt(folder / "a.scores")
    expected = evaluate(test.y, scores, qid=test.qid, metrics=["ndcg@10", "map"])
    out = ok(
        "evaluate", "test.txt", "a.scores", "-m", "ndcg@10", "-m", "map", "--per-query", "q.csv", cwd=folder
    )
    assert f"{expected['ndcg@10']:.4f}" in out
    with open(folder / "q.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    assert [row["qid"] for row in rows] == list(dict.fromkeys(test.qid))
    assert [float(row["ndcg@10"]) for row in rows] == expected.per_query["ndcg@10"].tolist()


def test_compare_finds_the_better_scores(folder):
    rng = np.random.default_rng(0)
    (folder / "b.scores").write_text("".join(f"{s}\n" for s in rng.normal(size=180)))
    found = json.loads(ok("compare", "test.txt", "a.scores", "b.scores", "--json", cwd=folder))
    assert found
    text = ok("compare", "test.txt", "a.scores", "b.scores", cwd=folder)
    assert max(map(len, text.splitlines())) <= 80


def test_inspect_counts(folder):
    found = json.loads(ok("inspect", "train.txt", "--json", cwd=folder))
    data = load_letor(folder / "train.txt")
    assert (found["n_rows"], found["n_queries"], found["n_pairs"]) == (600, 40, data.count_pairs())
    assert "pairs that count" in ok("inspect", "train.txt", cwd=folder)


def test_convert_there_and_back_keeps_everything(folder):
    ok("convert", "train.txt", "train.npz", cwd=folder)
    ok("convert", "train.npz", "back.txt", cwd=folder)
    assert (folder / "back.txt").read_bytes() == (folder / "train.txt").read_bytes()


def test_streams_take_the_place_of_files(folder):
    text = (folder / "test.txt").read_text()
    out = ok("predict", "model.mrk", "-", cwd=folder, text=text)
    assert out == (folder / "a.scores").read_text()


def test_pairs_by_row_number(folder):
    data = load_letor(folder / "train.txt")
    (folder / "pairs.csv").write_text("winner,loser,weight\n0,1,1.0\n5,2,2.0\n7,9,0.5\n")
    ok("train", "train.txt", "--pairs", "pairs.csv", "-o", "p.mrk", cwd=folder)
    expected = RankSVM().fit_pairs(data.X, [[0, 1], [5, 2], [7, 9]], weight=[1.0, 2.0, 0.5])
    assert np.array_equal(RankingModel.load(folder / "p.mrk").coef, expected.coef_)


@pytest.fixture
def documents(folder):
    """Write rows whose comments give document ids, some of which look like row numbers."""
    data = load_letor(folder / "train.txt").subset(range(30))
    for name, ids in (("named.txt", [f"D{k}" for k in range(30)]), ("numbered.txt", range(29, -1, -1))):
        dump_letor(data, folder / name, comments=[f"docid = {k}" for k in ids])
    (folder / "ids.csv").write_text("D0,D1\nD5,D2\n")
    (folder / "numbers.csv").write_text("0,1\n5,2\n")
    (folder / "prefer.pairs").write_text("D0,D1\nD5,D2\n")
    return data


@pytest.mark.parametrize(
    ("rows", "pairs", "options"),
    [
        ("named.txt", "ids.csv", []),
        ("named.txt", "numbers.csv", []),
        ("numbered.txt", "numbers.csv", ["--pairs-by", "row"]),
    ],
)
def test_pairs_by_document_id_or_row_number(folder, documents, rows, pairs, options):
    ok("train", rows, "--pairs", pairs, *options, "-o", "d.mrk", cwd=folder)
    expected = RankSVM().fit_pairs(documents.X, [[0, 1], [5, 2]])
    assert np.array_equal(RankingModel.load(folder / "d.mrk").coef, expected.coef_)


def test_pairs_that_can_be_read_both_ways_are_asked_about(folder, documents):
    done = run("train", "numbered.txt", "--pairs", "numbers.csv", "-o", "x.mrk", cwd=folder)
    assert done.returncode == BAD_DATA
    assert "--pairs-by" in done.stderr
    ok("train", "numbered.txt", "--pairs", "numbers.csv", "--pairs-by", "docid", "-o", "d.mrk", cwd=folder)
    expected = RankSVM().fit_pairs(documents.X, [[29, 28], [24, 27]])
    assert np.array_equal(RankingModel.load(folder / "d.mrk").coef, expected.coef_)


def test_pairs_of_normalised_rows_are_normalised_by_query(folder, documents):
    ok("train", "named.txt", "--pairs", "ids.csv", "--normalize", "query", "-o", "d.mrk", cwd=folder)
    expected = RankSVM().fit_pairs(documents.normalized_by_query().X, [[0, 1], [5, 2]])
    assert np.array_equal(RankingModel.load(folder / "d.mrk").coef, expected.coef_)


def test_document_ids_break_ties_in_trec_flavor(folder, documents):
    (folder / "d.scores").write_text("1.0\n" * 30)
    arguments = ["evaluate", "named.txt", "d.scores", "-m", "ndcg@10", "--flavor", "trec", "--json"]
    found = json.loads(ok(*arguments, cwd=folder))
    ids = [f"D{k}" for k in range(30)]
    expected = evaluate(documents.y, np.ones(30), qid=documents.qid, flavor="trec", docid=ids)
    assert found["metrics"]["ndcg@10"] == expected["ndcg@10"]


def test_columns_of_tables_are_found_by_name(folder):
    ok("convert", "test.txt", "test.csv", cwd=folder)
    lines = (folder / "test.csv").read_text().splitlines()
    ok("train", "test.csv", "-o", "named.mrk", cwd=folder)
    reordered = "".join(",".join(reversed(line.split(","))) + "\n" for line in lines)
    (folder / "reversed.csv").write_text(reordered)
    first, second = (ok("predict", "named.mrk", name, cwd=folder) for name in ("test.csv", "reversed.csv"))
    assert first == second


def test_convert_says_what_the_format_cannot_hold(folder, documents):
    ok("convert", "prefer.pairs", "prefer.npz", "--data", "named.txt", cwd=folder)
    done = run("convert", "prefer.npz", "named.csv", cwd=folder)
    assert done.returncode == 0
    assert "Warning: csv files cannot hold pairs; left out." in done.stderr
    assert "cannot hold" not in run("convert", "named.txt", "named.csv", cwd=folder).stderr


def test_convert_writes_to_standard_output(folder):
    assert ok("convert", "test.txt", "-", "--to", "letor", cwd=folder) == (folder / "test.txt").read_text()


def test_row_weights_come_from_a_file(folder):
    data = load_letor(folder / "train.txt")
    weight = np.arange(data.n_rows) % 3
    (folder / "w.txt").write_text("".join(f"{w}\n" for w in weight))
    ok("train", "train.txt", "--weights", "w.txt", "-o", "w.mrk", cwd=folder)
    expected = RankSVM().fit(data.X, data.y, qid=data.qid, sample_weight=weight)
    assert np.array_equal(RankingModel.load(folder / "w.mrk").coef, expected.coef_)


def test_query_normalisation_is_remembered(folder):
    ok("train", "train.txt", "-o", "n.mrk", "--normalize", "query", cwd=folder)
    scores = [float(line) for line in ok("predict", "n.mrk", "test.txt", cwd=folder).split()]
    train, test = (load_letor(folder / name).normalized_by_query() for name in ("train.txt", "test.txt"))
    assert np.allclose(scores, RankSVM().fit(train).predict(test), rtol=1e-12)


def test_narrow_and_wide_files(folder):
    write(folder / "wide.txt", 3, 5, n_features=8)
    write(folder / "narrow.txt", 3, 5, n_features=4)
    narrow = run("predict", "model.mrk", "narrow.txt", cwd=folder, warning="default")
    assert (narrow.returncode, len(narrow.stdout.split())) == (0, 45)
    assert narrow.stderr.startswith(
        "Warning: The data end at feature 4, and the model knows 6: 5, 6 count as 0"
    )
    refused = run("predict", "model.mrk", "wide.txt", cwd=folder)
    assert refused.returncode == BAD_DATA
    assert "--ignore-unknown" in refused.stderr or "ignore_unknown" in refused.stderr
    assert len(ok("predict", "model.mrk", "wide.txt", "--ignore-unknown", cwd=folder).split()) == 45


@pytest.mark.parametrize(
    ("arguments", "code", "sentence"),
    [
        (["train", "missing.txt", "-o", "x.mrk"], BAD_DATA, "missing.txt"),
        (["train", "broken.txt", "-o", "x.mrk"], BAD_DATA, "broken.txt:2:"),
        (["train", "train.txt", "-o", "nowhere/x.mrk"], BAD_DATA, "nowhere"),
        (["train", "train.txt", "-o", "x.mrk", "--alpha", "-1"], BAD_USAGE, "--alpha"),
        (["train", "train.txt", "-o", "x.mrk", "-m", "ndgc@10"], BAD_USAGE, "did you mean 'ndcg'"),
        (["train", "train.txt", "-o", "x.mrk", "--solver", "newton"], BAD_USAGE, "--loss squared_hinge"),
        (["train", "train.txt", "-o", "x.mrk", "-j", "0"], BAD_USAGE, "--jobs"),
        (["train", "train.txt", "-o", "-"], BAD_USAGE, "A model goes to a file"),
        (["train", "train.txt", "-o", "x.mrk", "--validate", "missing.txt"], BAD_DATA, "missing.txt"),
        (["train", "train.txt", "-o", "x.mrk", "--pairs", "p", "--weights", "w"], BAD_USAGE, "--weights"),
        (["convert", "train.txt", "-"], BAD_USAGE, "--to"),
        (["evaluate", "-", "-"], BAD_USAGE, "standard input"),
        (["evaluate", "test.txt", "binary.scores"], BAD_DATA, "binary.scores"),
        (["predict", "model.mrk", "test.txt", "-o", "nowhere/s"], BAD_DATA, "nowhere/s: No such file"),
        (["train", "train.txt"], BAD_USAGE, "--output"),
        (["train", "train.txt", "-o", "x.mrk", "--alpha", "lots"], BAD_USAGE, "lots"),
        (["fly"], BAD_USAGE, "fly"),
        (["predict", "train.txt", "test.txt"], BAD_DATA, "train.txt"),
        (["evaluate", "test.txt", "short.scores"], BAD_DATA, "one score for each of the 180 rows"),
        (
            ["evaluate", "test.txt", "junk.scores"],
            BAD_DATA,
            "junk.scores:2:1: expected one finite score, got",
        ),
    ],
)
def test_mistakes_get_one_sentence_and_their_exit_code(folder, arguments, code, sentence):
    (folder / "broken.txt").write_text("1 qid:1 1:0.5\n2 qid:1 1:x\n")
    (folder / "binary.scores").write_bytes(b"\xff\xfe\x00\x01")
    (folder / "short.scores").write_text("1\n2\n")
    (folder / "junk.scores").write_text("1\nseven\n")
    done = run(*arguments, cwd=folder)
    assert done.returncode == code
    assert sentence in done.stderr
    assert "Traceback" not in done.stderr
    assert not (folder / "x.mrk").exists()


def test_interrupted_prediction_writes_nothing(folder):
    lines = "".join(f"0 qid:1 1:{k % 97}.5 2:{k % 89}.25\n" for k in range(3_000_000))
    (folder / "endless.txt").write_text(lines)
    process = subprocess.Popen(
        [sys.executable, "-m", "marginrank", "predict", "model.mrk", "endless.txt", "-o", "never.scores"],
        cwd=folder,
        stderr=subprocess.PIPE,
        text=True,
    )
    deadline = time.monotonic() + HANG
    # The data are read once the module that does so is imported; look for it rather than guess a time.
    while "endless.txt" not in open_files(process.pid) and time.monotonic() < deadline:
        time.sleep(0.005)
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=HANG)
    assert process.returncode == INTERRUPTED, errors
    assert not (folder / "never.scores").exists()
    assert not [name for name in os.listdir(folder) if name.endswith(".tmp")]


def open_files(pid):
    try:
        return " ".join(os.readlink(f"/proc/{pid}/fd/{fd}") for fd in os.listdir(f"/proc/{pid}/fd"))
    except OSError:
        return ""


def test_every_command_has_help_with_an_example(folder):
    for command in ("train", "predict", "evaluate", "compare", "inspect", "convert"):
        text = ok(command, "--help", cwd=folder)
        assert f"marginrank {command}" in text
        assert "Example" in text


INTERRUPT_THE_THIRD_STEP = """
import os, signal, sys
from marginrank.cli import main
from marginrank.cli.output.progress import TrainingBar
steps = []
def step(self, state):
    steps.append(state)
    if len(steps) == 3:
        os.kill(os.getpid(), signal.SIGINT)
TrainingBar.__call__ = step
sys.exit(main(sys.argv[1:]))
"""


@pytest.mark.parametrize("method", [[], ["--kernel", "rbf"]], ids=["linear", "kernel"])
@pytest.mark.parametrize(("command", "kept"), [("train", "best model"), ("tune", "search")])
def test_a_search_by_folds_that_is_interrupted_keeps_a_model_too(folder, method, command, kept):
    second_alpha = INTERRUPT_THE_THIRD_STEP.replace("len(steps) == 3", "state.alpha < 0.5 and not done")
    second_alpha = second_alpha.replace("        os.kill", "        done.append(1)\n        os.kill")
    second_alpha = second_alpha.replace("steps = []", "steps, done = [], []")
    options = [*method, "--alphas", "0.1,1", "--cv", "2", "--keep-partial"]
    options += ["--alpha", "auto"] if command == "train" else []
    target = folder / f"folds-{len(method)}.mrk"
    done = subprocess.run(
        [sys.executable, "-c", second_alpha, command, "train.txt", "-o", target.name, *options],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=HANG,
    )
    assert done.returncode == INTERRUPTED, done.stderr
    assert done.stderr.strip().endswith(f"Interrupted; the {kept} so far is kept.")
    assert RankingModel.load(target).metadata["gap"] <= 1.0


@pytest.mark.parametrize("keep", [False, True])
def test_interrupted_training_leaves_no_half_written_model(folder, keep):
    target = folder / f"interrupted-{keep}.mrk"
    options = ["--tol", "1e-12", *(["--keep-partial"] if keep else [])]
    done = subprocess.run(
        [sys.executable, "-c", INTERRUPT_THE_THIRD_STEP, "train", "train.txt", "-o", target.name, *options],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=HANG,
    )
    assert done.returncode == INTERRUPTED, done.stderr
    assert done.stderr.strip().startswith("Interrupted; ")
    assert "Traceback" not in done.stderr
    assert target.exists() == keep
    assert not [name for name in os.listdir(folder) if name.endswith(".tmp")]
