"""Models know which features they use and need no others: in frames, data, explanations and files."""

import io
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse

from marginrank import NystroemFeatures, RankingData, RankingModel, RankSVM
from marginrank.exceptions import MarginRankError, ModelFileError
from marginrank.model.file_format import decode, encode

FILE = Path(__file__).parent / "files" / "model-v1-features-used.mrk"
NAMES = ["bm25", "age", "clicks", "depth", "price"]
COEF = [0.75, 0.0, -1 / 3, 0.0, 0.0]


def sparse_model(**given):
    return RankingModel(COEF, feature_names=NAMES, metadata={"estimator": "by hand"}, **given)


def rows(seed=0):
    return np.random.default_rng(seed).normal(size=(9, 5))


def file_of(model):
    file = io.BytesIO()
    model.save(file)
    return file.getvalue()


def test_used_are_the_columns_of_weights_other_than_zero():
    assert sparse_model().features_used.tolist() == [0, 2]
    assert sparse_model().n_features_used == 2
    assert RankingModel([0.0, -0.0]).n_features_used == 0


def test_a_feature_map_uses_all_columns():
    X = rows()
    features = NystroemFeatures(n_components=2, random_state=0).fit(X)
    assert RankingModel([0.0, 1.0], feature_map=features).features_used.tolist() == [0, 1, 2, 3, 4]


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
@pytest.mark.parametrize("normalization", [None, "minmax"])
def test_frames_need_only_the_used_columns_and_score_the_same_bits(frame, normalization):
    X, model = rows(), sparse_model(query_normalization=normalization)
    qid = np.arange(9) // 3
    whole = frame(dict(zip(NAMES, X.T, strict=True)))
    few = frame({"clicks": X[:, 2], "title": ["x"] * 9, "bm25": X[:, 0]})
    expected = model.predict(X, qid)
    assert model.predict(whole, qid).tobytes() == expected.tobytes()
    assert model.predict(few, qid).tobytes() == expected.tobytes()


def test_columns_that_are_not_used_may_hold_anything():
    frame = pd.DataFrame(rows(), columns=NAMES).assign(age=np.nan, price="cheap")
    scores = sparse_model().predict(frame)
    np.testing.assert_array_equal(scores, sparse_model().predict(rows()))


def test_used_columns_must_be_there_and_finite():
    frame = pd.DataFrame(rows(), columns=NAMES)
    with pytest.raises(MarginRankError, match="X lacks columns that the model was trained on: 'clicks'"):
        sparse_model().predict(frame[["bm25", "age"]])
    with pytest.raises(MarginRankError, match=r"NaN|finite"):
        sparse_model().predict(frame.assign(clicks=np.nan))


@pytest.mark.parametrize("storage", [np.asarray, sparse.csr_matrix])
def test_named_data_need_only_the_used_columns(storage):
    X = rows()
    data = RankingData(storage(X[:, [2, 3, 0]]), np.arange(9.0), feature_names=["clicks", "depth", "bm25"])
    np.testing.assert_array_equal(sparse_model().predict(data), sparse_model().predict(storage(X)))


def test_arrays_keep_the_width_of_the_model():
    with pytest.raises(MarginRankError, match="X has 2 features, but RankingModel is expecting 5"):
        sparse_model().predict(rows()[:, [0, 2]])


def test_a_model_without_weights_needs_no_columns():
    model = RankingModel([0.0, 0.0], intercept=2.0, feature_names=["a", "b"])
    assert model.predict(pd.DataFrame({"other": [1.0, 2.0]})).tolist() == [2.0, 2.0]


def test_explanations_need_only_the_used_columns():
    X, model = rows(), sparse_model()
    few = pd.DataFrame(X, columns=NAMES)[["clicks", "bm25"]]
    np.testing.assert_array_equal(model.explain(few).contributions, model.explain(X).contributions)
    found = model.explain_pair(dict(few.iloc[0]), dict(few.iloc[1]))
    np.testing.assert_array_equal(found.contributions, model.explain_pair(X[0], X[1]).contributions)


def test_estimators_keep_the_check_of_all_names():
    frame = pd.DataFrame(rows(), columns=NAMES)
    ranker = RankSVM(bounds={"age": (0, 0)}).fit(frame, np.arange(9.0))
    assert "age" not in {NAMES[k] for k in ranker.to_model().features_used}
    with pytest.raises(ValueError, match="age"):
        ranker.predict(frame.drop(columns="age"))
    scores = ranker.to_model().predict(frame.drop(columns="age"))
    np.testing.assert_array_equal(scores, ranker.to_model().predict(frame))


def test_a_file_lists_the_used_features_and_keeps_loading():
    assert FILE.read_bytes() == file_of(sparse_model())
    header, arrays = decode(FILE.read_bytes(), "a file")
    assert header["format_version"] == 1
    assert arrays["features_used"].tolist() == [0, 2]
    assert RankingModel.load(FILE).coef.tolist() == COEF


def test_files_without_the_list_load_as_before():
    header, arrays = decode(file_of(sparse_model()), "a file")
    del arrays["features_used"]
    model = RankingModel.load(io.BytesIO(encode(header, arrays, 1)))
    assert model.features_used.tolist() == [0, 2]


@pytest.mark.parametrize("wrong", [[0], [0, 1], [2, 0], [0, 2, 9]])
def test_a_file_whose_list_is_not_that_of_its_weights_is_refused(wrong):
    header, arrays = decode(file_of(sparse_model()), "a file")
    arrays["features_used"] = np.array(wrong, dtype=np.int32)
    with pytest.raises(ModelFileError, match="features_used must be the columns whose coefficient is not 0"):
        RankingModel.load(io.BytesIO(encode(header, arrays, 1)))
