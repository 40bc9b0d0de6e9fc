"""A model scores as its estimator does, and cannot be changed."""

import io
import json
import pickle
import warnings
from dataclasses import FrozenInstanceError
from importlib.metadata import version

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning, NotFittedError

from marginrank import KernelRankSVM, RankingData, RankingModel, RankSVM
from marginrank.exceptions import MarginRankError

RNG = np.random.default_rng(0)
X = RNG.standard_normal((60, 3)) * [1.0, 10.0, 100.0]
Y = X @ [1.0, -0.1, 0.01] + RNG.standard_normal(60)
QID = RNG.integers(5, size=60)
NAMES = ["price", "stars", "age"]


def refuses(message):
    return pytest.raises(MarginRankError, match=message)


# From an estimator


@pytest.mark.parametrize("scale", [None, "standard", "minmax"])
@pytest.mark.parametrize("storage", [np.array, sparse.csr_array, np.float32, np.asfortranarray])
def test_scores_have_the_bits_of_the_estimator(scale, storage):
    ranker = RankSVM(scale=scale).fit(X, Y, qid=QID)
    model = ranker.to_model()
    assert model.predict(storage(X)).tobytes() == ranker.predict(storage(X)).tobytes()
    assert RankingModel.from_estimator(ranker).coef.tobytes() == ranker.coef_.tobytes()


def test_scale_that_was_used_is_told():
    assert RankSVM().fit(X, Y).to_model().column_scale is None
    scale = RankSVM(scale="minmax").fit(X, Y).to_model().column_scale
    np.testing.assert_array_equal(scale, np.ptp(X, axis=0))


def test_names_travel_with_the_model():
    assert RankSVM().fit(X, Y).to_model().feature_names is None
    assert RankSVM().fit(pd.DataFrame(X, columns=NAMES), Y).to_model().feature_names == tuple(NAMES)


def test_metadata_tell_estimator_parameters_and_certificate():
    ranker = RankSVM(alpha=np.float64(1e-2), max_iter=np.int64(500), n_jobs=2).fit(X, Y, qid=QID)
    metadata = ranker.to_model().metadata
    assert metadata["estimator"] == "RankSVM"
    assert metadata["library_version"] == version("marginrank")
    assert metadata["parameters"]["alpha"] == 1e-2
    assert metadata["parameters"]["max_iter"] == 500
    assert not {"n_jobs", "verbose"} & set(metadata["parameters"])
    for name in ("gap", "objective", "lower_bound", "n_iter", "n_pairs", "n_queries"):
        assert metadata[name] == getattr(ranker, f"{name}_")
    assert json.loads(json.dumps(metadata, allow_nan=False)) == metadata


def test_figures_that_are_not_finite_become_none():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        ranker = RankSVM(max_iter=1).fit(X, Y)
    ranker.gap_ = np.inf
    assert ranker.to_model().metadata["gap"] is None


def test_estimator_must_be_fitted():
    with pytest.raises(NotFittedError):
        RankingModel.from_estimator(RankSVM())


def test_later_training_does_not_change_the_model():
    ranker = RankSVM().fit(X, Y)
    model = ranker.to_model()
    before = model.coef.copy()
    ranker.coef_ *= 2
    np.testing.assert_array_equal(model.coef, before)


# A value


def test_nothing_can_be_changed():
    given = np.array([1.0, 2.0])
    model = RankingModel(given, column_scale=[1.0, 1.0], metadata={"parameters": {"alpha": 1.0}})
    given[0] = 9.0
    model.metadata["parameters"]["alpha"] = 9.0
    assert model.coef.tolist() == [1.0, 2.0]
    assert model.metadata == {"parameters": {"alpha": 1.0}}
    with pytest.raises(FrozenInstanceError):
        model.intercept = 1.0
    for array in (model.coef, model.column_scale):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 9.0


def test_models_can_be_pickled():
    model = RankSVM().fit(X, Y).to_model()
    copy = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(copy.predict(X), model.predict(X))
    assert copy.metadata == model.metadata


def test_repr_tells_kind_width_and_normalisation():
    model = RankingModel([1.0, 2.0], query_normalization="minmax", metadata={"estimator": "RankSVM"})
    assert repr(model) == (
        "RankingModel('linear', n_features=2, query_normalization='minmax', estimator='RankSVM')"
    )
    assert repr(RankingModel([1.0])) == "RankingModel('linear', n_features=1)"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"coef": []}, "coef must be 1-D and not empty"),
        ({"coef": [[1.0]]}, "coef must be 1-D and not empty; got shape"),
        ({"coef": [1.0, np.nan]}, "coef must be finite; got nan at position 1"),
        ({"coef": ["x"]}, "coef must hold numbers"),
        ({"coef": [1.0], "intercept": np.inf}, "intercept must be a finite number"),
        ({"coef": [1.0], "feature_names": ["a", "b"]}, "feature_names must have one entry per column"),
        ({"coef": [1.0, 2.0], "feature_names": ["a", "a"]}, "feature_names must be distinct"),
        ({"coef": [1.0], "query_normalization": "zscore"}, "None, 'minmax'; got 'zscore'"),
        ({"coef": [1.0], "column_scale": [1.0, 2.0]}, "one entry per coefficient; got 2 for 1"),
        ({"coef": [1.0], "metadata": ["a"]}, "metadata must be a mapping; got .'a'."),
        ({"coef": [1.0], "metadata": {"a": {"b": len}}}, r"metadata\['a'\]\['b'\] must be a JSON value"),
    ],
)
def test_what_makes_no_model_is_refused(arguments, message):
    with refuses(message):
        RankingModel(**arguments)


