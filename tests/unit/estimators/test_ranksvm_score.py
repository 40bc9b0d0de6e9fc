"""``score`` is 1 minus the pairwise error of the predictions."""

import numpy as np
import pytest
from ranking_cases import ranking_case
from sklearn.metrics import roc_auc_score

from marginrank import RankSVM
from marginrank.metrics import pairwise_error

X, Y, QID = ranking_case()


def accuracy_by_hand(y, scores, qid, weight=None, query_weight=None, weighting="pairs"):
    """Look at every pair: 1 in the right order, 1/2 tied, 0 in the wrong order."""
    weight = np.ones(len(y)) if weight is None else weight
    right, total = {}, {}
    for i in range(len(y)):
        for j in range(len(y)):
            if qid[i] == qid[j] and y[i] < y[j]:
                q, w = qid[i], weight[i] * weight[j]
                right[q] = right.get(q, 0.0) + w * (np.sign(scores[j] - scores[i]) + 1) / 2
                total[q] = total.get(q, 0.0) + w
    of_query = query_weight or dict.fromkeys(total, 1.0)
    if weighting == "pairs":
        return sum(of_query[q] * right[q] for q in total) / sum(of_query[q] * total[q] for q in total)
    counted = [q for q in total if total[q] > 0]
    return sum(of_query[q] * right[q] / total[q] for q in counted) / sum(of_query[q] for q in counted)


@pytest.mark.parametrize("weighting", ["pairs", "queries"])
@pytest.mark.parametrize("coef", [[1, 0, 0, 0, 0, 0], [0.3, -0.2, 1, 2, 0, 1]])
def test_score_equals_looking_at_every_pair(weighting, coef):
    model = RankSVM(weighting=weighting).fit(X, Y, qid=QID)
    model.coef_ = np.array(coef, dtype=float)
    rounded = np.round(X)  # ties in the scores
    scores = model.predict(rounded)
    assert len(np.unique(scores)) < len(scores)
    expected = accuracy_by_hand(Y, scores, QID, weighting=weighting)
    assert model.score(rounded, Y, qid=QID) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("weighting", ["pairs", "queries"])
def test_score_weighs_rows_and_queries(weighting):
    rng = np.random.default_rng(1)
    weight = rng.integers(0, 3, size=len(Y)).astype(float)
    query_weight = {q: float(rng.integers(0, 3)) for q in range(12)}
    model = RankSVM(weighting=weighting).fit(X, Y, qid=QID)
    rounded = np.round(X)
    score = model.score(rounded, Y, qid=QID, sample_weight=weight, query_weight=query_weight)
    expected = accuracy_by_hand(Y, model.predict(rounded), QID, weight, query_weight, weighting)
    assert score == pytest.approx(expected, rel=1e-12)


def test_two_labels_in_one_ranking_give_the_area_under_the_curve():
    y = (Y > 1).astype(float)
    model = RankSVM().fit(X, y)
    assert model.score(X, y) == pytest.approx(roc_auc_score(y, model.predict(X)), rel=1e-12)


def test_constant_scores_give_one_half():
    model = RankSVM().fit(X, Y, qid=QID)
    assert model.score(np.zeros_like(X), Y, qid=QID) == 0.5


def test_score_is_one_minus_the_pairwise_error():
    model = RankSVM().fit(X, Y, qid=QID)
    assert model.score(X, Y, qid=QID) == 1 - pairwise_error(Y, model.predict(X), qid=QID)


def test_several_queries_are_never_scored_as_one():
    for qid in (QID, np.zeros(len(Y))):
        model = RankSVM().fit(X, Y, qid=qid)
        with pytest.raises(ValueError, match=r"trained on queries, but score got no qid.*Pass qid="):
            model.score(X, Y)


def test_one_id_for_all_rows_scores_them_as_one_query():
    model = RankSVM().fit(X, Y, qid=QID)
    expected = 1 - pairwise_error(Y, model.predict(X))
    assert model.score(X, Y, qid=np.zeros(len(Y))) == expected


def test_a_global_model_scores_without_qid():
    model = RankSVM().fit(X, Y)
    assert model.score(X, Y) == 1 - pairwise_error(Y, model.predict(X))


def test_a_model_of_pairs_can_be_scored_on_labels():
    pairs = [(j, i) for i in range(50) for j in range(50) if Y[i] < Y[j]]
    assert RankSVM().fit_pairs(X, pairs).score(X, Y) > 0.7


def test_score_needs_a_comparable_pair():
    model = RankSVM().fit(X, Y)
    with pytest.raises(ValueError, match="nothing to rank"):
        model.score(X, np.zeros(len(Y)))


def test_score_does_not_depend_on_row_order_or_threads():
    model = RankSVM().fit(X, Y, qid=QID)
    shuffled = np.random.default_rng(2).permutation(len(Y))
    score = model.score(X[shuffled], Y[shuffled], qid=QID[shuffled])
    assert score == pytest.approx(model.score(X, Y, qid=QID), rel=1e-14)
    assert model.set_params(n_jobs=1).score(X, Y, qid=QID) == model.set_params(n_jobs=4).score(X, Y, qid=QID)
