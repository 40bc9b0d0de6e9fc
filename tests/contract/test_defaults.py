"""What users get who say nothing: the defaults of every public name, and what "auto" and None resolve to.

A change here changes the models of everybody who did not ask for it. It is a decision, stands in the
CHANGELOG, and follows docs/deprecation.md.
"""

import inspect
import warnings

import numpy as np
import pytest
from scipy.spatial.distance import pdist

import marginrank
from marginrank import KernelRankSVM, RankRLS, RankSVM, StructuredRankSVM
from marginrank.distributed import DaskRanker
from marginrank.metrics import evaluate, pairwise_error, parse_metric

_SEARCH = {
    **{"alphas": None, "metric": "pairwise_error(weighting=queries)", "cv": 5, "rule": "best"},
}
_RUN = {"tol": 1e-3, "max_iter": 1000, "scale": "auto", "solver": "auto", "n_jobs": None, "verbose": 0}
_TARGET = {
    **{"target": "ndcg@10", "feature_map": "po", "relevance": None, "gain": "exponential"},
    **{"discount": "log2"},
    **{"rank_weight": "fourth_root", "truncate": False},
}
_KERNEL = {"kernel": "rbf", "gamma": "scale", "degree": 3, "coef0": 1}
_LINEAR_BLOCK = {"gamma": None, "linear_block": True}
_PATH = {
    **{"y": None, "qid": None, "group": None, "query_weight": None, "scale": "auto", "alpha_max": None},
    **{"alpha_min": None, "eps": 1e-3, "n_jobs": None, "callbacks": None, "verbose": 0},
}
_SOLVED = {"l1_ratio": 0.0, "bounds": None, "n_alphas": 50}
_LINEAR_PATH = {**_PATH, "sample_weight": None, "pairs": None}
_CLUSTER = {"client": None, "timeout": 600.0, "retries": 5, "mmap": True, "verify": True}

DEFAULTS = {
    "RankSVM": {
        **_SEARCH,
        **_RUN,
        **{"loss": "hinge", "alpha": 1e-4, "weighting": "pairs", "warm_start": False},
        **{"l1_ratio": 0.0, "bounds": None},
    },
    "RankRLS": {
        **_SEARCH,
        **_RUN,
        "alpha": 1e-4,
        "l1_ratio": 0.0,
        "bounds": None,
        "regularization": "tikhonov",
        "warm_start": False,
    },
    "StructuredRankSVM": {
        **_SEARCH,
        **_RUN,
        **_TARGET,
        **{"alpha": 1e-2, "metric": None, "warm_start": False, "l1_ratio": 0.0, "bounds": None},
    },
    "KernelRankSVM": {
        **_SEARCH,
        **_RUN,
        **_KERNEL,
        **_LINEAR_BLOCK,
        **{"approximation": "nystroem", "n_components": 500, "landmarks": "uniform", "orthogonal": False},
        **{"loss": "squared_hinge", "alpha": 1e-4, "weighting": "pairs", "gammas": None, "store": "auto"},
        **{"dtype": "auto", "random_state": None},
    },
    "AutoRanker": {
        **{"metric": "pairwise_error(weighting=queries)", "cv": 5, "budget": None, "repeats": 3},
        **{"candidates": None, "random_state": 0, "n_jobs": None, "verbose": 0},
    },
    "NystroemFeatures": {
        **_KERNEL,
        **{"n_components": 500, "landmarks": "uniform", "rank": None, "cutoff": None, "dtype": "float32"},
        **{"n_jobs": None, "random_state": None},
    },
    "FourierFeatures": {
        **{"kernel": "rbf", "gamma": "scale", "n_components": 500, "orthogonal": False, "dtype": "float32"},
        **{"n_jobs": None, "random_state": None},
    },
    "rank_path": {**_LINEAR_PATH, **_SOLVED, "loss": "hinge", "weighting": "pairs"},
    "rank_rls_path": {**_LINEAR_PATH, "solver": "auto"},
    "structured_rank_path": {**_PATH, **_SOLVED, **_TARGET},
    "kernel_rank_path": {
        **{"y": None, "qid": None, "pairs": None, "sample_weight": None, "query_weight": None},
        **{"weighting": "pairs", "kernel": "rbf", "gamma": None, "degree": 3, "coef0": 1},
        **{"kernel_params": None, "graph": "all", "pairs_per_row": 10, "alpha_min": None},
        **{"max_events": None, "random_state": 0, "callbacks": None, "verbose": 0},
    },
    "load_letor": {
        **{"n_features": None, "zero_based": False, "max_feature": 10_000_000, "allow_nonfinite": False},
        **{"missing": None, "dtype": np.float64, "dense": "auto", "max_bytes": None, "max_expansion": 200},
        **{"n_jobs": None},
    },
    "dump_letor": {"comments": None, "zero_based": False},
    "open_dataset": {"verify": True},
    "write_dataset": {
        **{"y": None, "chunk_rows": None, "chunk_bytes": 256 << 20, "overwrite": False, "resume": False},
        **{"progress": None},
    },
}
OTHERS = {
    DaskRanker: {**_CLUSTER, "checkpoint": None, "resume": None},
    evaluate: {
        **{"qid": None, "group": None, "metrics": ("ndcg@10",), "flavor": "standard", "query_weight": None},
        **{"docid": None, "n_jobs": None, "intervals": None},
    },
    pairwise_error: {
        **{"qid": None, "group": None, "sample_weight": None, "query_weight": None, "weighting": "pairs"},
        **{"n_jobs": None},
    },
}

