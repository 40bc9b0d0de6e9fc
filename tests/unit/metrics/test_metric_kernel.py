"""The compiled metrics: the same bits from any number of threads, errors instead of crashes."""

import numpy as np
import pytest

from marginrank import _kernels
from marginrank.metrics.families import FAMILIES

RNG = np.random.default_rng(2)
SIZES = [1, 0, 2, 30, 120, 700, 66_000]
PTR = np.concatenate(([0], np.cumsum(SIZES))).astype(np.int64)
N = int(PTR[-1])
Y, SCORES = RNG.integers(5, size=N) * 0.75, RNG.integers(400, size=N) / 7
DOCID = RNG.permutation(N).astype(np.int64)


def spec(module, *, name="ndcg", cutoff=10, ties="input", gain="exponential"):
    return module.MetricSpec(name, cutoff, 1.5, gain, "log2", ties, "pad", False, 3.0)


def values_of(module, n_threads=1):
    specs = [
        spec(module, name=name, ties=ties, gain=gain)
        for name in FAMILIES
        for ties in ("input", "average", "pessimistic", "docid")
        for gain in ("exponential", "linear")
    ]
    values, tied = np.empty((len(specs), len(SIZES))), np.empty(len(SIZES), dtype=bool)
    module.ranking_metrics(Y, SCORES, DOCID, PTR, specs, values, tied, n_threads)
    return values, tied


def test_one_thread_and_three_give_the_same_bits():
    (one, tied), (other, tied_too) = values_of(_kernels), values_of(_kernels, n_threads=3)
    assert np.array_equal(one, other, equal_nan=True)
    assert np.array_equal(tied, tied_too)
    assert np.isnan(one[:, 1]).all()  # the query without rows


def call(**changes):
    arguments = {
        "y": np.ones(4),
        "scores": np.ones(4),
        "docid": None,
        "query_ptr": np.array([0, 1, 4]),
        "specs": [spec(_kernels)],
        "values": np.empty((1, 2)),
        "tied": np.empty(2, dtype=bool),
        "n_threads": 1,
    }
    _kernels.ranking_metrics(**(arguments | changes))


WRONG_SIZES = {
    "scores": {"scores": np.ones(3)},
    "docid": {"docid": np.ones(5, dtype=np.int64)},
    "no query_ptr": {"query_ptr": np.empty(0, dtype=np.int64)},
    "query_ptr ends early": {"query_ptr": np.array([0, 1, 3])},
    "query_ptr falls": {"query_ptr": np.array([0, 5, 4])},
    "values": {"values": np.empty((2, 2))},
    "values by query": {"values": np.empty((1, 3))},
    "tied": {"tied": np.empty(3, dtype=bool)},
}


@pytest.mark.parametrize("changes", WRONG_SIZES.values(), ids=WRONG_SIZES.keys())
def test_arrays_that_do_not_fit_are_refused(changes):
    call()
    with pytest.raises(ValueError, match="must"):
        call(**changes)


def test_ties_by_ids_that_are_missing_are_refused():
    with pytest.raises(ValueError, match="docid must be given"):
        call(specs=[spec(_kernels, ties="docid")])


@pytest.mark.parametrize(
    "changes", [{"name": "NDCG"}, {"name": ""}, {"ties": "best"}, {"gain": "square"}, {"cutoff": -1}]
)
def test_names_that_the_kernel_does_not_know_are_refused(changes):
    with pytest.raises(ValueError, match="must"):
        spec(_kernels, **changes)


def test_a_wrong_type_is_an_error_and_no_silent_copy():
    for changes in ({"y": np.ones(4, dtype=np.float32)}, {"scores": [1.0] * 4}, {"tied": np.empty(2)}):
        with pytest.raises(TypeError):
            call(**changes)


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_scores_that_are_not_finite_do_not_crash(bad):
    """What comes out of a query with them means nothing, but it comes out, and no other query sees it."""
    for n in (5, 400):
        y, ptr = np.arange(float(n)) % 3, np.array([0, n, 2 * n])
        good, values = np.arange(float(n)), np.empty((1, 2))
        call(y=np.tile(y, 2), scores=np.tile(good, 2), query_ptr=ptr, values=values)
        expected = values[0, 1]
        scores = np.arange(float(n))
        for where in (0, n // 2, slice(None)):
            scores[where] = bad
            call(y=np.tile(y, 2), scores=np.concatenate([scores, good]), query_ptr=ptr, values=values)
            assert values[0, 1] == expected
