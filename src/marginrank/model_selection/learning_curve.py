"""Whether more labelled queries would help: quality against the number of queries that were trained on."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from marginrank.data import RankingData, check_data
from marginrank.data.query_folds import dealt_in_order
from marginrank.data.validation import as_array
from marginrank.exceptions import MarginRankError, ParameterError
from marginrank.markup import named, table
from marginrank.metrics import Metric, evaluate
from marginrank.metrics.names import parse_metric, spell_metric
from marginrank.parameters import check_count, check_seed
from marginrank.system.pictures import new_figure
from marginrank.training.paired_parts import PairedParts, error_of_difference, mean_and_error
from marginrank.types import Rows, Vector

# Sizes by default: halves of what there is, down to a sixteenth.
_HALVES = 5


@dataclass(frozen=True, eq=False)
class LearningCurve:
    """Quality by the number of training queries; made by :func:`learning_curve`.

    Parameters
    ----------
    metric : str
        What was measured.
    sizes : ndarray of shape (n_sizes,)
        Numbers of training queries, ascending.
    held_out : ndarray of shape (n_sizes,)
        The metric on queries that were not trained on, each in one fold.
    held_out_error : ndarray of shape (n_sizes,)
        Its standard error over these queries; NaN where fewer than two count.
    training : ndarray of shape (n_sizes,)
        The metric on the queries that were trained on, a mean over folds.
    gain_error : ndarray of shape (n_sizes,)
        The standard error of the difference in ``held_out`` to the size before, query by query, which is
        mostly much smaller than that of the figures; NaN for the first.

    Examples
    --------
    >>> import numpy as np
    >>> held_out, zero = np.array([0.6, 0.7]), np.zeros(2)
    >>> found = LearningCurve("map", np.array([10, 20]), held_out, zero, np.array([0.9, 0.8]), zero)
    >>> (found.training - found.held_out).round(1).tolist()  # what more queries may still bring
    [0.3, 0.1]
    """

    metric: str
    sizes: NDArray[np.int64]
    held_out: Vector
    held_out_error: Vector
    training: Vector
    gain_error: Vector

    @property
    def gains(self) -> Vector:
        """What each size adds to the figure of the one before; NaN for the first."""
        return np.concatenate([[np.nan], np.diff(self.held_out)])

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, for JSON; NaN is None."""
        columns = ("sizes", "held_out", "held_out_error", "training", "gains", "gain_error")
        values = {name: getattr(self, name).tolist() for name in columns}
        plain = {name: [None if v != v else v for v in column] for name, column in values.items()}
        return {"metric": self.metric, **plain}

    def __str__(self) -> str:
        head, *rows = self._rows()
        widths = [max(len(row[k]) for row in (head, *rows)) for k in range(len(head))]
        lines = ["  ".join(c.rjust(w) for c, w in zip(row, widths, strict=True)) for row in (head, *rows)]
        return f"{self.metric} by the number of training queries\n" + "\n".join(lines)

    def _rows(self) -> list[list[str]]:
        rows = [["queries", "held out", "error", "change", "error", "in training"]]
        columns = (self.held_out, self.held_out_error, self.gains, self.gain_error, self.training)
        for size, mean, error, gain, gain_error, train in zip(self.sizes, *columns, strict=True):
            figures = [_text(mean), _text(error), _text(gain, "+"), _text(gain_error), _text(train)]
            rows.append([f"{size:,}", *figures])
        return rows

    def _repr_html_(self) -> str:
        head, *rows = self._rows()
        return table(head, rows, caption=named(f"{self.metric} by the number of training queries"))

    def plot(self) -> Any:
        """Draw quality against the number of training queries, with its standard error.

        Returns
        -------
        matplotlib.figure.Figure
            Save it with ``savefig``. Needs matplotlib (``pip install marginrank[plot]``).
        """
        figure = new_figure(7.0, 3.6, "a learning curve")
        axis = figure.subplots()
        if np.isfinite(self.held_out_error).all():
            low, high = self.held_out - self.held_out_error, self.held_out + self.held_out_error
            label = "± standard error over queries"
            axis.fill_between(self.sizes, low, high, color="C0", alpha=0.2, linewidth=0, label=label)
        axis.plot(self.sizes, self.held_out, "o-", color="C0", label="held-out queries")
        axis.plot(self.sizes, self.training, "o--", color="0.45", label="queries that were trained on")
        axis.set_xscale("log", base=2)
        axis.set_xticks(self.sizes, [f"{size:,}" for size in self.sizes])
        axis.minorticks_off()
        last = ""
        if len(self.sizes) > 1:
            change = f"{_text(self.gains[-1], '+')} ± {_text(self.gain_error[-1])}"
            last = f"\nthe last step, from {self.sizes[-2]:,} to {self.sizes[-1]:,}, changed it by {change}"
        axis.set_xlabel(f"training queries{last}")
        axis.set_ylabel(self.metric)
        axis.legend(fontsize="small", loc="best")
        return figure


