"""``marginrank path``: the paths of the library, what is chosen from them, and what is written."""

import csv
import json
import sys
from types import SimpleNamespace

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from marginrank import RankingData, RankingModel, dump_letor, load_letor
from marginrank.cli.app import run as command
from marginrank.cli.commands.path import path as path_command
from marginrank.cli.words import in_options
from marginrank.metrics import evaluate
from marginrank.paths import kernel_rank_path, rank_path, rank_rls_path, structured_rank_path
from marginrank.paths.certified_paths import _warn


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("path")
    rng = np.random.default_rng(0)
    for name in ("train.txt", "vali.txt"):
        X = rng.standard_normal((120, 4))
        y = np.digitize(X[:, 0] - X[:, 1] + rng.standard_normal(120), [0.0, 1.0])
        dump_letor(RankingData(X, y, qid=np.arange(120) // 8), folder / name)
    return folder


@pytest.fixture
def run(folder, capsys):
    endings = (".txt", ".mrk", ".csv", ".png", ".svg")

    def run(*arguments, code=0):
        paths = [str(folder / a) if a.endswith(endings) else a for a in arguments]
        assert command(["path", *paths]) == code
        said = capsys.readouterr()
        return said.out if code == 0 else said.err

    return run


def data(folder):
    return load_letor(folder / "train.txt"), load_letor(folder / "vali.txt")


@pytest.mark.parametrize(
    ("options", "function", "parameters"),
    [
        (["--eps", "1e-2", "--weighting", "queries"], rank_path, {"eps": 1e-2, "weighting": "queries"}),
        (
            ["--loss", "squared_hinge", "--alpha-max", "1", "--alpha-min", "1e-2", "--scale", "minmax"],
            rank_path,
            {"loss": "squared_hinge", "alpha_max": 1.0, "alpha_min": 1e-2, "scale": "minmax"},
        ),
        (["--method", "rankrls"], rank_rls_path, {}),
        (
            ["--target", "map", "--target", "mrr=2", "--eps", "1e-2"],
            structured_rank_path,
            {"target": {"map": 1.0, "mrr": 2.0}, "eps": 1e-2},
        ),
        (["--method", "structured", "--eps", "1e-2"], structured_rank_path, {"eps": 1e-2}),
        (["--l1-ratio", "0.9"], rank_path, {"l1_ratio": 0.9, "n_alphas": 40}),
        (
            ["--non-negative", "--bound", "2=:0", "--target", "map", "--eps", "1e-2"],
            structured_rank_path,
            {
                "bounds": {0: (0.0, None), 1: (None, 0.0), 2: (0.0, None), 3: (0.0, None)},
                "target": "map",
                "n_alphas": 40,
                "eps": 1e-2,
            },
        ),
    ],
)
def test_the_curve_and_the_choice_are_those_of_the_library(run, folder, options, function, parameters):
    report = json.loads(
        run("train.txt", *options, "--validate", "vali.txt", "-m", "ndcg@5", "--points", "40", "--json")
    )
    train, vali = data(folder)
    path = function(train, **parameters)
    expected = path.select(vali, metric="ndcg@5", n_alphas=40)
    curve = report["curve"]
    assert curve["alpha"] == expected.alphas.tolist()
    assert curve["value"] == expected.curve.tolist()
    assert curve["standard_error"] == expected.std.tolist()
    assert report["selection"]["alpha"] == expected.alpha
    assert curve["gap"] == [path.gap_at(a) for a in curve["alpha"]]
    assert max(curve["gap"]) == report["gap"] <= parameters.get("eps", 1e-3)


def test_the_model_that_is_written_has_the_figure_that_was_reported(run, folder):
    report = json.loads(
        run(
            "train.txt",
            "--validate",
            "vali.txt",
            "-m",
            "map",
            "--normalize",
            "query",
            "-o",
            "m.mrk",
            "--json",
        )
    )
    vali = data(folder)[1]
    model = RankingModel.load(folder / "m.mrk")
    scores = model.predict(vali.X, vali.qid)  # normalises by itself
    found = evaluate(vali.y, scores, qid=vali.qid, metrics=["map"])["map"]
    assert found == pytest.approx(report["selection"]["value"], abs=1e-12)
    assert model.metadata["alpha"] == report["selection"]["alpha"]


@pytest.mark.parametrize(
    ("options", "function", "parameters"),
    [
        ([], rank_path, {}),
        (["--method", "rankrls", "--scale", "standard"], rank_rls_path, {"scale": "standard"}),
        (["--target", "map"], structured_rank_path, {"target": "map"}),
        (["--kernel", "rbf", "--gamma", "0.2"], kernel_rank_path, {"gamma": 0.2}),
    ],
)
def test_without_validation_alpha_names_the_model_that_is_written(run, folder, options, function, parameters):
    run("train.txt", *options, "--alpha", "0.05", "-o", "n.mrk", "--points", "2")
    train, vali = data(folder)
    model = RankingModel.load(folder / "n.mrk")
    expected = function(train, **parameters).predict(vali, alpha=0.05)
    np.testing.assert_allclose(model.predict(vali), expected, atol=1e-10)
    assert (model.metadata["estimator"], model.metadata["alpha"]) == (function.__name__, 0.05)


def test_an_alpha_off_the_path_is_refused_before_anything_is_written(run, folder):
    said = run("train.txt", "--alpha", "1e9", "-o", "off.mrk", "--csv", "off.csv", code=1)
    assert "another --alpha-max or --alpha-min" in said
    assert not (folder / "off.mrk").exists()
    assert not (folder / "off.csv").exists()


def test_structured_paths_select_by_their_target(run):
    report = json.loads(run("train.txt", "--target", "map", "--validate", "vali.txt", "--json"))
    assert report["method"] == "structured"
    assert report["selection"]["metric"] == "map(rel=all,ties=average)"


def test_a_kernel_path_is_drawn_and_its_choice_written(run, folder):
    pytest.importorskip("matplotlib")
    report = json.loads(
        run("train.txt", "--kernel", "rbf", "--gamma", "0.2", "--validate", "vali.txt", "-m", "map",
            "--plot", "k.png", "-o", "k.mrk", "--points", "50", "--json")
    )  # fmt: skip
    assert (folder / "k.png").read_bytes().startswith(b"\x89PNG")
    vali = data(folder)[1]
    scores = RankingModel.load(folder / "k.mrk").predict(vali)
    found = evaluate(vali.y, scores, qid=vali.qid, metrics=["map"])["map"]
    assert found == pytest.approx(report["selection"]["value"], abs=1e-12)


def test_the_rule_prefers_larger_alphas(run):
    alphas = [
        json.loads(run("train.txt", "--validate", "vali.txt", "--rule", rule, "--json"))["selection"]["alpha"]
        for rule in ("best", "one_se")
    ]
    assert alphas[0] < alphas[1]


def test_csv_holds_the_whole_curve_and_the_table_a_part_with_the_chosen_alpha(run, folder):
    said = run("train.txt", "--validate", "vali.txt", "-m", "map", "--points", "60", "--csv", "c.csv")
    with open(folder / "c.csv") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 60
    best = max(rows, key=lambda row: float(row["map"]))
    (marked,) = [line.split() for line in said.splitlines() if line.endswith("<- chosen")]
    assert marked[:2] == [f"{float(best['alpha']):.3g}", f"{float(best['objective']):.6f}"]
    assert len([line for line in said.splitlines() if "e-0" in line]) < 20


def test_csv_on_standard_output_is_all_there_is(run):
    lines = run("train.txt", "--points", "5", "--csv", "-").splitlines()
    assert lines[0] == "alpha,objective,lower_bound,gap"
    assert len(lines) == 6


def test_an_exact_kernel_path_is_measured_and_chosen_from(run, folder):
    report = json.loads(
        run("train.txt", "--kernel", "rbf", "--gamma", "0.2", "--graph", "sampled", "--pairs-per-row", "2",
            "--validate", "vali.txt", "-m", "ndcg@5", "--points", "9", "--json")
    )  # fmt: skip
    train, vali = data(folder)
    path = kernel_rank_path(train, kernel="rbf", gamma=0.2, graph="sampled", pairs_per_row=2)
    values = [
        evaluate(vali.y, path.predict(vali, alpha=a), qid=vali.qid, metrics=["ndcg@5"])["ndcg@5"]
        for a in report["curve"]["alpha"]
    ]
    np.testing.assert_allclose(report["curve"]["value"], values, rtol=1e-12)
    assert report["selection"]["alpha"] == report["curve"]["alpha"][int(np.argmax(values))]
    assert (report["events"], report["pairs"]) == (path.n_events_, path.n_pairs_)
    assert report["gap"] <= 1e-7


def test_pairs_are_learnt_from(run, folder):
    pairs = [[i, i + 1] for i in range(0, 60, 2)]
    (folder / "pairs.csv").write_text("".join(f"{a},{b}\n" for a, b in pairs))
    report = json.loads(run("train.txt", "--pairs", "pairs.csv", "--points", "4", "--json"))
    path = rank_path(data(folder)[0].X, pairs=pairs)
    np.testing.assert_allclose(
        report["curve"]["objective"], [path.objective_at(a)[0] for a in report["curve"]["alpha"]], rtol=1e-12
    )
    assert report["selection"] is None


def test_the_picture_names_features_as_the_file_counts_them(run, folder):
    pytest.importorskip("matplotlib")
    import matplotlib

    with matplotlib.rc_context({"svg.fonttype": "none"}):  # letters, not outlines
        run("train.txt", "--validate", "vali.txt", "-m", "ndcg@10", "--plot", "p.svg")
    drawn = (folder / "p.svg").read_text()
    assert ">ndcg@10 on held-out rows<" in drawn
    assert ">4<" in drawn.split('id="legend_1"')[1]
    assert ">0<" not in drawn.split('id="legend_1"')[1].split("</svg>")[0].split('id="axes_2"')[0]


def test_without_matplotlib_a_picture_is_refused_before_the_work(run, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    assert "pip install 'marginrank[plot]'" in run("nowhere.txt", "--plot", "p.png", code=1)


@pytest.mark.parametrize("keep", [False, True])
def test_ctrl_c_ends_with_130_and_keeps_the_path_only_if_asked(run, folder, monkeypatch, keep):
    def interrupted(name, rows, parameters, callback, jobs):
        def interrupt(progress):
            if progress.done > 0.3:
                raise KeyboardInterrupt

        return rank_path(rows, callbacks=interrupt)

    monkeypatch.setattr("marginrank.cli.commands.path.compute_path", interrupted)
    said = run("train.txt", "--csv", "i.csv", *(["--keep-partial"] if keep else []), code=130)
    assert (folder / "i.csv").exists() == keep
    assert ("down to alpha" in said) == keep
    assert "Warning" not in said


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["-o", "m2.mrk"], "-o needs --validate, which names the data to choose on, or --alpha"),
        (["-o", "m2.mrk", "--alpha", "1", "--validate", "vali.txt"], "give one"),
        (["--alpha", "1"], "give -o, too"),
        (["--method", "structured", "--pairs", "pairs.csv"], "--pairs is not for --method structured"),
        (["--method", "ranksvm", "--target", "map"], "--target is for --method structured"),
        (["--target", "map", "--kernel", "rbf"], "--target is for --method structured, not for --kernel"),
        (["-m", "map"], "--metric needs --validate"),
        (["--rule", "one_se"], "--rule one_se needs --validate"),
        (
            ["--method", "rankrls", "--loss", "hinge"],
            "--loss is for --method ranksvm, not for --method rankrls",
        ),
        (["--gamma", "1"], "--gamma is for --kernel"),
        (["--kernel", "rbf", "--eps", "0.1"], "--eps is for --method ranksvm or --method rankrls"),
        (["--kernel", "rbf", "--method", "rankrls"], "--kernel is for --method ranksvm"),
        (["--kernel", "rbf", "--pairs-per-row", "3"], "--pairs-per-row is for --graph sampled"),
        (["--eps", "1"], "eps"),
        (["--csv", "-", "--json"], "would mix"),
        (["--validate", "vali.txt", "-m", "accuracy"], "accuracy"),
    ],
)
def test_misuse_is_refused_before_files_are_read(run, options, words):
    assert words in " ".join(run("nowhere.txt", *options, code=2).split())


