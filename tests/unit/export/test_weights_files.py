"""Model files of other programs become models with the same scores, or a sentence with file and line."""

import io

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from export_cases import raw_data
from marginrank import RankingModel

X = np.array([[1.0, 2.0, 4.0], [3.0, -1.0, 0.5]])

SVM = """SVM-rank Version V1.00
0 # kernel type
3 # kernel parameter -d
1 # kernel parameter -g
1 # kernel parameter -s
1 # kernel parameter -r
empty# kernel parameter -u
3 # highest feature index
9 # number of training documents
3 # number of support vectors plus 1
{threshold} # threshold b, each following line is a SV (starting with alpha*y)
0.5 qid:0 1:2 3:4 #
-1 qid:1 1:1 2:3 # doc 7
"""
LIBLINEAR = """solver_type {solver}
nr_class 2
{label}nr_feature 3
bias {bias}
w
0.5
-2
1e-3
"""


def model(text, program, **options):
    return RankingModel.from_weights(text.encode(), program, **options)


@pytest.mark.parametrize(
    ("text", "coef", "intercept"),
    [
        ("## Coordinate Ascent\n## Restart = 5\n1:0.5 3:-2\n", [0.5, 0.0, -2.0], 0.0),
        ("## Coordinate Ascent\r\n1:0.5 3:-2\r\n", [0.5, 0.0, -2.0], 0.0),
        ("## Linear Regression\n## Lambda = 1.0E-10\n0:0.25 1:0.5 2:1.0\n", [0.5, 1.0], 0.25),
        ("## AdaRank\n## Iteration = 500\n2:0.5 1:1.0 2:0.25\n", [1.0, 0.75], 0.0),
        ("2:-1\n", [0.0, -1.0], 0.0),
    ],
)
def test_linear_models_of_ranklib(text, coef, intercept):
    found = model(text, "ranklib")
    assert_array_equal(found.coef, coef)
    assert found.intercept == intercept


def test_support_vectors_are_summed_up_and_the_threshold_is_subtracted():
    found = model(SVM.format(threshold=0.25), "svmrank")
    w = 0.5 * np.array([2.0, 0.0, 4.0]) - np.array([1.0, 3.0, 0.0])
    assert_allclose(found.predict(X), X @ w - 0.25, rtol=0, atol=1e-15)
    assert model(SVM.format(threshold=0), "svmrank").intercept == 0.0


@pytest.mark.parametrize(
    ("label", "bias", "last", "sign", "intercept"),
    [
        ("", -1, "", 1, 0.0),  # ranking and regression have no labels
        ("label 1 -1\n", -1, "", 1, 0.0),
        ("label -1 1\n", -1, "", -1, 0.0),  # positive values are the label that comes first
        ("label 0 1\n", 2, "3\n", -1, -6.0),
        ("", 1, "3\n", 1, 3.0),
    ],
)
def test_liblinear_scores_the_larger_label_higher(label, bias, last, sign, intercept):
    text = LIBLINEAR.format(solver="L2R_L2LOSS_SVC", label=label, bias=bias) + last
    found = model(text, "liblinear")
    assert_array_equal(found.coef, sign * np.array([0.5, -2.0, 1e-3]))
    assert found.intercept == intercept
    assert found.metadata["solver_type"] == "L2R_L2LOSS_SVC"


@pytest.mark.parametrize("program", ["ranklib", "svmrank"])
def test_what_is_exported_is_read_back(program):
    rng = np.random.default_rng(0)
    own = RankingModel(rng.normal(size=9))
    file = io.BytesIO()
    own.export(program, file)
    again = RankingModel.from_weights(file.getvalue(), program)
    # SVM^rank keeps nine digits; RankLib all.
    assert_allclose(again.coef, own.coef, rtol=1e-8 if program == "svmrank" else 0)
    data = raw_data()
    assert_allclose(again.predict(data.X), own.predict(data.X), rtol=1e-7, atol=1e-7 * 1e6)


def test_width_and_names_may_be_given():
    found = model("1:0.5\n", "ranklib", n_features=4)
    assert found.n_features == 4
    named = model("1:0.5\n", "ranklib", feature_names=["a", "b"])
    assert named.feature_names == ("a", "b")
    with pytest.raises(ValueError, match="weight for feature 3, so n_features must be at least that; got 2"):
        model("3:0.5\n", "ranklib", n_features=2)
    with pytest.raises(ValueError, match="feature_names must have one entry per column"):
        model("3:0.5\n", "ranklib", feature_names=["a"])


@pytest.mark.parametrize(
    ("text", "program", "sentence"),
    [
        (
            "## LambdaMART\n## trees\n<ensemble/>\n",
            "ranklib",
            r":1:1: expected a linear model .*'LambdaMART'",
        ),
        ("## Coordinate Ascent\n", "ranklib", "expected a line of feature:weight, got comments only"),
        ("1:0.5\n2:1\n", "ranklib", r":2:1: expected the end of the file"),
        ("1:0.5 1:1\n", "ranklib", r":1:7: expected each feature once"),
        ("1:0.5 b:1\n", "ranklib", r":1:7: expected feature:weight, got 'b:1'"),
        ("1:nan\n", "ranklib", "expected a finite number, got 'nan'"),
        ("-1:2\n", "ranklib", "expected feature:weight, got '-1:2'"),
        ("99999999999:2\n", "ranklib", "expected a feature number from 0 to 10,000,000"),
        (f"{'9' * 5000}:2\n", "ranklib", "expected a feature number from 0 to 10,000,000"),
        ("1:0.5\n", "svmrank", "expected a model file of SVM.rank"),
        ("SVM-rank\n", "svmrank", "expected a line '... # kernel type'"),
        (SVM.format(threshold="x"), "svmrank", r":11:1: expected a finite number, got 'x'"),
        (SVM.format(threshold=0).replace("0 # kernel", "2 # kernel"), "svmrank", "a linear kernel .-t 0."),
        (SVM.format(threshold=0) + "1 1:1\n", "svmrank", "expected 2 support vectors, got 3"),
        (SVM.format(threshold=0).replace("1:2", "0:2"), "svmrank", "feature number from 1 to"),
        ("w\n1\n", "liblinear", "expected a line 'solver_type ...'"),
        ("hello\n", "liblinear", "expected one of solver_type, nr_class"),
        (LIBLINEAR.format(solver="a", label="", bias=-1) + "1\n", "liblinear", "expected 3 lines of weights"),
        (
            LIBLINEAR.format(solver="a", label="", bias=-1).replace("class 2", "class 3"),
            "liblinear",
            "two classes",
        ),
        (LIBLINEAR.format(solver="MCSVM_CS", label="", bias=-1).replace("-2", "-2 1"), "liblinear", "'-2 1'"),
        (LIBLINEAR.format(solver="a", label="", bias=-1).replace("e 3", "e 1e99"), "liblinear", "1e.99"),
        ("", "ranklib", "expected at least one line"),
    ],
)
def test_wrong_files_end_in_a_sentence(text, program, sentence):
    with pytest.raises(ValueError, match=sentence):
        model(text, program)


def test_a_file_of_the_disk_is_named(tmp_path):
    (tmp_path / "w.txt").write_text("x\n")
    with pytest.raises(ValueError, match=r"w\.txt:1:1: expected feature:weight"):
        RankingModel.from_weights(tmp_path / "w.txt", "ranklib")
