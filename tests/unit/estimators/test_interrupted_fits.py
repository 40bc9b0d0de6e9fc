"""Ctrl-C at every product, every callback and between: the best model so far, or all as it was."""

import copy
import inspect
import sys
import threading
from functools import cache, partial
from itertools import count

import numpy as np
import pytest

import marginrank
from impatience import Impatient, any_call, works
from marginrank import KernelRankSVM, RankRLS, RankSVM, StructuredRankSVM, write_dataset
from marginrank.losses import PREFERENCE_LOSSES, QUERY_LOSSES
from objectives import objective_of

GRID = [1.0, 0.1, 0.01]
DENSE = np.geomspace(1.0, 0.2, 9)

rng = np.random.default_rng(0)
X = rng.standard_normal((48, 3)) * [1.0, 2.0, 0.5]
Y = np.digitize(X[:, 0] - X[:, 1] + rng.standard_normal(48), [-1.0, 1.0]).astype(float)
QID = np.arange(48) // 8
ON_SET = {"eval_set": (X[::-1] + 0.1, Y[::-1]), "eval_qid": QID[::-1]}
PAIRS = np.array([(i, j) for i, j in rng.integers(48, size=(60, 2)) if Y[i] > Y[j]])

SETTINGS = {"tol": 3e-2, "n_jobs": 1}
DIRECT = partial(RankRLS, alpha="auto", alphas=GRID, solver="direct")
LINEAR = {
    "one alpha": (partial(RankSVM, alpha=0.05), {}),
    "squared hinge, newton": (partial(RankSVM, "squared_hinge", solver="newton", alpha=0.05), {}),
    "scaled": (partial(RankSVM, scale="standard", alpha=0.05), {}),
    "watched": (partial(RankSVM, alpha=0.05), ON_SET),
    "grid on a set": (partial(RankSVM, alpha="auto", alphas=GRID), ON_SET),
    "path on a set": (partial(RankSVM, alpha="auto", alphas=DENSE, scale="minmax"), ON_SET),
    "grid by folds": (partial(RankSVM, alpha="auto", alphas=GRID, cv=2), {}),
    "path by folds, one_se": (partial(RankSVM, alpha="auto", alphas=DENSE, cv=2, rule="one_se"), {}),
    "structured": (partial(StructuredRankSVM, "map", alpha=0.05), {}),
    "structured by folds": (partial(StructuredRankSVM, "ndcg", alpha="auto", alphas=GRID, cv=2), {}),
    "least squares": (partial(RankRLS, alpha=0.05, solver="cg"), {}),
    "least squares, grid on a set": (partial(RankRLS, alpha="auto", alphas=GRID, solver="cg"), ON_SET),
    "least squares by folds": (
        partial(RankRLS, alpha="auto", alphas=GRID, solver="cg", cv=3, rule="one_se", scale="standard"),
        {},
    ),
    "early stopping by folds": (partial(RankRLS, regularization="early_stopping", cv=2), {}),
    "early stopping on a set": (partial(RankRLS, regularization="early_stopping"), ON_SET),
    "direct": (partial(RankRLS, alpha=0.05, solver="direct"), {}),
    "direct on a set": (
        partial(RankRLS, alpha="auto", alphas=GRID, solver="direct", scale="standard"),
        ON_SET,
    ),
    "leave-query-out": (partial(RankRLS, alpha="auto", alphas=GRID, solver="direct", cv=None), {}),
    "direct by folds": (
        partial(RankRLS, alpha="auto", alphas=GRID, solver="direct", cv=3, rule="one_se"),
        {},
    ),
}
ATTRIBUTES = {
    *("coef_", "column_scale_", "alpha_", "objective_", "lower_bound_", "gap_", "n_iter_", "n_passes_"),
    *("history_", "n_queries_", "n_features_in_"),
}


def impatient(progress):
    """A callback; ``works`` counts its calls."""


