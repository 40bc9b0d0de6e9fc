"""Any number of models compared with the first of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from marginrank.metrics.comparison import Comparison, compare
from marginrank.metrics.paired_tests import holm


def compare_with_first(y: Any, scores: Mapping[str, Any], **options: Any) -> dict[str, Comparison]:
    """Return the comparison of every model but the first with the first one, by name.

    P-values are corrected by Holm's method over all metrics and models together: each further model is a
    further chance to find a difference that is none.

    Parameters
    ----------
    y : array-like of shape (n_rows,)
        Labels.
    scores : mapping of str to array-like of shape (n_rows,)
        The scores of at least two models.
    **options
        As in :func:`marginrank.comparison.compare`.

    Examples
    --------
    >>> scores = {"old": [1, 2, 2, 1], "new": [2, 1, 2, 1], "same": [1, 2, 2, 1]}
    >>> found = compare_with_first([1, 0, 1, 0], scores, group=[2, 2], metrics=["mrr"], tests=["t"])
    >>> {name: one["mrr"].difference for name, one in found.items()}
    {'new': 0.25, 'same': 0.0}
    """
    first, *others = scores
    found = {name: compare(y, scores[first], scores[name], **options) for name in others}
    if len(found) == 1:
        return found
    tests = next(iter(found.values())).tests
    places = [(name, metric) for name, one in found.items() for metric in one]
    corrected: dict[tuple[str, str], dict[str, float]] = {place: {} for place in places}
    for test in tests:
        p_values = holm([found[name][metric].p_values[test] for name, metric in places])
        for place, p_value in zip(places, p_values, strict=True):
            corrected[place][test] = p_value
    return {
        name: Comparison(
            one.a,
            one.b,
            {metric: replace(one[metric], p_holm=corrected[name, metric]) for metric in one},
            tests,
        )
        for name, one in found.items()
    }
