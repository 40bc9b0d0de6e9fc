"""Any ranker over the workers of a Dask cluster."""

from __future__ import annotations

import os
from collections.abc import Sequence
from inspect import signature
from typing import Any

import numpy as np
from distributed import Client
from numpy.typing import NDArray
from sklearn.base import clone

from marginrank.distributed.cluster import Cluster, connected
from marginrank.distributed.evaluation import EvaluationSources
from marginrank.distributed.labelling import Labelling
from marginrank.distributed.sources import remote_data
from marginrank.distributed.training import check_trainable, fit_on_workers
from marginrank.exceptions import MarginRankError, ParameterError, shown, warn
from marginrank.metrics import Evaluation
from marginrank.metrics import evaluate as evaluate_scores
from marginrank.model import RankingModel
from marginrank.parameters import check_positive


class DaskRanker:
    """Train, predict and score with a ranker over data that Dask workers hold.

    The model is that of the ranker itself: within its certified gap, and with the same bits for any number of
    workers, wherever the chunks lie and whatever fails on the way.

    Parameters
    ----------
    estimator : RankSVM, RankRLS or StructuredRankSVM
        What to train; it is copied. With ``warm_start=True`` training starts from the model of the last
        ``fit``, and the first one from that of the estimator, if it is fitted: on a sample in memory, say.
    client : distributed.Client or str, optional
        The cluster, or the address of its scheduler. By default processes on this machine, one for each
        processor, which are stopped after each call.
    checkpoint : path, optional
        A file to keep what workers answer in, so that a training that is stopped can go on. It must not be
        there yet, and stays afterwards.
    resume : path, optional
        The checkpoint of a training of the same data with the same parameters, to go on with. The model
        equals that of an undisturbed training, to the bit.
    timeout : float, default=600
        Seconds that a pass over the data, or waiting for a worker, may take.
    retries : int, default=5
        How often a pass that failed is repeated.
    mmap : bool, default=True
        Whether workers map chunks on disk into memory; they read them otherwise.
    verify : bool, default=True
        Whether workers compare each chunk with its checksum when they load it.

    Attributes
    ----------
    estimator_ : RankSVM, RankRLS or StructuredRankSVM
        The fitted ranker, with all its attributes; it needs no cluster.
    ranker_ : RankSVM, RankRLS or StructuredRankSVM
        The same by its former name, which goes with the next release.
    n_failures_ : int
        Passes that failed in the last ``fit`` and were repeated.

    Notes
    -----
    Where every chunk ends with a query, coefficients go to the workers in each pass, and a value and a
    gradient come back. For one global ranking, and for explicit pairs, the scores of all rows do.

    ``clone`` keeps the client. A pickle holds the address of its scheduler instead, so whoever opens it
    connects anew, over TLS with the settings of Dask.

    Examples
    --------
    Two workers in this process; ``Client("tcp://scheduler:8786")`` for a cluster.

    >>> import tempfile
    >>> from distributed import Client
    >>> from marginrank import RankSVM, write_dataset
    >>> from marginrank.distributed import DaskRanker
    >>> train = tempfile.mkdtemp() + "/train.mrd"
    >>> X, y, qid = [[1.0], [2.0], [4.0], [2.0]], [0, 1, 1, 0], [7, 7, 8, 8]
    >>> _ = write_dataset(train, X, y, qid=qid, chunk_rows=2)
    >>> with Client(n_workers=2, processes=False, dashboard_address="127.0.0.1:0") as client:
    ...     ranker = DaskRanker(RankSVM(alpha=1e-3), client).fit(train)
    ...     print(ranker.score(train), ranker.evaluate(train, metrics=["map"])["map"])
    1.0 1.0
    >>> ranker.to_model()
    RankingModel('linear', n_features=1, estimator='RankSVM')
    """

    def __init__(
        self,
        estimator: Any,
        client: Client | str | None = None,
        *,
        checkpoint: str | os.PathLike[str] | None = None,
        resume: str | os.PathLike[str] | None = None,
        timeout: float = 600.0,
        retries: int = 5,
        mmap: bool = True,
        verify: bool = True,
    ) -> None:
        check_trainable(estimator)
        check_positive(timeout, "timeout", "a positive, finite number of seconds")
        if isinstance(retries, bool) or not isinstance(retries, int) or retries < 0:
            raise ParameterError("retries", "an integer of at least 0", retries)
        if not isinstance(client, Client | str | None) or getattr(client, "asynchronous", False):
            raise MarginRankError(
                "client must be a distributed.Client that is not asynchronous, the address of a scheduler, "
                f"or None; got {shown(client)}."
            )
        if checkpoint is not None and resume is not None:
            raise MarginRankError("resume goes on with its own checkpoint; give one of the two.")
        self.estimator = estimator
        self.client = client
        self.checkpoint = checkpoint
        self.resume = resume
        self.timeout = timeout
        self.retries = retries
        self.mmap = mmap
        self.verify = verify

    def __repr__(self) -> str:
        return f"DaskRanker({self.estimator!r})"

    def __sklearn_clone__(self) -> DaskRanker:
        """Return an unfitted copy over the same cluster; a client has connections, and is not copied."""
        given = {name: getattr(self, name) for name in signature(DaskRanker).parameters}
        return type(self)(**{**given, "estimator": clone(self.estimator)})

    def __getstate__(self) -> dict[str, Any]:
        state = dict(vars(self))
        if isinstance(self.client, Client):
            reached = self.client.scheduler
            state["client"] = None if reached is None else reached.address
        return state

    @property
    def ranker_(self) -> Any:
        """The fitted ranker by its former name."""
        warn(
            "DaskRanker.ranker_ is called estimator_ now, and goes with the next release.",
            DeprecationWarning,
        )
        return self.estimator_

    def fit(
        self,
        source: Any,
        y: Any = None,
        *,
        qid: Any = None,
        sample_weight: Any = None,
        query_weight: Any = None,
        eval_set: Any = None,
        eval_qid: Any = None,
        **options: Any,
    ) -> DaskRanker:
        """Train.

        Parameters
        ----------
        source : path or DiskDataset, list of paths, Dask array or Dask data frame
            A data set on disk, a folder of Parquet files, or a list of files that ``marginrank.io.read``
            knows; each file becomes a chunk and holds whole queries, and workers find it under the same path
            or URL. Or partitions of rows; where a query goes on in the next one, its rows move there.
        y, qid : array-like, Dask array or series, or the name of a column, optional
            Labels and query ids of a Dask collection; the column ``qid`` of a data frame needs no saying.
            Files carry them.
        sample_weight, query_weight : the same, or a mapping of query id to weight, optional
            Weights, as in the ranker's ``fit``.
        eval_set : path, DiskDataset, Dask data frame, RankingData, (X, y), or a list of these, optional
            Validation sets; all but those in memory are scored by the workers. A path is that of a data set
            on disk, of a file or of a folder of Parquet files; a list of files within the list is one set. A
            data frame has the columns of the training data.
        eval_qid : array-like, Dask array or series, or a list of these, optional
            Query ids of (X, y).
        **options
            Others of the ranker's ``fit``: ``eval_group``, ``eval_metric``, ``callbacks``.

        Returns
        -------
        DaskRanker
            Itself.
        """
        given = Labelling(y, qid, sample_weight, query_weight)
        return self._fit(source, given, eval_set, eval_qid, options)

    def fit_pairs(
        self,
        source: Any,
        pairs: Any,
        *,
        ids: Any = None,
        weight: Any = None,
        margin: Any = None,
        eval_set: Any = None,
        eval_qid: Any = None,
        **options: Any,
    ) -> DaskRanker:
        """Train on bare preferences: row ``pairs[k, 0]`` beats row ``pairs[k, 1]``.

        Parameters
        ----------
        source : path or DiskDataset, list of paths, Dask array or Dask data frame
            As in ``fit``; labels of files and of a data set on disk count for nothing.
        pairs : array-like or data frame of shape (n_pairs, 2), also of Dask
            Row numbers, or ``ids``, winner first; of a data frame, the columns ``winner`` and ``loser``.
        ids : array-like of shape (n_rows,), Dask array or series, or str, optional
            What ``pairs`` call the rows, each once; or the name of the column of a Dask data frame.
        weight, margin : array-like of shape (n_pairs,), Dask array or series, or str, optional
            Weights and margins of the pairs, or the names of columns of ``pairs``.
        eval_set, eval_qid, **options
            As in ``fit``.

        Returns
        -------
        DaskRanker
            Itself.
        """
        if not hasattr(self.estimator, "fit_pairs"):
            raise MarginRankError(f"{type(self.estimator).__name__} does not train on pairs; RankSVM does.")
        given = Labelling(ids=ids, pairs=pairs, pair_weight=weight, pair_margin=margin)
        return self._fit(source, given, eval_set, eval_qid, options)

    def _fit(
        self, source: Any, given: Labelling, eval_set: Any, eval_qid: Any, options: dict[str, Any]
    ) -> DaskRanker:
        with connected(self.client, self.timeout, self.retries) as cluster:
            path = self.resume if self.checkpoint is None else self.checkpoint
            cluster.checkpoint = None if path is None else os.fspath(path)
            data = self._remote(source, given, cluster)
            reader = EvaluationSources(cluster, given, data.n_features, self.mmap, self.verify)
            sets, eval_qid = reader.read(eval_set, eval_qid)
            ranker = self._start()
            try:
                fit_on_workers(
                    ranker, data, sets, path, resume=self.resume is not None, eval_qid=eval_qid, **options
                )
            finally:
                self.n_failures_ = cluster.failures
                if hasattr(ranker, "n_iter_"):  # also of a training that was interrupted
                    self.estimator_ = ranker
        return self

    def predict(self, source: Any) -> NDArray[np.float64]:
        """Return a score for each row, in the order of the rows.

        Parameters
        ----------
        source : path or DiskDataset, list of paths, Dask array or Dask data frame
            As in ``fit``; a data frame of features, and of nothing else but a column ``qid``.

        Returns
        -------
        ndarray of shape (n_rows,)
            Scores.
        """
        ranker = self._fitted()
        with connected(self.client, self.timeout, self.retries) as cluster:
            return np.asarray(ranker.predict(self._remote(source, Labelling(), cluster)))

    def score(self, source: Any, y: Any = None, *, qid: Any = None) -> float:
        """Return 1 minus the pairwise error: the share of pairs in the right order, ties half.

        Parameters
        ----------
        source, y, qid
            As in ``fit``.

        Returns
        -------
        float
            1 for a perfect order, 0.5 for chance.
        """
        ranker = self._fitted()
        with connected(self.client, self.timeout, self.retries) as cluster:
            return float(ranker.score(self._remote(source, Labelling(y, qid), cluster)))

    def evaluate(
        self,
        source: Any,
        y: Any = None,
        *,
        qid: Any = None,
        metrics: Sequence[str] = ("ndcg@10",),
        **options: Any,
    ) -> Evaluation:
        """Measure the ranking of rows on workers; only labels, ids and scores come here.

        Parameters
        ----------
        source, y, qid
            As in ``fit``.
        metrics : sequence of str, default=("ndcg@10",)
            What to measure.
        **options
            Others of :func:`marginrank.metrics.evaluate`: ``flavor``, ``docid``, ``n_jobs``.

        Returns
        -------
        Evaluation
            The figures that ``marginrank.metrics.evaluate`` gives to the same scores.
        """
        ranker = self._fitted()
        with connected(self.client, self.timeout, self.retries) as cluster:
            data = self._remote(source, Labelling(y, qid), cluster)
            if data.y is None:
                raise MarginRankError("These data have no labels to measure against.")
            scores = ranker.predict(data)
        return evaluate_scores(data.y, scores, qid=data.qid, metrics=list(metrics), **options)

    def to_model(self, **options: Any) -> RankingModel:
        """Return the fitted model alone, as ``to_model`` of the ranker does."""
        model: RankingModel = self._fitted().to_model(**options)
        return model

    def _start(self) -> Any:
        """Return the ranker to train, with coefficients only where it starts from them."""
        ranker = clone(self.estimator)
        known = getattr(self, "estimator_", self.estimator)
        if getattr(ranker, "warm_start", False) and hasattr(known, "coef_"):
            ranker.coef_ = known.coef_
        return ranker

    def _remote(self, source: Any, given: Labelling, cluster: Cluster) -> Any:
        return remote_data(source, cluster, given, mmap=self.mmap, verify=self.verify)

    def _fitted(self) -> Any:
        if not hasattr(self, "estimator_"):
            raise MarginRankError("This DaskRanker is not fitted yet; call fit first.")
        return self.estimator_
