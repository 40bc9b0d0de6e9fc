"""The certified path: its claim at random alphas against solutions that were made for each of them."""

import pickle

import numpy as np
import pytest
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning

import marginrank
from marginrank import RankingData, RankRLS, RankSVM
from marginrank.exceptions import MarginRankError, NothingToRankError
from marginrank.metrics import Evaluator, Metric
from marginrank.paths import LeastSquaresPath, LinearRankPath, rank_path, rank_rls_path
from marginrank.solvers.tracing import PathTracer

TOP, BOTTOM = 1.0, 1e-3


def rows(n=240, n_features=6, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, n_features))
    y = np.round(X @ rng.normal(size=n_features) + rng.normal(size=n))
    return X, y, rng.integers(12, size=n)


def pairs_of(y, seed=1):
    pairs = np.random.default_rng(seed).integers(len(y), size=(400, 2))
    return pairs[y[pairs[:, 0]] > y[pairs[:, 1]]]


def objective(X, y, qid, w, alpha, *, loss="hinge", weight=None, weighting="pairs"):
    """Mean pair loss plus regulariser, over written-out pairs."""
    scores = X @ w
    weight = np.ones(len(y)) if weight is None else weight
    sums, masses = [], []
    for q in np.unique(qid):
        mine = np.flatnonzero(qid == q)
        low, high = np.nonzero(y[mine][:, None] < y[mine][None, :])
        cost = np.maximum(0.0, 1.0 - (scores[mine][high] - scores[mine][low]))
        mass = weight[mine][high] * weight[mine][low]
        if len(low):
            sums.append(float(mass @ (cost if loss == "hinge" else cost**2)))
            masses.append(float(mass.sum()))
    means = np.array(sums) / masses
    risk = means.mean() if weighting == "queries" else np.average(means, weights=masses)
    return risk + 0.5 * alpha * w @ w


def random_alphas(path, n, seed=3):
    spread = np.random.default_rng(seed).uniform(size=n)
    return path.alpha_max_ * (path.alpha_min_ / path.alpha_max_) ** spread


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
@pytest.mark.parametrize("eps", [1e-2, 1e-3])
def test_every_model_is_within_eps_of_a_separate_solution(loss, eps):
    X, y, qid = rows()
    path = rank_path(X, y, qid=qid, loss=loss, alpha_max=TOP, alpha_min=BOTTOM, eps=eps)
    assert path.status_ == "finished"
    for alpha in random_alphas(path, 50):
        best = RankSVM(loss, alpha=alpha, tol=1e-6, max_iter=5000).fit(X, y, qid=qid)
        value = objective(X, y, qid, path.coef_at(alpha), alpha, loss=loss)
        upper, lower = path.objective_at(alpha)
        assert value <= upper * (1 + 1e-9)
        assert lower <= best.objective_ * (1 + 1e-9)
        assert (value - best.lower_bound_) / value <= eps + 1e-6  # what the separate solution leaves open
        assert path.gap_at(alpha) <= eps * (1 + 1e-9)


def test_the_claim_holds_at_two_hundred_alphas_of_one_global_ranking():
    X, y, _ = rows(n=80, n_features=4, seed=5)
    path = rank_path(X, y, alpha_max=TOP, alpha_min=1e-4, eps=1e-3)
    one_query = np.zeros(len(y))
    for alpha in random_alphas(path, 200):
        best = RankSVM(alpha=alpha, tol=1e-6, max_iter=5000).fit(X, y)
        value = objective(X, y, one_query, path.coef_at(alpha), alpha)
        assert (value - best.lower_bound_) / value <= 1e-3 + 1e-6


