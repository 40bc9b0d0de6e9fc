"""Models with a feature map: raw features in, the scores of the pipeline out, and through a file unharmed."""

import hashlib
import io
import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler, StandardScaler

from marginrank import RankingData, RankingModel, RankRLS, RankSVM
from marginrank.exceptions import MarginRankError, ModelFileError
from marginrank.feature_maps import FourierFeatures, NystroemFeatures
from marginrank.model.file_format import MAGIC, decode

VERSION_2 = Path(__file__).parent / "files" / "model-v2.mrk"
RNG = np.random.default_rng(0)
X = RNG.random((60, 3)) * [1.0, 10.0, 0.1] + [0.0, 5.0, 0.0]
Y = np.sin(5 * X[:, 0]) + 0.1 * X[:, 1]
MAPS = {
    "fourier": FourierFeatures(n_components=20, random_state=0),
    "nystroem": NystroemFeatures(n_components=15, random_state=0),
    "polynomial": NystroemFeatures("polynomial", degree=2, n_components=6, random_state=0),
    "cosine": NystroemFeatures("cosine", n_components=3, dtype="float64", random_state=0),
}


def file_of(model):
    file = io.BytesIO()
    model.save(file)
    return file.getvalue()


def loaded(data):
    return RankingModel.load(io.BytesIO(data))


def small_model():
    """Two columns, two cosines: a file of about a kilobyte."""
    fourier = FourierFeatures(gamma=0.5, n_components=2, random_state=0).fit(X[:, :2])
    return RankingModel([0.5, -2.0], feature_map=fourier, input_scaling=([2.0, 0.5], [0.1, 0.0]))


@pytest.mark.parametrize("name", MAPS)
@pytest.mark.parametrize("ranker", [RankSVM("squared_hinge"), RankRLS()], ids=["svm", "rls"])
def test_model_of_a_pipeline_scores_raw_features_as_the_pipeline_does(name, ranker):
    pipeline = make_pipeline(StandardScaler(), MAPS[name], MaxAbsScaler(), ranker).fit(X, Y)
    model = RankingModel.from_estimator(pipeline)
    expected = pipeline.predict(X)
    # A pipeline whitens in float32 before it weighs the features; a model weighs kernel values in float64.
    np.testing.assert_allclose(model.predict(X), expected, atol=2e-3 * np.abs(expected).max())
    assert model.kind == "mapped"
    assert model.n_features == 3
    assert model.metadata["folded"] == ["StandardScaler", type(MAPS[name]).__name__, "MaxAbsScaler"]


def test_in_float64_scores_agree_to_rounding():
    mapping = NystroemFeatures(gamma=0.5, n_components=15, cutoff=1e-6, dtype="float64", random_state=0)
    pipeline = make_pipeline(StandardScaler(), mapping, StandardScaler(), RankSVM(scale="standard")).fit(X, Y)
    model = RankingModel.from_estimator(pipeline)
    np.testing.assert_allclose(model.predict(X), pipeline.predict(X), atol=1e-8)


@pytest.mark.parametrize("name", MAPS)
@pytest.mark.parametrize("storage", [np.asarray, sparse.csr_array], ids=["dense", "csr"])
def test_load_gives_back_the_scores_to_the_last_bit(name, storage, tmp_path):
    rows = storage(X)
    model = RankingModel.from_estimator(make_pipeline(MAPS[name], RankSVM()).fit(rows, Y))
    model.save(tmp_path / "model.mrk")
    copy = RankingModel.load(tmp_path / "model.mrk")
    np.testing.assert_array_equal(copy.predict(rows), model.predict(rows))
    np.testing.assert_array_equal(copy.predict(rows, n_jobs=1), model.predict(rows, n_jobs=2))
    assert file_of(copy) == file_of(model)
    assert copy.feature_map.gamma_ == model.feature_map.gamma_


def test_precomputed_kernel_goes_to_a_file():
    K = np.exp(-((X[:, None] - X[None]) ** 2).sum(axis=2))
    nystroem = NystroemFeatures("precomputed", n_components=8, dtype="float64", random_state=0)
    model = RankingModel.from_estimator(make_pipeline(nystroem, RankSVM()).fit(K, Y))
    np.testing.assert_array_equal(loaded(file_of(model)).predict(K), model.predict(K))
    assert model.n_features == len(X)


def test_columns_are_found_by_name_and_normalised_within_queries():
    names = ["a", "b", "c"]
    qid = np.arange(60) // 6
    data = RankingData(X, Y, qid=qid).normalized_by_query()
    frame = pd.DataFrame(data.X, columns=names)
    pipeline = make_pipeline(MAPS["fourier"], RankSVM()).fit(frame, Y)
    model = RankingModel.from_estimator(pipeline, query_normalization="minmax")
    mixed = pd.DataFrame(X, columns=names)[["c", "a", "b"]].assign(other=1.0, qid=qid)
    np.testing.assert_allclose(loaded(file_of(model)).predict(mixed), pipeline.predict(frame), atol=1e-4)


