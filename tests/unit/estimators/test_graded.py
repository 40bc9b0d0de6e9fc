"""StructuredRankSVM on grades: what labels mean, what selects, where the rows lie."""

import numpy as np
import pytest

from marginrank import RankingData, RankingModel, StructuredRankSVM
from marginrank.exceptions import MarginRankError
from marginrank.io import write_dataset
from marginrank.metrics import evaluate
from marginrank.paths import structured_rank_path


def make_data(seed, n_queries=30, size=15):
    """Labels 0 to 4; the first column tells 0 from the others, the second one these from each other."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n_queries * size, 5))
    good = X[:, 0] + 0.3 * rng.standard_normal(len(X)) > 0.3
    how = np.digitize(X[:, 1] + 0.3 * rng.standard_normal(len(X)), [-0.8, 0.0, 0.8])
    y = np.where(good, 1 + how, 0)
    return X, y, np.arange(len(X)) // size


X, Y, QID = make_data(0)
XV, YV, QV = make_data(1)


@pytest.mark.parametrize("target", ["ndcg@10", "map", {"map": 1.0, "ndcg@5": 2.0}], ids=str)
def test_a_number_for_relevance_trains_on_good_and_bad_rows_to_the_last_bit(target):
    graded = StructuredRankSVM(target).fit(X, Y, qid=QID)
    binary = StructuredRankSVM(target, relevance=2).fit(X, Y, qid=QID)
    two = StructuredRankSVM(target).fit(X, (Y >= 2).astype(int), qid=QID)
    np.testing.assert_array_equal(binary.coef_, two.coef_)
    assert (binary.relevance_, binary.thresholds_.tolist(), binary.binning_bound_) == (2.0, [2.0], 0.0)
    assert graded.relevance_ is None
    assert graded.thresholds_.tolist() == [1.0, 2.0, 3.0, 4.0]
    assert (graded.coef_ != binary.coef_).any()


@pytest.mark.parametrize("target", ["mrr", "auc"])
def test_mrr_and_auc_do_not_change_with_grades(target):
    given = StructuredRankSVM(target, relevance=1).fit(X, Y, qid=QID)
    default = StructuredRankSVM(target).fit(X, Y, qid=QID)
    np.testing.assert_array_equal(given.coef_, default.coef_)
    assert default.relevance_ == (1.0 if target == "mrr" else None)


def test_grades_make_a_better_model_of_graded_labels():
    test = make_data(2, n_queries=200)
    figures = []
    for relevance in (None, 1):
        model = StructuredRankSVM(relevance=relevance, alpha=1e-3).fit(X, Y, qid=QID)
        figures.append(evaluate(test[1], model.predict(test[0]), qid=test[2])["ndcg@10"])
    assert figures[0] > figures[1] + 0.05


@pytest.mark.parametrize(
    ("gain", "name"),
    [
        ("exponential", "ndcg(ties=average)@3"),
        ("linear", "ndcg(gain=linear,ties=average)@3"),
        ({0: 0, 1: 0, 2: 1, 3: 1, 4: 8}, "ndcg(gain=0:0/1:0/2:1/3:1/4:8,ties=average)@3"),
    ],
    ids=str,
)
def test_the_gain_that_trains_is_the_gain_that_selects(gain, name):
    search = StructuredRankSVM("ndcg@3", gain=gain, alpha="auto", alphas=[1.0, 1e-2])
    search.fit(X, Y, qid=QID, eval_set=(XV, YV), eval_qid=QV)
    assert search.best_score_ == evaluate(YV, search.predict(XV), qid=QV, metrics=name)[name]
    by_folds = StructuredRankSVM("ndcg@3", gain=gain, alpha="auto", alphas=[1.0, 1e-2], cv=3)
    assert by_folds.fit(X, Y, qid=QID)._searched_by == name


@pytest.mark.parametrize(
    ("labels", "parameters", "name"),
    [
        ((0, 1, 2, 3, 4), {}, "map(rel=all,ties=average)"),
        ((0, 1, 2, 3, 4), {"relevance": 3}, "map(rel=3,ties=average)"),
        ((1, 1, 2, 2, 2), {}, "map(rel=2,ties=average)"),
    ],
    ids=str,
)
def test_a_search_by_folds_goes_by_what_labels_mean(labels, parameters, name):
    y = np.array(labels)[Y]
    search = StructuredRankSVM("map", alpha="auto", alphas=[1.0, 1e-2], cv=3, **parameters)
    assert search.fit(X, y, qid=QID)._searched_by == name


def test_real_labels_are_binned_once_for_all_folds():
    y = X[:, 0] + 0.7 * X[:, 1]
    y -= y.min()
    search = StructuredRankSVM(gain="linear", alpha="auto", alphas=[1.0, 1e-2], cv=3).fit(X, y, qid=QID)
    alone = StructuredRankSVM(gain="linear", alpha=search.alpha_).fit(X, y, qid=QID)
    np.testing.assert_array_equal(search.thresholds_, alone.thresholds_)
    assert len(alone.thresholds_) <= 31
    assert 0.0 < alone.binning_bound_ < 0.1
    assert alone.gap_ <= 1e-3
    assert alone.score(X, y, qid=QID) > 0.95
    by_map = StructuredRankSVM("map").fit(X, y - 5.0, qid=QID)  # no gains, so any labels will do
    assert len(by_map.thresholds_) <= 31
    assert by_map.binning_bound_ == 0.0


def test_rows_on_disk_have_the_same_thresholds_and_minimum(tmp_path):
    y = np.round(4 * np.random.default_rng(3).random(len(Y)) + Y, 2)
    data = write_dataset(tmp_path / "rows.mrd", X, y, qid=QID, chunk_rows=100)
    here = StructuredRankSVM(gain="linear", tol=1e-6).fit(X, y, qid=QID)
    there = StructuredRankSVM(gain="linear", tol=1e-6).fit(data)
    np.testing.assert_array_equal(here.thresholds_, there.thresholds_)
    assert here.binning_bound_ == there.binning_bound_
    assert there.objective_ == pytest.approx(here.objective_, rel=1e-5)


def test_a_path_takes_the_same_grades_and_gains():
    options = {"gain": {0: 0, 1: 1, 2: 2, 3: 3, 4: 9}, "scale": None}
    path = structured_rank_path(X, Y, qid=QID, eps=1e-4, **options)
    model = StructuredRankSVM(alpha=0.01, tol=1e-4, **options).fit(X, Y, qid=QID)
    low, high = path.objective_at(0.01)[::-1]
    assert model.lower_bound_ <= max(low, high) * (1 + 1e-9)
    assert min(low, high) <= model.objective_ * (1 + 1e-9)
    assert path.select(XV, YV, qid=QV).metric == "ndcg(gain=0:0/1:1/2:2/3:3/4:9,ties=average)@10"


def test_a_model_file_keeps_the_gains(tmp_path):
    gain = {0: 0, 1: 1, 2: 2, 3: 3, 4: 9}
    StructuredRankSVM(gain=gain).fit(X, Y, qid=QID).save(tmp_path / "model.mrk")
    written = RankingModel.load(tmp_path / "model.mrk").metadata["parameters"]["gain"]
    assert {float(label): value for label, value in written.items()} == gain


@pytest.mark.parametrize(
    ("y", "parameters", "message"),
    [
        (Y - 2, {}, "gain='exponential' needs labels from 0 to 1000; got labels from -2 to 2.*{relevance}"),
        (Y + 1000, {}, "got labels from 1000 to 1004"),
        (Y, {"gain": {0: 0, 1: 1}}, "gain must have an entry for every label; it has none for "),
        (Y, {"gain": "log"}, "gain must be 'exponential', 'linear', or a dict"),
        (Y, {"gain": dict.fromkeys(range(5), 1.0)}, "nothing to rank"),
    ],
    ids=str,
)
def test_labels_that_are_no_gains_are_refused(y, parameters, message):
    message = message.replace("{relevance}", "relevance")
    with pytest.raises(MarginRankError, match=message):
        StructuredRankSVM(**parameters).fit(X, y, qid=QID)


@pytest.mark.parametrize(
    "parameters", [{"relevance": 0}, {"gain": {-2: 0, -1: 0, 0: 1, 1: 2, 2: 5}}], ids=str
)
def test_labels_below_zero_are_trained_on_where_it_is_said_what_they_are_worth(parameters):
    data = RankingData(X, Y - 2, qid=QID)
    assert StructuredRankSVM(**parameters).fit(data).score(data) > 0.8
