"""The table of validation figures: what an interrupt leaves half noted is noted again, whole."""

import numpy as np
import pytest

from marginrank.training.validation_table import ValidationTable


class Iterates:
    """Conjugate gradients at two alphas; the n-th look at the coefficients is interrupted."""

    def __init__(self):
        self.alphas = np.array([1.0, 0.1])
        self.active = np.ones(2, dtype=bool)
        self.iteration = 0
        self.looks_left = np.inf
        self._w = np.zeros((2, 1, 3))

    def advance(self):
        self.iteration += 1
        self._w = self._w + 1.0

    @property
    def carried(self):
        return self._w[..., :2]

    @property
    def w(self):
        self.looks_left -= 1
        if self.looks_left == 0:
            raise KeyboardInterrupt
        return self._w


def measure(scores):
    """The figure falls with every iteration."""
    figures = -scores[:, 0, 0]
    return figures, figures[:, None]


def test_an_iteration_whose_note_was_interrupted_is_the_best_one_too():
    cg, table = Iterates(), ValidationTable(measure, higher_is_better=False, patience=None)
    table.watch(cg)
    cg.advance()
    cg.looks_left = 1
    with pytest.raises(KeyboardInterrupt):
        table.watch(cg)
    cg.looks_left = np.inf
    table.catch_up(cg)
    np.testing.assert_array_equal(table.best_w, np.ones((2, 1, 3)))
    np.testing.assert_array_equal(table.best_iteration, [1, 1])
    np.testing.assert_array_equal(table.table, [[0.0, -1.0], [0.0, -1.0]])