def test_the_model_keeps_a_map_of_its_own():
    model, fourier = small_model(), FourierFeatures(n_components=2, random_state=1).fit(X[:, :2])
    own = RankingModel([1.0, 1.0], feature_map=fourier)
    before = own.predict(X[:, :2])
    fourier.frequencies_[:] = 0.0
    np.testing.assert_array_equal(own.predict(X[:, :2]), before)
    assert "'mapped', n_features=2" in repr(model)


def test_linear_models_are_still_written_in_version_1():
    assert decode(file_of(RankingModel([1.0])), "x")[0]["format_version"] == 1
    assert decode(file_of(small_model()), "x")[0]["format_version"] == 2


def test_a_file_of_version_2_keeps_loading():
    model = RankingModel.load(VERSION_2)
    assert VERSION_2.stat().st_size < 2048
    multiplier, offset = np.array([2.0, 0.5]), np.array([0.1, 0.0])
    rows = np.array([[0.25, 6.0], [1.0, 9.0]])
    W = np.array([[1.0, -0.5], [0.25, 2.0]])
    want = np.sqrt(2 / 2) * np.cos((rows * multiplier + offset - [0.5, 0.0]) @ W + [0.0, 1.0]) @ [0.5, -2.0]
    np.testing.assert_allclose(model.predict(rows), want + 0.25, rtol=1e-12)
    assert model.feature_names == ("bm25", "Größe")
    assert model.feature_map.gamma_ == 0.5


@pytest.mark.parametrize("flip", [0x01, 0x80, 0xFF])
def test_every_flipped_byte_is_refused(flip):
    data = file_of(small_model())
    for k in range(len(data)):
        damaged = bytearray(data)
        damaged[k] ^= flip
        with pytest.raises(ModelFileError, match="damaged"):
            loaded(bytes(damaged))


def test_every_cut_is_refused():
    data = file_of(small_model())
    for length in range(len(data)):
        with pytest.raises(ModelFileError, match=r"empty|not a marginrank model|cut short|damaged"):
            loaded(data[:length])


def forged(change):
    """Return a model file with a changed header and a right checksum."""
    data = file_of(small_model())
    at = len(MAGIC) + 32
    n_header = int.from_bytes(data[at : at + 8], "little")
    header = json.loads(data[at + 8 : at + 8 + n_header])
    change(header)
    text = json.dumps(header).encode()
    rest = len(text).to_bytes(8, "little") + text + data[at + 8 + n_header :]
    return MAGIC + hashlib.sha256(rest).digest() + rest


def put(*path):
    *places, name, value = path

    def change(header):
        for place in places:
            header = header[place]
        header[name] = value

    return change


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (put("feature_map", None), "feature_map must be an object"),
        (put("feature_map", {}), "names the feature map None"),
        (put("feature_map", "map", "magic"), "names the feature map 'magic'"),
        (put("feature_map", "map", "nystroem"), "no sound kernel"),
        (put("feature_map", "state_version", 2), "version 2"),
        (put("feature_map", "kernel", ["rbf"]), "is not a valid marginrank model"),
        (put("feature_map", "gamma", "wide"), "needs a kernel and gamma"),
        (put("feature_map", "n_features_in", 3), "must hold 'frequencies'"),
        (put("feature_map", "dtype", "object"), "dtype float32 or float64"),
        (put("feature_names", ["a"]), "is not a valid marginrank model"),
        (put("arrays", 0, "name", "coefficients"), "'coef' is missing"),
        (put("arrays", 4, "name", "multiplier"), "input_offset comes with input_multiplier"),
        (put("kind", "linear"), None),
    ],
)
def test_forged_header_is_refused_with_a_sentence(change, message):
    if message is None:  # two weights of two columns: a model, if not the one that was saved
        assert loaded(forged(change)).kind == "linear"
        return
    with pytest.raises(ModelFileError, match=message):
        loaded(forged(change))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            {"feature_map": StandardScaler()},
            "must be a fitted NystroemFeatures or Fourier",
        ),
        ({"input_scaling": ([1.0], None)}, "goes before a feature map"),
        ({"feature_map": MAPS["fourier"]}, "makes 20 features, but there are 2 coefficients"),
    ],
)
def test_parts_that_do_not_fit_are_refused(arguments, message):
    MAPS["fourier"].fit(X)
    with pytest.raises(MarginRankError, match=message):
        RankingModel([1.0, 2.0], **arguments)


def test_scaling_of_another_width_is_refused():
    fourier = FourierFeatures(n_components=2, random_state=0).fit(X)
    with pytest.raises(MarginRankError, match="one entry per feature; got 2 for 3"):
        RankingModel([1.0, 2.0], feature_map=fourier, input_scaling=([1.0, 1.0], None))


def test_second_map_in_a_pipeline_is_refused():
    pipeline = make_pipeline(MAPS["fourier"], NystroemFeatures(n_components=5), RankSVM()).fit(X, Y)
    with pytest.raises(MarginRankError, match="second feature map, 'nystroemfeatures', after a Fourier"):
        RankingModel.from_estimator(pipeline)
