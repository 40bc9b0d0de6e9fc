r"""Converters between ``alpha`` and the regularisation parameters of other programs.

marginrank minimises :math:`R(Xw) + \frac{\alpha}{2} \|w\|^2` with a *mean* as its risk :math:`R`, so
``alpha`` does not depend on the amount of data. Other programs sum over pairs, or average over queries, and
put the parameter on the other side. With :math:`N` pairs, :math:`n_q` queries and :math:`m` rows, both have
the same minimiser where

=================== ========================================================== ==========================
name                what the program minimises                                 its parameter
=================== ========================================================== ==========================
``svmrank``         :math:`\frac12\|w\|^2 + \frac{C}{n_q} \sum_{pairs} \ell`   :math:`C = n_q / (\alpha N)`
``liblinear``       :math:`\frac12\|w\|^2 + C \sum_{pairs} \ell`               :math:`C = 1 / (\alpha N)`
``kernel-ranksvm``  :math:`\frac12\|w\|^2 + \frac{C}{2} \sum_{pairs} \ell`     :math:`C = 2 / (\alpha N)`
``dlib``            :math:`\frac12\|w\|^2 + \frac{C}{N} \sum_{pairs} \ell`     :math:`C = 1 / \alpha`
``rankpath``        :math:`\sum_{pairs} \ell + \frac{\lambda}{2} \|w\|^2`      :math:`\lambda = \alpha N`
``treersvm``        :math:`R + \lambda \|w\|^2`                                :math:`\lambda = \alpha / 2`
``rlscore``         :math:`\|L(Xw - y)\|^2 + \lambda \|w\|^2`                  :math:`\lambda = \alpha m / 2`
=================== ========================================================== ==========================

The pair loss :math:`\ell` is the hinge or its square as the program has it: choose the same ``loss`` here.
``treersvm`` averages within each query and then over queries, as ``weighting="queries"`` does; the programs
above it weigh all pairs alike, as ``weighting="pairs"`` does; ``rlscore`` is RankRLS, whose :math:`L` centres
each query. ``kernel-ranksvm`` is the program of the kernel approximation paper, ``rankpath`` the
regularisation path paper.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from marginrank.exceptions import MarginRankError
from marginrank.parameters import check_choice, check_positive


class _Convention(NamedTuple):
    """A program's parameter: ``factor`` of the counts it ``needs``, over alpha (a C) or times alpha."""

    over_alpha: bool
    factor: Callable[..., float]
    needs: tuple[str, ...] = ()


_CONVENTIONS = {
    "svmrank": _Convention(True, lambda n_pairs, n_queries: n_queries / n_pairs, ("n_pairs", "n_queries")),
    "liblinear": _Convention(True, lambda n_pairs: 1.0 / n_pairs, ("n_pairs",)),
    "kernel-ranksvm": _Convention(True, lambda n_pairs: 2.0 / n_pairs, ("n_pairs",)),
    "dlib": _Convention(True, lambda: 1.0),
    "rankpath": _Convention(False, lambda n_pairs: float(n_pairs), ("n_pairs",)),
    "treersvm": _Convention(False, lambda: 0.5),
    "rlscore": _Convention(False, lambda n_rows: n_rows / 2.0, ("n_rows",)),
}


def alpha_from(
    name: str,
    value: float,
    *,
    n_pairs: float | None = None,
    n_queries: int | None = None,
    n_rows: int | None = None,
) -> float:
    r"""Convert the C or lambda of another program to ``alpha``.

    Parameters
    ----------
    name : {"svmrank", "liblinear", "kernel-ranksvm", "dlib", "rankpath", "treersvm", "rlscore"}
        The program; the table in :mod:`marginrank.regularization` says what each minimises.
    value : float
        Its parameter, positive.
    n_pairs : float, optional
        Number of comparable pairs (``n_pairs_`` of a fitted model): same query, different labels.
    n_queries : int, optional
        Number of queries, as the program counts them: all of them, also those without a comparable pair.
    n_rows : int, optional
        Number of rows.

    Returns
    -------
    float
        The ``alpha`` that has the same minimiser.

    Notes
    -----
    Only the counts that the formula of the program needs must be given; others are ignored.

    Examples
    --------
    ``svm_rank_learn -c 20`` on 200 queries with 40,000 pairs:

    >>> from marginrank.regularization import alpha_from
    >>> alpha_from("svmrank", 20, n_pairs=40_000, n_queries=200)
    0.00025
    >>> alpha_from("treersvm", 1e-5)
    2e-05
    """
    value = check_positive(value, "value")
    counts = {"n_pairs": n_pairs, "n_queries": n_queries, "n_rows": n_rows}
    over_alpha, factor = _lookup(name, **counts)
    return _finite(factor / value if over_alpha else value / factor, {"value": value, **counts})


def alpha_to(
    name: str,
    alpha: float,
    *,
    n_pairs: float | None = None,
    n_queries: int | None = None,
    n_rows: int | None = None,
) -> float:
    """Convert ``alpha`` to the C or lambda of another program, the inverse of :func:`alpha_from`.

    Parameters
    ----------
    name : {"svmrank", "liblinear", "kernel-ranksvm", "dlib", "rankpath", "treersvm", "rlscore"}
        The program.
    alpha : float
        Ours, positive.
    n_pairs, n_queries, n_rows : optional
        Counts, as in :func:`alpha_from`.

    Returns
    -------
    float
        The parameter of the program.

    Examples
    --------
    >>> from marginrank.regularization import alpha_to
    >>> alpha_to("svmrank", 0.00025, n_pairs=40_000, n_queries=200)
    20.0
    >>> alpha_to("dlib", 0.01)
    100.0
    """
    alpha = check_positive(alpha, "alpha")
    counts = {"n_pairs": n_pairs, "n_queries": n_queries, "n_rows": n_rows}
    over_alpha, factor = _lookup(name, **counts)
    return _finite(factor / alpha if over_alpha else factor * alpha, {"alpha": alpha, **counts})


def _lookup(name: str, **counts: float | None) -> tuple[bool, float]:
    """Return whether the parameter goes over alpha, and its factor for these counts."""
    check_choice("name", name, _CONVENTIONS)
    over_alpha, factor, needs = _CONVENTIONS[name]
    if missing := [count for count in needs if counts[count] is None]:
        raise MarginRankError(f"The parameter of {name!r} depends on {' and '.join(missing)}; give that too.")
    known = {count: check_positive(value, count) for count, value in counts.items() if value is not None}
    return over_alpha, factor(**{count: known[count] for count in needs})


def _finite(converted: float, given: dict[str, float | None]) -> float:
    if not 0.0 < converted < float("inf"):
        parts = ", ".join(f"{name}={value:g}" for name, value in given.items() if value is not None)
        raise MarginRankError(f"{parts} convert to {converted:g}; expected a positive, finite number.")
    return converted
