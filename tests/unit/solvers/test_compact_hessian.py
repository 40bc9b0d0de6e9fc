import numpy as np
import pytest

from marginrank.solvers.compact_hessian import CompactHessian
from marginrank.solvers.quadratic_forms import DenseForm, DiagonalForm

N = 9


def bfgs(start, pairs):
    """Return what the update of BFGS makes of a matrix, pair by pair."""
    matrix = start.copy()
    for step, change in pairs:
        along = matrix @ step
        matrix += np.outer(change, change) / (step @ change) - np.outer(along, along) / (step @ along)
    return matrix


@pytest.fixture(name="problem", params=["diagonal", "dense"])
def hessian_and_matrix(request):
    rng = np.random.default_rng(0)
    root = rng.standard_normal((N, N))
    hidden = root @ root.T + 0.1 * np.eye(N)
    pairs = [(step, hidden @ step) for step in rng.standard_normal((4, N))]
    form = (
        DiagonalForm(rng.uniform(0.5, 2.0, N))
        if request.param == "diagonal"
        else DenseForm(root[:, :3] @ root[:, :3].T, 0.5)
    )
    start = np.array([form.times(unit) for unit in np.eye(N)]) / 0.7
    return CompactHessian(form, 0.7, pairs), bfgs(start, pairs)


def test_products_are_those_of_the_updated_matrix(problem):
    hessian, matrix = problem
    found = np.array([hessian.times(unit) for unit in np.eye(N)])
    np.testing.assert_allclose(found, matrix, rtol=0.0, atol=1e-10 * np.abs(matrix).max())


@pytest.mark.parametrize("n_free", [1, 3, 7, N])
def test_the_inverse_among_free_coefficients_is_that_of_their_block(problem, n_free):
    hessian, matrix = problem
    rng = np.random.default_rng(1)
    free = np.zeros(N, dtype=bool)
    free[rng.permutation(N)[:n_free]] = True
    vector = rng.standard_normal(N)
    found = hessian.solve(vector, free)
    assert not found[~free].any()
    want = np.linalg.solve(matrix[np.ix_(free, free)], vector[free])
    np.testing.assert_allclose(found[free], want, rtol=1e-7)


def test_without_pairs_it_is_the_form():
    hessian = CompactHessian(DiagonalForm(np.array([1.0, 4.0])), 0.5, [])
    assert hessian.times(np.ones(2)).tolist() == [2.0, 8.0]
    assert hessian.solve(np.ones(2), np.array([False, True])).tolist() == [0.0, 0.125]
