"""The exact path on small problems: optimal at any alpha, whatever the kernel, weights and ties."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from sklearn.metrics.pairwise import pairwise_kernels

from marginrank import RankingData, RankSVM
from marginrank.paths import kernel_rank_path
from marginrank.paths.gram import distinct_points
from path_oracle import dual_by_lbfgsb, relative_gap, values, worst_violation


def small_problem(seed, n=24, copies=8):
    """Rows with copies of other labels, few levels, three queries."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    X = np.vstack([X, X[:copies]])
    y = rng.integers(4, size=len(X))
    return X, y, rng.integers(3, size=len(X))


@pytest.mark.parametrize("kernel", ["rbf", "linear", "polynomial", "laplacian", "cosine"])
@pytest.mark.parametrize("seed", range(3))
def test_gap_is_closed_and_conditions_hold_at_breakpoints_and_any_other_alpha(kernel, seed):
    X, y, qid = small_problem(seed)
    weight = np.random.default_rng(seed).integers(1, 4, size=len(X))
    path = kernel_rank_path(X, y, qid=qid, kernel=kernel, sample_weight=weight)
    K = pairwise_kernels(X, metric=kernel)
    assert path.status_ == "finished"
    alphas = [*np.geomspace(2.0 * path.alphas[0], path.alpha_min_, 40), *path.alphas]
    # The margins are perturbed by 1e-8; chains of pairs add that up next to breakpoints.
    assert max(relative_gap(K, path, a) for a in alphas) <= 1e-7
    assert max(worst_violation(K, path, a) for a in alphas) <= 2e-6
    assert path.gap_ <= 1e-7


@pytest.mark.parametrize("kernel", ["rbf", "linear", "polynomial", "laplacian", "cosine"])
@pytest.mark.parametrize("seed", range(3))
def test_the_gap_tells_what_is_left_of_the_perturbation_next_to_breakpoints(kernel, seed):
    X, y, qid = small_problem(seed)
    weight = np.random.default_rng(seed).integers(1, 4, size=len(X))
    K = pairwise_kernels(X, metric=kernel)
    K = (K + K.T) / 2
    path = kernel_rank_path(K, y, qid=qid, kernel="precomputed", sample_weight=weight)
    for alpha in path.alphas[::3]:
        left = relative_gap(K.astype(np.longdouble), path, alpha)
        assert left <= path.gap_at(alpha)


@pytest.mark.parametrize("seed", range(5))
def test_rows_that_are_nearly_copies_cost_no_accuracy(seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(24, 2))
    X = np.vstack([X, X[:12]]) + 1e-5 * rng.normal(size=(36, 2))
    path = kernel_rank_path(X, rng.integers(4, size=36), gamma=1.0)
    assert path.status_ == "finished"
    assert max(path.gap_at(a) for a in path.alphas) <= 1e-7


@pytest.mark.parametrize("seed", range(2))
def test_another_solver_of_the_dual_agrees_at_many_alphas(seed):
    X, y, qid = small_problem(10 + seed, n=14, copies=3)
    path = kernel_rank_path(X, y, qid=qid, gamma=0.7, weighting="queries")
    K = pairwise_kernels(X, metric="rbf", gamma=0.7)
    for alpha in np.geomspace(path.alphas[0], 1e-2 * path.alphas[0], 6):
        ours = values(K, path.pairs_, path.pair_weight_, path.duals_at(alpha), alpha)
        theirs = dual_by_lbfgsb(K, path.pairs_, path.pair_weight_, alpha)
        assert theirs[0] - theirs[1] <= 1e-5 * theirs[0]
        assert ours[0] <= theirs[0] * (1 + 1e-7)
        assert ours[1] >= theirs[1] - 1e-7 * theirs[0]


