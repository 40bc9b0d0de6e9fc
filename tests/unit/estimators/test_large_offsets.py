"""Large common offsets of columns spoil neither models nor objectives; columns that order nothing weigh 0.

True values of objectives are computed over differences of rows in rational arithmetic: offsets vanish there.
"""

from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest
from scipy import sparse

from marginrank import KernelRankSVM, RankingData, RankRLS, RankSVM, StructuredRankSVM, write_dataset
from marginrank.feature_maps.gamma import resolve_gamma
from marginrank.feature_maps.kernel_columns import KernelColumns
from marginrank.paths import rank_path, rank_rls_path, structured_rank_path
from marginrank.paths.gram import Kernel

QID = np.arange(200) // 10
RNG = np.random.default_rng(0)
Z = RNG.normal(size=(200, 4))
Y = RNG.integers(0, 3, 200) + (Z[:, 0] > 0)

# Columns that are constant within every query: the ids of a table, a time stamp in nanoseconds, days in ms.
ORDER_NOTHING = {
    "1e15 + qid": 1e15 + QID,
    "nanoseconds": np.full(200, 1.7e18),
    "milliseconds": 1.7e12 + 1000 * QID,
    "negative": -3e14 - QID % 3,
}


def beside(column, X=Z):
    return np.column_stack([X, column])


def exact(values):
    return [Fraction(float(x)) for x in values]


def true_objective(w, X, alpha, loss):
    """Return the objective of a model in rational arithmetic: a mean over pairs, and the penalty."""
    w, rows, y = exact(w), [exact(row) for row in X], exact(Y)
    total, mass = Fraction(0), Fraction(0)
    for q in np.unique(QID):
        members = np.flatnonzero(q == QID).tolist()
        for i, j in combinations(members, 2):
            i, j = (i, j) if y[i] >= y[j] else (j, i)
            lead = sum((a - b) * c for a, b, c in zip(rows[i], rows[j], w, strict=True))
            if loss == "least_squares":
                total += (lead - (y[i] - y[j])) ** 2 / len(members)
            elif y[i] > y[j]:
                slack = max(1 - lead, Fraction(0))
                total += slack if loss == "hinge" else slack**2
                mass += 1
    if loss == "least_squares":
        mass = Fraction(len(y))
    return float(total / mass + Fraction(alpha) / 2 * sum(x * x for x in w))


RANKERS = {
    "hinge": (RankSVM, {}, "hinge"),
    "hinge, small alpha": (RankSVM, {"alpha": 1e-6}, "hinge"),
    "bundle": (RankSVM, {"solver": "bundle"}, "hinge"),
    "squared hinge": (RankSVM, {"loss": "squared_hinge"}, "squared_hinge"),
    "newton": (RankSVM, {"loss": "squared_hinge", "solver": "newton"}, "squared_hinge"),
    "least squares, cg": (RankRLS, {"solver": "cg"}, "least_squares"),
    "least squares, direct": (RankRLS, {"solver": "direct"}, "least_squares"),
}


@pytest.mark.parametrize("name", RANKERS)
@pytest.mark.parametrize("column", ORDER_NOTHING)
@pytest.mark.parametrize("scale", [None, "standard", "minmax"])
def test_a_column_that_orders_nothing_leaves_the_model_as_it_is(name, column, scale):
    kind, parameters, loss = RANKERS[name]
    X = beside(ORDER_NOTHING[column])
    plain = kind(**parameters, scale=scale).fit(Z, Y, qid=QID)
    model = kind(**parameters, scale=scale).fit(X, Y, qid=QID)
    assert model.coef_[-1] == 0.0
    room = max(plain.gap_, model.gap_, 1e-12) * plain.objective_
    assert abs(model.objective_ - plain.objective_) <= room
    assert np.array_equal(model.predict(X) + 0.0, model.predict(beside(np.zeros(200))))
    if scale is None:
        alpha = parameters.get("alpha", model.alpha_)
        assert model.objective_ == pytest.approx(true_objective(model.coef_, X, alpha, loss), rel=1e-12)


