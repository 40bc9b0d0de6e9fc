"""Losses whose labels lie with remote chunks: the factors, pairs and curvature of the same labels here."""

import numpy as np
import pytest

from marginrank import RankingData
from marginrank.distributed import RemoteData
from marginrank.losses import QUERY_LOSSES
from marginrank.losses.elsewhere import WeightsElsewhere
from marginrank.losses.pairwise import PairwiseLoss
from marginrank.storage.engines import RemoteMatrix, SerialEngine

PAIRWISE = [name for name, kind in QUERY_LOSSES.items() if issubclass(kind, PairwiseLoss)]
RNG = np.random.default_rng(3)
X, Y, QID = RNG.normal(size=(200, 3)), RNG.integers(4, size=200), np.repeat(np.arange(25), 8)
BOUNDS = np.array([0, 48, 120, 200])


def afar(data):
    engine = SerialEngine(lambda k: data.X[BOUNDS[k] : BOUNDS[k + 1]])
    return RemoteData.like(data, RemoteMatrix(engine, BOUNDS, 3, np.dtype("f8")))


@pytest.mark.parametrize("weighting", ["pairs", "queries"])
@pytest.mark.parametrize(
    "weights", [{}, {"sample_weight": RNG.random(200) + 0.5}, {"query_weight": RNG.random(25) + 0.5}]
)
@pytest.mark.parametrize("name", PAIRWISE)
def test_it_is_the_loss_of_the_same_labels(name, weights, weighting):
    data = RankingData(X, Y, qid=QID, **weights)
    here, there = (
        QUERY_LOSSES[name](one.training_view(), weighting=weighting, n_threads=1)
        for one in (data, afar(data))
    )
    np.testing.assert_array_equal(there.factor, here.factor)
    assert there.n_pairs == here.n_pairs
    scores = X @ [1.0, -2.0, 0.5]
    assert there.at(scores).value == here.at(scores).value
    (expected, ptr), (found, same) = here.curvature(), there.curvature()
    assert isinstance(found, WeightsElsewhere)
    np.testing.assert_array_equal(same, ptr)
    assert len(found) == 200
    for positions in (
        np.arange(200),
        np.array([0, 47, 48, 199]),
        np.array([50]),
        np.empty(0, dtype=np.int64),
    ):
        np.testing.assert_array_equal(found[positions], expected[positions])
    assert found.sum() == pytest.approx(expected.sum(), rel=1e-13)  # two hundred sums in another order
    assert there.curvature()[0].sum() == found.sum()  # asked alone


def test_parts_of_it_add_up():
    data = RankingData(X, Y, qid=QID)
    loss = QUERY_LOSSES["hinge"](afar(data).training_view(), weighting="pairs", n_threads=1)
    scores = X @ [1.0, -2.0, 0.5]
    parts = [loss.part(first, last) for first, last in ((0, 6), (6, 15), (15, 25))]
    values = [
        part.at(scores[low:high]).value
        for part, low, high in zip(parts, BOUNDS[:-1], BOUNDS[1:], strict=True)
    ]
    assert sum(values) == pytest.approx(loss.at(scores).value, rel=1e-14)
