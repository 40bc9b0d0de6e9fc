"""A ranker trained on data that lie on workers, with a journal of what they answered."""

from __future__ import annotations

import os
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

from marginrank.distributed.journal import journalled
from marginrank.distributed.journal_records import digest
from marginrank.distributed.remote_data import RemoteData
from marginrank.estimators import RankRLS, RankSVM, StructuredRankSVM
from marginrank.exceptions import MarginRankError

_NO_MATTER = {"n_jobs", "verbose"}
_RANKERS = (RankSVM, RankRLS, StructuredRankSVM)


def check_trainable(ranker: Any) -> None:
    """Refuse rankers that need the rows in memory."""
    if not isinstance(ranker, _RANKERS):
        known = ", ".join(kind.__name__ for kind in _RANKERS)
        raise MarginRankError(
            f"estimator must be one of {known}; got {type(ranker).__name__}. Kernels train in memory, on a "
            "sample of the rows; a feature map makes columns of them before the data are written."
        )
    if getattr(ranker, "solver", None) == "direct":
        raise MarginRankError(
            "The direct solver needs the rows in memory, and these lie on workers. Use solver='cg' or 'auto'."
        )


def fit_on_workers(
    ranker: Any,
    data: RemoteData,
    sets: Any,
    journal: str | os.PathLike[str] | None,
    *,
    resume: bool,
    **options: Any,
) -> None:
    """Fit a ranker in place.

    Parameters
    ----------
    ranker : RankSVM, RankRLS or StructuredRankSVM
        What to train.
    data : RemoteData
        Labelled rows, or rows with explicit pairs.
    sets : RemoteData, RankingData, (X, y), a list of these, or None
        Validation sets.
    journal : path, optional
        Where answers of the workers are kept.
    resume : bool
        Whether the journal is there and to be gone on with.
    **options
        Of the ranker's ``fit``.
    """
    path = None if journal is None else Path(journal)
    known = _parameters(ranker) | _digests(options)
    with journalled(data, sets, path, known, resume=resume) as (rows, validation):
        fit = ranker.fit if rows.pairs is None else ranker.fit_pairs
        fit(rows, eval_set=validation, **options)


def _digests(options: dict[str, Any]) -> dict[str, str]:
    """Return what a model depends on among the options of ``fit``: scores that are added before the loss."""
    names = [name for name in ("offset", "eval_offset") if options.get(name) is not None]
    return {name: digest(np.asarray(options[name])) for name in names}


def _parameters(ranker: Any) -> dict[str, str]:
    """Return all that a model depends on beside the data."""
    given = ranker.get_params(deep=False)
    kept = {name: repr(value) for name, value in given.items() if name not in _NO_MATTER}
    if getattr(ranker, "warm_start", False) and hasattr(ranker, "coef_"):
        kept["start"] = digest(ranker.coef_)
    return {"ranker": type(ranker).__name__, "version": version("marginrank"), **kept}
