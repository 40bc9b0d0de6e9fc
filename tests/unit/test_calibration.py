"""Probabilities of pairs: monotone, mirrored, fitted to held-out pairs, and true on other queries."""

import io
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.isotonic import IsotonicRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from marginrank import KernelRankSVM, RankingData, RankingModel, RankSVM, calibrate
from marginrank.calibration import PairCalibration
from marginrank.datasets import make_ranking
from marginrank.exceptions import MarginRankError

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))
from calibration import calibration_error, pairs_of

X, Y, QID = make_ranking(600, 12, noise=2.0)
TRAIN, HELD, TEST = (k == QID % 3 for k in range(3))
RANKER = RankSVM().fit(X[TRAIN], Y[TRAIN], qid=QID[TRAIN])
MODEL = calibrate(RANKER, X[HELD], Y[HELD], qid=QID[HELD])


def test_both_ways_round_sum_to_one_to_the_last_bit():
    a, b = X[TEST][:500], X[TEST][500:1000]
    assert (MODEL.probability(a, b) + MODEL.probability(b, a) == 1.0).all()
    assert MODEL.probability(a[0], a[0]) == 0.5


def test_probabilities_rise_with_the_difference_and_are_never_certain():
    d = np.linspace(-2, 2, 1001) * MODEL.calibration.differences[-1]
    p = MODEL.calibration.probability(d)
    assert (np.diff(p) >= 0.0).all()
    assert 0.0 < p[0] < 0.1
    assert 0.9 < p[-1] < 1.0


def test_the_expected_error_on_other_queries_is_below_two_percent():
    assert calibration_error(MODEL, RankingData(X[TEST], Y[TEST], qid=QID[TEST])) < 0.02


def test_scores_taken_as_log_odds_are_worse():
    """The measure can fail: the same pairs with probabilities that nobody fitted."""

    class Unfitted:
        predict = staticmethod(RANKER.predict)
        calibration = PairCalibration([20.0], [1.0], 1)

    assert calibration_error(Unfitted, RankingData(X[TEST], Y[TEST], qid=QID[TEST])) > 0.05


def test_the_fit_is_isotonic_regression_of_the_held_out_pairs():
    data = RankingData(X[HELD], Y[HELD], qid=QID[HELD])
    i, j = pairs_of(data)
    d = RANKER.predict(data)[i] - RANKER.predict(data)[j]
    reference = IsotonicRegression(out_of_bounds="clip").fit(d, data.y[i] > data.y[j])
    grid = np.linspace(0.02, 0.9, 50) * MODEL.calibration.differences[-1]
    # Bins of some 65 pairs, whose shares have a standard error of at most 0.06.
    assert np.abs(MODEL.calibration.probability(grid) - reference.predict(grid)).mean() < 0.02
    assert MODEL.calibration.n_pairs == len(i) // 2


def test_it_is_saved_with_the_model():
    file = io.BytesIO()
    MODEL.save(file)
    loaded = RankingModel.load(io.BytesIO(file.getvalue()))
    assert loaded.calibration.differences.tobytes() == MODEL.calibration.differences.tobytes()
    assert loaded.calibration.probabilities.tobytes() == MODEL.calibration.probabilities.tobytes()
    assert loaded.calibration.n_pairs == MODEL.calibration.n_pairs
    assert (loaded.probability(X[:5], X[5:10]) == MODEL.probability(X[:5], X[5:10])).all()
    assert loaded.column_statistics is not None


def test_the_same_data_give_the_same_bits_in_any_form_and_order():
    names = [f"f{k}" for k in range(X.shape[1])]
    frame = pd.DataFrame(X[HELD], columns=names).assign(qid=QID[HELD])
    named = RankSVM().fit(pd.DataFrame(X[TRAIN], columns=names).assign(qid=QID[TRAIN]), Y[TRAIN])
    expected = MODEL.calibration.probabilities
    for found in (
        calibrate(RANKER.to_model(), RankingData(X[HELD], Y[HELD], qid=QID[HELD])),
        calibrate(RANKER, sparse.csr_array(X[HELD]), Y[HELD], qid=QID[HELD]),
        calibrate(named, frame, Y[HELD]),
    ):
        np.testing.assert_array_equal(found.calibration.probabilities, expected)


def test_weights_are_repetitions():
    rows = np.flatnonzero(HELD)[:240]
    twice = np.concatenate([rows, rows])
    weighted = calibrate(RANKER, X[rows], Y[rows], qid=QID[rows], query_weight=np.full(20, 7.0))
    alone = calibrate(RANKER, X[rows], Y[rows], qid=QID[rows])
    np.testing.assert_allclose(weighted.calibration.probabilities, alone.calibration.probabilities)
    half = np.where(np.arange(240) < 120, 1.0, 0.0)
    some = calibrate(RANKER, X[rows], Y[rows], qid=QID[rows], sample_weight=half)
    first = calibrate(RANKER, X[rows[:120]], Y[rows[:120]], qid=QID[rows[:120]])
    np.testing.assert_array_equal(some.calibration.probabilities, first.calibration.probabilities)
    assert (
        calibrate(RANKER, X[twice], Y[twice], qid=QID[twice]).calibration.n_pairs > alone.calibration.n_pairs
    )