def test_refusals_speak_of_options(run, folder):
    assert "--alpha-min must be at most --alpha-max 0.1" in " ".join(
        run("train.txt", "--alpha-max", "0.1", "--alpha-min", "1", code=1).split()
    )
    (folder / "still.txt").write_text("1 qid:1 1:2\n0 qid:1 1:2\n")
    assert "give --alpha-max" in run("still.txt", code=1)
    (folder / "one.csv").write_text("0,1\n")
    assert "Use --graph all" in run(
        "train.txt", "--pairs", "one.csv", "--kernel", "linear", "--graph", "sampled", code=1
    )


def test_a_path_that_stalls_is_told_in_the_words_of_options():
    sentence = (
        "The path could not be certified to eps=1e-09 any further at alpha=0.1; its part down to there is "
        "returned. Use a larger eps or alpha_min, or scale the features (scale='standard') if they differ "
        "much in size."
    )
    path = SimpleNamespace(status_="stalled", eps=1e-9, alpha_min_=0.1)
    with pytest.warns(ConvergenceWarning) as caught:
        _warn(path)
    assert str(caught[0].message) == sentence
    said = in_options(caught[0].message, path_command)
    assert "certified to --eps 1e-09" in said
    assert "Use a larger --eps or --alpha-min, or scale the features (--scale standard)" in said


