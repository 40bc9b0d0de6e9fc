"""KernelRankSVM: the exact kernel machine, pipelines of map and ranker, what memory and threads change."""

import io

import numpy as np
import pandas as pd
import pytest
from ranking_cases import ranking_case
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from kernel_oracle import kernel_values, solve_kernel_ranking
from marginrank import (
    FourierFeatures,
    KernelRankSVM,
    NystroemFeatures,
    RankingData,
    RankingModel,
    RankRLS,
    RankSVM,
)
from marginrank.exceptions import IncompatibleSolverError, MarginRankError
from marginrank.training import mapped_columns

SIZES = [9, 7, 1, 8, 6]
GAMMA = 0.3
QUERY_PTR = np.concatenate([[0], np.cumsum(SIZES)])
QID = np.repeat(np.arange(len(SIZES)), SIZES)


def bent(n_rows, seed=0, n_features=3):
    """Return rows whose labels no linear model orders."""
    rng = np.random.default_rng(seed)
    X = rng.random((n_rows, n_features))
    utility = np.sin(6 * X[:, 0]) + X[:, 1] * X[:, 2] + 0.1 * rng.normal(size=n_rows)
    return X, np.digitize(utility, np.quantile(utility, [0.4, 0.8])), np.arange(n_rows) // 10


X, Y = bent(len(QID))[:2]
NEW = np.random.default_rng(9).random((10, 3))
XL, YL, QL = bent(200, seed=1)
XV, YV, QV = bent(100, seed=2)


# Solvers go as far as tol asks, which is closer than double precision lets them certify.
beyond_rounding = pytest.mark.filterwarnings("ignore:.*rounding in double precision")


# The exact kernel


@beyond_rounding
@pytest.mark.parametrize("kernel", ["rbf", "laplacian", "polynomial", "cosine", "chi2"])
@pytest.mark.parametrize("alpha", [1e-1, 1e-3])
def test_exact_kernel_agrees_with_the_dual_of_the_kernel_problem(kernel, alpha):
    coefficients, objective = solve_kernel_ranking(kernel_values(kernel, X, X, GAMMA), Y, QUERY_PTR, alpha)
    settings = {"gamma": GAMMA, "approximation": "exact", "linear_block": False}
    model = KernelRankSVM(kernel, alpha=alpha, tol=1e-12, solver="newton", **settings)
    model.fit(X, Y, qid=QID)
    assert model.objective_ == pytest.approx(objective, rel=1e-8)
    for rows in (X, NEW):
        want = kernel_values(kernel, rows, X, GAMMA) @ coefficients
        np.testing.assert_allclose(model.predict(rows), want, atol=1e-5)


@pytest.mark.parametrize("approximation", ["exact", "nystroem", "fourier"])
def test_the_score_of_a_row_does_not_depend_on_the_rows_beside_it(approximation):
    model = KernelRankSVM(gamma=GAMMA, approximation=approximation, n_components=50, random_state=0)
    model.fit(XL, YL, qid=QL)
    expected = model.predict(XV)
    assert np.array_equal(model.predict(XV[::-1]), expected[::-1])
    assert np.array_equal([model.predict(row[None])[0] for row in XV], expected)


@beyond_rounding
def test_precomputed_kernel_is_the_kernel():
    K, new = kernel_values("rbf", X, X, GAMMA), kernel_values("rbf", NEW, X, GAMMA)
    settings = {"approximation": "exact", "alpha": 1e-2, "tol": 1e-10, "solver": "newton"}
    by_rows = KernelRankSVM(gamma=GAMMA, linear_block=False, **settings).fit(X, Y, qid=QID)
    by_values = KernelRankSVM("precomputed", **settings).fit(K, Y, qid=QID)
    np.testing.assert_allclose(by_values.predict(new), by_rows.predict(NEW), atol=1e-5)
    assert by_values.gamma_ is None
    assert by_values.linear_coef_ is None  # kernel values with training rows are no columns


