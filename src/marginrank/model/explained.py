"""Methods of a model that say why it ranks as it does."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from marginrank.data import RankingData
from marginrank.data.checking import check_data
from marginrank.data.frames import split_frame
from marginrank.exceptions import MarginRankError
from marginrank.model.columns import model_matrix
from marginrank.types import Matrix

if TYPE_CHECKING:
    from marginrank.explanation import FeatureWeights, PairExplanation, PermutationImportance, RowExplanations
    from marginrank.export.base import ExportedModel
    from marginrank.model.ranges import FarColumn


class ExplainedModel:
    """What :class:`marginrank.RankingModel` says about its scores; the code is imported when it is asked."""

    def _matrix(self, X: Any) -> Matrix:
        """Return the columns of the model; of data with names, those that it uses suffice."""
        model = cast("ExportedModel", self)
        used = model.features_used
        few = None if len(used) == model.n_features else used
        return model_matrix(X, model.n_features, model.feature_names, few)

    def explain_pair(self, a: Any, b: Any, *, within: Any = None) -> PairExplanation:
        """Say what each column adds to the difference of two scores.

        Of a linear model, column j contributes ``coef_j (a_j - b_j)``. Of one with a feature map it is the
        integrated gradient along the straight line from b to a: ``(a_j - b_j)`` times the mean of the
        score's derivative by column j on the way. Either way the contributions add up to the margin.

        Parameters
        ----------
        a, b : array-like of shape (n_features,), mapping or data frame of one row
            The two rows; values by name where the model has names.
        within : array-like, sparse matrix or data frame, optional
            The rows of the query, where the model normalises within queries.

        Returns
        -------
        PairExplanation
            Contributions and margin, as a table (``print``), a picture (``plot``) or JSON (``to_dict``).

        Notes
        -----
        The margin is the difference of what ``predict`` gives the two rows, up to rounding in float64.

        Examples
        --------
        >>> from marginrank import RankingModel
        >>> model = RankingModel([2.0, -1.0], feature_names=["stars", "price"])
        >>> found = model.explain_pair({"price": 3.0, "stars": 4.0}, {"price": 1.0, "stars": 1.0})
        >>> found.margin, found.contributions.tolist()
        (4.0, [6.0, -2.0])
        """
        from marginrank.explanation.explaining import explain_pair

        model = cast("ExportedModel", self)
        rows = None
        if within is not None:
            try:
                rows = self._matrix(within)
            except MarginRankError as error:
                raise error.about("within: ") from None
        return explain_pair(model, a, b, rows)

    def explain(self, X: Any, qid: Any = None) -> RowExplanations:
        """Say what each column adds to the score of each row, against the mean row of its query.

        Parameters
        ----------
        X : array-like, sparse matrix, data frame or RankingData of shape (n_rows, n_features)
            Rows, as for :meth:`predict`.
        qid : array-like of shape (n_rows,), optional
            Query ids; without them all rows are one query.

        Returns
        -------
        RowExplanations
            Contributions and margins, as a table (``print``), a picture (``plot``) or JSON (``to_dict``).

        Notes
        -----
        Contributions are as of :meth:`explain_pair` with the mean row in the place of ``b``.

        Examples
        --------
        >>> from marginrank import RankingModel
        >>> RankingModel([2.0, -1.0]).explain([[4.0, 3.0], [1.0, 1.0]]).margins
        array([ 2., -2.])
        """
        from marginrank.explanation.explaining import explain_rows

        model = cast("ExportedModel", self)
        if isinstance(X, RankingData):
            if qid is not None:
                raise MarginRankError("RankingData carries qid; do not pass it again.")
            qid = X.qid
        else:
            X, qid = split_frame(X, qid)
        return explain_rows(model, self._matrix(X), qid)

    def feature_weights(self) -> FeatureWeights:
        """Return the weights of a linear model, in units of its columns' deviations within queries.

        A weight alone says little: it is per unit of its column. Times what the column usually varies by
        within a query, weights can be compared.

        Returns
        -------
        FeatureWeights
            Weights, deviations and their products.

        Examples
        --------
        >>> from marginrank import RankSVM
        >>> X = [[100.0, 0.1], [300.0, 0.2], [200.0, 0.4]]
        >>> model = RankSVM(alpha=0.1, scale="standard").fit(X, [0, 1, 2]).to_model()
        >>> found = model.feature_weights()
        >>> found.deviations.round(2).tolist()
        [81.65, 0.12]
        >>> bool((found.effects == model.coef * found.deviations).all())
        True
        """
        from marginrank.explanation.importance import feature_weights

        return feature_weights(cast("ExportedModel", self))

    def far_columns(self, X: Any) -> list[FarColumn]:
        """Return the columns of rows whose values lie far outside of what the model was trained on.

        Far is more than the whole range of training beyond it. ``marginrank predict`` warns of these columns:
        often they are in other units, or another column.

        Parameters
        ----------
        X : array-like, sparse matrix, data frame or RankingData of shape (n_rows, n_features)
            Rows, as for :meth:`predict`.

        Returns
        -------
        list of FarColumn
            Name, range in training and range of the rows, the farthest first; empty where the model has no
            statistics of its columns, or normalises within queries. Columns of weight 0 do not count.

        Examples
        --------
        >>> from marginrank import RankSVM
        >>> model = RankSVM().fit([[1.0, 0.2], [3.0, 0.1], [2.0, 0.4]], [0, 1, 2]).to_model()
        >>> [(one.name, one.distance) for one in model.far_columns([[2.0, 0.3], [7.0, 0.3]])]
        [('f1', 2.0)]
        """
        from marginrank.data.matrices import column_extremes
        from marginrank.model.ranges import far_columns

        model = cast("ExportedModel", self)
        rows = self._matrix(X)
        return far_columns(model, *column_extremes(rows))

    def permutation_importance(
        self,
        data: RankingData,
        *,
        metric: Any = "ndcg@10",
        n_repeats: int = 5,
        random_state: Any = 0,
        n_jobs: int | None = None,
    ) -> PermutationImportance:
        """Measure what a metric loses when a column is shuffled within queries.

        Rows of other queries never mix, so a column that only tells queries apart loses nothing.

        Parameters
        ----------
        data : RankingData
            Labelled rows that the model was not trained on, in memory.
        metric : str or Metric, default="ndcg@10"
            What is measured.
        n_repeats : int, default=5
            Shuffles of each column.
        random_state : int or None, default=0
            Seed of the shuffles; those of a column do not depend on other columns.
        n_jobs : int, optional
            Threads; the result does not depend on it.

        Returns
        -------
        PermutationImportance
            A loss for each column and shuffle.

        Notes
        -----
        Takes ``n_features * n_repeats`` evaluations, and as many scorings where there is a feature map.
        Columns of weight 0 are not shuffled.

        Examples
        --------
        >>> import numpy as np
        >>> from marginrank import RankingData, RankSVM
        >>> X = np.random.default_rng(0).normal(size=(60, 2))
        >>> data = RankingData(X, np.round(X[:, 0] + 3), qid=np.repeat(np.arange(6), 10))
        >>> found = RankSVM().fit(data).to_model().permutation_importance(data)
        >>> bool(found.mean[0] > 10 * abs(found.mean[1]))
        True
        """
        from marginrank.explanation.importance import permutation_importance

        model = cast("ExportedModel", self)
        queries = check_data(data).queries
        if queries.y is None:
            raise MarginRankError("data must have labels, to measure against.")
        return permutation_importance(
            model,
            self._matrix(data),
            queries,
            metric=metric,
            n_repeats=n_repeats,
            random_state=random_state,
            n_jobs=n_jobs,
        )
