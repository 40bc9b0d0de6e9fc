"""Folds for choosing alpha: a number of them, a splitter of scikit-learn, or given splits."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Set
from types import ModuleType
from typing import Any

import numpy as np

from marginrank.data import RankingData
from marginrank.data.validation import as_array
from marginrank.exceptions import MarginRankError, ParameterError, shown
from marginrank.parameters import whole_number
from marginrank.types import Rows

# Rows and pairs come in any order, often sorted by label: folds take them by a fixed permutation.
FOLD_SEED = 20120


def check_enough(found: int, folds: int, what: str) -> None:
    """Refuse more folds than there are things to deal."""
    if found < folds:
        raise MarginRankError.saying(
            "{cv=} wants as many folds, but there are {found:d} {what!s}; give a smaller {cv}, or "
            "{eval_set}.",
            cv=folds,
            found=found,
            what=what,
        )


def dealt(n: int, folds: int, what: str) -> list[tuple[Rows, Rows]]:
    """Return folds of n things, by a fixed permutation."""
    check_enough(n, folds, what)
    shuffled = np.random.default_rng(FOLD_SEED).permutation(n)
    parts = [np.sort(shuffled[k::folds]) for k in range(folds)]
    return [(np.sort(np.concatenate(parts[:k] + parts[k + 1 :])), parts[k]) for k in range(folds)]


def check_cv(cv: Any) -> None:
    """Refuse what is neither a number of folds nor gives any."""
    folds = whole_number(cv)
    if folds is not None and folds < 2:
        raise ParameterError("cv", "at least 2 folds", cv)
    splits = isinstance(cv, Iterable) and not isinstance(cv, str | bytes | Mapping | Set)
    if folds is None and not _is_splitter(cv) and (not splits or getattr(cv, "ndim", 1) == 0):
        raise _no_folds(cv)


def _is_splitter(cv: Any) -> bool:
    return callable(getattr(cv, "split", None)) and not isinstance(cv, str | bytes | type | ModuleType)


def _no_folds(cv: Any) -> MarginRankError:
    return MarginRankError(
        f"cv must be a number of folds, a splitter, or a list of (train, test) row numbers; got {shown(cv)}."
    )


def given_folds(cv: Any, data: RankingData) -> list[tuple[Rows, Rows]]:
    """Return the folds of a splitter or of a list of splits."""
    if _is_splitter(cv):
        cv = cv.split(np.zeros((data.n_rows, 1)), data.y, data.qid)  # splitters count the rows of X only
    splits = list(cv)
    if not all(isinstance(split, tuple | list) and len(split) == 2 for split in splits):
        raise _no_folds(cv)
    folds = [(_row_numbers(train, data.n_rows), _row_numbers(test, data.n_rows)) for train, test in splits]
    if not folds:
        raise MarginRankError("cv gave no folds.")
    return folds


def _row_numbers(rows: Any, n_rows: int) -> Rows:
    found = as_array(rows, "Each split of cv")
    if found.dtype == bool and found.shape == (n_rows,):
        found = np.flatnonzero(found)
    if found.ndim != 1 or found.dtype.kind not in "iu" or not len(found):
        raise MarginRankError("Each split of cv must be two lists of row numbers that are not empty.")
    if found.min() < 0 or found.max() >= n_rows:
        raise MarginRankError(f"Row numbers of cv must be from 0 to {n_rows - 1}; got {found.max()}.")
    return np.unique(found).astype(np.int64)
