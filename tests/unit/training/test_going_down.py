"""Default grids are gone down only as far as it pays: a limit on passes that holds, and words about it."""

import numpy as np
import pytest
from scipy import sparse

from marginrank import KernelRankSVM, RankRLS, RankSVM, StructuredRankSVM, write_dataset
from marginrank.data import RankingData
from marginrank.datasets import make_ranking
from marginrank.training.search_ends import SEARCH_ENDS

RANKERS = {
    "hinge": RankSVM,
    "squared hinge": lambda **p: RankSVM("squared_hinge", **p),
    "logistic": lambda **p: RankSVM("logistic", **p),
    "least squares": lambda **p: RankRLS(solver="cg", **p),
    "kernel": lambda **p: KernelRankSVM(n_components=20, random_state=0, **p),
    "structured": lambda **p: StructuredRankSVM("map", relevance=1, metric="pairwise_error", **p),
}
every_ranker = pytest.mark.parametrize("make", RANKERS.values(), ids=RANKERS)


def text_like(seed, n_rows=150, n_words=1500):
    """More words than rows: the smaller alpha, the more passes a fit takes."""
    rng = np.random.default_rng(seed)
    X = sparse.random(n_rows, n_words, density=0.03, random_state=rng, format="csr")
    return RankingData(X, np.digitize(np.asarray(X[:, :30].sum(axis=1))[:, 0], [0.2, 0.6]))


def ranking(seed, **more):
    X, y, qid = make_ranking(n_queries=40, rows_per_query=10, n_features=30, random_state=seed, **more)
    return RankingData(X, y, qid=qid)


DATA = {
    "text": (text_like(0), text_like(1)),
    "rows": (ranking(0), ranking(1)),
    "noise": (ranking(0, noise=20.0), ranking(1, noise=20.0)),
}


# A validation set of one ranking has no standard error.
SEARCHES = [
    (kind, by_folds, rule)
    for kind in DATA
    for by_folds in (False, True)
    for rule in ("best", "one_se")
    if by_folds or rule == "best" or kind != "text"
]


@every_ranker
@pytest.mark.parametrize(("kind", "by_folds", "rule"), SEARCHES)
def test_a_search_takes_at_most_ten_fits_at_the_chosen_alpha_for_each_fold(make, kind, by_folds, rule):
    train, held = DATA[kind]
    auto = make(alpha="auto", cv=3, rule=rule).fit(train, eval_set=None if by_folds else held)
    alone = make(alpha=auto.alpha_).fit(train)
    assert auto.n_passes_ <= 10 * alone.n_passes_ * (3 if by_folds else 1)
    assert auto.search_end_ in SEARCH_ENDS
    last_fit = auto.history_[-1].iteration
    assert auto.n_iter_ > last_fit if by_folds else auto.n_iter_ >= last_fit  # those of the search count


@pytest.mark.parametrize("name", [name for name in RANKERS if name != "least squares"])
@pytest.mark.parametrize("by_folds", [False, True])
def test_the_model_is_that_of_a_fit_at_the_chosen_alpha_to_the_bit(name, by_folds):
    train, held = DATA["rows"]
    auto = RANKERS[name](alpha="auto", cv=3).fit(train, eval_set=None if by_folds else held)
    alone = RANKERS[name](alpha=auto.alpha_).fit(train)
    np.testing.assert_array_equal(auto.predict(train.X), alone.predict(train.X))


@pytest.mark.filterwarnings("ignore::marginrank.exceptions.ZeroModelWarning")
def test_the_first_fit_that_leaves_features_in_is_measured_where_no_passes_are_left_for_a_step():
    train, held = (
        RankingData(X, y, qid=qid)
        for X, y, qid in (
            make_ranking(n_queries=20, rows_per_query=40, n_features=10, noise=20.0, random_state=seed)
            for seed in (1, 51)
        )
    )
    settings = {"target": {"map": 1.0, "mrr@3": 1.0}, "truncate": True, "relevance": 1}
    auto = StructuredRankSVM(alpha="auto", **settings).fit(train, eval_set=held)
    alone = StructuredRankSVM(alpha=auto.alpha_, **settings).fit(train)
    assert auto.n_passes_ <= 10 * alone.n_passes_
    np.testing.assert_array_equal(auto.coef_, alone.coef_)


def wanted_by_one_se(ranker):
    curve, within = ranker.validation_curve_, 0.5 * ranker.validation_diff_std_
    at_best = curve[within == 0.0][0]
    return ranker.alphas_[curve <= at_best + within].max()


def test_the_careful_rule_takes_a_larger_alpha_where_the_curve_is_flat():
    train = ranking(2, noise=5.0)
    settings = {"loss": "squared_hinge", "alpha": "auto", "cv": 3}
    best, careful = (RankSVM(**settings, rule=rule).fit(train) for rule in ("best", "one_se"))
    assert careful.alpha_ > best.alpha_
    assert careful.alpha_ == wanted_by_one_se(careful)
    assert careful.gap_ <= careful.tol


def test_where_the_careful_rule_asks_for_too_cheap_a_fit_the_choice_is_cut():
    train, _ = DATA["text"]
    careful = RankSVM(alpha="auto", cv=3, rule="one_se").fit(train)
    wanted = wanted_by_one_se(careful)
    assert careful.n_passes_ > 30 * RankSVM(alpha=wanted).fit(train).n_passes_
    assert careful.alpha_ < wanted
    assert careful.search_end_ == "passes"