def test_rows_of_no_weight_are_as_if_they_were_not_there():
    weight = np.ones(len(Y))
    weight[::3] = 0.0
    for settings in ({"approximation": "exact"}, {"n_components": 8}, {"approximation": "fourier"}):
        model = KernelRankSVM(alpha=1e-2, random_state=0, **settings)
        left_out = model.fit(X[weight > 0], Y[weight > 0], qid=QID[weight > 0]).predict(NEW)
        weighted = model.fit(X, Y, qid=QID, sample_weight=weight).predict(NEW)
        np.testing.assert_allclose(weighted, left_out, atol=1e-4)


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge", "least_squares"])
def test_weights_are_repetitions_where_the_kernel_is_exact(loss):
    weight = 1 + np.arange(len(Y)) % 3
    rows = np.repeat(np.arange(len(Y)), weight)
    model = KernelRankSVM(gamma=GAMMA, approximation="exact", loss=loss, alpha=0.1, tol=1e-9)
    weighted = model.fit(X, Y, qid=QID, sample_weight=weight).predict(NEW)
    repeated = model.fit(X[rows], Y[rows], qid=QID[rows]).predict(NEW)
    np.testing.assert_allclose(weighted, repeated, atol=1e-3)


# Approximations


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
@pytest.mark.parametrize("name", ["nystroem", "fourier"])
def test_equals_a_pipeline_of_map_and_ranker(name, loss):
    kind = {"nystroem": NystroemFeatures, "fourier": FourierFeatures}[name]
    mapping = kind(gamma=2.0, n_components=25, dtype="float64", random_state=3)
    pipeline = make_pipeline(mapping, RankSVM(loss, alpha=1e-3, tol=1e-7)).fit(XL, YL, ranksvm__qid=QL)
    reference = pipeline[-1]
    model = KernelRankSVM(
        gamma=2.0,
        approximation=name,
        linear_block=False,
        n_components=25,
        loss=loss,
        alpha=1e-3,
        tol=1e-7,
        dtype="float64",
        random_state=3,
    ).fit(XL, YL, qid=QL)
    assert model.objective_ == pytest.approx(reference.objective_, rel=1e-6)
    # Both lie within their gaps of one optimum, which is as sharp as alpha makes it.
    reach = 2 * np.sqrt(2 * 1e-7 * model.objective_ / 1e-3)
    assert np.linalg.norm(model.coef_ - reference.coef_) <= reach
    np.testing.assert_allclose(model.predict(XV), pipeline.predict(XV), atol=10 * reach)


@beyond_rounding
def test_least_squares_is_rank_rls_over_the_features():
    model = KernelRankSVM(
        gamma=2.0,
        linear_block=False,
        n_components=20,
        loss="least_squares",
        alpha=1e-2,
        tol=1e-10,
        dtype="float64",
        random_state=0,
    ).fit(XL, YL, qid=QL)
    Z = model.feature_map_.transform(XL)
    rls = RankRLS(1e-2, tol=1e-10).fit(Z, YL, qid=QL)
    np.testing.assert_allclose(model.predict(XL), Z @ rls.coef_, atol=1e-4)


@pytest.mark.parametrize("name", ["nystroem", "fourier"])
def test_rank_rls_takes_the_maps_in_a_pipeline(name):
    kind = {"nystroem": NystroemFeatures, "fourier": FourierFeatures}[name]
    linear = RankRLS(1e-3).fit(XL, YL).score(XV, YV)
    curved = make_pipeline(kind(gamma=2.0, n_components=60, random_state=0), RankRLS(1e-3)).fit(XL, YL)
    assert curved.score(XV, YV) > linear + 0.05


@pytest.mark.parametrize("name", ["nystroem", "fourier"])
@pytest.mark.parametrize("solver", ["lbfgs", "newton", "bundle"])
def test_every_solver_certifies_a_better_model_than_a_line(name, solver):
    model = KernelRankSVM(
        gamma=2.0, approximation=name, n_components=60, alpha=1e-4, solver=solver, random_state=0
    ).fit(XL, YL, qid=QL)
    assert model.gap_ <= 1e-3
    assert model.score(XV, YV, qid=QV) > RankSVM().fit(XL, YL, qid=QL).score(XV, YV, qid=QV) + 0.05


