"""AutoRanker: every candidate on the same folds, paired differences, and what a budget may decide."""

import io
import pickle

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.model_selection import GroupKFold

from marginrank import (
    AutoRanker,
    KernelRankSVM,
    RankingData,
    RankingModel,
    RankRLS,
    RankSVM,
    StructuredRankSVM,
    write_dataset,
)
from marginrank.estimators import auto
from marginrank.estimators.auto import CANDIDATES
from marginrank.exceptions import MarginRankError
from marginrank.metrics import evaluate
from marginrank.training.candidates import Tried, choose_candidate
from marginrank.training.paired_parts import PairedParts
from marginrank.training.selection import Search


def made(seed, *, bent, n_rows=200):
    rng = np.random.default_rng(seed)
    X = rng.random((n_rows, 4))
    bend = np.sin(8 * X[:, 0]) if bent else 2 * X[:, 0]
    utility = bend + X[:, 1] + (0.05 if bent else 0.5) * rng.normal(size=n_rows)
    return X, np.digitize(utility, np.quantile(utility, [0.4, 0.8])), np.arange(n_rows) // 10


STRAIGHT, BENT = made(0, bent=False), made(0, bent=True)


def fitted(data, **settings):
    X, y, qid = data
    return AutoRanker(**{"cv": 3, **settings}).fit(X, y, qid=qid)


def test_what_bends_is_ranked_by_the_kernel_and_what_does_not_by_the_columns():
    assert fitted(BENT).best_name_ == "rankrls-kernel"
    straight = fitted(STRAIGHT)
    assert straight.best_name_ == "rankrls"
    assert isinstance(straight.best_estimator_, RankRLS)
    X, y, qid = made(1, bent=True)
    assert fitted(BENT).score(X, y, qid=qid) > straight.score(X, y, qid=qid) + 0.1


def test_figures_are_those_of_separate_searches_on_the_same_folds():
    X, y, qid = BENT
    ranker = fitted(BENT, metric="ndcg@5", candidates=["rankrls", "ranksvm-squared", "ndcg"])
    alone = [
        RankRLS("auto", metric="ndcg@5", cv=3),
        RankSVM("squared_hinge", alpha="auto", metric="ndcg@5", cv=3),
        StructuredRankSVM("ndcg@10", alpha="auto", metric="ndcg@5", cv=3),
    ]
    for row, one in zip(ranker.results_, alone, strict=True):
        one.fit(X, y, qid=qid)
        assert (row.figure, row.alpha) == (one.best_score_, one.alpha_)
    best = int(np.argmax([one.best_score_ for one in alone]))
    np.testing.assert_array_equal(ranker.predict(X), alone[best].predict(X))
    assert ranker.results_[best].status == "chosen"


def test_differences_are_paired_over_the_queries_of_all_folds():
    X, y, qid = BENT
    alphas = [1e-3, 1.0]
    candidates = [RankRLS(alpha) for alpha in alphas]
    ranker = fitted(BENT, metric="ndcg@5", candidates=candidates)
    data = RankingData(X, y, qid=qid)
    values = np.zeros((2, len(np.unique(qid))))
    for train, test in Search(cv=3).query_folds(data):
        for k, alpha in enumerate(alphas):
            part = RankRLS(alpha).fit(X[train], y[train], qid=qid[train])
            found = evaluate(y[test], part.predict(X[test]), qid=qid[test], metrics="ndcg@5")
            for query, value in zip(found.query_ids, found.per_query["ndcg@5"], strict=True):
                values[k, query] = value
    assert [row.name for row in ranker.results_] == ["RankRLS 1", "RankRLS 2"]
    assert [row.alpha for row in ranker.results_] == alphas
    best, other = sorted(range(2), key=lambda k: -ranker.results_[k].figure)
    difference = values[other] - values[best]
    # Folds of 7, 7 and 6 queries weigh alike, so that a query of the smallest counts a little more.
    row = ranker.results_[other]
    assert row.difference == pytest.approx(difference.mean(), abs=0.1 * difference.std())
    assert row.difference_std == pytest.approx(difference.std(ddof=1) / np.sqrt(20), rel=0.1)
    assert ranker.results_[best].difference == ranker.results_[best].difference_std == 0.0


