"""A pipeline of scalers and a ranker becomes one linear model with the same scores."""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.decomposition import PCA
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import Ridge
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import MaxAbsScaler, MinMaxScaler, RobustScaler, StandardScaler

from marginrank import RankingData, RankingModel, RankSVM
from marginrank.exceptions import MarginRankError

RNG = np.random.default_rng(0)
X = RNG.standard_normal((80, 4)) * [1.0, 10.0, 100.0, 1.0] + [5.0, 0.0, -300.0, 0.0]
X[:, 3] = 2.0  # constant: scalers divide it by 1
Y = X @ [1.0, -0.1, 0.01, 0.0] + RNG.standard_normal(80)

SCALERS = [
    StandardScaler(),
    StandardScaler(with_mean=False),
    StandardScaler(with_std=False),
    StandardScaler(with_mean=False, with_std=False),
    MinMaxScaler(),
    MinMaxScaler(feature_range=(-2, 5)),
    MaxAbsScaler(),
    RobustScaler(),
    RobustScaler(with_centering=False, unit_variance=True),
    RobustScaler(with_scaling=False),
]


def refuses(message):
    return pytest.raises(MarginRankError, match=message)


def assert_same_scores(pipeline, data=X):
    model = RankingModel.from_estimator(pipeline)
    expected = pipeline.predict(data)
    # The sums are other ones, and offsets cancel: 1e-12 of the largest term, not of the score.
    np.testing.assert_allclose(model.predict(data), expected, rtol=0, atol=1e-11 * np.abs(expected).max())
    return model


@pytest.mark.parametrize("scaler", SCALERS, ids=repr)
@pytest.mark.parametrize("scale", [None, "standard"])
def test_scores_equal_those_of_the_pipeline(scaler, scale):
    assert_same_scores(make_pipeline(scaler, RankSVM(scale=scale)).fit(X, Y))


def test_several_scalers_fold_in_their_order():
    pipeline = make_pipeline(MinMaxScaler(), "passthrough", StandardScaler(), MaxAbsScaler(), RankSVM())
    model = assert_same_scores(pipeline.fit(X, Y))
    assert model.metadata["folded"] == ["MinMaxScaler", "StandardScaler", "MaxAbsScaler"]
    assert model.metadata["estimator"] == "RankSVM"


def test_pipelines_within_pipelines_fold():
    inner = make_pipeline(RobustScaler(), StandardScaler())
    assert_same_scores(make_pipeline(inner, None, make_pipeline(MaxAbsScaler(), RankSVM())).fit(X, Y))


def test_sparse_data_go_through():
    pipeline = make_pipeline(MaxAbsScaler(), RankSVM()).fit(sparse.csr_array(X), Y)
    assert_same_scores(pipeline, sparse.csr_array(X))


def test_pipeline_without_scalers_is_its_ranker():
    pipeline = make_pipeline("passthrough", RankSVM()).fit(X, Y)
    model = RankingModel.from_estimator(pipeline)
    assert model.coef.tobytes() == pipeline[-1].coef_.tobytes()
    assert model.intercept == 0.0
    assert "folded" not in model.metadata


def test_names_of_the_columns_come_from_the_first_scaler():
    frame = pd.DataFrame(X, columns=["a", "b", "c", "d"])
    for pipeline in (
        make_pipeline(StandardScaler(), RankSVM()),
        make_pipeline("passthrough", MinMaxScaler(), StandardScaler(), RankSVM()),
        make_pipeline("passthrough", RankSVM()),
    ):
        assert RankingModel.from_estimator(pipeline.fit(frame, Y)).feature_names == ("a", "b", "c", "d")


def test_scale_is_that_of_the_raw_columns():
    plain = RankingModel.from_estimator(make_pipeline(StandardScaler(), RankSVM()).fit(X, Y))
    twice = RankingModel.from_estimator(make_pipeline(StandardScaler(), RankSVM(scale="minmax")).fit(X, Y))
    np.testing.assert_allclose(plain.column_scale[:3], X.std(axis=0)[:3])
    np.testing.assert_allclose(twice.column_scale[:3], np.ptp(X, axis=0)[:3])


def test_query_normalisation_comes_before_the_scalers():
    qid = np.arange(80) % 7
    normalized = RankingData(X, Y, qid=qid).normalized_by_query().X
    pipeline = make_pipeline(StandardScaler(), RankSVM()).fit(normalized, Y)
    model = RankingModel.from_estimator(pipeline, query_normalization="minmax")
    np.testing.assert_allclose(model.predict(X, qid), pipeline.predict(normalized), atol=1e-12)


def test_best_estimator_of_a_search_is_taken():
    search = GridSearchCV(make_pipeline(StandardScaler(), RankSVM()), {"ranksvm__alpha": [1e-3, 1e-1]}, cv=2)
    search.fit(X, Y)
    assert_same_scores(search)


class ShiftedScaler(StandardScaler):
    def transform(self, X, copy=None):
        return super().transform(X, copy) ** 3


@pytest.mark.parametrize(
    ("steps", "message"),
    [
        (
            [("pca", PCA(2)), ("rank", RankSVM())],
            "Step 'pca' of the pipeline is a PCA, which cannot be folded",
        ),
        ([("odd", ShiftedScaler()), ("rank", RankSVM())], "Step 'odd' of the pipeline is a ShiftedScaler"),
        ([("clip", MinMaxScaler(clip=True)), ("rank", RankSVM())], r"Step 'clip' of the pipeline clips"),
        ([("std", StandardScaler()), ("ridge", Ridge())], "must be a linear ranker.*; got 'ridge', a Ridge"),
        ([("std", StandardScaler()), ("none", "passthrough")], "got 'std', a StandardScaler"),
        ([("none", "passthrough")], "got no step at all"),
    ],
)
def test_what_cannot_be_folded_is_named(steps, message):
    with refuses(message):
        RankingModel.from_estimator(Pipeline(steps).fit(X, Y))


@pytest.mark.parametrize("other", [Ridge(), StandardScaler(), "RankSVM"])
def test_what_is_no_ranker_is_refused(other):
    with refuses(f"estimator must be a linear ranker.*; got {type(other).__name__}"):
        RankingModel.from_estimator(other)


def test_pipeline_must_be_fitted():
    with pytest.raises(NotFittedError):
        RankingModel.from_estimator(make_pipeline(StandardScaler(), RankSVM()))
