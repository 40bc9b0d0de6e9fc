"""Input and parameters that cannot be used: one clear sentence each."""

import numpy as np
import pandas as pd
import pytest
from ranking_cases import ranking_case
from scipy import sparse
from sklearn.exceptions import NotFittedError

from marginrank import RankSVM
from marginrank.exceptions import IncompatibleSolverError, MarginRankError, NothingToRankError

X, Y, QID = ranking_case(30, 3, 4)
PAIRS = [[0, 1], [2, 3]]


def with_value(values, place, value):
    changed = np.array(values, dtype=float)
    changed[place] = value
    return changed


def assert_one_sentence(message):
    """One statement, perhaps with a hint, on one line."""
    assert "\n" not in message
    assert len(message) < 260
    assert message.rstrip()[-1] in ".?"


BAD_ROWS = {
    "NaN in X": ((with_value(X, (7, 2), np.nan), Y), r"X contains NaN \(first at row 7, column 2\)"),
    "infinity in X": (
        (with_value(X, (7, 2), -np.inf), Y),
        r"X contains infinity \(first at row 7, column 2\)",
    ),
    "NaN in sparse X": (
        (sparse.csr_array(with_value(X, (7, 2), np.nan)), Y),
        r"X contains NaN \(first at row 7, column 2\)",
    ),
    "NaN in y": ((X, with_value(Y, 4, np.nan)), r"y contains NaN \(first at row 4\)"),
    "infinity in y": ((X, with_value(Y, 4, np.inf)), r"y contains infinity \(first at row 4\)"),
    "shorter y": ((X, Y[:-1]), "y must have one entry per row of X; got 29 for 30 rows"),
    "two columns of y": ((X, np.c_[Y, Y]), r"y must be 1-D, one entry per row; got shape \(30, 2\)"),
    "text in y": ((X, ["good", "bad"] * 15), "y must hold numbers"),
    "constant y": ((X, np.ones(30)), "All rows have the same label, so there is nothing to rank"),
    "no y": ((X,), "requires y to be passed, but the target y is None; to learn from pairs alone"),
}


@pytest.mark.parametrize("case", BAD_ROWS)
def test_rows_that_cannot_be_used_are_refused(case):
    arguments, message = BAD_ROWS[case]
    with pytest.raises(MarginRankError, match=message) as caught:
        RankSVM().fit(*arguments)
    assert_one_sentence(str(caught.value))


BAD_EXTRAS = {
    "shorter qid": ({"qid": QID[:-1]}, "qid must have one entry per row of X; got 29 for 30 rows"),
    "NaN in qid": ({"qid": with_value(QID, 3, np.nan)}, "qid has missing values, first at row 3"),
    "None in qid": ({"qid": ["a"] * 29 + [None]}, "qid has missing values, first at row 29"),
    "NA in qid": (
        {"qid": pd.Series([1] * 29 + [pd.NA], dtype="Int64")},
        "qid has missing values, first at row 29",
    ),
    "qid of two columns": ({"qid": np.c_[QID, QID]}, "qid must be 1-D"),
    "unique qid": (
        {"qid": np.arange(30)},
        r"No query has two different labels \(checked 30 queries\).*Is qid unique per row",
    ),
    "qid and group": ({"qid": QID, "group": [10, 20]}, "qid and group .*give one of them"),
    "group of another sum": ({"group": [10, 21]}, "must sum to the number of rows of X; got 31 for 30"),
    "negative weight": (
        {"sample_weight": with_value(np.ones(30), 5, -2)},
        "sample_weight must be at least 0; got -2 at row 5",
    ),
    "NaN weight": (
        {"sample_weight": with_value(np.ones(30), 5, np.nan)},
        r"sample_weight contains NaN \(first at row 5\)",
    ),
    "zero weights": ({"sample_weight": np.zeros(30)}, "sample_weight is zero for every row"),
    "one weight": (
        {"sample_weight": np.eye(30)[0]},
        "nothing to rank",
    ),
    "shorter weights": (
        {"sample_weight": np.ones(29)},
        "sample_weight must have one entry per row of X; got 29 for 30",
    ),
    "query weights without queries": ({"query_weight": [1.0]}, "query_weight .* needs qid or group"),
    "query without weight": (
        {"qid": QID, "query_weight": {0: 1.0, 1: 1.0, 2: 1.0}},
        "query_weight has no entry for query 3",
    ),
    "negative query weight": (
        {"qid": QID, "query_weight": dict(enumerate([1.0, -1.0, 1.0, 1.0]))},
        "query_weight must be at least 0; got -1",
    ),
    "callback that is none": (
        {"callbacks": [3]},
        r"callbacks must be a callable or a list of them; got \[3\]",
    ),
    "number as callbacks": ({"callbacks": 3}, "callbacks must be a callable or a list of them; got 3"),
}


