"""Learning from clicks: weights that undo what positions do to them.

A reader clicks a row that is looked at and liked. Rows at the top are looked at more often, so clicks say as
much about the logging ranker as about the rows. Clicked rows that weigh ``1 / propensity`` make up for those
that were not seen (Joachims, Swaminathan and Schnabel, 2017): a pair weighs the product of the weights of its
rows, so a clicked row over one that was not weighs ``1 / propensity``: the inverse propensity estimate.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from marginrank.data import validation as gate
from marginrank.data.frames import split_frame
from marginrank.data.labels import LabelledQueries
from marginrank.data.matrices import is_sparse
from marginrank.data.queries import check_qid, group_rows
from marginrank.exceptions import MarginRankError, ParameterError, Sentence, warn
from marginrank.parameters import as_list, check_choice, check_count, check_positive, finite_number
from marginrank.position_model import PositionModel, fit_position_model
from marginrank.system.threads import one_blas_thread
from marginrank.types import Rows, Vector

__all__ = ["InversePropensity", "inverse_propensity", "skip_above_pairs"]

_METHODS = ("em", "given", "randomised")
_MOST_POSITIONS = 1_000_000


@dataclass(frozen=True, eq=False, repr=False)
class InversePropensity:
    """Weights of the rows of a click log, and what they rest on; goes wherever ``sample_weight`` does.

    Attributes
    ----------
    weights : ndarray of shape (n_rows,)
        ``1 / propensity`` for clicked rows, 1 for the others.
    propensities : ndarray of shape (n_positions,)
        How often each position is looked at, before clipping; the first is 1 where they were estimated. NaN
        for positions that the log does not have.
    n_clicks, n_clipped : int
        Clicked rows, and those of them whose propensity was raised to ``clip``.
    effective_sample_size : float
        ``sum(w)**2 / sum(w**2)`` over the clicked rows: as many clicks of equal weight say as much.
    n_iter : int
        Iterations of EM; 0 for the other methods.
    log_likelihood : list of float
        Of the clicks, a mean over rows, after each iteration.

    Examples
    --------
    >>> from marginrank.clicks import inverse_propensity
    >>> found = inverse_propensity([1, 0, 1], [1, 2, 2], "given", propensities=[1.0, 0.5])
    >>> found.weights.tolist(), found.n_clicks
    ([1.0, 1.0, 2.0], 2)
    """

    weights: Vector
    propensities: Vector
    n_clicks: int
    n_clipped: int
    effective_sample_size: float
    n_iter: int = 0
    log_likelihood: list[float] = field(default_factory=list)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        return np.array(self.weights, dtype=dtype)

    def __len__(self) -> int:
        return len(self.weights)

    def __repr__(self) -> str:
        return (
            f"InversePropensity({self.n_clicks} clicks, {self.n_clipped} of them clipped, effective sample "
            f"size {self.effective_sample_size:.1f})"
        )


def inverse_propensity(
    clicks: Any,
    positions: Any,
    method: Literal["em", "given", "randomised"] = "em",
    *,
    propensities: Any = None,
    items: Any = None,
    X: Any = None,
    clip: float = 0.01,
    tol: float = 1e-6,
    max_iter: int = 500,
) -> InversePropensity:
    """Return weights that undo position bias: ``sample_weight`` for training on clicks.

    With ``RankSVM`` and ``KernelRankSVM`` (``weighting="pairs"``) they give the inverse propensity estimate.

    Parameters
    ----------
    clicks : array-like of shape (n_rows,)
        1 where the row was clicked, else 0.
    positions : array-like of int, shape (n_rows,)
        Where it was shown, from 1.
    method : {"em", "given", "randomised"}, default="em"
        How propensities are known. "given": by ``propensities``. "randomised": from click rates, where the
        order was random, so that all positions showed rows as good as each other. "em": by maximum
        likelihood of the position-based model ``P(click) = propensity[position] * relevance``.
    propensities : array-like or mapping, optional
        For "given": an entry per position, the first for position 1, a mapping from positions, or an entry
        per row; above 0 and at most 1.
    items : array-like of shape (n_rows,), optional
        For "em": what was shown, any hashable ids of query and document together. Each item has a relevance
        of its own. Propensities are known as far as items were shown at several positions.
    X : array-like or frame of shape (n_rows, n_features), optional
        For "em": features. Relevance is then a logistic function of them, so that no item need be seen twice.
    clip : float, default=0.01
        Propensities below count as this. It bounds the weights, at the price of some bias.
    tol : float, default=1e-6
        EM ends when an iteration raises the mean log likelihood by less.
    max_iter : int, default=500
        Most iterations of EM; ``n_iter`` says how many there were.

    Returns
    -------
    InversePropensity
        The weights, with the propensities and the effective sample size.

    Notes
    -----
    Clicks and positions alone do not tell bias from a good logging ranker: both make the first positions
    clicked most. "em" without ``items`` and ``X`` takes all positions for equally good, and warns.

    Examples
    --------
    >>> from marginrank import RankSVM, inverse_propensity
    >>> from marginrank.datasets import make_clicks, make_ranking
    >>> X, y, qid = make_ranking(200, 10)
    >>> log = make_clicks(y, X[:, 0], qid=qid, n_sessions=5, bias=1.0)
    >>> weights = inverse_propensity(log.clicks, log.positions, method="em", X=X[log.rows])
    >>> len(weights) == len(log.clicks)
    True
    >>> ranker = RankSVM().fit(X[log.rows], log.clicks, qid=log.sessions, sample_weight=weights)
    """
    check_choice("method", method, _METHODS)
    clip = _check_share(clip, "clip")
    clicked = _check_clicks(clicks)
    places = _check_positions(positions, len(clicked))
    for name, value in (("propensities", propensities), ("items", items), ("X", X)):
        if value is not None and (name == "propensities") != (method == "given"):
            wanted = "'given'" if name == "propensities" else "'em'"
            said = f"{{{name}}} is for {{method={wanted}}}; got {{method=}}."
            raise MarginRankError.saying(said, method=method)
    tol, max_iter = check_positive(tol, "tol"), check_count(max_iter, "max_iter")
    if method == "given":
        by_position, by_row = _given(propensities, places)
        return _weighted(clicked, by_row, by_position, clip)
    if method == "randomised":
        model = _click_rates(clicked, places)
    else:
        with one_blas_thread():  # or the last bits would follow the number of processors
            model = _by_em(clicked, places, items, X, tol=tol, max_iter=max_iter)
    return _weighted(clicked, model.propensities[places - 1], model.propensities, clip, model)


def skip_above_pairs(clicks: Any, positions: Any, *, qid: Any = None, group: Any = None) -> Rows:
    """Return pairs "clicked over not clicked and shown above it", for ``fit_pairs``; warns.

    Every such pair contradicts the order that was logged, so that a model of them alone learns to reverse the
    logging ranker. Use :func:`inverse_propensity`, or mix them with other pairs.

    Parameters
    ----------
    clicks, positions : array-like of shape (n_rows,)
        As in :func:`inverse_propensity`.
    qid, group : array-like, optional
        The sessions, as queries in ``fit``.

    Returns
    -------
    ndarray of int64, shape (n_pairs, 2)
        Row numbers, the clicked row first.

    Examples
    --------
    >>> import warnings
    >>> from marginrank.clicks import skip_above_pairs
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("ignore")
    ...     skip_above_pairs([0, 1, 0, 1], [1, 2, 3, 4]).tolist()
    [[1, 0], [3, 0], [3, 2]]
    """
    clicked = _check_clicks(clicks)
    places = _check_positions(positions, len(clicked))
    sessions = LabelledQueries.of(clicked, qid=qid, group=group)
    order = np.arange(len(clicked)) if sessions.order is None else sessions.order
    found = []
    for first, last in zip(sessions.query_ptr[:-1], sessions.query_ptr[1:], strict=True):
        rows = order[first:last]
        winners, losers = rows[clicked[rows] > 0], rows[clicked[rows] == 0]
        above = places[losers][None, :] < places[winners][:, None]
        winner, loser = np.nonzero(above)
        found.append(np.column_stack([winners[winner], losers[loser]]))
    warn(
        Sentence(
            "Pairs of clicked rows over skipped ones above them all contradict the logged order: alone they "
            "teach a model to reverse it.",
            "Use inverse_propensity, or train on them with other pairs.",
        ),
        UserWarning,
    )
    return np.concatenate(found).astype(np.int64)


def _weighted(
    clicked: Vector, by_row: Vector, by_position: Vector, clip: float, model: PositionModel | None = None
) -> InversePropensity:
    hit = clicked > 0
    weights = np.ones(len(clicked))
    weights[hit] = 1.0 / np.maximum(by_row[hit], clip)
    of_clicks = weights[hit]
    size = float(of_clicks.sum() ** 2 / np.sum(of_clicks**2)) if hit.any() else 0.0
    n_iter, likelihood = (0, []) if model is None else (model.n_iter, model.log_likelihood)
    return InversePropensity(
        weights, by_position, int(hit.sum()), int(np.sum(by_row[hit] < clip)), size, n_iter, likelihood
    )


def _click_rates(clicked: Vector, places: Rows) -> PositionModel:
    """Return click rates over that of the first position."""
    shown = np.bincount(places - 1)
    hits = np.bincount(places - 1, clicked)
    if hits[0] == 0:
        raise MarginRankError.saying(
            "{positions}: there is no click at position 1, by which the others are measured.",
            "Are the positions counted from 1?",
        )
    with np.errstate(invalid="ignore"):
        rates = hits / shown
    return PositionModel(np.minimum(rates / rates[0], 1.0), [], 0)


def _by_em(clicked: Vector, places: Rows, items: Any, X: Any, *, tol: float, max_iter: int) -> PositionModel:
    start = _click_rates(clicked, places)
    if items is not None and X is not None:
        raise MarginRankError.saying("{items} and {X} are two ways to model relevance; give one of them.")
    if items is not None:
        ids = group_rows(check_qid(items, len(clicked), "items"))
        numbers = np.empty(len(clicked), dtype=np.int64)
        of_row = np.repeat(np.arange(len(ids.query_ptr) - 1), np.diff(ids.query_ptr))
        numbers[slice(None) if ids.order is None else ids.order] = of_row
        return fit_position_model(clicked, places, items=numbers, tol=tol, max_iter=max_iter)
    if X is not None:
        matrix, names = gate.check_matrix(split_frame(X)[0])
        if matrix.shape[0] != len(clicked):
            raise MarginRankError.naming(
                "X", f"must have one row per entry of clicks; got {matrix.shape[0]} for {len(clicked)}."
            )
        gate.check_finite(matrix, names)
        if is_sparse(matrix):
            matrix = matrix.toarray()
        return fit_position_model(
            clicked, places, X=np.asarray(matrix, dtype=np.float64), tol=tol, max_iter=max_iter
        )
    warn(
        Sentence(
            "Clicks and positions alone do not tell position bias from a good logging ranker; all positions "
            "are taken for equally good, so bias is overestimated.",
            "Give {items} or {X}.",
        ),
        UserWarning,
    )
    return start


def _given(propensities: Any, places: Rows) -> tuple[Vector, Vector]:
    """Return propensities by position and by row."""
    n_positions = int(places.max())
    if propensities is None:
        raise MarginRankError.saying("{method='given'} needs {propensities}.")
    if isinstance(propensities, Mapping):
        values = _mapped(propensities, places)
    else:
        listed = as_list(propensities)
        if listed is None:
            wanted = "a list of numbers or a mapping from positions"
            raise ParameterError("propensities", wanted, propensities)
        values = gate.check_numbers(propensities, "propensities")
    known = values[np.isfinite(values)]
    if len(known) == 0 or known.min() <= 0.0 or known.max() > 1.0:
        raise ParameterError("propensities", "above 0 and at most 1", propensities)
    if isinstance(propensities, Mapping) or len(values) == n_positions:
        return values, values[places - 1]
    if len(values) == len(places):
        by_position = np.full(n_positions, np.nan)
        by_position[places - 1] = values
        return by_position, values
    if len(values) > n_positions:
        return values, values[places - 1]
    raise MarginRankError.naming(
        "propensities",
        f"must have an entry per position or per row; got {len(values)} for {n_positions} positions.",
    )


def _mapped(propensities: Mapping[Any, Any], places: Rows) -> Vector:
    values = np.full(int(places.max()), np.nan)
    for place in np.unique(places):
        number = finite_number(propensities.get(int(place)))
        if number is None:
            raise MarginRankError.naming("propensities", f"must have a number for position {place}.")
        values[place - 1] = number
    return values


def _check_share(value: Any, name: str) -> float:
    number = finite_number(value)
    if number is None or not 1e-12 <= number <= 1.0:
        raise ParameterError(name, "a number from 1e-12 to 1", value)
    return number


def _check_clicks(clicks: Any) -> Vector:
    values = gate.check_numbers(clicks, "clicks")
    if len(values) == 0:
        raise MarginRankError.naming("clicks", "must have at least one row; got none.")
    if not np.isin(values, (0.0, 1.0)).all():
        wrong = values[~np.isin(values, (0.0, 1.0))][0]
        raise MarginRankError.naming("clicks", f"must be 0 or 1; got {wrong:g} among them.")
    return values


def _check_positions(positions: Any, n_rows: int) -> Rows:
    values = gate.check_numbers(positions, "positions")
    if len(values) != n_rows:
        raise MarginRankError.saying(
            "{positions} must have one entry per entry of {clicks}; got {got:d} for {n_rows:d}.",
            got=len(values),
            n_rows=n_rows,
        )
    if values.min() < 1 or (values != np.floor(values)).any() or values.max() > _MOST_POSITIONS:
        raise MarginRankError.naming(
            "positions",
            f"must be integers from 1 to {_MOST_POSITIONS:,}; got {values.min():g} to {values.max():g}.",
        )
    return values.astype(np.int64)
