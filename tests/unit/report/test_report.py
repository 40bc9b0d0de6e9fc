"""Reports: the figures of the commands, in a page that runs nothing but its own script."""

import base64
import hashlib
import json

import numpy as np
import pytest

from marginrank import RankingData, RankingModel, RankRLS, RankSVM, rank_path, report
from marginrank.cli.app import run
from marginrank.datasets import make_ranking
from marginrank.exceptions import MarginRankError
from marginrank.io import dump_letor
from marginrank.report.candidates import Candidate
from marginrank.report.charts import Scale
from marginrank.report.query_section import _column_parts
from pages import Page

HOSTILE = [
    "<script>alert(1)</script>",
    "\"'><img src=x onerror=alert(1)>",
    "\u202egnp.exe",
    "x" * 10_000,
    "</script>",
]


def data_of(seed, n_queries=12):
    X, y, qid = make_ranking(n_queries=n_queries, rows_per_query=8, n_features=6, random_state=seed)
    return RankingData(X, y, qid=qid)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Return a folder with data, two models, and a report on them."""
    place = tmp_path_factory.mktemp("report")
    for name, seed in (("train", 1), ("vali", 2), ("test", 3)):
        dump_letor(data_of(seed), str(place / f"{name}.txt"))
    train = data_of(1)
    RankSVM(alpha=0.01).fit(train).save(str(place / "a.mrk"))
    RankRLS(alpha=10.0).fit(train).save(str(place / "b.mrk"))
    files = [str(place / name) for name in ("train.txt", "test.txt", "vali.txt", "a.mrk", "b.mrk", "r.html")]
    train, test, vali, a, b, out = files
    code = run(
        [
            "report",
            "--train",
            train,
            "--test",
            test,
            "--validate",
            vali,
            a,
            b,
            "-m",
            "ndcg@10",
            "-m",
            "map",
            "-o",
            out,
        ]
    )
    assert code == 0
    return place


@pytest.fixture(scope="module")
def page(folder):
    return Page((folder / "r.html").read_text("utf-8"))


def printed(capsys, *arguments):
    capsys.readouterr()
    assert run(list(map(str, arguments))) == 0
    return capsys.readouterr().out


@pytest.mark.parametrize("name", ["a.mrk", "b.mrk"])
def test_means_and_intervals_are_those_that_evaluate_prints(folder, page, capsys, name):
    text = printed(
        capsys,
        "evaluate",
        folder / "test.txt",
        folder / name,
        "--intervals",
        "0.95",
        "-m",
        "ndcg@10",
        "-m",
        "map",
    )
    lines = [line.split() for line in text.splitlines()[1:3]]
    tables = [rows[1:] for rows in page.tables if rows[0][:2] == ["model", "mean"]]
    shown = [next(row for row in rows if row[0].endswith(name)) for rows in tables]
    assert [[row[1], *row[2].split(), row[3]] for row in shown] == [line[1:] for line in lines]


def test_differences_are_those_that_compare_prints(folder, page, capsys):
    paths = [folder / name for name in ("test.txt", "a.mrk", "b.mrk")]
    text = printed(capsys, "compare", *paths, "-m", "ndcg@10", "-m", "map")
    expected = [line.split() for line in text.splitlines()[2:4]]
    rows = page.table("metric", "a", "b", "b - a")
    assert [" ".join(row).split() for row in rows] == expected


def test_the_path_has_the_figures_that_path_prints(folder, page, capsys):
    text = printed(capsys, "path", folder / "train.txt", "--validate", folder / "vali.txt", "-m", "ndcg@10")
    lines = [line.split()[:5] for line in text.splitlines()[1:] if line and line[0].isdigit()]
    block = json.loads(next(one for one in page.scripts if '"texts"' in one))
    assert len(lines) >= 11
    assert all(line in block["texts"] for line in lines)
    chosen = next(line.split() for line in text.splitlines() if "<- chosen" in line)
    shown = next(rows[1] for rows in page.tables if rows[0][:3] == ["alpha", "objective", "gap"])
    assert shown == chosen[:5]


def test_values_of_queries_are_those_that_evaluate_writes(folder, page, capsys):
    printed(capsys, "evaluate", folder / "test.txt", folder / "a.mrk", "--per-query", folder / "per.csv")
    lines = (folder / "per.csv").read_text().splitlines()[1:]
    block = json.loads(next(one for one in page.scripts if '"ids"' in one))
    assert block["ids"] == [line.split(",")[0] for line in lines]
    assert block["values"]["ndcg@10"][0] == [round(float(line.split(",")[1]), 4) for line in lines]


def test_facts_are_those_that_inspect_prints(folder, page, capsys):
    text = printed(capsys, "inspect", folder / "a.mrk")
    facts = dict(
        line.split(maxsplit=1) for line in text.splitlines() if line.startswith(("certificate", "alpha"))
    )
    rows = next(rows for rows in page.tables if rows[0][0] == "model" and rows[0][1].startswith("linear"))
    assert {row[0]: row[1] for row in rows if row[0] in facts} == facts


def test_the_policy_allows_our_script_and_style_alone(folder, page):
    policy = next(a["content"] for tag, a in page.tags if a.get("http-equiv") == "Content-Security-Policy")
    assert policy.startswith("default-src 'none'; style-src 'sha256-")
    assert "unsafe" not in policy
    ours = [
        one
        for one, (_, a) in zip(page.scripts, [t for t in page.tags if t[0] == "script"], strict=True)
        if "type" not in a
    ]
    assert len(ours) == 1
    digest = base64.b64encode(hashlib.sha256(ours[0].encode()).digest()).decode()
    assert f"script-src 'sha256-{digest}'" in policy


def test_nothing_is_loaded_and_no_style_stands_in_an_attribute(page):
    for tag, attributes in page.tags:
        assert tag not in ("link", "img", "iframe", "object", "embed", "form")
        assert not {"src", "style", "action", "srcset"} & attributes.keys()
        assert not any(name.startswith("on") for name in attributes)
        assert attributes.get("href", "#").startswith("#")


def test_hostile_names_stay_text(tmp_path):
    X, y, _ = make_ranking(n_queries=5, rows_per_query=6, n_features=5, random_state=0)
    qid = np.repeat(np.array(HOSTILE, dtype=object), 6)
    comments = [f"docid = <b>{k}" for k in range(30)]
    data = RankingData(X, y, qid=qid, feature_names=HOSTILE, comments=comments)
    models = {name: RankSVM(alpha=0.01 * 10**k).fit(data) for k, name in enumerate(HOSTILE)}
    report.write(tmp_path / "r.html", models, train=data, test=data, title=HOSTILE[0], n_resamples=99)
    text = (tmp_path / "r.html").read_text("utf-8")
    found = Page(text)
    assert {tag for tag, _ in found.tags} & {"img", "b"} == set()
    assert [a.get("type") for tag, a in found.tags if tag == "script"] == ["application/json"] * 2 + [None]
    assert "\u202e" not in text
    assert "x" * 200 not in text
    assert any("<script>alert(1)</script>" in cell for rows in found.tables for row in rows for cell in row)


def test_the_same_input_gives_the_same_bytes_for_any_number_of_threads(tmp_path):
    data, rows = data_of(1), data_of(2)
    for name, n_jobs in (("a", 1), ("b", 2)):
        ranker = RankSVM(alpha=0.1).fit(data)
        report.write(
            tmp_path / name, {"x": ranker, "y": rows.y}, train=data, test=rows, n_jobs=n_jobs, n_resamples=99
        )
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


def test_ten_thousand_queries_of_three_models_take_less_than_6_mb(tmp_path):
    rng = np.random.default_rng(0)
    n = 10_000
    qid = np.repeat([f"query-{k:06d}" for k in range(n)], 4)
    data = RankingData(rng.normal(size=(4 * n, 3)), rng.integers(0, 3, 4 * n), qid=qid)
    scores = {f"model-{k}.mrk": rng.normal(size=4 * n) for k in range(3)}
    metrics = ["ndcg@10", "map", "mrr"]
    report.write(tmp_path / "r.html", scores, test=data, metrics=metrics, n_resamples=99)
    assert (tmp_path / "r.html").stat().st_size < 6e6


def test_scores_alone_and_data_alone_make_a_report(tmp_path):
    data = data_of(1)
    report.write(tmp_path / "data.html", train=data)
    assert [tag for tag, _ in Page((tmp_path / "data.html").read_text()).tags].count("section") == 1
    report.write(tmp_path / "scores.html", {"one": data.y}, test=data)
    sections = [a["id"] for tag, a in Page((tmp_path / "scores.html").read_text()).tags if tag == "section"]
    assert sections == ["data", "quality", "queries"]


def test_a_path_that_was_computed_is_shown_and_chooses_nothing_on_test_rows(tmp_path):
    data, rows = data_of(1), data_of(2)
    report.write(tmp_path / "r.html", test=rows, path=rank_path(data, loss="squared_hinge"))
    words = "".join(Page((tmp_path / "r.html").read_text()).words)
    assert "do not choose by it" in words
    assert "Chosen" not in words


def sections_of(file):
    return [a["id"] for tag, a in Page(file.read_text("utf-8")).tags if tag == "section"]


def test_sparse_models_have_their_path_and_those_with_bounds_none(tmp_path):
    data = data_of(1)
    report.write(tmp_path / "s.html", RankSVM(alpha=0.1, l1_ratio=0.5).fit(data), train=data, test=data)
    assert "path" in sections_of(tmp_path / "s.html")
    report.write(tmp_path / "r.html", RankSVM(alpha=0.1, bounds=(0, None)).fit(data), train=data, test=data)
    assert "path" not in sections_of(tmp_path / "r.html")


def test_parts_of_columns_are_mean_margins_over_all_pairs():
    data = data_of(4, n_queries=1)
    model = RankingModel([1.0, -2.0, 0.5, 0.0, 3.0, 0.25])
    scores = model.predict(data)
    found = _column_parts(Candidate("a", model, scores, data), np.arange(8), data.y)
    pairs = [(i, j) for i in range(8) for j in range(8) if data.y[i] > data.y[j]]
    expected = np.mean([model.coef * (data.X[i] - data.X[j]) for i, j in pairs], axis=0) / scores.std()
    # Sums of a few products of size 10 in another order.
    np.testing.assert_allclose(list(found.values()), expected, atol=1e-12)


def test_ticks_are_round_and_within_the_axis():
    assert Scale(0.03, 0.97, 0, 1).ticks() == pytest.approx([0.2, 0.4, 0.6, 0.8])
    assert Scale(1e-5, 2.0, 0, 1, log=True).ticks() == pytest.approx([1e-5, 1e-4, 1e-3, 1e-2, 1e-1, 1])
    assert Scale(5.0, 5.0, 0, 1).ticks() == [5.0]


def test_models_keep_how_their_training_converged():
    ranker = RankSVM(alpha=0.001).fit(data_of(1))
    found = ranker.to_model().metadata["history"]
    assert found["iteration"][-1] == ranker.history_[-1].iteration
    assert found["objective"][-1] == ranker.history_[-1].value
    assert found["lower_bound"][0] == ranker.history_[0].bound
    assert len(found["iteration"]) <= 60


@pytest.mark.parametrize(
    "history", [5, {}, {"iteration": [1]}, {"iteration": "ab", "objective": [1], "lower_bound": [{}]}]
)
def test_whatever_a_model_file_says_of_its_training_makes_a_page(tmp_path, history):
    report.write(tmp_path / "r.html", RankingModel([1.0], metadata={"history": history}))
    assert "made by hand" in (tmp_path / "r.html").read_text()


def test_nothing_to_show_is_said():
    with pytest.raises(MarginRankError, match="needs something to show"):
        report.write("r.html")


def test_scores_of_other_rows_are_refused_by_name(tmp_path):
    with pytest.raises(MarginRankError, match="models\\['one'\\]: scores must have one entry per row"):
        report.write(tmp_path / "r.html", {"one": [1.0, 2.0]}, test=data_of(1))
    assert list(tmp_path.iterdir()) == []
