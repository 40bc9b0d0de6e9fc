"""What every estimator promises to scikit-learn."""

import inspect
import io
import os
import pickle
import re
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
import sklearn
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, GroupKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from limits import HANG
from marginrank import (
    AutoRanker,
    KernelRankSVM,
    RankingModel,
    RankRLS,
    RankSVM,
    StructuredRankSVM,
    regularization,
)

# scikit-learn compares a fit with weights to one with repeated rows to 1e-7. A certificate of 1e-3 promises
# that only where alpha makes the optimum sharp, so some come with a large one.
CONFIGURATIONS = [
    RankSVM(),
    RankSVM(solver="bundle"),
    RankSVM(scale="standard"),
    RankSVM(scale="minmax", alpha=1.0),
    RankSVM(weighting="queries"),
    RankSVM("squared_hinge", alpha=1.0),
    RankSVM("squared_hinge", alpha=1.0, solver="newton"),
    RankSVM("logistic", alpha=1.0),
    RankSVM("squared_hinge", alpha=0.1, l1_ratio=0.2, bounds=(-5, None), tol=1e-10),
    RankRLS(tol=1e-10),
    RankRLS("auto", alphas=[1.0, 0.1], cv=2, tol=1e-10, solver="cg"),
    RankRLS(scale="standard", tol=1e-10, solver="cg"),
    RankRLS(alpha=0.1, l1_ratio=0.3, bounds=(-0.5, None), tol=1e-10),
    StructuredRankSVM(),
    StructuredRankSVM("map", scale="minmax"),
    StructuredRankSVM(l1_ratio=0.1, bounds=(-9, None)),
    StructuredRankSVM({"auc": 1.0, "mrr": 2.0}, solver="lbfgs", scale="standard"),
    KernelRankSVM(
        gamma=0.1, approximation="exact", linear_block=False, alpha=100.0, tol=1e-12, solver="newton"
    ),
    KernelRankSVM(gamma=0.1, approximation="exact", alpha=100.0, tol=1e-11, solver="newton"),
    KernelRankSVM(gamma=0.1, n_components=5, dtype="float64", alpha=1.0, random_state=0),
    KernelRankSVM(
        gamma=0.1, approximation="fourier", n_components=5, dtype="float64", alpha=1.0, random_state=0
    ),
]

# What chooses among rankers: it has no run of its own, and takes no validation set.
CHOICES = [AutoRanker(cv=2, candidates=[RankRLS(alpha=0.1, tol=1e-10)])]  # folds of repeated rows are others
# Every kind of search, for what it leaves behind.
SEARCHES = [
    RankSVM(alpha="auto", alphas=[1.0, 0.1], cv=2),
    RankSVM(alpha="auto", l1_ratio=0.2, bounds=(-9, 9), cv=2),
    RankRLS("auto", cv=2),
    RankRLS("auto", cv=None),
    RankRLS("auto", alphas=[1.0, 0.1], cv=2, solver="cg"),
    RankRLS(regularization="early_stopping", cv=2),
    RankRLS("auto", alphas=[1.0, 0.1], cv=2, regularization="hybrid"),
    StructuredRankSVM("map", alpha="auto", alphas=[0.1, 0.01], cv=2),
]
_CHECK = """
import sys
from sklearn.utils.estimator_checks import check_estimator
from marginrank import AutoRanker, KernelRankSVM, RankRLS, RankSVM, StructuredRankSVM

for text in sys.argv[1:]:
    results = check_estimator(eval(text), on_skip=None, on_fail=None)
    print(f"{text}: {len(results)} checks")
    for result in results:
        if result["status"] != "passed":
            print(f"FAILED {text} {result['check_name']}: {result['status']} {result['exception']!r}")
"""


def test_every_scikit_learn_check_passes_and_none_is_skipped():
    # scipy reads the variable when it is imported; without it check_array_api_input is skipped.
    environment = {**os.environ, "SCIPY_ARRAY_API": "1"}
    command = [sys.executable, "-W", "error", "-c", _CHECK, *map(repr, [*CONFIGURATIONS, *CHOICES])]
    run = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=HANG)
    assert run.returncode == 0, run.stderr
    assert "FAILED" not in run.stdout, run.stdout
    assert run.stdout.count("checks") == len(CONFIGURATIONS) + len(CHOICES)
    assert "check_array_api_input" not in run.stdout


@pytest.fixture
def data():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60, 4))
    y = X @ [1.0, -1.0, 0.5, 0.0] + rng.standard_normal(60)
    return X, y - y.min(), rng.integers(6, size=60)  # NDCG takes labels as gains


@pytest.mark.parametrize("model", CONFIGURATIONS, ids=repr)
def test_clone_has_the_parameters_and_nothing_fitted(model, data):
    X, y, qid = data
    fitted = clone(model).fit(X, y, qid=qid)
    copy = clone(fitted)
    assert copy.get_params() == model.get_params()
    assert not hasattr(copy, "coef_")


@pytest.mark.parametrize("model", CONFIGURATIONS, ids=repr)
def test_fit_leaves_the_parameters_alone(model, data):
    X, y, qid = data
    before = model.get_params()
    assert clone(model).fit(X, y, qid=qid).get_params() == before


@pytest.mark.parametrize("model", CONFIGURATIONS, ids=repr)
def test_pickled_model_predicts_the_same_bits(model, data):
    X, y, qid = data
    fitted = clone(model).fit(X, y, qid=qid)
    copy = pickle.loads(pickle.dumps(fitted))
    np.testing.assert_array_equal(copy.predict(X), fitted.predict(X))
    assert copy.score(X, y, qid=qid) == fitted.score(X, y, qid=qid)
    assert copy.history_ == fitted.history_


