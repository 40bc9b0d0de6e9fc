import numpy as np
import pytest

from marginrank.solvers.lower_lines import LowerLines, Node

EPS = 0.01


def lines_of(table):
    lines = LowerLines()
    for alpha, level, length in table:
        lines.add(alpha, level, length, 1)
    return lines


def random_lines(rng):
    """Lines that touch ``alpha * optimum`` of the optimum ``2 sqrt(alpha)``, or stay a little below."""
    touched = rng.uniform(0.5, 2.0, size=rng.integers(1, 5))
    # alpha^1.5 * 2 has the tangent 3 sqrt(t) alpha - t^1.5 at t.
    return lines_of([(t, 3 * np.sqrt(t) * rng.uniform(0.99, 1), np.sqrt(2 * t**1.5)) for t in touched])


@pytest.mark.parametrize("seed", range(20))
def test_the_hole_is_where_no_line_reaches_the_chord(seed):
    rng = np.random.default_rng(seed)
    lines = random_lines(rng)
    low, high = np.sort(rng.uniform(0.5, 2.0, size=2))
    below, above = Node(low, 2 * low**1.5), Node(high, 2 * high**1.5)
    hole = lines.hole(below, above, EPS)
    alphas = np.linspace(low, high, 2001)
    chord = np.interp(alphas, [low, high], [below.product, above.product])
    is_open = (1 - EPS) * chord > lines.at(alphas)
    first, last = (np.inf, -np.inf) if hole is None else hole
    expected = (alphas > first) & (alphas < last)
    near = np.isclose(alphas, first, rtol=1e-6) | np.isclose(alphas, last, rtol=1e-6)
    np.testing.assert_array_equal(is_open[~near], expected[~near])


def test_the_line_zero_proves_nothing_but_a_value_of_zero():
    lines = LowerLines()
    assert lines.hole(Node(1.0, 1.0), Node(2.0, 2.0), EPS) == (1.0, 2.0)
    assert lines.hole(Node(1.0, 0.0), Node(2.0, 0.0), EPS) is None


def test_a_node_is_proved_within_eps_and_not_beyond():
    lines = lines_of([(1.0, 1.0, 0.0)])
    assert lines.prove(Node(1.0, (1.0 - 1e-12) / (1 - EPS)), EPS)
    assert not lines.prove(Node(1.0, 1.0 / (1 - EPS)), EPS)  # a line is only known up to its rounding
    assert not lines.prove(Node(1.0, 1.0001 / (1 - EPS)), EPS)


@pytest.mark.parametrize("unit", [1e-200, 1e200])
def test_holes_follow_the_unit_of_alpha(unit):
    table = [(t, 3 * np.sqrt(t), np.sqrt(2 * t**1.5)) for t in (0.5, 2.0)]  # as above, at both ends
    below, above = (Node(t, 2 * t**1.5) for t in (0.5, 2.0))
    expected = lines_of(table).hole(below, above, EPS)
    assert expected is not None
    assert below.alpha < expected[0] < expected[1] < above.alpha
    # A value has no unit, so its product with alpha has that of alpha; the length has the root of it.
    scaled = lines_of([(unit * alpha, level, np.sqrt(unit) * length) for alpha, level, length in table])
    hole = scaled.hole(*(Node(unit * node.alpha, unit * node.product) for node in (below, above)), EPS)
    assert hole == pytest.approx((unit * expected[0], unit * expected[1]), rel=1e-6)


def test_lines_come_after_the_line_zero():
    lines = lines_of([(0.5, 1.0, 0.0)])
    assert lines.alphas.tolist() == [1.0, 0.5]
    assert lines.n_active.tolist() == [0, 1]


def test_lines_that_meet_on_the_chord_leave_no_hole(monkeypatch):
    # One reaches the chord from the left, one from the right, both as far as its middle.
    missing = {1.0: np.array([-1.0, 1.0]), 3.0: np.array([1.0, -1.0])}
    lines = LowerLines()
    monkeypatch.setattr(lines, "_open", lambda node, eps: missing[node.alpha])
    assert lines.hole(Node(1.0, 1.0), Node(3.0, 3.0), EPS) is None
