"""Greedy RankRLS against forward selection by refits, and what its results say."""

from itertools import combinations

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from marginrank import RankingData, RankRLS, rank_rls_selection, write_dataset
from marginrank.exceptions import InterruptedWarning, MarginRankError
from marginrank.metrics import evaluate
from marginrank.training import forward_selection, pair_out
from marginrank.training.query_out import QueryOut

ALPHA = 0.03
# Sums of about 60 products in another order; the columns are far from dependent.
CLOSE = {"rtol": 1e-9, "atol": 1e-12}


def problem(seed=0, n_columns=7, sizes=(5, 1, 8, 3, 6, 9, 2, 7)):
    """Rows of queries in a random order, with columns that share much and one that orders nothing."""
    rng = np.random.default_rng(seed)
    qid = rng.permutation(np.repeat(np.arange(len(sizes)), sizes))
    X = rng.normal(size=(len(qid), n_columns))
    X[:, 3] = X[:, 2] + 0.3 * rng.normal(size=len(qid))
    X[:, 5] = np.arange(len(sizes))[qid]
    y = X[:, 2] - 0.7 * X[:, 4] + 0.4 * X[:, 0] + rng.normal(size=len(qid))
    return X, y, qid


def refit(X, y, alpha, **given):
    """Return the weights of RankRLS, exactly."""
    return RankRLS(alpha, scale=None, solver="direct").fit(X, y, **given).coef_


def least_squares(X, y, alpha, qid):
    """Return the same from rows of the regularisation below the centred ones: no product of X with itself."""
    rows = np.column_stack([X, y])
    for q in np.unique(qid):
        rows[qid == q] -= rows[qid == q].mean(axis=0)
    below = np.sqrt(0.5 * alpha * len(y)) * np.eye(X.shape[1], X.shape[1] + 1)
    stacked = np.vstack([rows, below])
    return np.linalg.lstsq(stacked[:, :-1], stacked[:, -1], rcond=None)[0]


def centred_square(errors, weight):
    mean = np.average(errors, weights=weight)
    return float((weight * (errors - mean) ** 2).sum())


def query_out_scores(X, y, qid, alpha, weight, query_weight):
    """Return the scores of each query by RankRLS without it, at the same lambda."""
    total = weight * np.array([query_weight[q] for q in qid])
    scores = np.empty(len(y))
    for q in np.unique(qid):
        rest = qid != q
        without = alpha * total.sum() / total[rest].sum()
        kept = {other: query_weight[other] for other in np.unique(qid[rest])}
        given = {"qid": qid[rest], "sample_weight": weight[rest], "query_weight": kept}
        scores[~rest] = X[~rest] @ refit(X[rest], y[rest], without, **given)
    return scores


def query_out_error(X, y, qid, alpha, weight, query_weight):
    """Return the mean squared error of these scores."""
    errors = query_out_scores(X, y, qid, alpha, weight, query_weight) - y
    total = weight * np.array([query_weight[q] for q in qid])
    return sum(centred_square(errors[qid == q], total[qid == q]) for q in np.unique(qid)) / total.sum()


def by_refits(error, columns, n_features):
    """Return what forward selection chooses, of equally good columns the first, and the error after each."""
    chosen, curve = [], []
    for _ in range(n_features):
        errors = {j: error([*chosen, j]) for j in columns if j not in chosen}
        best = min(errors, key=errors.get)
        chosen.append(best)
        curve.append(errors[best])
    return chosen, curve


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("storage", [np.asarray, sparse.csr_matrix])
def test_selection_equals_forward_selection_by_refits_of_rank_rls(weighted, storage):
    X, y, qid = problem()
    rng = np.random.default_rng(1)
    weight = rng.uniform(0.5, 2.0, len(y)) if weighted else np.ones(len(y))
    query_weight = {q: rng.uniform(0.5, 2.0) if weighted else 1.0 for q in np.unique(qid)}
    given = {"sample_weight": weight, "query_weight": query_weight} if weighted else {}
    chosen = rank_rls_selection(storage(X), y, qid=qid, n_features=5, alpha=ALPHA, scale=None, **given)

    def error(columns):
        return query_out_error(X[:, columns], y, qid, ALPHA, weight, query_weight)

    columns, curve = by_refits(error, [0, 1, 2, 3, 4, 6], 5)  # the other one orders nothing
    assert chosen.features == columns
    np.testing.assert_allclose(chosen.curve, curve, **CLOSE)


