"""What every fitted ranker does: score rows, compare them with labels, and leave a model behind."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib.metadata import version
from types import MappingProxyType
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted, validate_data

from marginrank.data import RankingData
from marginrank.data import validation as gate
from marginrank.data.collected_frames import collected
from marginrank.data.finite import finite_scores
from marginrank.data.frames import as_frame, split_frame, take_columns, without_columns
from marginrank.data.queries import check_group, check_qid
from marginrank.designs import Design, matrix_design
from marginrank.designs.column_statistics import ColumnStatistics
from marginrank.designs.plain_scores import plain_scores
from marginrank.designs.scaling import Scale
from marginrank.estimators.faces import NotebookFace
from marginrank.exceptions import MarginRankError
from marginrank.metrics import pairwise_error
from marginrank.model import RankingModel
from marginrank.model.files import ModelFile
from marginrank.paths.drawing import draw_selection
from marginrank.system.threads import resolve_threads
from marginrank.training.selection import Selection
from marginrank.types import Matrix, Vector

# How the training ran, not what came out of it: the same model shall give the same file.
_NOT_IN_MODEL = {"n_jobs", "verbose"}
_STEPS = 60
_IN_MODEL = ("alpha", "objective", "lower_bound", "gap", "n_iter", "n_pairs", "n_queries", "scale")


class FittedRanker(NotebookFace):
    """What rankers do once they are fitted; ``predict`` is ``X @ coef_``."""

    # Requested without a word: under metadata routing a ranker is given the queries wherever there are any.
    __metadata_request__fit = MappingProxyType({"qid": True})
    __metadata_request__score = MappingProxyType({"qid": True})

    weighting: Any = "pairs"
    n_jobs: int | None
    alpha_: float
    alphas_: NDArray[np.float64]
    validation_curve_: NDArray[np.float64]
    validation_std_: NDArray[np.float64]
    best_score_: float
    coef_: NDArray[np.float64]
    scale_: Scale | None
    column_scale_: NDArray[np.float64] | None
    column_statistics_: ColumnStatistics | None
    n_features_in_: int
    _searched_by: str
    _trained_on_queries: bool
    #: The columns of a frame that ``fit`` took for something else than features, by argument.
    _named_columns: Mapping[str, str] = MappingProxyType({})
    _on_offset = False
    #: Whether coefficients are weights of the columns of X, not of features made of them.
    _weighs_columns: ClassVar[bool] = True

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
            The features; of a data frame, the column ``qid`` and those that ``fit`` took by name for labels,
            queries or weights are ignored.

        Returns
        -------
        ndarray of shape (n_rows,), or (n_rows, n_targets) where there are several targets
            Scores, in the order of the rows.
        """
        scores = self._plain_scores(X)
        if scores is not None:
            return scores
        check_is_fitted(self, "coef_")
        if isinstance(X, RankingData):
            self._check_width(X)
            if X.allow_nonfinite:
                gate.check_finite(X.X, X.feature_names)
            return self._scores(X.X)
        return self._scores(self._check_matrix(X))

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
            name: _by_name(value)
            for name, value in self.get_params(deep=False).items()
            if name not in _NOT_IN_MODEL and _can_be_written(value)
        }
        figures = {name: getattr(self, f"{name}_", None) for name in _IN_MODEL}
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
                **({"offset": True} if self._on_offset else {}),
                **self._convergence(),
            },
        )

    def save(self, file: ModelFile, *, query_normalization: Literal["minmax"] | None = None) -> None:
        """Write the fitted model to a file: ``to_model().save(file)``.

        Parameters
        ----------
        file : str, path-like or file object
            Where to; ``.mrk`` is the usual ending. ``RankingModel.load`` and the command line read it.
        query_normalization : {None, "minmax"}, default=None
            As in ``to_model``.

        Examples
        --------
        >>> from io import BytesIO
        >>> from marginrank import RankingModel, RankSVM
        >>> file = BytesIO()
        >>> RankSVM().fit([[0.0], [1.0]], [0, 1]).save(file)
        >>> RankingModel.load(BytesIO(file.getvalue())).n_features
        1
        """
        self.to_model(query_normalization=query_normalization).save(file)

    def plot_search(self) -> Any:
        """Draw the validation curve of ``alpha="auto"``, its standard errors, and the chosen alpha.

        The wide band is the standard error of the figure, the narrow one that of its difference to the best.

        Where gamma was searched, too, the curve is that of the chosen gamma.

        Returns
        -------
        matplotlib.figure.Figure
            Save it with ``savefig``. Needs matplotlib (``pip install marginrank[plot]``).
        """
        if not hasattr(self, "alphas_"):
            raise MarginRankError(
                "There is no search to draw; fit with alpha='auto' first."
                if hasattr(self, "coef_")
                else f"This {type(self).__name__} is not fitted yet; call fit with alpha='auto' first."
            )
        stds = self.validation_std_
        drawn = (self.alphas_, self.validation_curve_, stds, getattr(self, "validation_diff_std_", stds))
        tables = [np.atleast_2d(table) for table in drawn]
        alphas, curves = tables[:2]
        row, index = np.argwhere((alphas == self.alpha_) & (curves == self.best_score_))[0]
        there = np.isfinite(curves[row])  # an interrupt leaves the end of a table empty
        chosen = Selection(int(index), *(table[row][there] for table in tables))
        return draw_selection(chosen, self._searched_by)

    def _convergence(self) -> dict[str, Any]:
        """Return how training came to its certificate, in at most 60 of its iterations."""
        history = getattr(self, "history_", None) or ()
        if len(history) < 2:
            return {}
        kept = [history[k] for k in np.unique(np.linspace(0, len(history) - 1, _STEPS).round().astype(int))]
        names = {"iteration": "iteration", "objective": "value", "lower_bound": "bound"}
        return {"history": {name: [getattr(one, key) for one in kept] for name, key in names.items()}}

    def _model_parts(self) -> dict[str, Any]:
        """Return what a model of this kind holds beside the coefficients."""
        return {"column_scale": self.column_scale_, "column_statistics": self._known_statistics}

    @property
    def _known_statistics(self) -> ColumnStatistics | None:
        """What is known of the columns; a ranker that was fitted before there were statistics has none."""
        return getattr(self, "column_statistics_", None)

    def _plain_scores(self, X: Any) -> NDArray[np.float64] | None:
        """Return the scores of an array that needs no conversion and no word about its columns, else None."""
        known = self.__dict__
        if not self._weighs_columns or "coef_" not in known or "feature_names_in_" in known:
            return None
        return plain_scores(X, known["coef_"], self.n_jobs)

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
            As in ``fit``. The mean is over pairs or over queries, as ``weighting`` says, and over the
            targets, where there are several.

        Returns
        -------
        float
            1 for a perfect order, 0.5 for chance.
        """
        check_is_fitted(self, "coef_")
        weights = {"sample_weight": sample_weight, "query_weight": query_weight}
        first, targets = self._split_labels(X, y)
        data = self._rows_like_training(X, first, qid, group=group, **weights)
        if targets is None:
            if data.y is None:
                raise MarginRankError("These data hold pairs and no y; score compares with y.")
            targets = data.y[None]
        scores = self._scores(data.X).reshape(data.n_rows, -1).T
        if len(scores) != len(targets):
            raise MarginRankError(
                f"y must have a column for each target of the model; got {len(targets)} for {len(scores)}."
            )
        by_target = [
            self._agreement(data, column, np.ascontiguousarray(p))
            for column, p in zip(targets, scores, strict=True)
        ]
        return float(np.mean(by_target))

    def _split_labels(self, X: Any, y: Any) -> tuple[Any, NDArray[np.float64] | None]:
        """Return labels of one column, and all columns as rows where several are learnt."""
        del X
        return y, None

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

    def _rows_like_training(
        self, X: Any, y: Any, qid: Any, *, group: Any = None, prefix: str = "", **more: Any
    ) -> RankingData:
        """Return labelled rows with the columns of the training data, from arrays or from data.

        ``prefix`` is what the names of ``qid`` and ``group`` begin with where the user gave them.
        """
        if isinstance(X, RankingData):
            check_not_twice(y, qid, group, *more.values())
            self._check_width(X)
            return X
        if y is None:
            raise without_labels(self)
        X = collected(X)
        qid = self._column_of_ids(X) if qid is None and group is None else qid
        X, given = take_columns(X, **{f"{prefix}qid": qid}, y=y, **more)
        qid, y, more = given.pop(f"{prefix}qid"), given.pop("y"), given
        X, qid = split_frame(X, qid, group)
        X = self._check_matrix(X, min_rows=2)
        if prefix and qid is not None:
            qid = check_qid(qid, X.shape[0], f"{prefix}qid")
        if prefix and group is not None:
            group = check_group(group, X.shape[0], f"{prefix}group")
        names = getattr(self, "feature_names_in_", None)
        return RankingData(X, y, qid=qid, group=group, feature_names=names, **more)

    def _column_of_ids(self, X: Any) -> str | None:
        """Return the name of the column of query ids, if ``fit`` named one and X has it."""
        name, frame = self._named_columns.get("qid"), as_frame(X)
        return name if frame is not None and name in frame.columns else None

    def _check_width(self, data: RankingData) -> None:
        """Compare the columns of validated data with those of the training data."""
        names, known = data.feature_names, getattr(self, "feature_names_in_", None)
        if names is not None and known is not None and list(names) != list(known):
            raise MarginRankError(
                "The feature names must be those of the training data, in the same order; "
                f"got {_first_difference(names, known)}."
            )
        self._check_n_features(data.n_features)

    def _check_n_features(self, n_features: int) -> None:
        if n_features != self.n_features_in_:
            raise MarginRankError(
                f"X has {n_features} features, but {type(self).__name__} is expecting "
                f"{self.n_features_in_} features as input."
            )

    def _check_matrix(self, X: Any, *, min_rows: int = 1) -> Any:
        """Return X as the kernels take it, with scikit-learn's checks of width and column names."""
        given, _ = split_frame(without_columns(collected(X), self._named_columns.values()))
        X, names = gate.check_matrix(given)
        if not (names is not None and hasattr(self, "feature_names_in_")):
            self._check_n_features(X.shape[1])
        validate_data(self, X if names is None else given, reset=False, skip_check_array=True)
        if X.shape[0] < min_rows:
            raise too_few_rows(X, min_rows)
        gate.check_finite(X, names)
        return X