def test_what_is_cut_for_passes_is_said():
    train, held = DATA["text"]
    auto = RankSVM(alpha="auto").fit(train, eval_set=held)
    assert auto.search_end_ == "passes"
    assert len(auto.validation_curve_) == len(auto.alphas_)
    assert auto.gap_ <= auto.tol


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge", "logistic"])
def test_every_half_decade_below_the_first_decade_is_solved(loss):
    train, held = DATA["rows"]
    solved = set()
    auto = RankSVM(loss, alpha="auto").fit(
        train, eval_set=held, callbacks=lambda progress: solved.add(progress.alpha)
    )
    ratios = 10.0 ** np.arange(1, 5, 0.5)
    wanted = [a for a in auto.alphas_[0] / ratios if a >= auto.alphas_[-1] * 0.99]
    assert len(wanted) > 1
    for alpha in wanted:
        assert any(np.isclose(alpha, one, rtol=1e-2) for one in solved)


def test_kernels_with_least_squares_go_down_by_decades():
    # A fit takes one iteration at any alpha: ten fits are ten alphas, and what pays here lies far down.
    rng = np.random.default_rng(0)
    X, qid = rng.random((300, 3)), rng.integers(20, size=300)
    y, solved = np.sin(6 * X[:, 0]) + X[:, 1], []
    ranker = KernelRankSVM(loss="least_squares", alpha="auto", n_components=300, random_state=0, cv=3)
    ranker.fit(X, y, qid=qid, callbacks=lambda progress: solved.append(progress.alpha))
    assert ranker.alpha_ <= 1e-3 * ranker.alphas_[0]
    decades = [alpha for alpha in ranker.alphas_[::16] if np.isclose(alpha, solved, rtol=1e-2).any()]
    assert len(decades) == len(ranker.alphas_[::16])


def test_queries_that_cannot_tell_let_a_search_go_on(monkeypatch):
    train, held = DATA["noise"]
    monkeypatch.setattr("marginrank.training.going_down._SINCE_BEST", 1.0)
    going_on = RankSVM(alpha="auto", metric="ndcg@10").fit(train, eval_set=held)
    monkeypatch.setattr(
        "marginrank.training.going_down.told_worse", lambda search, parts, best: [True] * len(parts.values.T)
    )
    stopped = RankSVM(alpha="auto", metric="ndcg@10").fit(train, eval_set=held)
    assert going_on.alphas_[-1] < stopped.alphas_[-1]
    assert stopped.search_end_ == "passes"


def test_your_own_alphas_are_all_measured():
    train, held = DATA["rows"]
    alphas = np.geomspace(1e3, 1e-6, 10)
    auto = RankSVM(alpha="auto", alphas=alphas).fit(train, eval_set=held)
    np.testing.assert_array_equal(auto.alphas_, alphas)
    assert auto.search_end_ == "grid"


@pytest.mark.parametrize("by_folds", [False, True])
def test_rows_on_disk_choose_the_alpha_of_rows_in_memory(tmp_path, by_folds):
    # They are added up in another order, so that fits agree within their gaps only, and gaps decide between
    # alphas that measure nearly the same: models that are nearly exact measure alike.
    exactly = {"alpha": "auto", "alphas": np.geomspace(100.0, 1e-4, 13), "tol": 1e-10}
    for kind in ("rows", "noise"):
        train, held = DATA[kind]
        on_disk = write_dataset(tmp_path / f"{kind}.mrd", train, chunk_rows=100)
        given = {} if by_folds else {"eval_set": held}
        one, two = (RankSVM("squared_hinge", **exactly).fit(data, **given) for data in (train, on_disk))
        assert one.alpha_ == two.alpha_
        np.testing.assert_allclose(one.validation_curve_, two.validation_curve_, rtol=1e-12)


@pytest.mark.parametrize("rule", ["best", "one_se"])
@pytest.mark.parametrize("kind", ["rows", "noise"])
def test_least_squares_choose_the_same_alpha_from_disk_by_default(tmp_path, kind, rule):
    train, _ = DATA[kind]
    on_disk = write_dataset(tmp_path / "train.mrd", train, chunk_rows=100)
    one, two = (RankRLS(alpha="auto", rule=rule).fit(data) for data in (train, on_disk))
    assert (one.solver_, two.solver_) == ("direct", "cg")
    assert one.alpha_ == two.alpha_
    n = min(len(one.alphas_), len(two.alphas_))  # smaller alphas may come along
    np.testing.assert_array_equal(one.alphas_[:n], two.alphas_[:n])


def test_folds_are_stepped_together_with_little_memory(monkeypatch):
    train, _ = DATA["rows"]
    one = RankSVM(alpha="auto", cv=3).fit(train)
    monkeypatch.setattr("marginrank.training.fold_blocks.physical_memory", lambda: 1)
    two = RankSVM(alpha="auto", cv=3).fit(train)  # planes are let go of after each step
    assert two.best_score_ == pytest.approx(one.best_score_, abs=0.02)
    assert two.gap_ <= two.tol
