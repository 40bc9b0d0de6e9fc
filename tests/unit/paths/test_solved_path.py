"""Paths with an elastic net or bounds: an independent solver at each alpha, features that enter, choices."""

import pickle
import re

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from marginrank import RankingData, RankSVM, rank_path, structured_rank_path
from marginrank.designs.compared import column_scale
from marginrank.exceptions import MarginRankError, ZeroModelWarning
from marginrank.metrics import evaluate
from marginrank.paths import LinearRankPath, SolvedRankPath
from penalized_oracle import PenalizedPairs, box, pair_differences

NAMES = ["bm25", "clicks", "price", "age", "length", "noise"]
PENALTIES = {
    "elastic net": {"l1_ratio": 0.8},
    "not negative": {"bounds": (0, None)},
    "mixed": {"l1_ratio": 0.5, "bounds": {0: (0.3, 0.3), 1: (None, 0), 2: (-0.1, 0.2), 4: (0.1, None)}},
}


def rows(n=72, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 6)) * [1.0, 3.0, 0.5, 1.0, 2.0, 1.0]
    y = np.digitize(X @ [1.0, 0.2, -0.6, 0.3, 0.0, 0.0] + 0.5 * rng.normal(size=n), [-1.0, 0.0, 1.0])
    return X, y, np.arange(n) // 9


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge", "logistic"])
@pytest.mark.parametrize("penalty", PENALTIES.values(), ids=PENALTIES)
@pytest.mark.parametrize("scale", [None, "standard"])
def test_every_model_is_as_good_as_that_of_an_independent_solver(loss, penalty, scale):
    X, y, qid = rows()
    path = rank_path(
        X, y, qid=qid, loss=loss, scale=scale, alpha_max=0.5, alpha_min=0.01, eps=1e-4, n_alphas=5, **penalty
    )
    assert path.status_ == "finished"
    unit = np.ones(6) if scale is None else column_scale(X, scale)
    low, high = box(penalty.get("bounds"), 6)
    differences = pair_differences(X / unit, y, qid)[0]
    for alpha in path.alphas:
        problem = PenalizedPairs(
            loss, differences, alpha, penalty.get("l1_ratio", 0.0), low * unit, high * unit
        )
        best = problem.value(problem.optimum())
        value, bound = path.objective_at(alpha)
        coef = path.coef_at(alpha)
        assert path.gap_at(alpha) <= 1e-4
        true = problem.value(coef * unit)
        # The value is an upper bound: the room for its own rounding, which grows with weights, is in it.
        assert true * (1.0 - 1e-14) <= value <= true * (1.0 + 1e-10)
        assert bound <= best
        # Of the hinge the other solver has a dual, whose value is nearer than that of its model.
        least = problem.proved if loss == "hinge" else best
        assert least <= value * (1.0 + 1e-7)  # it stops, too
        assert value <= least * (1.0 + 2e-4)
        assert np.all((low <= coef) & (coef <= high))


def test_the_path_begins_where_the_first_feature_enters():
    X, y, qid = rows(300)
    path = rank_path(X, y, qid=qid, l1_ratio=0.9)
    assert path.n_features_used[0] == 0
    assert path.alpha_min_ == pytest.approx(1e-3 * path.alpha_max_)
    just_below = RankSVM(alpha=0.98 * path.alpha_max_, l1_ratio=0.9, tol=1e-7).fit(X, y, qid=qid)
    assert just_below.n_features_used_ >= 1


def test_changes_lead_from_no_feature_to_those_of_each_model():
    X, y, qid = rows(300)
    path = rank_path(X, y, qid=qid, l1_ratio=0.95, scale="standard", n_alphas=30)
    used, changes = set(), list(path.changes)
    for alpha, coef, count in zip(path.alphas, path.coefs, path.n_features_used, strict=True):
        while changes and changes[0].alpha == alpha:
            change = changes.pop(0)
            assert change.enters == (change.feature not in used)
            used ^= {change.feature}
        assert used == set(np.flatnonzero(coef))
        assert count == len(used)
    assert not changes
    # Of columns of one size, what y depends on most comes first.
    assert path.changes[0].feature == 0


