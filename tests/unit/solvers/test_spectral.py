"""The direct path against plain dense solves, and leave-query-out scores against refitting."""

from itertools import pairwise

import numpy as np
import pytest
from scipy import sparse

from marginrank.designs import centred
from marginrank.designs.centred import CentredRows
from marginrank.designs.columns import ColumnTransform
from marginrank.designs.gram import centred_gram
from marginrank.solvers import leave_query_out as left_out
from marginrank.solvers.leave_query_out import leave_query_out, leave_query_out_scores
from marginrank.solvers.spectral import SpectralPath, direct_pays

ALPHAS = np.array([1e-10, 1e-6, 1e-3, 1.0, 1e3, 1e10])
QUERIES = np.array([0, 7, 8, 30, 42, 43, 60, 70])  # two of one row


class Case:
    """Data, and the textbook solution of the paper's equation (6) on them."""

    def __init__(self, X, query_ptr=QUERIES, *, weighted=False, n_targets=1, seed=0):
        rng = np.random.default_rng(seed)
        self.X, self.query_ptr = np.asarray(X, dtype=np.float64), query_ptr
        m = len(self.X)
        self.Y = rng.normal(size=(m, n_targets)) + 3.0
        self.s = rng.uniform(0.2, 3.0, m) if weighted else None
        self.v = rng.uniform(0.2, 3.0, len(query_ptr) - 1) if weighted else None

    def path(self, stored=None, **options):
        stored = self.X if stored is None else stored
        weights = {"sample_weight": self.s, "query_weight": self.v}
        rows = CentredRows(stored, self.query_ptr, **weights, **{"n_threads": 2, **options})
        return SpectralPath(centred_gram(rows, self.Y))

    def centred(self, left_out=None):
        """Return the rows of all queries but one, centred and weighted, their targets and their mass."""
        parts, mass = [], 0.0
        for q, (a, b) in enumerate(pairwise(self.query_ptr)):
            if q == left_out or a == b:
                continue
            s = np.ones(b - a) if self.s is None else self.s[a:b]
            v = 1.0 if self.v is None else self.v[q]
            both = np.hstack([self.X[a:b], self.Y[a:b]])
            both = (both - np.average(both, axis=0, weights=s)) * np.sqrt(v * s)[:, None]
            parts.append(both)
            mass += v * s.sum()
        both = np.vstack(parts) if parts else np.zeros((1, self.X.shape[1] + self.Y.shape[1]))
        n = self.X.shape[1]
        return both[:, :n], both[:, n:], mass

    def solve(self, alphas, left_out=None):
        """Solve by a singular value decomposition of the rows, which squares no condition number."""
        Xc, Yc, mass = self.centred(left_out)
        if not np.any(Xc):
            return np.zeros((len(alphas), self.Y.shape[1], self.X.shape[1]))
        U, d, Vt = np.linalg.svd(Xc, full_matrices=False)
        d = np.where(d > 1e-13 * d[0], d, 0.0)
        return np.array([((U.T @ Yc).T * (d / (d**2 + alpha * mass / 2))) @ Vt for alpha in alphas])

    def refit(self, alphas):
        """Return the scores of each query, centred, by the fit without it."""
        scores = np.zeros((len(alphas), self.Y.shape[1], len(self.X)))
        for q, (a, b) in enumerate(pairwise(self.query_ptr)):
            if a == b:
                continue
            s = None if self.s is None else self.s[a:b]
            block = self.X[a:b] - np.average(self.X[a:b], axis=0, weights=s)
            scores[:, :, a:b] = self.solve(alphas, q) @ block.T
        return scores


def tall(seed=1):
    return np.random.default_rng(seed).normal(size=(70, 9))


def wide(seed=2):
    return np.random.default_rng(seed).normal(size=(70, 110))


def with_constants(seed=3):
    X = tall(seed)
    X[:, 2] = 5.0
    X[:, 4] = np.repeat(np.arange(len(QUERIES) - 1), np.diff(QUERIES))  # constant in each query
    return X


def rank_deficient(seed=4):
    X = tall(seed)
    X[:, 5] = X[:, 0] - 2.0 * X[:, 1]
    X[:, 6] = 0.0
    return X


