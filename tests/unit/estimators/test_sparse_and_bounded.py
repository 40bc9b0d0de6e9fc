"""Elastic net and bounds of RankSVM: the optimum of an independent solver, exact zeros, units, warnings."""

import numpy as np
import pandas as pd
import pytest
from ranking_cases import ranking_case
from scipy import sparse

from marginrank import RankingData, RankRLS, RankSVM, write_dataset
from marginrank.designs.compared import column_scale
from marginrank.exceptions import IncompatibleSolverError, MarginRankError, ZeroModelWarning
from penalized_oracle import PenalizedPairs, box, pair_differences

LOSSES = ["hinge", "squared_hinge", "logistic"]
PENALTIES = {
    "elastic net": {"l1_ratio": 0.8},
    "not negative": {"bounds": (0, None)},
    "mixed": {"l1_ratio": 0.5, "bounds": {0: (0.3, 0.3), 1: (None, 0), 2: (-0.1, 0.2), 4: (0.1, None)}},
}
every_loss = pytest.mark.parametrize("loss", LOSSES)
every_penalty = pytest.mark.parametrize("penalty", PENALTIES.values(), ids=PENALTIES)


def oracle(loss, X, case, model, *, scale=None):
    """Return the problem of a model, in the units of columns divided by a scale."""
    unit = np.ones(X.shape[1]) if scale is None else scale
    low, high = box(model.bounds, X.shape[1])
    differences = pair_differences(X / unit, case.y, case.qid)[0]
    return PenalizedPairs(loss, differences, model.alpha, model.l1_ratio, low * unit, high * unit)


@every_loss
@every_penalty
@pytest.mark.parametrize("scale", [None, "standard"])
def test_the_model_is_as_good_as_that_of_an_independent_solver(loss, penalty, scale):
    case = ranking_case(60)
    X = case.X * [1.0, 3.0, 0.5, 1.0, 2.0, 1.0]
    model = RankSVM(loss, alpha=0.05, scale=scale, tol=1e-5, **penalty).fit(X, case.y, qid=case.qid)
    unit = np.ones(6) if scale is None else column_scale(X, scale)
    problem = oracle(loss, X, case, model, scale=unit)
    best = problem.value(problem.optimum())
    assert model.gap_ <= 1e-5
    assert problem.value(model.coef_ * unit) == pytest.approx(model.objective_, rel=1e-12)
    assert model.lower_bound_ <= best
    assert best <= model.objective_ * (1.0 + 1e-7)  # the other solver stops, too
    if loss == "hinge":
        assert problem.proved == pytest.approx(best, rel=1e-6)
    low, high = box(model.bounds, 6)
    assert np.all((low <= model.coef_) & (model.coef_ <= high))


@every_loss
def test_solvers_agree_within_their_gaps(loss):
    case = ranking_case()
    fits = [
        RankSVM(loss, alpha=0.02, l1_ratio=0.7, bounds=(-0.4, None), solver=solver, tol=1e-4).fit(
            case.X, case.y, qid=case.qid
        )
        for solver in ("lbfgs", "bundle")
    ]
    for one, other in (fits, fits[::-1]):
        assert one.lower_bound_ <= other.objective_
        assert one.gap_ <= 1e-4


def test_l1_leaves_features_out_that_mean_nothing():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(2000, 30))
    y, qid = X[:, :3] @ [2.0, -1.0, 1.0] + rng.normal(size=2000), rng.integers(80, size=2000)
    model = RankSVM(alpha=0.1, l1_ratio=0.9, tol=1e-4).fit(X, y, qid=qid)
    assert np.flatnonzero(model.coef_).tolist() == [0, 1, 2]
    assert model.n_features_used_ == 3
    assert RankSVM(alpha=0.1).fit(X, y, qid=qid).n_features_used_ == 30


def test_pairs_take_the_same_penalties():
    case = ranking_case(60)
    differences, better, worse = pair_differences(case.X, case.y, case.qid)
    options = {"alpha": 0.05, "l1_ratio": 0.6, "bounds": {3: (0, None)}, "tol": 1e-5}
    by_pairs = RankSVM(**options).fit_pairs(case.X, np.column_stack([better, worse]))
    by_rows = RankSVM(**options).fit(case.X, case.y, qid=case.qid)
    assert by_pairs.lower_bound_ <= by_rows.objective_ * (1.0 + 1e-12)
    assert by_rows.lower_bound_ <= by_pairs.objective_ * (1.0 + 1e-12)
    assert len(differences) == by_pairs.n_pairs_