def test_float32_features_are_taken_as_they_are():
    X, y, qid = problem(2)
    X = X.astype(np.float32)
    single = rank_rls_selection(X, y, qid=qid, n_features=4)
    double = rank_rls_selection(X.astype(np.float64), y, qid=qid, n_features=4)
    assert single.features == double.features
    np.testing.assert_allclose(single.curve, double.curve, **CLOSE)


def test_metric_is_that_of_held_out_scores():
    X, y, qid = problem(3)
    labels = np.digitize(y, [0.0, 1.0]).astype(float)
    chosen = rank_rls_selection(X, labels, qid=qid, n_features=3, alpha=ALPHA, scale=None, metric="ndcg@10")
    ones = dict.fromkeys(np.unique(qid), 1.0)
    for k in (1, 2, 3):
        columns = chosen.features[:k]
        scores = query_out_scores(X[:, columns], labels, qid, ALPHA, np.ones(len(y)), ones)
        expected = evaluate(labels, scores, qid=qid, metrics=["ndcg@10"])["ndcg@10"]
        assert chosen.quality.values[k - 1] == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("scale", [None, "standard", "minmax", "auto"])
def test_models_are_those_of_rank_rls_on_the_chosen_columns(scale):
    X, y, qid = problem(4)
    X[:, 0] *= 1e4
    chosen = rank_rls_selection(X, y, qid=qid, n_features=6, alpha=ALPHA, scale=scale)
    for k in (1, 3, 6):
        columns = chosen.features[:k]
        divisor = chosen.model(k).column_scale
        units = np.ones(X.shape[1]) if divisor is None else divisor
        expected = np.zeros(X.shape[1])
        expected[columns] = least_squares((X / units)[:, columns], y, ALPHA, qid) / units[columns]
        np.testing.assert_allclose(chosen.model(k).coef, expected, rtol=1e-9, atol=1e-16)
        assert chosen.model(k).features_used.tolist() == sorted(columns)
    assert (chosen.scale is None) == (divisor is None)


def pair_out_error(X, y, alpha, pairs):
    """Return half the mean squared error of differences, each by RankRLS without the pair, same lambda."""
    total = 0.0
    for a, b in pairs:
        rest = np.delete(np.arange(len(y)), [a, b])
        w = refit(X[rest], y[rest], alpha * len(y) / len(rest))
        total += ((y[a] - y[b]) - (X[a] - X[b]) @ w) ** 2
    return 0.5 * total / len(pairs)


def one_ranking(seed, n_rows=14):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, 5))
    return X, np.round(2.0 * X[:, 3] + X[:, 1] + 0.5 * rng.normal(size=n_rows), 1)


@pytest.mark.parametrize("storage", [np.asarray, sparse.csr_matrix])
def test_one_ranking_equals_forward_selection_by_refits_without_each_pair(storage):
    X, y = one_ranking(5)
    pairs = list(combinations(range(len(y)), 2))
    chosen = rank_rls_selection(storage(X), y, n_features=4, alpha=ALPHA, scale=None)
    columns, curve = by_refits(lambda c: pair_out_error(X[:, c], y, ALPHA, pairs), range(5), 4)
    assert chosen.held_out == "pairs"
    assert chosen.features == columns
    np.testing.assert_allclose(chosen.curve, curve, **CLOSE)
    np.testing.assert_allclose(chosen.model(4).coef[columns], refit(X[:, columns], y, ALPHA), rtol=1e-9)