@pytest.mark.parametrize("weighting", ["pairs", "queries"])
def test_weights_count_as_in_the_estimator(weighting):
    X, y, qid = rows()
    weight = np.random.default_rng(7).integers(0, 3, size=len(y)).astype(float)
    path = rank_path(X, y, qid=qid, sample_weight=weight, weighting=weighting, alpha_max=TOP, alpha_min=0.1)
    for alpha in random_alphas(path, 10):
        model = RankSVM(alpha=alpha, tol=1e-6, weighting=weighting, max_iter=5000)
        best = model.fit(X, y, qid=qid, sample_weight=weight)
        value = objective(X, y, qid, path.coef_at(alpha), alpha, weight=weight, weighting=weighting)
        assert (value - best.lower_bound_) / value <= 1e-3 + 1e-6


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
def test_pairs_are_learnt_from_alone(loss):
    X, y, _ = rows()
    pairs = pairs_of(y)
    path = rank_path(X, pairs=pairs, loss=loss, alpha_max=TOP, alpha_min=1e-2)
    for alpha in random_alphas(path, 10):
        best = RankSVM(loss, alpha=alpha, tol=1e-6, max_iter=5000).fit_pairs(X, pairs)
        w = path.coef_at(alpha)
        cost = np.maximum(0.0, 1.0 - (X[pairs[:, 0]] - X[pairs[:, 1]]) @ w)
        value = np.mean(cost if loss == "hinge" else cost**2) + 0.5 * alpha * w @ w
        assert (value - best.lower_bound_) / value <= 1e-3 + 1e-6


def test_scaled_columns_give_models_in_raw_units():
    X, y, qid = rows()
    X = X * np.array([1.0, 10.0, 0.1, 3.0, 1.0, 100.0])
    path = rank_path(X, y, qid=qid, scale="standard", alpha_max=TOP, alpha_min=0.1, eps=1e-4)
    model = RankSVM(alpha=0.3, scale="standard", tol=1e-6).fit(X, y, qid=qid)
    # Two models within 1e-4 of the same optimum differ by at most sqrt(2 * 1e-4 J / alpha) each, here 0.03.
    difference = (path.coef_at(0.3) - model.coef_) * model.column_scale_
    assert np.linalg.norm(difference) <= np.sqrt(4e-4 * model.objective_ / 0.3)


def test_between_stored_models_alpha_times_w_is_linear():
    X, y, qid = rows()
    path = rank_path(X, y, qid=qid, alpha_max=TOP, alpha_min=BOTTOM)
    high, low = path.alphas[2], path.alphas[3]
    middle = 0.5 * (high + low)
    expected = 0.5 * (high * path.coefs[2] + low * path.coefs[3]) / middle
    np.testing.assert_allclose(path.coef_at(middle), expected, rtol=1e-12)
    np.testing.assert_allclose(path.coefs_at(path.alphas), path.coefs, rtol=1e-12)


def test_scores_and_predictions_are_products_with_the_model():
    X, y, qid = rows()
    path = rank_path(sparse.csr_matrix(X), y, qid=qid, alpha_max=TOP, alpha_min=0.1)
    np.testing.assert_allclose(path.scores_at(0.2), X @ path.coef_at(0.2), rtol=1e-10)
    np.testing.assert_allclose(path.predict(X[:7], alpha=0.2), X[:7] @ path.coef_at(0.2), rtol=1e-10)


def test_the_bits_do_not_depend_on_threads():
    X, y, qid = rows()
    one, two = (rank_path(X, y, qid=qid, alpha_max=TOP, alpha_min=BOTTOM, n_jobs=n_jobs) for n_jobs in (1, 2))
    assert one.alphas.tobytes() == two.alphas.tobytes()
    assert one.coefs.tobytes() == two.coefs.tobytes()


def test_the_default_interval_spans_five_decades_below_the_balance():
    X, y, qid = rows()
    path = rank_path(X, y, qid=qid, eps=1e-2)
    assert path.alpha_min_ == pytest.approx(1e-5 * path.alpha_max_)
    scaled = rank_path(10 * X, y, qid=qid, eps=1e-2)
    assert scaled.alpha_max_ == pytest.approx(100 * path.alpha_max_)


@pytest.mark.parametrize("unit", [1e-80, 1e80])
def test_a_path_of_features_in_any_unit_is_finished(unit):
    X, y, qid = rows()
    assert rank_path(unit * X, y, qid=qid, eps=1e-2).status_ == "finished"


