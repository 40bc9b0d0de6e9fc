"""The same rows in any form give the same model, and nothing of the user's is changed."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from ranking_cases import ranking_case, same_minimum
from scipy import sparse

from marginrank import RankingData, RankSVM

# Values that float32 holds exactly, so that every form carries the same numbers.
X, Y, QID = ranking_case(dtype=np.float32)
X[np.abs(X) < 0.5] = 0.0
NAMES = [f"f{k}" for k in range(X.shape[1])]
FRAMES = [pd.DataFrame, pl.DataFrame, pa.table]
MODEL = {"alpha": 1e-2, "tol": 1e-7}


def fit(X, y=Y, qid=QID, **options):
    return RankSVM(**MODEL).fit(X, y, qid=qid, **options)


def csr_int64():
    matrix = sparse.csr_array(X)
    matrix.indices, matrix.indptr = matrix.indices.astype(np.int64), matrix.indptr.astype(np.int64)
    return matrix


FORMS = {
    "dense float64": X.astype(np.float64),
    "fortran order": np.asfortranarray(X),
    "every other column": np.repeat(X, 2, axis=1)[:, ::2],
    "nested lists": X.tolist(),
    "csr_array": sparse.csr_array(X),
    "csr_matrix": sparse.csr_matrix(X),
    "csr float64": sparse.csr_array(X.astype(np.float64)),
    "csr int64 indices": csr_int64(),
    "csc_array": sparse.csc_array(X),
    "coo_array": sparse.coo_array(X),
    "pandas sparse": pd.DataFrame.sparse.from_spmatrix(sparse.csr_matrix(X)),
}


@pytest.mark.parametrize("form", FORMS)
def test_every_form_of_the_same_numbers_gives_the_same_model(form):
    plain, other = fit(X), fit(FORMS[form])
    same_minimum(plain, other)
    np.testing.assert_allclose(other.predict(FORMS[form]), other.predict(X), rtol=1e-12, atol=1e-12)


def test_qid_in_any_order_gives_the_same_model():
    shuffled = np.random.default_rng(1).permutation(len(Y))
    same_minimum(fit(X), fit(X[shuffled], Y[shuffled], QID[shuffled]))


def test_rows_in_any_order_give_the_same_global_model():
    shuffled = np.random.default_rng(1).permutation(len(Y))
    same_minimum(fit(X, qid=None), fit(X[shuffled], Y[shuffled], None))


def test_predictions_are_in_the_order_of_the_rows():
    model = fit(X)
    np.testing.assert_allclose(model.predict(X), X.astype(float) @ model.coef_, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize(
    "ids",
    [
        np.array([f"query {q}" for q in QID]),
        [("user", int(q)) for q in QID],
        pd.Series(QID).astype("category"),
        pd.Series(QID, dtype="Int64"),
        pl.Series(QID),
        QID.astype("M8[D]"),
        QID - 0.5,
    ],
    ids=["strings", "tuples", "categories", "nullable integers", "polars", "dates", "floats"],
)
def test_ids_of_any_kind_give_the_same_bits(ids):
    np.testing.assert_array_equal(fit(X, qid=ids).coef_, fit(X).coef_)


def test_group_sizes_say_the_same_as_ids():
    order = np.argsort(QID, kind="stable")
    sizes = np.bincount(QID)
    by_group = RankSVM(**MODEL).fit(X[order], Y[order], group=sizes)
    by_id = fit(X[order], Y[order], QID[order])
    np.testing.assert_array_equal(by_group.coef_, by_id.coef_)
    assert by_group.score(X[order], Y[order], group=sizes) == by_id.score(X[order], Y[order], qid=QID[order])


def test_without_qid_all_rows_are_one_ranking():
    one = fit(X, qid=np.zeros(len(Y)))
    np.testing.assert_array_equal(fit(X, qid=None).coef_, one.coef_)
    assert one.n_queries_ == 1


def test_labels_count_by_their_order_only():
    np.testing.assert_array_equal(fit(X, Y).coef_, fit(X, np.exp(3.0 * Y) - 100.0).coef_)


def test_integer_weights_mean_repeated_rows():
    weight = np.random.default_rng(2).integers(0, 4, size=len(Y))
    rows = np.repeat(np.arange(len(Y)), weight)
    same_minimum(fit(X, sample_weight=weight), fit(X[rows], Y[rows], QID[rows]))


def test_query_weights_mean_repeated_queries_under_either_weighting():
    weight = np.random.default_rng(3).integers(0, 3, size=12)
    rows = np.concatenate([np.flatnonzero(q == QID) for q in range(12) for _ in range(weight[q])])
    ids = np.concatenate(
        [np.full((q == QID).sum(), 100 * q + k) for q in range(12) for k in range(weight[q])]
    )
    for weighting in ("pairs", "queries"):
        model = RankSVM(weighting=weighting, **MODEL)
        weighted = model.fit(X, Y, qid=QID, query_weight=dict(enumerate(weight)))
        repeated = RankSVM(weighting=weighting, **MODEL).fit(X[rows], Y[rows], qid=ids)
        same_minimum(weighted, repeated)


@pytest.mark.parametrize("storage", [np.array, sparse.csr_array])
@pytest.mark.parametrize("scale", [None, "standard", "minmax"])
def test_rows_that_weigh_nothing_change_nothing(scale, storage):
    weight = np.ones(len(Y))
    weight[:20] = 0.0
    wild = X.copy()
    wild[:20] = 1e7
    # Weights of 1 change the last bits: coefficients agree as far as they are exact.
    exact = {**MODEL, "tol": 1e-11}
    model = RankSVM(scale=scale, **exact).fit(storage(wild), Y, qid=QID, sample_weight=weight)
    without = RankSVM(scale=scale, **exact).fit(storage(X[20:]), Y[20:], qid=QID[20:])
    np.testing.assert_allclose(model.coef_, without.coef_, rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("scale", [None, "standard"])
@pytest.mark.parametrize("matrix", [X, X.astype(np.float64), sparse.csr_array(X), csr_int64()])
def test_the_users_matrix_is_neither_copied_nor_changed(matrix, scale):
    data = RankingData(matrix, Y, qid=QID)
    assert data.X is matrix
    values = matrix.data if sparse.issparse(matrix) else matrix
    assert np.shares_memory(data.X.data if sparse.issparse(matrix) else data.X, values)
    before = matrix.copy()
    RankSVM(scale=scale).fit(matrix, Y, qid=QID)
    difference = np.abs(before - matrix)
    assert difference.max() == 0


def test_labels_ids_and_weights_are_not_changed():
    given = [Y.copy(), QID.copy(), np.linspace(0, 1, len(Y))]
    before = [a.copy() for a in given]
    fit(X, given[0], given[1], sample_weight=given[2])
    for now, then in zip(given, before, strict=True):
        np.testing.assert_array_equal(now, then)


def test_read_only_memory_maps_are_fine(tmp_path):
    np.save(tmp_path / "X.npy", X)
    mapped = np.load(tmp_path / "X.npy", mmap_mode="r")
    np.testing.assert_array_equal(fit(mapped).coef_, fit(X).coef_)


# Data frames


def frame_of(kind, **columns):
    return kind({**{name: X[:, k] for k, name in enumerate(NAMES)}, **columns})


@pytest.mark.parametrize("kind", FRAMES)
def test_frames_give_names_and_the_same_bits(kind):
    model = fit(frame_of(kind))
    assert model.feature_names_in_.tolist() == NAMES
    np.testing.assert_array_equal(model.coef_, fit(X).coef_)


@pytest.mark.parametrize("kind", FRAMES)
def test_a_qid_column_gives_the_queries_in_fit_predict_and_score(kind):
    frame = frame_of(kind, qid=QID)
    model = RankSVM(**MODEL).fit(frame, Y)
    plain = fit(X)
    assert model.feature_names_in_.tolist() == NAMES
    np.testing.assert_array_equal(model.coef_, plain.coef_)
    np.testing.assert_array_equal(model.predict(frame), plain.predict(X))
    np.testing.assert_array_equal(model.predict(frame_of(kind)), plain.predict(X))
    assert model.score(frame, Y) == plain.score(X, Y, qid=QID)


@pytest.mark.parametrize("kind", FRAMES)
def test_scoring_a_frame_needs_no_qid_column(kind):
    model = fit(frame_of(kind))
    assert model.score(frame_of(kind), Y, qid=QID) == fit(X).score(X, Y, qid=QID)


def test_columns_in_another_order_are_refused():
    model = fit(frame_of(pd.DataFrame))
    with pytest.raises(ValueError, match="Feature names must be in the same order"):
        model.predict(frame_of(pd.DataFrame)[NAMES[::-1]])


def test_labels_may_be_a_series():
    for series in (pd.Series(Y, index=np.arange(len(Y))[::-1]), pl.Series(Y)):
        np.testing.assert_array_equal(fit(X, series).coef_, fit(X).coef_)


# RankingData


def test_ranking_data_gives_the_same_bits_as_its_arrays():
    weight = np.random.default_rng(4).random(len(Y))
    data = RankingData(X, Y, qid=QID, sample_weight=weight, feature_names=NAMES)
    model = RankSVM(**MODEL).fit(data)
    plain = fit(X, sample_weight=weight)
    np.testing.assert_array_equal(model.coef_, plain.coef_)
    assert model.feature_names_in_.tolist() == NAMES


def test_ranking_data_with_names_can_be_predicted_and_scored():
    data = RankingData(frame_of(pd.DataFrame, qid=QID), Y)
    model = RankSVM(**MODEL).fit(data)
    np.testing.assert_array_equal(model.predict(data), fit(X).predict(X))
    assert model.score(data) == fit(X).score(X, Y, qid=QID)


def test_ranking_data_without_names_can_be_predicted_and_scored():
    data = RankingData(X, Y, qid=QID)
    model = RankSVM(**MODEL).fit(data)
    np.testing.assert_array_equal(model.predict(data), fit(X).predict(X))
    assert model.score(data) == fit(X).score(X, Y, qid=QID)


def test_ranking_data_with_columns_in_another_order_are_refused():
    model = fit(frame_of(pd.DataFrame))
    swapped = RankingData(frame_of(pd.DataFrame)[NAMES[::-1]], Y, qid=QID)
    with pytest.raises(ValueError, match=r"(?i)feature names"):
        model.predict(swapped)


@pytest.mark.parametrize("extra", ["y", "qid", "group", "sample_weight", "query_weight"])
def test_ranking_data_with_anything_given_twice_is_refused(extra):
    data = RankingData(X, Y, qid=QID)
    with pytest.raises(ValueError, match="carries y, qid and weights; do not pass them again"):
        RankSVM().fit(data, **{extra: Y})
    with pytest.raises(ValueError, match="do not pass them again"):
        fit(X).score(data, **{extra: Y})


def test_fit_pairs_takes_ranking_data():
    pairs = np.random.default_rng(5).permutation(len(Y)).reshape(-1, 2)
    weight = np.linspace(0.5, 2.0, len(pairs))
    data = RankingData(X, pairs=pairs, pair_weight=weight, pair_margin=2.0)
    model = RankSVM(**MODEL).fit_pairs(data)
    plain = RankSVM(**MODEL).fit_pairs(X, pairs, weight=weight, margin=2.0)
    np.testing.assert_array_equal(model.coef_, plain.coef_)
    with pytest.raises(ValueError, match="carries the pairs; do not pass them again"):
        RankSVM().fit_pairs(data, pairs)


def test_ranking_data_of_the_other_kind_are_refused():
    with pytest.raises(ValueError, match="hold no pairs"):
        RankSVM().fit_pairs(RankingData(X, Y))
    with pytest.raises(ValueError, match="hold pairs and no y"):
        RankSVM().fit(RankingData(X, pairs=[[0, 1]]))


def test_pairs_may_be_a_frame_or_small_integers():
    pairs = np.random.default_rng(5).permutation(len(Y)).reshape(-1, 2)
    plain = RankSVM(**MODEL).fit_pairs(X, pairs)
    for given in (pairs.astype(np.int32), pairs.astype(np.uint16), pairs.tolist(), pd.DataFrame(pairs)):
        np.testing.assert_array_equal(RankSVM(**MODEL).fit_pairs(X, given).coef_, plain.coef_)
