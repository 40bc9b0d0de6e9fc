"""What all computed paths share: choosing an alpha on validation rows, and leaving a model behind."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from importlib.metadata import version
from typing import Any, Literal, TypeVar

import numpy as np
from numpy.typing import NDArray

from marginrank.data import RankingData
from marginrank.data import validation as gate
from marginrank.data.frames import split_frame
from marginrank.exceptions import MarginRankError, ParameterError
from marginrank.markup import facts
from marginrank.metrics import Metric, parse_metric
from marginrank.model import RankingModel
from marginrank.parameters import check_count, check_positive
from marginrank.paths.selection import PathSelection, select_on_rows
from marginrank.solvers.certificate import relative_gap
from marginrank.system.threads import one_blas_thread
from marginrank.training.selection import DEFAULT_METRIC, MOST_ALPHAS, Rule
from marginrank.types import Matrix, Vector

_Made = TypeVar("_Made")


@dataclass(frozen=True)
class PathOrigin:
    """How a path came about, for the models that it leaves.

    Parameters
    ----------
    function : str
        Which function computed it.
    parameters : mapping
        Its parameters, in JSON values.
    metric : str or Metric
        What ``select`` measures by default.
    """

    function: str = "rank_path"
    parameters: Mapping[str, Any] = field(default_factory=dict)
    metric: str | Metric = DEFAULT_METRIC


class RankPath(ABC):
    """A model for every alpha of an interval.

    Attributes
    ----------
    feature_names_ : tuple of str or None
        Names of the columns, where the training data had them.
    selection_ : PathSelection or None
        What the last ``select`` found.
    """

    def __init__(
        self,
        X: Matrix,
        n_jobs: int | None = None,
        *,
        feature_names: tuple[str, ...] | None = None,
        origin: PathOrigin | None = None,
    ) -> None:
        self._X = X
        self._n_jobs = n_jobs
        self._origin = PathOrigin() if origin is None else origin
        self.feature_names_ = feature_names
        self.selection_: PathSelection | None = None

    def _repr_html_(self) -> str:
        top, bottom = self._ends()
        eps = getattr(self, "eps", None)
        shown: list[tuple[object, object]] = [
            ("path", f"{self._origin.function}, {getattr(self, 'status_', 'finished')}"),
            ("alpha", f"{top:.3g} down to {bottom:.3g}"),
            ("certificate", "exact" if eps is None else f"every model within {eps:g} of its optimum"),
        ]
        chosen = self.selection_
        if chosen is not None:
            shown.append(("chosen", f"alpha {chosen.alpha:.3g}: {chosen.metric} {chosen.score:.4f}"))
        return facts(shown)

    @abstractmethod
    def coef_at(self, alpha: float) -> Vector:
        """Return the coefficients of the model."""

    @abstractmethod
    def predict(self, X: Any, *, alpha: float) -> Vector:
        """Return a score for each row."""

    @abstractmethod
    def gap_at(self, alpha: float) -> float:
        """Return how far the objective of the model is from the optimum at most, relative to it."""

    @abstractmethod
    def objective_at(self, alpha: float) -> tuple[float, float]:
        """Return an upper bound of the objective of the model and a lower bound of the optimum."""

    @abstractmethod
    def _ends(self) -> tuple[float, float]:
        """Return the largest and the smallest alpha worth choosing from."""

    @abstractmethod
    def _scores(self, X: Matrix, alphas: Vector) -> NDArray[np.float64]:
        """Return scores of further rows at several alphas, descending, of shape (n_alphas, n_rows)."""

    @abstractmethod
    def _model_parts(self, alpha: float) -> dict[str, Any]:
        """Return the arguments of a RankingModel that make its scores."""

    def grid(self, n_alphas: int = 200) -> Vector:
        """Return alphas of the path, evenly spaced in their logarithm, descending.

        Parameters
        ----------
        n_alphas : int, default=200
            How many; the ends of the path are among them.

        Returns
        -------
        ndarray of shape (n_alphas,)
            A single one where the path has a single model.
        """
        count = check_count(n_alphas, "n_alphas", most=MOST_ALPHAS)
        top, bottom = self._ends()
        if top == bottom:
            return np.array([top])
        alphas = np.geomspace(top, bottom, count)
        alphas[0] = top
        if count > 1:
            alphas[-1] = bottom
        return alphas

    def select(
        self,
        X: Any,
        y: Any = None,
        *,
        qid: Any = None,
        metric: str | Metric | None = None,
        rule: Rule = "best",
        n_alphas: int = 200,
    ) -> PathSelection:
        """Choose alpha by a metric on validation rows.

        Parameters
        ----------
        X, y, qid
            Validation rows, or a ``RankingData``.
        metric : str or Metric, optional
            What to select by; by default the pairwise error, or what the path was trained for.
        rule : {"best", "one_se"}, default="best"
            Take the best alpha, or the largest within half of the standard error of the difference to it.
        n_alphas : int, default=200
            Points of the validation curve, evenly spaced in the logarithm of alpha.

        Returns
        -------
        PathSelection
            The chosen alpha, its model, and the curve. The path remembers it for ``plot``.
        """
        data = X if isinstance(X, RankingData) and y is None and qid is None else RankingData(X, y, qid=qid)
        self._check_width(data.X)
        by = self._origin.metric if metric is None else parse_metric(metric)
        with one_blas_thread():
            chosen = select_on_rows(
                data, self.grid(n_alphas), self._scores, self._predict, by, rule, self._n_jobs
            )
            self.selection_ = PathSelection(chosen, str(by), self.coef_at(chosen.alpha), self)
        return self.selection_

    def to_model(
        self,
        alpha: float,
        *,
        query_normalization: Literal["minmax"] | None = None,
        metadata: Mapping[str, Any] | None = None,
    ) -> RankingModel:
        """Return the model at one alpha alone, to score, save and export.

        Parameters
        ----------
        alpha : float
            Any alpha of the path.
        query_normalization : {None, "minmax"}, default=None
            Say "minmax" if the training data were normalised by ``RankingData.normalized_by_query()``: the
            model then does the same to the data it scores.
        metadata : mapping, optional
            Further entries of the metadata of the model, in JSON values.

        Returns
        -------
        RankingModel
            With the feature names of the training data.
        """
        alpha = check_positive(alpha, "alpha")
        if metadata is not None and not isinstance(metadata, Mapping):
            raise ParameterError("metadata", "a mapping", metadata)
        value, bound = self.objective_at(alpha)
        known = {
            "estimator": self._origin.function,
            "parameters": dict(self._origin.parameters),
            "library_version": version("marginrank"),
            "alpha": alpha,
            "scale": getattr(self, "scale_", None),
            "objective": value,
            "lower_bound": bound,
            "gap": relative_gap(value, bound),
        }
        return RankingModel(
            feature_names=self.feature_names_,
            query_normalization=query_normalization,
            metadata={**known, **(metadata or {})},
            **self._model_parts(alpha),
        )

    def _predict(self, data: RankingData, alpha: float) -> Vector:
        return self.predict(data, alpha=alpha)

    def _check_width(self, X: Matrix) -> None:
        if X.shape[1] != self._X.shape[1]:
            raise MarginRankError(
                f"X has {X.shape[1]} columns, but the path was computed with {self._X.shape[1]}."
            )

    def _rows_of(self, X: Any) -> Matrix:
        """Return the features of rows to score, checked."""
        if isinstance(X, RankingData):
            rows = X.X
        else:
            X, _ = split_frame(X)
            rows, names = gate.check_matrix(X)
            gate.check_finite(rows, names)
        self._check_width(rows)
        return rows


def made_despite_interrupt(make: Callable[[str], _Made], status: str) -> _Made:
    """Return what is made of finished work with its status; Ctrl-C does not lose it, but the second one does.

    Examples
    --------
    >>> left = [1]
    >>> def make(status):
    ...     if left:
    ...         left.pop()
    ...         raise KeyboardInterrupt
    ...     return status
    >>> made_despite_interrupt(make, "finished")
    'interrupted'
    """
    try:
        return make(status)
    except KeyboardInterrupt:
        if status == "interrupted":
            raise
        return make("interrupted")