@pytest.mark.parametrize("case", BAD_EXTRAS)
def test_ids_and_weights_that_cannot_be_used_are_refused(case):
    options, message = BAD_EXTRAS[case]
    with pytest.raises(MarginRankError, match=message) as caught:
        RankSVM().fit(X, Y, **options)
    assert_one_sentence(str(caught.value))


def test_one_row_is_refused():
    with pytest.raises(ValueError, match=r"1 sample.* while a minimum of 2 is required"):
        RankSVM().fit(X[:1], Y[:1])


def test_empty_data_are_refused():
    with pytest.raises(ValueError, match=r"0 sample.* while a minimum of 1 is required"):
        RankSVM().fit(X[:0], Y[:0])
    with pytest.raises(ValueError, match=r"0 feature.* while a minimum of 1 is required"):
        RankSVM().fit(X[:, :0], Y)


def test_data_without_a_comparable_pair_have_an_error_of_their_own():
    with pytest.raises(NothingToRankError):
        RankSVM().fit(X, np.zeros(30), qid=QID)


def test_a_column_of_text_is_named():
    frame = pd.DataFrame(X, columns=["a", "b", "c"]).assign(title="Ran")
    with pytest.raises(MarginRankError, match="Column 'title' of X holds String values"):
        RankSVM().fit(frame, Y)


def test_a_nan_in_a_frame_is_named_by_its_column():
    frame = pd.DataFrame(with_value(X, (7, 2), np.nan), columns=["price", "age", "rank"])
    with pytest.raises(MarginRankError, match=r"X contains NaN \(first at row 7, column 'rank'\)"):
        RankSVM().fit(frame, Y)
    model = RankSVM().fit(frame.fillna(0), Y)
    with pytest.raises(MarginRankError, match=r"X contains NaN \(first at row 7, column 'rank'\)"):
        model.predict(frame)


def test_qid_twice_is_refused():
    frame = pd.DataFrame(X, columns=["a", "b", "c"]).assign(qid=QID)
    with pytest.raises(MarginRankError, match="X has a column 'qid' and qid was given as well"):
        RankSVM().fit(frame, Y, qid=QID)


BAD_PAIRS = {
    "row too large": ([[0, 1], [2, 30]], {}, r"row numbers of X, from 0 to 29; pair 1 is \(2, 30\)"),
    "negative row": ([[0, -1]], {}, r"row numbers of X, from 0 to 29; pair 0 is \(0, -1\)"),
    "row against itself": ([[0, 1], [4, 4]], {}, "two different rows; pair 1 is row 4 twice"),
    "three columns": ([[0, 1, 2]], {}, r"shape \(n_pairs, 2\), winner first; got shape \(1, 3\)"),
    "one dimension": ([0, 1], {}, r"shape \(n_pairs, 2\), winner first; got shape \(2,\)"),
    "floats": ([[0.0, 1.0]], {}, "pairs must hold integers, the row numbers of X; got float64"),
    "booleans": ([[True, False]], {}, "pairs must hold integers"),
    "no pairs": (np.empty((0, 2), dtype=int), {}, "pairs is empty, so there is nothing to rank"),
    "None": (None, {}, r"needs pairs: row numbers of shape \(n_pairs, 2\), winner first"),
    "shorter weight": (PAIRS, {"weight": [1.0]}, "weight must have one entry per pair; got 1 for 2"),
    "negative weight": (PAIRS, {"weight": [1.0, -1.0]}, "weight must be at least 0; got -1 at pair 1"),
    "NaN weight": (PAIRS, {"weight": [1.0, np.nan]}, r"weight contains NaN \(first at pair 1\)"),
    "zero weights": (PAIRS, {"weight": [0.0, 0.0]}, "weight is zero for every pair"),
    "negative margin": (PAIRS, {"margin": [1.0, -1.0]}, "margin must be at least 0; got -1 at pair 1"),
    "NaN margin": (PAIRS, {"margin": np.nan}, "margin must be a finite number; got nan"),
    "shorter margin": (PAIRS, {"margin": [1.0]}, "margin must have one entry per pair; got 1 for 2"),
}


@pytest.mark.parametrize("case", BAD_PAIRS)
def test_pairs_that_cannot_be_used_are_refused(case):
    pairs, options, message = BAD_PAIRS[case]
    with pytest.raises(MarginRankError, match=message) as caught:
        RankSVM().fit_pairs(X, pairs, **options)
    assert_one_sentence(str(caught.value))