def test_columns_that_are_constant_within_queries_have_no_default_interval():
    _, y, qid = rows()
    by_query = 0.1 * np.random.default_rng(0).integers(1, 100, (int(qid.max()) + 1, 2))
    with pytest.raises(MarginRankError, match="pull in no direction"):
        rank_path(by_query[qid], y, qid=qid)


def test_one_pair_has_the_path_of_its_closed_form():
    # J = max(0, 1 - 2 w) + alpha/2 w^2: w = min(2 / alpha, 1/2).
    path = rank_path([[0.0], [2.0]], [0, 1], alpha_max=100.0, alpha_min=0.1, eps=1e-6)
    for alpha in (50.0, 10.0, 4.5, 3.5, 1.0, 0.1):
        w = min(2.0 / alpha, 0.5)
        best = max(0.0, 1.0 - 2.0 * w) + 0.5 * alpha * w * w
        found = path.coef_at(alpha)[0]
        value = max(0.0, 1.0 - 2.0 * found) + 0.5 * alpha * found * found
        assert value <= best * (1 + 2e-6)


def test_an_interval_of_one_point_is_a_path():
    X, y, qid = rows()
    path = rank_path(X, y, qid=qid, alpha_max=0.1, alpha_min=0.1)
    assert path.alpha_max_ == path.alpha_min_ == 0.1
    assert path.gap_at(0.1) <= 1e-3


def test_pairs_that_contradict_each_other_need_an_alpha_and_give_zero():
    X = [[0.0], [1.0]]
    with pytest.raises(MarginRankError, match="no natural alpha_max"):
        rank_path(X, pairs=[[0, 1], [1, 0]])
    path = rank_path(X, pairs=[[0, 1], [1, 0]], alpha_max=1.0, alpha_min=0.01)
    assert path.coef_at(0.05) == pytest.approx(0.0)


def test_margins_of_zero_are_met_by_no_model_at_all():
    data = RankingData([[0.0], [1.0]], pairs=[[0, 1]], pair_margin=0.0)
    path = rank_path(data, alpha_max=1.0, alpha_min=0.01)
    assert path.coef_at(0.05) == pytest.approx(0.0)
    assert path.gap_at(0.05) == 0.0


def test_features_that_say_nothing_give_zero():
    path = rank_path(np.ones((4, 2)), [0, 1, 2, 3], alpha_max=1.0, alpha_min=0.01)
    np.testing.assert_array_equal(path.coef_at(0.05), np.zeros(2))
    assert path.objective_at(0.05) == pytest.approx((1.0, 1.0))


def test_no_solution_at_all_is_an_error(monkeypatch):
    X, y, qid = rows()
    monkeypatch.setattr(PathTracer, "_solve", lambda self, alpha, start: None)
    with pytest.raises(MarginRankError, match=r"No model within eps=0\.001"):
        rank_path(X, y, qid=qid, alpha_max=TOP, alpha_min=BOTTOM)


def test_a_solution_out_of_reach_ends_the_path_with_a_warning(monkeypatch):
    X, y, qid = rows()
    solve = PathTracer._solve

    def give_up(self, alpha, start):
        return None if alpha < 0.1 else solve(self, alpha, start)

    monkeypatch.setattr(PathTracer, "_solve", give_up)
    with pytest.warns(ConvergenceWarning, match="could not be certified"):
        path = rank_path(X, y, qid=qid, alpha_max=TOP, alpha_min=BOTTOM)
    assert path.status_ == "stalled"
    assert 0.1 <= path.alpha_min_ < 0.2
    assert max(path.gap_at(alpha) for alpha in random_alphas(path, 50)) <= 1e-3 * (1 + 1e-9)


