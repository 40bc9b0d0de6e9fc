import numpy as np
import pytest

from marginrank.solvers.inverse_hessian import InverseHessian


def test_the_last_pair_satisfies_the_secant_equation():
    rng = np.random.default_rng(0)
    root = rng.standard_normal((6, 6))
    hessian = root @ root.T + np.eye(6)
    inverse = InverseHessian(np.ones(6), 0.1, memory=4)
    for _ in range(9):
        step = rng.standard_normal(6)
        inverse.update(step, hessian @ step)
    np.testing.assert_allclose(inverse.apply(hessian @ step), step, rtol=1e-10)
    assert len(inverse) == 4


def test_products_are_descent_directions():
    rng = np.random.default_rng(1)
    inverse = InverseHessian(rng.random(5), 1e-3, memory=3)
    for _ in range(20):
        gradient = rng.standard_normal(5)
        assert gradient @ inverse.apply(gradient) > 0.0
        inverse.update(rng.standard_normal(5), rng.standard_normal(5))


def test_pairs_without_curvature_are_skipped():
    inverse = InverseHessian(np.ones(2), 1e-3, memory=3)
    inverse.update(np.array([1.0, 0.0]), np.array([-1.0, 0.0]))
    inverse.update(np.array([1.0, 0.0]), np.array([0.0, 0.0]))
    inverse.update(np.array([1.0, 0.0]), np.array([0.0, 1.0]))
    assert len(inverse) == 0


def test_the_diagonal_that_fits_the_steps_is_chosen():
    rng = np.random.default_rng(2)
    curvature = 10.0 ** rng.uniform(-3, 6, 30)
    inverse = InverseHessian(curvature, 1e-6, memory=5)
    for _ in range(5):
        step = rng.standard_normal(30) / np.sqrt(curvature)
        inverse.update(step, curvature * step)
    root = np.sqrt(curvature)
    target = rng.standard_normal(30)
    # The Hessian is the diagonal itself, so the product is nearly exact in its own metric.
    np.testing.assert_allclose(root * inverse.apply(root * target), target, atol=1e-2)


def test_zero_curvature_is_no_problem():
    inverse = InverseHessian(np.zeros(3), 0.5, memory=2)
    assert np.all(np.isfinite(inverse.apply(np.ones(3))))


def test_forgetting_keeps_only_the_diagonal():
    inverse = InverseHessian(np.ones(3), 0.5, memory=2)
    inverse.update(np.ones(3), 2.0 * np.ones(3))
    inverse.forget()
    assert len(inverse) == 0
    assert np.all(inverse.apply(np.ones(3)) > 0.0)


def test_what_was_learnt_at_one_alpha_holds_at_another():
    rng = np.random.default_rng(3)
    root = rng.standard_normal((6, 6))
    risk = root @ root.T
    before, after = InverseHessian(np.ones(6), 0.1, memory=4), InverseHessian(np.ones(6), 0.03, memory=4)
    for _ in range(6):
        step = rng.standard_normal(6)
        before.update(step, risk @ step + 0.1 * step)
        after.update(step, risk @ step + 0.03 * step)
    gradient = rng.standard_normal(6)
    np.testing.assert_allclose(before.at(0.03).apply(gradient), after.apply(gradient), rtol=1e-9)


def test_a_whole_hessian_is_used_at_once_and_is_exact():
    rng = np.random.default_rng(4)
    root = rng.standard_normal((7, 5))
    risk = root @ root.T  # of rank 5: alpha alone holds two directions
    inverse = InverseHessian(risk, 0.3, memory=4)
    gradient = rng.standard_normal(7)
    want = np.linalg.solve(risk + 0.3 * np.eye(7), gradient)
    np.testing.assert_allclose(inverse.apply(gradient), want, rtol=1e-8)
    step = rng.standard_normal(7)
    inverse.update(step, (risk + 0.3 * np.eye(7)) @ step)
    np.testing.assert_allclose(inverse.apply(gradient), want, rtol=1e-8)


def test_a_whole_hessian_that_does_not_fit_the_steps_gives_way_to_a_diagonal():
    rng = np.random.default_rng(5)
    root = rng.standard_normal((6, 6))
    inverse = InverseHessian(1e4 * root @ root.T, 1e-3, memory=1)
    for _ in range(6):
        step = rng.standard_normal(6)
        inverse.update(step, 3.0 * step)
    gradient = rng.standard_normal(6)
    np.testing.assert_allclose(inverse.apply(gradient), gradient / 3.0, rtol=1e-9)


def test_the_way_from_the_last_place_teaches_at_another_alpha_too():
    rng = np.random.default_rng(6)
    root = rng.standard_normal((6, 6))
    risk = root @ root.T
    before, w, other = InverseHessian(np.ones(6), 0.1, memory=4), *rng.standard_normal((2, 6))
    before.visit(w, risk @ w + 0.1 * w)
    assert len(before) == 0
    after = before.at(0.03)
    after.visit(other, risk @ other + 0.03 * other)
    step = other - w
    np.testing.assert_allclose(after.apply(risk @ step + 0.03 * step), step, rtol=1e-10)


@pytest.mark.parametrize("whole", [False, True], ids=["diagonal", "matrix"])
def test_among_free_coefficients_it_is_the_inverse_of_their_hessian(whole):
    rng = np.random.default_rng(0)
    root = rng.standard_normal((6, 12))
    hessian, free = root @ root.T + 0.1 * np.eye(6), np.array([True, True, False, True, False, True])
    inverse = InverseHessian(root @ root.T if whole else np.ones(6), 0.1, memory=4)
    for step in np.eye(6)[free]:  # along each free coefficient once
        inverse.update(step, hessian @ step)
    step = np.where(free, rng.standard_normal(6), 0.0)
    gradient = np.where(free, hessian @ step, 0.0)
    found = inverse.hessian().solve(gradient, free)
    assert not found[~free].any()
    if whole:
        np.testing.assert_allclose(found, step, rtol=1e-8)
    assert float(gradient @ found) > 0.0
