"""Elastic net, bounds and offsets of RankRLS: independent solvers, every place of the rows, refusals."""

import numpy as np
import pandas as pd
import pytest
from ranking_cases import ranking_case
from scipy import optimize, sparse

from marginrank import RankingData, RankRLS, write_dataset
from marginrank.designs.compared import column_scale
from marginrank.exceptions import IncompatibleSolverError, MarginRankError, ZeroModelWarning
from marginrank.metrics import evaluate

PENALTIES = {
    "elastic net": {"l1_ratio": 0.8},
    "not negative": {"bounds": (0, None)},
    "mixed": {"l1_ratio": 0.5, "bounds": {0: (0.3, 0.3), 1: (None, 0), 2: (-0.1, 0.2), 4: (0.1, None)}},
}
every_penalty = pytest.mark.parametrize("penalty", PENALTIES.values(), ids=PENALTIES)


def centred(values, qid):
    """Return rows less the mean of their query."""
    found = np.array(values, dtype=float)
    for query in np.unique(qid):
        found[qid == query] -= found[qid == query].mean(axis=0)
    return found


def box(bounds, n):
    low, high = np.full(n, -np.inf), np.full(n, np.inf)
    pairs = bounds if isinstance(bounds, dict) else dict.fromkeys(range(n), bounds or (None, None))
    for j, (least, most) in pairs.items():
        low[j], high[j] = -np.inf if least is None else least, np.inf if most is None else most
    return low, high


def value_at(w, X, y, alpha, l1_ratio, low, high):
    """The objective over centred rows, written out; what is fixed is not penalised."""
    free = w[low < high]
    penalty = l1_ratio * np.abs(free).sum() + 0.5 * (1 - l1_ratio) * free @ free
    return np.mean((X @ w - y) ** 2) + alpha * penalty


def optimum(X, y, alpha, l1_ratio, low, high):
    """L-BFGS-B over the positive and the negative part of each weight, from centred rows."""
    n, free = X.shape[1], (low < high).astype(float)
    both = np.concatenate([free, free])

    def objective(parts):
        w = parts[:n] - parts[n:]
        slope = 2 * X.T @ (X @ w - y) / len(y) + alpha * (1 - l1_ratio) * free * w
        # Both parts together count as L1; at the minimum one of them is 0, or as near to it as the box lets.
        penalty = l1_ratio * both @ parts + 0.5 * (1 - l1_ratio) * (free * w) @ w
        value = np.mean((X @ w - y) ** 2) + alpha * penalty
        return value, np.concatenate([slope, -slope]) + alpha * l1_ratio * both

    limits = [(max(a, 0), max(b, 0)) for a, b in zip(low, high, strict=True)]
    limits += [(max(-b, 0), max(-a, 0)) for a, b in zip(low, high, strict=True)]
    options = {"maxiter": 20_000, "maxfun": 50_000, "ftol": 1e-16, "gtol": 1e-12}
    start = np.array([np.clip(0.0, *pair) for pair in limits])
    found = optimize.minimize(objective, start, jac=True, method="L-BFGS-B", bounds=limits, options=options)
    return found.x[:n] - found.x[n:]


@every_penalty
@pytest.mark.parametrize("scale", [None, "standard"])
@pytest.mark.parametrize("queries", [True, False])
def test_the_model_is_as_good_as_that_of_l_bfgs_b(penalty, scale, queries):
    case = ranking_case(60)
    qid = case.qid if queries else np.zeros(60)
    X = case.X * [1.0, 3.0, 0.5, 1.0, 2.0, 1.0]
    unit = np.ones(6) if scale is None else column_scale(X, scale)
    model = RankRLS(0.05, scale=scale, tol=1e-6, **penalty).fit(X, case.y, qid=case.qid if queries else None)
    low, high = box(model.bounds, 6)
    problem = centred(X / unit, qid), centred(case.y, qid), 0.05, model.l1_ratio, low * unit, high * unit
    best = value_at(optimum(*problem), *problem)
    assert model.gap_ <= 1e-6
    assert value_at(model.coef_ * unit, *problem) == pytest.approx(model.objective_, rel=1e-12)
    assert model.lower_bound_ <= best * (1 + 1e-12)
    assert best <= model.objective_ * (1.0 + 1e-9)  # the other solver stops, too
    assert np.all((low <= model.coef_) & (model.coef_ <= high))
    assert model.solver_ == "lbfgs"


@pytest.mark.parametrize("queries", [True, False])
def test_weights_that_are_not_negative_are_those_of_nnls_on_centred_rows(queries):
    case = ranking_case(80)
    qid = case.qid if queries else np.zeros(80)
    alpha, n = 1e-3, case.X.shape[1]
    model = RankRLS(alpha, bounds=(0, None), tol=1e-9, scale=None)
    model.fit(case.X, case.y, qid=case.qid if queries else None)
    # The penalty is a row of sqrt(alpha m / 2) for each column.
    A = np.vstack([centred(case.X, qid), np.sqrt(0.5 * alpha * len(qid)) * np.eye(n)])
    expected, _ = optimize.nnls(A, np.concatenate([centred(case.y, qid), np.zeros(n)]))
    np.testing.assert_allclose(model.coef_, expected, atol=1e-4)
    assert np.array_equal(model.coef_ == 0.0, expected == 0.0)
    assert (expected == 0.0).any()


