"""Metrics of rankings as scorers of scikit-learn."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.metadata_routing import MetadataRequest

from marginrank.data import RankingData
from marginrank.data.frames import as_frame
from marginrank.data.queries import check_qid
from marginrank.exceptions import MarginRankError, ParameterError
from marginrank.metrics import Metric, evaluate
from marginrank.metrics.names import check_flavor, parse_metric, spell_metric
from marginrank.parameters import as_list
from marginrank.training.selection import no_figure


def ranking_scorer(metric: str | Metric, *, flavor: str = "standard", qid: Any = None) -> RankingScorer:
    """Return a metric as a scorer: ``scoring=`` of scikit-learn's searches and inspections.

    It takes the query ids from the column ``qid`` of a data frame, or by metadata routing, where it requests
    ``qid`` without a word. Metrics for which lower is better are negated, as scikit-learn's scorers are.

    Parameters
    ----------
    metric : str or Metric
        What :func:`marginrank.metrics.parse_metric` understands, such as "ndcg@10".
    flavor : str, default="standard"
        The tool whose conventions hold where the name leaves them open.
    qid : array-like of shape (n_rows,), optional
        The query ids of the rows that will be scored, once and for all. For ``permutation_importance``, which
        shuffles every column of a frame: it leaves these alone.

    Returns
    -------
    RankingScorer
        Called with an estimator, X and y; returns the mean over the queries.

    Examples
    --------
    >>> from sklearn.model_selection import GridSearchCV
    >>> import pandas as pd
    >>> from marginrank import QueryKFold, RankSVM, ranking_scorer
    >>> from marginrank.datasets import make_ranking
    >>> X, y, qid = make_ranking(20, 5, 5)
    >>> frame = pd.DataFrame(X, columns=list("abcde")).assign(qid=qid)
    >>> grid = {"alpha": [0.01, 1.0]}
    >>> search = GridSearchCV(RankSVM(), grid, scoring=ranking_scorer("ndcg@10"), cv=QueryKFold(4))
    >>> search.fit(frame, y).best_params_["alpha"] in grid["alpha"]
    True
    """
    parsed = parse_metric(metric, flavor=check_flavor(flavor))
    if qid is not None:
        qid = _fixed_ids(qid)
    return RankingScorer(parsed, spell_metric(parsed, flavor), qid)


class RankingScorer:
    """A metric that is called with an estimator, X and y; made by :func:`ranking_scorer`."""

    def __init__(self, metric: Metric, name: str, qid: Any) -> None:
        self.metric = metric
        self.name = name
        self._qid = qid
        self._requests: dict[str, Any] = {"qid": qid is None, "query_weight": None}

    def __repr__(self) -> str:
        return f"ranking_scorer({self.name!r})"

    def __call__(
        self, estimator: Any, X: Any, y: Any = None, *, qid: Any = None, query_weight: Any = None
    ) -> float:
        """Return the mean of the metric over queries, negated where lower is better.

        Parameters
        ----------
        estimator : object
            Fitted; its ``predict`` gives scores.
        X : array-like, sparse matrix, data frame or RankingData
            The rows.
        y : array-like of shape (n_rows,), optional
            Labels; a ``RankingData`` brings its own.
        qid : array-like of shape (n_rows,), optional
            Query ids, where neither X nor the scorer has them.
        query_weight : optional
            Weights of the queries, as in :func:`marginrank.metrics.evaluate`.
        """
        if isinstance(X, RankingData):
            if y is not None or qid is not None:
                raise MarginRankError("RankingData carries y and qid; do not pass them again.")
            y, qid = X.y, X.qid
            query_weight = X.query_weight if query_weight is None else query_weight
        if y is None:
            raise MarginRankError("A ranking scorer compares with y, and y is None.")
        ids = self._query_ids(estimator, X, qid)
        scores = np.asarray(estimator.predict(X))
        found = evaluate(y, scores, qid=ids, metrics=[self.metric], query_weight=query_weight)
        value = next(iter(found.values()))
        if np.isnan(value):
            raise no_figure(self.metric)
        return value if self.metric.higher_is_better else -value

    def set_score_request(self, **requests: bool | str | None) -> Self:
        """Say which metadata the scorer requests, as of any scorer of scikit-learn.

        Parameters
        ----------
        **requests : {True, False, None} or str
            For ``qid`` and ``query_weight``; ``qid`` is requested unless the scorer has its own.
        """
        for name, alias in requests.items():
            if name not in self._requests:
                known = ", ".join(self._requests)
                raise MarginRankError(f"{self!r} can request {known}; got {name!r}.")
            self._requests[name] = alias
        return self

    def get_metadata_routing(self) -> MetadataRequest:
        """Return what the scorer requests, for scikit-learn."""
        request = MetadataRequest(owner=self)
        for name, alias in self._requests.items():
            request.score.add_request(param=name, alias=alias)
        return request

    def _routing_repr(self) -> str:
        return repr(self)

    def _query_ids(self, estimator: Any, X: Any, qid: Any) -> Any:
        if self._qid is not None:
            if qid is not None:
                raise MarginRankError(f"{self!r} has qid of its own; do not pass it again.")
            return self._qid
        frame = as_frame(X)
        if frame is not None and "qid" in frame.columns:
            if qid is not None:
                raise MarginRankError("X has a column 'qid' and qid was given as well; leave one out.")
            return frame["qid"].to_native()
        if qid is None and _ranks_queries(estimator):
            raise MarginRankError(
                f"{self!r} got no qid and would treat all rows as one query. Give X as a data frame with a "
                "column 'qid', use metadata routing, or pass the ids to ranking_scorer."
            )
        return qid


def _ranks_queries(estimator: Any) -> bool:
    """Whether there are queries, as far as is known: one ranking is what a ranker without them has learnt."""
    estimator = getattr(estimator, "best_estimator_", estimator)
    steps = getattr(estimator, "steps", None)
    if steps:
        return _ranks_queries(steps[-1][1])
    return bool(getattr(estimator, "_trained_on_queries", True))


def _fixed_ids(qid: Any) -> NDArray[Any]:
    listed = as_list(qid)
    if listed is None:
        raise ParameterError("qid", "query ids, one per row that will be scored", qid)
    return check_qid(qid, len(listed))