def test_tied_labels_are_nothing_to_rank():
    with pytest.raises(NothingToRankError):
        rank_path(np.eye(3), [1, 1, 1])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"alpha_max": 1.0, "alpha_min": 2.0}, "alpha_min must be at most"),
        ({"alpha_max": -1.0}, "alpha_max"),
        ({"eps": 0.0}, "eps"),
        ({"eps": 1.0}, "eps must be from"),
        ({"eps": 1e-12}, "eps must be from"),
        ({"loss": "log"}, "loss"),
        ({"scale": "unit"}, "scale"),
        ({"callbacks": 3}, "callbacks"),
        ({"pairs": [[0, 1]]}, "one of y and pairs"),
    ],
)
def test_bad_parameters_get_a_sentence(arguments, message):
    X, y, _ = rows(n=20)
    with pytest.raises(MarginRankError, match=message):
        rank_path(X, y, **arguments)


def test_alphas_outside_and_other_columns_get_a_sentence():
    X, y, qid = rows()
    path = rank_path(X, y, qid=qid, alpha_max=TOP, alpha_min=0.1, eps=1e-2)
    for alpha in (0.01, 2.0):
        with pytest.raises(MarginRankError, match="alphas must be within the path, which goes from"):
            path.coef_at(alpha)
    with pytest.raises(MarginRankError, match="columns"):
        path.predict(X[:, :2], alpha=0.5)


def test_a_callback_ends_the_path_and_its_part_is_certified():
    X, y, qid = rows()
    seen = []

    def stop(progress):
        seen.append(progress)
        return progress.alpha < 0.1

    path = rank_path(X, y, qid=qid, alpha_max=TOP, alpha_min=BOTTOM, callbacks=stop)
    assert path.status_ == "stopped"
    assert BOTTOM < path.alpha_min_ < 0.1
    assert path.alpha_min_ == seen[-1].alpha
    assert [p.done for p in seen] == sorted(p.done for p in seen)
    assert max(path.gap_at(alpha) for alpha in random_alphas(path, 50)) <= 1e-3 * (1 + 1e-9)


def test_an_interrupt_returns_the_path_so_far(monkeypatch):
    X, y, qid = rows()
    calls = []
    prolong = PathTracer._prolong

    def interrupted(self, *arguments):
        calls.append(1)
        if len(calls) == 8:
            raise KeyboardInterrupt
        prolong(self, *arguments)

    monkeypatch.setattr(PathTracer, "_prolong", interrupted)
    with pytest.warns(RuntimeWarning, match="interrupted"):
        path = rank_path(X, y, qid=qid, alpha_max=TOP, alpha_min=BOTTOM)
    assert path.status_ == "interrupted"
    assert path.alpha_min_ > BOTTOM
    for alpha in random_alphas(path, 20):
        best = RankSVM(alpha=alpha, tol=1e-6, max_iter=5000).fit(X, y, qid=qid)
        value = objective(X, y, qid, path.coef_at(alpha), alpha)
        assert (value - best.lower_bound_) / value <= 1e-3 + 1e-6


def test_ranking_data_carry_everything():
    X, y, qid = rows()
    data = RankingData(X, y, qid=qid)
    a, b = rank_path(data, alpha_max=1, alpha_min=0.1), rank_path(X, y, qid=qid, alpha_max=1, alpha_min=0.1)
    assert a.coefs.tobytes() == b.coefs.tobytes()
    with pytest.raises(MarginRankError, match="do not pass them again"):
        rank_path(data, y)


def test_selection_measures_the_delivered_models():
    X, y, qid = rows()
    X_val, y_val, qid_val = rows(seed=0)
    path = rank_path(X, y, qid=qid, alpha_max=TOP, alpha_min=BOTTOM)
    best = path.select(X_val[:100], y_val[:100], qid=qid_val[:100], metric="pairwise_error", n_alphas=30)
    held = RankingData(X_val[:100], y_val[:100], qid=qid_val[:100])
    evaluator = Evaluator(held, {"e": Metric("pairwise_error")})
    figures = [evaluator.means(path.predict(X_val[:100], alpha=a))[0, 0] for a in best.alphas]
    np.testing.assert_allclose(best.curve, figures, rtol=1e-12)
    assert best.score == min(figures)
    assert best.alpha == max(a for a, f in zip(best.alphas, figures, strict=True) if f == min(figures))
    np.testing.assert_array_equal(best.coef, path.coef_at(best.alpha))
    np.testing.assert_allclose(best.to_model().predict(X[:5]), X[:5] @ best.coef)
    assert path.selection_ is best


