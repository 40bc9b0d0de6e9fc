"""StructuredRankSVM where there is nothing to learn: models of zero, and input that cannot be used."""

import inspect
import warnings

import numpy as np
import pytest

from marginrank import RankingData, StructuredRankSVM
from marginrank.exceptions import MarginRankError, NothingToRankError, ZeroModelWarning
from marginrank.losses.structured import LARGEST_ASSIGNMENT
from marginrank.paths import structured_rank_path


def make_data(noise, seed=0, n_queries=15, size=40):
    """A fifth of the rows is good, by a column and noise."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n_queries * size, 4))
    y = (X[:, 0] + noise * rng.standard_normal(len(X)) > 0.85 * np.hypot(1.0, noise)).astype(int)
    return X, y, np.arange(len(X)) % n_queries


NOISY = make_data(3.0)
CLEAR = make_data(0.3)


# Models of zero


@pytest.mark.parametrize(
    ("parameters", "remedy"),
    [
        ({"target": "mrr@3", "truncate": True}, r"truncate=False"),
        ({"target": "ndcg@3", "truncate": True}, r"truncate=False"),
        ({"target": "mrr@3", "truncate": True, "feature_map": "mrr"}, r"truncate=False"),
        ({"target": "mrr", "feature_map": "mrr"}, r"feature_map='po'"),
        ({"target": "ndcg", "feature_map": "dorm"}, r"feature_map='po'"),
    ],
    ids=str,
)
@pytest.mark.parametrize("alpha", [1e-1, 1e-3])
@pytest.mark.parametrize("solver", ["bundle", "lbfgs"])
def test_a_degenerate_target_is_told_from_too_large_an_alpha(parameters, remedy, alpha, solver):
    X, y, qid = NOISY
    model = StructuredRankSVM(**parameters, alpha=alpha, solver=solver)
    with pytest.warns(ZeroModelWarning, match=f"the target is degenerate on these data.*{remedy}") as caught:
        model.fit(X, y, qid=qid)
    assert model.degenerate_
    assert "\n" not in str(caught[0].message)


@pytest.mark.parametrize("unit", [1e-3, 1.0, 1e3])
@pytest.mark.parametrize("target", ["map", "ndcg@10", "mrr", "auc", {"map": 1.0, "mrr": 1.0}], ids=str)
def test_too_large_an_alpha_is_told_from_a_degenerate_target(target, unit):
    X, y, qid = NOISY
    # Far above what the units of X ask for.
    model = StructuredRankSVM(target, alpha=1e4 * unit**2)
    with pytest.warns(ZeroModelWarning, match="smaller alphas give better ones. Use a smaller alpha"):
        model.fit(unit * X, y, qid=qid)
    assert not model.degenerate_
    with warnings.catch_warnings():
        warnings.simplefilter("error", ZeroModelWarning)
        model.set_params(alpha=1e-3 * unit**2).fit(unit * X, y, qid=qid)
    assert not model.degenerate_


def test_what_is_degenerate_on_noise_may_be_well_posed_on_clear_data():
    X, y, qid = CLEAR
    with warnings.catch_warnings():
        warnings.simplefilter("error", ZeroModelWarning)
        model = StructuredRankSVM("mrr@3", truncate=True, alpha=1e-4).fit(X, y, qid=qid)
    assert not model.degenerate_
    assert model.score(X, y, qid=qid) > 0.9


def test_features_that_say_nothing_make_every_target_degenerate():
    _, y, qid = NOISY
    with pytest.warns(ZeroModelWarning, match="degenerate .*'auc' asks least"):
        model = StructuredRankSVM("map").fit(np.ones((len(y), 2)), y, qid=qid)
    assert model.degenerate_


def test_a_search_over_alphas_looks_at_the_chosen_one():
    X, y, qid = NOISY
    model = StructuredRankSVM("mrr@3", truncate=True, alpha="auto", alphas=[1.0, 1e-2], cv=3)
    with pytest.warns(ZeroModelWarning, match="degenerate"):
        model.fit(X, y, qid=qid)
    assert model.degenerate_


def test_the_next_fit_forgets_that_the_last_target_was_degenerate():
    X, y, qid = NOISY
    model = StructuredRankSVM("mrr@3", truncate=True)
    with pytest.warns(ZeroModelWarning):
        model.fit(X, y, qid=qid)
    assert not model.set_params(truncate=False).fit(X, y, qid=qid).degenerate_


def test_a_loose_tolerance_claims_nothing_about_models_that_gained():
    X, y, qid = CLEAR
    with warnings.catch_warnings():
        warnings.simplefilter("error", ZeroModelWarning)
        model = StructuredRankSVM("map", tol=0.9, max_iter=20).fit(X, y, qid=qid)
    assert not model.degenerate_
    assert model.score(X, y, qid=qid) > 0.5


# Refusals

X, Y, QID = NOISY
BAD_PARAMETERS = {
    "unknown target": ({"target": "nonsense"}, "target must be one of auc, map, ndcg, mrr.*got 'nonsense'"),
    "metric without a loss": ({"target": "precision@5"}, "target must be one of .*got 'precision@5'"),
    "bad cut-off": ({"target": "ndcg@0"}, "target must be one of .*got 'ndcg@0'"),
    "no name": ({"target": 3}, "target must be one of .*got 3"),
    "options in the name": ({"target": "map(rel=2)"}, "Give the parameters relevance and discount"),
    "no targets": ({"target": {}}, "at least one metric"),
    "negative weight": ({"target": {"map": 1.0, "mrr": -1.0}}, "weight of 'mrr' in target .*got -1.0"),
    "zero weight": ({"target": {"map": 0}}, "weight of 'map' in target must be a positive number; got 0"),
    "NaN weight": ({"target": {"map": float("nan")}}, "weight of 'map' in target"),
    "text as weight": ({"target": {"map": "1"}}, "weight of 'map' in target"),
    "unknown target in a dict": ({"target": {"map": 1.0, "err": 1.0}}, "target must be one of .*got 'err'"),
    "unknown feature map": ({"feature_map": "phi"}, "feature_map must be"),
    "feature map of another target": (
        {"target": "map", "feature_map": "mrr"},
        "feature_map='mrr' is for the target 'mrr'; got 'map'",
    ),
    "feature map of none of them": (
        {"target": {"map": 1.0, "auc": 1.0}, "feature_map": "dorm"},
        "feature_map='dorm' is for the target 'ndcg'",
    ),
    "truncated without a cut-off": (
        {"target": "ndcg", "truncate": True},
        "truncate=True needs a target with",
    ),
    "truncated MAP": ({"target": "map@10", "truncate": True}, "map is trained on the whole ranking"),
    "truncate that is no boolean": ({"truncate": 10}, "truncate must be True or False; got 10"),
    "relevance that is no number": ({"relevance": "high"}, "relevance must be a finite number; got 'high'"),
    "infinite relevance": ({"relevance": np.inf}, "relevance must be a finite number"),
    "unknown discount": ({"discount": "ln"}, "discount must be"),
    "unknown rank weight": ({"rank_weight": "sqrt"}, "rank_weight must be"),
    "solver for smooth losses": ({"solver": "newton"}, "solver must be"),
    "negative alpha": ({"alpha": -1.0}, "alpha must be"),
    "unknown metric": ({"metric": "nonsense"}, "Unknown metric"),
    "zero tol": ({"tol": 0.0}, "tol must be"),
}


@pytest.mark.parametrize("case", BAD_PARAMETERS)
def test_parameters_that_cannot_be_used_are_refused(case):
    parameters, message = BAD_PARAMETERS[case]
    with pytest.raises(MarginRankError, match=message) as caught:
        StructuredRankSVM(**parameters).fit(X, Y, qid=QID)
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 260


@pytest.mark.parametrize(("relevance", "y"), [(0, Y), (2, Y), (1, Y + 1)])
def test_a_relevance_that_leaves_only_good_or_only_bad_rows_is_refused(relevance, y):
    with pytest.raises(NothingToRankError, match=f"good is a label of at least {relevance}.*Is relevance"):
        StructuredRankSVM("map", relevance=relevance).fit(X, y, qid=QID)


def test_auc_and_dorm_do_not_ask_for_relevance():
    for parameters in ({"target": "auc"}, {"target": "ndcg", "feature_map": "dorm"}):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ZeroModelWarning)
            models = [StructuredRankSVM(**parameters, relevance=k).fit(X, Y, qid=QID) for k in (1, 9)]
        assert np.array_equal(models[0].coef_, models[1].coef_)


def test_weights_of_rows_are_refused():
    data = RankingData(X, Y, qid=QID, sample_weight=1.0 + Y)
    with pytest.raises(MarginRankError, match=r"take no sample_weight.*query_weight"):
        StructuredRankSVM().fit(data)
    for train in (StructuredRankSVM().fit, structured_rank_path):
        with pytest.raises(MarginRankError, match=r"take no sample_weight.*query_weight"):
            train(X, Y, qid=QID, sample_weight=np.ones(len(Y)))
        assert "sample_weight" not in inspect.signature(train).parameters  # or scikit-learn believes in it
        with pytest.raises(TypeError, match="sample_weights"):
            train(X, Y, qid=QID, sample_weights=np.ones(len(Y)))


def test_pairs_are_refused():
    with pytest.raises(MarginRankError, match="hold pairs and no y"):
        StructuredRankSVM().fit(RankingData(X, pairs=[[0, 1]]))
    assert not hasattr(StructuredRankSVM(), "fit_pairs")
    with pytest.raises(MarginRankError, match=r"the target y is None\.$"):
        StructuredRankSVM().fit(X)


def test_dorm_refuses_long_queries_of_many_grades_and_labels_without_a_gain():
    n = LARGEST_ASSIGNMENT + 1
    rng = np.random.default_rng(0)
    with pytest.raises(MarginRankError, match=f"the longest one has {n}"):
        StructuredRankSVM(feature_map="dorm").fit(rng.standard_normal((n, 2)), rng.random(n))
    with pytest.raises(MarginRankError, match="needs labels from 0 to 50; got labels from -1"):
        StructuredRankSVM(feature_map="dorm").fit(X, Y - 1, qid=QID)


def test_constant_labels_are_refused():
    for target in ("auc", "map"):
        with pytest.raises(NothingToRankError):
            StructuredRankSVM(target).fit(X, np.zeros(len(Y)), qid=QID)