def test_without_l1_and_bounds_it_is_the_path_that_it_was():
    X, y, qid = rows()
    plain = rank_path(X, y, qid=qid, alpha_min=0.01)
    same = rank_path(X, y, qid=qid, alpha_min=0.01, l1_ratio=0.0, bounds=None, n_alphas=3)
    assert isinstance(same, LinearRankPath)
    np.testing.assert_array_equal(same.alphas, plain.alphas)
    np.testing.assert_array_equal(same.coefs, plain.coefs)


def test_warm_starts_and_shared_planes_save_passes():
    X, y, qid = rows(900, seed=3)
    path = rank_path(X, y, qid=qid, loss="squared_hinge", l1_ratio=0.9, n_alphas=30)
    alone = sum(
        RankSVM("squared_hinge", alpha=float(alpha), l1_ratio=0.9, scale=path.scale_)
        .fit(X, y, qid=qid)
        .n_passes_
        for alpha in path.alphas[1:]
    )
    assert path.n_passes_ < 0.8 * alone  # 0.5 when this was written


def test_alphas_that_were_not_solved_are_refused_and_the_nearest_is_named():
    X, y, qid = rows()
    path = rank_path(X, y, qid=qid, l1_ratio=0.9, alpha_max=1.0, alpha_min=0.01, n_alphas=3)
    np.testing.assert_allclose(path.alphas, [1.0, 0.1, 0.01])
    assert path.nearest(0.2) == pytest.approx(0.1)
    assert path.nearest(100.0) == 1.0
    np.testing.assert_array_equal(path.coef_at(0.1 * (1 + 1e-12)), path.coefs[1])
    for ask in (path.coef_at, path.gap_at, path.to_model):
        near = re.escape(repr(float(path.alphas[1])))
        with pytest.raises(MarginRankError, match=rf"got 0\.2, and the nearest is {near}\. .*more n_alphas"):
            ask(0.2)
    with pytest.raises(MarginRankError, match="alphas must be one of the 3"):
        path.coefs_at([1.0, 0.5])


def test_the_grid_is_of_solved_alphas():
    X, y, qid = rows()
    path = rank_path(X, y, qid=qid, l1_ratio=0.9, n_alphas=7)
    np.testing.assert_array_equal(path.grid(), path.alphas)
    np.testing.assert_array_equal(path.grid(3), path.alphas[[0, 3, 6]])


def test_the_choice_is_among_solved_alphas_and_leaves_a_model_with_its_certificate():
    X, y, qid = rows(200)
    frame = pd.DataFrame(X, columns=NAMES)
    path = rank_path(frame, y, qid=qid, l1_ratio=0.9, bounds={"clicks": (0, None)}, n_alphas=12)
    new_X, new_y, new_qid = rows(90, seed=5)
    chosen = path.select(new_X, new_y, qid=new_qid, metric="ndcg@5")
    np.testing.assert_array_equal(chosen.alphas, path.alphas)
    figures = [
        evaluate(new_y, path.predict(new_X, alpha=alpha), qid=new_qid, metrics=["ndcg@5"])["ndcg@5"]
        for alpha in path.alphas
    ]
    np.testing.assert_allclose(chosen.curve, figures, rtol=1e-12)
    assert chosen.score == max(chosen.curve)
    model = chosen.to_model()
    np.testing.assert_array_equal(model.coef, path.coef_at(chosen.alpha))
    assert list(model.feature_names) == NAMES
    assert model.metadata["parameters"]["l1_ratio"] == 0.9
    assert model.metadata["parameters"]["bounds"] == {"clicks": [0.0, None]}
    assert (model.metadata["objective"], model.metadata["lower_bound"]) == path.objective_at(chosen.alpha)


def test_sparse_rows_and_pairs_have_the_same_path():
    X, y, qid = rows()
    options = {"l1_ratio": 0.9, "n_alphas": 4, "alpha_min": 0.01, "eps": 1e-6, "scale": None}
    dense = rank_path(X, y, qid=qid, **options)
    _, better, worse = pair_differences(X, y, qid)
    for path in (
        rank_path(sparse.csr_matrix(X), y, qid=qid, **options),
        rank_path(X, pairs=np.column_stack([better, worse]), **options),
    ):
        np.testing.assert_allclose(path.alphas, dense.alphas, rtol=1e-12)
        np.testing.assert_allclose(path.coefs, dense.coefs, atol=2e-2)  # within two gaps of 1e-6
        np.testing.assert_allclose(path._certified, dense._certified, rtol=2e-6)


