"""Weights that undo position bias, and the model behind them."""

import numpy as np
import pytest

from marginrank import RankSVM, inverse_propensity
from marginrank.clicks import skip_above_pairs
from marginrank.datasets import make_clicks, make_ranking
from marginrank.exceptions import MarginRankError
from marginrank.metrics import evaluate


def biased_log(seed=0, n_queries=400, n_sessions=8):
    """Return train features, a log of them by a weak ranker with strong bias, and a test set."""
    X, y, qid, coef = make_ranking(n_queries + 200, 12, 8, noise=0.3, return_coef=True, random_state=seed)
    rng = np.random.default_rng(seed)
    scores = X @ (coef + 1.2 * rng.normal(size=8))
    train = qid < n_queries
    log = make_clicks(
        y[train], scores[train], qid=qid[train], bias=1.5, n_sessions=n_sessions, random_state=seed
    )
    return X[train][log.rows], log, (X[~train], y[~train], qid[~train])


def ndcg(X, log, test, weight):
    ranker = RankSVM().fit(X, log.clicks, qid=log.sessions, sample_weight=weight)
    return evaluate(test[1], ranker.predict(test[0]), qid=test[2])["ndcg@10"]


def test_weighted_rows_are_the_inverse_propensity_estimate_over_written_out_pairs():
    X, log, _ = biased_log(n_queries=40, n_sessions=1)
    weights = inverse_propensity(log.clicks, log.positions, "given", propensities=log.examination)
    pairs = [
        (i, j)
        for session in range(40)
        for i in np.flatnonzero((log.sessions == session) & (log.clicks > 0))
        for j in np.flatnonzero((log.sessions == session) & (log.clicks == 0))
    ]
    by_pair = 1.0 / log.examination[[i for i, _ in pairs]]
    rows = RankSVM(alpha=0.1, tol=1e-9, loss="squared_hinge", scale=None).fit(
        X, log.clicks, qid=log.sessions, sample_weight=weights
    )
    written = RankSVM(alpha=0.1, tol=1e-9, loss="squared_hinge", scale=None).fit_pairs(
        X, np.array(pairs), weight=by_pair
    )
    # Both are within a gap of 1e-9 of the optimum of one strongly convex problem.
    np.testing.assert_allclose(rows.coef_, written.coef_, atol=1e-3)


def test_true_and_estimated_propensities_close_most_of_what_bias_costs():
    X, log, test = biased_log()
    true = inverse_propensity(log.clicks, log.positions, "given", propensities=log.examination)
    estimated = inverse_propensity(log.clicks, log.positions, X=X)
    naive, with_true, with_estimated = (ndcg(X, log, test, w) for w in (None, true, estimated))
    assert with_true > naive + 0.05
    assert with_estimated > naive + 0.03


def test_the_likelihood_rises_in_every_iteration():
    X, log, _ = biased_log(n_queries=60, n_sessions=4)
    for relevance in ({"X": X}, {"items": log.rows}):
        found = inverse_propensity(log.clicks, log.positions, **relevance)
        assert np.diff(found.log_likelihood).min() > -1e-7  # the ridge of the logistic function
        assert found.n_iter == len(found.log_likelihood) - 1


def test_items_at_several_positions_tell_bias_from_relevance():
    y = np.tile([0.0, 1.0, 2.0, 3.0, 0.0], 20)
    qid = np.repeat(np.arange(20), 5)
    rng = np.random.default_rng(0)
    loggers = [y + rng.normal(size=100) for _ in range(6)]  # better than chance, so click rates mislead
    log = make_clicks(y, loggers, qid=qid, n_sessions=2000, bias=1.0, noise=0.2)
    found = inverse_propensity(log.clicks, log.positions, items=log.rows, tol=1e-10, max_iter=2000)
    truth = 1.0 / np.arange(1, 6)
    np.testing.assert_allclose(found.propensities, truth, atol=0.03)
    with pytest.warns(UserWarning, match="do not tell position bias from a good logging ranker"):
        rates = inverse_propensity(log.clicks, log.positions)
    assert np.abs(rates.propensities - truth).max() > 0.1


def test_click_rates_of_random_orders_are_the_propensities():
    y = np.tile([0.0, 1.0, 2.0, 3.0], 50)
    log = make_clicks(y, None, qid=np.repeat(np.arange(50), 4), n_sessions=400, bias=1.0)
    found = inverse_propensity(log.clicks, log.positions, "randomised")
    np.testing.assert_allclose(found.propensities, 1.0 / np.arange(1, 5), atol=0.03)


def test_clipping_bounds_the_weights_and_is_counted():
    found = inverse_propensity([1, 1, 0, 1], [1, 2, 3, 3], "given", propensities=[1.0, 0.5, 0.01], clip=0.1)
    assert found.weights.tolist() == [1.0, 2.0, 1.0, 10.0]
    assert (found.n_clicks, found.n_clipped) == (3, 1)
    assert found.effective_sample_size == pytest.approx(13.0**2 / 105.0)
    assert "3 clicks, 1 of them clipped" in repr(found)


def test_propensities_may_be_a_mapping_or_one_per_row():
    clicks, positions = [1, 1, 0, 1], [1, 3, 3, 1]
    by_position = {1: 1.0, 3: 0.25}
    for given in (by_position, [1.0, 0.5, 0.25], [1.0, 0.25, 0.25, 1.0]):
        found = inverse_propensity(clicks, positions, "given", propensities=given)
        assert found.weights.tolist() == [1.0, 4.0, 1.0, 1.0]


def test_skip_above_pairs_are_the_definition_and_warn():
    log = make_clicks(np.tile([0, 1, 2], 30), None, qid=np.repeat(np.arange(30), 3), bias=0.5)
    with pytest.warns(UserWarning, match="teach a model to reverse it"):
        pairs = skip_above_pairs(log.clicks, log.positions, qid=log.sessions)
    expected = {
        (i, j)
        for i in range(90)
        for j in range(90)
        if log.sessions[i] == log.sessions[j]
        and log.clicks[i] > log.clicks[j]
        and log.positions[j] < log.positions[i]
    }
    assert {(int(i), int(j)) for i, j in pairs} == expected
    assert len(pairs) == len(expected) > 0


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (([0, 2], [1, 2]), "clicks must be 0 or 1; got 2"),
        (([0, 1], [0, 1]), "positions must be integers from 1"),
        (([0, 1], [1]), "positions must have one entry per entry of clicks; got 1 for 2"),
        (([0, 1], [1, 2], "randomised"), "there is no click at position 1"),
        (([1, 1], [1, 2], "given"), "method='given' needs propensities"),
    ],
)
def test_what_cannot_be_used_is_a_sentence(arguments, sentence):
    with pytest.raises(MarginRankError, match=sentence):
        inverse_propensity(*arguments)
