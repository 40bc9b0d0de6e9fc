"""Features in the order in which they were chosen, with the model and the held-out figures of each number."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib.metadata import version
from typing import Any, Literal

import numpy as np

from marginrank.designs import ColumnTransform
from marginrank.exceptions import ParameterError
from marginrank.metrics import Metric
from marginrank.model import RankingModel
from marginrank.parameters import check_choice, check_count
from marginrank.paths.held_out_curve import held_out_curve
from marginrank.paths.path_base import PathOrigin
from marginrank.training.forward_selection import Step
from marginrank.training.selection import Rule
from marginrank.types import Vector


class ChosenFeatures:
    """What :func:`marginrank.rank_rls_selection` returns: features in order, and a model for each number.

    Attributes
    ----------
    features : list of int
        Columns, counted from 0, in the order in which they were chosen.
    feature_names : list of str or None
        The same by name, where the training data had names.
    curve : ndarray of shape (n_features,)
        The held-out error with one feature, with two, and so on: the mean over all rows of the squared error,
        less its mean in the query; for pairs, the mean of half the squared errors of their difference.
    error, quality : HeldOutCurve
        That error and the metric, with standard errors.
    error_without_features : float
        The error of a model that gives all rows the same score.
    metric : str
        What ``quality`` is.
    held_out : {"queries", "pairs"}
        What models were fitted without, in turns.
    alpha : float
        The regularisation of the models.
    scale : {None, "standard", "minmax"}
        What ``scale`` became.
    status : {"finished", "interrupted"}
        Whether Ctrl-C ended the choice: there may be fewer features, or a better alpha.

    Examples
    --------
    >>> import numpy as np
    >>> from marginrank import rank_rls_selection
    >>> X = np.random.default_rng(0).normal(size=(300, 4))
    >>> chosen = rank_rls_selection(X, X[:, 2] - 0.5 * X[:, 0], qid=np.arange(300) // 10, n_features=2)
    >>> chosen.features, chosen.model(1).n_features_used
    ([2, 0], 1)
    """

    def __init__(
        self,
        steps: Sequence[Step],
        weights: Sequence[Vector],
        *,
        status: str,
        alpha: float,
        without: float,
        metric: Metric,
        transform: ColumnTransform,
        feature_names: tuple[str, ...] | None,
        n_columns: int,
        origin: PathOrigin,
    ) -> None:
        self.features = [step.column for step in steps]
        self.feature_names = None if feature_names is None else [feature_names[j] for j in self.features]
        self.error = held_out_curve([step.error for step in steps], higher_is_better=False)
        self.quality = held_out_curve(
            [step.metric for step in steps], higher_is_better=metric.higher_is_better
        )
        self.error_without_features = without
        self.metric = str(metric)
        self.held_out: Literal["queries", "pairs"] = origin.parameters["held_out"]
        self.status = status
        self.alpha = alpha
        self.scale = transform.scaled_by
        self._weights = list(weights)
        self._transform = transform
        self._names = feature_names
        self._n_columns = n_columns
        self._origin = origin

    def __repr__(self) -> str:
        return (
            f"ChosenFeatures(n_features={len(self)}, error={self.curve[-1]:.4g}, "
            f"{self.metric}={self.quality.values[-1]:.4g}, held_out={self.held_out!r})"
        )

    def __len__(self) -> int:
        return len(self.features)

    @property
    def curve(self) -> Vector:
        """The held-out error after each feature."""
        return self.error.values

    @property
    def labels(self) -> list[str]:
        """What to call the features: their names, else f1, f2, ... as files number them."""
        if self.feature_names is not None:
            return self.feature_names
        return [f"f{column + 1}" for column in self.features]

    def n_best(self, rule: Rule = "best") -> int:
        """Return how many features are best by the metric.

        Parameters
        ----------
        rule : {"best", "one_se"}, default="best"
            The best mean; or the smallest number that is worse by at most half of the standard error of the
            difference to it.

        Returns
        -------
        int
            Where several are equally good, the smallest.
        """
        check_choice("rule", rule, ("best", "one_se"))
        return self.quality.best if rule == "best" else self.quality.smallest

    def model(
        self,
        k: int | None = None,
        *,
        query_normalization: Literal["minmax"] | None = None,
        metadata: Mapping[str, Any] | None = None,
    ) -> RankingModel:
        """Return the model of the first k features, fitted to all rows.

        Parameters
        ----------
        k : int, optional
            How many features; by default all that were chosen.
        query_normalization : {None, "minmax"}, default=None
            Say "minmax" if the training data were normalised by ``RankingData.normalized_by_query()``: the
            model then does the same to the data it scores.
        metadata : mapping, optional
            Further entries of the metadata of the model, in JSON values.

        Returns
        -------
        RankingModel
            As wide as X, with weights that are exactly 0 for other columns; it asks for the used ones only.
        """
        k = check_count(len(self) if k is None else k, "k", most=len(self))
        if metadata is not None and not isinstance(metadata, Mapping):
            raise ParameterError("metadata", "a mapping", metadata)
        coef = np.zeros(self._n_columns)
        coef[self.features[:k]] = self._weights[k - 1]
        known = {
            "estimator": self._origin.function,
            "parameters": {**self._origin.parameters, "n_features": k},
            "library_version": version("marginrank"),
            "alpha": self.alpha,
            "scale": self.scale,
            "metric": self.metric,
            "validation": float(self.quality.values[k - 1]),
        }
        return RankingModel(
            self._transform.raw(coef),
            feature_names=self._names,
            query_normalization=query_normalization,
            column_scale=self._transform.scale,
            column_statistics=self._transform.statistics,
            metadata={**known, **(metadata or {})},
        )

    def plot(self, *, feature_names: Any = None) -> Any:
        """Draw the error and the metric against the number of features, with their standard errors.

        Parameters
        ----------
        feature_names : list of str, optional
            Names of all columns of X; by default those of the training data, else f1, f2, ...

        Returns
        -------
        matplotlib.figure.Figure
            Save it with ``savefig``. Needs matplotlib (``pip install marginrank[plot]``).
        """
        from marginrank.data.validation import check_feature_names
        from marginrank.paths.feature_drawing import draw_features

        known = check_feature_names(feature_names, self._n_columns)
        labels = self.labels if known is None else [known[j] for j in self.features]
        return draw_features(self.error, self.quality, labels, self.metric, self.held_out)
