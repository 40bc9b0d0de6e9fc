"""Rankers through any life: fitted, fitted again, failed, interrupted, copied, saved, loaded, in any order.

Hypothesis chooses the order. What must hold after every step is written once, below. ``MARGINRANK_LIVES=500``
tries so many lives of each ranker at random, instead of a few that are the same in every run.
"""

import copy
import os
import pickle
import shutil
import tempfile
import warnings
from pathlib import Path

import numpy as np
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from marginrank import KernelRankSVM, RankingModel, RankRLS, RankSVM, StructuredRankSVM
from marginrank.exceptions import MarginRankError

LIVES = os.environ.get("MARGINRANK_LIVES")
SETTINGS = settings(
    max_examples=int(LIVES or 20), stateful_step_count=14, derandomize=LIVES is None, deadline=None
)

RANKERS = {
    "hinge": RankSVM(alpha=0.05, n_jobs=1),
    "squared hinge by Newton, scaled": RankSVM("squared_hinge", alpha=0.1, solver="newton", scale="standard"),
    "warm start": RankSVM("squared_hinge", alpha=0.1, warm_start=True),
    "sparse and bounded": RankSVM(alpha=0.05, l1_ratio=0.5, bounds=(-1.0, None)),
    "alpha by folds": RankSVM(alpha="auto", alphas=[1.0, 0.1], cv=2),
    "least squares": RankRLS(alpha=0.1, solver="cg"),
    "least squares, alpha by leaving out": RankRLS("auto", alphas=[1.0, 0.1], cv=None, solver="direct"),
    "structured": StructuredRankSVM("ndcg", alpha=0.1),
    "kernel": KernelRankSVM(gamma=0.5, n_components=4, alpha=0.1, random_state=0),
}
WIDTHS = (2, 3, 5)


def problem(seed, width, kind="dense"):
    rng = np.random.default_rng([seed, width])
    X = rng.standard_normal((24, width)).round(3)
    y = np.digitize(X[:, 0] - X[:, 1] + rng.standard_normal(24), [-0.5, 0.5]).astype(float)
    y[::6], y[1::6] = 0.0, 2.0  # every query has something to rank
    return (sparse.csr_matrix(X) if kind == "sparse" else X), y, np.arange(24) // 6


def spoiled(how, seed, width):
    """Return arguments of a fit that cannot be: the fault is in the middle of good rows."""
    X, y, qid = problem(seed, width)
    if how == "a feature is no number":
        X[12, 1] = np.nan
    elif how == "a feature is infinite":
        X[12, 0] = -np.inf
    elif how == "a label is no number":
        y[12] = np.nan
    elif how == "a label is missing":
        y = y[:-1]
    elif how == "too many ids":
        qid = np.append(qid, 7)
    elif how == "nothing to rank":
        y = np.ones(24)
    elif how == "every row is a query":
        qid = np.arange(24)
    elif how == "no rows":
        X, y, qid = X[:0], y[:0], qid[:0]
    return X, y, qid


SPOILED = (
    *("a feature is no number", "a feature is infinite", "a label is no number", "a label is missing"),
    *("too many ids", "nothing to rank", "every row is a query", "no rows"),
)
WRONG_PARAMETERS = ({"alpha": -1.0}, {"tol": -1.0}, {"max_iter": 0}, {"alpha": "most"}, {"scale": "best"})

seeds = st.integers(0, 3)
widths = st.sampled_from(WIDTHS)


class BrokenCallbackError(Exception):
    """What a callback of the user raises."""


def raising(error, at):
    """Return a callback that raises at a call, counted from 0."""
    calls = iter(range(10**9))

    def callback(progress):
        if next(calls) == at:
            raise error

    return callback


