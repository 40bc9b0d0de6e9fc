"""What objects show in a notebook: their figures, escaped, and nothing where plain text is asked for."""

import numpy as np
import pytest
from sklearn import config_context

from marginrank import RankingData, RankRLS, RankSVM, rank_path
from marginrank.comparison import compare
from marginrank.datasets import make_ranking
from marginrank.metrics import evaluate
from pages import Page

NAMES = ["<script>alert(1)</script>", "b", "c", "d", "e", "f"]


@pytest.fixture(scope="module")
def data():
    X, y, qid = make_ranking(n_queries=10, rows_per_query=8, n_features=6, random_state=0)
    return RankingData(X, y, qid=qid, feature_names=NAMES)


def cells(html):
    return [row for rows in Page(html).tables for row in rows]


def test_data_show_their_sizes(data):
    rows = dict(row for row in cells(data._repr_html_()))
    assert rows["rows"] == "80"
    assert rows["queries"] == "10 (8 to 8 rows)"
    assert rows["names"].startswith("<script>alert(1)</script>, b")


def test_evaluations_and_comparisons_show_what_they_print(data):
    found = evaluate(data.y, data.X[:, 0], qid=data.qid, metrics=["map"], intervals=0.9)
    shown = cells(found._repr_html_())
    assert shown[0] == ["metric", "mean", "0.9 interval", "empty queries"]
    assert repr(found).splitlines()[0].split() == f"{shown[1][0]} {shown[1][1]} ({shown[1][2]})".split()
    both = compare(data.y, data.X[:, 0], data.X[:, 1], qid=data.qid, metrics=["map"], random_state=0)
    head, row = cells(both._repr_html_())
    printed = repr(both).splitlines()
    assert printed[0].split() == " ".join(head).split()
    assert printed[1].split() == " ".join(row).split()


def test_models_show_certificate_and_weights_and_escape_names(data):
    model = RankSVM(alpha=0.01).fit(data).to_model()
    html = model._repr_html_()
    assert [tag for tag, _ in Page(html).tags if tag == "script"] == []
    rows = cells(html)
    assert any(row[0] == "certificate" and "no model is below" in row[1] for row in rows)
    weights = {row[0]: row[1] for row in rows if row[0] in NAMES}
    assert weights == {name: f"{w:.4g}" for name, w in zip(NAMES, model.coef, strict=True)}


def test_paths_show_their_range_and_the_choice(data):
    path = rank_path(data)
    rows = dict(cells(path._repr_html_()))
    assert rows["alpha"] == f"{path.alpha_max_:.3g} down to {path.alpha_min_:.3g}"
    chosen = path.select(data, metric="map")
    assert dict(cells(path._repr_html_()))["chosen"] == f"alpha {chosen.alpha:.3g}: map {chosen.score:.4f}"


def test_fitted_rankers_show_their_certificate_unless_text_is_asked_for(data):
    ranker = RankSVM(alpha=0.01)
    assert "no model is below" not in ranker._repr_mimebundle_()["text/html"]
    ranker.fit(data)
    assert "no model is below" in ranker._repr_mimebundle_()["text/html"]
    assert "no model is below" in ranker._repr_html_()
    with config_context(display="text"):
        assert "text/html" not in ranker._repr_mimebundle_()
        assert not hasattr(ranker, "_repr_html_")


def test_rankers_of_several_targets_show_the_diagram_alone(data):
    ranker = RankRLS(alpha=0.1).fit(data.X, np.column_stack([data.y, -data.y]), qid=data.qid)
    assert "certificate" not in ranker._repr_mimebundle_()["text/html"]
