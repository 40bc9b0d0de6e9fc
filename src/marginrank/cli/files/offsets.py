"""``--offset`` and ``--eval-offset``: scores that a model is trained on top of, from files or a column."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import click
import numpy as np
from scipy import sparse

from marginrank.cli.command import Decorator, option
from marginrank.cli.files.reading import read_scores
from marginrank.data import RankingData
from marginrank.data.matrices import in_memory, is_sparse
from marginrank.data.ranking_data import rebuilt
from marginrank.exceptions import MarginRankError, did_you_mean
from marginrank.io.places import is_there
from marginrank.types import Vector

offset_options: tuple[Decorator, ...] = (
    option(
        "--offset",
        group="Data",
        metavar="FILE|COLUMN",
        help="Scores that are added before the loss: one a line of a file, or a feature of the data by name "
        "or number.",
    ),
    option(
        "--eval-offset",
        group="Data",
        metavar="FILE",
        help="Those of the rows of --validate, where --offset is a file.",
    ),
)


@dataclass(frozen=True)
class Offsets:
    """Scores to train on top of, as they were named on the command line; None is none."""

    training: str | None
    validation: str | None

    @property
    def from_file(self) -> bool:
        """Whether the scores lie in a file; else they are a column of the data."""
        return self.training is not None and (self.training == "-" or is_there(self.training))

    def check(self, *, validate: str | None, refit: bool) -> None:
        """Refuse what cannot work before anything is read."""
        if self.training == self.validation == "-":
            raise click.UsageError("Only one of the inputs can come from standard input.")
        if self.training is None:
            if self.validation is not None:
                raise click.UsageError("--eval-offset belongs to --offset; give that, too.")
            return
        if refit:
            raise click.UsageError("--refit does not take --offset; train on all rows with the alpha chosen.")
        if self.validation is not None and validate is None:
            raise click.UsageError("--eval-offset is of the rows of --validate; give that, too.")
        if self.from_file and validate is not None and self.validation is None:
            raise click.UsageError("--offset is a file, so the rows of --validate need --eval-offset.")
        if not self.from_file and self.validation is not None:
            raise click.UsageError(
                "--offset is a column, which the rows of --validate have, too; leave out --eval-offset."
            )

    def taken(
        self, rows: RankingData, validation: RankingData | None, first: int
    ) -> tuple[RankingData, dict[str, Any], Vector | None]:
        """Return the training rows without a column of offsets, options of ``fit``, and validation offsets.

        Features are counted from ``first``. A column stays where it is, but holds nothing: its weight is 0.
        """
        if self.training is None:
            return rows, {}, None
        if self.from_file:
            given = read_scores(self.training, rows.n_rows)
            eval_offset: Vector | None = None
            if validation is not None and self.validation is not None:
                eval_offset = read_scores(self.validation, validation.n_rows)
            return rows, {"offset": given}, eval_offset
        column = _column(self.training, rows, first)
        given = _values(rows, column)
        eval_offset = None if validation is None else _values(validation, column)
        return rebuilt(rows, qid=rows.qid, X=_emptied(rows.X, column)), {"offset": given}, eval_offset


def _column(name: str, rows: RankingData, first: int) -> int:
    names = rows.feature_names
    if names is not None and name in names:
        return list(names).index(name)
    is_number = name.isdecimal() and len(name) < 20  # Python refuses to read thousands of digits
    if is_number and names is None and first <= int(name) < first + rows.n_features:
        return int(name) - first
    hint = "" if names is None else did_you_mean(name, names)
    raise MarginRankError.saying(
        "{offset} must be a file of scores or a feature of the data; got {name!r}.{hint!s}",
        name=name,
        hint=hint,
    )


def _values(rows: RankingData, column: int) -> Vector:
    if not in_memory(rows.X):
        raise MarginRankError.saying("{offset} of data on disk must be a file with one score a line.")
    found: Any = rows.X[:, [column]]
    return np.asarray(found.toarray() if is_sparse(found) else found, dtype=np.float64).ravel()


def _emptied(X: Any, column: int) -> Any:
    """Return a copy of a matrix whose column is 0."""
    emptied = X.copy()
    if not is_sparse(emptied):
        emptied[:, column] = 0.0
        return emptied
    keep = np.ones(X.shape[1])
    keep[column] = 0.0
    kept = emptied @ sparse.diags(keep, format="csr")
    kept.eliminate_zeros()
    return kept


def on_top(scores: Vector, offset: Vector | None) -> list[float]:
    """Return the scores of a model on top of others.

    Examples
    --------
    >>> on_top(np.array([1.0, 2.0]), np.array([0.5, 0.0]))
    [1.5, 2.0]
    """
    total: list[float] = (scores if offset is None else scores + offset).tolist()
    return total
