"""Scores of another ranker that are added before the loss: of every loss, in every kind of pass."""

import pickle

import numpy as np
import pandas as pd
import pytest
from ranking_cases import ranking_case
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning

from brute_force import random_view
from marginrank import KernelRankSVM, RankingData, RankSVM, StructuredRankSVM, write_dataset
from marginrank.designs import MatrixDesign
from marginrank.exceptions import MarginRankError
from marginrank.losses import QUERY_LOSSES, ComparesPairs
from marginrank.losses.offset import with_offset
from marginrank.losses.structured import STRUCTURED_TARGETS, TargetOptions
from marginrank.metrics import pairwise_error
from penalized_oracle import PenalizedPairs, box, pair_differences

LOSSES = list(QUERY_LOSSES)


def loss_with_offset(name, sizes):
    rng = np.random.default_rng(0)
    view = random_view(rng, sizes)
    inner = QUERY_LOSSES[name](view, weighting="pairs", n_threads=1)
    return with_offset(inner, rng.normal(size=len(view.y))), rng


@pytest.mark.parametrize("name", LOSSES)
@pytest.mark.parametrize("sizes", [[12] * 70, [330, 40, 1, 60]], ids=["fused", "split"])
def test_a_pass_over_x_adds_the_offset(name, sizes):
    loss, rng = loss_with_offset(name, sizes)
    X, w, v = rng.normal(size=(loss.n_rows, 5)), rng.normal(size=5), rng.normal(size=5)
    design = MatrixDesign(X, n_threads=2)
    found, expected = design.evaluate(w, loss), loss.inner.at(design.scores(w) + loss.offset)
    assert design.fuses(loss) == (len(sizes) == 70)
    assert found.value == pytest.approx(expected.value, rel=1e-13)
    np.testing.assert_array_equal(found.scores, design.scores(w))
    np.testing.assert_allclose(found.score_gradient, expected.gradient, rtol=1e-12, atol=1e-15)
    if loss.smooth:
        product = X.T @ loss.inner.hvp(design.scores(w) + loss.offset, X @ v)
        np.testing.assert_allclose(design.hvp(w, v, loss, found.scores), product, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("name", LOSSES)
def test_pairs_are_counted_as_without_it(name):
    loss, _ = loss_with_offset(name, [5, 9, 3, 20])
    assert isinstance(loss, ComparesPairs)
    assert loss.n_pairs == loss.inner.n_pairs
    assert isinstance(loss.part(1, 3), ComparesPairs)


@pytest.mark.parametrize("name", LOSSES)
def test_parts_add_up_and_can_be_sent(name):
    loss, rng = loss_with_offset(name, [5, 9, 3, 20])
    scores = rng.normal(size=loss.n_rows)
    ends, total = loss.query_ptr, 0.0
    for first, last in ((0, 2), (2, 4)):
        part = pickle.loads(pickle.dumps(loss.part(first, last)))
        total += part.at(scores[ends[first] : ends[last]]).value
    assert total == pytest.approx(loss.at(scores).value, rel=1e-13)


@pytest.mark.parametrize(("target", "feature_map"), STRUCTURED_TARGETS)
def test_the_compiled_structured_losses_add_it_too(target, feature_map):
    rng = np.random.default_rng(0)
    view = random_view(rng, [6, 9, 4])
    view = view._replace(y=np.minimum(np.abs(np.round(view.y)), 3.0), sample_weight=None)
    inner = STRUCTURED_TARGETS[target, feature_map](view, TargetOptions(), n_threads=1)
    loss = with_offset(inner, rng.normal(size=len(view.y)))
    assert not isinstance(loss, ComparesPairs)
    scores, gradient = rng.normal(size=loss.n_rows), np.empty(loss.n_rows)
    value = loss.compiled.evaluate(scores, gradient, 1)
    assert value == loss.at(scores).value
    np.testing.assert_array_equal(gradient, loss.at(scores).gradient)


@pytest.mark.parametrize("name", LOSSES)
@pytest.mark.parametrize("queries", [12, 70], ids=["split", "fused"])
def test_the_model_is_as_good_as_that_of_an_independent_solver(name, queries):
    case = ranking_case(140, n_queries=queries)
    offset = case.X[:, 0] + np.random.default_rng(1).normal(size=140)
    model = RankSVM(name, alpha=0.05, l1_ratio=0.5, bounds=(0, None), tol=1e-5, scale=None)
    model.fit(case.X, case.y, qid=case.qid, offset=offset)
    differences, better, worse = pair_differences(case.X, case.y, case.qid)
    lead = offset[better] - offset[worse]
    problem = PenalizedPairs(name, differences, 0.05, 0.5, *box((0, None), 6), lead=lead)
    assert model.gap_ <= 1e-5
    assert problem.value(model.coef_) == pytest.approx(model.objective_, rel=1e-12)
    best = problem.value(problem.optimum())
    assert model.lower_bound_ <= best * (1.0 + 1e-12)
    if name == "hinge":  # its dual proves, and is not as good at weights
        assert problem.proved <= model.objective_
        best = problem.proved
    assert best == pytest.approx(model.objective_, rel=2e-5)
    by_pairs = RankSVM(**model.get_params()).fit_pairs(
        case.X, np.column_stack([better, worse]), offset=offset, margin=None if name != "logistic" else 0.0
    )
    assert by_pairs.lower_bound_ <= model.objective_ * (1.0 + 1e-12)
    assert model.lower_bound_ <= by_pairs.objective_ * (1.0 + 1e-12)


@pytest.mark.parametrize("csr", [False, True], ids=["dense", "csr"])
def test_rows_on_disk_take_an_offset(csr, tmp_path):
    case = ranking_case(300)
    offset = np.random.default_rng(1).normal(size=300)
    qid = np.arange(300) // 4  # rows are stored query by query
    data = RankingData(sparse.csr_matrix(case.X) if csr else case.X, case.y, qid=qid)
    stored = write_dataset(tmp_path / "rows.mrd", data, chunk_rows=64)
    one, other = (RankSVM(alpha=0.01, tol=1e-4).fit(rows, offset=offset) for rows in (data, stored))
    assert one.lower_bound_ <= other.objective_ * (1.0 + 1e-12)
    assert other.lower_bound_ <= one.objective_ * (1.0 + 1e-12)
    assert one.objective_ != pytest.approx(RankSVM(alpha=0.01).fit(data).objective_, rel=1e-2)


def test_an_offset_of_zeros_changes_nothing():
    case = ranking_case()
    fit = {"X": case.X, "y": case.y, "qid": case.qid}
    for ranker in (
        RankSVM(),
        StructuredRankSVM("map", relevance=2.0),
        KernelRankSVM(n_components=5, random_state=0),
    ):
        plain = ranker.fit(**fit).coef_
        added = ranker.fit(**fit, offset=np.zeros(200)).coef_
        np.testing.assert_allclose(added, plain, rtol=1e-9, atol=1e-12)


def test_the_offset_may_be_a_column_which_predict_leaves_out():
    case = ranking_case(n_features=3)
    offset = np.random.default_rng(1).normal(size=200)
    frame = pd.DataFrame(case.X, columns=["a", "b", "c"])
    by_array = RankSVM().fit(frame, case.y, qid=case.qid, offset=offset)
    named = frame.assign(base=offset)
    by_name = RankSVM().fit(named, case.y, qid=case.qid, offset="base")
    np.testing.assert_array_equal(by_name.coef_, by_array.coef_)
    np.testing.assert_array_equal(by_name.predict(named), by_array.predict(frame))


def test_validation_figures_are_those_of_the_sum():
    case = ranking_case()
    offset = np.random.default_rng(1).normal(size=200)
    rows = {"X": case.X, "y": case.y, "qid": case.qid, "offset": offset}
    watched = {"eval_set": (case.X, case.y), "eval_qid": case.qid, "eval_offset": offset}
    model = RankSVM(alpha=0.1, metric="pairwise_error").fit(**rows, **watched)
    expected = pairwise_error(case.y, model.predict(case.X) + offset, qid=case.qid)
    assert model.evals_result_["validation_0"]["pairwise_error"][-1] == pytest.approx(expected, rel=1e-12)
    chosen = RankSVM(alpha="auto", alphas=[1.0, 0.1, 0.01], metric="pairwise_error").fit(**rows, **watched)
    expected = pairwise_error(case.y, chosen.predict(case.X) + offset, qid=case.qid)
    assert chosen.best_score_ == pytest.approx(expected, rel=1e-12)


def test_folds_measure_the_sum():
    """Where the offset knows all and the features nothing, every alpha is nearly free of errors."""
    rng = np.random.default_rng(0)
    X, y, qid = rng.normal(size=(300, 3)), rng.normal(size=300), rng.integers(20, size=300)
    known = RankSVM(alpha="auto", alphas=[10.0, 1.0], cv=3).fit(X, y, qid=qid, offset=100.0 * y)
    assert known.validation_curve_.max() < 0.01
    better, worse = pair_differences(X, y, qid)[1:]
    paired = RankSVM(alpha="auto", alphas=[10.0, 1.0], cv=3)
    paired.fit_pairs(X, np.column_stack([better, worse]), offset=100.0 * y)
    assert paired.validation_curve_.max() < 0.01


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({"offset": [1.0, 2.0]}, "offset must have one entry per row"),
        ({"offset": [np.nan] * 200}, "offset contains NaN"),
        ({"eval_offset": [1.0] * 200}, "eval_offset describes eval_set"),
    ],
)
def test_wrong_offsets_are_refused_in_a_sentence(given, sentence):
    case = ranking_case()
    with pytest.raises(MarginRankError, match=sentence):
        RankSVM().fit(case.X, case.y, qid=case.qid, **given)


def test_least_squares_of_a_kernel_says_what_to_do():
    case = ranking_case()
    with pytest.raises(MarginRankError, match=r"offset is not for loss='least_squares'.*Subtract it from y"):
        KernelRankSVM(loss="least_squares").fit(case.X, case.y, qid=case.qid, offset=np.zeros(200))


@pytest.mark.parametrize("size", [10.0, 1e6])
def test_an_offset_that_orders_every_row_is_said_to_leave_nothing(size):
    case = ranking_case(n_levels=3)
    with pytest.warns(ConvergenceWarning, match="nothing to learn: what the offset alone loses is at most"):
        model = RankSVM().fit(case.X, case.y, qid=case.qid, offset=size * np.asarray(case.y))
    assert not model.coef_.any()
    assert model.objective_ < 1e-15 * size * len(case.y)
