"""The exact path on the four data sets of the regularisation path paper, all pairs.

The folder ``path`` of MARGINRANK_DATA holds them in SVMlight format: mixture (simulated, 200 rows), auto-mpg
(392), pima (diabetes, 768) and wdbc (breast cancer, 569).
"""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import load_svmlight_file
from sklearn.metrics.pairwise import pairwise_kernels

from marginrank import RankingData
from marginrank.paths import kernel_rank_path
from marginrank.paths.graphs import graph_pairs
from path_oracle import disagreement, relative_gap, worst_violation

# Pairs of all rows and of the reduced graph: table 1 of the paper.
TABLE_1 = {
    "mixture": (10_000, 199),
    "auto-mpg": (75_245, 656),
    "pima": (134_000, 767),
    "wdbc": (75_684, 568),
}


def load(real_data, name, part=slice(None), copies=False):
    X, y = load_svmlight_file(str(real_data / "path" / f"{name}.svm"))
    X, y = X.toarray()[part], y[part]
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    if copies:  # of every third row, with the label of another one
        X, y = np.vstack([X, X[::3]]), np.concatenate([y, np.roll(y[::3], 1)])
    return X, y


def check(X, y, kernel, **options):
    path = kernel_rank_path(X, y, kernel=kernel, **options)
    K = pairwise_kernels(X, metric=kernel)
    rng = np.random.default_rng(7)
    lowest, highest = np.log(path.alpha_min_), np.log(path.alphas[0])
    assert max(relative_gap(K, path, a) for a in np.exp(rng.uniform(lowest, highest, 20))) <= 1e-7
    # Margins are perturbed by 1e-8, and chains of active pairs add that up next to a breakpoint.
    assert max(worst_violation(K, path, a) for a in rng.choice(path.alphas, 60)) <= 1e-5
    assert path.gap_ <= 1e-7
    return path, K


@pytest.mark.parametrize("name", TABLE_1)
def test_pair_counts_are_those_of_table_1(real_data, name):
    data = RankingData(*load(real_data, name))
    counts = tuple(len(graph_pairs(data, graph).winner) for graph in ("all", "reduced"))
    assert counts == TABLE_1[name]


@pytest.mark.parametrize("copies", [False, True])
@pytest.mark.parametrize("kernel", ["rbf", "linear"])
def test_whole_path_of_the_mixture_is_optimal(real_data, kernel, copies):
    path, _ = check(*load(real_data, "mixture", copies=copies), kernel)
    assert path.status_ == "finished"
    assert path.n_events_ <= 3.2 * path.n_pairs_


@pytest.mark.parametrize("kernel", ["rbf", "linear"])
def test_whole_path_of_a_quarter_of_the_cancer_rows_with_copies_is_optimal(real_data, kernel):
    # With its contradicting copies this set broke a path that took equal rows for two points.
    path, _ = check(*load(real_data, "wdbc", slice(None, None, 4), copies=True), kernel)
    assert path.status_ == "finished"


def test_whole_path_of_the_cars_is_optimal(real_data):
    path, _ = check(*load(real_data, "auto-mpg"), "linear")
    assert path.status_ == "finished"
    assert path.n_events_ <= 3.2 * path.n_pairs_


@pytest.mark.parametrize("name", ["auto-mpg", "pima", "wdbc"])
def test_first_part_of_a_large_path_is_optimal(real_data, name):
    path, _ = check(*load(real_data, name), "rbf", max_events=15_000)
    assert path.status_ == "max_events"


@pytest.mark.parametrize("name", ["auto-mpg", "pima"])
def test_sampled_path_is_optimal_for_its_pairs(real_data, name):
    path, _ = check(*load(real_data, name), "rbf", graph="sampled", alpha_min=1e-4)
    assert path.n_pairs_ <= 10 * len(path.coef_at(1.0))


@pytest.mark.parametrize("copies", [False, True])
@pytest.mark.parametrize("kernel", ["rbf", "linear"])
@pytest.mark.parametrize("name", TABLE_1)
def test_another_solver_of_the_dual_agrees_within_its_own_gap(real_data, name, kernel, copies):
    # Of the rows a part; benchmarks/path_checks.py does the same with all of them.
    step = 4 if name == "mixture" else 8
    X, y = load(real_data, name, slice(None, None, step), copies=copies)
    path = kernel_rank_path(X, y, kernel=kernel)
    K = pairwise_kernels(X, metric=kernel)
    for alpha in path.alphas[0] * 10.0 ** np.random.default_rng(1).uniform(-3.0, 0.0, size=5):
        distance, its_gap = disagreement(K, path, alpha, max_iter=400)
        assert its_gap <= 1e-4
        assert distance <= 1.0
