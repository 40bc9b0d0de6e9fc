"""Any number of models against the first: each as two are compared, corrected over all of them."""

import numpy as np

from marginrank.comparison import compare
from marginrank.metrics.against_first import compare_with_first
from marginrank.metrics.paired_tests import holm

METRICS = ["ndcg@5", "pairwise_error"]


def models(n=4):
    rng = np.random.default_rng(0)
    y, qid = rng.integers(0, 3, 300), np.repeat(np.arange(25), 12)
    return y, qid, {f"m{k}": y + (3.0 - 0.4 * k) * rng.normal(size=300) for k in range(n)}


def test_two_models_are_compared_as_ever():
    y, qid, scores = models(2)
    (found,) = compare_with_first(y, scores, qid=qid, metrics=METRICS, random_state=0).values()
    alone = compare(y, scores["m0"], scores["m1"], qid=qid, metrics=METRICS, random_state=0)
    assert found.to_dict() == alone.to_dict()


def test_more_models_are_corrected_over_metrics_and_models():
    y, qid, scores = models()
    found = compare_with_first(y, scores, qid=qid, metrics=METRICS, random_state=0)
    assert list(found) == ["m1", "m2", "m3"]
    for test in ("t", "randomization", "bootstrap"):
        plain, corrected = [], []
        for name, one in found.items():
            alone = compare(y, scores["m0"], scores[name], qid=qid, metrics=METRICS, random_state=0)
            for metric in METRICS:
                assert one[metric].p_values == alone[metric].p_values
                assert one[metric].interval == alone[metric].interval
                plain.append(alone[metric].p_values[test])
                corrected.append(one[metric].p_holm[test])
        assert corrected == holm(plain)