def test_one_ranking_is_measured_by_the_share_of_held_out_pairs_in_wrong_order():
    X, y = one_ranking(6)
    chosen = rank_rls_selection(X, y, n_features=2, alpha=ALPHA, scale=None)
    wrong = []
    for a, b in combinations(range(len(y)), 2):
        if y[a] != y[b]:
            rest = np.delete(np.arange(len(y)), [a, b])
            w = refit(X[rest][:, chosen.features], y[rest], ALPHA * len(y) / len(rest))
            wrong.append((y[a] - y[b]) * ((X[a] - X[b])[chosen.features] @ w) < 0.0)
    assert chosen.quality.values[1] == pytest.approx(np.mean(wrong), abs=1e-12)


def test_one_ranking_of_all_features_is_measured_as_by_leave_pair_out_of_rank_rls():
    X, y = one_ranking(19, n_rows=40)
    chosen = rank_rls_selection(X, y, n_features=5, alpha=ALPHA, scale=None)
    same = ALPHA * len(y) / (len(y) - 2)  # the same lambda; of RankRLS alpha is that without the pair
    ranker = RankRLS("auto", alphas=[same], cv="leave_pair_out", scale=None).fit(X, y)
    assert chosen.quality.values[4] == pytest.approx(ranker.best_score_, abs=1e-12)
    assert chosen.quality.std[4] == pytest.approx(ranker.validation_std_[0], rel=1e-9)


def test_of_many_rows_drawn_pairs_are_held_out(monkeypatch):
    X, y = one_ranking(7, n_rows=15)
    monkeypatch.setattr(pair_out, "MOST_PAIRS", 30)
    first, second = pair_out.held_out_pairs(len(y))
    assert len(first) == 35  # five rounds of seven pairs
    assert np.bincount(np.append(first, second)).max() <= 5
    chosen = rank_rls_selection(X, y, n_features=2, alpha=ALPHA, scale=None)
    pairs = list(zip(first, second, strict=True))
    columns, curve = by_refits(lambda c: pair_out_error(X[:, c], y, ALPHA, pairs), range(5), 2)
    assert chosen.features == columns
    np.testing.assert_allclose(chosen.curve, curve, **CLOSE)


@pytest.mark.parametrize("queries", [True, False])
def test_of_equally_good_columns_the_first_is_chosen(queries):
    X, y, qid = problem(8)
    X = X[:, [1, 2, 2, 0, 2, 4]] * [1.0, -1.0, 2.0, 1.0, 1.0, 1.0]
    given = {"qid": qid} if queries else {}
    chosen = rank_rls_selection(X, y, n_features=1, scale="standard", alpha=ALPHA, **given)
    assert chosen.features == [1]


@pytest.mark.parametrize("queries", [True, False])
def test_bits_do_not_depend_on_threads(queries):
    X, y, qid = problem(9, n_columns=11, sizes=tuple(range(2, 40)))
    given = {"qid": qid} if queries else {}
    found = [rank_rls_selection(X, y, n_features=6, n_jobs=jobs, **given) for jobs in (1, 2, 3)]
    for other in found[1:]:
        assert other.features == found[0].features
        assert other.curve.tobytes() == found[0].curve.tobytes()
        assert other.model().coef.tobytes() == found[0].model().coef.tobytes()


@pytest.mark.parametrize("queries", [True, False])
def test_columns_that_repeat_others_add_nothing_but_less_regularisation(queries):
    X, y, qid = problem(10)
    twice = np.hstack([X, X])
    given = {"qid": qid} if queries else {}
    once = rank_rls_selection(X, y, n_features=6, alpha=1e-13, scale=None, **given)
    found = rank_rls_selection(twice, y, n_features=12, alpha=1e-13, scale=None, **given)
    assert found.curve.min() >= once.curve.min() * (1.0 - 1e-6)
    scores = found.model().predict(twice)
    np.testing.assert_allclose(scores, once.model().predict(X), atol=1e-6)


