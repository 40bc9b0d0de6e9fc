"""Graphs of ONNX score as the model does, in onnxruntime and by the definition of the operators."""

import builtins
import io
import json
import sys
import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from export_cases import by_query, raw_data, raw_model
from marginrank import FourierFeatures, KernelRankSVM, NystroemFeatures, RankingData, RankingModel
from marginrank.export import Float32Warning
from marginrank.export.checking import compare_scores

onnx = pytest.importorskip("onnx")
onnxruntime = pytest.importorskip("onnxruntime")

rng = np.random.default_rng(0)
X = rng.random((60, 4)) + 0.1
DATA = RankingData(X, rng.integers(0, 3, size=60), qid=np.repeat(np.arange(6), 10))

MAPS = {
    **{
        kernel: NystroemFeatures(kernel, n_components=20, dtype="float64", random_state=0)
        for kernel in ("rbf", "laplacian", "polynomial", "cosine", "chi2")
    },
    "fractional degree": NystroemFeatures(
        "polynomial", degree=2.5, n_components=20, dtype="float64", random_state=0
    ),
    "fourier": FourierFeatures(n_components=20, dtype="float64", random_state=0),
    "fourier laplacian": FourierFeatures("laplacian", n_components=20, dtype="float64", random_state=0),
}


def graph(model, **options):
    file = io.BytesIO()
    model.export("onnx", file, **options)
    return file.getvalue()


def run(content, rows, dtype=np.float64):
    session = onnxruntime.InferenceSession(content, providers=["CPUExecutionProvider"])
    (scores,) = session.run(None, {"features": rows.astype(dtype)})
    assert scores.dtype == dtype
    return scores


def mapped(name, **options):
    feature_map = MAPS[name].fit(X)
    width = feature_map.transform(X[:1]).shape[1]
    return RankingModel(rng.normal(size=width), feature_map=feature_map, intercept=0.5, **options)


def test_a_linear_graph_has_the_scores_of_the_model_and_its_names():
    model, data = raw_model(), raw_data()
    content = graph(model)
    check = compare_scores(model.predict(data), run(content, data.X), np.asarray(data.qid))
    assert check.largest_difference <= 1e-12
    assert check.order_changes == 0
    loaded = onnx.load_from_string(content)
    (names,) = [prop.value for prop in loaded.metadata_props if prop.key == "columns"]
    assert json.loads(names) == list(model.feature_names)


def test_float32_is_for_those_who_ask_for_it():
    model, data = raw_model(), raw_data()
    found = run(graph(model, dtype="float32"), data.X, np.float32)
    check = compare_scores(model.predict(data), found.astype(np.float64), np.asarray(data.qid))
    assert 1e-12 < check.largest_difference <= 1e-5
    file = io.BytesIO()
    own = model.export("onnx", file, dtype="float32", check=data).check
    assert own.largest_difference == pytest.approx(check.largest_difference, rel=0.5)


def test_seconds_since_1970_warn_in_float32_only():
    seconds = 1.7e9 + rng.random(60) * 2e5
    data = RankingData(seconds[:, None], DATA.y, qid=DATA.qid, feature_names=["seconds"])
    model = RankingModel([1e-5], feature_names=["seconds"])
    with pytest.warns(UserWarning, match="ONNX in float32 computes in float32, and the values of 'seconds'"):
        model.export("onnx", io.BytesIO(), dtype="float32", check=data)
    assert model.export("onnx", io.BytesIO(), check=data).check.order_changes == 0


def test_a_batch_is_a_query_where_the_model_normalises_within_queries():
    model, data = by_query(), raw_data()
    content, scores = graph(model), model.predict(data)
    for query in np.unique(data.qid)[:5]:
        rows = data.qid == query
        assert_allclose(run(content, np.asarray(data.X)[rows]), scores[rows], rtol=0, atol=1e-12)
    assert onnx.load_from_string(content).doc_string.endswith("One query a batch.")


@pytest.mark.parametrize("name", MAPS)
def test_feature_maps_are_written_out(name):
    model = mapped(name)
    scores = model.predict(X)
    # Coefficients of a kernel's features are weighed by eigenvalues down to 1e-12 of the largest.
    assert_allclose(run(graph(model), X), scores, rtol=0, atol=1e-9 * np.abs(scores).max())


@pytest.mark.parametrize("name", MAPS)
def test_feature_maps_in_float32_are_off_by_its_rounding_only(name):
    model = mapped(name)
    with pytest.warns(Float32Warning, match=r"check measures by how much. Export with dtype='float64'"):
        content = graph(model, dtype="float32")
    found = run(content, X, np.float32).astype(np.float64)
    assert_allclose(found, run(graph(model), X), rtol=0, atol=float32_error(model))