@pytest.mark.parametrize("csr", [False, True], ids=["dense", "csr"])
def test_rows_on_disk_give_the_model_of_those_in_memory(csr, tmp_path):
    case = ranking_case(300, n_queries=70)
    X = sparse.csr_matrix(case.X) if csr else case.X
    model = RankSVM(alpha=0.02, l1_ratio=0.5, bounds={1: (0, None), 2: (0.5, 0.5)}, tol=1e-4)
    data = RankingData(X, case.y, qid=case.qid)
    here = RankSVM(**model.get_params()).fit(data)
    stored = model.fit(write_dataset(tmp_path / "rows.mrd", data, chunk_rows=64))
    assert stored.gap_ <= 1e-4
    assert stored.lower_bound_ <= here.objective_ * (1.0 + 1e-12)
    assert here.lower_bound_ <= stored.objective_ * (1.0 + 1e-12)
    assert stored.coef_[2] == 0.5


def test_features_are_bounded_by_name():
    case = ranking_case(n_features=3)
    frame = pd.DataFrame(case.X, columns=["bm25", "clicks", "price"])
    named = RankSVM(bounds={"clicks": (0, None), "bm25": (1, 1)}).fit(frame, case.y, qid=case.qid)
    numbered = RankSVM(bounds={1: (0, None), 0: (1, 1)}).fit(case.X, case.y, qid=case.qid)
    np.testing.assert_array_equal(named.coef_, numbered.coef_)
    assert named.coef_[0] == 1.0
    model = named.to_model()
    assert model.metadata["parameters"]["bounds"] == {"clicks": [0, None], "bm25": [1, 1]}


def test_fixed_weights_keep_their_raw_value_whatever_the_scale():
    case = ranking_case()
    X = case.X * [1.0, 1e3, 1e-3, 7.0, 1.0, 1.0]
    for scale in (None, "standard", "minmax"):
        model = RankSVM(scale=scale, alpha=0.1, bounds={1: (0.1, 0.1), 2: (-3, -3)}).fit(
            X, case.y, qid=case.qid
        )
        assert model.coef_[1:3].tolist() == [0.1, -3.0]


def test_a_constant_column_stays_within_its_bounds():
    case = ranking_case()
    X = np.column_stack([case.X, np.full(len(case.X), 4.0)])
    model = RankSVM(bounds={6: (0.5, 2.0)}, alpha=0.1).fit(X, case.y, qid=case.qid)
    assert model.coef_[6] == 0.5
    assert model.gap_ <= 1e-3


def test_no_l1_and_no_limits_give_the_bits_of_the_plain_ranker():
    case = ranking_case()
    plain = RankSVM().fit(case.X, case.y, qid=case.qid)
    same = RankSVM(l1_ratio=0, bounds=(None, None)).fit(case.X, case.y, qid=case.qid)
    np.testing.assert_array_equal(plain.coef_, same.coef_)
    assert plain.history_[-1].bound == same.history_[-1].bound


def test_bits_do_not_depend_on_the_number_of_threads():
    case = ranking_case(600, n_queries=80)
    options = {"l1_ratio": 0.5, "bounds": (0, None), "alpha": 0.01}
    one, two = (RankSVM(**options, n_jobs=n).fit(case.X, case.y, qid=case.qid) for n in (1, 2))
    np.testing.assert_array_equal(one.coef_, two.coef_)


@every_loss
def test_a_penalty_that_leaves_no_feature_names_the_alpha_at_which_one_enters(loss):
    case = ranking_case()
    fit = {"X": case.X, "y": case.y, "qid": case.qid}
    with pytest.warns(ZeroModelWarning, match=r"No feature is left at alpha=100 with l1_ratio=0\.5") as said:
        model = RankSVM(loss, alpha=100.0, l1_ratio=0.5).fit(**fit)
    assert model.n_features_used_ == 0
    assert not model.coef_.any()
    first = float(str(said[0].message).split("below ")[1].split(". Use")[0])
    assert RankSVM(loss, alpha=0.99 * first, l1_ratio=0.5, tol=1e-9).fit(**fit).n_features_used_ == 1
    with pytest.warns(ZeroModelWarning):
        assert RankSVM(loss, alpha=1.01 * first, l1_ratio=0.5, tol=1e-9).fit(**fit).n_features_used_ == 0


def test_bounds_against_every_feature_are_named_where_l1_leaves_none():
    X = np.arange(12.0).reshape(6, 2)
    with pytest.warns(ZeroModelWarning, match="at any alpha: the bounds allow none of the weights"):
        model = RankSVM(alpha=0.1, l1_ratio=0.5, bounds=(None, 0)).fit(X, np.arange(6))
    assert not model.coef_.any()
    same = np.array([[1.0, 2.0], [1.0, 2.0]])
    with pytest.warns(ZeroModelWarning, match="at any alpha: the features pull in no direction"):
        RankSVM(alpha=0.1, l1_ratio=0.5).fit(same, [0, 1])


