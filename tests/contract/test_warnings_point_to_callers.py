"""A warning shows the line that called the library, however deep its reason lies."""

import numpy as np
import pytest
from sklearn.model_selection import GridSearchCV

from marginrank import (
    AutoRanker,
    KernelRankSVM,
    RankingData,
    RankRLS,
    RankSVM,
    StructuredRankSVM,
    rank_path,
)

pytestmark = pytest.mark.filterwarnings("default")


@pytest.fixture
def rows():
    rng = np.random.default_rng(0)
    X = rng.random((60, 3))
    return X, (X[:, 0] + 0.3 * rng.normal(size=60) > 0.5).astype(float), np.repeat(np.arange(6), 10)


FEW = {"max_iter": 1, "tol": 1e-9}
RANKERS = {
    "RankSVM": RankSVM(alpha=1e-6, **FEW),
    "RankSVM, bundle": RankSVM(alpha=1e-6, solver="bundle", **FEW),
    "RankRLS": RankRLS(alpha=1e-6, solver="cg", **FEW),
    "StructuredRankSVM": StructuredRankSVM(alpha=1e-6, **FEW),
    "KernelRankSVM": KernelRankSVM(alpha=1e-6, n_components=20, **FEW),
    "KernelRankSVM, more landmarks than rows": KernelRankSVM(n_components=100),
    "KernelRankSVM, the end of its gammas": KernelRankSVM(
        gamma="auto", gammas=[1e-9, 1e-8, 1e-7], alphas=[1e-2], n_components=20
    ),
    "AutoRanker": AutoRanker(candidates=[RankSVM(alpha=1e-6, **FEW)], cv=2),
    "GridSearchCV": GridSearchCV(RankSVM(alpha=1e-6, **FEW), {"weighting": ["pairs", "queries"]}, cv=2),
}


@pytest.mark.parametrize("name", RANKERS)
def test_a_warning_of_a_fit_shows_the_line_that_called_it(rows, name):
    X, y, qid = rows
    with pytest.warns() as caught:
        RANKERS[name].fit(X, y, qid=qid) if name != "GridSearchCV" else RANKERS[name].fit(X, y)
    assert {one.filename for one in caught} == {__file__}


def test_a_warning_of_a_path_shows_the_line_that_called_it(rows):
    X, y, qid = rows
    with pytest.warns() as caught:
        rank_path(X, y, qid=qid, l1_ratio=0.9, alpha_max=1e6, alpha_min=1e5)
    assert {one.filename for one in caught} == {__file__}


def test_a_warning_of_columns_shows_the_line_that_read_them():
    frame = pytest.importorskip("pandas").DataFrame({"query_id": [1.0, 2.0], "x": [0.5, 1.5]})
    with pytest.warns(UserWarning, match="query_id") as caught:
        RankingData(frame, y=[0, 1])
    assert {one.filename for one in caught} == {__file__}