CASES = {
    "tall": lambda: Case(tall()),
    "tall, weighted, three targets": lambda: Case(tall(), weighted=True, n_targets=3),
    "one global ranking": lambda: Case(tall(), np.array([0, 70])),
    "one global ranking, weighted": lambda: Case(tall(), np.array([0, 70]), weighted=True),
    "empty queries": lambda: Case(tall(), np.array([0, 0, 30, 30, 70, 70]), weighted=True),
    "only single rows and one query": lambda: Case(tall(), np.array([0, 1, 2, 3, 40, 70])),
    "wide": lambda: Case(wide()),
    "wide, weighted, two targets": lambda: Case(wide(), weighted=True, n_targets=2),
    "large means": lambda: Case(np.round(tall(), 3) * 8 + 1e6, weighted=True),
    "wide, large means": lambda: Case(np.round(wide(), 3) * 8 + 1e6),
    "constant columns": lambda: Case(with_constants(), n_targets=2),
    "rank deficient": lambda: Case(rank_deficient(), weighted=True),
    "nothing but constants": lambda: Case(np.ones((70, 3))),
}
STORED = {"dense": np.asarray, "csr": sparse.csr_array}


@pytest.fixture(params=CASES, name="case")
def _case(request):
    return CASES[request.param]()


def error(found, expected):
    return np.max(np.abs(found - expected)) / max(np.max(np.abs(expected)), 1e-300)


@pytest.mark.parametrize("stored", STORED)
def test_coefficients_equal_the_dense_solve(case, stored):
    found = case.path(STORED[stored](case.X)).coefficients(ALPHAS)
    for w, expected in zip(found, case.solve(ALPHAS), strict=True):
        assert error(w, expected) < 1e-8


def test_coefficients_solve_the_equation_of_the_paper(case):
    """Where alpha is large enough for that equation, which squares the condition number, to have digits."""
    Xc, Yc, mass = case.centred()
    path = case.path()
    for alpha in (1e-4, 1e-1, 1e2):
        left = Xc.T @ Xc + alpha * mass / 2 * np.eye(Xc.shape[1])
        expected = np.linalg.solve(left, Xc.T @ Yc).T
        assert np.allclose(
            path.coefficients([alpha])[0], expected, rtol=0, atol=1e-8 * np.abs(expected).max()
        )


@pytest.mark.parametrize("stored", STORED)
@pytest.mark.parametrize("over_rows", [True, False])
def test_leave_query_out_equals_refitting(case, stored, over_rows, monkeypatch):
    monkeypatch.setattr(left_out, "_rows_pay", lambda *sizes: over_rows)
    found, expected = leave_query_out_scores(case.path(STORED[stored](case.X)), ALPHAS), case.refit(ALPHAS)
    for scores, refitted in zip(found, expected, strict=True):
        assert error(scores, refitted) < 1e-8


@pytest.mark.parametrize("n_alphas", [1, 40])
@pytest.mark.parametrize("weighted", [False, True])
def test_both_sides_leave_queries_out_exactly(weighted, n_alphas):
    """Few alphas are solved over the rows of a query, many over the features; here nothing is amplified."""
    rng = np.random.default_rng(5)
    sizes = rng.integers(1, 40, 30)
    query_ptr = np.append(0, np.cumsum(sizes))
    case = Case(rng.normal(size=(query_ptr[-1], 12)), query_ptr, weighted=weighted, n_targets=2)
    alphas = np.logspace(-10, 10, n_alphas) if n_alphas > 1 else np.array([1e-10])
    found, expected = leave_query_out_scores(case.path(), alphas), case.refit(alphas)
    for scores, refitted in zip(found, expected, strict=True):
        assert error(scores, refitted) < 1e-8


@pytest.mark.parametrize("make", [tall, wide])
def test_values_are_those_of_the_coefficients_and_gaps_are_tiny(make):
    case = Case(make(), weighted=True, n_targets=2)
    path = case.path()
    Xc, Yc, mass = case.centred()
    values, gaps = path.values(ALPHAS), path.gaps(ALPHAS)
    for k, (alpha, w) in enumerate(zip(ALPHAS, path.coefficients(ALPHAS), strict=True)):
        risk = np.square(Xc @ w.T - Yc).sum(axis=0) / mass
        assert np.allclose(values[k], risk + alpha / 2 * np.square(w).sum(axis=1), rtol=1e-8, atol=1e-14)
        assert np.all(gaps[k] < 1e-8)


