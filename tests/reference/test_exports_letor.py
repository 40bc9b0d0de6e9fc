"""Exports of models of real data rank as the models do."""

import io

import numpy as np
import pytest

from export_cases import raw_data
from marginrank import KernelRankSVM, RankSVM, load_letor
from marginrank.data.matrices import as_dense
from marginrank.export import TARGETS
from marginrank.export.base import Options
from marginrank.export.checking import compare_scores
from marginrank.export.exporting import column_names


@pytest.fixture(scope="module", params=["OHSUMED/S1.txt.gz", "MQ2008/S1.txt"])
def fitted(request, real_data):
    data = load_letor(real_data / request.param)
    return RankSVM(alpha=1e-3).fit(data).to_model(), data


@pytest.mark.parametrize("target", TARGETS)
def test_exports_of_letor_models_rank_the_same(target, fitted):
    model, data = fitted
    file = io.BytesIO()
    check = model.export(target, file, check=data).check
    options = Options(column_names(None, model.feature_names, model.n_features), "model")
    error = 1e-5 if TARGETS[target].float32(options) else 1e-12
    assert check.largest_difference <= error
    _, queries = np.unique(np.asarray(data.qid), return_inverse=True)
    scorer = TARGETS[target].scorer(file.getvalue(), options)
    found = scorer(np.asarray(as_dense(data.X), dtype=np.float64), queries)
    apart, changed = pairs_of(queries, model.predict(data), found)
    assert check.order_changes + check.new_ties == np.count_nonzero(changed)
    # What changes places is nearer than the error; no other pair does.
    assert not (changed & (apart > error * check.spread)).any()
    assert np.count_nonzero(apart > error * check.spread) > 0.99 * check.n_pairs


KERNELS = [
    {},
    {"kernel": "laplacian"},
    {"kernel": "polynomial"},
    {"kernel": "cosine"},
    {"approximation": "fourier"},
    {"linear_block": False},
]


@pytest.fixture(scope="module", params=["raw", "OHSUMED/S1.txt.gz", "MQ2008/S1.txt"])
def rows(request, real_data):
    return raw_data() if request.param == "raw" else load_letor(real_data / request.param)


@pytest.mark.parametrize("alpha", [1e-2, 1e-4])
@pytest.mark.parametrize("settings", KERNELS, ids=str)
def test_kernels_in_onnx_rank_the_same(settings, alpha, rows):
    ranker = KernelRankSVM(alpha=alpha, n_components=100, tol=0.05, random_state=0, **settings)
    model = ranker.fit(rows).to_model()
    for dtype, error in (("float32", 1e-5), ("float64", 1e-12)):
        check = model.export("onnx", io.BytesIO(), check=rows, dtype=dtype).check
        assert check.largest_difference <= error
        assert check.order_changes <= 1e-4 * check.n_pairs if dtype == "float32" else not check.order_changes
    if settings.get("approximation") != "fourier" and settings.get("kernel") != "laplacian":
        assert check.largest_difference == 0.0  # bit for bit, so cancelling weights do not matter


def test_the_default_kernel_machine_predicts_what_its_graphs_give(rows):
    # It trains on features of float32; its weights of landmarks are 1e3 to 1e5 times as large as its scores.
    onnxruntime = pytest.importorskip("onnxruntime")
    ranker = KernelRankSVM(n_components=min(500, rows.n_rows), random_state=0).fit(rows)
    assert ranker.feature_map_.dtype == "float32"
    scores, X = ranker.predict(rows.X), np.asarray(as_dense(rows.X), dtype=np.float64)
    _, queries = np.unique(np.asarray(rows.qid), return_inverse=True)
    for dtype, error in (("float32", 1e-5), ("float64", 1e-12)):
        file = io.BytesIO()
        ranker.to_model().export("onnx", file, dtype=dtype)
        session = onnxruntime.InferenceSession(file.getvalue(), providers=["CPUExecutionProvider"])
        (found,) = session.run(None, {"features": X.astype(dtype)})
        check = compare_scores(scores, found.astype(np.float64), queries)
        assert check.largest_difference <= error
        assert check.order_changes <= 1e-4 * check.n_pairs
    assert check.largest_difference == 0.0


def pairs_of(queries, expected, found):
    """Return how far apart the scores of each pair of a query are, and whether it has lost its order."""
    apart, changed = [], []
    for query in np.unique(queries):
        rows = np.flatnonzero(queries == query)
        i, j = (rows[side] for side in np.triu_indices(len(rows), 1))
        model, export = expected[i] - expected[j], found[i] - found[j]
        differ = model != 0.0
        apart.append(np.abs(model[differ]))
        changed.append(np.sign(model[differ]) != np.sign(export[differ]))
    return np.concatenate(apart), np.concatenate(changed)
