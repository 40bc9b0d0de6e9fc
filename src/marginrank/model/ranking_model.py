"""The fitted artefact: it scores, saves and loads, and knows nothing of training."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, cast

import numpy as np

from marginrank.data import RankingData
from marginrank.data import validation as gate
from marginrank.data.collected_frames import collected
from marginrank.data.finite import finite_scores
from marginrank.data.frames import split_frame
from marginrank.designs import matrix_design
from marginrank.designs.column_statistics import ColumnStatistics
from marginrank.designs.plain_scores import plain_scores
from marginrank.exceptions import MarginRankError, ModelFileError, ParameterError
from marginrank.model import file_format
from marginrank.model.calibration import PairCalibration
from marginrank.model.columns import normalized_rows
from marginrank.model.content import arguments_of, content_of
from marginrank.model.files import ModelFile, read_model_file, write_model_file
from marginrank.model.mapping import InputMapping, check_mapping
from marginrank.model.statistics import check_statistics
from marginrank.model.uses import ModelUses
from marginrank.model.values import frozen_vector, json_value
from marginrank.parameters import check_choice, check_number
from marginrank.system.threads import resolve_threads
from marginrank.types import Matrix, Rows, Vector

if TYPE_CHECKING:
    from marginrank.export.base import ExportedModel
    from marginrank.feature_maps import FeatureMap

QueryNormalization = Literal["minmax"]


@dataclass(frozen=True, init=False, eq=False, repr=False)
class RankingModel(ModelUses):
    """A trained ranker without its training: it gives scores, and goes to a file and back.

    Made by ``to_model()`` of an estimator, by :meth:`from_estimator` from a scikit-learn pipeline, or by
    :meth:`load`. Nothing about it can be changed.

    Parameters
    ----------
    coef : array-like of shape (n_features,)
        Weights of the features, in raw units; with a feature map, of those that it makes.
    intercept : float, default=0.0
        Added to every score. It changes no ranking; it is there so that scores equal those of a pipeline.
    feature_names : sequence of str, optional
        Column names; data frames are then matched by name.
    query_normalization : {None, "minmax"}, default=None
        With "minmax" each column is scaled to [0, 1] within each query before scoring, as by
        :meth:`marginrank.RankingData.normalized_by_query`.
    column_scale : array-like of shape (n_features,), optional
        What training divided the columns by. For information: the coefficients have it folded in.
    column_statistics : ColumnStatistics, optional
        What the columns held in training: range, mean, deviation, zeros. For information.
    calibration : PairCalibration, optional
        What :func:`marginrank.calibrate` makes; ``probability`` needs it.
    feature_map : NystroemFeatures or FourierFeatures, optional
        A fitted map from raw features to those that ``coef`` weighs. The model keeps a copy.
    input_scaling : (multiplier, offset), optional
        What happens to raw columns before the map: ``multiplier * x + offset``; the offset may be None.
    linear_coef : array-like of shape (n_features,), optional
        With a feature map: weights of the raw columns, which are added to the score.
    metadata : mapping, optional
        How the model came about, in JSON values.

    Attributes
    ----------
    kind : str
        "linear", or "mapped" with a feature map.
    n_features : int
        Number of raw features.
    features_used : ndarray of int64
        Numbers of those whose weight is not 0, counted from 0; all of them with a feature map.
    n_features_used : int
        How many these are.

    Examples
    --------
    >>> import io
    >>> from marginrank import RankingModel, RankSVM
    >>> X = [[1.0, 0.0], [0.0, 1.0], [0.5, 0.9]]
    >>> model = RankSVM(alpha=0.1).fit(X, [2, 0, 1]).to_model()
    >>> model
    RankingModel('linear', n_features=2, estimator='RankSVM')
    >>> file = io.BytesIO()
    >>> model.save(file)
    >>> _ = file.seek(0)
    >>> bool((RankingModel.load(file).predict(X) == model.predict(X)).all())
    True
    """

    coef: Vector
    intercept: float
    feature_names: tuple[str, ...] | None
    query_normalization: QueryNormalization | None
    column_scale: Vector | None
    mapping: InputMapping | None
    _metadata: str
    column_statistics: ColumnStatistics | None = None  # pickles from before there were any have none
    calibration: PairCalibration | None = None

    def __init__(
        self,
        coef: Any,
        *,
        intercept: float = 0.0,
        feature_names: Sequence[str] | None = None,
        query_normalization: QueryNormalization | None = None,
        column_scale: Any = None,
        column_statistics: ColumnStatistics | None = None,
        calibration: PairCalibration | None = None,
        feature_map: Any = None,
        input_scaling: Any = None,
        linear_coef: Any = None,
        metadata: Mapping[str, Any] | None = None,
    ) -> None:
        weights = frozen_vector(coef, "coef")
        scale = None if column_scale is None else frozen_vector(column_scale, "column_scale")
        if scale is not None and scale.shape != weights.shape:
            raise MarginRankError(
                f"column_scale must have one entry per coefficient; got {len(scale)} for {len(weights)}."
            )
        mapping = check_mapping(feature_map, input_scaling, linear_coef, len(weights))
        n_features = len(weights) if mapping is None else mapping.n_features
        check_statistics(column_statistics, n_features)
        if calibration is not None and not isinstance(calibration, PairCalibration):
            raise ParameterError("calibration", "a PairCalibration or None", calibration)
        check_choice("query_normalization", query_normalization, (None, "minmax"))
        if metadata is not None and not isinstance(metadata, Mapping):
            raise ParameterError("metadata", "a mapping", metadata)
        fields = {
            "coef": weights,
            "intercept": check_number(intercept, "intercept"),
            "feature_names": gate.check_feature_names(feature_names, n_features),
            "query_normalization": query_normalization,
            "column_scale": scale,
            "column_statistics": column_statistics,
            "calibration": calibration,
            "mapping": mapping,
            # Kept as text, which nobody can change; the property gives a fresh copy.
            "_metadata": json.dumps(json_value(metadata or {}, "metadata")),
        }
        for name, value in fields.items():
            object.__setattr__(self, name, value)

    def __repr__(self) -> str:
        normalization = (
            f", query_normalization={self.query_normalization!r}" if self.query_normalization else ""
        )
        estimator = self.metadata.get("estimator")
        source = f", estimator={estimator!r}" if estimator else ""
        return f"RankingModel({self.kind!r}, n_features={self.n_features}{normalization}{source})"

    def _repr_html_(self) -> str:
        from marginrank.model.facts import model_html  # not above: only notebooks ask

        return model_html(cast("ExportedModel", self))

    @property
    def kind(self) -> str:
        """How scores come about: "linear", ``X @ coef + intercept``, or "mapped", the same of features."""
        return "linear" if self.mapping is None else "mapped"

    @property
    def n_features(self) -> int:
        """Number of raw features."""
        return len(self.coef) if self.mapping is None else self.mapping.n_features

    @property
    def features_used(self) -> Rows:
        """Columns that scores depend on, counted from 0: those whose weight is not 0, or all that are mapped.

        Frames and files need no others.
        """
        return np.flatnonzero(self.coef) if self.mapping is None else np.arange(self.n_features)

    @property
    def n_features_used(self) -> int:
        """How many columns scores depend on."""
        return len(self.features_used)

    @property
    def feature_map(self) -> FeatureMap | None:
        """The map from raw features to those that ``coef`` weighs, or None."""
        return None if self.mapping is None else self.mapping.feature_map

    @property
    def linear_coef(self) -> Vector | None:
        """Weights of the raw columns beside those of a feature map, or None."""
        return None if self.mapping is None else self.mapping.linear_coef

    @property
    def metadata(self) -> dict[str, Any]:
        """How the model came about: estimator, parameters, certificate, counts and library version.

        A figure that is not finite is None. The dictionary is a copy.
        """
        return dict(json.loads(self._metadata))

    def predict(self, X: Any, qid: Any = None, *, n_jobs: int | None = None) -> Vector:
        """Return a score for each row; within a query, higher is better.

        Parameters
        ----------
        X : array-like, sparse matrix, data frame or RankingData of shape (n_rows, n_features)
            The features. The columns of a frame are found by name, in any order and among others, if the
            model has names, and only those of ``features_used`` are needed; else the width must be that of
            the model.
        qid : array-like of shape (n_rows,), optional
            Query ids. Needed where the model normalises within queries, and not used otherwise. A
            ``RankingData`` and the column ``qid`` of a frame bring them.
        n_jobs : int, optional
            Threads; the scores have the same bits for any number.

        Returns
        -------
        ndarray of shape (n_rows,)
            Scores, in the order of the rows.

        Notes
        -----
        Normalising within queries makes a dense copy of X.

        Examples
        --------
        >>> model = RankingModel([2.0, -1.0], feature_names=["stars", "price"])
        >>> import pandas as pd
        >>> model.predict(pd.DataFrame({"id": ["x", "y"], "price": [3.0, 1.0], "stars": [4.0, 1.0]}))
        array([5., 1.])
        """
        if self.mapping is None and self.query_normalization is None:
            scores = plain_scores(X, self.coef, n_jobs, self.intercept)
            if scores is not None:
                return scores
        if isinstance(X, RankingData):
            if qid is not None:
                raise MarginRankError("RankingData carries qid; do not pass it again.")
            matrix, qid = self._matrix(X), X.qid
        else:
            X, qid = split_frame(collected(X), qid)
            matrix = self._matrix(X)
        if self.query_normalization is not None:
            matrix = normalized_rows(matrix, qid)
        return np.asarray(finite_scores("The model", matrix, lambda: self._scores(matrix, n_jobs)))

    def _scores(self, X: Matrix, n_jobs: int | None) -> Vector:
        threads = resolve_threads(n_jobs)
        if self.mapping is None:
            scores = matrix_design(X, n_threads=threads).scores(self.coef)
        else:
            scores = self.mapping.scores(X, self.coef, n_threads=threads)
        return scores if self.intercept == 0.0 else scores + self.intercept

    @classmethod
    def from_estimator(
        cls, estimator: Any, *, query_normalization: QueryNormalization | None = None
    ) -> RankingModel:
        """Make a model from a fitted ranker, or from a scikit-learn pipeline that ends in one.

        Parameters
        ----------
        estimator : estimator, Pipeline or search
            A ranker of this library; a pipeline of ``StandardScaler``, ``MinMaxScaler``, ``MaxAbsScaler``,
            ``RobustScaler`` or ``"passthrough"`` steps, at most one feature map and a ranker, whose scalers
            are folded into the coefficients, or kept before the map; or a ``GridSearchCV`` or the like over
            one of these, whose best estimator is taken.
        query_normalization : {None, "minmax"}, default=None
            Say "minmax" if the training data were normalised by ``RankingData.normalized_by_query()``.

        Returns
        -------
        RankingModel
            Its scores are those of ``estimator.predict``, up to rounding.

        Examples
        --------
        >>> import numpy as np
        >>> from sklearn.pipeline import make_pipeline
        >>> from sklearn.preprocessing import StandardScaler
        >>> from marginrank import RankSVM
        >>> X = [[100.0, 0.1], [300.0, 0.2], [200.0, 0.4]]
        >>> pipeline = make_pipeline(StandardScaler(), RankSVM()).fit(X, [0, 1, 2])
        >>> np.allclose(RankingModel.from_estimator(pipeline).predict(X), pipeline.predict(X))
        True
        """
        # Found by what it offers: estimators are a layer above.
        estimator = getattr(estimator, "best_estimator_", estimator)
        if hasattr(estimator, "to_model"):
            model: RankingModel = estimator.to_model(query_normalization=query_normalization)
            return model
        if not hasattr(estimator, "steps"):
            raise MarginRankError(
                f"estimator must be a linear ranker, such as RankSVM, or a pipeline that ends in one; "
                f"got {type(estimator).__name__}."
            )
        # Not above: scikit-learn's scalers load slowly.
        from marginrank.model.folding import fold_pipeline, folded_arguments

        folded = fold_pipeline(estimator)
        model = cls.from_estimator(folded.ranker, query_normalization=query_normalization)
        if not folded.steps:
            return model
        names = ("coef", "intercept", "column_scale", "feature_names", "query_normalization", "metadata")
        own = {name: getattr(model, name) for name in names}
        return cls(**folded_arguments(folded, own, model.mapping))

    def save(self, file: ModelFile) -> None:
        """Write the model to a file; ``.mrk`` is the usual ending.

        The file is complete or not there at all: after an error or Ctrl-C an old one is as it was. The same
        model gives the same bytes.

        Parameters
        ----------
        file : str, path-like or file object
            Where to; a file object must be open for writing in binary mode.

        Raises
        ------
        ModelFileError
            If the file cannot be written.
        """
        write_model_file(file, self._to_bytes())

    @classmethod
    def load(cls, file: ModelFile) -> RankingModel:
        """Read a model from a file; nothing in the file is executed.

        Parameters
        ----------
        file : str, path-like or file object
            A model file; a file object must be open for reading in binary mode, and is read to its end.

        Returns
        -------
        RankingModel
            Equal to the one that was saved, to the last bit.

        Raises
        ------
        ModelFileError
            If there is no such file, or it is not a model, damaged, cut short, or from a later version.
        """
        header, arrays, where = read_model_file(file)
        if header.get("kind") not in ("linear", "mapped"):
            raise ModelFileError(
                f"{where} holds a model of kind {str(header.get('kind'))[:40]!r}, which this version of "
                "marginrank does not know. Upgrade marginrank."
            )
        try:
            return cls(**arguments_of(header, arrays))
        except (KeyError, TypeError, RecursionError, MarginRankError) as error:
            what = f"{error} is missing" if isinstance(error, KeyError) else str(error).rstrip(".")
            raise ModelFileError(f"{where} is not a valid marginrank model: {what}.") from None

    def _to_bytes(self) -> bytes:
        return file_format.encode(*content_of(self))