def test_one_standard_error_prefers_the_stronger_regularisation():
    X, y, qid = rows()
    path = rank_path(X, y, qid=qid, alpha_max=TOP, alpha_min=BOTTOM, eps=1e-2)
    best = path.select(X, y, qid=qid)
    careful = path.select(X, y, qid=qid, rule="one_se")
    assert careful.alpha >= best.alpha
    assert careful.score <= best.score + best.std[best.selection.index]


def test_features_that_differ_by_orders_of_magnitude_stay_certified():
    X, y, qid = rows()
    X = X * np.array([1e3, 1.0, 1.0, 1.0, 1e-3, 1.0])
    path = rank_path(X, y, qid=qid, scale=None, alpha_max=1e-1, alpha_min=1e-3, eps=1e-2)
    for alpha in random_alphas(path, 5):
        assert objective(X, y, qid, path.coef_at(alpha), alpha) <= path.objective_at(alpha)[0] * (1 + 1e-9)
        assert path.gap_at(alpha) <= 1e-2 * (1 + 1e-9)


class TestLeastSquares:
    def test_the_direct_path_is_rank_rls_at_every_alpha(self):
        X, y, qid = rows()
        path = rank_rls_path(X, y, qid=qid, solver="direct", alpha_max=TOP, alpha_min=BOTTOM)
        assert isinstance(path, LeastSquaresPath)
        for alpha in random_alphas(path, 10):
            model = RankRLS(alpha=alpha, solver="direct").fit(X, y, qid=qid)
            np.testing.assert_allclose(path.coef_at(alpha), model.coef_, rtol=1e-10)
            assert path.objective_at(alpha)[0] == pytest.approx(model.objective_)
            assert path.gap_at(alpha) <= 1e-10

    def test_the_certified_path_is_within_eps_of_rank_rls(self):
        X, y, qid = rows()
        path = rank_rls_path(X, y, qid=qid, solver="certified", alpha_max=TOP, alpha_min=BOTTOM, eps=1e-4)
        exact = rank_rls_path(X, y, qid=qid, solver="direct", alpha_max=TOP, alpha_min=BOTTOM)
        assert isinstance(path, LinearRankPath)
        centred = X - np.array([X[qid == q].mean(axis=0) for q in qid])
        target = y - np.array([y[qid == q].mean() for q in qid])
        for alpha in random_alphas(path, 50):
            w = path.coef_at(alpha)
            value = np.mean((centred @ w - target) ** 2) + 0.5 * alpha * w @ w
            assert value <= path.objective_at(alpha)[0] * (1 + 1e-9)
            optimum = exact.objective_at(alpha)[0]
            assert optimum * (1 - 1e-9) <= value <= optimum / (1 - 1e-4)

    def test_pairs_take_the_certified_path(self):
        X, y, _ = rows()
        pairs = pairs_of(y)
        path = rank_rls_path(X, pairs=pairs, alpha_max=1.0, alpha_min=0.1)
        model = RankRLS(alpha=0.3, tol=1e-8).fit_pairs(X, pairs)
        np.testing.assert_allclose(path.coef_at(0.3), model.coef_, atol=0.1)
        assert path.objective_at(0.3)[1] <= model.objective_ <= path.objective_at(0.3)[0] * (1 + 1e-9)
        with pytest.raises(MarginRankError, match="direct solver"):
            rank_rls_path(X, pairs=pairs, solver="direct")

    def test_columns_are_scaled_as_in_rank_rls(self):
        X, y, qid = rows()
        path = rank_rls_path(X, y, qid=qid, scale="minmax", alpha_max=1.0, alpha_min=0.1)
        model = RankRLS(alpha=0.2, scale="minmax", solver="direct").fit(X, y, qid=qid)
        np.testing.assert_allclose(path.coef_at(0.2), model.coef_, rtol=1e-10)
        best = path.select(X, y, qid=qid, metric="pairwise_error")
        assert best.score == min(best.curve)


