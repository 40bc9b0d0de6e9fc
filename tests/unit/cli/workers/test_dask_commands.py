"""``--dask`` on the command line: the same scores and figures, sentences for what fails, and going on."""

import json
import os
import signal
import subprocess
import sys
import time
import warnings

import numpy as np
import pytest
from distributed import Client, LocalCluster

from limits import HANG
from marginrank import RankingData, RankingModel, RankSVM, dump_letor, load_letor, open_dataset, write_dataset
from marginrank.cli.app import cli as commands
from marginrank.cli.workers import connection
from marginrank.distributed import DaskRanker, predict
from marginrank.exceptions import MarginRankError
from marginrank.io import dump_table
from marginrank.metrics import evaluate
from shell import shell


@pytest.fixture(scope="module")
def client():
    """Two worker processes with an address, as a scheduler elsewhere would have one."""
    with (
        LocalCluster(
            n_workers=2, threads_per_worker=1, processes=True, dashboard_address="127.0.0.1:0"
        ) as cluster,
        Client(cluster, set_as_default=False) as one,
    ):
        one.wait_for_workers(2, timeout=HANG)
        yield one


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Rows as text, as three files and as a data set, with validation rows and a model."""
    folder = tmp_path_factory.mktemp("dask")
    rng = np.random.default_rng(0)
    X = rng.normal(size=(360, 5)).round(2)
    y = np.digitize(X[:, 0] - X[:, 1] + rng.normal(size=360), [0.0, 1.0])
    comments = [f"docid = D{k}" for k in range(360)]
    data = RankingData(X, y, qid=np.arange(360) // 10, comments=comments)
    dump_letor(data, folder / "a.txt")
    for k in range(3):
        part = data.subset(np.arange(120 * k, 120 * k + 120))
        dump_letor(part, folder / f"part-{k}.txt")
        (folder / "lake" / f"day={k}").mkdir(parents=True)
        dump_table(part, folder / "lake" / f"day={k}" / "part.parquet", format="parquet")
    write_dataset(folder / "a.mrd", data, chunk_rows=100)
    write_dataset(folder / "narrow.mrd", X[:100, :4], y[:100], qid=data.qid[:100], chunk_rows=50)
    RankSVM(alpha=1e-2).fit(data).to_model().save(folder / "a.mrk")
    return folder


@pytest.fixture(autouse=True)
def _there(folder, monkeypatch):
    monkeypatch.chdir(folder)


@pytest.fixture(name="dask")
def address(client):
    return ["--dask", client.scheduler.address, "--timeout", str(HANG)]


def run(*arguments):
    """Run a command in this process and return what it prints."""
    done = shell().invoke(commands, list(map(str, arguments)), catch_exceptions=False)
    assert done.exit_code == 0, done.output
    return done.stdout


def refused(*arguments):
    """Return the sentence of a command that is refused."""
    done = shell().invoke(commands, list(map(str, arguments)))
    assert done.exit_code in (1, 2), done.output
    return done.stderr.removeprefix("Error: ")


PARTS = ["part-0.txt", "part-1.txt", "part-2.txt"]


@pytest.mark.parametrize("source", [["a.mrd"], PARTS, ["lake"]], ids=["data set", "files", "folder"])
def test_scores_and_figures_are_those_without_workers(source, dask, tmp_path):
    run("predict", "a.mrk", "a.txt", "-o", tmp_path / "here")
    run("predict", "a.mrk", *source, "-o", tmp_path / "there", *dask)
    assert (tmp_path / "there").read_bytes() == (tmp_path / "here").read_bytes()
    wanted = ["-m", "ndcg@10", "-m", "map", "--flavor", "trec", "--json"]  # ties by document id
    here = run("evaluate", "a.txt", tmp_path / "here", *wanted)
    assert run("evaluate", *source, tmp_path / "here", *wanted, *dask) == here
    assert run("evaluate", *source, "a.mrk", *wanted, *dask) == here
    assert run("evaluate", "a.txt", "a.mrk", *wanted) == here


def test_models_that_normalise_or_have_names_score_on_workers(client, tmp_path):
    rows = open_dataset("a.mrd").in_memory()
    normalising = RankingModel([1.0, 2.0, 3.0, 4.0, 5.0], query_normalization="minmax")
    assert np.array_equal(predict(normalising, "a.mrd", client), normalising.predict(rows))
    named = RankingModel([2.0, 1.0], feature_names=["d", "b"])
    write_dataset(tmp_path / "n.mrd", RankingData(rows.X, rows.y, qid=rows.qid, feature_names=list("abcde")))
    assert np.array_equal(predict(named, tmp_path / "n.mrd", client), named.predict(rows.X[:, [3, 1]]))
    write_dataset(tmp_path / "one.mrd", rows.X, rows.y, chunk_rows=100)
    with pytest.raises(MarginRankError, match="one ranking in several chunks"):
        predict(normalising, tmp_path / "one.mrd", client)


@pytest.mark.parametrize("source", [["a.mrd"], PARTS, ["lake"]], ids=["data set", "files", "folder"])
def test_training_reaches_the_optimum_of_the_plain_one(source, dask, tmp_path):
    options = ["--alpha", "1e-2", "--tol", "1e-6", "--json", "--validate"]
    here = json.loads(run("train", "a.txt", "-o", tmp_path / "here.mrk", *options, "a.txt"))
    there = json.loads(run("train", *source, "-o", tmp_path / "there.mrk", *options, "narrow.mrd", *dask))
    assert there["objective"] == pytest.approx(here["objective"], rel=2e-6)
    assert [there[key] for key in ("rows", "queries", "pairs", "workers", "workers_left", "repeated")] == [
        *(here[key] for key in ("rows", "queries", "pairs")),
        2,
        2,
        0,
    ]
    # Of the validation rows the last feature is missing, so it is 0.
    narrow, model = open_dataset("narrow.mrd").in_memory(), RankingModel.load(tmp_path / "there.mrk")
    scores = model.predict(np.column_stack([narrow.X, np.zeros(100)]))
    assert there["validation"]["metrics"] == dict(
        evaluate(narrow.y, scores, qid=narrow.qid, metrics=["ndcg@10"])
    )


@pytest.mark.parametrize("source", [["a.mrd"], PARTS], ids=["data set", "files"])
def test_offsets_go_over_workers(source, dask, tmp_path):
    offset = np.random.default_rng(1).normal(size=360)
    held = np.random.default_rng(2).normal(size=100)
    np.savetxt(tmp_path / "offset", offset, fmt="%.17g")
    np.savetxt(tmp_path / "held", held, fmt="%.17g")
    options = ["--alpha", "1e-2", "--tol", "1e-6", "--json", "--offset", tmp_path / "offset"]
    here = json.loads(run("train", "a.txt", "-o", tmp_path / "here.mrk", *options))
    given = ["--validate", "narrow.mrd", "--eval-offset", tmp_path / "held", "-m", "ndcg@10"]
    there = json.loads(run("train", *source, "-o", tmp_path / "there.mrk", *options, *given, *dask))
    assert there["objective"] == pytest.approx(here["objective"], rel=2e-6)
    plain = json.loads(run("train", "a.txt", "-o", tmp_path / "plain.mrk", *options[:-2]))
    assert abs(plain["objective"] / here["objective"] - 1.0) > 1e-3  # so the offset does count
    # Validation scores are on top of the offset.
    narrow, model = open_dataset("narrow.mrd").in_memory(), RankingModel.load(tmp_path / "there.mrk")
    scores = np.pad(narrow.X, ((0, 0), (0, 1))) @ model.coef + held
    wanted = evaluate(narrow.y, scores, qid=narrow.qid, metrics=["ndcg@10"])
    assert there["validation"]["metrics"]["ndcg@10"] == pytest.approx(wanted["ndcg@10"], abs=1e-9)


def test_a_column_as_offset_is_refused_on_workers(dask, tmp_path):
    sentence = refused("train", "a.mrd", "-o", tmp_path / "m.mrk", "--offset", "1", *dask)
    assert "--offset of data on disk must be a file with one score a line." in sentence


def test_weights_pairs_and_methods_go_over_workers(dask, tmp_path):
    (tmp_path / "w").write_text("".join(f"{1 + k % 3}\n" for k in range(360)))
    (tmp_path / "p.csv").write_text("".join(f"D{k},D{k + 200}\n" for k in range(100)))
    files = [["--weights", tmp_path / "w"], ["--pairs", tmp_path / "p.csv"]]
    for more in (*files, ["--target", "ndcg@10"], ["--method", "rankrls", "--alpha", "auto", "--cv", "2"]):
        options = ["--tol", "1e-3", *more, "--json", "-o", tmp_path / "m.mrk"]
        here, there = run("train", "a.txt", *options), run("train", "a.mrd", *options, *dask)
        assert json.loads(there)["objective"] == pytest.approx(json.loads(here)["objective"], rel=2e-3)
        assert json.loads(there)["alpha"] == json.loads(here)["alpha"]


def test_options_of_reading_reach_the_workers(dask, tmp_path):
    text = "".join(f"{k % 2} qid:{k // 4} 0:{k % 3} 1:NULL\n" for k in range(16)).encode()
    (tmp_path / "z.txt").write_bytes(text)
    RankingModel([1.0, 5.0]).save(tmp_path / "z.mrk")
    reading = ["--zero-based", "--missing", "7"]
    got = run("predict", tmp_path / "z.mrk", tmp_path / "z.txt", *reading, *dask)
    assert [float(line) for line in got.split()] == [k % 3 + 35.0 for k in range(16)]


@pytest.mark.parametrize("names", [None, ["age", "price"]])
def test_values_in_other_units_are_warned_of_by_workers_too(dask, tmp_path, names):
    X = np.random.default_rng(0).random((60, 2)) + 0.1
    RankSVM(alpha=0.01).fit(RankingData(X, X @ [1.0, 2.0], feature_names=names)).save(tmp_path / "m.mrk")
    for values, word in ((900.0, "far outside of what the model was trained on"), (0.0, "nothing but 0 in")):
        rows = np.full((40, 2), 0.5)
        rows[:, 1] = values
        rows[-1, 0] = 0.4
        data = RankingData(rows, np.arange(40), qid=np.repeat(np.arange(10), 4), feature_names=names)
        write_dataset(tmp_path / f"{values}.mrd", data, chunk_rows=12)
        assert open_dataset(tmp_path / f"{values}.mrd").n_chunks > 1
        command = ["predict", tmp_path / "m.mrk", tmp_path / f"{values}.mrd", "-o", tmp_path / "scores"]
        with warnings.catch_warnings():
            warnings.simplefilter("always")
            here, there = (
                shell().invoke(commands, [*map(str, command), *more]).stderr for more in ([], dask)
            )
        assert word in there
        assert there == here


def test_features_that_the_model_does_not_know(dask, tmp_path):
    RankingModel([1.0, 2.0]).save(tmp_path / "two.mrk")
    command = ["predict", tmp_path / "two.mrk", "a.mrd"]
    sentence = refused(*command, *dask)
    assert sentence == refused(*command)
    assert "does not know (it has 2): 3, 4, 5. Use --ignore-unknown" in sentence
    assert run(*command, *dask, "--ignore-unknown") == run(*command, "--ignore-unknown")


@pytest.mark.parametrize("stopped_by", ["SIGINT", "SIGTERM"])
def test_a_training_that_a_signal_stops_goes_on(dask, tmp_path, stopped_by):
    """Ctrl-C, and what SLURM and Kubernetes send before they kill."""
    command = ["train", "a.mrd", "--alpha", "1e-2", "--tol", "1e-3", "--solver", "bundle", *dask]
    run(*command, "-o", tmp_path / "whole.mrk", "--checkpoint", tmp_path / "whole")
    size = os.path.getsize(tmp_path / "whole")
    interrupting = (
        "import os, signal, sys, marginrank.distributed.journal as j, marginrank.cli as c\n"
        "write = j.Journal._write\n"
        "def stop(journal, record):\n"
        "    write(journal, record)\n"
        f"    if journal._number == 5: os.kill(os.getpid(), signal.{stopped_by})\n"
        "j.Journal._write = stop\n"
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"
        "sys.exit(c.main(sys.argv[1:]))\n"
    )
    journal = tmp_path / "stopped"
    arguments = [*command, "-o", str(tmp_path / "m.mrk"), "--checkpoint", str(journal)]
    done = subprocess.run(
        [sys.executable, "-c", interrupting, *arguments], capture_output=True, text=True, timeout=HANG
    )
    assert (done.returncode, done.stdout, done.stderr.lstrip()) == (
        {"SIGINT": 130, "SIGTERM": 143}[stopped_by],
        "",
        "Interrupted; no model was written. To go on there, give the same command with --resume "
        f"{journal} in place of --checkpoint.\n",
    )
    assert not (tmp_path / "m.mrk").exists()
    assert 0 < os.path.getsize(journal) < size
    assert "there is a checkpoint already. Go on from it with --resume" in refused(*arguments)
    other = [*command, "-o", tmp_path / "m.mrk", "--resume", journal, "--loss", "squared_hinge"]
    assert "other parameters. Train as then, or without --resume" in refused(*other)
    run(*command, "-o", tmp_path / "m.mrk", "--resume", journal)
    found, whole = (RankingModel.load(tmp_path / name).coef for name in ("m.mrk", "whole.mrk"))
    assert np.array_equal(found, whole)
    assert os.path.getsize(journal) == size


def test_processes_of_this_machine_need_no_configuration(tmp_path):
    said = run("train", *PARTS, "-o", tmp_path / "m.mrk", "--dask", "local:1")
    assert "trained on  360 rows, 36 queries" in said
    assert "over        1 worker\n" in said
    assert RankingModel.load(tmp_path / "m.mrk").n_features == 5


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["a.mrd", "--dask", "somewhere"], "such as tcp://host:8786, or local, or local:2; got 'somewhere'"),
        (["a.mrd", "--dask", "local:0"], "got 'local:0'"),
        (["a.mrd", "--dask", "local", "--kernel", "rbf"], "trains the linear methods: ranksvm, rankrls and"),
        (["a.mrd", "--dask", "local", "--method", "rankrls", "--solver", "direct"], "use cg, or auto"),
        (["a.mrd", "--dask", "local", "--normalize", "query"], "needs the rows in memory"),
        (["a.mrd", "--dask", "local", "--checkpoint", "a", "--resume", "b"], "give one of the two"),
        (["a.mrd", "--dask", "local", "--resume", "none"], "none: there is no checkpoint to go on from"),
        (["a.mrd", "--checkpoint", "c"], "--checkpoint is for --dask"),
        (["a.mrd", "--timeout", "3"], "--timeout is for --dask"),
        (["a.mrd", "part-1.txt"], "a.mrd: an .mrd folder stands alone"),
        (
            ["a.mrd", "--dask", "local", "--alpha", "auto", "--validate", "a.mrd", "--refit"],
            "leave out --dask",
        ),
        (["-", "--dask", "local"], "Workers cannot read standard input"),
        (["none.mrd", "--dask", "local"], "none.mrd: No such file"),
        (
            ["a.mrd", "--dask", "tcp://127.0.0.1:9", "--timeout", "0.5"],
            "No Dask scheduler answered at tcp://127.0.0.1:9 within 0.5 seconds.",
        ),
    ],
)
def test_what_cannot_work_is_one_sentence(arguments, sentence):
    assert sentence in " ".join(refused("train", *arguments, "-o", "m.mrk").split())


def test_what_workers_cannot_use_is_one_sentence(dask):
    assert "stands alone" in refused("train", "a.mrd", "part-0.txt", "-o", "m.mrk", *dask)
    twice = refused("train", "part-0.txt", "part-0.txt", "-o", "m.mrk", *dask)
    assert "a query must be in one file. If it is the same query, put the files into one" in twice
    missing = refused("train", "part-0.txt", "nowhere.txt", "-o", "m.mrk", *dask)
    assert "nowhere.txt: a worker finds no such file" in missing
    assert "--zero-based is for LETOR text" in refused("predict", "a.mrk", "a.mrd", "--zero-based", *dask)


def test_a_data_set_that_workers_do_not_see(dask, tmp_path, monkeypatch):
    monkeypatch.setattr(
        "marginrank.distributed.disk_chunks.Path.absolute", lambda path: tmp_path / "elsewhere"
    )
    sentence = refused("train", "a.mrd", "-o", tmp_path / "m.mrk", *dask)
    assert "elsewhere: a worker finds nothing there. Workers on other machines need the data set" in sentence


def test_without_dask_the_sentence_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "distributed", None)
    sentence = refused("train", "a.mrd", "-o", "m.mrk", "--dask", "local")
    assert sentence.startswith("--dask needs dask[distributed]; install it")
    assert "pip install 'marginrank[dask]'" in sentence


def test_a_scheduler_without_workers_is_waited_for_and_told_of(monkeypatch):
    monkeypatch.setattr(connection, "_FIRST_WORKER", 1.0)  # nobody comes within any number of seconds
    with LocalCluster(n_workers=0, processes=True, dashboard_address="127.0.0.1:0") as empty:
        waiting = ["--dask", empty.scheduler_address, "--timeout", str(HANG)]
        sentence = refused("predict", "a.mrk", "a.mrd", *waiting)
    assert "has no workers, and none came within 1 seconds. Start some: dask worker" in sentence


def test_a_warm_start_begins_where_the_last_training_ended(client):
    cold = DaskRanker(RankSVM(alpha=1e-2, tol=1e-4, warm_start=True), client, timeout=HANG)
    first = cold.fit("a.mrd").estimator_
    again = cold.fit("a.mrd").estimator_
    assert again.n_passes_ < first.n_passes_
    from_sample = RankSVM(alpha=1e-2, tol=1e-4, warm_start=True).fit(load_letor("a.txt"))
    begun = DaskRanker(from_sample, client, timeout=HANG).fit("a.mrd").estimator_
    assert begun.n_passes_ < first.n_passes_
    assert begun.objective_ == pytest.approx(first.objective_, rel=2e-4)


def test_a_ranker_measures_on_workers(client):
    ranker = DaskRanker(RankSVM(alpha=1e-2), client, timeout=HANG).fit("a.mrd")
    data = load_letor("a.txt")
    found = ranker.evaluate("a.mrd", metrics=["ndcg@5", "map"], flavor="letor")
    expected = evaluate(
        data.y, ranker.estimator_.predict(data), qid=data.qid, metrics=["ndcg@5", "map"], flavor="letor"
    )
    assert dict(found) == dict(expected)
    with pytest.raises(MarginRankError, match="Put it into a list, and each file becomes a chunk"):
        ranker.evaluate("a.txt")
    with pytest.raises(MarginRankError, match=r"a\.mrd: a data set on disk stands alone"):
        ranker.evaluate(["a.mrd", "a.txt"])


def test_ctrl_c_reaches_processes_of_this_machine_too(tmp_path):
    """A terminal sends it to all of them; none is left behind, and one sentence is all there is."""
    journal = tmp_path / "journal"
    endless = ["--alpha", "1e-7", "--tol", "1e-12", "--solver", "bundle", "--max-iter", "100000"]
    command = ["train", "a.mrd", "-o", str(tmp_path / "m.mrk"), *endless]
    command += ["--dask", "local:1", "--checkpoint", str(journal)]
    code = "import signal, sys; signal.signal(signal.SIGINT, signal.default_int_handler)\n"
    code += "if __name__ == '__main__': import marginrank.cli as c; sys.exit(c.main(sys.argv[1:]))"
    process = subprocess.Popen(
        [sys.executable, "-c", code, *command], stderr=subprocess.PIPE, text=True, start_new_session=True
    )
    deadline = time.monotonic() + HANG
    while not (journal.exists() and journal.stat().st_size > 3000) and time.monotonic() < deadline:
        assert process.poll() is None, process.stderr.read()
        time.sleep(0.02)
    os.killpg(process.pid, signal.SIGINT)
    _, errors = process.communicate(timeout=HANG)
    assert process.returncode == 130
    assert errors.lstrip() == (
        "Interrupted; no model was written. To go on there, give the same command with --resume "
        f"{journal} in place of --checkpoint.\n"
    )
    while _is_there(process.pid) and time.monotonic() < deadline + HANG:
        time.sleep(0.05)
    assert not _is_there(process.pid)


def _is_there(group):
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return False
    return True