@pytest.mark.parametrize("name", ["nystroem", "fourier", "exact"])
@pytest.mark.parametrize("loss", ["hinge", "squared_hinge", "least_squares"])
def test_recomputed_features_train_the_same_model(name, loss):
    settings = {"gamma": 2.0, "approximation": name, "n_components": 30, "loss": loss, "dtype": "float64"}
    stored, recomputed = (
        KernelRankSVM(alpha=1e-2, tol=1e-8, random_state=0, store=store, **settings).fit(XL, YL, qid=QL)
        for store in ("memory", "recompute")
    )
    assert recomputed.objective_ == pytest.approx(stored.objective_, rel=2e-8)
    np.testing.assert_allclose(recomputed.predict(XV), stored.predict(XV), atol=2e-3)


@pytest.mark.parametrize("name", ["nystroem", "fourier"])
def test_float32_scores_are_within_a_thousandth_of_float64_ones(name):
    # A feature of float32 is off by about 1e-7 of the kernel; the cut-off of 1e-8 lets the whitening blow
    # that up by 1e4.
    single, double = (
        KernelRankSVM(
            gamma=2.0, approximation=name, n_components=40, alpha=1e-2, tol=1e-9, dtype=dtype, random_state=0
        )
        .fit(XL, YL, qid=QL)
        .predict(XV)
        for dtype in ("float32", "float64")
    )
    np.testing.assert_allclose(single, double, atol=1e-3 * np.ptp(double))
    assert (single != double).any()


@pytest.mark.parametrize("name", ["nystroem", "fourier"])
@pytest.mark.parametrize("scale", ["standard", "minmax"])
def test_scale_divides_the_columns_before_the_kernel(name, scale):
    wide = XL * [1.0, 100.0, 1e-3]
    divisor = wide.std(axis=0) if scale == "standard" else np.ptp(wide, axis=0)
    settings = {"approximation": name, "n_components": 30, "alpha": 1e-2, "dtype": "float64"}
    model = KernelRankSVM(scale=scale, random_state=0, **settings).fit(wide, YL, qid=QL)
    np.testing.assert_allclose(model.column_scale_, divisor)
    divided = wide * (1.0 / model.column_scale_)  # to the bit: landmarks are drawn by what rows contain
    plain = KernelRankSVM(random_state=0, **settings).fit(divided, YL, qid=QL)
    np.testing.assert_allclose(model.predict(wide), plain.predict(divided), atol=1e-5)
    np.testing.assert_array_equal(model.to_model().predict(wide), model.predict(wide))


@pytest.mark.parametrize("scale", ["standard", "minmax"])
def test_scaled_landmarks_know_neither_the_order_of_rows_nor_repetitions_from_weights(scale):
    settings = {"scale": scale, "n_components": 30, "alpha": 1e-2, "tol": 1e-6, "random_state": 0}
    model = KernelRankSVM(**settings).fit(XL, YL, qid=QL)
    shuffled = np.random.default_rng(3).permutation(len(YL))
    other = KernelRankSVM(**settings).fit(XL[shuffled], YL[shuffled], qid=QL[shuffled])
    np.testing.assert_array_equal(other.feature_map_.landmarks_, model.feature_map_.landmarks_)
    count = 1 + np.arange(len(YL)) % 3
    weighted = KernelRankSVM(**settings).fit(XL, YL, qid=QL, sample_weight=count)
    again = np.repeat(np.arange(len(YL)), count)
    repeated = KernelRankSVM(**settings).fit(XL[again], YL[again], qid=QL[again])
    np.testing.assert_array_equal(repeated.feature_map_.landmarks_, weighted.feature_map_.landmarks_)
    np.testing.assert_allclose(repeated.predict(XV), weighted.predict(XV), atol=1e-3)


def test_sparse_rows_give_the_scores_of_dense_ones():
    rows = XL * (XL > 0.3)
    settings = {"gamma": 2.0, "n_components": 30, "alpha": 1e-2, "dtype": "float64", "random_state": 0}
    dense = KernelRankSVM(**settings).fit(rows, YL, qid=QL)
    other = KernelRankSVM(scale=None, **settings).fit(sparse.csr_array(rows), YL, qid=QL)
    np.testing.assert_allclose(other.predict(sparse.csr_array(rows)), dense.predict(rows), atol=1e-4)


# Determinism