def test_large_queries_are_looked_at_by_a_fixed_draw(monkeypatch):
    monkeypatch.setattr("marginrank.calibration._MOST_PAIRS", 1)
    rng = np.random.default_rng(0)
    wide = rng.normal(size=(400, 1))
    labels = wide[:, 0] + rng.normal(size=400)
    model = RankingModel([1.0])
    found, again = (calibrate(model, wide, labels) for _ in range(2))
    assert found.calibration.n_pairs == 1000
    np.testing.assert_array_equal(found.calibration.probabilities, again.calibration.probabilities)


@pytest.mark.parametrize(
    "model",
    [make_pipeline(StandardScaler(), RankSVM()), KernelRankSVM(n_components=20, random_state=0)],
    ids=["pipeline", "kernel"],
)
def test_other_models_are_calibrated_too(model):
    if hasattr(model, "steps"):
        model.fit(X[TRAIN], Y[TRAIN])
    else:
        model.fit(X[TRAIN], Y[TRAIN], qid=QID[TRAIN])
    found = calibrate(model, X[HELD], Y[HELD], qid=QID[HELD])
    assert calibration_error(found, RankingData(X[TEST], Y[TEST], qid=QID[TEST])) < 0.02


def test_a_model_that_normalises_within_queries_compares_scores():
    data = RankingData(X[TRAIN], Y[TRAIN], qid=QID[TRAIN])
    model = RankSVM().fit(data.normalized_by_query()).to_model(query_normalization="minmax")
    model = calibrate(model, X[HELD], Y[HELD], qid=QID[HELD])
    with pytest.raises(MarginRankError, match="cannot compare a with b alone"):
        model.probability(X[0], X[1])
    scores = model.predict(X[TEST], qid=QID[TEST])
    assert model.calibration.probability([scores.max() - scores.min()])[0] > 0.9


def test_wrong_uses_are_sentences():
    with pytest.raises(MarginRankError, match=r"needs calibrate\(model"):
        RANKER.to_model().probability(X[0], X[1])
    with pytest.raises(MarginRankError, match="as many rows as each other; got 2 and 3"):
        MODEL.probability(X[:2], X[:3])
    with pytest.raises(MarginRankError, match="b: X has 2 features"):
        MODEL.probability(X[0], X[0, :2])
    with pytest.raises(MarginRankError, match=r"have 1 pairs of rows .* need at least 50"):
        calibrate(RANKER, X[:2], [0, 1])
    with pytest.raises(MarginRankError, match="All scores of X are equal"):
        calibrate(RankingModel([0.0]), np.ones((20, 1)), np.arange(20))
    with pytest.raises(MarginRankError, match="y is None"):
        calibrate(RANKER, X)
    with pytest.raises(MarginRankError, match="do not pass them again"):
        calibrate(RANKER, RankingData(X, Y, qid=QID), Y)


def test_folds_train_on_all_queries_and_calibrate_by_rankers_that_have_not_seen_them():
    ranker = RankSVM(alpha=1e-3)
    data = RankingData(X[~TEST], Y[~TEST], qid=QID[~TEST])
    model = calibrate(ranker, data, cv=4)
    np.testing.assert_array_equal(model.coef, RankSVM(alpha=1e-3).fit(data).coef_)
    assert not hasattr(ranker, "coef_")
    i, _ = pairs_of(data)
    assert model.calibration.n_pairs == len(i) // 2
    test = RankingData(X[TEST], Y[TEST], qid=QID[TEST])
    assert calibration_error(model, test) < 0.02


def test_queries_that_trained_make_probabilities_too_sure_and_folds_do_not():
    rng = np.random.default_rng(0)
    rows, qid = rng.normal(size=(400, 60)), np.repeat(np.arange(40), 10)
    labels = rng.integers(0, 2, size=400)  # nothing to learn, and 60 columns to learn it by heart
    data, ranker = RankingData(rows, labels, qid=qid), RankSVM(alpha=1e-4)
    learnt = calibrate(ranker.fit(data), data).calibration.probabilities
    held = calibrate(ranker, data, cv=5).calibration.probabilities
    assert learnt[-1] > 0.8
    assert held[-1] < 0.65


def test_folds_choose_alpha_once():
    data = RankingData(X[TRAIN], Y[TRAIN], qid=QID[TRAIN])
    model = calibrate(RankSVM(alpha="auto", alphas=[1e-3, 1e-1]), data, cv=3)
    chosen = RankSVM(alpha="auto", alphas=[1e-3, 1e-1]).fit(data)
    np.testing.assert_array_equal(model.coef, chosen.coef_)


def test_wrong_folds_are_sentences():
    few = RankingData(X[:36], Y[:36], qid=QID[:36])
    with pytest.raises(
        MarginRankError, match=r"fewer of these than cv=5: 3. Give qid or group, or a smaller cv"
    ):
        calibrate(RankSVM(), few, cv=5)
    with pytest.raises(MarginRankError, match="Folds are of whole queries"):
        calibrate(RankSVM(), X, Y, cv=5)
    for wrong in (MODEL, RankSVM, make_pipeline(StandardScaler(), RankSVM())):
        with pytest.raises(MarginRankError, match="model must be a ranker of this library, where cv"):
            calibrate(wrong, X, Y, qid=QID, cv=2)
    with pytest.raises(MarginRankError, match="cv must be"):
        calibrate(RankSVM(), X, Y, qid=QID, cv=1)