# Offsets, and units of a signal that are exact beside them.
OFFSETS = [(1.7e9, 2.0**-10), (1.7e18, 2.0**10), (-4e12, 2.0**-6), (2.0**60, 2.0**12)]


@pytest.mark.parametrize("name", RANKERS)
@pytest.mark.parametrize(("offset", "unit"), OFFSETS)
def test_the_signal_of_a_column_with_an_offset_is_learnt(name, offset, unit):
    kind, parameters, loss = RANKERS[name]
    signal = np.round(1000 * Z[:, 0]) * unit
    X, small = beside(offset + signal, Z[:, 1:]), beside(signal, Z[:, 1:])
    assert np.array_equal(X[:, -1] - offset, signal)
    model, plain = (kind(**parameters, scale="standard").fit(rows, Y, qid=QID) for rows in (X, small))
    np.testing.assert_allclose(model.column_scale_, plain.column_scale_, rtol=1e-12)
    room = max(plain.gap_, model.gap_, 1e-12) * plain.objective_
    assert abs(model.objective_ - plain.objective_) <= room
    assert model.coef_[-1] > 0.0
    penalty = 0.5 * model.alpha_ * np.sum((model.coef_ * model.column_scale_) ** 2)
    true = true_objective(model.coef_, X, 0.0, loss) + penalty
    assert model.objective_ == pytest.approx(true, rel=1e-9)


STORAGES = {
    "dense float32": lambda X: X.astype(np.float32),
    "csr": sparse.csr_matrix,
    "csr array float32": lambda X: sparse.csr_array(X.astype(np.float32)),
}


@pytest.mark.parametrize("storage", STORAGES)
@pytest.mark.parametrize("name", RANKERS)
def test_offsets_of_other_storages_are_taken_off_in_float64(storage, name):
    """In float32 an offset of 2**20 leaves steps of 1/8; sparse rows may have a column in each of them."""
    kind, parameters, loss = RANKERS[name]
    signal = np.round(8 * Z[:, 0]) / 8
    few = np.where(RNG.random((200, 3)) < 0.5, np.round(8 * Z[:, 1:]) / 8, 0.0)
    X = STORAGES[storage](np.column_stack([few, 2.0**20 + signal, 3e7 + QID]))
    small = STORAGES[storage](np.column_stack([few, signal]))
    model, plain = (kind(**parameters).fit(rows, Y, qid=QID) for rows in (X, small))
    assert model.coef_[-1] == 0.0
    room = max(plain.gap_, model.gap_, 1e-12) * plain.objective_
    assert abs(model.objective_ - plain.objective_) <= room
    dense = np.asarray(X.todense()) if sparse.issparse(X) else X
    true = true_objective(model.coef_, dense, model.alpha_, loss)
    assert model.objective_ == pytest.approx(true, rel=1e-10)


def test_a_sparse_column_that_some_rows_lack_is_not_shifted():
    """Its zeros are values as others are; the spread is that of the offset, and no rounding spoils it."""
    column = np.where(RNG.random(200) < 0.9, 1e6 + Z[:, 0], 0.0)
    X = beside(column)
    dense = RankSVM(scale="standard").fit(X, Y, qid=QID)
    csr = RankSVM(scale="standard").fit(sparse.csr_array(X), Y, qid=QID)
    assert abs(csr.objective_ - dense.objective_) <= max(csr.gap_, dense.gap_) * dense.objective_


def test_pairs_see_columns_that_differ_within_a_pair_only():
    pairs = np.array([(i, j) for i in range(200) for j in range(i - i % 10, i) if Y[i] != Y[j]])
    signal = np.round(1000 * Z[:, 0]) / 1024  # exact beside the offset
    pairs = np.where((Y[pairs[:, :1]] > Y[pairs[:, 1:]]), pairs, pairs[:, ::-1])
    for rows in (np.array, sparse.csr_array):
        X = rows(beside(1e15 + QID, beside(1.7e9 + signal)))
        for kind in (RankSVM, RankRLS):
            plain = kind(alpha=1e-4).fit_pairs(rows(beside(signal)), pairs)
            model = kind(alpha=1e-4).fit_pairs(X, pairs)
            assert model.coef_[-1] == 0.0
            room = max(plain.gap_, model.gap_, 1e-12) * plain.objective_
            assert abs(model.objective_ - plain.objective_) <= room


