"""Figures of several targets: means of the targets' own figures, and the values by query of these."""

import numpy as np
import pytest

from marginrank.data.labels import LabelledQueries
from marginrank.metrics import Evaluator, evaluate, parse_metric
from marginrank.metrics.evaluator import weighted_means
from marginrank.metrics.several_targets import TargetEvaluators


def targets(metric, seed=0, query_weight=None):
    rng = np.random.default_rng(seed)
    qid = np.repeat(np.arange(6), [2, 3, 9, 5, 1, 4])
    Y = rng.integers(0, 3, size=(2, len(qid))).astype(float)
    Y[1, qid == 2] = 1.0  # no pair of the second target there
    labels = [LabelledQueries.of(y, qid=qid, query_weight=query_weight) for y in Y]
    metrics = {metric: parse_metric(metric)}
    return qid, Y, TargetEvaluators([Evaluator(one, metrics) for one in labels])


@pytest.mark.parametrize("metric", ["pairwise_error", "pairwise_error(weighting=queries)", "map"])
@pytest.mark.parametrize("weight", [None, {q: 1.0 + q for q in range(6)}])
def test_figures_are_the_means_of_each_target(metric, weight):
    qid, Y, both = targets(metric, query_weight=weight)
    scores = np.random.default_rng(1).normal(size=(3, *Y.shape))
    figures, by_query = both.measure(scores)
    assert (both.n_targets, by_query.shape) == (2, (3, 6))
    for k in range(3):
        alone = [
            evaluate(y, s, qid=qid, metrics=metric, query_weight=weight)[metric]
            for y, s in zip(Y, scores[k], strict=True)
        ]
        assert figures[k] == pytest.approx(np.mean(alone), rel=1e-14)
    np.testing.assert_array_equal(both.means(scores)[:, 0], figures)


@pytest.mark.parametrize("weight", [None, {q: 1.0 + q for q in range(6)}])
def test_values_by_query_make_up_the_figure_of_pairs(weight):
    _, Y, both = targets("pairwise_error", query_weight=weight)
    figures, by_query = both.measure(np.random.default_rng(2).normal(size=(3, *Y.shape)))
    assert np.isnan(by_query[:, 4]).all()  # one row, no pair
    np.testing.assert_allclose(weighted_means(by_query, both.weight), figures, rtol=1e-14)
