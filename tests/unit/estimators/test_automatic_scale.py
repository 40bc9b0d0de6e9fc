"""``scale="auto"``: decided once by all training rows, wherever they lie, and kept with the model."""

import numpy as np
import pytest
from scipy import sparse

from marginrank import (
    KernelRankSVM,
    RankingData,
    RankingModel,
    RankRLS,
    RankSVM,
    StructuredRankSVM,
    open_dataset,
    rank_path,
    rank_rls_path,
    structured_rank_path,
    write_dataset,
)

RNG = np.random.default_rng(0)
X = RNG.normal(size=(160, 5))
QID = np.arange(160) // 8
Y = RNG.integers(0, 3, 160) + (X[:, 0] > 0)
FACTORS = np.array([1.0, 1e-3, 30.0, 1e4, 1.0])

RANKERS = {
    "RankSVM": RankSVM(),
    "RankRLS": RankRLS(),
    "StructuredRankSVM": StructuredRankSVM(),
    "KernelRankSVM": KernelRankSVM(n_components=40, random_state=0),
}
PATHS = {
    "rank_path": rank_path,
    "rank_rls_path": rank_rls_path,
    "structured_rank_path": structured_rank_path,
}


@pytest.mark.parametrize("name", RANKERS)
def test_rankers_divide_columns_of_different_units_by_their_deviation(name):
    ranker = RANKERS[name].fit(X * FACTORS, Y, qid=QID)
    named = type(ranker)(**ranker.get_params() | {"scale": "standard"}).fit(X * FACTORS, Y, qid=QID)
    assert ranker.scale_ == named.scale_ == "standard"
    assert np.array_equal(ranker.coef_, named.coef_)
    assert np.array_equal(ranker.column_scale_, named.column_scale_)


@pytest.mark.parametrize("name", RANKERS)
def test_rankers_leave_columns_of_like_units_as_they_are(name):
    ranker = RANKERS[name].fit(X, Y, qid=QID)
    named = type(ranker)(**ranker.get_params() | {"scale": None}).fit(X, Y, qid=QID)
    assert ranker.scale_ is None
    assert ranker.column_scale_ is None
    assert np.array_equal(ranker.coef_, named.coef_)


@pytest.mark.parametrize("name", PATHS)
def test_paths_decide_as_rankers_do(name):
    assert PATHS[name](X, Y, qid=QID, alpha_max=1.0, alpha_min=0.1).scale_ is None
    path = PATHS[name](X * FACTORS, Y, qid=QID, alpha_max=1.0, alpha_min=0.1)
    named = PATHS[name](X * FACTORS, Y, qid=QID, alpha_max=1.0, alpha_min=0.1, scale="standard")
    assert path.scale_ == "standard"
    assert np.array_equal(path.coef_at(0.3), named.coef_at(0.3))
    assert path.to_model(0.3).metadata["scale"] == "standard"
    assert path.to_model(0.3).metadata["parameters"]["scale"] == "auto"


def test_the_answer_does_not_depend_on_where_the_rows_lie(tmp_path):
    write_dataset(tmp_path / "rows.mrd", RankingData(X * FACTORS, Y, qid=QID), chunk_rows=50)
    on_disk = RankSVM().fit(open_dataset(tmp_path / "rows.mrd"))
    in_memory = RankSVM().fit(X * FACTORS, Y, qid=QID)
    as_sparse = RankSVM().fit(sparse.csr_array(X * FACTORS), Y, qid=QID)
    assert on_disk.scale_ == in_memory.scale_ == as_sparse.scale_ == "standard"
    np.testing.assert_allclose(on_disk.column_scale_, in_memory.column_scale_, rtol=1e-12)
    np.testing.assert_allclose(as_sparse.column_scale_, in_memory.column_scale_, rtol=1e-12)


@pytest.mark.parametrize("kind", [RankSVM, RankRLS])
def test_pairs_are_compared_for_the_answer(kind):
    beside = np.column_stack([X, 1e6 * QID])  # differs between queries, and no pair crosses them
    pairs = np.column_stack([np.arange(0, 160, 2), np.arange(1, 160, 2)])
    assert kind().fit_pairs(beside, pairs).scale_ is None
    across = np.vstack([pairs, [[0, 9]]])
    assert kind().fit_pairs(beside, across).scale_ == "standard"


def test_folds_take_over_the_answer_of_all_rows():
    # Of the two folds only one has the large column: by itself the other would not divide.
    rows = X.copy()
    rows[:80, 0] *= 1e4
    folds = [(np.arange(80), np.arange(80, 160)), (np.arange(80, 160), np.arange(80))]
    search = {"alpha": "auto", "alphas": [0.1, 1.0], "cv": folds}
    automatic = RankRLS(**search, solver="cg").fit(rows, Y, qid=QID)
    named = RankRLS(**search, solver="cg", scale="standard").fit(rows, Y, qid=QID)
    assert automatic.scale_ == "standard"
    assert np.array_equal(automatic.validation_curve_, named.validation_curve_)


def test_a_kernel_matrix_is_never_divided():
    rows = X * FACTORS
    gram = (rows / rows.std(axis=0)) @ (rows / rows.std(axis=0)).T * np.geomspace(1, 1e4, 160)
    gram = gram @ gram.T
    ranker = KernelRankSVM("precomputed", approximation="exact", alpha=1.0).fit(gram, Y, qid=QID)
    assert ranker.scale_ is None
    assert ranker.column_scale_ is None


def test_the_answer_is_in_the_model_file(tmp_path):
    model = RankSVM().fit(X * FACTORS, Y, qid=QID).to_model()
    model.save(tmp_path / "model.mrk")
    metadata = RankingModel.load(tmp_path / "model.mrk").metadata
    assert metadata["scale"] == "standard"
    assert metadata["parameters"]["scale"] == "auto"


def test_rankers_that_were_fitted_before_there_was_an_answer_still_leave_a_model():
    ranker = RankSVM().fit(X, Y, qid=QID)
    del ranker.scale_
    assert ranker.to_model().metadata["scale"] is None


@pytest.mark.parametrize("kind", [RankSVM, RankRLS])
def test_columns_of_any_units_converge_by_default(kind):
    factors = np.random.default_rng(1).lognormal(0.0, 3.0, 5)
    plain = kind(scale="standard").fit(X, Y, qid=QID)
    other = kind().fit(X * factors, Y, qid=QID)
    assert other.gap_ <= 1e-3
    room = (plain.gap_ + other.gap_) * plain.objective_ + 1e-12
    assert abs(plain.objective_ - other.objective_) <= room