def tried(name, values, *, is_kernel):
    values = np.array(values)
    return Tried(name, 1.0, float(values.mean()), 0.0, PairedParts(values[:, None]), is_kernel)


@pytest.mark.parametrize(
    ("kernel", "expected"),
    [
        ([0.30, 0.30, 0.20, 0.40], "kernel"),  # always better
        ([0.55, 0.05, 0.35, 0.29], "linear"),  # better by a tenth of a standard error
    ],
)
def test_a_linear_ranker_is_taken_within_half_a_standard_error_of_a_kernel(kernel, expected):
    both = [
        tried("linear", [0.32, 0.32, 0.22, 0.42], is_kernel=False),
        tried("kernel", kernel, is_kernel=True),
    ]
    assert both[choose_candidate(both, higher_is_better=False).chosen].name == expected
    backwards = both[::-1]
    assert backwards[choose_candidate(backwards, higher_is_better=False).chosen].name == expected


def rounds(*differences):
    """Return partitions on which a kernel is ahead of a linear ranker by these errors."""
    queries, spread = np.array([0.3, 0.5, 0.4, 0.2]), np.array([-0.02, 0.02, 0.02, -0.02])
    return [
        [
            tried("linear", queries, is_kernel=False),
            tried("kernel", queries - ahead + spread, is_kernel=True),
        ]
        for ahead in differences
    ]


def test_figures_and_errors_of_several_partitions_are_means():
    error = np.std([-0.02, 0.02, 0.02, -0.02], ddof=1) / 2
    for differences, expected in (
        ([0.4 * error], "linear"),
        ([0.4 * error, 0.7 * error], "kernel"),
        ([0.6 * error], "kernel"),
        ([0.6 * error, 0.3 * error], "linear"),
    ):
        found = choose_candidate(*rounds(*differences), higher_is_better=False)
        assert ["linear", "kernel"][found.chosen] == expected
        np.testing.assert_allclose(found.errors, [error, 0.0])
        np.testing.assert_allclose(found.differences, [-np.mean(differences), 0.0])
        np.testing.assert_allclose(found.figures, [0.35, 0.35 - np.mean(differences)])


@pytest.mark.parametrize(("ahead", "is_close"), [(0.5, True), (-0.5, True), (1.5, False), (-1.5, False)])
def test_a_choice_is_close_within_one_standard_error_either_way(ahead, is_close):
    error = np.std([-0.02, 0.02, 0.02, -0.02], ddof=1) / 2
    assert choose_candidate(*rounds(ahead * error), higher_is_better=False).is_close == is_close


def test_a_close_choice_among_few_queries_rests_on_three_partitions():
    straight = fitted(STRAIGHT)
    once = fitted(STRAIGHT, repeats=1)
    assert (straight.n_partitions_, once.n_partitions_) == (3, 1)
    assert fitted(BENT).n_partitions_ == 1  # the kernel is far ahead
    data = RankingData(STRAIGHT[0], STRAIGHT[1], qid=STRAIGHT[2])
    folds = [Search(cv=3).query_folds(data, partition) for partition in range(3)]
    figures = [RankRLS("auto", cv=some).fit(data).best_score_ for some in folds]
    assert len(set(figures)) == 3
    assert straight.results_[0].figure == pytest.approx(np.mean(figures), rel=1e-12)
    assert once.results_[0].figure == figures[0]
    # The model is that of the first partition, whatever the others said of it.
    assert straight.alpha_ == once.alpha_
    np.testing.assert_array_equal(straight.predict(data), once.predict(data))


@pytest.mark.parametrize(
    "settings",
    [{"budget": 1e6}, {"cv": GroupKFold(3)}, {"repeats": 1}, {"candidates": ["rankrls", "ranksvm-squared"]}],
    ids=["budget", "splitter", "one", "no kernel"],
)
def test_one_partition_is_all_where_others_are_not_asked_for(settings):
    assert fitted(STRAIGHT, **settings).n_partitions_ == 1


def test_many_queries_or_none_are_split_once(monkeypatch):
    X, y, qid = STRAIGHT
    assert AutoRanker(cv=3).fit(X, y).n_partitions_ == 1
    monkeypatch.setattr(auto, "_FEW_QUERIES", len(np.unique(qid)))
    assert fitted(STRAIGHT).n_partitions_ == 1