# What short names of metrics stand for.
METRICS = {
    "ndcg": "ndcg(gain=exponential,discount=log2,ties=input,empty=0,short=pad)",
    "pairwise_error": "pairwise_error(empty=skip,weighting=pairs)",
}


def defaults_of(function):
    parameters = inspect.signature(function).parameters.values()
    return {one.name: one.default for one in parameters if one.default is not inspect.Parameter.empty}


@pytest.mark.parametrize("name", DEFAULTS)
def test_the_defaults_are_those_that_are_written_here(name):
    assert defaults_of(getattr(marginrank, name)) == DEFAULTS[name]


@pytest.mark.parametrize("function", OTHERS, ids=lambda function: function.__name__)
def test_the_defaults_of_other_functions_are_those_that_are_written_here(function):
    assert defaults_of(function) == OTHERS[function]


def test_every_estimator_and_path_function_is_written_here():
    functions = {
        name
        for name in marginrank.__all__
        if name.startswith("Rank") or name.endswith(("_path", "SVM", "Features", "Ranker"))
    }
    assert functions - set(DEFAULTS) == {"RankingData", "RankingModel"}


@pytest.fixture(name="rows", scope="module")
def small_data():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(120, 4))
    return X, rng.integers(0, 3, 120) + (X[:, 0] > 0), np.arange(120) // 8


def fitted(estimator, rows):
    X, y, qid = rows
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # more components than rows
        return estimator.fit(X, y, qid=qid)


@pytest.mark.parametrize(
    ("estimator", "per_decade"),
    [(RankSVM(alpha="auto"), 16), (StructuredRankSVM(alpha="auto"), 16), (RankRLS(alpha="auto"), 2)],
    ids=["RankSVM", "StructuredRankSVM", "RankRLS"],
)
def test_an_automatic_alpha_is_chosen_from_as_many_for_each_decade(estimator, per_decade, rows):
    alphas = fitted(estimator, rows).alphas_
    assert len(alphas) > per_decade
    np.testing.assert_allclose(alphas[:-1] / alphas[1:], 10.0 ** (1.0 / per_decade), rtol=1e-2)


def test_a_kernel_beside_the_columns_is_twice_as_wide_as_the_median_distance(rows):
    ranker = fitted(KernelRankSVM(n_components=20, random_state=0), rows)
    quarter = 0.25 / np.median(pdist(rows[0], "sqeuclidean"))
    assert ranker.gamma_ == pytest.approx(quarter, rel=1e-6)
    assert ranker.linear_coef_.shape == (4,)
    searched = fitted(KernelRankSVM(gamma="auto", n_components=20, random_state=0), rows)
    steps = np.log(searched.gammas_ / quarter) / np.log(4.0)  # and beyond, where an end is the best
    assert {-1, 0, 1} <= set(np.round(steps, 5))


def test_a_kernel_alone_has_the_gamma_of_the_scale(rows):
    ranker = fitted(KernelRankSVM(linear_block=False, n_components=20, random_state=0), rows)
    assert ranker.gamma_ == pytest.approx(1.0 / (rows[0].shape[1] * rows[0].var()), rel=1e-9)
    assert ranker.linear_coef_ is None


def test_an_automatic_gamma_alone_is_chosen_among_five_about_the_scale(rows):
    ranker = fitted(KernelRankSVM(gamma="auto", linear_block=False, random_state=0), rows)
    scale = 1.0 / (rows[0].shape[1] * rows[0].var())
    steps = np.log(ranker.gammas_ / scale) / np.log(4.0)
    assert {-3, -2, -1, 0, 1} <= set(np.round(steps, 5))


def test_kernel_features_are_float32_unless_the_kernel_is_exact(rows):
    approximate = fitted(KernelRankSVM(n_components=20, random_state=0), rows)
    exact = fitted(KernelRankSVM(approximation="exact"), rows)
    assert approximate.feature_map_.transform(rows[0]).dtype == np.float32
    assert exact.feature_map_.transform(rows[0]).dtype == np.float64


def test_few_features_are_solved_directly_by_least_squares(rows):
    assert fitted(RankRLS(), rows).solver_ == "direct"


@pytest.mark.parametrize("target", ["ndcg@10", "map", {"map": 1.0, "mrr": 1.0}], ids=str)
def test_more_than_two_labels_are_grades(target, rows):
    ranker = fitted(StructuredRankSVM(target), rows)
    assert ranker.relevance_ is None
    assert ranker.thresholds_.tolist() == [1.0, 2.0, 3.0]
    assert ranker.binning_bound_ == 0.0


def test_of_two_labels_and_for_mrr_a_row_is_relevant_above_the_lowest(rows):
    X, y, qid = rows
    assert fitted(StructuredRankSVM(), (X, y > 1, qid)).relevance_ == 1.0
    assert fitted(StructuredRankSVM("mrr"), rows).relevance_ == 1.0


def test_above_32_labels_31_thresholds_are_kept(rows):
    X, _, qid = rows
    ranker = fitted(StructuredRankSVM(), (X, np.linspace(0.0, 4.0, len(qid)), qid))
    assert ranker.relevance_ is None
    assert len(ranker.thresholds_) <= 31
    assert 0.0 < ranker.binning_bound_ < 0.1


@pytest.mark.parametrize("name", METRICS)
def test_short_names_of_metrics_stand_for_these(name):
    assert parse_metric(name) == parse_metric(METRICS[name])