@pytest.mark.parametrize("weighting", ["pairs", "queries"])
def test_linear_kernel_has_the_objective_of_the_linear_ranker(weighting):
    X, y, qid = small_problem(20, n=60)
    weights = {"sample_weight": np.arange(len(X)) % 4, "query_weight": {0: 1.0, 1: 3.0, 2: 0.5}}
    path = kernel_rank_path(X, y, qid=qid, kernel="linear", weighting=weighting, **weights)
    for alpha in (0.3, 0.03, 0.003):
        model = RankSVM(alpha=alpha, weighting=weighting, tol=1e-8).fit(X, y, qid=qid, **weights)
        assert path.objective_at(alpha)[0] == pytest.approx(model.objective_, rel=1e-6)
        np.testing.assert_allclose(path.predict(X, alpha=alpha), model.predict(X), atol=2e-3)


def test_gap_and_objective_agree_with_the_oracle():
    X, y, _ = small_problem(21)
    path = kernel_rank_path(X, y, gamma=0.5)
    K = pairwise_kernels(X, metric="rbf", gamma=0.5)
    alpha = 0.1 * path.alphas[0]
    expected = values(K, path.pairs_, path.pair_weight_, path.duals_at(alpha), alpha)
    np.testing.assert_allclose(path.objective_at(alpha), expected, rtol=1e-12)
    assert path.gap_at(alpha) == pytest.approx(relative_gap(K, path, alpha), abs=1e-12)


def test_between_breakpoints_alpha_times_scores_is_linear():
    X, y, _ = small_problem(22)
    path = kernel_rank_path(X, y, gamma=0.5)
    widest = int(np.argmax(path.alphas[:-1] / path.alphas[1:]))
    high, low = path.alphas[widest], path.alphas[widest + 1]
    middle = 0.5 * (high + low)
    ends = high * path.scores_at(high) + low * path.scores_at(low)
    np.testing.assert_allclose(middle * path.scores_at(middle), 0.5 * ends, atol=1e-9 * high)


def test_above_the_first_breakpoint_every_pair_pulls_with_its_weight():
    X, y, _ = small_problem(23)
    path = kernel_rank_path(X, y, sample_weight=np.arange(1, len(X) + 1))
    assert (path.duals_at(1.01 * path.alphas[0]) == path.pair_weight_).all()
    assert (path.duals_at(0.9 * path.alphas[0]) < path.pair_weight_).any()


def test_active_size_counts_the_pairs_at_their_margin():
    X, y, _ = small_problem(24)
    path = kernel_rank_path(X, y, gamma=0.5)
    assert path.n_events_ == len(path.alphas) == len(path.active_size)
    assert np.all(np.diff(path.alphas) <= 0.0)
    gaps = path.alphas[:-1] / path.alphas[1:]
    for event in np.flatnonzero(gaps > 1.001)[:20]:
        beta = path.duals_at(np.sqrt(path.alphas[event] * path.alphas[event + 1]))
        assert np.sum((beta > 0.0) & (beta < path.pair_weight_)) == path.active_size[event]


