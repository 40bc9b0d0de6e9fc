"""The certified path on search data: the claim at random alphas, and the alpha that it finds.

The data are those of test_real_data.py.
"""

import numpy as np
import pytest
from test_real_data import letor

from marginrank import RankSVM
from marginrank.paths import rank_path

EPS = 1e-3


@pytest.fixture(scope="module")
def queries(real_data):
    return letor(real_data / "MQ2008", 1), letor(real_data / "MQ2008", 4)


@pytest.fixture(scope="module")
def path(queries):
    (X, y, qid), _ = queries
    return rank_path(X, y, qid=qid, alpha_max=1e-1, alpha_min=1e-4, eps=EPS)


def test_models_between_the_knots_are_within_eps_of_separate_solutions(queries, path):
    (X, y, qid), _ = queries
    for alpha in 10.0 ** np.random.default_rng(0).uniform(-4, -1, size=40):
        # Where the separate run starts is what the path delivers: the first value is that of its model.
        model = RankSVM(alpha=alpha, tol=1e-5, max_iter=3000, warm_start=True)
        model.coef_ = path.coef_at(alpha)
        model.fit(X, y, qid=qid)
        value = model.history_[0].value
        assert (value - model.lower_bound_) / value <= EPS + 1e-9
        assert value <= path.objective_at(alpha)[0] * (1 + 1e-9)


def test_selection_is_as_good_as_the_best_of_a_grid(queries, path):
    (X, y, qid), (X_val, y_val, qid_val) = queries
    best = path.select(X_val, y_val, qid=qid_val, metric="ndcg@10")
    grid = np.geomspace(1e-1, 1e-4, 21)
    model = RankSVM(alpha="auto", alphas=grid, metric="ndcg@10")
    model.fit(X, y, qid=qid, eval_set=(X_val, y_val), eval_qid=qid_val)
    assert best.score >= model.best_score_ - 0.005


def test_the_default_interval_takes_few_passes(real_data):
    X, y, qid = letor(real_data / "OHSUMED", 1)
    path = rank_path(X, y, qid=qid, eps=EPS)
    assert path.status_ == "finished"
    assert path.n_passes_ <= 76.0
