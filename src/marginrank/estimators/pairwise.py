"""What rankers by a pairwise loss share: training on labelled rows and on bare preferences."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any, ClassVar, Self

from marginrank.estimators.base import Ranker
from marginrank.exceptions import MarginRankError
from marginrank.losses import PREFERENCE_LOSSES, QUERY_LOSSES, LeastSquaresLoss
from marginrank.parameters import check_choice
from marginrank.solvers import SOLVERS, Solver
from marginrank.training.problems import Problem
from marginrank.training.selection import Search


class PairwiseRanker(Ranker):
    """Base of the rankers that choose a loss by name."""

    query_losses: ClassVar[Mapping[str, Any]] = QUERY_LOSSES
    preference_losses: ClassVar[Mapping[str, Any]] = PREFERENCE_LOSSES

    #: What ``solver`` may be.
    solvers: ClassVar[tuple[str, ...]] = ("auto", *SOLVERS)

    loss: str
    solver: str

    def fit(
        self,
        X: Any,
        y: Any = None,
        *,
        qid: Any = None,
        group: Any = None,
        sample_weight: Any = None,
        query_weight: Any = None,
        offset: Any = None,
        eval_set: Any = None,
        eval_qid: Any = None,
        eval_group: Any = None,
        eval_offset: Any = None,
        eval_metric: Any = None,
        callbacks: Any = None,
    ) -> Self:
        """Train on labelled rows.

        Parameters
        ----------
        X : array-like, sparse matrix, data frame or RankingData of shape (n_rows, n_features)
            The features. The column ``qid`` of a data frame gives the query ids. A ``RankingData`` carries
            ``y``, ``qid`` and the weights.
        y : array-like of shape (n_rows,) or str
            Labels or utilities, any real numbers; higher is better. Rows with equal labels form no pair. A
            string is the name of a column of the data frame X, here and for ``qid`` and the weights.
        qid : array-like of shape (n_rows,) or str, optional
            Query ids, any hashable values in any order. None is one global ranking of all rows.
        group : array-like of shape (n_queries,), optional
            Sizes of consecutive queries, instead of ``qid``.
        sample_weight : array-like of shape (n_rows,) or str, optional
            A weight means repetition: a pair weighs the product of the weights of its rows.
        query_weight : mapping, array-like or str, optional
            Weight by query id, one per query in order of first appearance, or one per row.
        offset : array-like of shape (n_rows,) or str, optional
            Scores of another ranker, in the order of the rows: the model is trained on the sum of both.
            ``predict`` gives its part alone.
        eval_set : (X, y), RankingData, or a list of these, optional
            Rows to validate on. ``alpha="auto"`` selects by the last of them.
        eval_qid : array-like, or a list of these, optional
            Query ids of the rows of ``eval_set``.
        eval_group : array-like, or a list of these, optional
            Sizes of consecutive queries of ``eval_set``, instead of ``eval_qid``.
        eval_offset : array-like, or a list of these, optional
            What is added to the scores of the rows of ``eval_set`` before they are measured.
        eval_metric : str, Metric or a list of these, optional
            What to measure on ``eval_set``; by default ``metric``. The first one selects.
        callbacks : callable or list of callables, optional
            Each is called with a ``Progress`` after every iteration; training stops quietly when one
            returns True.

        Returns
        -------
        Self
            Itself. After Ctrl-C the best model so far is set before KeyboardInterrupt is raised again; where
            there is none yet, the estimator stays as it was.
        """

        def read() -> Problem:
            check_choice("loss", self.loss, self.query_losses)
            weights = {"sample_weight": sample_weight, "query_weight": query_weight}
            rows, added = self._check_offset(X, offset)
            data = self._labelled(rows, y, qid, group=group, **weights)
            loss = partial(self.query_losses[self.loss], weighting=self.weighting)
            return self._with_offset(self._problem(data, loss), offset, added)

        described = {"qid": eval_qid, "group": eval_group, "offset": eval_offset}
        return self._fit(read, callbacks, eval_set, eval_metric, **described)

    def fit_pairs(
        self,
        X: Any,
        pairs: Any = None,
        *,
        ids: Any = None,
        weight: Any = None,
        margin: Any = None,
        offset: Any = None,
        eval_set: Any = None,
        eval_qid: Any = None,
        eval_group: Any = None,
        eval_offset: Any = None,
        eval_metric: Any = None,
        callbacks: Any = None,
    ) -> Self:
        """Train on bare preferences: row ``pairs[k, 0]`` beats row ``pairs[k, 1]``, nothing else is known.

        The risk is the weighted mean of ``max(0, margin - (p_win - p_lose))``, of its square, or of
        ``log(1 + exp(margin - (p_win - p_lose)))``.

        Parameters
        ----------
        X : array-like, sparse matrix, data frame or RankingData of shape (n_rows, n_features)
            The features of the rows that the pairs refer to. A ``RankingData`` carries the pairs.
        pairs : array-like or data frame of shape (n_pairs, 2)
            Row numbers, or ``ids``, winner first; of a data frame, the columns ``winner`` and ``loser``.
        ids : array-like of shape (n_rows,) or str, optional
            What ``pairs`` call the rows, any hashable values, each once; or the name of the column of X with
            them. By default pairs hold row numbers.
        weight : array-like of shape (n_pairs,) or str, optional
            Weights of the pairs, 1 by default; or the name of a column of ``pairs``, likewise ``margin``.
        margin : float or array-like of shape (n_pairs,), optional
            Margins of the pairs, at least 0; by default 1, and 0 for the logistic loss.
        offset, eval_set, eval_qid, eval_group, eval_offset, eval_metric, callbacks
            As in ``fit``; the rows of ``eval_set`` have labels.

        Returns
        -------
        Self
            Itself.

        Examples
        --------
        >>> from marginrank import RankSVM
        >>> X = [[1.0, 0.0], [0.0, 1.0], [0.5, 0.5]]
        >>> model = RankSVM().fit_pairs(X, [[0, 2], [2, 1]])
        >>> bool(model.predict(X)[0] > model.predict(X)[1])
        True
        >>> named = RankSVM().fit_pairs(X, [("ann", "cid"), ("cid", "bob")], ids=["ann", "bob", "cid"])
        >>> bool((named.coef_ == model.coef_).all())
        True
        """

        def read() -> Problem:
            check_choice("loss", self.loss, self.preference_losses)
            rows, added = self._check_offset(X, offset)
            data = self._paired(rows, pairs, ids, weight=weight, margin=margin)
            problem = self._problem(data, self.preference_losses[self.loss], from_pairs=True)
            return self._with_offset(problem, offset, added)

        described = {"qid": eval_qid, "group": eval_group, "offset": eval_offset}
        return self._fit(read, callbacks, eval_set, eval_metric, **described)

    def _check_offset(self, X: Any, offset: Any) -> tuple[Any, Any]:
        if offset is not None and self.loss == LeastSquaresLoss.name:
            raise MarginRankError.saying(
                "{offset} is not for {loss=}, which takes differences of labels for what scores shall be.",
                "Subtract it from {y}.",
                loss=self.loss,
            )
        return super()._check_offset(X, offset)

    def _check_parameters(self) -> Search:
        search = super()._check_parameters()
        check_choice("weighting", self.weighting, ("pairs", "queries"))
        check_choice("solver", self.solver, self.solvers)
        return search

    def _solver(self, problem: Problem) -> Solver:
        del problem
        name = "lbfgs" if self.solver == "auto" else self.solver
        return SOLVERS[name](tol=float(self.tol), max_iter=int(self.max_iter))
