"""Folds of remote rows in lockstep: one call for what all of them ask, and the bits of each alone."""

import numpy as np
import pytest

from marginrank import RankingData, RankSVM
from marginrank.designs.lockstep import LatestAsks, in_lockstep
from marginrank.designs.shared_calls import AskingEngine, CallsTogether
from marginrank.distributed import RemoteData
from marginrank.storage.engines import EngineRequest, RemoteMatrix, SerialEngine
from marginrank.training import alpha_searches

RNG = np.random.default_rng(0)
X = RNG.normal(size=(600, 6))
DATA = RankingData(X, np.round(X[:, 0] + RNG.normal(size=600)).clip(-1, 1), qid=np.arange(600) // 10)
BOUNDS = np.array([0, 150, 310, 600])


class Counting(SerialEngine):
    """Counts the calls, and the requests of each."""

    def __init__(self):
        super().__init__(lambda k: X[BOUNDS[k] : BOUNDS[k + 1]])
        self.calls = []

    def _counted(self, n_requests, ask):
        before = list(self.calls)
        found = ask()
        self.calls = [*before, n_requests]
        return found

    def gather(self, *question):
        return self._counted(1, lambda: SerialEngine.gather(self, *question))

    def tree_sum(self, *question):
        return self._counted(1, lambda: SerialEngine.tree_sum(self, *question))

    def together(self, requests):
        return self._counted(len(requests), lambda: SerialEngine.together(self, requests))


def _total(rows, shared, own):
    return rows.sum(axis=0) * shared


def _rows(rows, shared, own):
    return rows[:1] + own


def test_requests_that_are_asked_together_have_the_answers_of_each():
    engine = Counting()
    handle, other = engine.prepare(None, [0, 1, 2], [None] * 3), engine.prepare(None, [0, 2], [None] * 2)
    requests = [
        EngineRequest("tree_sum", handle, _total, 2.0),
        EngineRequest("gather", other, _rows, None, [0.5, -1.0]),
        EngineRequest("tree_sum", other, _total, 1.0),
    ]
    first, rows, last = engine.together(requests)
    assert engine.calls == [3]
    np.testing.assert_array_equal(first, engine.tree_sum(handle, _total, 2.0))
    np.testing.assert_array_equal(rows, engine.gather(other, _rows, None, [0.5, -1.0]))
    np.testing.assert_array_equal(last, engine.tree_sum(other, _total, 1.0))


def test_functions_in_lockstep_share_calls_and_others_ask_alone():
    engine, asks = Counting(), LatestAsks()
    asking = AskingEngine(engine, asks)
    handle = asking.prepare(None, [0, 1, 2], [None] * 3)

    def ask(times, own):
        with asks.by(own):
            return [asking.tree_sum(handle, _total, float(k)) for k in range(times)]

    found = in_lockstep([lambda own, n=n: ask(n, own) for n in (3, 1, 2)], CallsTogether(engine))
    assert engine.calls == [3, 2, 1]
    assert [len(one) for one in found] == [3, 1, 2]
    for k in range(3):
        np.testing.assert_array_equal(found[0][k], asking.tree_sum(handle, _total, float(k)))
    assert engine.calls == [3, 2, 1, 1, 1, 1]


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
def test_folds_that_share_calls_choose_and_train_the_same_to_the_bit(loss, monkeypatch):
    found = {}
    for at_once in (1, 8):
        monkeypatch.setattr(alpha_searches, "folds_at_once", lambda problem, at_once=at_once: at_once)
        engine = Counting()
        there = RemoteData.like(DATA, RemoteMatrix(engine, BOUNDS, 6, X.dtype))
        found[at_once] = RankSVM(loss, alpha="auto").fit(there), engine.calls
    (apart, many), (together, few) = found[1], found[8]
    assert together.alpha_ == apart.alpha_
    np.testing.assert_array_equal(together.coef_, apart.coef_)
    np.testing.assert_array_equal(together.validation_curve_, apart.validation_curve_)
    assert max(many) == 1
    assert max(few) == 5
    assert sum(few) == sum(many)
    assert len(few) < len(many)
