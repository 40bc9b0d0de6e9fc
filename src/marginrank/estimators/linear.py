"""What every linear ranker shares: one fit, prediction, and the score."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager
from functools import partial
from importlib.metadata import version
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted, validate_data

from marginrank.data import RankingData
from marginrank.data import validation as gate
from marginrank.data.finite import check_finite_results, extremes, finite_arithmetic, finite_scores
from marginrank.data.queries import check_qid
from marginrank.designs import Design, matrix_design
from marginrank.exceptions import MarginRankError
from marginrank.losses import ComparesPairs, Loss
from marginrank.metrics import Metric, pairwise_error
from marginrank.metrics.names import parse_metrics
from marginrank.model import RankingModel
from marginrank.parameters import check_choice, check_flag, check_verbose
from marginrank.system.threads import resolve_threads
from marginrank.training.evaluation_sets import EvaluationSet, read_evaluation_sets
from marginrank.training.problems import Problem
from marginrank.types import Vector

# How the training ran, not what came out of it: the same model shall give the same file.
_NOT_IN_MODEL = {"n_jobs", "verbose"}
_SEARCH_RESULTS = (
    "alphas_",
    "gammas_",
    "validation_curve_",
    "validation_std_",
    "validation_table_",
    "evals_result_",
    "best_iteration_",
    "best_score_",
)
_CERTIFICATE = ("alpha", "objective", "lower_bound", "gap", "n_iter", "n_pairs", "n_queries")


class LinearRanker(BaseEstimator):  # type: ignore[misc]  # scikit-learn has no types
    """Base of the linear rankers: ``predict`` is ``X @ coef_``."""

    alpha: float | str
    alphas: Any
    metric: Any
    cv: Any
    rule: Any
    scale: Any
    weighting: Any = "pairs"
    n_jobs: int | None
    verbose: int
    coef_: NDArray[np.float64]
    column_scale_: NDArray[np.float64] | None
    n_features_in_: int
    _trained_on_queries: bool
    _uses_size_of_labels: ClassVar[bool] = False

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.target_tags.required = True
        return tags

    def predict(self, X: Any) -> NDArray[np.float64]:
        """Return a score for each row; within a query, higher is better.

        Parameters
        ----------
        X : array-like, sparse matrix, data frame or RankingData of shape (n_rows, n_features)
            The features; the column ``qid`` of a data frame is ignored.

        Returns
        -------
        ndarray of shape (n_rows,), or (n_rows, n_targets) where there are several targets
            Scores, in the order of the rows.
        """
        check_is_fitted(self, "coef_")
        if isinstance(X, RankingData):
            self._check_width(X, reset=False)
            if X.allow_nonfinite:
                gate.check_finite(X.X, X.feature_names)
            return self._scores(X.X)
        return self._scores(self._check_matrix(X, reset=False))

    def to_model(self, *, query_normalization: Literal["minmax"] | None = None) -> RankingModel:
        """Return the fitted model alone, to score, save and export.

        Parameters
        ----------
        query_normalization : {None, "minmax"}, default=None
            Say "minmax" if the training data were normalised by ``RankingData.normalized_by_query()``: the
            model then does the same to the data it scores.

        Returns
        -------
        RankingModel
            Its ``predict`` gives the same scores, to the last bit, on features as they were in training.

        Examples
        --------
        >>> from marginrank import RankSVM
        >>> ranker = RankSVM().fit([[0.0], [1.0]], [0, 1])
        >>> ranker.to_model().metadata["estimator"]
        'RankSVM'
        """
        check_is_fitted(self, "coef_")
        if self.coef_.ndim != 1:
            raise MarginRankError(
                f"A model scores one target; this {type(self).__name__} has {len(self.coef_)}. Train on one "
                "column of y, or take the rows of coef_ apart."
            )
        parameters = {
            name: value
            for name, value in self.get_params(deep=False).items()
            if name not in _NOT_IN_MODEL and _can_be_written(value)
        }
        figures = {name: getattr(self, f"{name}_", None) for name in _CERTIFICATE}
        return RankingModel(
            self.coef_,
            feature_names=getattr(self, "feature_names_in_", None),
            query_normalization=query_normalization,
            **self._model_parts(),
            metadata={
                "estimator": type(self).__name__,
                "parameters": parameters,
                "library_version": version("marginrank"),
                **figures,
            },
        )

    def _check_shared(self) -> None:
        """Check the parameters that every linear ranker has."""
        check_choice("scale", self.scale, (None, "standard", "minmax"))
        check_flag(getattr(self, "warm_start", False), "warm_start")
        check_verbose(self.verbose)
        resolve_threads(self.n_jobs)

    def _model_parts(self) -> dict[str, Any]:
        """Return what a model of this kind holds beside the coefficients."""
        return {"column_scale": self.column_scale_}

    def _scoring_design(self, matrix: Any) -> Design:
        """Return the design of rows that are scored once."""
        return matrix_design(matrix, n_threads=resolve_threads(self.n_jobs))

    def _scores(self, matrix: Any) -> NDArray[np.float64]:
        def compute() -> NDArray[np.float64]:
            design = self._scoring_design(matrix)
            return design.scores(self.coef_) if self.coef_.ndim == 1 else design.scores_block(self.coef_).T

        scores: NDArray[np.float64] = finite_scores(type(self).__name__, matrix, compute)
        return scores

    def score(
        self,
        X: Any,
        y: Any = None,
        *,
        qid: Any = None,
        group: Any = None,
        sample_weight: Any = None,
        query_weight: Any = None,
    ) -> float:
        """Return 1 minus the pairwise error: the share of pairs in the right order, ties half.

        Parameters
        ----------
        X, y, qid, group, sample_weight, query_weight
            As in ``fit``. The mean is over pairs or over queries, as ``weighting`` says.

        Returns
        -------
        float
            1 for a perfect order, 0.5 for chance.
        """
        check_is_fitted(self, "coef_")
        data = self._ranking_data(X, y, qid, group, sample_weight, query_weight, reset=False)
        if data.y is None:
            raise MarginRankError("These data hold pairs and no y; score compares with y.")
        return self._agreement(data, data.y, self._scores(data.X))

    def _agreement(self, data: RankingData, y: Vector, scores: Vector) -> float:
        if data.query_ids is None and self._trained_on_queries:
            raise MarginRankError(
                "The model was trained on queries, but score got no qid and would treat all rows as one "
                "query. Pass qid=..., or the same id for every row if that is what you mean."
            )
        return 1.0 - pairwise_error(
            y,
            scores,
            qid=data.qid,
            sample_weight=data.sample_weight,
            query_weight=data.query_weight,
            weighting=self.weighting,
            n_jobs=self.n_jobs,
        )

    def _ranking_data(
        self,
        X: Any,
        y: Any,
        qid: Any,
        group: Any,
        sample_weight: Any,
        query_weight: Any,
        *,
        reset: bool,
        qid_name: str = "qid",
    ) -> RankingData:
        """Return validated data, from arrays or from data that were validated before."""
        if isinstance(X, RankingData):
            if any(extra is not None for extra in (y, qid, group, sample_weight, query_weight)):
                raise MarginRankError("RankingData carries y, qid and weights; do not pass them again.")
            self._check_width(X, reset=reset)
            return X
        if y is None:
            hint = "; to learn from pairs alone, use fit_pairs" if hasattr(self, "fit_pairs") else ""
            raise MarginRankError(
                f"This {type(self).__name__} estimator requires y to be passed, but the target y is None"
                f"{hint}."
            )
        X, qid = gate.split_frame(X, qid, group)
        X = self._check_matrix(X, reset=reset, min_rows=2)
        if qid is not None and qid_name != "qid":
            qid = check_qid(qid, X.shape[0], qid_name)
        return RankingData(
            X,
            y,
            qid=qid,
            group=group,
            sample_weight=sample_weight,
            query_weight=query_weight,
            feature_names=getattr(self, "feature_names_in_", None),
        )

    def _paired_data(
        self, X: Any, pairs: Any, weight: Any, margin: Any, margin_name: str = "margin"
    ) -> RankingData:
        if isinstance(X, RankingData):
            if any(extra is not None for extra in (pairs, weight, margin)):
                raise MarginRankError("RankingData carries the pairs; do not pass them again.")
            self._check_width(X, reset=True)
            return X
        if pairs is None:
            raise MarginRankError("fit_pairs needs pairs: row numbers of shape (n_pairs, 2), winner first.")
        X = self._check_matrix(X, reset=True, min_rows=2)
        pairs, weight, margin = gate.check_pairs(pairs, X.shape[0], weight, margin, ("weight", margin_name))
        return RankingData(
            X,
            pairs=pairs,
            pair_weight=weight,
            pair_margin=margin,
            feature_names=getattr(self, "feature_names_in_", None),
        )

    def _check_width(self, data: RankingData, *, reset: bool) -> None:
        """Remember the columns of validated data, or compare with those remembered."""
        names = data.feature_names
        known = getattr(self, "feature_names_in_", None)
        if not reset and names is not None and known is not None and list(names) != list(known):
            raise MarginRankError(
                "The feature names must be those of the training data, in the same order; "
                f"got {_first_difference(names, known)}."
            )
        if reset:
            self.n_features_in_ = data.n_features
            if names is not None:
                self.feature_names_in_ = np.array(names, dtype=object)
            elif known is not None:
                del self.feature_names_in_
        else:
            self._check_n_features(data.n_features)

    def _check_n_features(self, n_features: int) -> None:
        if n_features != self.n_features_in_:
            raise MarginRankError(
                f"X has {n_features} features, but {type(self).__name__} is expecting "
                f"{self.n_features_in_} features as input."
            )

    def _check_matrix(self, X: Any, *, reset: bool, min_rows: int = 1) -> Any:
        """Return X as the kernels take it, with scikit-learn's checks of width and column names."""
        given, _ = gate.split_frame(X)
        X, names = gate.check_matrix(given)
        if not reset and not (names is not None and hasattr(self, "feature_names_in_")):
            self._check_n_features(X.shape[1])
        validate_data(self, X if names is None else given, reset=reset, skip_check_array=True)
        if X.shape[0] < min_rows:
            raise MarginRankError(
                f"X has {X.shape[0]} sample(s) (shape={X.shape}) while a minimum of {min_rows} is required."
            )
        if not reset:
            gate.check_finite(X, names)
        return X

    def _evaluation_sets(self, eval_set: Any, eval_qid: Any, eval_metric: Any) -> list[EvaluationSet]:
        """Return the validation sets, with what is measured on them."""
        wanted, given = (self._metrics(), "metric") if eval_metric is None else (eval_metric, "eval_metric")
        metrics = parse_metrics(wanted, "standard", given)
        return read_evaluation_sets(eval_set, eval_qid, metrics, self._evaluation_rows, self.n_jobs)

    def _evaluation_rows(self, X: Any, y: Any, qid: Any) -> tuple[RankingData, NDArray[np.float64]]:
        data = self._ranking_data(X, y, qid, None, None, None, reset=False, qid_name="eval_qid")
        if data.y is None:
            raise MarginRankError("eval_set must have labels y; these data hold pairs only.")
        if data.query_ids is None and self._trained_on_queries:
            raise MarginRankError(
                "The training data have queries, but eval_set has none; pass eval_qid, one id for each row."
            )
        return data, data.y[None]

    def _metrics(self) -> list[str | Metric]:
        """Return what models are measured by; they are selected by the first one."""
        return [self.metric]

    def _finite_training(self, problem: Problem) -> AbstractContextManager[None]:
        """Return the context to train in: what leaves the range of float64 ends in a sentence."""
        return finite_arithmetic(partial(self._out_of_range, problem))

    def _check_results(self, problem: Problem, *results: Any) -> None:
        """Refuse a model that is not finite, before it is kept."""
        check_finite_results(partial(self._out_of_range, problem), *results)

    def _out_of_range(self, problem: Problem) -> str:
        data = problem.data
        labels = data.y if problem.targets is None else problem.targets
        sizes = {"y": labels} if self._uses_size_of_labels else {}
        can_scale = self.scale is None
        reason = extremes(
            data.X, can_scale=can_scale, alpha=self.alpha, pair_margin=data.pair_margin, **sizes
        )
        return f"Training {type(self).__name__} left the range of float64. {reason}"

    def _count_pairs(self, loss: Loss) -> None:
        if isinstance(loss, ComparesPairs):
            self.n_pairs_ = loss.n_pairs

    def _forget_search(self) -> None:
        """Drop what an earlier fit chose from."""
        for name in _SEARCH_RESULTS:
            if hasattr(self, name):
                delattr(self, name)


def _can_be_written(value: Any) -> bool:
    """Whether a parameter goes into a model file: numbers and names, and these by name."""
    if isinstance(value, dict):
        return all(isinstance(name, str) and _can_be_written(one) for name, one in value.items())
    return isinstance(value, str | int | float | np.generic | None)


def _first_difference(names: Sequence[str], known: Sequence[str]) -> str:
    for k, (name, expected) in enumerate(zip(names, known, strict=False)):
        if name != expected:
            return f"{name!r} as column {k}, where {str(expected)!r} was"
    return f"{len(names)} columns, where there were {len(known)}"