@pytest.mark.parametrize("kernel", ["rbf", "linear"])
def test_predict_on_training_rows_gives_their_scores(kernel):
    X, y, _ = small_problem(25)
    path = kernel_rank_path(X, y, kernel=kernel)
    alpha = 0.01 * path.alphas[0]
    expected = path.scores_at(alpha)
    K = pairwise_kernels(X, metric=kernel)
    np.testing.assert_allclose(K @ path.coef_at(alpha), expected, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(path.predict(X, alpha=alpha), expected, atol=1e-10)
    np.testing.assert_allclose(path.predict(sparse.csr_array(X), alpha=alpha), expected, atol=1e-10)
    np.testing.assert_allclose(path.predict(RankingData(X, y), alpha=alpha), expected, atol=1e-10)


def test_precomputed_callable_sparse_and_named_kernels_are_the_same_path():
    X, y, _ = small_problem(26)
    alpha = 1e-3
    expected = kernel_rank_path(X, y, gamma=0.5).predict(X[:5], alpha=alpha)

    def rbf(a, b, gamma):
        return np.exp(-gamma * np.sum((a - b) ** 2))

    K = pairwise_kernels(X, metric="rbf", gamma=0.5)
    by_matrix = kernel_rank_path(K, y, kernel="precomputed").predict(K[:5], alpha=alpha)
    by_function = kernel_rank_path(X, y, kernel=rbf, kernel_params={"gamma": 0.5}).predict(X[:5], alpha=alpha)
    by_sparse = kernel_rank_path(sparse.csr_array(X), y, gamma=0.5).predict(X[:5], alpha=alpha)
    for found in (by_matrix, by_function, by_sparse):
        np.testing.assert_allclose(found, expected, atol=1e-6)


def test_pairs_learn_what_labels_say():
    X, y, _ = small_problem(27)
    by_labels = kernel_rank_path(X, y, gamma=0.5)
    by_pairs = kernel_rank_path(X, pairs=by_labels.pairs_, gamma=0.5)
    assert (by_pairs.alphas == by_labels.alphas).all()


def test_one_pair_follows_its_formula():
    path = kernel_rank_path([[0.0], [2.0]], pairs=[[1, 0]], kernel="linear")
    assert path.alphas == pytest.approx([4.0], rel=1e-7)
    for alpha in (8.0, 4.0, 1.0, 1e-3):
        assert path.duals_at(alpha) == pytest.approx([min(1.0, alpha / 4.0)], rel=1e-7)
        np.testing.assert_allclose(path.scores_at(alpha), [0.0, min(1.0, 4.0 / alpha)], atol=1e-7)


def test_a_balanced_cycle_has_no_breakpoint_and_a_model_everywhere():
    path = kernel_rank_path(np.eye(3), pairs=[[0, 1], [1, 2], [2, 0]])
    assert path.n_events_ == 0
    assert path.status_ == "finished"
    for alpha in (1.0, 1e-9):
        np.testing.assert_allclose(path.scores_at(alpha), np.zeros(3), atol=1e-6)
        assert path.gap_at(alpha) <= 1e-12


def test_a_cycle_among_other_pairs_is_solved():
    rng = np.random.default_rng(5)
    X = rng.normal(size=(20, 2))
    pairs = [[i, (i + 1) % 20] for i in range(20)] + [[3, 9], [9, 3], [3, 9], [1, 17]]
    path = kernel_rank_path(X, pairs=pairs)
    K = pairwise_kernels(X, metric="rbf")
    assert max(relative_gap(K, path, a) for a in np.geomspace(path.alphas[0], path.alpha_min_, 30)) <= 1e-7


def test_rows_that_are_all_equal_have_equal_scores():
    path = kernel_rank_path(np.ones((4, 2)), [0, 1, 2, 3], kernel="linear")
    np.testing.assert_allclose(path.scores_at(0.1), path.scores_at(0.1)[0])


@pytest.mark.parametrize("convert", [np.asarray, sparse.csr_array])
def test_equal_rows_are_one_point_also_where_the_kernel_rounds_them_apart(convert):
    rng = np.random.default_rng(6)
    X = rng.normal(size=(30, 3))
    X = np.vstack([X, X[:12]])
    noise = 1e-9 * rng.uniform(size=(42, 42))  # as of squared distances far from the origin
    K = pairwise_kernels(X, metric="rbf") - np.triu(noise, 1) - np.triu(noise, 1).T
    assert len(distinct_points(K)[0]) == 42
    rows, point = distinct_points(K, convert(X))
    assert rows.tolist() == list(range(30))
    assert point.tolist() == [*range(30), *range(12)]


def test_margins_scale_the_model():
    X, y, _ = small_problem(28)
    pairs = kernel_rank_path(X, y).pairs_
    once, twice = (
        kernel_rank_path(RankingData(X, pairs=pairs, pair_margin=margin), gamma=0.5) for margin in (1.0, 2.0)
    )
    np.testing.assert_allclose(2.0 * once.scores_at(0.02), twice.scores_at(0.01), atol=1e-6)


def test_the_same_bits_twice():
    X, y, _ = small_problem(29)
    first, again = (kernel_rank_path(X, y, graph="sampled", pairs_per_row=4) for _ in range(2))
    assert (first.alphas == again.alphas).all()
    assert (first.coef_at(1e-3) == again.coef_at(1e-3)).all()
