"""What users pass in: kept without a copy where it fits, else converted once or refused in one sentence."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy import sparse
from sklearn.exceptions import DataConversionWarning

from marginrank.data.frames import split_frame
from marginrank.data.queries import check_qid
from marginrank.data.validation import (
    check_amounts,
    check_feature_names,
    check_finite,
    check_labels,
    check_matrix,
    check_pairs,
    check_weights,
)
from marginrank.exceptions import MarginRankError
from marginrank.parameters import check_positive


def refuses(message):
    return pytest.raises(MarginRankError, match=message)


# X


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("storage", [np.array, sparse.csr_array, sparse.csr_matrix])
def test_matrix_that_fits_is_returned_itself(storage, dtype):
    X = storage(np.eye(3, dtype=dtype))
    assert check_matrix(X)[0] is X


@pytest.mark.parametrize("index", [np.int32, np.int64])
def test_csr_keeps_its_index_type(index):
    X = sparse.csr_array(np.eye(3))
    X.indices, X.indptr = X.indices.astype(index), X.indptr.astype(index)
    clean = check_matrix(X)[0]
    assert clean is X
    assert clean.indices.dtype == index


@pytest.mark.parametrize(
    ("given", "kept"),
    [("f2", "f4"), ("i8", "f8"), ("u1", "f8"), ("?", "f8"), (">f8", "f8"), ("g", "f8"), ("O", "f8")],
)
def test_other_number_types_become_floats(given, kept):
    X = np.eye(3).astype(given)
    clean = check_matrix(X)[0]
    assert clean.dtype == np.dtype(kept)
    np.testing.assert_array_equal(clean, np.eye(3))


def test_fortran_order_and_strides_become_c_order():
    X = np.arange(12.0).reshape(3, 4)
    for given in (np.asfortranarray(X), X[:, ::2], X[::-1]):
        clean = check_matrix(given)[0]
        assert clean.flags.c_contiguous
        np.testing.assert_array_equal(clean, given)


@pytest.mark.parametrize("form", ["csc", "coo", "lil", "dok", "bsr", "dia"])
def test_other_sparse_formats_become_csr(form):
    X = sparse.eye_array(3, format=form)
    clean = check_matrix(X)[0]
    assert clean.format == "csr"
    np.testing.assert_array_equal(clean.toarray(), np.eye(3))


def test_sparse_integers_become_float64():
    assert check_matrix(sparse.csr_array(np.eye(3, dtype=int)))[0].dtype == np.float64


def test_csr_of_strided_or_unequal_index_arrays_is_copied_into_plain_ones():
    X = sparse.csr_array(np.eye(3))
    X.data = np.ones(6)[::2]
    X.indices = X.indices.astype(np.int64)
    clean = check_matrix(X)[0]
    assert clean.data.flags.c_contiguous
    assert clean.indices.dtype == clean.indptr.dtype
    np.testing.assert_array_equal(clean.toarray(), np.eye(3))


def test_duplicate_entries_of_a_row_are_summed_in_a_copy():
    X = sparse.csr_array((np.array([1.0, 2.0]), [1, 1], [0, 2]), shape=(1, 2))
    clean = check_matrix(X)[0]
    assert (clean.data.tolist(), clean.indices.tolist(), clean.indptr.tolist()) == ([3.0], [1], [0, 1])
    assert (X.data.tolist(), X.indices.tolist()) == ([1.0, 2.0], [1, 1])


def test_unsorted_rows_without_duplicates_are_kept_as_they_are():
    X = sparse.csr_array((np.array([1.0, 2.0]), [1, 0], [0, 2]), shape=(1, 2))
    assert check_matrix(X)[0] is X


@pytest.mark.parametrize(
    ("X", "message"),
    [
        (np.zeros(3), r"X must be 2-D, \(rows, features\); got 1-D of shape \(3,\). Reshape your data"),
        (np.zeros((2, 2, 2)), "got 3-D"),
        (np.zeros((0, 3)), r"X has 0 sample\(s\) \(shape=\(0, 3\)\)"),
        (np.zeros((3, 0)), r"X has 0 feature\(s\) \(shape=\(3, 0\)\)"),
        (np.zeros((2, 2), dtype=complex), "Complex data not supported"),
        (sparse.csr_array(np.eye(2, dtype=complex)), "Complex data not supported"),
        ([["a", "b"]], "X must hold numbers; got <U1"),
        ([[1.0, "b"], [2.0, None]], "X must hold numbers"),
        (np.array([[1.0], [{}]]), "X must hold numbers; entry 1 holds {}"),
        ([[1.0, 2.0], [3.0]], "X must be a regular array; got rows of different lengths"),
    ],
)
def test_matrix_that_cannot_be_used_is_refused(X, message):
    with refuses(message):
        check_matrix(X)


def broken_csr(**arrays):
    X = sparse.csr_array(np.eye(3))
    for name, values in arrays.items():
        setattr(X, name, np.array(values, dtype=np.int32))
    return X


@pytest.mark.parametrize(
    ("X", "message"),
    [
        (broken_csr(indices=[0, 3, 2]), "row 1 has column index 3, but there are 3 columns"),
        (broken_csr(indices=[0, 1, -1]), "row 2 has column index -1"),
        (broken_csr(indptr=[0, 2, 1, 3]), "indptr falls at row 1"),
        (broken_csr(indptr=[0, 1, 2, 4]), "got 4 from 0 to 4 with 3 values"),
        (broken_csr(indptr=[1, 1, 2, 3]), "got 4 from 1 to 3"),
        (broken_csr(indptr=[0, 1, 3]), "must have 4 entries"),
        (broken_csr(indices=[0, 1]), "from 0 to 3 with 3 values and 2 indices"),
        (broken_csr(indptr=[]), "must have 4 entries"),
        (broken_csr(data=[1, 1]), "from 0 to 3 with 2 values and 3 indices"),
    ],
)
def test_csr_that_points_outside_is_refused(X, message):
    with refuses(message):
        check_matrix(X)


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        ({"indices": [0, 3, 2]}, "valid CSC matrix: column 1 has row index 3, but there are 3 rows"),
        ({"indptr": [0, 2, 1, 3]}, "indptr falls at column 1"),
        ({"indices": [0, 1]}, "valid CSC matrix: .* with 3 values and 2 indices"),
    ],
)
def test_csc_that_points_outside_is_refused_before_it_is_converted(arrays, message):
    X = sparse.csc_array(np.eye(3))
    for name, values in arrays.items():
        setattr(X, name, np.array(values, dtype=np.int32))
    with refuses(message):
        check_matrix(X)


@pytest.mark.parametrize("storage", [np.array, sparse.csr_array])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_nan_and_infinity_are_located(storage, dtype):
    X = np.ones((500, 300), dtype=dtype)  # more than one block of the search
    X[0, :5] = 0
    check_finite(storage(X))
    X[400, 7] = np.inf
    with refuses(r"X contains infinity \(first at row 400, column 7\)"):
        check_finite(storage(X))
    X[399, 2] = np.nan
    with refuses(r"X contains NaN \(first at row 399, column 'c2'\); marginrank does not impute"):
        check_finite(storage(X), [f"c{k}" for k in range(300)])


def test_large_finite_values_do_not_overflow_the_search():
    X = np.full((100, 100), np.finfo(np.float32).max, dtype=np.float32)
    assert check_finite(X) is None
    X[99, 99] = np.inf
    with refuses("X contains infinity .first at row 99, column 99"):
        check_finite(X)


def test_feature_names_must_fit():
    assert check_feature_names(np.array(["a", "b"]), 2) == ("a", "b")
    with refuses("one entry per column of X; got 1 for 2 columns"):
        check_feature_names(["a"], 2)
    with refuses("must be distinct; 'a' occurs more than once"):
        check_feature_names(["a", "b", "a"], 3)
    with refuses("must be a list of names; got 'ab'"):
        check_feature_names("ab", 2)


# Data frames


FRAMES = [pd.DataFrame, pl.DataFrame, pa.table]


@pytest.mark.parametrize("frame", FRAMES)
def test_frame_gives_numbers_and_names(frame):
    X, names = check_matrix(frame({"a": [1, 2], "b": [0.5, 1.5], "c": [True, False]}))
    np.testing.assert_array_equal(X, [[1, 0.5, 1], [2, 1.5, 0]])
    assert X.dtype == np.float64
    assert X.flags.c_contiguous
    assert names == ("a", "b", "c")


@pytest.mark.parametrize("frame", FRAMES)
def test_frame_of_float32_stays_float32(frame):
    column = np.array([1, 2], dtype=np.float32)
    assert check_matrix(frame({"a": column, "b": column}))[0].dtype == np.float32
    assert check_matrix(frame({"a": column, "b": column.astype(np.int8)}))[0].dtype == np.float64


@pytest.mark.parametrize("frame", FRAMES)
def test_text_column_is_named(frame):
    with refuses("Column 'colour' of X holds String values, but features must be numbers"):
        check_matrix(frame({"a": [1.0, 2.0], "colour": ["red", "blue"]}))


def test_categorical_and_date_columns_are_named():
    with refuses("Column 'c' of X holds Categorical"):
        check_matrix(pd.DataFrame({"c": pd.Categorical(["x", "y"])}))
    with refuses("Column 'd' of X holds Datetime"):
        check_matrix(pd.DataFrame({"d": pd.to_datetime(["2024-01-01"])}))


@pytest.mark.parametrize(
    "frame",
    [
        pd.DataFrame({"a": pd.array([1, None], dtype="Int64")}),
        pl.DataFrame({"a": [1, None]}),
        pa.table({"a": [1, None]}),
    ],
)
def test_missing_entries_of_a_frame_are_found_as_nan(frame):
    X, names = check_matrix(frame)
    with refuses("X contains NaN .first at row 1, column 'a'"):
        check_finite(X, names)


def test_sparse_pandas_frame_becomes_csr():
    X, names = check_matrix(pd.DataFrame.sparse.from_spmatrix(sparse.eye_array(3), columns=list("abc")))
    assert X.format == "csr"
    assert names == ("a", "b", "c")


def test_columns_without_string_names_have_no_names():
    assert check_matrix(pd.DataFrame(np.eye(2)))[1] is None


def test_columns_of_the_same_name_are_refused():
    with refuses("columns of X must have distinct names"):
        check_matrix(pd.DataFrame(np.eye(2), columns=["a", "a"]))


@pytest.mark.parametrize("frame", FRAMES)
def test_qid_column_is_taken_out(frame):
    X, qid = split_frame(frame({"a": [1.0, 2.0], "qid": ["u", "v"]}))
    assert isinstance(X, type(frame({"a": [1.0]})))
    assert check_matrix(X)[1] == ("a",)
    assert check_qid(qid, 2).tolist() == ["u", "v"]


def test_arrays_and_frames_without_qid_pass_through():
    for X in (np.eye(2), sparse.eye_array(2), [[1.0]], pd.DataFrame({"a": [1.0]})):
        features, qid = split_frame(X, "ids")
        assert features is X
        assert qid == "ids"


def test_qid_column_and_qid_argument_together_are_refused():
    X = pd.DataFrame({"a": [1.0], "qid": [1]})
    with refuses("X has a column 'qid' and qid was given as well"):
        split_frame(X, qid=[1])
    with refuses("X has a column 'qid' and group was given as well"):
        split_frame(X, group=[1])


# Labels, weights, numbers


def test_float64_labels_are_returned_themselves():
    y = np.arange(3.0)
    assert check_labels(y, 3) is y


@pytest.mark.parametrize(
    "y",
    [
        [0, 1],
        (0.0, 1.0),
        [False, True],
        pd.Series([0, 1], index=[5, 6]),
        pl.Series([0, 1]),
        np.array([0, 1], "O"),
    ],
)
def test_labels_become_float64(y):
    labels = check_labels(y, 2)
    assert labels.dtype == np.float64
    assert labels.tolist() == [0.0, 1.0]


def test_column_of_labels_is_flattened_with_a_warning():
    with pytest.warns(DataConversionWarning, match="A column-vector y was passed"):
        assert check_labels(np.ones((3, 1)), 3).shape == (3,)


@pytest.mark.parametrize(
    ("y", "message"),
    [
        (np.zeros(120), "^y must have one entry per row of X; got 120 for 2 rows.$"),
        (np.zeros((2, 2)), r"y must be 1-D, one entry per row; got shape \(2, 2\)"),
        (1.0, "y must be 1-D"),
        (["a", "b"], "y must hold numbers; got <U1"),
        (np.array([1, "b"], dtype=object), "y must hold numbers; entry 1 holds 'b'"),
        (np.array([1, None], dtype=object), "y must hold numbers; entry 1 holds None"),
        (np.array([1, 1j]), "Complex data not supported"),
        (np.array(["2024-01-01"] * 2, dtype="M8[D]"), "y must hold numbers"),
        ([0.0, np.nan], r"y contains NaN \(first at row 1\)"),
        ([np.inf, 0.0], r"y contains infinity \(first at row 0\)"),
        ([2**60, 2**60 + 1], r"y holds integers beyond 2\*\*53"),
    ],
)
def test_labels_that_cannot_be_used_are_refused(y, message):
    with refuses(message):
        check_labels(y, 2)


def test_no_weights_stay_none():
    assert check_weights(None, 3) is None


@pytest.mark.parametrize(
    "weight", [[1, 0, 2], pd.Series([1.0, 0.0, 2.0]), np.array([1, 0, 2], dtype=np.float32)]
)
def test_weights_become_float64(weight):
    clean = check_weights(weight, 3)
    assert clean.dtype == np.float64
    assert clean.tolist() == [1.0, 0.0, 2.0]


@pytest.mark.parametrize(
    ("weight", "message"),
    [
        ([1, -2], "sample_weight must be at least 0; got -2 at row 1"),
        ([0, 0], "sample_weight is zero for every row; at least one row must have a positive weight"),
        ([1, np.nan], r"sample_weight contains NaN \(first at row 1\)"),
        ([1], "sample_weight must have one entry per row of X; got 1 for 2 rows"),
        ([[1, 1], [1, 1]], "sample_weight must be 1-D"),
    ],
)
def test_weights_that_cannot_be_used_are_refused(weight, message):
    with refuses(message):
        check_weights(weight, 2)


def test_weights_of_queries_are_counted_as_queries():
    with refuses("query_weight must have one entry per query; got 1 for 2 queries"):
        check_amounts([1], "query_weight", "query", 2)


@pytest.mark.parametrize("value", [1, 1e-4, np.float32(0.5), np.int64(3)])
def test_positive_numbers_pass(value):
    assert check_positive(value, "alpha") == float(value)


@pytest.mark.parametrize("value", [0, -1.0, np.nan, np.inf, "1", None, True])
def test_anything_else_is_not_a_positive_number(value):
    with refuses("alpha must be a positive, finite number; got"):
        check_positive(value, "alpha")


# Pairs


@pytest.mark.parametrize("dtype", [np.int32, np.int64])
def test_pairs_that_fit_are_returned_themselves(dtype):
    pairs = np.array([[0, 1], [2, 0]], dtype=dtype)
    clean, weight, margin = check_pairs(pairs, 3)
    assert clean is pairs
    assert weight is None
    assert margin is None


def test_pairs_of_small_integers_become_int64():
    assert check_pairs(np.array([[0, 1]], dtype=np.uint8), 3)[0].dtype == np.int64


def test_one_margin_serves_all_pairs():
    assert check_pairs([(0, 1), (1, 2)], 3, margin=2)[2].tolist() == [2.0, 2.0]
    assert check_pairs([(0, 1), (1, 2)], 3, margin=[0, 0.5])[2].tolist() == [0.0, 0.5]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"pairs": [[0, 1], [1, 3]]}, r"row numbers of X, from 0 to 2; pair 1 is \(1, 3\)"),
        ({"pairs": [[0, -1]]}, r"pair 0 is \(0, -1\)"),
        ({"pairs": [[0, 1], [2, 2]]}, "A pair must name two different rows; pair 1 is row 2 twice"),
        ({"pairs": [[0.0, 1.0]]}, "pairs must hold integers, the row numbers of X; got float64"),
        ({"pairs": [[0, 1, 2]]}, r"pairs must have shape \(n_pairs, 2\), winner first; got shape \(1, 3\)"),
        ({"pairs": [0, 1]}, r"got shape \(2,\)"),
        ({"pairs": np.zeros((0, 2), int)}, "pairs is empty"),
        ({"pairs": [[0, 1]], "weight": [-1]}, "pair_weight must be at least 0; got -1 at pair 0"),
        ({"pairs": [[0, 1]], "weight": [0]}, "pair_weight is zero for every pair"),
        (
            {"pairs": [[0, 1]], "weight": [1, 1]},
            "pair_weight must have one entry per pair; got 2 for 1 pairs",
        ),
        ({"pairs": [[0, 1]], "margin": [-1]}, "pair_margin must be at least 0; got -1 at pair 0"),
        ({"pairs": [[0, 1]], "margin": np.inf}, "pair_margin must be a finite number; got inf"),
    ],
)
def test_pairs_that_cannot_be_used_are_refused(arguments, message):
    with refuses(message):
        check_pairs(n_rows=3, **arguments)