@pytest.mark.parametrize("model", CHOICES, ids=repr)
def test_a_choice_among_rankers_is_copied_with_its_parameters(model, data):
    X, y, qid = data
    fitted = clone(model).fit(X, y, qid=qid)
    assert repr(clone(fitted)) == repr(fitted) == repr(model)  # estimators have no equality
    assert not hasattr(clone(fitted), "coef_")
    copy = pickle.loads(pickle.dumps(fitted))
    np.testing.assert_array_equal(copy.predict(X), fitted.predict(X))
    assert copy.score(X, y, qid=qid) == fitted.score(X, y, qid=qid)


def test_parameters_can_be_set_by_name():
    model = RankSVM().set_params(loss="squared_hinge", alpha=0.5, n_jobs=2)
    assert (model.loss, model.alpha, model.n_jobs) == ("squared_hinge", 0.5, 2)
    with pytest.raises(ValueError, match="Invalid parameter 'C'"):
        model.set_params(C=1.0)


def test_defaults_are_those_that_users_were_promised():
    promised = {
        "loss": "hinge",
        "alpha": 1e-4,
        "l1_ratio": 0.0,
        "bounds": None,
        "tol": 1e-3,
        "max_iter": 1000,
        "weighting": "pairs",
        "scale": "auto",
        "solver": "auto",
        "alphas": None,
        "metric": "pairwise_error(weighting=queries)",
        "cv": 5,
        "rule": "best",
        "warm_start": False,
        "n_jobs": None,
        "verbose": 0,
    }
    assert RankSVM().get_params() == promised
    own = {"regularization": "tikhonov"}
    not_theirs = ("loss", "weighting")
    theirs = {name: value for name, value in promised.items() if name not in not_theirs}
    assert RankRLS().get_params() == {**theirs, **own}


@pytest.mark.parametrize(
    ("model", "validated"),
    [(model, validated) for model in [*CONFIGURATIONS, *SEARCHES] for validated in (False, True)]
    + [(model, False) for model in CHOICES],
    ids=repr,
)
def test_all_fitted_attributes_are_documented(model, data, validated):
    X, y, qid = data
    X = pd.DataFrame(X).add_prefix("feature ")
    # NDCG, which StructuredRankSVM is measured by, wants gains of at least 0.
    sets = {"eval_set": (X, y - y.min()), "eval_qid": qid} if validated else {}
    fitted = clone(model).fit(X, y, qid=qid, **sets)
    text = inspect.getdoc(type(model)).partition("\nAttributes\n")[2]
    documented = {
        name.strip() for line in re.findall(r"^([\w, ]+) : ", text, re.MULTILINE) for name in line.split(",")
    }
    found = {name for name in vars(fitted) if name.endswith("_") and not name.startswith("_")}
    assert found <= documented


@pytest.mark.parametrize("model", SEARCHES, ids=repr)
def test_a_pickled_search_keeps_what_it_found(model, data):
    X, y, qid = data
    fitted = clone(model).fit(X, y, qid=qid, eval_set=(X, y), eval_qid=qid)
    copy = pickle.loads(pickle.dumps(fitted))
    assert vars(copy).keys() == vars(fitted).keys()
    for name, value in vars(fitted).items():
        assert_same(getattr(copy, name), value)


def assert_same(found, expected):
    """State that two values are equal; tuples may hold arrays of different shapes."""
    if not isinstance(expected, tuple):
        np.testing.assert_array_equal(found, expected)
        return
    assert type(found) is type(expected)
    for one, other in zip(found, expected, strict=True):
        assert_same(one, other)


@pytest.mark.parametrize("model", SEARCHES, ids=repr)
def test_grid_search_routes_query_ids(model, data):
    X, y, qid = data
    names = np.array([f"query {q}" for q in qid])
    grid = {"scale": [None, "standard"]}
    with sklearn.config_context(enable_metadata_routing=True):
        routed = clone(model).set_fit_request(qid=True).set_score_request(qid=True)
        search = GridSearchCV(routed, grid, cv=GroupKFold(2)).fit(X, y, qid=names, groups=qid)
    by_hand = [
        np.mean(
            [
                clone(model)
                .set_params(scale=scale)
                .fit(X[a], y[a], qid=names[a])
                .score(X[b], y[b], qid=names[b])
                for a, b in GroupKFold(2).split(X, y, qid)
            ]
        )
        for scale in grid["scale"]
    ]
    np.testing.assert_allclose(search.cv_results_["mean_test_score"], by_hand, rtol=1e-12)
    assert search.best_estimator_.n_queries_ == len(np.unique(qid))


@pytest.mark.parametrize("model", SEARCHES, ids=repr)
def test_model_files_score_the_same_bits(model, data):
    X, y, qid = data
    pipeline = make_pipeline(StandardScaler(), clone(model)).fit(X, y)
    fitted = clone(model).fit(X, y, qid=qid)
    file = io.BytesIO()
    fitted.to_model().save(file)
    loaded = RankingModel.load(io.BytesIO(file.getvalue()))
    np.testing.assert_array_equal(loaded.predict(X), fitted.predict(X))
    assert loaded.metadata["alpha"] == fitted.alpha_
    folded = RankingModel.from_estimator(pipeline).predict(X)
    np.testing.assert_allclose(folded, pipeline.predict(X), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("estimator", [RankSVM, RankRLS])
def test_converters_of_alpha_are_found_from_its_documentation(estimator):
    assert ":mod:`marginrank.regularization`" in estimator.__doc__
    for convert in (regularization.alpha_from, regularization.alpha_to):
        assert "Examples" in convert.__doc__
    for program in ("svmrank", "liblinear", "dlib", "treersvm", "rlscore"):
        assert program in regularization.__doc__