def test_auto_alpha_searches_below_the_alpha_of_the_first_feature(recwarn):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 10))
    y, qid = X[:, 0] - X[:, 1] + 0.5 * rng.normal(size=400), rng.integers(20, size=400)
    model = RankSVM(alpha="auto", l1_ratio=0.9, cv=3).fit(X, y, qid=qid)
    np.testing.assert_allclose(model.alphas_[:-1] / model.alphas_[1:], 10.0**0.25, rtol=1e-2)
    assert model.coef_.any()
    assert model.gap_ <= 1e-3
    with pytest.warns(ZeroModelWarning):
        RankSVM(alpha=1.02 * model.alphas_[0], l1_ratio=0.9).fit(X, y, qid=qid)
    on_set = RankSVM(alpha="auto", l1_ratio=0.9, bounds=(0, None)).fit(
        X, y, qid=qid, eval_set=(X, y), eval_qid=qid
    )
    assert on_set.coef_.min() >= 0.0
    assert on_set.coef_[1] == 0.0


def test_warm_starts_are_made_to_fit_the_bounds():
    case = ranking_case()
    model = RankSVM(warm_start=True, alpha=0.01).fit(case.X, case.y, qid=case.qid)
    model.set_params(bounds=(0, 0.1)).fit(case.X, case.y, qid=case.qid)
    assert np.all((model.coef_ >= 0.0) & (model.coef_ <= 0.1))
    assert model.gap_ <= 1e-3


@pytest.mark.parametrize(
    ("bounds", "sentence"),
    [
        ({0: (2, 1)}, "The lower one of the bounds of 0 must not exceed the upper one; got 2 and 1."),
        ((1, -1), "The lower one of the bounds must not exceed the upper one; got 1 and -1."),
        ((0, 0), "bounds fix every weight, so there is nothing to learn. Leave one of them free at least."),
        ({9: (0, 1)}, "bounds must name columns from 0 to 5; got 9."),
        ({"clicks": (0, 1)}, "bounds name the feature 'clicks', but the columns have no names."),
        ({0.5: (0, 1)}, "bounds must name features, or number columns from 0; got 0.5."),
        ((0,), "bounds must be a pair"),
        ({0: "x"}, "bounds must be a pair"),
        ((float("nan"), 1), "bounds must be a pair"),
        ((float("inf"), None), "The lower one of the bounds must not exceed the upper one; got inf and inf."),
    ],
)
def test_bounds_that_cannot_be_met_are_refused_in_a_sentence(bounds, sentence):
    case = ranking_case()
    with pytest.raises(MarginRankError) as refused:
        RankSVM(bounds=bounds).fit(case.X, case.y, qid=case.qid)
    assert str(refused.value).startswith(sentence)


def test_a_name_that_is_nearly_one_is_asked_about():
    case = ranking_case(n_features=2)
    frame = pd.DataFrame(case.X, columns=["bm25", "clicks"])
    with pytest.raises(
        MarginRankError, match=r"bounds name 'click', which is no feature\. Did you mean 'clicks'\?"
    ):
        RankSVM(bounds={"click": (0, None)}).fit(frame, case.y, qid=case.qid)


@pytest.mark.parametrize("l1_ratio", [-0.1, 1.0, 1, None, "0.5", float("nan")])
def test_a_share_of_l1_that_cannot_be_is_refused(l1_ratio):
    case = ranking_case()
    with pytest.raises(MarginRankError, match="l1_ratio must be at least 0 and below 1"):
        RankSVM(l1_ratio=l1_ratio).fit(case.X, case.y, qid=case.qid)


def test_newton_refuses_kinks():
    case = ranking_case()
    with pytest.raises(IncompatibleSolverError, match="a gradient, which 'elastic_net' does not have"):
        RankSVM("squared_hinge", solver="newton", l1_ratio=0.5).fit(case.X, case.y, qid=case.qid)


def test_least_squares_continue_from_the_last_fit():
    rng = np.random.default_rng(11)
    X, qid = rng.standard_normal((300, 12)), np.repeat(np.arange(30), 10)
    y = X[:, :4].sum(axis=1) + rng.standard_normal(300)
    ranker = RankRLS(alpha=1e-2, l1_ratio=0.5, bounds=(-0.5, 0.5), tol=1e-6, warm_start=True)
    cold = ranker.fit(X, y, qid=qid).n_iter_
    again = ranker.fit(X, y, qid=qid)
    assert cold > 0
    assert again.n_iter_ == 0
    assert again.gap_ <= 1e-6
    # A model of several targets, from linear systems, is no start for one.
    both = RankRLS(warm_start=True).fit(X, np.column_stack([y, -y]), qid=qid)
    assert both.set_params(bounds=(0, None)).fit(X, y, qid=qid).gap_ <= 1e-3
    # Without the penalty nothing of the last fit is left.
    plain = RankRLS(warm_start=True, solver="cg")
    first = plain.fit(X, y, qid=qid).coef_
    np.testing.assert_array_equal(plain.fit(X, y, qid=qid).coef_, first)