def test_no_l1_and_no_limits_give_the_bits_of_the_plain_ranker():
    case = ranking_case()
    for solver in ("cg", "direct", "auto"):
        plain = RankRLS(1e-2, solver=solver).fit(case.X, case.y, qid=case.qid)
        same = RankRLS(1e-2, solver=solver, l1_ratio=0.0, bounds=(None, None))
        np.testing.assert_array_equal(same.fit(case.X, case.y, qid=case.qid).coef_, plain.coef_)


def test_l1_leaves_features_out_that_mean_nothing():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(2000, 30))
    y, qid = X[:, :3] @ [2.0, -1.0, 1.0] + rng.normal(size=2000), rng.integers(80, size=2000)
    model = RankRLS(0.3, l1_ratio=0.9, tol=1e-4).fit(X, y, qid=qid)
    assert np.flatnonzero(model.coef_).tolist() == [0, 1, 2]
    assert model.n_features_used_ == 3


@every_penalty
def test_all_pairs_of_one_ranking_give_the_model_of_its_rows(penalty):
    case = ranking_case(40)
    m = len(case.y)
    i, j = np.triu_indices(m, 1)
    up = case.y[i] >= case.y[j]
    pairs, apart = np.column_stack([np.where(up, i, j), np.where(up, j, i)]), np.abs(case.y[i] - case.y[j])
    rows = RankRLS(1e-2, tol=1e-7, scale=None, **penalty).fit(case.X, case.y)
    by_pairs = RankRLS(2 * m / (m - 1) * 1e-2, tol=1e-7, scale=None, **penalty)
    by_pairs.fit_pairs(case.X, pairs, magnitude=apart)
    np.testing.assert_allclose(by_pairs.coef_, rows.coef_, atol=1e-3)
    # The risk over pairs is 2 m / (m - 1) times that of the rows.
    assert by_pairs.objective_ == pytest.approx(2 * m / (m - 1) * rows.objective_, rel=1e-6)


@every_penalty
@pytest.mark.parametrize("csr", [False, True], ids=["dense", "csr"])
def test_rows_on_disk_give_the_model_of_those_in_memory(penalty, csr, tmp_path):
    case = ranking_case(300, n_queries=70)
    X = sparse.csr_matrix(case.X) if csr else case.X
    data = RankingData(X, case.y, qid=case.qid)
    here, there = (
        RankRLS(0.02, tol=1e-5, **penalty).fit(one)
        for one in (data, write_dataset(tmp_path / "rows.mrd", data, chunk_rows=64))
    )
    for one, other in ((here, there), (there, here)):
        assert one.gap_ <= 1e-5
        assert one.lower_bound_ <= other.objective_ * (1 + 1e-12)


@every_penalty
def test_auto_alpha_chooses_by_folds_or_on_a_set(penalty):
    case, other = ranking_case(200, n_queries=20), ranking_case(200, n_queries=20)
    for given in ({}, {"eval_set": (other.X, other.y), "eval_qid": other.qid}):
        model = RankRLS("auto", **penalty).fit(case.X, case.y, qid=case.qid, **given)
        assert model.gap_ <= 1e-3
        assert model.alpha_ in model.alphas_
        assert model.best_score_ < 0.5


def test_bits_do_not_depend_on_the_number_of_threads():
    case = ranking_case(300)
    fits = [
        RankRLS(0.02, l1_ratio=0.5, bounds={0: (0, None)}, n_jobs=k).fit(case.X, case.y, qid=case.qid)
        for k in (1, 2)
    ]
    np.testing.assert_array_equal(fits[0].coef_, fits[1].coef_)


def test_features_are_bounded_by_name():
    case = ranking_case(60)
    frame = pd.DataFrame(case.X, columns=[f"f{j}" for j in range(6)])
    model = RankRLS(1e-3, bounds={"f2": (0.5, 0.5)}, scale="standard").fit(frame, case.y, qid=case.qid)
    assert model.coef_[2] == 0.5
    model.to_model()  # bounds are written with it


def test_a_penalty_that_leaves_no_feature_names_the_alpha_at_which_one_enters():
    case = ranking_case(60)
    with pytest.warns(ZeroModelWarning, match="alpha"):
        RankRLS(1e6, l1_ratio=0.5).fit(case.X, case.y, qid=case.qid)


