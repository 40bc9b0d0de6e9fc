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
from marginrank.model.mapping import mapped_scores
from marginrank.training.mapped_columns import scaled_map

onnx = pytest.importorskip("onnx")
pytest.importorskip("onnx.reference")
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
def test_feature_maps_in_float32_compute_in_float64_inside(name):
    model = mapped(name)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        content = graph(model, dtype="float32")
    rows = X.astype(np.float32)
    exact = run(graph(model), rows)
    # Of the same rows only the scores are rounded, to half a unit in the last place.
    found = run(content, rows, np.float32).astype(np.float64)
    error = rounding_of_kernel_values(model)  # sums are in another order here
    assert error < 1e-8 * np.abs(exact).max()
    assert (np.abs(found - exact) <= 2.0**-24 * np.abs(exact) + error).all()


def rounding_of_kernel_values(model):
    """Return what four units in the last place of the kernel values, or of the cosines, make of scores."""
    feature_map, coef = model.feature_map, model.coef
    if feature_map.map_name == "fourier":
        return 4.0 * 2.0**-53 * np.abs(coef).sum()
    values = np.empty((len(X), len(feature_map.landmarks_)))
    feature_map.block_map().transform_block(X, values)
    return 4.0 * 2.0**-53 * (values @ np.abs(feature_map.whitening_ @ coef)).max()


WIDE = np.random.default_rng(4).normal(size=(50, 300)) * np.logspace(-3, 3, 300)


@pytest.mark.parametrize("runtime", ["onnxruntime", "reference"])
@pytest.mark.parametrize(
    "rows", [X, WIDE[:, :1], WIDE[:, :255], WIDE[:, :254], WIDE], ids=lambda r: r.shape[1]
)
@pytest.mark.parametrize("n_landmarks", [1, 7, 8, 29])
@pytest.mark.parametrize("kernel", ["rbf", "polynomial", "cosine"])
def test_kernels_have_the_bits_of_the_library_in_every_runtime(kernel, n_landmarks, rows, runtime):
    # Sums of 256 columns, of 8 landmarks and of what is left over; weights that cancel to 1e-6 of themselves.
    feature_map = NystroemFeatures(kernel, n_components=n_landmarks, dtype="float64", random_state=0).fit(
        rows
    )
    width = feature_map.transform(rows[:1]).shape[1]
    model = RankingModel(
        1e6 * np.random.default_rng(1).normal(size=width),
        feature_map=feature_map,
        linear_coef=np.linspace(-1.0, 1.0, rows.shape[1]),
        input_scaling=(np.full(rows.shape[1], 1.1), None),
        intercept=0.5,
    )
    content = graph(model)
    if runtime == "reference":
        evaluator = onnx.reference.ReferenceEvaluator(onnx.load_from_string(content))
        (found,) = evaluator.run(None, {"features": rows})
    else:
        found = run(content, rows)
    assert_array_equal(found, model.predict(rows))


def test_landmarks_far_from_all_others_have_their_kernel_values():
    far = np.concatenate((X[:20], X[:5] + 1e6))
    feature_map = NystroemFeatures("rbf", gamma=1.0, n_components=25, dtype="float64", random_state=0).fit(
        far
    )
    assert len(feature_map.block_map().far_landmarks) == 5
    model = RankingModel(rng.normal(size=len(feature_map.eigenvalues_)), feature_map=feature_map)
    assert_allclose(run(graph(model), far), model.predict(far), rtol=1e-9)


def test_float64_maps_scale_float32_rows_in_float64():
    feature_map = NystroemFeatures("rbf", n_components=20, dtype="float64", random_state=0).fit(X)
    coef = 1e6 * rng.normal(size=len(feature_map.eigenvalues_))
    model = RankingModel(coef, feature_map=feature_map, input_scaling=(np.full(4, 1.1), None))
    rows = X.astype(np.float32)
    assert_array_equal(model.predict(rows), model.predict(rows.astype(np.float64)))
    assert_array_equal(run(graph(model), rows), model.predict(rows))


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


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("approximation", ["nystroem", "fourier"])
@pytest.mark.parametrize("alpha", [1e-2, 1e-6])
def test_kernels_in_float32_rank_the_same(approximation, alpha, dtype):
    ranker = KernelRankSVM(
        approximation=approximation,
        n_components=30,
        dtype=dtype,
        alpha=alpha,
        scale="standard",
        random_state=0,
    )
    model = ranker.fit(DATA).to_model()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check = model.export("onnx", io.BytesIO(), check=DATA, dtype="float32").check
    assert check.largest_difference <= 1e-5
    assert check.order_changes == 0


