"""What a report is about: models and scores, with the rows that each sees."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

import numpy as np

from marginrank.data import RankingData
from marginrank.data import validation as gate
from marginrank.exceptions import MarginRankError, ParameterError
from marginrank.explanation.margins import names_of
from marginrank.export.base import ExportedModel
from marginrank.model import RankingModel
from marginrank.types import Vector


@dataclass(frozen=True, eq=False)
class Candidate:
    """One of those that a report shows side by side.

    Parameters
    ----------
    name : str
        What it is called.
    model : RankingModel or None
        None where there are only scores.
    scores : ndarray of shape (n_rows,) or None
        Of the test rows; None where there are none.
    rows : RankingData or None
        The test rows with the columns of the model.
    names : tuple of str or None
        What to call the columns of the model; None for its own names.
    """

    name: str
    model: RankingModel | None
    scores: Vector | None
    rows: RankingData | None
    names: tuple[str, ...] | None = None

    @property
    def columns(self) -> tuple[str, ...]:
        """What the columns of the model are called."""
        assert self.model is not None
        return names_of(cast("ExportedModel", self.model)) if self.names is None else self.names


def candidates(models: Any, test: RankingData | None, n_jobs: int | None) -> list[Candidate]:
    """Return what callers gave as models or scores, named.

    Parameters
    ----------
    models : mapping of names, or a sequence
        Each a RankingModel, a fitted ranker, or an array with a score for each row of ``test``.
    test : RankingData or None
        What they are measured on.
    n_jobs : int or None
        Threads.
    """
    return [_candidate(name, one, test, n_jobs) for name, one in _named(models).items()]


def _named(models: Any) -> dict[str, Any]:
    if models is None:
        return {}
    if isinstance(models, Mapping):
        return {str(name): one for name, one in models.items()}
    if _is_model(models):
        return {"model": models}
    if isinstance(models, Sequence) and not isinstance(models, str | bytes) and all(map(_is_model, models)):
        return {f"model {k}": one for k, one in enumerate(models, 1)}
    raise ParameterError(
        "models",
        "a model, a list of models, or a dict of models or scores by name",
        models,
    )


def _is_model(value: Any) -> bool:
    return isinstance(value, RankingModel) or (hasattr(value, "to_model") and not isinstance(value, type))


def _candidate(name: str, given: Any, test: RankingData | None, n_jobs: int | None) -> Candidate:
    if _is_model(given) or hasattr(given, "steps"):
        model = given if isinstance(given, RankingModel) else RankingModel.from_estimator(given)
        scores = None if test is None else model.predict(test, n_jobs=n_jobs)
        return Candidate(name, model, scores, test)
    if test is None:
        raise MarginRankError("models holds scores, which need test, the rows that they are of.")
    try:
        scores = gate.check_scores(given, test.n_rows)
    except MarginRankError as error:
        raise error.about(f"models[{name!r}]: ") from None
    return Candidate(name, None, np.asarray(scores), test)