def test_a_large_offset_costs_no_digits():
    X, y, qid = problem(11)
    X = np.round(X * 1024.0) / 1024.0  # so that the sums below are exact
    plain = rank_rls_selection(X, y, qid=qid, n_features=5, scale=None)
    moved = rank_rls_selection(X + 2.0**30 * (1.0 + qid[:, None]), y, qid=qid, n_features=5, scale=None)
    assert moved.features == plain.features
    np.testing.assert_allclose(moved.curve, plain.curve, **CLOSE)


def test_standard_errors_are_paired_over_queries():
    X, y, qid = problem(12, sizes=(6,) * 9)
    chosen = rank_rls_selection(X, y, qid=qid, n_features=3, alpha=ALPHA, scale=None)
    ones = dict.fromkeys(np.unique(qid), 1.0)
    errors = np.empty((3, 9))
    for k in range(3):
        left = y - query_out_scores(X[:, chosen.features[: k + 1]], y, qid, ALPHA, np.ones(len(y)), ones)
        errors[k] = [centred_square(left[qid == q], np.ones(6)) / 6 for q in np.unique(qid)]
    best = int(np.argmin(errors.mean(axis=1)))
    assert chosen.error.best == best + 1
    np.testing.assert_allclose(chosen.error.std, errors.std(axis=1, ddof=1) / 3.0, rtol=1e-9)
    difference = errors - errors[best]
    np.testing.assert_allclose(chosen.error.diff_std, difference.std(axis=1, ddof=1) / 3.0, atol=1e-12)
    worse = chosen.curve - chosen.curve.min()
    assert chosen.error.smallest == 1 + int(np.argmax(worse <= 0.5 * chosen.error.diff_std))


def test_standard_errors_of_pairs_are_those_of_a_mean_over_pairs_of_independent_rows():
    # Half the squared difference of labels: their variance, whose standard error is known.
    rng = np.random.default_rng(13)
    n_rows, repeats = 60, 200
    means, errors = [], []
    for _ in range(repeats):
        y = rng.normal(size=n_rows)
        chosen = rank_rls_selection(rng.normal(size=(n_rows, 1)), y, n_features=1, alpha=1e6, scale=None)
        means.append(chosen.curve[0])
        errors.append(chosen.error.std[0])
    # 200 draws know a deviation to 5%; three times that, and a tenth for 60 rows.
    assert np.mean(errors) == pytest.approx(np.std(means), rel=0.25)


def test_names_of_frames_come_along_and_models_need_the_chosen_columns_only():
    X, y, qid = problem(14)
    frame = pd.DataFrame(X, columns=[f"column {j}" for j in range(X.shape[1])])
    chosen = rank_rls_selection(frame.assign(qid=qid), y, n_features=2)
    assert chosen.feature_names == [f"column {j}" for j in chosen.features]
    model = chosen.model(2)
    scores = model.predict(frame[chosen.feature_names[::-1]])
    np.testing.assert_array_equal(scores, model.predict(frame))
    assert model.metadata["parameters"]["n_features"] == 2


def test_interrupted_selections_return_what_they_have(monkeypatch):
    X, y, qid = problem(15)
    choose, calls = QueryOut.choose, []

    def interrupted(self, column):
        calls.append(column)
        if len(calls) == 3:
            raise KeyboardInterrupt
        choose(self, column)

    whole = rank_rls_selection(X, y, qid=qid, n_features=5)
    monkeypatch.setattr(QueryOut, "choose", interrupted)
    with pytest.warns(InterruptedWarning, match="interrupted after 2 of 5"):
        part = rank_rls_selection(X, y, qid=qid, n_features=5)
    assert part.features == whole.features[:2]
    assert part.model().coef.tobytes() == whole.model(2).coef.tobytes()


