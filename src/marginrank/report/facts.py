"""What is said of data, in names and values: by ``marginrank inspect`` and by reports."""

from __future__ import annotations

from marginrank.figures import counted
from marginrank.inspection import Inspection
from marginrank.markup import visible

_SHOWN = 8


def data_facts(found: Inspection) -> list[tuple[str, str]]:
    """Return what was found in data.

    Examples
    --------
    >>> from marginrank import RankingData
    >>> from marginrank.inspection import inspect
    >>> data_facts(inspect(RankingData([[1.0], [2.0]], y=[0, 1])))[0]
    ('rows', '2')
    """
    return [
        ("rows", f"{found.n_rows:,}"),
        ("queries", f"{found.n_queries:,} (longest: {counted(found.longest_query, 'row')})"),
        ("features", f"{found.n_features:,} ({found.storage}, {found.stored_share:.1%} not zero)"),
        *_learnt_from(found),
        ("duplicated rows", f"{found.n_duplicated_rows:,}"),
        ("constant features", _names(found.constant_features)),
        ("badly scaled features", _names(found.badly_scaled_features)),
    ]


def _learnt_from(found: Inspection) -> list[tuple[str, str]]:
    labels = [("labels", _labels(found))] if found.labels else []
    if found.explicit_pairs:
        return [*labels, ("explicit pairs", f"{found.n_pairs:,}, trained on in place of labels")]
    idle = found.n_single_row_queries + found.n_constant_queries
    return [
        *labels,
        ("pairs that count", f"{found.n_pairs:,}"),
        (
            "queries without pairs",
            f"{idle:,} ({found.n_single_row_queries:,} with one row, "
            f"{found.n_constant_queries:,} with one label)",
        ),
    ]


def _labels(found: Inspection) -> str:
    if "distinct" in found.labels:
        return "{distinct:,} distinct, {lowest:g} to {highest:g}".format(**found.labels)
    return ", ".join(f"{label}: {count:,}" for label, count in found.labels.items())


def _names(names: list[str | int]) -> str:
    if not names:
        return "none"
    more = f" and {len(names) - _SHOWN:,} more" if len(names) > _SHOWN else ""
    return f"{len(names):,}: {', '.join(map(visible, names[:_SHOWN]))}{more}"