class Life(RuleBasedStateMachine):
    """One ranker, and what is known of it: its parameters, and what it scores where it is fitted."""

    ranker_to_begin_with = RANKERS["hinge"]

    def __init__(self):
        super().__init__()
        self.folder = Path(tempfile.mkdtemp(prefix="marginrank-life-"))
        self.saved = {}

    def teardown(self):
        shutil.rmtree(self.folder)

    @initialize()
    def is_born(self):
        self.ranker = clone(self.ranker_to_begin_with)
        self.parameters = self.ranker.get_params()
        self.forget()

    def forget(self):
        self.scores = None
        self.width = None

    def probe(self, width):
        return np.random.default_rng([9, width]).standard_normal((7, width))

    def look(self):
        """Take note of what the ranker scores now."""
        self.width = self.ranker.n_features_in_
        self.scores = self.ranker.predict(self.probe(self.width))
        assert np.isfinite(self.scores).all()

    def unchanged(self, before):
        """Every attribute is the very object that it was."""
        after = vars(self.ranker)
        assert after.keys() == before.keys()
        assert [name for name in before if after[name] is not before[name]] == []

    @rule(seed=seeds, width=widths, kind=st.sampled_from(["dense", "sparse"]))
    def fit(self, seed, width, kind):
        X, y, qid = problem(seed, width, kind)
        given = X.copy(), y.copy(), qid.copy()
        fresh = copy.deepcopy(self.ranker) if self.is_warm else clone(self.ranker)
        assert self.ranker.fit(X, y, qid=qid) is self.ranker
        for one, was in zip((X, y, qid), given, strict=True):
            assert (one != was).sum() == 0
        self.look()
        assert self.width == width
        # What was before leaves no trace; a warm start leaves the one that it is asked for.
        fresh.fit(X, y, qid=qid)
        np.testing.assert_array_equal(fresh.predict(self.probe(width)), self.scores)
        assert {name for name in vars(fresh) if name.endswith("_")} == {
            name for name in vars(self.ranker) if name.endswith("_")
        }

    @property
    def is_warm(self):
        return self.parameters.get("warm_start", False)

    @rule(how=st.sampled_from(SPOILED), seed=seeds, width=widths)
    def fit_of_bad_data_fails(self, how, seed, width):
        X, y, qid = spoiled(how, seed, width)
        before = dict(vars(self.ranker))
        with pytest.raises(MarginRankError):
            self.ranker.fit(X, y, qid=qid)
        self.unchanged(before)

    @rule(wrong=st.sampled_from(WRONG_PARAMETERS), seed=seeds)
    def fit_with_a_wrong_parameter_fails(self, wrong, seed):
        X, y, qid = problem(seed, 3)
        self.ranker.set_params(**wrong)
        before = dict(vars(self.ranker))
        with pytest.raises(MarginRankError):
            self.ranker.fit(X, y, qid=qid)
        self.unchanged(before)
        self.ranker.set_params(**{name: self.parameters[name] for name in wrong})

    @rule(seed=seeds, width=widths, at=st.integers(0, 3))
    def fit_with_a_broken_callback_fails(self, seed, width, at):
        X, y, qid = problem(seed, width)
        before = dict(vars(self.ranker))
        try:
            self.ranker.fit(X, y, qid=qid, callbacks=raising(BrokenCallbackError(), at))
        except BrokenCallbackError:
            self.unchanged(before)
        else:  # it ended before that call
            self.look()

    @rule(seed=seeds, width=widths, at=st.integers(0, 6))
    def fit_is_interrupted(self, seed, width, at):
        X, y, qid = problem(seed, width)
        before = dict(vars(self.ranker))
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                self.ranker.fit(X, y, qid=qid, callbacks=raising(KeyboardInterrupt(), at))
        except KeyboardInterrupt:
            if vars(self.ranker).get("coef_") is before.get("coef_"):
                self.unchanged(before)
                return
        self.look()
        assert self.width == width
        assert 0.0 <= self.ranker.lower_bound_ <= self.ranker.objective_
        assert 0.0 <= self.ranker.gap_ <= 1.0

    @rule(alpha=st.sampled_from([0.2, 0.5]))
    @precondition(lambda self: self.parameters["alpha"] != "auto")
    def another_alpha_is_set(self, alpha):
        self.ranker.set_params(alpha=alpha)
        self.parameters["alpha"] = alpha

    @rule()
    def is_pickled(self):
        self.ranker = pickle.loads(pickle.dumps(self.ranker))

    @rule(seed=seeds, width=widths)
    def a_copy_lives_on_its_own(self, seed, width):
        X, y, qid = problem(seed, width)
        before = dict(vars(self.ranker))
        copy.deepcopy(self.ranker).fit(X, y, qid=qid)
        copy.copy(self.ranker).fit(X, y, qid=qid)
        self.unchanged(before)

    @rule()
    def is_cloned(self):
        self.ranker = clone(self.ranker)
        self.forget()

    @rule(name=st.sampled_from("ab"))
    def is_saved(self, name):
        path = self.folder / name
        if self.scores is None:
            with pytest.raises(NotFittedError):
                self.ranker.save(path)
        else:
            self.ranker.save(path)
            self.saved[name] = (self.width, self.scores)

    @rule()
    @precondition(lambda self: self.scores is not None)
    def is_saved_where_it_cannot_be(self):
        with pytest.raises((MarginRankError, OSError)):
            self.ranker.save(self.folder / "no such folder" / "model")

    @rule()
    @precondition(lambda self: self.scores is not None)
    def rows_of_another_width_are_refused(self):
        before = dict(vars(self.ranker))
        with pytest.raises(MarginRankError):
            self.ranker.predict(self.probe(self.width + 1))
        self.unchanged(before)

    @invariant()
    def parameters_are_those_that_were_set(self):
        found = self.ranker.get_params()
        assert found.keys() == self.parameters.keys()
        assert repr(found) == repr(self.parameters)

    @invariant()
    def scores_are_those_of_the_last_fit(self):
        if self.scores is None:
            assert [name for name in vars(self.ranker) if name.endswith("_")] == []
            with pytest.raises(NotFittedError):
                self.ranker.predict(self.probe(3))
        else:
            np.testing.assert_array_equal(self.ranker.predict(self.probe(self.width)), self.scores)

    @invariant()
    def files_hold_what_was_saved_to_the_bit(self):
        assert sorted(path.name for path in self.folder.iterdir()) == sorted(self.saved)
        for name, (width, scores) in self.saved.items():
            loaded = RankingModel.load(self.folder / name)
            np.testing.assert_array_equal(loaded.predict(self.probe(width)), scores)


@pytest.mark.parametrize("name", RANKERS)
@pytest.mark.filterwarnings("ignore")
def test_what_must_hold_holds_through_any_life(name):
    from hypothesis.stateful import run_state_machine_as_test

    machine = type("Life", (Life,), {"ranker_to_begin_with": RANKERS[name]})
    assert run_state_machine_as_test(machine, settings=SETTINGS) is None