def test_structured_rankers_and_kernels_do_not_see_an_offset():
    for kind, parameters in {StructuredRankSVM: {}, KernelRankSVM: {"approximation": "exact"}}.items():
        plain = kind(**parameters).fit(Z, Y, qid=QID)
        model = kind(**parameters).fit(beside(np.full(200, 1.7e18)), Y, qid=QID)
        room = max(plain.gap_, model.gap_, 1e-6) * plain.objective_
        assert abs(model.objective_ - plain.objective_) <= room


def test_alpha_is_chosen_as_without_the_column():
    for model in (RankSVM(alpha="auto"), RankRLS(alpha="auto"), RankRLS(alpha="auto", solver="cg")):
        plain = model.fit(Z, Y, qid=QID).alpha_
        assert model.fit(beside(1e15 + QID), Y, qid=QID).alpha_ == pytest.approx(plain, rel=1e-9)
        assert model.coef_[-1] == 0.0


@pytest.mark.parametrize("path", [rank_path, rank_rls_path, structured_rank_path])
@pytest.mark.parametrize("column", ORDER_NOTHING)
def test_paths_do_not_see_a_column_that_orders_nothing(path, column):
    options = {"alpha_max": 1.0, "alpha_min": 1e-2}
    plain = path(Z, Y, qid=QID, **options)
    found = path(beside(ORDER_NOTHING[column]), Y, qid=QID, **options)
    for alpha in (0.5, 0.03):
        assert found.coef_at(alpha)[-1] == 0.0
        value, bound = found.objective_at(alpha)
        other, lower = plain.objective_at(alpha)
        assert lower <= value * (1 + 1e-12)
        assert bound <= other * (1 + 1e-12)


@pytest.mark.parametrize("chunk_rows", [37, 1000])
@pytest.mark.parametrize("storage", [np.array, sparse.csr_array])
def test_data_on_disk_are_shifted_as_in_memory(tmp_path, storage, chunk_rows):
    """A chunk may end within a query: its columns are compared across the border."""
    X = storage(beside(1e15 + QID, beside(1.7e9 + Z[:, 0], Z[:, 1:])))
    data = RankingData(X, Y, qid=QID)
    ds = write_dataset(tmp_path / "a.mrd", data, chunk_rows=chunk_rows)
    for model in (RankSVM(), RankSVM(alpha="auto"), RankRLS(solver="cg")):
        here = model.fit(data).objective_
        there = model.fit(ds).objective_
        assert model.coef_[-1] == 0.0
        assert there == pytest.approx(here, rel=2e-3)


@pytest.mark.parametrize("storage", [np.array, sparse.csr_array])
def test_kernels_of_distances_do_not_see_an_offset(storage):
    """Distances in exact arithmetic, to what a few roundings of the exponent leave."""
    signal = np.round(64 * Z) / 64  # exact beside the offset
    X = storage(beside(2.0**40 + np.round(64 * Z[:, 0]) / 64, signal))
    small = beside(np.round(64 * Z[:, 0]) / 64, signal)
    want = np.exp(-0.3 * np.square(small[:, None] - small[None, :]).sum(axis=2))
    columns = KernelColumns("rbf", X[:50], {"gamma": 0.3}, np.dtype("float64"))
    found = np.empty((200, 50))
    columns.transform_block(X, found)
    np.testing.assert_allclose(found, want[:, :50], rtol=1e-12)
    if storage is np.array:
        np.testing.assert_allclose(Kernel("rbf", gamma=0.3)(X, X), want, rtol=1e-12)
    for gamma in ("scale", "median"):
        rng = np.random.RandomState(0)
        known = resolve_gamma(gamma, "rbf", X, rng)
        centred = np.column_stack([signal, small[:, -1] - 0.5 * (small[:, -1].min() + small[:, -1].max())])
        assert known == pytest.approx(resolve_gamma(gamma, "rbf", storage(centred), rng), rel=1e-2)
