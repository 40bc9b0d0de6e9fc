"""Pair counts equal brute force exactly, whatever the ties in labels and scores."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from brute_force import active_partners, view_of
from marginrank.exceptions import NothingToRankError
from marginrank.losses import HingeLoss

LATTICES = {
    "integers": lambda rng, n: rng.integers(-2, 4, n).astype(np.float64),
    "halves": lambda rng, n: 0.5 * rng.integers(-4, 5, n),
    "rounded tenths": lambda rng, n: 0.1 * rng.integers(-15, 16, n),  # 0.3 - 1.3 is not -1 in every sum
    "tenths read from text": lambda rng, n: np.round(rng.uniform(-2, 2, n), 1),
    "thirds": lambda rng, n: rng.integers(-9, 10, n) / 3.0,
    "float32 tenths": lambda rng, n: (rng.integers(-15, 16, n).astype(np.float32) / np.float32(10)).astype(
        np.float64
    ),
    "float32": lambda rng, n: rng.normal(size=n).astype(np.float32).astype(np.float64),
    "one ulp around 1": lambda rng, n: rng.choice([0.0, np.nextafter(1, 0), 1.0, np.nextafter(1, 2), 2.0], n),
    "signed zeros": lambda rng, n: rng.choice([-1.0, -0.0, 0.0, 1.0], n),
    "all tied": lambda rng, n: np.full(n, 0.7),
    "real": lambda rng, n: rng.normal(size=n),
    "large": lambda rng, n: 1e15 + rng.integers(-4, 5, n),
    "one outlier": lambda rng, n: np.where(np.arange(n) == n // 2, 1e300, rng.normal(size=n)),
}
LABELS = {
    "two": lambda rng, n: rng.integers(2, size=n),
    "five": lambda rng, n: rng.integers(5, size=n),
    "sixteen": lambda rng, n: rng.integers(16, size=n),
    "distinct": lambda rng, n: rng.permutation(n),
    "real with ties": lambda rng, n: np.round(rng.normal(size=n), 2),
    "tied": lambda rng, n: np.full(n, 3),
}


def counts_equal_brute_force(view, scores, n_threads=1):
    above, below = active_partners(view, scores)
    if all(len(np.unique(y)) == 1 for y in np.split(view.y, view.query_ptr[1:-1])):
        with pytest.raises(NothingToRankError):
            HingeLoss(view, weighting="pairs", n_threads=n_threads)
        return True
    got = HingeLoss(view, weighting="pairs", n_threads=n_threads).active_partners(scores)
    return np.array_equal(got[0], above) and np.array_equal(got[1], below)


@pytest.mark.parametrize("lattice", LATTICES)
@pytest.mark.parametrize("label", LABELS)
def test_counts_equal_brute_force_in_small_queries(lattice, label):
    rng = np.random.default_rng(1)
    for _ in range(60):
        sizes = rng.integers(1, 12, rng.integers(1, 5))
        n = int(sizes.sum())
        weight = rng.integers(1, 50, n).astype(np.float64) if rng.integers(2) else None
        view = view_of(sizes, LABELS[label](rng, n), weight=weight)
        assert counts_equal_brute_force(view, LATTICES[lattice](rng, n))


# 320 rows are the most for the kernel that looks at every pair; longer queries are sorted and swept.
@pytest.mark.parametrize("lattice", LATTICES)
@pytest.mark.parametrize("label", LABELS)
def test_counts_equal_brute_force_around_the_switch_of_kernels(lattice, label):
    rng = np.random.default_rng(2)
    for sizes in [(319, 320, 321), (1, 322, 7, 500), (336, 337, 2, 335), (1000,)]:
        n = sum(sizes)
        weight = rng.integers(1, 50, n).astype(np.float64) if len(sizes) > 3 else None
        view = view_of(sizes, LABELS[label](rng, n), weight=weight)
        assert counts_equal_brute_force(view, LATTICES[lattice](rng, n), n_threads=2)


@pytest.mark.parametrize("lattice", ["halves", "rounded tenths", "real", "all tied"])
@pytest.mark.parametrize("levels", [2, 15, 16, 17, 5000])
def test_counts_equal_brute_force_in_a_long_query(lattice, levels):
    rng = np.random.default_rng(3)
    view = view_of([2500], rng.integers(levels, size=2500))
    assert counts_equal_brute_force(view, LATTICES[lattice](rng, 2500), n_threads=2)


@pytest.mark.parametrize("sizes", [(60, 3, 320), (321, 5, 700)])
def test_real_weights_count_to_rounding(sizes):
    rng = np.random.default_rng(4)
    for _ in range(20):
        n = sum(sizes)
        view = view_of(sizes, rng.integers(5, size=n), weight=rng.uniform(0.1, 3.0, n))
        scores = LATTICES["halves"](rng, n)
        got = HingeLoss(view, weighting="pairs", n_threads=1).active_partners(scores)
        # Relative to the weight of a whole query: a sum over few partners is a difference of two long ones.
        for mine, exact in zip(got, active_partners(view, scores), strict=True):
            assert np.abs(mine - exact).max() <= 1e-12 * view.sample_weight.sum()


rows = st.tuples(
    st.integers(0, 3),  # query
    st.sampled_from([0.0, 1.0, 1.5, -2.0, 1e-300]),  # label
    st.one_of(  # score
        st.integers(-3, 3).map(float),
        st.integers(-30, 30).map(lambda k: k / 10),
        st.integers(-30, 30).map(lambda k: k * 0.1),
        st.floats(-3, 3, width=32),
        st.floats(-1e300, 1e300),
    ),
    st.integers(1, 9),  # weight
)


@given(st.lists(rows, min_size=2, max_size=40), st.booleans(), st.integers(1, 30))
@settings(max_examples=500, derandomize=True)
def test_counts_equal_brute_force_on_any_rows(table, weighted, repeat):
    """Rows are repeated so that queries reach either kernel."""
    table = sorted(table * repeat, key=lambda row: row[0])
    query, y, scores, weight = (np.array(column, dtype=np.float64) for column in zip(*table, strict=True))
    sizes = np.unique(query, return_counts=True)[1]
    view = view_of(sizes, y, weight=weight if weighted else None)
    assert counts_equal_brute_force(view, scores)