def test_a_constant_that_float32_cannot_afford_is_dropped_and_told():
    ranker = KernelRankSVM(approximation="fourier", n_components=30, alpha=1e-6, dtype="float64")
    model = ranker.set_params(scale="standard", random_state=0).fit(DATA).to_model()
    scores, content = model.predict(X), graph(model, dtype="float32")
    (constant,) = [
        float(prop.value)
        for prop in onnx.load_from_string(content).metadata_props
        if prop.key == "dropped_constant"
    ]
    assert abs(constant) > 10.0 * scores.std()
    found = run(content, X, np.float32).astype(np.float64) + constant
    assert_allclose(found, scores, rtol=0, atol=1e-5 * scores.std())
    assert_allclose(run(graph(model), X), scores, rtol=0, atol=1e-9 * scores.std())  # float64 needs it not


@pytest.mark.parametrize("kernel", ["rbf", "polynomial", "cosine"])
@pytest.mark.parametrize("rows", [np.float32, np.float64])
def test_a_map_of_float32_trains_and_its_scores_are_those_of_its_graph(kernel, rows):
    # At this alpha weights of landmarks cancel, and kernel values of float32 would show in the scores.
    ranker = KernelRankSVM(kernel, n_components=30, alpha=1e-6, scale="standard", random_state=0)
    data = RankingData(X.astype(rows), DATA.y, qid=DATA.qid)
    model = ranker.fit(data).to_model()
    assert ranker.feature_map_.transform(X).dtype == np.float32
    scores = ranker.predict(data.X)
    assert_array_equal(model.predict(data.X), scores)
    assert_array_equal(run(graph(model), data.X), scores)
    blurred = scaled_map(ranker.feature_map_, ranker.column_scale_)
    blurred = mapped_scores(blurred, data.X, ranker.coef_, ranker.linear_coef_, n_threads=1)
    lost = compare_scores(scores, blurred, np.asarray(DATA.qid)).largest_difference
    assert lost > 1e-6
    check = model.export("onnx", io.BytesIO(), check=data, dtype="float32").check
    assert check.largest_difference <= 1e-5


@pytest.mark.parametrize("approximation", ["nystroem", "fourier"])
def test_scores_of_a_map_of_float32_depend_on_no_other_row(approximation):
    ranker = KernelRankSVM(approximation=approximation, n_components=30, random_state=0).fit(DATA)
    scores, order = ranker.predict(X), np.random.default_rng(1).permutation(60)
    assert_array_equal(ranker.predict(X[order]), scores[order])
    assert_array_equal(np.concatenate([ranker.predict(row[None]) for row in X]), scores)


@pytest.mark.parametrize("given", [{}, {"check": True}])
def test_a_column_that_float32_blurs_is_named_for_kernels_too(given):
    seconds = 1.7e9 + rng.random(60) * 1e4
    data = RankingData(
        np.column_stack([X[:, 0], seconds]), DATA.y, qid=DATA.qid, feature_names=["price", "seconds"]
    )
    model = KernelRankSVM(n_components=20, random_state=0, scale="standard").fit(data).to_model()
    settings = {"check": data} if given else {}
    with pytest.warns(Float32Warning, match=r"the values of 'seconds' are large") as said:
        model.export("onnx", io.BytesIO(), dtype="float32", **settings)
    assert len(said) == 1
    assert ("on the rows of check" in str(said[0].message)) == bool(given)


def test_large_scores_without_a_column_to_blame_are_warned_of_as_such():
    model = RankingModel(np.ones(20), feature_map=MAPS["fourier"].fit(X), intercept=1e6)
    with pytest.warns(Float32Warning, match=r"rounds scores that are large.*with dtype='float64'"):
        model.export("onnx", io.BytesIO(), check=DATA, dtype="float32")


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
