"""Leave-pair-out of RankRLS: equal to refits without each pair, its standard error, and what it refuses."""

from itertools import combinations

import numpy as np
import pytest
from scipy import sparse

from marginrank import RankRLS, write_dataset
from marginrank.designs.centred import CentredRows
from marginrank.designs.gram import centred_gram
from marginrank.exceptions import MarginRankError
from marginrank.solvers.leave_pair_out import PairsOut
from marginrank.solvers.spectral import SpectralPath

ALPHAS = [10.0, 0.1, 1e-3]
SHAPES = {"few columns": (24, 4), "as many as rows": (15, 14), "many columns": (14, 40), "ties": (18, 3)}
every_shape = pytest.mark.parametrize("shape", SHAPES)


def rows(kind, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=SHAPES[kind])
    y = X[:, 0] - X[:, 1] + rng.normal(size=len(X))
    return X, np.digitize(y, [-0.5, 0.7]).astype(float) if kind == "ties" else y


def refitted(X, y, alpha, offset=None):
    """Return by how much row i is ahead of row j, by dense least squares without both."""
    offset = np.zeros(len(y)) if offset is None else offset
    ahead = np.zeros((len(y), len(y)))
    for i, j in combinations(range(len(y)), 2):
        rest = np.setdiff1d(np.arange(len(y)), [i, j])
        Z, t = X[rest] - X[rest].mean(axis=0), (y - offset)[rest]
        # ||L (X w - t)||^2 / m + alpha / 2 ||w||^2, with the m of the rest: the penalty as further rows, so
        # that a small alpha costs few digits.
        further = np.sqrt(0.5 * alpha * len(rest)) * np.eye(X.shape[1])
        w = np.linalg.lstsq(
            np.vstack([Z, further]), np.append(t - t.mean(), np.zeros(X.shape[1])), rcond=None
        )[0]
        ahead[i, j] = (X[i] - X[j]) @ w + offset[i] - offset[j]
        ahead[j, i] = -ahead[i, j]
    return ahead


def wrong(ahead, y):
    """Return 1, 1/2 or 0 for each pair of different labels, and NaN for others."""
    wanted = np.sign(y[:, None] - y)
    order = np.sign(ahead) * wanted
    return np.where(wanted == 0, np.nan, np.where(order < 0, 1.0, np.where(order == 0, 0.5, 0.0)))


@every_shape
@pytest.mark.parametrize("alpha", [100.0, 0.1, 1e-4, 1e-8])
def test_differences_are_those_of_refitting_without_the_pair(shape, alpha):
    X, y = rows(shape)
    centred = CentredRows(X, np.array([0, len(y)]), n_threads=1)
    pairs = PairsOut(SpectralPath(centred_gram(centred, y)))
    expected = refitted(X, y, alpha)
    found = np.concatenate([block[0] for _, block in pairs.differences(alpha)])
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-9 * np.abs(expected).max())


@every_shape
@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array])
def test_the_curve_is_the_share_of_wrong_pairs_of_refits(shape, kind):
    X, y = rows(shape)
    model = RankRLS("auto", alphas=ALPHAS, cv="leave_pair_out", scale=None).fit(kind(X), y)
    expected = [np.nanmean(wrong(refitted(X, y, alpha), y)) for alpha in ALPHAS]
    np.testing.assert_allclose(model.validation_curve_, expected, atol=1e-12)
    assert model.solver_ == "direct"
    assert model.gap_ <= 1e-3
    plain = RankRLS(model.alpha_, solver="direct", scale=None).fit(kind(X), y)
    np.testing.assert_array_equal(model.coef_, plain.coef_)


def test_refits_by_the_ranker_itself_say_the_same():
    X, y = rows("few columns", 1)
    model = RankRLS("auto", alphas=[0.1], cv="leave_pair_out", scale=None).fit(X, y)
    errors = []
    for i, j in combinations(range(len(y)), 2):
        rest = np.setdiff1d(np.arange(len(y)), [i, j])
        part = RankRLS(0.1, solver="direct", scale=None).fit(X[rest], y[rest])
        errors.append(np.sign(part.predict(X[[i]]) - part.predict(X[[j]])) != np.sign(y[i] - y[j]))
    assert model.best_score_ == pytest.approx(np.mean(errors), abs=1e-12)


def test_with_two_labels_the_error_is_that_of_delong_for_the_area_under_the_curve():
    X, y = rows("few columns", 2)
    y = (y > 0.4).astype(float)
    model = RankRLS("auto", alphas=ALPHAS, cv="leave_pair_out", scale=None).fit(X, y)
    for k, alpha in enumerate(ALPHAS):
        table = wrong(refitted(X, y, alpha), y)[y == 1][:, y == 0]  # positive rows by negative ones
        assert model.validation_curve_[k] == pytest.approx(table.mean(), abs=1e-12)
        by_row = [table.mean(axis=1), table.mean(axis=0)]
        delong = np.sqrt(sum(np.var(part) / len(part) for part in by_row))
        # Up to the correction for small numbers, which is one for all rows here and one for each class there.
        assert model.validation_std_[k] == pytest.approx(delong, rel=1.5 / len(y))


def test_the_larger_of_alphas_within_half_an_error_is_taken():
    X, y = rows("few columns", 3)
    best, modest = (RankRLS("auto", cv="leave_pair_out", rule=rule).fit(X, y) for rule in ("best", "one_se"))
    assert modest.alpha_ >= best.alpha_
    assert best.search_end_ in ("no better", "smallest")