@pytest.mark.parametrize("made", [np.asarray, sparse.csr_array])
def test_with_more_columns_than_rows_losses_over_pairs_are_tried_as_well(made):
    rng = np.random.default_rng(0)
    X = made(rng.random((40, 41)) * (rng.random((40, 41)) < 0.2))
    y = rng.integers(0, 2, 40)
    wide, square = (AutoRanker(cv=2).fit(X[:, :n], y) for n in (41, 40))
    assert [row.name for row in wide.results_] == ["rankrls", "ranksvm-squared", "ranksvm", "rankrls-kernel"]
    assert [row.name for row in square.results_] == ["rankrls", "rankrls-kernel"]
    named = AutoRanker(cv=2, candidates=["rankrls", "rankrls-kernel"]).fit(X, y)
    assert [row.name for row in named.results_] == ["rankrls", "rankrls-kernel"]


def test_an_interrupt_among_further_partitions_leaves_what_the_first_one_says():
    begun = []

    class Impatient:
        def begin_candidate(self, name, number, total):
            assert total == 6
            begun.append((name, number))

        def __call__(self, progress):
            if len(begun) == 4:
                raise KeyboardInterrupt

    once = fitted(STRAIGHT, repeats=1)
    ranker = AutoRanker(cv=3)
    with pytest.raises(KeyboardInterrupt):
        ranker.fit(*STRAIGHT[:2], qid=STRAIGHT[2], callbacks=Impatient())
    assert begun[2:] == [("rankrls on other folds", 3), ("rankrls-kernel on other folds", 4)]
    assert ranker.results_ == once.results_
    np.testing.assert_array_equal(ranker.predict(STRAIGHT[0]), once.predict(STRAIGHT[0]))


def test_the_same_bits_come_out_every_time_and_for_any_number_of_threads():
    one, two = fitted(BENT, n_jobs=1), fitted(BENT, n_jobs=2)
    np.testing.assert_array_equal(one.predict(BENT[0]), two.predict(BENT[0]))
    assert one.results_ == two.results_


def test_time_decides_only_which_candidates_begin(monkeypatch):
    clock = iter([0.0, 0.0, 5.0, 15.0])  # the start, then before each candidate
    names = ["rankrls", "ranksvm-squared", "ndcg"]
    with monkeypatch.context() as patch:
        patch.setattr(auto, "perf_counter", lambda: next(clock))
        ranker = fitted(STRAIGHT, budget=10.0, candidates=names)
    whole = fitted(STRAIGHT, candidates=names[:2])
    assert ranker.results_[:2] == whole.results_.rows
    assert ranker.results_[2].status == "not tried"
    assert "no time left" in str(ranker.results_)
    np.testing.assert_array_equal(ranker.predict(STRAIGHT[0]), whole.predict(STRAIGHT[0]))


def test_the_first_candidate_always_begins():
    ranker = fitted(STRAIGHT, budget=1e-9)
    assert [row.status for row in ranker.results_] == ["chosen", "not tried"]


def test_folds_of_a_splitter_are_made_once():
    X, y, qid = BENT
    ranker = AutoRanker(cv=GroupKFold(4)).fit(X, y, qid=qid)
    folds = ranker.best_estimator_.cv
    assert len(folds) == 4
    once = AutoRanker(cv=iter(folds)).fit(X, y, qid=qid)
    assert once.results_ == ranker.results_


@pytest.mark.parametrize("name", CANDIDATES)
def test_every_name_trains_a_ranker(name):
    ranker = fitted(STRAIGHT, candidates=[name])
    assert ranker.best_name_ == name
    assert ranker.score(*STRAIGHT[:2], qid=STRAIGHT[2]) > 0.8


def test_sparse_rows_frames_and_data_sets_are_taken(tmp_path):
    X, y, qid = BENT
    assert AutoRanker(cv=3).fit(sparse.csr_array(X), y, qid=qid).best_name_ == "rankrls-kernel"
    frame = pd.DataFrame(X, columns=list("abcd")).assign(label=y, query=qid)
    ranker = AutoRanker(cv=3).fit(frame, "label", qid="query")
    assert ranker.feature_names_in_.tolist() == list("abcd")
    np.testing.assert_array_equal(ranker.predict(frame), ranker.best_estimator_.predict(frame[list("abcd")]))
    on_disk = AutoRanker(cv=3).fit(write_dataset(tmp_path / "a.mrd", X, y, qid=qid))
    assert on_disk.best_name_ == "rankrls"
    assert on_disk.results_[1].reason == "kernels train in memory"


