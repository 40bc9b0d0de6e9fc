"""Made click logs: what is shown where, and how often it is clicked."""

import numpy as np
import pytest

from marginrank.datasets import make_clicks, make_ranking
from marginrank.exceptions import MarginRankError


@pytest.fixture(name="rows", scope="module")
def some_rows():
    X, y, qid = make_ranking(200, (3, 12), 8)
    shuffle = np.random.default_rng(0).permutation(len(y))
    return y[shuffle], X[shuffle, 0], qid[shuffle]


def test_each_session_shows_one_query_by_falling_scores(rows):
    y, scores, qid = rows
    log = make_clicks(y, scores, qid=qid, n_sessions=3)
    assert len(log.rows) == 3 * len(y)
    assert len(np.unique(log.sessions)) == 600
    for session in range(0, 600, 37):
        mine = log.sessions == session
        assert log.positions[mine].tolist() == list(range(1, mine.sum() + 1))
        assert len(set(qid[log.rows[mine]].tolist())) == 1
        assert (np.diff(scores[log.rows[mine]]) <= 0).all()
        assert mine.sum() == (qid == qid[log.rows[mine][0]]).sum()


def test_the_same_seed_gives_the_same_log(rows):
    y, scores, qid = rows
    first, again, other = (make_clicks(y, scores, qid=qid, random_state=seed) for seed in (1, 1, 2))
    assert all(np.array_equal(a, b) for a, b in zip(first, again, strict=True))
    assert not np.array_equal(first.clicks, other.clicks)


def test_clicks_are_as_frequent_as_position_and_label_say():
    y = np.array([0.0, 1.0, 2.0])
    log = make_clicks(y, None, n_sessions=20_000, bias=1.5, noise=0.1)
    for row, liking in enumerate((0.1, 0.1 + 0.9 / 3, 1.0)):
        for position in (1, 2, 3):
            mine = (log.rows == row) & (log.positions == position)
            expected = position**-1.5 * liking
            deviation = np.sqrt(expected * (1 - expected) / mine.sum())
            assert abs(log.clicks[mine].mean() - expected) <= 5 * deviation  # one in a million
            assert (log.examination[mine] == position**-1.5).all()


def test_several_loggers_share_the_sessions_and_none_is_a_random_order(rows):
    y, scores, qid = rows
    log = make_clicks(y, [scores, -scores, None], qid=qid, n_sessions=2)
    first = log.positions == 1
    assert np.bincount(log.loggers[first]).min() > 80  # of 400 sessions
    for session in range(0, 400, 13):
        mine = log.sessions == session
        shown = scores[log.rows[mine]]
        if log.loggers[mine][0] < 2:
            assert (np.diff(shown if log.loggers[mine][0] else -shown) >= 0).all()


def test_a_cutoff_hides_the_rest(rows):
    y, scores, qid = rows
    log = make_clicks(y, scores, qid=qid, cutoff=4)
    assert log.positions.max() == 4
    assert len(log.rows) == np.minimum(np.unique(qid, return_counts=True)[1], 4).sum()


def test_labels_and_scores_that_do_not_fit_are_a_sentence():
    with pytest.raises(MarginRankError, match="y must be from 0 to 60; got -1 to 2"):
        make_clicks([-1, 2], [1.0, 2.0])
    with pytest.raises(MarginRankError, match="scores must have one entry per row of y; got 2 for 3"):
        make_clicks([0, 1, 2], [[1.0, 2.0], None])
