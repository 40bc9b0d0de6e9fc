"""Forward selection for RankRLS: in every step the feature that makes the held-out error least.

What a step costs depends on what is held out; ``query_out.py`` and ``pair_out.py`` answer for queries and for
pairs of rows. Here is what they share: the choice, and the models of the chosen features.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple, Protocol

import numpy as np

from marginrank.exceptions import MarginRankError
from marginrank.system.memory import physical_memory
from marginrank.types import Array, Mask, Vector

#: Errors that differ by less than this part of the error without features count as equal.
TIED = 1e-12
# As in the compiled selection: less of the squares of a column is rounding.
_ROUNDING = 1e-13


class Parts(NamedTuple):
    """What a held-out figure is the mean of: values, and weights where they do not count alike.

    A pair of rows is in the parts of both, so the standard error of the mean is ``repeated`` times that of
    independent parts.
    """

    values: Vector
    weight: Vector | None
    repeated: float = 1.0


class HeldOutErrors(Protocol):
    """Held-out errors of the chosen features, and of these with each further one."""

    #: ``X'X`` of the chosen columns with all columns, and ``X'y``, in the units of training.
    products: Array
    right_side: Vector
    #: The squared norm of each column, and what is added to it.
    squares: Vector
    shift: float

    @property
    def errors(self) -> Vector:
        """The error of each column with those that are chosen; it means nothing for these."""

    def choose(self, column: int) -> None:
        """Add a column to the model."""

    def error_parts(self) -> Parts:
        """Return what the error of the chosen features is the mean of."""

    def metric_parts(self) -> Parts:
        """Return what the metric of the held-out scores is the mean of."""


class Step(NamedTuple):
    """A feature that was chosen: its column, and the figures of the model with it."""

    column: int
    error: Parts
    metric: Parts


def forward_steps(
    held_out: HeldOutErrors,
    is_open: Mask,
    n_features: int,
    without: float,
    check: Callable[[Vector], None],
) -> Iterator[Step]:
    """Yield the features in the order in which they are chosen; of equally good columns the first.

    Parameters
    ----------
    held_out : HeldOutErrors
        Measures the columns.
    is_open : ndarray of bool, shape (n_columns,)
        Which columns may be chosen.
    n_features : int
        How many to choose, at most as many as may be.
    without : float
        The error without features, which says what is rounding.
    check : callable
        Refuses errors that are not finite.
    """
    is_open = is_open.copy()
    for _ in range(n_features):
        check(held_out.errors[is_open])
        errors = np.where(is_open, held_out.errors, np.inf)
        column = int(np.argmax(errors <= errors.min() + TIED * without))
        is_open[column] = False
        held_out.choose(column)
        yield Step(column, held_out.error_parts(), held_out.metric_parts())


def models_of(held_out: HeldOutErrors, chosen: list[int]) -> list[Vector]:
    """Return the weights of the first, the first two, ... chosen columns, in the units of training.

    By the same elimination as in the selection: what a column has in common with those before it is taken
    out, and what is left of its squares is at least ``shift``, and above the rounding of them.
    """
    k = len(chosen)
    gram = held_out.products[:k, chosen]
    lower = np.zeros((k, k))
    part = np.zeros(k)
    models = []
    for i, column in enumerate(chosen):
        for before in range(i):
            known = lower[i, :before] @ lower[before, :before]
            lower[i, before] = (gram[before, i] - known) / lower[before, before]
        least = max(held_out.shift, _ROUNDING * (held_out.shift + held_out.squares[column]))
        lower[i, i] = np.sqrt(max(gram[i, i] + held_out.shift - lower[i, :i] @ lower[i, :i], least))
        part[i] = (held_out.right_side[column] - lower[i, :i] @ part[:i]) / lower[i, i]
        weights = np.zeros(i + 1)
        for later in range(i, -1, -1):
            weights[later] = part[later] - lower[later + 1 : i + 1, later] @ weights[later + 1 :]
            weights[later] /= lower[later, later]
        models.append(weights)
    return models


def check_room(n_bytes: float, why: str) -> None:
    """Refuse a selection that needs more memory than there is."""
    memory = physical_memory()
    if n_bytes > memory:
        raise MarginRankError.saying(
            "Choosing {n_features} takes {needed:.1f} GB of memory ({why!s}); there are {memory:.1f} GB.",
            "Choose fewer features, leave out columns, or take a sample of the rows.",
            needed=n_bytes / 1e9,
            why=why,
            memory=memory / 1e9,
        )
