"""Intervals by bootstrap over queries: what is drawn, what is fitted, and that both are deterministic."""

import json
from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from marginrank import KernelRankSVM, RankingData, RankRLS, RankSVM, StructuredRankSVM, intervals
from marginrank.exceptions import InterruptedWarning
from marginrank.intervals import coefficient_intervals
from marginrank.metrics import evaluate
from marginrank.metrics.bootstrap import draw_counts, mean_interval


def made(n_queries=20, seed=0, **options):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_queries * 6, 3))
    y = np.clip(np.round(X @ [1.0, -0.5, 0.0] + rng.normal(size=len(X))), -1, 2)
    return RankingData(X, y, qid=np.repeat(np.arange(n_queries), 6), **options)


RANKERS = {
    "squared hinge": RankSVM("squared_hinge", alpha=0.01),
    "hinge": RankSVM(alpha=0.01),
    "least squares": RankRLS(alpha=0.01),
    "structured": StructuredRankSVM("auc", alpha=0.01),
}


def repeated(data, counts):
    """The drawn queries written out: each as often as it was drawn, under ids of their own."""
    rows, ids = [], []
    for query, count in enumerate(counts):
        for _ in range(count):
            members = np.flatnonzero(data.qid == query)
            ids += [len(set(ids))] * len(members)
            rows += members.tolist()
    return RankingData(data.X[rows], data.y[rows], qid=ids)


@pytest.mark.parametrize("name", ["squared hinge", "least squares"])
def test_samples_are_the_models_of_drawn_queries_written_out(name):
    data = made()
    found = coefficient_intervals(RANKERS[name], data, n_boot=3, tol=1e-9)
    counts = draw_counts(20, 3, seed=0)
    for sample, drawn in zip(found.samples, counts, strict=True):
        alone = RANKERS[name].__class__(**{**RANKERS[name].get_params(), "tol": 1e-9})
        expected = alone.fit(repeated(data, drawn)).coef_
        # alpha/2 |w - w*|^2 <= gap * objective: 1e-9 leaves coefficients 1e-3 apart at most.
        assert_allclose(sample, expected, atol=2e-3)
        assert np.abs(sample - found.coef).max() > 2e-3  # a warm start does not stay where it was


@pytest.mark.parametrize("name", RANKERS)
def test_every_linear_ranker_has_intervals_that_hold_its_coefficients(name):
    found = coefficient_intervals(RANKERS[name], made(), n_boot=20)
    assert (found.low <= found.high).all()
    assert found.samples.shape == (20, 3)
    assert found.low[0] > 0  # the first column tells


def test_the_same_bits_for_any_number_of_threads_and_the_ranker_stays_as_it_was():
    ranker, data = RankSVM("squared_hinge", alpha=0.01), made()
    one = coefficient_intervals(ranker, data, n_boot=8, n_jobs=1)
    two = coefficient_intervals(ranker, data, n_boot=8, n_jobs=2)
    assert_array_equal(one.samples, two.samples)
    assert not hasattr(ranker, "coef_")
    assert ranker.tol == 1e-3
    other = coefficient_intervals(ranker, data, n_boot=8, random_state=1)
    assert (other.samples != one.samples).any()


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_an_interrupt_leaves_the_intervals_of_the_draws_so_far(monkeypatch, n_jobs):
    fit_draw, data, ranker = intervals._fitted_to_draw, made(), RANKERS["least squares"]
    whole = coefficient_intervals(ranker, data, n_boot=6)
    for n_fitted in range(6):
        numbers = iter(range(6))

        def fitted(base, data, counts, numbers=numbers, n_fitted=n_fitted):
            if next(numbers) >= n_fitted:
                raise KeyboardInterrupt
            return fit_draw(base, data, counts)

        monkeypatch.setattr(intervals, "_fitted_to_draw", fitted)
        if n_fitted < 2:
            with pytest.raises(KeyboardInterrupt):
                coefficient_intervals(ranker, data, n_boot=6, n_jobs=n_jobs)
            continue
        with pytest.warns(InterruptedWarning, match=f"they rest on {n_fitted} of 6 draws"):
            found = coefficient_intervals(ranker, data, n_boot=6, n_jobs=n_jobs)
        drawn = {sample.tobytes() for sample in found.samples}
        assert len(drawn) == n_fitted
        assert drawn <= {sample.tobytes() for sample in whole.samples}
        assert_allclose(found.low, np.quantile(found.samples, 0.025, axis=0), rtol=1e-9)
        assert_array_equal(found.coef, whole.coef)


def test_alpha_is_chosen_once_and_query_weights_count():
    data = made(query_weight=np.where(np.arange(20) < 10, 1.0, 0.0))
    ranker = RankSVM("squared_hinge", alpha="auto", alphas=[0.1, 0.01], cv=2)
    found = coefficient_intervals(ranker, data, n_boot=4)
    assert found.alpha in (0.1, 0.01)
    half = data.subset(np.flatnonzero(data.qid < 10))
    assert_allclose(
        found.coef, RankSVM("squared_hinge", alpha=found.alpha, tol=1e-6).fit(half).coef_, atol=0.02
    )