def test_the_model_is_that_of_the_chosen_ranker_to_the_last_bit():
    ranker = fitted(BENT)
    file = io.BytesIO()
    ranker.save(file)
    model = RankingModel.load(io.BytesIO(file.getvalue()))
    np.testing.assert_array_equal(model.predict(BENT[0]), ranker.predict(BENT[0]))
    assert model.metadata["estimator"] == "KernelRankSVM"
    np.testing.assert_array_equal(
        RankingModel.from_estimator(ranker).predict(BENT[0]), ranker.predict(BENT[0])
    )


def test_it_can_be_cloned_and_pickled():
    ranker = fitted(STRAIGHT, candidates=["rankrls", RankSVM(alpha=0.1)])
    copy = pickle.loads(pickle.dumps(ranker))
    np.testing.assert_array_equal(copy.predict(STRAIGHT[0]), ranker.predict(STRAIGHT[0]))
    assert copy.results_ == ranker.results_
    again = clone(ranker).fit(*STRAIGHT[:2], qid=STRAIGHT[2])
    assert again.results_ == ranker.results_
    assert not hasattr(clone(ranker), "coef_")


def test_a_search_leaves_the_candidates_that_were_passed_alone():
    mine = RankSVM("logistic", alpha=0.1)
    ranker = fitted(STRAIGHT, candidates=[mine])
    assert mine.get_params() == RankSVM("logistic", alpha=0.1).get_params()
    assert ranker.alpha_ == 0.1


def test_the_table_becomes_dictionaries_and_a_frame():
    table = fitted(STRAIGHT).results_
    assert table.to_frame()["name"].tolist() == ["rankrls", "rankrls-kernel"]
    assert table.to_frame()["figure"].tolist() == [row["figure"] for row in table.to_dicts()]
    assert str(table).splitlines()[0].split()[0] == "candidate"
    assert "<- chosen" in str(table)


def test_an_interrupt_leaves_the_best_of_what_is_finished():
    finished = fitted(STRAIGHT, candidates=["rankrls"])

    def impatient(progress):
        if isinstance(ranker_under_way[-1], KernelRankSVM):
            raise KeyboardInterrupt

    ranker_under_way = []
    prepared = AutoRanker._prepared

    class Watched(AutoRanker):
        def _prepared(self, *args):
            ranker_under_way.append(prepared(self, *args))
            return ranker_under_way[-1]

    ranker = Watched(cv=3)
    X, y, qid = STRAIGHT
    with pytest.raises(KeyboardInterrupt):
        ranker.fit(X, y, qid=qid, callbacks=impatient)
    np.testing.assert_array_equal(ranker.predict(X), finished.predict(X))
    assert [row.name for row in ranker.results_] == ["rankrls"]


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"candidates": []}, "candidates must be a list of names or rankers that is not empty"),
        ({"candidates": "rankrls"}, "candidates must be a list"),
        ({"candidates": ["trees"]}, "candidates must be names among 'rankrls'"),
        ({"candidates": [AutoRanker()]}, "candidates must be names, or rankers of this library"),
        ({"candidates": [3]}, "candidates must be names, or rankers of this library"),
        ({"candidates": [RankRLS(regularization="early_stopping")]}, "an alpha of their own"),
        ({"budget": 0}, "budget must be a positive number of seconds"),
        ({"budget": "60s"}, "budget must be a positive number of seconds"),
        ({"repeats": 0}, "repeats must be an integer from 1 to 1000"),
        ({"repeats": True}, "repeats must be an integer from 1 to 1000"),
        ({"metric": "ndgc"}, "ndgc"),
        ({"cv": 1}, "cv must be at least 2 folds"),
    ],
)
def test_settings_that_cannot_be_used_are_refused(settings, message):
    with pytest.raises(MarginRankError, match=message) as caught:
        fitted(STRAIGHT, **settings)
    assert "\n" not in str(caught.value)