def check_not_twice(*extras: Any) -> None:
    """Refuse what data carry themselves."""
    if any(extra is not None for extra in extras):
        raise MarginRankError("RankingData carries y, qid and weights; do not pass them again.")


def without_labels(ranker: Any) -> MarginRankError:
    """Return what to raise where training and scoring get no labels."""
    hint = "; to learn from pairs alone, use fit_pairs" if hasattr(ranker, "fit_pairs") else ""
    return MarginRankError(
        f"This {type(ranker).__name__} estimator requires y to be passed, but the target y is None{hint}."
    )


def too_few_rows(X: Matrix, least: int) -> MarginRankError:
    """Return what to raise, in the words of scikit-learn."""
    return MarginRankError(
        f"X has {X.shape[0]} sample(s) (shape={X.shape}) while a minimum of {least} is required."
    )


def _can_be_written(value: Any) -> bool:
    """Whether a parameter goes into a model file: numbers and names, and these by name or number."""
    if isinstance(value, dict):
        return all(
            isinstance(name, str | int | float) and _can_be_written(one) for name, one in value.items()
        )
    if isinstance(value, tuple):  # a pair of bounds
        return len(value) == 2 and all(_can_be_written(one) for one in value)
    return isinstance(value, str | int | float | np.generic | None)


def _by_name(value: Any) -> Any:
    return {str(name): one for name, one in value.items()} if isinstance(value, dict) else value


def _first_difference(names: Sequence[str], known: Sequence[str]) -> str:
    for k, (name, expected) in enumerate(zip(names, known, strict=False)):
        if name != expected:
            return f"{name!r} as column {k}, where {str(expected)!r} was"
    return f"{len(names)} columns, where there were {len(known)}"
