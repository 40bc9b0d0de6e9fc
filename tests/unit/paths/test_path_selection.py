"""Choosing from a path on validation rows, what the choice leaves behind, and its picture."""

from __future__ import annotations

import io

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.metrics.pairwise import pairwise_kernels

import marginrank
from marginrank import RankingData, RankingModel
from marginrank.exceptions import MarginRankError
from marginrank.metrics import evaluate
from marginrank.paths import kernel_rank_path, rank_path, rank_rls_path, structured_rank_path


def problem(seed, n=90, copies=20):
    """Rows of which some stand twice with other labels, and queries."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(0.0, 2.0, size=(n, 3))
    X = np.vstack([X, X[:copies]])
    y = np.digitize(X[:, 0] * X[:, 1] + 0.5 * rng.normal(size=len(X)), [0.5, 1.5])
    return X, y, rng.integers(4, size=len(X))


@pytest.fixture(scope="module")
def held_out():
    return problem(1, n=60, copies=0)


@pytest.fixture(scope="module")
def path():
    X, y, qid = problem(0)
    return kernel_rank_path(X, y, qid=qid, gamma=0.5)


@pytest.mark.parametrize("metric", ["ndcg@5", "pairwise_error"])
def test_the_curve_of_a_kernel_path_is_that_of_its_predictions(path, held_out, metric):
    X, y, qid = held_out
    best = path.select(X, y, qid=qid, metric=metric, n_alphas=60)
    assert best.alphas[0] == path.alphas[0]
    assert best.alphas[-1] == path.alpha_min_
    figures = [evaluate(y, path.predict(X, alpha=a), qid=qid, metrics=[metric])[metric] for a in best.alphas]
    np.testing.assert_allclose(best.curve, figures, rtol=1e-12)
    assert best.score == (max if metric == "ndcg@5" else min)(best.curve)
    np.testing.assert_array_equal(best.coef, path.coef_at(best.alpha))
    assert path.selection_ is best


@pytest.mark.parametrize("kernel", ["rbf", "linear", "precomputed"])
@pytest.mark.parametrize("convert", [np.asarray, sparse.csr_array])
def test_scores_by_updates_are_those_of_fresh_predictions(kernel, convert):
    X, y, qid = problem(2)
    new = problem(3, n=30, copies=5)[0]
    if kernel == "precomputed":
        new, X = pairwise_kernels(new, X, metric="rbf"), pairwise_kernels(X, metric="rbf")
    path = kernel_rank_path(X, y, qid=qid, kernel=kernel)
    alphas = path.grid(40)
    by_updates = path._scores(convert(new), alphas)
    fresh = np.array([path.predict(convert(new), alpha=a) for a in alphas])
    # Sums over pairs are kept up to date through thousands of events; their rounding is all that differs.
    np.testing.assert_allclose(by_updates, fresh, atol=1e-9 * np.abs(fresh).max())


def test_one_standard_error_takes_a_larger_alpha(path, held_out):
    X, y, qid = held_out
    best, careful = (path.select(X, y, qid=qid, rule=rule) for rule in ("best", "one_se"))
    assert careful.alpha > best.alpha
    assert careful.score <= best.score + best.std[best.selection.index]


def test_a_path_of_one_model_has_a_curve_of_one_point(held_out):
    X, y, qid = problem(0)
    first = kernel_rank_path(X, y, qid=qid, gamma=0.5, max_events=1).alphas[0]
    path = kernel_rank_path(X, y, qid=qid, gamma=0.5, alpha_min=2.0 * first)
    best = path.select(*held_out[:2], qid=held_out[2])
    assert best.alphas.tolist() == [path.alpha_min_]


def test_pairs_that_cancel_out_leave_nothing_to_choose(held_out):
    path = kernel_rank_path(np.eye(3), pairs=[[0, 1], [1, 2], [2, 0]])
    with pytest.raises(MarginRankError, match="cancel out"):
        path.select(np.eye(3), [0, 1, 2])


def test_other_columns_are_refused(path):
    with pytest.raises(MarginRankError, match="X has 2 columns, but the path was computed with 3"):
        path.select(np.ones((2, 2)), [0, 1])


def there_and_back(model):
    file = io.BytesIO()
    model.save(file)
    file.seek(0)
    return RankingModel.load(file)


@pytest.mark.parametrize(
    "options",
    [
        {"kernel": "rbf"},
        {"kernel": "rbf", "gamma": 0.3},
        {"kernel": "linear"},
        {"kernel": "poly", "degree": 2, "coef0": 0.5},
        {"kernel": "laplacian"},
        {"kernel": "cosine"},
        {"kernel": "chi2"},
    ],
)
@pytest.mark.parametrize("convert", [np.asarray, sparse.csr_array])
def test_the_model_of_a_kernel_path_scores_as_the_path_also_from_a_file(options, convert, held_out):
    if options["kernel"] == "chi2":
        convert = np.asarray  # of scikit-learn's kernels the one that takes dense rows only
    X, y, qid = problem(4, n=40, copies=8)
    new, y_new, qid_new = held_out
    path = kernel_rank_path(convert(X), y, qid=qid, **options)
    best = path.select(convert(new), y_new, qid=qid_new, metric="map")
    model = there_and_back(best.to_model())
    expected = path.predict(convert(new), alpha=best.alpha)
    np.testing.assert_allclose(model.predict(convert(new)), expected, atol=1e-9 * np.abs(expected).max())
    assert model.metadata["estimator"] == "kernel_rank_path"
    assert model.metadata["alpha"] == best.alpha
    assert model.metadata["validation"] == best.score
    assert model.metadata["gap"] <= 1e-7


def test_the_model_of_a_precomputed_kernel_takes_kernel_values():
    X, y, _ = problem(5, n=30, copies=4)
    K, new = pairwise_kernels(X, metric="rbf"), pairwise_kernels(problem(6)[0], X, metric="rbf")
    path = kernel_rank_path(K, y, kernel="precomputed")
    alpha = 0.01 * path.alphas[0]
    expected = path.predict(new, alpha=alpha)
    np.testing.assert_allclose(there_and_back(path.to_model(alpha)).predict(new), expected, atol=1e-10)


@pytest.mark.parametrize("kernel", [lambda a, b: a @ b, "additive_chi2"])
def test_kernels_that_no_file_holds_are_refused_with_the_alternative(kernel):
    X, y, _ = problem(7, n=20, copies=0)
    path = kernel_rank_path(X, y, kernel=kernel)
    with pytest.raises(MarginRankError, match=r"holds the kernels linear, rbf.*Score with predict"):
        path.to_model(path.alphas[0])


@pytest.mark.parametrize("make", [rank_path, rank_rls_path, structured_rank_path, kernel_rank_path])
def test_models_keep_feature_names_and_query_normalisation(make, held_out):
    X, y, qid = problem(8)
    names = ["price", "stars", "age"]
    frame = pd.DataFrame(X, columns=names)
    data = RankingData(frame, y, qid=qid).normalized_by_query()
    new = RankingData(pd.DataFrame(held_out[0], columns=names), held_out[1], qid=held_out[2])
    best = make(data).select(new.normalized_by_query(), metric="ndcg@10")
    model = there_and_back(best.to_model(query_normalization="minmax"))
    assert model.feature_names == tuple(names)
    assert model.query_normalization == "minmax"
    assert model.metadata["estimator"] == make.__name__
    shuffled = pd.DataFrame(held_out[0], columns=names)[["age", "price", "stars"]]
    scores = model.predict(shuffled, held_out[2])
    assert evaluate(new.y, scores, qid=new.qid, metrics=["ndcg@10"])["ndcg@10"] == pytest.approx(best.score)


@pytest.mark.parametrize("make", [rank_path, rank_rls_path])
def test_models_remember_what_columns_were_divided_by(make):
    X, y, qid = problem(9)
    path = make(X, y, qid=qid, scale="standard", alpha_max=1.0, alpha_min=0.1)
    model = path.to_model(0.5)
    np.testing.assert_allclose(model.column_scale, X.std(axis=0))
    np.testing.assert_array_equal(model.coef, path.coef_at(0.5))
    assert model.metadata["parameters"]["scale"] == "standard"


def test_the_picture_of_a_kernel_path_shows_scores_and_choice_and_to_experts_active_pairs(
    path, held_out, tmp_path
):
    pytest.importorskip("matplotlib")
    X, y, qid = held_out
    best = path.select(X, y, qid=qid, metric="ndcg@5")
    assert len(path.plot(n_rows=4).axes) == 2
    figure = path.plot(n_rows=4, expert=True)
    scores, validation, active = figure.axes
    lines = {line.get_label(): line for line in scores.get_lines() if line.get_label().isdigit()}
    assert len(lines) == 4
    for row, line in lines.items():
        alphas, drawn = line.get_data()
        expected = [path.scores_at(a)[int(row)] for a in alphas[::50]]
        np.testing.assert_allclose(drawn[::50], expected, atol=1e-8)
    assert validation.get_lines()[1].get_xdata()[0] == best.alpha
    np.testing.assert_array_equal(active.get_lines()[0].get_ydata(), path.active_size)
    figure.savefig(tmp_path / "path.png")


def test_the_functions_are_where_users_look_for_them():
    for name in ("kernel_rank_path", "rank_path", "rank_rls_path", "structured_rank_path"):
        assert getattr(marginrank, name) is getattr(marginrank.paths, name)
        assert name in marginrank.__all__
