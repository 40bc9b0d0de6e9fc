"""The bar of fits in a notebook, run in a real kernel of Jupyter."""

import pytest

from limits import HANG
from marginrank.system.notebook_bar import NotebookBar

FIT = """
import warnings
warnings.simplefilter("error")
from marginrank import RankingData, RankSVM
from marginrank.datasets import make_ranking
X, y, qid = make_ranking(n_queries=20, rows_per_query=8, n_features=6)
data = RankingData(X, y, qid=qid)
ranker = RankSVM(alpha=0.01, verbose=1).fit(data)
"""


def outputs(*cells):
    """Return what the cells show, each a list of outputs."""
    nbformat = pytest.importorskip("nbformat")
    nbclient = pytest.importorskip("nbclient")
    pytest.importorskip("ipykernel")
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in cells])
    nbclient.NotebookClient(notebook, timeout=HANG, kernel_name="python3").execute()
    return [cell.outputs for cell in notebook.cells]


def test_a_fit_shows_a_bar_in_a_notebook_and_no_lines_beside_it():
    fitted, shown = outputs(FIT, "ranker")
    assert [one.output_type for one in fitted] == ["display_data"]
    html = fitted[0]["data"]["text/html"]
    assert '<progress max="1" value="1.0000" aria-label="training">' in html
    assert "gap" in html
    assert "gap" in fitted[0]["data"]["text/plain"]
    assert "certificate" in shown[0]["data"]["text/html"]


SEARCH = """
from marginrank import KernelRankSVM
from marginrank.system.notebook_bar import NotebookBar
seen, update = [], NotebookBar.update

def noted(bar, what, done, figures):
    seen.append((what, done, figures))
    update(bar, what, done, figures)

NotebookBar.update = noted
searched = KernelRankSVM(alpha="auto", cv=3, n_components=30, random_state=0, verbose=1).fit(data)
"""
SEEN = """
training = [(done, figures) for what, done, figures in seen if what == "training"]
folds = {figures[:11] for _, figures in training}
print(sorted({what for what, _, _ in seen}), all(f"fold {k} of 3" in folds for k in (1, 2, 3)))
print(all(a <= b + 1e-9 for (a, _), (b, _) in zip(training, training[1:])), "alpha" in training[0][1])
"""


def test_the_bar_of_a_notebook_goes_over_the_whole_of_a_search_and_the_kernel_map():
    _, searched, seen = outputs(FIT, SEARCH, SEEN)
    assert [one.output_type for one in searched] == ["display_data", "stream"]  # one bar, and how it ended
    assert "search ended" in searched[1]["text"]
    assert "<progress" in searched[0]["data"]["text/html"]
    assert seen[0]["text"].splitlines() == ["['kernel map', 'training'] True", "True True"]


class Shown:
    """A display that keeps what it showed."""

    def __init__(self):
        self.faces = []

    def __call__(self, face, raw, display_id):
        self.faces.append(face)
        return self

    def update(self, face, raw):
        self.faces.append(face)


def test_the_last_state_is_shown_however_soon_it_comes():
    shown = Shown()
    bar = NotebookBar(shown, transient=False)
    for k in range(1000):
        bar.update("counting", k / 1000, f"{k} of <1000>")
    bar.stop()
    assert len(shown.faces) < 100  # not each: they would flood a browser
    assert "999 of &lt;1000&gt;" in shown.faces[-1]["text/html"]
    assert 'value="0.9990"' in shown.faces[-1]["text/html"]


def test_nothing_is_left_of_a_transient_bar_and_a_share_may_be_unknown():
    shown = Shown()
    bar = NotebookBar(shown, transient=True)
    bar.update("looking", None, "")
    assert "value" not in shown.faces[0]["text/html"]
    bar.stop()
    assert shown.faces[-1] == {"text/html": "", "text/plain": ""}