def test_a_sparse_path_tells_how_many_features_and_writes_the_nearest_solved_model(run, folder, capsys):
    sparse = ("train.txt", "--l1-ratio", "0.9", "--points", "8")
    printed = run(
        *sparse, "--csv", "sparse.csv", "--plot", "sparse.svg", "--alpha", "0.1", "-o", "sparse.mrk"
    )
    solved = rank_path(data(folder)[0], l1_ratio=0.9, n_alphas=8)
    assert "8 models, each certified within 0.001" in printed
    assert [line.split()[3] for line in printed.splitlines()[1:9]] == solved.n_features_used.astype(
        str
    ).tolist()
    with open(folder / "sparse.csv", encoding="utf-8") as file:
        used = [int(row["features_used"]) for row in csv.DictReader(file)]
    assert used == solved.n_features_used.tolist()
    model = RankingModel.load(folder / "sparse.mrk")
    np.testing.assert_array_equal(model.coef, solved.coef_at(solved.nearest(0.1)))
    assert model.metadata["alpha"] == solved.nearest(0.1)
    assert (folder / "sparse.svg").stat().st_size > 1000
    named = [str(folder / one) if one.endswith(".txt") else one for one in sparse]
    assert command(["path", *named, "--alpha", "0.1", "-o", str(folder / "sparse.mrk")]) == 0
    said = capsys.readouterr().err
    assert f"Of the solved alphas {solved.nearest(0.1):.6g} is nearest to 0.1" in said


def test_an_alpha_beyond_a_sparse_path_is_refused(run, folder):
    said = run("train.txt", "--l1-ratio", "0.9", "--points", "5", "--alpha", "100", "-o", "far.mrk", code=1)
    assert "--alpha must be one of the 5 that the path has solved" in said
    assert "--points" in said
    assert not (folder / "far.mrk").exists()
    assert "--l1-ratio is for --method ranksvm or --method structured" in run(
        "train.txt", "--l1-ratio", "0.9", "--method", "rankrls", code=2
    )
