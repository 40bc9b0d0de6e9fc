"""Regression models of PMML, scored by a scorer of it (pypmml, on Java)."""

import io
import shutil

import numpy as np
import pytest
from numpy.testing import assert_allclose

from export_cases import raw_data, raw_model, wide
from marginrank import RankingModel
from marginrank.export.checking import compare_scores

pypmml = pytest.importorskip("pypmml")
pytestmark = pytest.mark.skipif(shutil.which("java") is None, reason="pypmml needs Java, which is not there")


def written(model):
    file = io.BytesIO()
    export = model.export("pmml", file)
    return file.getvalue().decode(), export.features


@pytest.fixture(scope="module", autouse=True)
def gateway():
    """End the process of Java with the tests."""
    yield
    pypmml.Model.close()


def scores_of(text, features, model, X):
    loaded = pypmml.Model.fromString(text)
    assert loaded.version == "4.4"
    place = {
        name: j for j, name in enumerate(model.feature_names or (f"f{k + 1}" for k in range(X.shape[1])))
    }
    found = []
    for row in X.tolist():
        (score,) = loaded.predict({name: row[place[name]] for name in features}).values()
        found.append(float(score))
    return np.array(found)


def test_scores_are_those_of_the_model_with_names_that_xml_must_quote():
    model, data = raw_model(), raw_data()
    text, features = written(model)
    rows = np.arange(60)
    found = scores_of(text, features, model, np.asarray(data.X)[rows])
    check = compare_scores(model.predict(data)[rows], found, np.asarray(data.qid)[rows])
    assert check.largest_difference <= 1e-12
    assert check.order_changes == 0


def test_ten_thousand_columns_are_scored():
    model, data = wide()
    text, features = written(model)
    found = scores_of(text, features, model, np.asarray(data.X)[:2])
    assert_allclose(found, model.predict(data.X)[:2], rtol=1e-12, atol=1e-10)


def test_small_weights_keep_all_their_digits():
    model = RankingModel([1e-300, -0.1 - 2.0**-50], intercept=1 / 3)
    text, features = written(model)
    X = np.array([[1e300, 1.0], [0.0, -7.0]])
    assert_allclose(scores_of(text, features, model, X), model.predict(X), rtol=1e-15)