@pytest.mark.parametrize("name", ["nystroem", "fourier", "exact"])
@pytest.mark.parametrize("store", ["memory", "recompute"])
def test_threads_do_not_change_a_bit(name, store):
    one, two = (
        KernelRankSVM(approximation=name, n_components=30, store=store, random_state=0, n_jobs=k).fit(
            XL, YL, qid=QL
        )
        for k in (1, 2)
    )
    np.testing.assert_array_equal(one.coef_, two.coef_)
    np.testing.assert_array_equal(one.predict(XV), two.predict(XV))


@pytest.mark.parametrize("name", ["nystroem", "fourier"])
def test_random_state_decides_the_model(name):
    def scores(seed):
        model = KernelRankSVM(approximation=name, n_components=10, random_state=seed)
        return model.fit(XL, YL, qid=QL).predict(XV)

    np.testing.assert_array_equal(scores(1), scores(1))
    np.testing.assert_array_equal(scores(np.random.RandomState(5)), scores(np.random.RandomState(5)))
    assert (scores(1) != scores(2)).any()
    assert (scores(None) != scores(None)).any()


# Pairs


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge", "least_squares"])
def test_pairs_of_a_query_train_its_model(loss):
    pairs = np.array(
        [(i, j) for i in range(len(Y)) for j in range(len(Y)) if QID[i] == QID[j] and Y[i] > Y[j]]
    )
    settings = {"gamma": GAMMA, "approximation": "exact", "loss": loss, "alpha": 1e-2, "tol": 1e-9}
    settings["linear_block"] = False
    by_pairs = KernelRankSVM(**settings).fit_pairs(X, pairs)
    assert by_pairs.gap_ <= 1e-9
    assert by_pairs.n_pairs_ == len(pairs)
    if loss != "least_squares":  # that of queries has other pairs: tied ones, and labels as margins
        by_queries = KernelRankSVM(**settings).fit(X, Y, qid=QID)
        assert by_pairs.objective_ == pytest.approx(by_queries.objective_, rel=1e-8)
        np.testing.assert_allclose(by_pairs.predict(NEW), by_queries.predict(NEW), atol=5e-3)
    assert (by_pairs.predict(X)[pairs[:, 0]] > by_pairs.predict(X)[pairs[:, 1]]).mean() > 0.8


# Models


@pytest.mark.parametrize("name", ["nystroem", "fourier", "exact"])
def test_model_file_gives_the_scores_to_the_last_bit(name):
    frame = pd.DataFrame(XL, columns=["a", "b", "c"])
    ranker = KernelRankSVM(approximation=name, n_components=20, random_state=0).fit(frame, YL, qid=QL)
    file = io.BytesIO()
    ranker.to_model().save(file)
    file.seek(0)
    model = RankingModel.load(file)
    np.testing.assert_array_equal(
        model.predict(XV), ranker.predict(pd.DataFrame(XV, columns=["a", "b", "c"]))
    )
    assert model.feature_names == ("a", "b", "c")
    assert model.metadata["estimator"] == "KernelRankSVM"
    assert model.metadata["parameters"]["approximation"] == name


def test_model_of_a_pipeline_keeps_the_scaler_before_the_map():
    ranker = KernelRankSVM(n_components=20, scale="minmax", dtype="float64", random_state=0)
    pipeline = make_pipeline(StandardScaler(), ranker).fit(XL, YL)
    model = RankingModel.from_estimator(pipeline)
    np.testing.assert_allclose(model.predict(XV), pipeline.predict(XV), atol=1e-6)
    twice = make_pipeline(FourierFeatures(n_components=5), ranker).fit(XL, YL)
    with pytest.raises(MarginRankError, match="second feature map"):
        RankingModel.from_estimator(twice)


def test_ranking_data_are_taken_as_they_are():
    data = RankingData(XL, YL, qid=QL)
    model = KernelRankSVM(n_components=10, random_state=0)
    scores = model.fit(data).predict(data)
    np.testing.assert_array_equal(scores, model.fit(XL, YL, qid=QL).predict(XL))