def test_picture_shows_every_feature_and_both_curves():
    X, y, qid = problem(16)
    chosen = rank_rls_selection(X, y, qid=qid, n_features=4)
    error, quality = chosen.plot().axes
    assert [text.get_text() for text in quality.get_xticklabels()] == [
        f"{k}. f{column + 1}" for k, column in enumerate(chosen.features, 1)
    ]
    np.testing.assert_array_equal(error.lines[0].get_ydata(), chosen.curve)
    np.testing.assert_array_equal(quality.lines[0].get_ydata(), chosen.quality.values)
    names = [f"n{j}" for j in range(X.shape[1])]
    labels = chosen.plot(feature_names=names).axes[1].get_xticklabels()
    assert labels[0].get_text() == f"1. n{chosen.features[0]}"


def test_verbose_tells_of_every_feature(capsys):
    X, y, qid = problem(17)
    rank_rls_selection(X, y, qid=qid, n_features=3, verbose=1)
    lines = capsys.readouterr().err.splitlines()
    assert lines[0].split() == ["features", "error"]
    assert [line.split()[0] for line in lines[1:]] == ["1", "2", "3"]


def test_requests_that_cannot_be_met_get_a_sentence(tmp_path, monkeypatch):
    X, y, qid = problem(18)

    def refused(match, *args, **given):
        with pytest.raises(MarginRankError, match=match):
            rank_rls_selection(*args, **{"n_features": 2, **given})

    refused(r"n_features must be an integer from 1 to 7; got 8", X, y, qid=qid, n_features=8)
    refused(r"n_features must be at most 6, the number of columns that differ", X, y, qid=qid, n_features=7)
    refused(r"leave-pair-out, which has no weights of rows", X, y, sample_weight=np.linspace(1, 2, len(y)))
    refused(r"only the pairwise error can measure; got metric='ndcg@10'", X, np.abs(y), metric="ndcg@10")
    refused(r"needs at least two queries of two rows or more; got 1", X[:5], y[:5], qid=[1, 1, 2, 3, 4])
    refused(r"at least three rows; got 2", X[:2], y[:2])
    refused(r"these data hold pairs and no y", RankingData(X, pairs=[[0, 1]]))
    refused(r"give one of y and pairs", X)
    stored = write_dataset(tmp_path / "data.mrd", X, y, qid=qid)
    refused(r"The choice of features needs the rows in memory", stored)
    monkeypatch.setattr(forward_selection, "physical_memory", lambda: 1000)
    refused(r"takes 0.0 GB of memory \(7 queries times 7 columns times 2 features\)", X, y, qid=qid)
    refused(r"dense copies of 41 rows and 7 columns", X, y)


@pytest.mark.parametrize("one_ranking", [False, True])
@pytest.mark.parametrize("seed", range(3))
def test_auto_takes_the_alpha_of_the_least_held_out_error(seed, one_ranking):
    X, y, qid = problem(seed)
    given = {} if one_ranking else {"qid": qid}
    found = rank_rls_selection(X, y, n_features=4, alpha="auto", **given)
    alphas = 10.0 ** np.arange(2.0, -9.0, -1.0)
    every = [rank_rls_selection(X, y, n_features=4, alpha=alpha, **given) for alpha in alphas]
    least = [chosen.curve.min() for chosen in every]
    # The search ends after two that are no better: before those the first minimum is the least.
    best = next(
        k for k in range(len(least)) if least[k] == min(least[: k + 3]) and least[k] == min(least[: k + 1])
    )
    assert found.alpha == pytest.approx(alphas[best])
    assert found.features == every[best].features
    assert found.model(3).coef.tobytes() == every[best].model(3).coef.tobytes()


def test_other_words_for_alpha_are_refused():
    X, y, qid = problem()
    with pytest.raises(ValueError, match=r"alpha must be 'auto' or a positive, finite number; got 'best'"):
        rank_rls_selection(X, y, qid=qid, n_features=2, alpha="best")