@pytest.mark.parametrize("solver", ["cg", "direct"])
@pytest.mark.parametrize("queries", [True, False])
def test_an_offset_is_what_is_subtracted_from_the_labels(solver, queries):
    case = ranking_case(60)
    qid, offset = case.qid if queries else None, np.random.default_rng(1).normal(size=60)
    model = RankRLS(1e-2, solver=solver, tol=1e-9).fit(case.X, case.y, qid=qid, offset=offset)
    less = RankRLS(1e-2, solver=solver, tol=1e-9).fit(case.X, case.y - offset, qid=qid)
    np.testing.assert_allclose(model.coef_, less.coef_, atol=1e-4)
    assert model.objective_ == pytest.approx(less.objective_, rel=1e-8)


@every_penalty
def test_an_offset_goes_with_every_penalty_and_with_pairs(penalty):
    case = ranking_case(60)
    offset = np.random.default_rng(1).normal(size=60)
    options = {"alpha": 1e-2, "tol": 1e-7, "scale": None, **penalty}
    model = RankRLS(**options).fit(case.X, case.y, qid=case.qid, offset=offset)
    less = RankRLS(**options).fit(case.X, case.y - offset, qid=case.qid)
    assert model.objective_ == pytest.approx(less.objective_, rel=1e-6)
    pairs = np.random.default_rng(2).permutation(60).reshape(30, 2)
    lead = offset[pairs[:, 0]] - offset[pairs[:, 1]]
    by_pairs = RankRLS(**options).fit_pairs(case.X, pairs, magnitude=4.0, offset=offset)
    without = RankRLS(**options).fit_pairs(case.X, pairs, magnitude=4.0 - np.minimum(lead, 4.0))
    assert (lead < 4.0).all()
    assert by_pairs.objective_ == pytest.approx(without.objective_, rel=1e-6)


@pytest.mark.parametrize("leave_out", ["folds", "each query"])
@every_penalty
def test_searches_measure_the_sum_with_the_offset(leave_out, penalty):
    case = ranking_case(120, n_queries=8)
    X, y, qid = case.X, np.asarray(case.y, dtype=float), case.qid
    options = penalty if leave_out == "folds" else {}
    offset = np.random.default_rng(3).normal(size=120)
    parts = [np.isin(qid, some) for some in ([0, 1, 2], [3, 4], [5, 6, 7])]
    if leave_out == "each query":
        parts = [qid == query for query in dict.fromkeys(qid.tolist())]
    cv = [(np.flatnonzero(~part), np.flatnonzero(part)) for part in parts]
    alphas = [1.0, 0.01]
    model = RankRLS("auto", alphas=alphas, cv=None if leave_out == "each query" else cv, tol=1e-8, **options)
    model.fit(X, y, qid=qid, offset=offset)
    name = "pairwise_error(weighting=queries)"
    for k, alpha in enumerate(alphas):
        errors = []
        for train, test in cv:
            part = RankRLS(alpha, tol=1e-8, scale=model.scale_, **options)
            scores = part.fit(X[train], y[train], qid=qid[train], offset=offset[train]).predict(X[test])
            errors.append(evaluate(y[test], scores + offset[test], qid=qid[test], metrics=name)[name])
        assert model.validation_curve_[k] == pytest.approx(np.mean(errors), abs=1e-9)


def test_validation_sets_have_offsets_of_their_own():
    case = ranking_case(120)
    offset = 1e3 * np.asarray(case.y, dtype=float)
    given = {"eval_set": (case.X, case.y), "eval_qid": case.qid}
    model = RankRLS(1e-2, solver="cg").fit(case.X, case.y, qid=case.qid, eval_offset=offset, **given)
    assert model.best_score_ == 0.0


@pytest.mark.parametrize(
    ("options", "kind", "sentence"),
    [
        ({"solver": "cg", "l1_ratio": 0.5}, IncompatibleSolverError, "solves linear systems"),
        ({"solver": "direct", "bounds": (0, None)}, IncompatibleSolverError, "solver='auto'"),
        ({"regularization": "hybrid", "l1_ratio": 0.5}, MarginRankError, "regularization='tikhonov'"),
        ({"l1_ratio": 1.0}, MarginRankError, "l1_ratio must be at least 0 and below 1"),
        ({"bounds": (1, 0)}, MarginRankError, "must not exceed"),
    ],
)
def test_what_does_not_go_together_is_refused_in_a_sentence(options, kind, sentence):
    case = ranking_case(60)
    with pytest.raises(kind, match=sentence):
        RankRLS(**options).fit(case.X, case.y, qid=case.qid, eval_set=(case.X, case.y), eval_qid=case.qid)


@pytest.mark.parametrize("given", [{"l1_ratio": 0.5}, {"bounds": (0, None)}, {"offset": np.zeros(60)}])
def test_several_targets_are_refused(given):
    case = ranking_case(60)
    offset = given.pop("offset", None) if "offset" in given else None
    with pytest.raises(MarginRankError, match="take one target; y has 2 columns"):
        RankRLS(**given).fit(case.X, np.column_stack([case.y, case.y]), qid=case.qid, offset=offset)