def learning_curve(
    ranker: Any,
    data: RankingData,
    *,
    sizes: Any = None,
    metric: str | Metric = "ndcg@10",
    cv: int = 5,
    random_state: int = 0,
) -> LearningCurve:
    """Measure how quality grows with the number of training queries: whether more labels would pay.

    Queries are dealt to folds. For each fold the ranker is fitted to some of the other queries, to more and
    more of them in one random order, and measured on the fold.

    Parameters
    ----------
    ranker : RankSVM, RankRLS or another ranker
        What is fitted; it is not changed. With ``alpha="auto"`` alpha is chosen for each size anew, which a
        fair curve needs: fewer queries want more regularisation.
    data : RankingData
        Labelled rows in queries.
    sizes : sequence of int, optional
        Numbers of training queries. By default all that folds leave, a half, a quarter, ... a sixteenth.
    metric : str or Metric, default="ndcg@10"
        What is measured.
    cv : int, default=5
        Number of folds.
    random_state : int, default=0
        Seed of the folds and of the order of the queries.

    Returns
    -------
    LearningCurve
        Figures with their standard errors, to print and to ``plot``.

    Notes
    -----
    Costs ``cv`` fits of each size: about ten fits of all rows by default.

    Examples
    --------
    >>> from marginrank import RankingData, RankRLS
    >>> from marginrank.datasets import make_ranking
    >>> from marginrank.model_selection import learning_curve
    >>> X, y, qid = make_ranking(n_queries=50, rows_per_query=10, n_features=20, random_state=0)
    >>> found = learning_curve(RankRLS(alpha=1.0), RankingData(X, y, qid=qid), sizes=[5, 40])
    >>> bool(found.held_out[1] > found.held_out[0])
    True
    """
    check_data(data)
    name = spell_metric(parse_metric(metric), "standard")
    n_folds = check_count(cv, "cv", least=2)
    seed = check_seed(random_state)
    rows, able = _queries_of(data)
    if data.y is None or len(rows) < n_folds or able.sum() < 2:
        raise MarginRankError.saying(
            "{data} must have labels, as many queries as there are folds ({cv=}), and two or more queries "
            "with different labels.",
            cv=n_folds,
        )
    order = np.random.default_rng(seed).permutation(len(rows))
    fold_of = dealt_in_order(np.ones(len(rows), dtype=np.int64), order, n_folds)
    wanted = _sizes(sizes, len(rows) - int(np.bincount(fold_of).max()))
    held_out = np.full((len(rows), len(wanted)), np.nan)
    weight = np.ones(len(rows))
    training = np.zeros(len(wanted))
    for fold, k, drawn in _draws(order, fold_of, able, wanted, n_folds):
        fitted = _fitted(ranker, data.subset(np.concatenate([rows[q] for q in drawn])))
        left = np.flatnonzero(fold_of == fold)
        values, by = _measured(fitted, data, [rows[q] for q in left], name)
        held_out[left, k] = values
        weight[left] = 1.0 if by is None else by
        seen, by = _measured(fitted, data, [rows[q] for q in drawn], name)
        training[k] += mean_and_error(PairedParts(seen[:, None], by))[0][0] / n_folds
    parts = PairedParts(held_out, weight)
    mean, error = mean_and_error(parts)
    steps = [error_of_difference(parts, k)[k + 1] for k in range(len(wanted) - 1)]
    return LearningCurve(name, wanted, mean, error, training, np.array([np.nan, *steps]))


def _text(value: float, sign: str = "") -> str:
    return "-" if np.isnan(value) else format(value, f"{sign}.4f")


def _queries_of(data: RankingData) -> tuple[list[Rows], NDArray[np.bool_]]:
    """Return the rows of each query, and which queries have rows to be compared."""
    order = np.arange(data.n_rows) if data.order is None else np.asarray(data.order)
    rows = [order[a:b] for a, b in zip(data.query_ptr[:-1], data.query_ptr[1:], strict=True)]
    y = data.y
    able = [y is not None and len(one) > 0 and bool(y[one].min() < y[one].max()) for one in rows]
    return rows, np.array(able, dtype=bool)


def _sizes(sizes: Any, most: int) -> NDArray[np.int64]:
    """Return the numbers of queries to train on, ascending."""
    if sizes is None:
        return np.unique([max(1, most >> k) for k in range(_HALVES)]).astype(np.int64)
    found = as_array(sizes, "sizes")
    whole = found.ndim == 1 and found.size > 0 and found.dtype.kind in "iu"
    if not whole or found.min() < 1 or found.max() > most:
        raise ParameterError("sizes", f"numbers of training queries, from 1 to {most}", sizes)
    return np.unique(found).astype(np.int64)


def _draws(
    order: Rows, fold_of: NDArray[np.int64], able: NDArray[np.bool_], sizes: NDArray[np.int64], n_folds: int
) -> Iterator[tuple[int, int, Rows]]:
    """Yield folds, the places of sizes, and the queries to train on; one with pairs is always among them."""
    for fold in range(n_folds):
        others = order[fold_of[order] != fold]
        first = np.flatnonzero(able[others])[:1]
        others = np.concatenate([others[first], np.delete(others, first)])
        for k, size in enumerate(sizes.tolist()):
            yield fold, k, others[:size]


def _fitted(ranker: Any, rows: RankingData) -> Any:
    if isinstance(ranker, type) or not all(
        hasattr(ranker, name) for name in ("get_params", "fit", "predict")
    ):
        raise ParameterError("ranker", "a ranker of this library, such as RankSVM", ranker)
    return clone(ranker).fit(rows)


def _measured(
    fitted: Any, data: RankingData, queries: list[Rows], metric: str
) -> tuple[Vector, Vector | None]:
    """Return the metric of some queries, in their order, and what they count in the mean."""
    rows = data.subset(np.concatenate(queries))
    assert rows.y is not None
    groups = [len(one) for one in queries]
    found = evaluate(rows.y, fitted.predict(rows), group=groups, metrics=[metric])
    return found.per_query[metric], found.mean_weights[metric]