def test_scaled_columns_are_those_of_all_rows():
    X, y = rows("few columns", 4)
    X = X * [1.0, 1e3, 1e-3, 1.0]
    model = RankRLS("auto", alphas=ALPHAS, cv="leave_pair_out").fit(X, y)
    assert model.scale_ == "standard"
    expected = [np.nanmean(wrong(refitted(X / model.column_scale_, y, alpha), y)) for alpha in ALPHAS]
    np.testing.assert_allclose(model.validation_curve_, expected, atol=1e-12)


def test_several_targets_have_the_same_say():
    X, y = rows("few columns", 5)
    other = np.digitize(np.roll(y, 1) + X[:, 2], [0.0]).astype(float)
    given = {"alphas": ALPHAS, "cv": "leave_pair_out", "scale": None}
    both = RankRLS("auto", **given).fit(X, np.column_stack([y, other, np.ones(len(y))]))
    curves = [RankRLS("auto", **given).fit(X, one).validation_curve_ for one in (y, other)]
    np.testing.assert_allclose(both.validation_curve_, np.mean(curves, axis=0), atol=1e-12)


def test_an_offset_is_part_of_the_scores():
    X, y = rows("few columns", 6)
    offset = np.random.default_rng(7).normal(size=len(y))
    model = RankRLS("auto", alphas=ALPHAS, cv="leave_pair_out", scale=None).fit(X, y, offset=offset)
    expected = [np.nanmean(wrong(refitted(X, y, alpha, offset), y)) for alpha in ALPHAS]
    np.testing.assert_allclose(model.validation_curve_, expected, atol=1e-12)


def test_one_id_for_all_rows_and_a_validation_set_are_no_reason_to_refuse():
    X, y = rows("few columns", 8)
    one = RankRLS("auto", alphas=ALPHAS, cv="leave_pair_out").fit(X, y, qid=np.ones(len(y)))
    two = RankRLS("auto", alphas=ALPHAS, cv="leave_pair_out").fit(X, y)
    np.testing.assert_array_equal(one.validation_curve_, two.validation_curve_)
    watched = RankRLS("auto", alphas=ALPHAS, cv="leave_pair_out").fit(X, y, eval_set=(X, y))
    plain = RankRLS("auto", alphas=ALPHAS).fit(X, y, eval_set=(X, y))
    np.testing.assert_array_equal(watched.validation_curve_, plain.validation_curve_)


def test_blocks_and_threads_change_no_pair(monkeypatch):
    X, y = rows("few columns", 9)
    whole = RankRLS("auto", cv="leave_pair_out", n_jobs=1).fit(X, y)
    again = RankRLS("auto", cv="leave_pair_out", n_jobs=2).fit(X, y)
    np.testing.assert_array_equal(whole.coef_, again.coef_)
    np.testing.assert_array_equal(whole.validation_curve_, again.validation_curve_)
    monkeypatch.setattr("marginrank.solvers.leave_pair_out._BLOCK", 5)
    blocks = RankRLS("auto", cv="leave_pair_out").fit(X, y)
    np.testing.assert_allclose(blocks.validation_curve_, whole.validation_curve_, atol=1e-12)


def test_an_interrupt_leaves_the_best_so_far(monkeypatch):
    X, y = rows("few columns", 10)
    inner, calls = PairsOut.differences, []

    def interrupted(self, alpha):
        calls.append(alpha)
        if len(calls) == 3:
            raise KeyboardInterrupt
        return inner(self, alpha)

    monkeypatch.setattr(PairsOut, "differences", interrupted)
    model = RankRLS("auto", alphas=[10.0, 1.0, 0.1, 0.01], cv="leave_pair_out")
    with pytest.raises(KeyboardInterrupt):
        model.fit(X, y)
    assert model.alphas_.tolist() == [10.0, 1.0]
    assert model.search_end_ == "interrupted"


@pytest.mark.parametrize(
    ("options", "given", "sentence"),
    [
        ({}, {"qid": np.arange(24) // 6}, "for one ranking of all rows, and these data have 4 queries"),
        ({}, {"sample_weight": np.arange(24) + 1.0}, "has no weights of rows"),
        ({"metric": "ndcg@10"}, {}, "metric must be the pairwise error; got 'ndcg@10'"),
        ({"solver": "cg"}, {}, "rests on the direct solver"),
        ({"l1_ratio": 0.5}, {}, "rests on the direct solver"),
        ({"regularization": "hybrid"}, {}, "rests on the direct solver"),
        ({"cv": "leave_two_out"}, {}, "cv must be a number of folds"),
    ],
)
def test_what_it_is_not_for_is_refused_in_a_sentence(options, given, sentence):
    X, y = rows("few columns")
    y = y - y.min()
    with pytest.raises(MarginRankError, match=sentence):
        RankRLS(**{"alpha": "auto", "cv": "leave_pair_out", **options}).fit(X, y, **given)


def test_pairs_and_rows_on_disk_are_refused(tmp_path):
    X, y = rows("few columns")
    model = RankRLS("auto", cv="leave_pair_out")
    with pytest.raises(MarginRankError, match="these data have explicit pairs"):
        model.fit_pairs(X, [[0, 1], [2, 3], [4, 5]])
    with pytest.raises(MarginRankError, match="needs the rows in memory"):
        model.fit(write_dataset(tmp_path / "rows.mrd", X, y, chunk_rows=8))
    with pytest.raises(MarginRankError, match="of 3 to 20,000 rows; got 2"):
        model.fit(X[:2], y[:2])