def float32_error(model):
    """Return a bound of the error of scores in float32, by the rules for sums of products.

    A sum of n products is off by (n + 2) roundings of the sum of their sizes, inputs included; 8 more are for
    the functions. An exponent or an angle that is off by e moves its exponential, which is at most 1, or its
    cosine by e; powers and cosines of positive terms have an error relative to themselves.
    """
    rounding, steps = 2.0**-24, X.shape[1] + 8
    feature_map = model.feature_map
    if feature_map.map_name == "fourier":
        terms = np.sqrt(2.0 / len(model.coef)) * np.abs(model.coef)
        centred = np.abs(X) + np.abs(feature_map.centre_)
        inside = (centred @ np.abs(feature_map.frequencies_)).max() + 2.0 * np.pi
    else:
        largest, gamma = X.max(axis=0), feature_map.gamma_ or 1.0  # cosine has none
        size, inside = {
            "rbf": (1.0, gamma * 4.0 * (largest @ largest)),  # (|x| + |l|)^2
            "laplacian": (1.0, gamma * 2.0 * largest.sum()),  # |x| + |l|
            "chi2": (1.0, gamma * 8.0 * largest.sum()),  # the slope of (x - l)^2 / (x + l) is at most 3
            "cosine": (1.0, 1.0),
            "polynomial": (
                (gamma * (largest @ largest) + feature_map.coef0) ** feature_map.degree,
                feature_map.degree,
            ),
        }[feature_map.kernel]
        terms = size * np.abs(feature_map.whitening_ @ model.coef)
    return rounding * ((len(terms) + 2 + steps * (1.0 + inside)) * terms.sum() + 2.0 * abs(model.intercept))


def test_a_precomputed_kernel_takes_its_columns():
    K = X @ X.T
    feature_map = NystroemFeatures("precomputed", n_components=5, dtype="float64", random_state=0).fit(K)
    model = RankingModel(np.ones(len(feature_map.eigenvalues_)), feature_map=feature_map)
    assert_allclose(run(graph(model), K), model.predict(K), rtol=1e-9)


def test_scales_offsets_and_normalisation_come_before_the_map():
    multiplier, offset = np.array([2.0, 0.5, 1.0, 3.0]), np.array([0.0, 0.25, 0.0, -1.0])
    model = mapped("rbf", input_scaling=(multiplier, offset))
    assert_allclose(run(graph(model), X), model.predict(X), rtol=1e-9)
    whole = mapped("fourier", query_normalization="minmax")
    assert_allclose(run(graph(whole), X), whole.predict(X, np.zeros(60)), rtol=1e-9)


def test_weights_of_columns_beside_a_map_are_added():
    model = mapped("rbf", linear_coef=[1.0, -2.0, 0.0, 3.0], input_scaling=(np.full(4, 2.0), None))
    assert_allclose(run(graph(model), X), model.predict(X), rtol=1e-9)


def test_rows_of_zeros_have_a_cosine_of_zero():
    model = mapped("cosine")
    assert_allclose(run(graph(model), np.zeros((2, 4))), model.predict(np.zeros((2, 4))), rtol=1e-12)


@pytest.mark.parametrize("approximation", ["nystroem", "fourier"])
def test_fitted_kernel_machines_rank_the_same(approximation):
    ranker = KernelRankSVM(
        approximation=approximation, n_components=30, dtype="float64", scale="standard", random_state=0
    )
    model = ranker.fit(DATA).to_model()
    check = model.export("onnx", io.BytesIO(), check=DATA).check
    assert check.order_changes == 0
    assert check.largest_difference <= 1e-9


def test_a_check_says_whether_a_kernel_in_float32_ranks_the_same():
    ranker = KernelRankSVM(n_components=30, dtype="float64", alpha=1e-6, scale="standard", random_state=0)
    model = ranker.fit(DATA).to_model()
    with pytest.warns(Float32Warning, match=r"on the rows of check, differences of scores change by") as said:
        check = model.export("onnx", io.BytesIO(), check=DATA, dtype="float32").check
    assert len(said) == 1
    assert check.largest_difference > 1e-5
    smooth = RankingModel(np.ones(20), feature_map=MAPS["fourier"].fit(X))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check = smooth.export("onnx", io.BytesIO(), check=DATA, dtype="float32").check
    assert check.largest_difference <= 1e-5


def test_the_reference_of_onnx_checks_where_there_is_no_runtime(monkeypatch):
    model, data = raw_model(), raw_data()
    by_runtime = model.export("onnx", io.BytesIO(), check=data).check
    real = builtins.__import__

    def without(name, *arguments, **settings):
        if name.split(".")[0] == "onnxruntime":
            raise ImportError(name)
        return real(name, *arguments, **settings)

    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    monkeypatch.setattr(builtins, "__import__", without)
    check = model.export("onnx", io.BytesIO(), check=data).check
    assert check.largest_difference <= 1e-12
    assert (check.n_pairs, check.order_changes) == (by_runtime.n_pairs, 0)


def test_without_onnx_the_sentence_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "onnx", None)
    with pytest.raises(ValueError, match=r"pip install 'marginrank\[onnx\]'"):
        graph(raw_model())


def test_the_number_of_rows_is_free_and_one_row_is_a_batch():
    content = graph(raw_model())
    scores = raw_model().predict(raw_data().X)
    one = run(content, np.asarray(raw_data().X)[:1])
    assert one.shape == (1,)
    assert_allclose(one, scores[:1], rtol=1e-12)


def test_only_onnx_has_a_dtype():
    with pytest.raises(ValueError, match="dtype is not for target='solr'; these take it: onnx"):
        raw_model().export("solr", io.BytesIO(), dtype="float32")
    with pytest.raises(ValueError, match="dtype must be one of 'float64', 'float32'"):
        graph(raw_model(), dtype="float16")


def test_columns_of_weight_0_may_hold_anything():
    content = graph(RankingModel([1.0, 0.0]))
    rows = np.array([[1.0, 5.0], [2.0, -1e300]])
    assert_array_equal(run(content, rows), [1.0, 2.0])