@pytest.mark.parametrize("make", [tall, wide])
def test_the_gap_bounds_the_distance_to_the_optimum(make):
    """A decomposition that is wrong in the fourth digit must show in the certificate."""
    case = Case(make())
    path, exact = case.path(), case.path()
    path._rotated = path._rotated * 1.0001
    w = path.coefficients([1e-2])[0]
    Xc, Yc, mass = case.centred()
    value = np.square(Xc @ w.T - Yc).sum() / mass + 1e-2 / 2 * np.square(w).sum()
    optimum = exact.values([1e-2])[0, 0]
    assert 0.0 < (value - optimum) / optimum <= path.gaps([1e-2])[0, 0] * 1.01


def test_equal_rows_with_different_labels_leave_no_gap():
    X = wide()
    X[10:20] = X[9]
    assert np.all(Case(X).path().gaps(ALPHAS[1:]) < 1e-7)


@pytest.mark.parametrize("make", [tall, wide])
def test_the_gap_shows_columns_too_different_in_size(make):
    """Beside a column of size 1e9 the others are below rounding in the Gram matrix's spectrum."""
    case = Case(make() * np.append(1e9, np.ones(make().shape[1] - 1)))
    assert case.path().gaps([1e-3])[0, 0] > 0.01


@pytest.mark.parametrize("make", [tall, wide])
@pytest.mark.parametrize("stored", STORED)
def test_any_number_of_threads_gives_the_same_bits(make, stored, monkeypatch):
    monkeypatch.setattr(centred, "_BLOCK_ENTRIES", 200)
    monkeypatch.setattr(centred, "_LEAST_ROWS", 8)
    case = Case(make(), weighted=True)
    one, three = (case.path(STORED[stored](case.X), n_threads=k) for k in (1, 3))
    assert np.array_equal(one.coefficients(ALPHAS), three.coefficients(ALPHAS))
    assert np.array_equal(leave_query_out_scores(one, ALPHAS), leave_query_out_scores(three, ALPHAS))


@pytest.mark.parametrize("stored", STORED)
def test_queries_longer_than_a_block_are_left_out_in_pieces(stored, monkeypatch):
    monkeypatch.setattr(centred, "_BLOCK_ENTRIES", 90)
    monkeypatch.setattr(centred, "_LEAST_ROWS", 8)
    case = Case(tall() * 3 + 100.0, weighted=True, n_targets=2)
    path, alphas = case.path(STORED[stored](case.X)), np.array([1e-6, 1e-2])
    assert sum(block.is_piece for block in path.gram.rows.blocks) > 4
    spans = [rows for rows, _ in leave_query_out(path, alphas)]
    assert [s.start for s in spans] == [0, *(s.stop for s in spans[:-1])]
    assert spans[-1].stop == 70
    assert error(leave_query_out_scores(path, alphas), case.refit(alphas)) < 1e-8


def test_rows_and_scale_are_those_of_the_reordered_divided_matrix():
    rng = np.random.default_rng(6)
    order, scale = rng.permutation(70), rng.uniform(0.1, 10.0, 9)
    stored = np.empty((70, 9), dtype=np.float32)
    X = tall().astype(np.float32)
    stored[order] = X
    case = Case(X.astype(np.float64) / scale, weighted=True)
    for kind in STORED.values():
        path = case.path(kind(stored), rows=order, transform=ColumnTransform(scale=scale))
        assert error(path.coefficients([1e-3]), case.solve([1e-3])) < 1e-8


def test_a_single_query_left_out_leaves_scores_of_zero():
    case = Case(tall(), np.array([0, 70]))
    assert not np.any(leave_query_out_scores(case.path(), ALPHAS))


def test_the_direct_path_pays_for_few_features_or_few_rows_only():
    assert direct_pays(1_000_000, 136, 136_000_000, 21)
    assert direct_pays(300, 20_000, 6_000_000, 21)
    assert direct_pays(1_000_000, 50, 5_000_000, 1)
    assert not direct_pays(1_000_000, 20_000, 100_000_000, 21)
    assert not direct_pays(100_000, 100_000, 10_000_000, 21)
    assert not direct_pays(1_000_000, 4_000, 4_000_000_000, 1)


def test_more_alphas_never_speak_against_the_direct_path():
    for n_features in (10, 100, 300, 600, 1000):
        few, many = (direct_pays(10**6, n_features, 10**6 * n_features, n) for n in (1, 100))
        assert many >= few