def test_structured_targets_have_sparse_paths():
    X, y, qid = rows(180)
    path = structured_rank_path(X, y, qid=qid, target="map", l1_ratio=0.9, n_alphas=6, eps=1e-2)
    assert isinstance(path, SolvedRankPath)
    assert path.n_features_used[0] == 0
    assert path.n_features_used[-1] > 0
    assert max(path.gap_at(alpha) for alpha in path.alphas) <= 1e-2
    assert path.select(X, y, qid=qid).metric.startswith("map")


def test_threads_do_not_change_a_bit_and_paths_are_pickled():
    X, y, qid = rows(400)
    one, two = (rank_path(X, y, qid=qid, l1_ratio=0.9, n_alphas=5, n_jobs=n) for n in (1, 2))
    np.testing.assert_array_equal(one.coefs, two.coefs)
    again = pickle.loads(pickle.dumps(one))
    np.testing.assert_array_equal(again.coef_at(again.alphas[2]), one.coefs[2])


def test_a_callback_ends_the_path_with_what_it_has():
    X, y, qid = rows()
    seen = []

    def stop(progress):
        seen.append(progress)
        return len(seen) == 3

    path = rank_path(X, y, qid=qid, l1_ratio=0.9, n_alphas=10, callbacks=stop)
    assert path.status_ == "stopped"
    assert len(path.alphas) == 3
    assert [progress.alpha for progress in seen] == path.alphas.tolist()
    assert seen[-1].passes == path.n_passes_
    assert 0.0 < seen[-1].done < 1.0


def test_the_picture_names_features_in_the_order_in_which_they_enter():
    pytest.importorskip("matplotlib")
    X, y, qid = rows(300)
    path = rank_path(pd.DataFrame(X, columns=NAMES), y, qid=qid, l1_ratio=0.95, scale="standard", n_alphas=20)
    path.select(X, y, qid=qid)
    figure = path.plot(n_features=3)
    axes = figure.axes
    assert [axis.get_ylabel() for axis in axes][::2] == [
        "coefficient x scale of column",
        "features with a weight",
    ]
    named = [text.get_text() for text in axes[0].get_legend().get_texts()]
    entered = [NAMES[change.feature] for change in path.changes if change.enters]
    assert named == sorted(named, key=entered.index)
    assert len(named) == 3
    np.testing.assert_array_equal(axes[-1].lines[0].get_ydata(), path.n_features_used)
    # A coloured curve begins at its last 0.
    curve = axes[0].lines[-3].get_ydata()
    assert np.nanmin(np.abs(curve)) == 0.0
    # At the largest alpha no feature has a weight, and there is nothing to draw.
    nothing = rank_path(X, y, qid=qid, l1_ratio=0.9, n_alphas=1).plot()
    assert len(nothing.axes[0].lines) == 0


def test_a_path_that_ends_before_the_first_feature_says_where_one_enters():
    X, y, qid = rows()
    with pytest.warns(ZeroModelWarning, match=r"is left at alpha=50 .*enters below [0-9.]+\. Use") as said:
        path = rank_path(X, y, qid=qid, l1_ratio=0.9, alpha_max=100.0, alpha_min=50.0, n_alphas=3)
    assert not path.coefs.any()
    first = float(str(said[0].message).split("below ")[1].split(". Use")[0])
    assert first == pytest.approx(rank_path(X, y, qid=qid, l1_ratio=0.9).alpha_max_, rel=1e-5)


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"l1_ratio": 1.0}, "l1_ratio must be at least 0 and below 1"),
        ({"bounds": {0: (1, 0)}}, "lower one of the bounds of 0 must not exceed the upper one; got 1 and 0"),
        ({"bounds": {"clicks": (0, 1)}}, "the columns have no names"),
        ({"bounds": (1, 1)}, "bounds fix every weight"),
        ({"l1_ratio": 0.5, "n_alphas": 0}, "n_alphas must be"),
    ],
)
def test_requests_that_cannot_be_met_get_one_sentence(options, sentence):
    X, y, qid = rows()
    with pytest.raises(MarginRankError, match=sentence):
        rank_path(X, y, qid=qid, **options)


def test_an_unknown_name_gets_the_near_one():
    X, y, qid = rows()
    data = RankingData(pd.DataFrame(X, columns=NAMES), y, qid=qid)
    with pytest.raises(MarginRankError, match=r"'click', which is no feature.*'clicks'"):
        rank_path(data, bounds={"click": (0, None)})
