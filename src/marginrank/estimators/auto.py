"""AutoRanker: several rankers on the same folds, and the best of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from time import perf_counter
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from marginrank.data import RankingData
from marginrank.data.finite import as_outside
from marginrank.data.matrices import in_memory
from marginrank.estimators.base import Ranker
from marginrank.estimators.kernel import KernelRankSVM
from marginrank.estimators.rank_rls import RankRLS
from marginrank.estimators.rank_svm import RankSVM
from marginrank.estimators.structured import StructuredRankSVM
from marginrank.estimators.trials import Trial
from marginrank.estimators.whole_fits import fitted_whole
from marginrank.exceptions import MarginRankError, ParameterError
from marginrank.metrics import Metric
from marginrank.model import RankingModel
from marginrank.parameters import check_count, check_positive, check_seed, check_verbose, whole_number
from marginrank.solvers.callbacks import check_callbacks
from marginrank.system.threads import resolve_threads
from marginrank.training.candidates import CandidateTable, candidate_table
from marginrank.training.selection import DEFAULT_METRIC, Search

#: Candidates by name, in the order of what they cost.
CANDIDATES: Mapping[str, Callable[[], Ranker]] = {
    "rankrls": RankRLS,
    "rankrls-kernel": lambda: KernelRankSVM(loss="least_squares"),
    "ranksvm-squared": lambda: RankSVM("squared_hinge"),
    "ranksvm-logistic": lambda: RankSVM("logistic"),
    "ranksvm": RankSVM,
    "ndcg": lambda: StructuredRankSVM("ndcg@10"),
    "map": lambda: StructuredRankSVM("map"),
    "kernel": KernelRankSVM,
}
# No choice among linear rankers beat the first one reliably, and it is the cheapest by far.
_DEFAULT = ("rankrls", "rankrls-kernel")
# With more columns than rows one did: by .0008 +- .0003 of the AUC on 17 made sets of sparse rows.
_WIDE = ("rankrls", "ranksvm-squared", "ranksvm", "rankrls-kernel")
# Of 49 queries (ClueWeb09) partitions move the difference of two rankers by up to half of its standard error.
_FEW_QUERIES = 200
_MOST_REPEATS = 1000

_Begin = Callable[[str, int, int], None]


class AutoRanker(Ranker):
    """The best of several rankers, each with an alpha of its own, by cross-validation over the same folds.

    By default :class:`RankRLS`, and the same over the columns with kernel features beside them
    (``KernelRankSVM(loss="least_squares")``); with more columns than rows, as texts have, :class:`RankSVM`
    with either hinge as well. The candidate with the best mean over the folds is taken; a linear one in place
    of a kernel if it is worse by at most half of the standard error of the difference.
    With few queries that hangs on which of them go together: where a linear ranker and a kernel are within
    one standard error of each other, all candidates are measured on other partitions as well.

    Parameters
    ----------
    metric : str or Metric, default="pairwise_error(weighting=queries)"
        What alphas and candidates are selected by.
    cv : int, splitter or list of (train, test) row numbers, default=5
        Folds of whole queries, the same for every candidate; rows where there are no queries.
    budget : float, optional
        Seconds. They decide only which candidates begin, in their order: one that has begun is finished, and
        the first one always begins. Without a budget the result has the same bits every time.
    repeats : int, default=3
        Partitions into ``cv`` folds on which a close choice among fewer than 200 queries rests; 1 never looks
        at others. Only of a number of folds, and without a budget. The models are those of the first one.
    candidates : list of str or estimators, optional
        In the order in which they are tried: "rankrls", "rankrls-kernel", "ranksvm-squared",
        "ranksvm-logistic", "ranksvm", "ndcg", "map", "kernel", or rankers of this library. Of these, ``cv``
        and ``metric`` are set; an ``alpha`` other than their default is kept, "auto" stands in for that.
    random_state : int, default=0
        Draws the landmarks of candidates that are named.
    n_jobs : int, optional
        Threads; the result has the same bits for any number.
    verbose : int, default=0
        Show progress on the standard error stream.

    Attributes
    ----------
    best_estimator_ : estimator
        The chosen one, trained on all rows.
    best_name_ : str
        Its name; of an estimator that was passed, its class.
    best_score_ : float
        Its figure.
    results_ : CandidateTable
        A row for each candidate: figure, standard error, difference to the best over the same queries with
        its standard error, alpha; and those that were not tried. It prints as a table; ``to_dicts()`` and
        ``to_frame()``.
    n_partitions_ : int
        On how many partitions into folds the figures rest.
    coef_, alpha_
        Those of ``best_estimator_``.
    n_queries_ : int
        Queries in the training data; 1 for one global ranking.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of str
        Their names, where X had them.

    See Also
    --------
    RankRLS, KernelRankSVM, RankSVM, StructuredRankSVM : The candidates.

    Examples
    --------
    >>> import numpy as np
    >>> from marginrank import AutoRanker
    >>> rng = np.random.default_rng(0)
    >>> X = rng.random((300, 3))
    >>> y = np.sin(6 * X[:, 0]) + X[:, 1]
    >>> qid = rng.integers(20, size=300)
    >>> ranker = AutoRanker(cv=3).fit(X, y, qid=qid)
    >>> ranker.best_name_
    'rankrls-kernel'
    >>> ranker.score(X, y, qid=qid) > 0.95
    True
    """

    def __init__(
        self,
        metric: str | Metric = DEFAULT_METRIC,
        *,
        cv: Any = 5,
        budget: float | None = None,
        repeats: int = 3,
        candidates: Any = None,
        random_state: int = 0,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.metric = metric
        self.cv = cv
        self.budget = budget
        self.repeats = repeats
        self.candidates = candidates
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def fit(
        self,
        X: Any,
        y: Any = None,
        *,
        qid: Any = None,
        group: Any = None,
        sample_weight: Any = None,
        query_weight: Any = None,
        callbacks: Any = None,
    ) -> Self:
        """Train all candidates on labelled rows, and take the best.

        Parameters
        ----------
        X, y, qid, group, sample_weight, query_weight
            As in :class:`RankSVM`.
        callbacks : callable or list of callables, optional
            Each is called with a ``Progress`` after every iteration of every candidate; one that returns True
            ends the fit that is under way. Where it has a method ``begin_candidate(name, number, total)``,
            that is called before each of them.

        Returns
        -------
        AutoRanker
            Itself. After Ctrl-C the best of the candidates that are finished is set before KeyboardInterrupt
            is raised again, or the model so far of the first one.
        """
        with fitted_whole(self) as best:
            search = Search(None, self.metric, self.cv)
            named = self._named_candidates(_DEFAULT if self.candidates is None else self.candidates)
            self._check_settings()
            called, begin = check_callbacks(callbacks), _begins_of(callbacks)
            weights = {"sample_weight": sample_weight, "query_weight": query_weight}
            data = self._labelled(X, y, qid, group=group, **weights)
            _check_folds(self.cv, data)
            if self.candidates is None and data.n_features > data.n_rows:
                named = self._named_candidates(_WIDE)
            trial = Trial(search, data)
            best.set_best = lambda: self._set_tried(trial, so_far=True)
            started, most = perf_counter(), len(named) * self._most_partitions(data)
            for number, (name, ranker) in enumerate(named, start=1):
                reason = self._why_not(ranker, data, trial, perf_counter() - started)
                if reason is None:
                    begin(name, number, most)
                    trial.run(name, self._prepared(ranker, trial.folds, data), called)
                else:
                    trial.left_out.append((name, reason))
            self._try_again(trial, data, most // len(named), called, begin)
            self._set_tried(trial)
            best.is_set = True
        return self

    def _check_settings(self) -> None:
        if self.budget is not None:
            check_positive(self.budget, "budget", "a positive number of seconds, or None")
        check_count(self.repeats, "repeats", most=_MOST_REPEATS)
        resolve_threads(self.n_jobs)
        check_verbose(self.verbose)

    def _most_partitions(self, data: RankingData) -> int:
        """Return on how many partitions a close choice rests."""
        n_queries = int(np.count_nonzero(np.diff(data.query_ptr)))
        is_few = data.query_ids is not None and n_queries < _FEW_QUERIES
        return int(self.repeats) if is_few and self.budget is None and whole_number(self.cv) else 1

    def _try_again(
        self, trial: Trial, data: RankingData, partitions: int, called: Sequence[Any], begin: _Begin
    ) -> None:
        """Measure all candidates on other partitions, where the choice is close."""
        if partitions == 1 or not trial.is_close():
            return
        for partition in range(1, partitions):
            folds = trial.search.query_folds(data, partition)
            rankers = [(one.name, self._prepared(ranker, folds, data)) for one, ranker in trial.candidates()]
            total, before = partitions * len(rankers), partition * len(rankers)
            again = []
            for number, (name, ranker) in enumerate(rankers, start=before + 1):
                begin(f"{name} on other folds", number, total)
                again.append(trial.measured(name, ranker, called))
            trial.rounds.append(again)

    def _named_candidates(self, given: Any) -> list[tuple[str, Ranker]]:
        """Return the candidates with their names, not fitted."""
        check_seed(self.random_state)
        if not isinstance(given, list | tuple) or not given:
            raise ParameterError("candidates", "a list of names or rankers that is not empty, or None", given)
        found: list[tuple[str, Ranker]] = []
        for one in given:
            name = one if isinstance(one, str) else type(one).__name__
            if isinstance(one, str):
                if one not in CANDIDATES:
                    known = ", ".join(map(repr, CANDIDATES))
                    raise ParameterError("candidates", f"names among {known}, or rankers", one)
                one = CANDIDATES[one]()
                if "random_state" in one.get_params(deep=False):
                    one.set_params(random_state=self.random_state)
            elif not isinstance(one, Ranker) or isinstance(one, AutoRanker):
                raise ParameterError("candidates", "names, or rankers of this library", one)
            elif getattr(one, "regularization", "tikhonov") != "tikhonov":
                raise MarginRankError(
                    "candidates are compared at an alpha of their own; "
                    f"regularization={one.regularization!r} has none."
                )
            found.append((name, one))
        names = [name for name, _ in found]
        again = [name if names.count(name) == 1 else f"{name} {k}" for k, name in enumerate(names, start=1)]
        return [(name, ranker) for name, (_, ranker) in zip(again, found, strict=True)]

    def _why_not(self, ranker: Ranker, data: RankingData, trial: Trial, seconds: float) -> str | None:
        """Return why a candidate is left out; None where it is tried."""
        is_kernel = isinstance(ranker, KernelRankSVM)
        if self.candidates is None and is_kernel and not in_memory(data.X):
            return "kernels train in memory"
        if self.budget is not None and trial.tried and seconds >= float(self.budget):
            return "no time left"
        return None

    def _prepared(self, ranker: Ranker, folds: Any, data: RankingData) -> Ranker:
        """Return a candidate that searches over the folds of all of them."""
        ranker = clone(ranker)
        settings = {"metric": self.metric, "cv": folds, "n_jobs": self.n_jobs, "verbose": self.verbose}
        default = type(ranker)().alpha
        if ranker.alpha != default and ranker.alpha != "auto":
            settings["alphas"] = [ranker.alpha]
        settings["alpha"] = "auto"
        if isinstance(ranker, KernelRankSVM) and ranker.approximation != "exact":
            n_rows = len(data.training_view().y)
            settings["n_components"] = min(ranker.n_components, n_rows)
        ranker.set_params(**settings)
        return ranker

    def _set_tried(self, trial: Trial, *, so_far: bool = False) -> bool:
        """Set the best of what was tried; return whether there was anything."""
        if so_far and not trial.tried and trial.unfinished is not None:
            trial.keep_unfinished()
        if not trial.tried:
            return False
        metric = trial.search.parsed
        chosen, self.results_ = candidate_table(
            str(metric), trial.rounds, trial.left_out, higher_is_better=metric.higher_is_better
        )
        self.n_partitions_ = len(trial.rounds)
        self.best_estimator_ = trial.rankers[chosen]
        self.best_name_ = trial.tried[chosen].name
        self.best_score_ = self.results_[chosen].figure
        return True

    @property
    def coef_(self) -> NDArray[np.float64]:  # type: ignore[override]
        """Weights of the chosen ranker."""
        return np.asarray(self._fitted("coef_"))

    @property
    def alpha_(self) -> float:  # type: ignore[override]
        """Alpha of the chosen ranker."""
        return float(self._fitted("alpha_"))

    def _fitted(self, name: str) -> Any:
        if "best_estimator_" not in vars(self):
            raise AttributeError(f"This AutoRanker is not fitted yet, and has no {name}.")
        return getattr(self.best_estimator_, name)

    def _scores(self, matrix: Any) -> NDArray[np.float64]:
        return self.best_estimator_._scores(matrix)

    def to_model(self, *, query_normalization: Literal["minmax"] | None = None) -> RankingModel:
        """Return the chosen model alone, as ``best_estimator_.to_model`` does.

        Parameters
        ----------
        query_normalization : {None, "minmax"}, default=None
            As there.

        Examples
        --------
        >>> ranker = AutoRanker(cv=2, candidates=["rankrls"]).fit([[0.0], [1.0], [2.0], [3.0]], [0, 1, 2, 3])
        >>> ranker.to_model().metadata["estimator"]
        'RankRLS'
        """
        check_is_fitted(self, "best_estimator_")
        return self.best_estimator_.to_model(query_normalization=query_normalization)

    def plot_search(self) -> Any:
        """Draw the validation curve of the chosen ranker, as its own ``plot_search`` does."""
        check_is_fitted(self, "best_estimator_")
        return self.best_estimator_.plot_search()


def _begins_of(callbacks: Any) -> _Begin:
    """Return what tells callbacks that show progress over the whole which candidate is the next one."""
    given = [callbacks] if callable(callbacks) else callbacks or ()
    shown = [as_outside(one.begin_candidate) for one in given if hasattr(one, "begin_candidate")]

    def begin(name: str, number: int, total: int) -> None:
        for callback in shown:
            callback(name, number, total)

    return begin


def _check_folds(cv: Any, data: RankingData) -> None:
    """Refuse more folds than there are queries; there is no other way to compare candidates."""
    n_queries = int(np.count_nonzero(np.diff(data.query_ptr)))
    folds = whole_number(cv)
    if data.query_ids is not None and folds is not None and n_queries < folds:
        raise MarginRankError.saying(
            "{cv=} asks for so many folds of queries, but {qid} has {n_queries:d}; give a smaller {cv}, or "
            "no {qid} where all rows are one ranking.",
            cv=folds,
            n_queries=n_queries,
        )


__all__ = ["CANDIDATES", "AutoRanker", "CandidateTable"]
