"""The estimate of what float32 costs, without rows, against what it costs on the rows themselves."""

import io
import warnings
from fractions import Fraction

import numpy as np
import pytest

from export_cases import raw_data
from marginrank import RankingData, RankingModel, RankSVM
from marginrank.export import TARGETS
from marginrank.export.base import Options
from marginrank.export.exporting import column_names
from marginrank.export.float32_bound import Float32Bound
from marginrank.export.float32_loss import Float32Loss, estimated_loss

# Some columns are negative.
pytestmark = pytest.mark.filterwarnings("ignore:The learning-to-rank plugin of .* takes scores:UserWarning")


def seconds(days, n_others, *, last=False):
    """Return rows with a column of seconds since 1970, before or after others."""
    rng = np.random.default_rng(0)
    X = np.column_stack([1.7e9 + rng.random(600) * 86_400 * days, rng.random((600, n_others))])
    y = X[:, 0] / (86_400 * days) * 2.0 + X[:, 1]
    return RankingData(X[:, ::-1] if last else X, y, qid=np.repeat(np.arange(12), 50))


def drawn(draw):
    rng = np.random.default_rng(0)
    X = draw(rng)
    return RankingData(X, X @ rng.normal(size=X.shape[1]), qid=np.repeat(np.arange(len(X) // 20), 20))


CASES = {
    "ordinary": raw_data,
    "seconds": lambda: seconds(2, 1),
    "seconds first of 40": lambda: seconds(300, 40),
    "seconds last of 40": lambda: seconds(300, 40, last=True),
    "about 100": lambda: drawn(lambda rng: rng.normal(size=(1000, 10)) + 100.0),
    "long tails": lambda: drawn(lambda rng: rng.lognormal(0.0, 2.0, size=(1000, 10))),
}


@pytest.mark.parametrize("target", ["elasticsearch", "ranklib", "onnx"])
@pytest.mark.parametrize("case", CASES)
def test_the_estimate_is_of_the_size_of_what_is_lost(case, target):
    data = CASES[case]()
    model = RankSVM(alpha=1e-3).fit(data).to_model()
    dtype = {"dtype": "float32"} if target == "onnx" else {}
    file = io.BytesIO()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        measured = model.export(target, file, check=data, **dtype).check.largest_difference
    options = Options(column_names(None, model.feature_names, model.n_features), "model", **dtype)
    estimate = estimated_loss(TARGETS[target], file.getvalue(), options, model).total
    # The largest of many roundings: 0.28 to 1.3 here; real sets go to 2.0.
    assert 1 / 8 < measured / estimate < 2.5


def test_normalisers_lose_less_and_are_estimated_so():
    data = seconds(2, 1)
    model = RankSVM(alpha=1e-3).fit(data).to_model()
    lost = {}
    for normalizers in ("fold", "target"):
        options = Options(("a", "b"), "model", normalizers=normalizers)
        content = TARGETS["solr"].write(model, options).content
        lost[normalizers] = estimated_loss(TARGETS["solr"], content, options, model).total
    assert lost["target"] < 0.6 * lost["fold"]  # the value is still rounded, products and sums are not


def test_without_statistics_there_is_no_estimate():
    model, options = RankingModel([1.0]), Options(("a",), "model")
    content = TARGETS["solr"].write(model, options).content
    assert estimated_loss(TARGETS["solr"], content, options, model) is None


TARGETS_IN_FLOAT32 = ["elasticsearch", "solr", "ranklib", "svmrank", "onnx"]


def fold_options(target):
    return {"dtype": "float32"} if target == "onnx" else {}


@pytest.mark.parametrize("target", TARGETS_IN_FLOAT32)
@pytest.mark.parametrize("case", CASES)
def test_no_difference_changes_by_more_than_the_bound(case, target):
    data = CASES[case]()
    model = RankSVM(alpha=1e-3).fit(data).to_model()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        measured = model.export(target, io.BytesIO(), check=data, **fold_options(target)).float32
        likely = model.export(target, io.BytesIO(), **fold_options(target)).float32
    assert measured.measured
    assert 0.0 < measured.total <= measured.bound
    # The ranges hold all rows, so their bound is the larger one, in the same units.
    assert measured.bound * measured.spread <= likely.bound * likely.spread * (1.0 + 1e-9)
    assert likely.total <= likely.bound
    # What warnings rest on has never been too small.
    assert measured.total <= likely.cautious * likely.spread / measured.spread


@pytest.mark.parametrize("normalizers", ["fold", "target", "minmax"])
@pytest.mark.parametrize("target", ["elasticsearch", "solr"])
@pytest.mark.parametrize("seed", range(20))
def test_scores_of_adverse_columns_stay_within_the_bound(seed, target, normalizers):
    rng = np.random.default_rng(seed)
    n_columns = int(rng.integers(1, 30))
    X = rng.normal(size=(200, n_columns)) * 10.0 ** rng.uniform(-12, 12, n_columns)
    X += 10.0 ** rng.uniform(-12, 12, n_columns) * rng.choice([-1.0, 0.0, 1.0], n_columns)
    data = RankingData(X, rng.integers(0, 3, size=200), qid=np.repeat(np.arange(10), 20))
    statistics = RankSVM(alpha=1.0).fit(data).column_statistics_
    deviations = np.where(statistics.deviation > 0.0, statistics.deviation, 1.0)
    model = RankingModel(rng.normal(size=n_columns) / deviations, column_statistics=statistics)
    options = Options(tuple(f"f{j}" for j in range(n_columns)), "model", normalizers=normalizers)
    target = TARGETS[target]
    found = target.scorer(target.write(model, options).content, options)(X, np.asarray(data.qid))
    bound = Float32Bound(target, options, model)
    shifted = X[:, bound.columns] - bound.shift
    off = np.abs(exact_change(model, X, bound, found))
    assert (off <= bound.of(np.abs(X[:, bound.columns]), np.abs(shifted))).all()
    assert off.max() <= bound.in_ranges(statistics.low, statistics.high)


def exact_change(model, X, bound, found):
    """Return found less the scores that the target stands for, which lack a constant where it normalises."""
    shift = np.zeros(model.n_features)
    shift[bound.columns] = bound.shift
    return [
        float(
            Fraction(score)
            - sum(
                Fraction(w) * (Fraction(x) - Fraction(s))
                for w, x, s in zip(model.coef, row, shift, strict=True)
            )
        )
        for score, row in zip(found, X, strict=True)
    ]


def test_warnings_rest_on_the_cautious_figure_and_never_on_more_than_the_bound():
    parts = np.zeros(1)
    assert Float32Loss(3e-6, parts, 1.0, 1e-3).cautious == 4 * 3e-6
    assert Float32Loss(3e-6, parts, 1.0, 5e-6).cautious == 5e-6
    assert Float32Loss(3e-6, parts, 1.0, 1e-3, measured=True).cautious == 3e-6
    assert Float32Loss(3e-6, parts, 1.0).cautious == 4 * 3e-6


def test_targets_of_float64_and_models_without_statistics_tell_no_loss():
    assert RankingModel([1.0]).export("solr", io.BytesIO()).float32 is None
    model = RankSVM().fit(raw_data()).to_model()
    assert model.export("sql", io.BytesIO()).float32 is None
    assert model.export("solr", io.BytesIO()).float32.bound > 0.0