# Refusals


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"gamma": 0.0}, "gamma must be a positive, finite number"),
        ({"gamma": -1.0}, "gamma must be a positive, finite number"),
        ({"gamma": np.nan}, "gamma must be a positive, finite number"),
        ({"gamma": "auto", "gammas": [1.0, -1.0]}, "gammas must be a list of positive, finite numbers"),
        ({"gamma": "auto", "gammas": 3.0}, "gammas must be a list of positive, finite numbers"),
        ({"gamma": "auto", "kernel": "cosine"}, "'cosine' has no gamma for gamma='auto' to choose"),
        ({"kernel": "sigmoid"}, "kernel must be one of"),
        ({"kernel": "cosine", "approximation": "fourier"}, "kernel must be 'rbf' or 'laplacian' for Fourier"),
        ({"approximation": "random"}, "approximation must be one of"),
        ({"n_components": 0}, "n_components must be a positive integer"),
        ({"loss": "log"}, "loss must be one of"),
        ({"loss": "least_squares", "weighting": "queries"}, "pass query_weight"),
        ({"landmarks": "first"}, "landmarks must be"),
        ({"store": "disk"}, "store must be"),
        ({"dtype": "int8"}, "dtype must be one of"),
        ({"alpha": 0.0}, "alpha must be a positive, finite number"),
        ({"kernel": "precomputed", "scale": "standard"}, "use scale=None"),
        ({"kernel": "precomputed"}, "needs the square matrix of kernel values"),
    ],
)
def test_parameters_that_cannot_be_used_are_refused(parameters, message):
    with pytest.raises(MarginRankError, match=message) as caught:
        KernelRankSVM(**{"n_components": 5, **parameters}).fit(X, Y, qid=QID)
    assert "\n" not in str(caught.value)


def test_newton_needs_a_smooth_loss():
    with pytest.raises(IncompatibleSolverError, match="hinge"):
        KernelRankSVM(loss="hinge", solver="newton", n_components=5).fit(X, Y, qid=QID)


def test_nan_is_refused_in_fit_and_predict():
    bad = X.copy()
    bad[3, 1] = np.nan
    with pytest.raises(MarginRankError, match=r"X contains NaN \(first at row 3, column 1\)"):
        KernelRankSVM(n_components=5).fit(bad, Y, qid=QID)
    with pytest.raises(MarginRankError, match=r"X contains NaN \(first at row 3, column 1\)"):
        KernelRankSVM(n_components=5).fit(X, Y, qid=QID).predict(bad)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        (
            {"approximation": "exact"},
            r"The exact kernel of 200 rows would take about 1\.5 GB .* 1\.0 GB\. Use",
        ),
        ({"n_components": 180}, r"180 landmarks would take about 1\.2 GB .* fewer n_components"),
    ],
)
def test_kernel_that_does_not_fit_in_memory_is_refused_with_an_estimate(parameters, message, monkeypatch):
    monkeypatch.setattr(mapped_columns, "physical_memory", lambda: 2**30)
    monkeypatch.setattr(mapped_columns, "_SQUARE_MATRICES", 5000)
    with pytest.raises(MarginRankError, match=message):
        KernelRankSVM(**parameters).fit(XL, YL, qid=QL)
    KernelRankSVM(n_components=20).fit(XL, YL, qid=QL)
    KernelRankSVM(approximation="fourier", n_components=180).fit(XL, YL, qid=QL)


def test_more_components_than_rows_are_all_rows_with_a_warning():
    settings = {"gamma": GAMMA, "alpha": 1e-2, "dtype": "float64", "tol": 1e-8}
    with pytest.warns(UserWarning, match="n_components=500 is more than the 31 rows of X"):
        model = KernelRankSVM(**settings).fit(X, Y, qid=QID)
    exact = KernelRankSVM(approximation="exact", **settings).fit(X, Y, qid=QID)
    np.testing.assert_array_equal(model.predict(NEW), exact.predict(NEW))


def test_stopping_early_warns_with_the_gap():
    with pytest.warns(ConvergenceWarning, match="KernelRankSVM stopped after 1 iteration"):
        KernelRankSVM(n_components=20, max_iter=1, tol=1e-9, random_state=0).fit(XL, YL, qid=QL)


def test_linear_data_need_no_queries_to_be_learnt():
    case = ranking_case(80, 3, 5)
    model = KernelRankSVM("polynomial", degree=1, n_components=40, random_state=0).fit(case.X, case.y)
    assert model.n_queries_ == 1
    assert model.score(case.X, case.y) > 0.7
