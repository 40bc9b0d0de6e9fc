"""What every feature map promises to scikit-learn, and to files."""

import json
import os
import subprocess
import sys
from functools import partial

import numpy as np
import pytest
from scipy import sparse

from limits import HANG
from marginrank.designs.blocks import block_rows
from marginrank.exceptions import ModelFileError
from marginrank.feature_maps import FEATURE_MAPS, FourierFeatures, NystroemFeatures, map_from_state
from marginrank.model.file_format import decode, encode

CONFIGURATIONS = [
    NystroemFeatures(),
    NystroemFeatures("laplacian", landmarks="kmeans++", n_components=5),
    NystroemFeatures("polynomial", landmarks="leverage", n_components=5),
    NystroemFeatures("cosine", dtype="float64"),
    NystroemFeatures("chi2"),
    NystroemFeatures("precomputed"),
    FourierFeatures(),
    FourierFeatures("laplacian", gamma="median"),
    FourierFeatures(orthogonal=True, dtype="float64"),
]

_CHECK = """
import sys
from sklearn.utils.estimator_checks import check_estimator
from marginrank.feature_maps import FourierFeatures, NystroemFeatures

for text in sys.argv[1:]:
    results = check_estimator(eval(text), on_skip=None, on_fail=None)
    print(f"{text}: {len(results)} checks")
    for result in results:
        if result["status"] != "passed":
            print(f"FAILED {text} {result['check_name']}: {result['status']} {result['exception']!r}")
"""


def test_every_scikit_learn_check_passes_and_none_is_skipped():
    # scipy reads the variable when it is imported; without it check_array_api_input is skipped. The checks
    # have few rows, and no care for what makes a kernel matrix.
    environment = {**os.environ, "SCIPY_ARRAY_API": "1"}
    expected = [
        "-W",
        "error",
        "-W",
        "ignore:n_components=",
        "-W",
        "ignore:The kernel matrix of the landmarks",
    ]
    command = [sys.executable, *expected, "-c", _CHECK, *map(repr, CONFIGURATIONS)]
    run = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=HANG)
    assert run.returncode == 0, run.stderr
    assert "FAILED" not in run.stdout, run.stdout
    assert run.stdout.count("checks") == len(CONFIGURATIONS)


def test_every_map_is_checked():
    assert {type(mapping) for mapping in CONFIGURATIONS} == set(FEATURE_MAPS.values())


def training_rows(mapping, storage):
    X = np.random.default_rng(0).random((30, 4)) * (np.random.default_rng(1).random((30, 4)) < 0.7)
    if getattr(mapping, "kernel", None) == "precomputed":
        X = X @ X.T
    return sparse.csr_array(X) if storage == "csr" else X


@pytest.fixture(params=["dense", "csr"])
def storage(request):
    return request.param


@pytest.fixture(params=CONFIGURATIONS, ids=repr)
def fitted(request, storage):
    mapping = type(request.param)(**{**request.param.get_params(), "n_components": 5, "random_state": 0})
    return mapping.fit(training_rows(mapping, storage))


def through_a_file(state):
    header, arrays = state
    json.dumps(header, allow_nan=False)
    content, arrays = decode(encode({"map": header}, arrays), "a file")
    return content["map"], arrays


def test_a_file_gives_the_same_bits_back(fitted, storage):
    X = training_rows(fitted, storage)
    copy = map_from_state(*through_a_file(fitted.to_state()))
    assert type(copy) is type(fitted)
    assert np.array_equal(copy.transform(X), fitted.transform(X))
    assert list(copy.get_feature_names_out()) == list(fitted.get_feature_names_out())


def test_the_features_of_a_row_do_not_depend_on_the_rows_beside_it(fitted, storage):
    X = training_rows(fitted, storage)
    more_than_a_block = block_rows(fitted.block_map()) + 17
    many = np.random.default_rng(2).integers(X.shape[0], size=more_than_a_block)
    expected = fitted.transform(X)
    assert np.array_equal(fitted.transform(X[many]), expected[many])
    for rows in (slice(None, None, -1), slice(3, 20), slice(4, 5), [7, 7, 2]):
        assert np.array_equal(fitted.transform(X[rows]), expected[rows])


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("make", [FourierFeatures, NystroemFeatures, partial(NystroemFeatures, "polynomial")])
def test_wide_features_of_a_row_do_not_depend_on_the_rows_beside_it(make, dtype):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(530, 301))
    mapping = make(n_components=107, gamma=1e-3, dtype=dtype, random_state=0).fit(X)
    expected = mapping.transform(X)
    order = rng.permutation(len(X))
    assert np.array_equal(mapping.transform(X[order]), expected[order])
    for size in (1, 2, 5, 12, 33, 96, 250):
        first = int(rng.integers(len(X) - size))
        assert np.array_equal(mapping.transform(X[first : first + size]), expected[first : first + size])


def test_a_file_keeps_the_checks_of_input(fitted):
    copy = map_from_state(*through_a_file(fitted.to_state()))
    with pytest.raises(ValueError, match="features, but"):
        copy.transform(np.zeros((3, fitted.n_features_in_ + 1)))


def test_a_state_without_one_of_its_parts_is_refused(fitted):
    header, arrays = fitted.to_state()
    for name in arrays:
        with pytest.raises(ModelFileError, match=name):
            map_from_state(header, {other: arrays[other] for other in arrays if other != name})
    for name in header.keys() - {"feature_names_in"}:
        if header[name] is None:
            continue
        with pytest.raises(ModelFileError):
            map_from_state({other: header[other] for other in header if other != name}, arrays)


def test_a_state_with_a_number_that_is_none_is_refused(fitted):
    header, arrays = fitted.to_state()
    for name, array in arrays.items():
        if array.dtype.kind == "f":
            bad = array.copy()
            bad.flat[0] = np.nan
            with pytest.raises(ModelFileError, match=name):
                map_from_state(header, {**arrays, name: bad})


def test_landmarks_that_are_no_rows_are_refused():
    X = sparse.csr_array(np.eye(6))
    header, arrays = NystroemFeatures(n_components=4, random_state=0).fit(X).to_state()
    wrong = {**arrays, "landmarks_indices": arrays["landmarks_indices"] + 100}
    with pytest.raises(ModelFileError, match="no valid CSR matrix"):
        map_from_state(header, wrong)


def test_landmarks_without_a_value_pass_through_a_file():
    X = sparse.csr_array((5, 3))
    mapping = NystroemFeatures("polynomial", gamma=1.0, n_components=2, random_state=0).fit(X)
    copy = map_from_state(*through_a_file(mapping.to_state()))
    assert np.array_equal(copy.transform(X), mapping.transform(X))