@pytest.mark.parametrize("make", [rank_path, rank_rls_path])
def test_the_picture_shows_the_coefficients_and_the_choice(make, tmp_path):
    pytest.importorskip("matplotlib")
    X, y, qid = rows()
    path = make(X, y, qid=qid, alpha_max=TOP, alpha_min=BOTTOM)
    best = path.select(X, y, qid=qid)
    with pytest.raises(MarginRankError, match="n_features must be a positive integer; got 0"):
        path.plot(n_features=0)
    with pytest.raises(MarginRankError, match="expert must be True or False; got 1"):
        path.plot(expert=1)
    figure = path.plot(n_features=3)
    coefficients, validation = figure.axes
    lines = {line.get_label(): line for line in coefficients.get_lines()}
    column = next(name for name in lines if name.isdigit())
    alphas, drawn = lines[column].get_data()
    np.testing.assert_allclose(drawn[::50], [path.coef_at(a)[int(column)] for a in alphas[::50]])
    assert validation.get_lines()[1].get_xdata()[0] == best.alpha
    names = [text.get_text() for text in validation.get_legend().get_texts()]
    assert names[:2] == [
        "± standard error of the figure",
        "± standard error of its difference to the best alpha",
    ]
    figure.savefig(tmp_path / "path.png")


def test_experts_see_how_many_planes_prove_the_path():
    pytest.importorskip("matplotlib")
    X, y, qid = rows()
    path = rank_path(X, y, qid=qid, alpha_max=TOP, alpha_min=BOTTOM)
    sizes = path.plot(expert=True).axes[-1]
    assert sizes.get_ylabel() == "planes of the certificate"
    np.testing.assert_array_equal(sizes.get_lines()[0].get_ydata(), path.certificate_sizes()[1])
    exact = rank_rls_path(X, y, qid=qid, alpha_max=TOP, alpha_min=BOTTOM)
    assert len(exact.plot(expert=True).axes) == 1  # it has no planes


def test_data_on_disk_have_the_path_of_those_in_memory(tmp_path):
    rng = np.random.default_rng(7)
    X, qid = rng.normal(size=(200, 4)), np.arange(200) // 10
    y = (X[:, 0] + rng.normal(size=200)).round()
    marginrank.write_dataset(tmp_path / "a.mrd", X, y, qid=qid, chunk_rows=50)
    stored = marginrank.open_dataset(tmp_path / "a.mrd")
    for make in (rank_path, rank_rls_path):
        near, far = (
            make(X, y, qid=qid, alpha_max=1.0, alpha_min=1e-3),
            make(stored, alpha_max=1.0, alpha_min=1e-3),
        )
        for alpha in (1.0, 0.037, 1e-3):
            assert np.allclose(near.predict(X, alpha=alpha), far.predict(X, alpha=alpha), atol=0.05)
        assert far.gap_at(0.037) <= 1e-3
    with pytest.raises(MarginRankError, match="The direct solver needs all rows in memory"):
        rank_rls_path(stored, solver="direct")
    with pytest.raises(MarginRankError, match="needs its rows in memory; load them with in_memory"):
        marginrank.kernel_rank_path(stored)


def test_pickled_paths_of_earlier_versions_load():
    X, y, qid = rows()
    path = rank_path(X, y, qid=qid, alpha_max=TOP, alpha_min=BOTTOM)
    for name in ("statistics", "scaled_by"):  # there were none
        del vars(path._transform)[name]
    now, then = b"cmarginrank.solvers.lower_lines\n", b"cmarginrank.paths.lower_lines\n"
    written = pickle.dumps(path, protocol=2)  # which has names of modules as lines
    assert now in written
    loaded = pickle.loads(written.replace(now, then))
    alpha = 0.3 * TOP
    np.testing.assert_array_equal(loaded.predict(X, alpha=alpha), path.predict(X, alpha=alpha))
    assert loaded.objective_at(alpha) == path.objective_at(alpha)
    assert loaded.to_model(alpha=alpha).column_statistics is None