def test_tables_pictures_and_json():
    found = coefficient_intervals(RANKERS["least squares"], made(), n_boot=4)
    json.dumps(found.to_dict(), allow_nan=False)
    assert str(found).startswith("95% intervals at alpha=0.01, 4 draws\ncolumn")


def test_the_picture_shows_weights_in_comparable_units_with_their_intervals():
    pytest.importorskip("matplotlib")
    found = coefficient_intervals(RANKERS["least squares"], made(), n_boot=20)
    (axis,) = found.plot().axes
    order = [label.get_text() for label in axis.get_yticklabels()]
    assert sorted(order) == sorted(found.names)
    for k, name in enumerate(order):
        j = found.names.index(name)
        by = found.deviations[j]
        ((low, high),) = (segment[:, 0] for segment in axis.collections[k].get_segments())
        assert_allclose([low, high], [found.low[j] * by, found.high[j] * by], rtol=1e-12)
        assert_allclose(axis.lines[k].get_xdata(), [found.coef[j] * by], rtol=1e-12)
        holds = found.low[j] <= 0.0 <= found.high[j]
        assert (axis.lines[k].get_color() == "0.55") == holds
    assert "95% interval over queries" in axis.get_xlabel()
    (axis,) = replace(found, deviations=None).plot().axes
    assert "its deviation over the draws" in axis.get_xlabel()


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ({"ranker": object()}, "ranker must be a ranker of this library"),
        ({"ranker": KernelRankSVM(n_components=5, random_state=0)}, "ranker must be linear in the columns"),
        ({"data": RankingData(np.eye(3), [0, 1, 2])}, "at least two queries"),
        ({"level": 1.0}, "level must be a number between 0 and 1"),
        ({"n_boot": 1}, "n_boot must be an integer from 2"),
    ],
)
def test_wrong_uses_end_in_a_sentence(arguments, sentence):
    given = {"ranker": RANKERS["least squares"], "data": made(), "n_boot": 2, **arguments}
    with pytest.raises(ValueError, match=sentence):
        coefficient_intervals(**given)


def test_intervals_of_a_mean_are_quantiles_of_means_of_drawn_queries():
    rng = np.random.default_rng(0)
    values, weight = rng.random(40), rng.random(40)
    values[3] = np.nan
    low, high = mean_interval(values, weight, 0.9)
    means = []
    for _ in range(4000):
        rows = rng.integers(0, 40, size=40)
        rows = rows[~np.isnan(values[rows])]
        means.append(np.average(values[rows], weights=weight[rows]))
    expected = np.quantile(means, [0.05, 0.95])
    # Ends of 2,000 and of 4,000 draws: four standard errors of a quantile are about 0.15 deviations.
    assert_allclose([low, high], expected, atol=0.15 * np.std(means))


def test_evaluations_have_intervals_on_request():
    data = made(40)
    scores = data.X[:, 0]
    plain = evaluate(data.y + 1, scores, qid=data.qid, metrics=["ndcg@3", "pairwise_error"])
    found = evaluate(data.y + 1, scores, qid=data.qid, metrics=["ndcg@3", "pairwise_error"], intervals=0.95)
    assert plain.intervals == {}
    assert "intervals" not in plain.to_dict()
    for name, mean in found.items():
        low, high = found.intervals[name]
        assert low < mean < high
    assert found.to_dict()["level"] == 0.95
    low, high = found.intervals["ndcg@3"]
    assert f"({low:.4f} to {high:.4f})" in repr(found)
    narrow = evaluate(data.y + 1, scores, qid=data.qid, metrics=["ndcg@3"], intervals=0.5).intervals["ndcg@3"]
    assert low < narrow[0] < narrow[1] < high


def test_one_query_has_no_interval():
    found = evaluate([0, 1], [0.2, 0.1], metrics=["mrr"], intervals=0.95)
    assert np.isnan(found.intervals["mrr"][0])
    assert found.to_dict()["intervals"] == {"mrr": None}
    with pytest.raises(ValueError, match="intervals must be a number between 0 and 1"):
        evaluate([0, 1], [0.2, 0.1], intervals=95)


def test_a_kernel_machine_is_refused_before_anything_is_fitted(monkeypatch):
    data = RankingData([[1.0], [2.0], [3.0], [4.0]], [0, 1, 0, 1], qid=[1, 1, 2, 2])
    monkeypatch.setattr(KernelRankSVM, "fit", lambda *_, **__: pytest.fail("was fitted"))
    with pytest.raises(ValueError, match="ranker must be linear in the columns"):
        coefficient_intervals(KernelRankSVM(alpha="auto"), data)