@cache
def earlier(name):
    """A ranker that was fitted to other data, of another width."""
    rng = np.random.default_rng(1)
    model = LINEAR[name][0](**SETTINGS)
    return model.fit(rng.standard_normal((40, 5)), rng.integers(3, size=40), qid=np.arange(40) // 8)


@cache
def optimum(name, alpha):
    """The least objective at an alpha, all but rounding."""
    model = LINEAR[name][0](**SETTINGS)
    exact = {"tol": 1e-11, "solver": "cg"} if isinstance(model, RankRLS) else {"tol": 1e-10}
    model.set_params(alpha=alpha, alphas=None, max_iter=10_000, **exact)
    return model.fit(X, Y, qid=QID).objective_


def assert_certified(model, name):
    """Objective, bound and gap are those of the coefficients, whichever they are."""
    here = objective_of(model, X, Y, QID)
    assert model.objective_ == pytest.approx(here, rel=1e-9)
    assert model.lower_bound_ <= model.objective_
    if model.alpha_ > 0.0:
        best = optimum(name, model.alpha_)
        assert model.lower_bound_ <= best * (1 + 1e-9)
        assert model.gap_ >= (here - best) / here - 1e-9


def assert_whole(model, complete):
    """Everything that a fit sets is there and of the new data."""
    assert vars(model).keys() >= ATTRIBUTES
    assert model.coef_.shape == (3,)
    assert model.n_features_in_ == 3
    assert model.n_queries_ == 6
    assert model.coef_.any()
    assert (model.column_scale_ is None) == (complete.column_scale_ is None)
    assert model.predict(X).shape == (48,)
    assert model.to_model().predict(X) == pytest.approx(model.predict(X))
    searched = {name for name in vars(model) if name.startswith(("validation", "best_", "evals"))}
    assert searched <= set(vars(complete))
    if hasattr(model, "alphas_"):
        assert model.alphas_.shape == model.validation_curve_.shape == model.validation_std_.shape
        assert model.alpha_ in model.alphas_
        assert model.best_score_ == model.validation_curve_[model.alphas_ == model.alpha_][0]


def interrupted(name, n, counts):
    """Fit; return the model, whether it was interrupted, and whether it then was as before."""
    model = copy.copy(earlier(name))
    before = dict(vars(model))
    moment = Impatient(n, counts)
    try:
        with moment:
            model.fit(X, Y, qid=QID, callbacks=impatient, **LINEAR[name][1])
    except KeyboardInterrupt:
        same = vars(model).keys() == before.keys() and all(vars(model)[k] is before[k] for k in before)
        return model, True, same
    assert moment.left > 0, "The interrupt was swallowed."
    return model, False, False


@pytest.mark.parametrize("name", LINEAR)
def test_an_interrupt_of_any_work_leaves_a_whole_model_or_the_one_before(name):
    make, fit = LINEAR[name]
    complete = make(**SETTINGS).fit(X, Y, qid=QID, **fit)
    kept = []
    for n in count(1):
        model, happened, same = interrupted(name, n, works)
        if not happened:
            break
        kept.append(not same)
        if not same:
            assert_whole(model, complete)
            assert_certified(model, name)
    assert len(kept) > 3
    assert kept[-1]
    assert kept == sorted(kept), "A model that was there got lost."
    np.testing.assert_array_equal(model.coef_, complete.coef_)


@pytest.mark.parametrize("name", LINEAR)
def test_an_interrupt_anywhere_leaves_a_whole_model_or_the_one_before(name):
    make, fit = LINEAR[name]
    complete = make(**SETTINGS).fit(X, Y, qid=QID, **fit)
    n, happened = 1, True
    while happened:
        model, happened, same = interrupted(name, n, any_call)
        if happened and not same:
            assert_whole(model, complete)
            assert_certified(model, name)
        n += 1 + n // 8


# Where products are made for several folds at once, over features that are made, and of pairs


def kept_in_turn(make, fit, assert_whole):
    """Interrupt at every piece of work; a model that is there stays, and is whole."""
    kept = []
    for n in count(1):
        model, moment = make(**SETTINGS), Impatient(n, works)
        before = dict(vars(model))
        try:
            with moment:
                fit(model)
        except KeyboardInterrupt:
            kept.append(vars(model) != before)
            if kept[-1]:
                assert_whole(model)
            continue
        assert moment.left > 0, "The interrupt was swallowed."
        break
    assert kept == sorted(kept), "A model that was there got lost."
    assert kept[-1]
    return kept


@pytest.mark.parametrize("alphas", [GRID, DENSE], ids=["grid", "path"])
def test_folds_that_are_trained_together_leave_a_model_too(tmp_path, alphas):
    ds = write_dataset(tmp_path / "a.mrd", X, Y, qid=QID, chunk_rows=16)
    make = partial(RankSVM, alpha="auto", alphas=alphas, cv=2)
    threads = threading.active_count()

    def whole(model):
        assert threading.active_count() == threads
        assert vars(model).keys() >= ATTRIBUTES
        assert model.objective_ == pytest.approx(objective_of(model, X, Y, QID), rel=1e-9)
        best = optimum("one alpha", model.alpha_)
        assert model.lower_bound_ <= best * (1 + 1e-9)
        assert model.gap_ >= (model.objective_ - best) / model.objective_ - 1e-9

    kept_in_turn(make, lambda model: model.fit(ds, callbacks=impatient), whole)


@pytest.mark.parametrize("fit", [{}, ON_SET], ids=["folds", "set"])
@pytest.mark.parametrize("store", ["memory", "recompute"])
def test_kernel_features_leave_the_best_place_so_far(fit, store):
    make = partial(
        KernelRankSVM,
        gamma="auto",
        gammas=[0.1, 1.0],
        alpha="auto",
        alphas=[1.0, 0.1],
        cv=2,
        n_components=5,
        linear_block=False,
        scale="standard",
        store=store,
        random_state=0,
        dtype="float64",
    )
    view = marginrank.RankingData(X, Y, qid=QID).training_view()
    loss = QUERY_LOSSES["squared_hinge"](view, weighting="pairs", n_threads=1)

    def whole(model):
        assert vars(model).keys() >= {*ATTRIBUTES, "feature_map_", "gamma_", "gammas_", "alphas_"}
        assert model.gamma_ == model.feature_map_.gamma_ in model.gammas_
        scores = model.predict(X if view.rows is None else X[view.rows])
        here = loss.at(scores).value + 0.5 * model.alpha_ * float(model.coef_ @ model.coef_)
        assert model.objective_ == pytest.approx(here, rel=1e-9)
        assert model.lower_bound_ <= model.objective_
        assert model.best_score_ == np.nanmin(model.validation_curve_)

    kept = kept_in_turn(make, lambda model: model.fit(X, Y, qid=QID, callbacks=impatient, **fit), whole)
    assert not kept[0]


OFFSET = rng.standard_normal(48)
WIDE = (rng.standard_normal((48, 130)), Y)
OTHER = {
    "elastic net": (partial(RankSVM, l1_ratio=0.5, alpha=0.05), (X, Y), {}),
    "elastic net by folds": (partial(RankSVM, l1_ratio=0.5, alpha="auto", alphas=GRID[:2], cv=2), (X, Y), {}),
    "bounds": (partial(RankSVM, bounds=(0, None), alpha=0.05), (X, Y), {}),
    "least squares, bounds": (partial(RankRLS, bounds=(-0.1, 0.2), alpha=0.05), (X, Y), {}),
    "structured, elastic net": (partial(StructuredRankSVM, "map", l1_ratio=0.3, alpha=0.05), (X, Y), {}),
    "offset": (partial(RankSVM, alpha=0.05), (X, Y), {"offset": OFFSET}),
    "offset, direct": (partial(RankRLS, alpha=0.05, solver="direct"), (X, Y), {"offset": OFFSET}),
    "more columns than rows": (partial(RankSVM, alpha=1e-6), WIDE, {}),
    "more columns than rows, squared hinge": (partial(RankSVM, "squared_hinge", alpha=1e-6), WIDE, {}),
}


@pytest.mark.parametrize("name", OTHER)
def test_penalties_offsets_and_spaces_of_rows_leave_a_model_too(name):
    make, rows, fit = OTHER[name]
    exact = {"tol": 1e-5, "max_iter": 10_000, "alphas": None, "n_jobs": 1}

    @cache
    def best(alpha):
        return make(**{**SETTINGS, **exact, "alpha": alpha}).fit(*rows, qid=QID, **fit).objective_

    def whole(model):
        assert vars(model).keys() >= ATTRIBUTES
        here = objective_of(model, *rows, QID, **fit)
        assert here * (1 - 1e-9) <= model.objective_
        assert model.lower_bound_ <= here * (1 + 1e-9)
        assert model.lower_bound_ <= best(model.alpha_)
        assert model.gap_ >= (here - best(model.alpha_)) / here - 1e-9
        if model.bounds is not None:
            low, high = (np.inf if end is None else end for end in model.bounds)
            assert low <= model.coef_.min()
            assert model.coef_.max() <= high

    kept_in_turn(make, lambda model: model.fit(*rows, qid=QID, callbacks=impatient, **fit), whole)


@pytest.mark.parametrize("kind", [RankSVM, RankRLS])
@pytest.mark.parametrize("alpha", [0.1, "auto"])
def test_training_on_pairs_leaves_a_model_too(kind, alpha):
    def whole(model):
        assert vars(model).keys() >= {*ATTRIBUTES, "n_pairs_"}
        assert model.lower_bound_ <= model.objective_
        if kind is RankSVM:
            pairs = marginrank.RankingData(X, pairs=PAIRS).training_pairs()
            risk = PREFERENCE_LOSSES["hinge"](pairs, len(X), n_threads=1).at(X @ model.coef_).value
            norm = float(model.coef_ @ model.coef_)
            assert model.objective_ == pytest.approx(risk + 0.5 * model.alpha_ * norm, rel=1e-9)

    make = partial(kind, alpha=alpha, alphas=GRID, cv=2)
    kept_in_turn(make, lambda model: model.fit_pairs(X, PAIRS, callbacks=impatient), whole)


def test_an_error_leaves_a_fitted_ranker_as_it_was():
    model = copy.copy(earlier("one alpha"))
    before = dict(vars(model))

    def fails(progress):
        raise ValueError("no")

    cases = {
        "^no$": {"callbacks": fails},
        "features": {"eval_set": (X[:, :2], Y), "eval_qid": QID},
        "weight": {"sample_weight": -Y},
    }
    for message, bad in cases.items():
        with pytest.raises(ValueError, match=message):
            model.fit(X, Y, qid=QID, **bad)
        assert vars(model) == before


def test_a_second_interrupt_leaves_all_as_it_was():
    model = copy.copy(earlier("grid by folds"))
    before = dict(vars(model))

    def again(code):
        return any(frame.function == "set" for frame in inspect.stack()) and works(code)

    def twice(progress):
        if progress.alpha == GRID[-1]:
            sys.setprofile(None)
            second.__enter__()
            raise KeyboardInterrupt

    second = Impatient(1, again)
    with pytest.raises(KeyboardInterrupt):
        model.fit(X, Y, qid=QID, callbacks=twice)
    sys.setprofile(None)
    assert second.left == 0
    assert vars(model).keys() == before.keys()
    assert all(vars(model)[name] is before[name] for name in before)
