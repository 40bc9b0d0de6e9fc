import numpy as np
import pytest

from marginrank.solvers.quadratic_forms import DenseForm, form_of


def test_a_dense_form_solves_what_it_multiplies_whatever_the_units():
    rng = np.random.default_rng(0)
    units = 10.0 ** rng.uniform(-6, 6, 8)
    root = rng.standard_normal((8, 20)) * units[:, None]
    form = DenseForm(root @ root.T, 1e-9)
    step = rng.standard_normal(8) / units
    np.testing.assert_allclose(form.solve(form.times(step)) * units, step * units, rtol=1e-6)


def test_flat_directions_are_held_by_alpha():
    matrix = np.zeros((3, 3))
    matrix[0, 0] = 4.0
    form = DenseForm(matrix, 0.5)
    np.testing.assert_allclose(form.solve(np.ones(3)), [1 / 4.5, 2.0, 2.0], rtol=1e-9)
    assert matrix[0, 0] == 4.0


@pytest.mark.parametrize("curvature", [np.array([1.0, 2.0]), np.diag([1.0, 2.0])])
def test_diagonals_and_matrices_mean_the_same(curvature):
    form = form_of(curvature, 0.1)
    np.testing.assert_allclose(form.times(np.ones(2)), [1.1, 2.1], rtol=1e-9)
    np.testing.assert_allclose(form.solve(np.ones(2)), [1 / 1.1, 1 / 2.1], rtol=1e-9)


def test_a_form_among_some_entries_is_that_of_vectors_with_zeros_elsewhere():
    rng = np.random.default_rng(0)
    root, chosen = rng.standard_normal((6, 9)), np.array([True, False, True, True, False, True])
    for curvature in (root @ root.T, rng.random(6) + 0.1):
        form, part = form_of(curvature, 0.2), rng.standard_normal(4)
        whole = np.zeros(6)
        whole[chosen] = part
        np.testing.assert_allclose(form.among(chosen).times(part), form.times(whole)[chosen], rtol=1e-12)
        np.testing.assert_allclose(form.among(chosen).solve(form.among(chosen).times(part)), part, rtol=1e-9)


def test_what_rounding_adds_lets_a_singular_matrix_have_a_factor():
    form = DenseForm(np.ones((2, 2)), 0.0)
    np.testing.assert_allclose(form.solve(np.array([1.0, 1.0])), [0.5, 0.5], rtol=1e-9)
