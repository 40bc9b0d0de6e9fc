"""The estimate of a search: of the data themselves, or of a sample times the length of a pass."""

import numpy as np
import pytest

from marginrank import RankingData, RankSVM, search_cost
from marginrank.inspection import inspect
from marginrank.search_cost import sampled_rows, search_seconds


class Clock:
    """Stands in for the time: every pass over a row takes one unit, and nothing else takes any."""

    def __init__(self):
        self.now = 0.0

    def __call__(self):
        return self.now


@pytest.fixture
def clock(monkeypatch):
    clock = Clock()
    fit = RankSVM.fit

    def timed(self, data, **more):
        fit(self, data, **more)
        clock.now += self.n_passes_ * data.n_rows
        return self

    monkeypatch.setattr(search_cost, "perf_counter", clock)
    monkeypatch.setattr(RankSVM, "fit", timed)
    return clock


def ranking(n_queries, seed=0, n_features=5):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((10 * n_queries, n_features))
    y = np.digitize(X[:, 0] + rng.standard_normal(len(X)), [0.0, 1.0])
    return RankingData(X, y, qid=np.arange(len(X)) // 10)


@pytest.mark.filterwarnings("ignore")
def test_small_data_are_searched_themselves(clock):
    data = ranking(30)
    assert search_seconds(data) == RankSVM(alpha="auto").fit(data).n_passes_ * data.n_rows


@pytest.mark.filterwarnings("ignore")
def test_of_large_data_a_sample_is_searched_and_scaled_by_its_passes(clock, monkeypatch):
    data = ranking(1000)
    monkeypatch.setattr(search_cost, "sampled_rows", lambda data: sampled_rows(data, entries=10_000))
    rows = sampled_rows(data, entries=10_000)
    assert len(rows) == 2000
    passes = RankSVM(alpha="auto").fit(data.subset(rows)).n_passes_
    assert search_seconds(data) == pytest.approx(passes * data.n_rows)
    assert search_seconds(data) == pytest.approx(
        RankSVM(alpha="auto").fit(data).n_passes_ * data.n_rows, rel=0.5
    )


def test_samples_are_whole_queries_enough_rows_or_pairs():
    data = ranking(1000)
    rows = sampled_rows(data, entries=100)
    qid = data.qid[rows]
    assert len(np.unique(qid)) == 200
    assert len(rows) == 2000
    one = RankingData(data.X, data.y)
    rows = sampled_rows(one, entries=100)
    assert len(np.unique(rows)) == 2000
    pairs = np.stack([np.arange(9000), np.arange(1, 9001)], axis=1)
    rows = sampled_rows(RankingData(data.X, pairs=pairs), entries=100)
    assert len(rows) >= 4000
    assert sampled_rows(data) is None


def test_a_long_search_is_ended_and_its_share_counts(monkeypatch):
    now = iter(np.arange(0.0, 1e6, 1.0))
    monkeypatch.setattr(search_cost, "perf_counter", lambda: float(next(now)))
    seconds = search_seconds(ranking(30))
    assert 6.0 < seconds < 1e4  # ended after six looks at the clock, and less than all was done


def test_data_that_cannot_be_searched_have_no_estimate_and_reports_ask_for_none():
    alike = RankingData(np.ones((10, 2)), y=np.zeros(10), qid=np.arange(10) // 2)
    assert inspect(alike).search_seconds is None
    assert inspect(ranking(30), time_search=False).search_seconds is None
    assert inspect(ranking(30)).search_seconds > 0.0