# Columns


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame, pa.table])
def test_frame_is_matched_by_name_in_any_order_and_among_others(frame):
    model = RankingModel([1.0, 2.0, 3.0], feature_names=NAMES)
    columns = {"age": X[:, 2], "docid": ["d"] * 60, "price": X[:, 0], "qid": QID, "stars": X[:, 1]}
    np.testing.assert_array_equal(model.predict(frame(columns)), model.predict(X))


def test_columns_that_a_frame_lacks_are_named():
    model = RankingModel([1.0, 2.0, 3.0], feature_names=NAMES)
    with refuses("X lacks columns that the model was trained on: 'price', 'age'"):
        model.predict(pd.DataFrame({"stars": [1.0]}))


def test_frame_goes_by_position_where_the_model_has_no_names():
    model = RankingModel([1.0, 2.0, 3.0])
    frame = pd.DataFrame(X, columns=NAMES)
    np.testing.assert_array_equal(model.predict(frame), model.predict(X))


@pytest.mark.parametrize("storage", [np.array, sparse.csr_array])
def test_named_data_are_matched_by_name(storage):
    model = RankingModel([1.0, 2.0, 3.0], feature_names=NAMES)
    order = [2, 0, 1]
    data = RankingData(storage(X[:, order]), Y, feature_names=[NAMES[k] for k in order])
    # The stored values of a row may be added in another order.
    np.testing.assert_allclose(model.predict(data), model.predict(X), rtol=1e-13)
    with refuses("X lacks columns .*: 'price'"):
        model.predict(RankingData(X, Y, feature_names=["a", "stars", "age"]))


@pytest.mark.parametrize("width", [2, 4])
def test_arrays_of_another_width_are_refused_in_the_words_of_scikit_learn(width):
    model = RankingModel([1.0, 2.0, 3.0])
    for other in (
        np.ones((4, width)),
        sparse.csr_array(np.ones((4, width))),
        RankingData(np.ones((4, width)), [0] * 4),
    ):
        with refuses(f"X has {width} features, but RankingModel is expecting 3 features as input"):
            model.predict(other)


def test_missing_values_are_named_by_column():
    model = RankingModel([1.0, 2.0, 3.0], feature_names=NAMES)
    frame = pd.DataFrame(X.copy(), columns=NAMES)
    frame.loc[7, "stars"] = np.nan
    with refuses("X contains NaN .first at row 7, column 'stars'"):
        model.predict(frame)


def test_missing_values_in_columns_that_are_not_used_do_not_matter():
    model = RankingModel([1.0], feature_names=["price"])
    assert model.predict(pd.DataFrame({"price": [2.0], "other": [np.nan]})).tolist() == [2.0]


def test_scores_have_the_same_bits_for_any_number_of_threads():
    model = RankSVM().fit(X, Y).to_model()
    assert model.predict(X, n_jobs=1).tobytes() == model.predict(X, n_jobs=3).tobytes()


# Query-level normalisation


def test_normalising_model_scores_as_training_on_normalised_data_did():
    normalized = RankingData(X, Y, qid=QID).normalized_by_query()
    ranker = RankSVM().fit(normalized)
    model = ranker.to_model(query_normalization="minmax")
    expected = ranker.predict(normalized)
    frame = pd.DataFrame(X, columns=NAMES).assign(qid=QID)
    for scores in (
        model.predict(X, QID),
        model.predict(sparse.csr_array(X), qid=list(QID)),
        model.predict(RankingData(X, Y, qid=QID)),
        model.predict(RankingData(X, Y, qid=QID.astype(str))),
        model.predict(frame),
    ):
        np.testing.assert_array_equal(scores, expected)


def test_normalising_model_needs_qid():
    model = RankingModel([1.0, 2.0, 3.0], query_normalization="minmax")
    for data in (X, RankingData(X, Y), pd.DataFrame(X, columns=NAMES)):
        with refuses("normalises features within queries, so predict needs qid"):
            model.predict(data)
    with refuses("qid must have one entry per row of X; got 1 for 60 rows"):
        model.predict(X, qid=[1])


def test_qid_changes_nothing_where_the_model_does_not_normalise():
    model = RankingModel([1.0, 2.0, 3.0])
    np.testing.assert_array_equal(model.predict(X, qid=QID), model.predict(X))


def test_qid_given_twice_is_refused():
    model = RankingModel([1.0, 2.0, 3.0], query_normalization="minmax")
    with refuses("RankingData carries qid; do not pass it again"):
        model.predict(RankingData(X, Y, qid=QID), qid=QID)
    with refuses("X has a column 'qid' and qid was given as well"):
        model.predict(pd.DataFrame(X, columns=NAMES).assign(qid=QID), qid=QID)


@pytest.mark.parametrize("ranker", [RankSVM(), KernelRankSVM(n_components=4, random_state=0)], ids=repr)
def test_rankers_and_models_that_know_no_statistics_of_columns_are_saved(ranker):
    """As those are that were pickled before there were any."""
    X = np.random.default_rng(0).normal(size=(12, 2))
    ranker.fit(X, np.arange(12.0))
    del ranker.column_statistics_
    model = ranker.to_model()
    assert model.column_statistics is None
    del vars(model)["column_statistics"]
    file = io.BytesIO()
    model.save(file)
    file.seek(0)
    np.testing.assert_array_equal(RankingModel.load(file).predict(X), model.predict(X))