BAD_PARAMETERS = [
    ({"loss": "log"}, "loss must be one of 'hinge', 'squared_hinge', 'logistic'; got 'log'"),
    ({"loss": ["hinge"]}, "loss must be one of"),
    ({"loss": None}, "loss must be one of"),
    ({"solver": "sgd"}, "solver must be one of 'auto', 'lbfgs', 'bundle', 'newton'; got 'sgd'"),
    ({"weighting": "rows"}, "weighting must be one of 'pairs', 'queries'; got 'rows'"),
    ({"scale": "robust"}, "scale must be one of None, 'auto', 'standard', 'minmax'; got 'robust'"),
    ({"scale": True}, "scale must be one of"),
    ({"alpha": 0.0}, "alpha must be a positive, finite number or 'auto'; got 0.0"),
    ({"alpha": -1}, "alpha must be a positive, finite number or 'auto'; got -1"),
    ({"alpha": np.nan}, "alpha must be a positive, finite number or 'auto'; got nan"),
    ({"alpha": np.inf}, "alpha must be a positive, finite number or 'auto'; got inf"),
    ({"alpha": "1"}, "alpha must be a positive, finite number or 'auto'; got '1'"),
    ({"alpha": None}, "alpha must be a positive, finite number or 'auto'; got None"),
    ({"tol": 0.0}, "tol must be a positive, finite number; got 0.0"),
    ({"tol": -1e-3}, "tol must be a positive, finite number; got -0.001"),
    ({"max_iter": 0}, "max_iter must be a positive integer; got 0"),
    ({"max_iter": 10.5}, "max_iter must be a positive integer; got 10.5"),
    ({"max_iter": True}, "max_iter must be a positive integer; got True"),
    ({"n_jobs": 0}, "n_jobs must be None or a nonzero integer; got 0"),
    ({"n_jobs": 1.5}, "n_jobs must be None or a nonzero integer; got 1.5"),
]


@pytest.mark.parametrize(("parameters", "message"), BAD_PARAMETERS, ids=lambda value: str(value)[:40])
def test_parameters_that_cannot_be_used_are_refused(parameters, message):
    with pytest.raises(MarginRankError, match=message) as caught:
        RankSVM(**parameters).fit(X, Y)
    assert_one_sentence(str(caught.value))
    with pytest.raises(MarginRankError, match=message):
        RankSVM(**parameters).fit_pairs(X, PAIRS)


def test_numpy_numbers_are_numbers():
    model = RankSVM(alpha=np.float32(0.5), tol=np.float64(1e-3), max_iter=np.int64(50), n_jobs=np.int64(2))
    assert model.fit(X, Y).gap_ <= 1e-3


def test_newton_does_not_fit_the_hinge():
    message = "Newton needs a Hessian product, which 'hinge' does not offer. Use solver='bundle', or loss="
    with pytest.raises(IncompatibleSolverError, match=message):
        RankSVM(solver="newton").fit(X, Y)
    with pytest.raises(IncompatibleSolverError, match=message):
        RankSVM(solver="newton").fit_pairs(X, PAIRS)


@pytest.mark.parametrize("ask", [lambda m: m.predict(X), lambda m: m.score(X, Y)])
def test_an_unfitted_model_says_so(ask):
    with pytest.raises(NotFittedError, match="not fitted yet"):
        ask(RankSVM())


def test_another_number_of_features_is_refused():
    model = RankSVM().fit(X, Y)
    for narrow in (X[:, :2], sparse.csr_array(X[:, :2])):
        with pytest.raises(ValueError, match="X has 2 features, but RankSVM is expecting 3 features"):
            model.predict(narrow)
    with pytest.raises(ValueError, match="X has 2 features, but RankSVM is expecting 3 features"):
        model.score(X[:, :2], Y)


def test_nan_and_infinity_at_predict_are_refused():
    model = RankSVM().fit(X, Y)
    with pytest.raises(MarginRankError, match=r"X contains NaN \(first at row 7, column 2\)"):
        model.predict(with_value(X, (7, 2), np.nan))


def test_a_refused_fit_leaves_no_model():
    model = RankSVM()
    with pytest.raises(MarginRankError):
        model.fit(X, with_value(Y, 0, np.nan))
    with pytest.raises(NotFittedError):
        model.predict(X)


@pytest.mark.parametrize("other", [np.ones((30, 2)), np.ones((30, 9))])
def test_a_refused_second_fit_leaves_nothing_that_reads_beyond_its_coefficients(other):
    model = RankSVM().fit(X, Y)
    with pytest.raises(MarginRankError):
        model.fit(other, with_value(Y, 0, np.nan))
    with pytest.raises(ValueError, match=r"features|not fitted|one entry per column"):
        model.predict(other)


@pytest.mark.parametrize("case", ["NaN in X", "NaN in y", "shorter y", "two columns of y", "text in y"])
def test_what_is_wrong_with_a_validation_set_names_it(case):
    bad, message = BAD_ROWS[case]
    with pytest.raises(MarginRankError, match=f"^eval_set: {message}") as caught:
        RankSVM().fit(X, Y, eval_set=bad)
    assert_one_sentence(str(caught.value))
    with pytest.raises(MarginRankError, match=rf"^eval_set\[1\]: {message}"):
        RankSVM().fit(X, Y, eval_set=[(X, Y), bad])


def test_another_number_of_features_in_a_validation_set_is_refused():
    with pytest.raises(MarginRankError, match=r"^eval_set: X has 2 features, but RankSVM is expecting 3"):
        RankSVM().fit(X, Y, eval_set=(X[:, :2], Y))
