"""The sections on queries: a table of all of them to search, and rankings of those that changed most."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from marginrank.data import RankingData
from marginrank.figures import rounded
from marginrank.io.pairs import docids
from marginrank.markup import Markup, data_block, joined, named, tag, unseen, visible
from marginrank.metrics import Evaluation
from marginrank.metrics.comparison import Comparison
from marginrank.report.candidates import Candidate
from marginrank.report.sections import scrolled, section
from marginrank.types import Vector

#: Queries of the table; beyond, those of the largest differences.
MOST_QUERIES = 20_000
PAGE = 50
_CHANGED = 5
_RANKS = 10
_COLUMNS = 5
_MOST_ROWS = 5_000


def query_section(test: RankingData, found: Mapping[str, Evaluation], metrics: Sequence[str]) -> Markup:
    """Return a table of all queries with their figures, to sort and to search."""
    ids = _ids(test)
    sizes = np.diff(test.query_ptr)
    kept, said = _kept(found, metrics[0], len(ids))
    values = {
        metric: [[_four(v) for v in one.per_query[metric][kept].tolist()] for one in found.values()]
        for metric in metrics
    }
    names = [visible(name, 40) for name in found]
    differences = [f"{name} - {names[0]}" for name in names[1:]]
    block = {
        "ids": [ids[q] for q in kept.tolist()],
        "rows": sizes[kept].tolist(),
        "values": values,
        "page": PAGE,
    }
    heads = ["query", "rows", *names, *differences]
    rows = [_row(block, metrics[0], k) for k in range(min(PAGE, len(kept)))]
    controls = [
        tag(
            "label", "Search by query id ", tag("input", type="search", id="query-search", autocomplete="off")
        ),
    ]
    if len(metrics) > 1:
        options = [tag("option", visible(name, 40), value=name) for name in metrics]
        controls.append(tag("label", "Metric ", tag("select", *options, id="query-metric")))
    pages = tag(
        "div",
        tag("button", "Previous", type="button", id="query-previous"),
        tag("span", f"1 to {len(rows)} of {len(kept):,}", id="query-place", aria_live="polite"),
        tag("button", "Next", type="button", id="query-next"),
        class_="controls pages",
    )
    return section(
        "queries",
        "Queries",
        tag("div", *controls, class_="controls"),
        scrolled("Figures of each query", heads, rows, id="query-table"),
        pages,
        tag("p", said, class_="note"),
        data_block("query-data", {**block, "metric": metrics[0]}),
    )


def _row(block: dict[str, Any], metric: str, k: int) -> list[object]:
    values = [column[k] for column in block["values"][metric]]
    first = values[0]
    differences = [None if v is None or first is None else v - first for v in values[1:]]
    return [
        tag("bdi", block["ids"][k]),
        str(block["rows"][k]),
        *("-" if v is None else rounded(v) for v in values),
        *("-" if d is None else f"{d:+.4f}" for d in differences),
    ]


def _kept(found: Mapping[str, Evaluation], metric: str, n: int) -> tuple[Any, str]:
    """Return which queries the table has, and a sentence that says so."""
    if n <= MOST_QUERIES:
        return np.arange(n), f"All {n:,} queries, {PAGE} at a time; printing shows these."
    first, *others = (np.nan_to_num(one.per_query[metric]) for one in found.values())
    spread = np.max([np.abs(one - first) for one in others], axis=0) if others else -first
    kept = np.sort(np.argsort(-spread, kind="stable")[:MOST_QUERIES])
    what = f"whose {metric} differs most" if others else f"with the lowest {metric}"
    return kept, f"{MOST_QUERIES:,} of {n:,} queries: those {what}. evaluate --per-query writes all."


def _ids(data: RankingData) -> list[str]:
    ids = ["all"] if data.query_ids is None else data.query_ids.tolist()
    return [visible(one, 60) for one in ids]


def _four(value: float) -> float | None:
    return None if np.isnan(value) else round(value, 4)


def changed_section(test: RankingData, shown: Sequence[Candidate], found: Mapping[str, Comparison]) -> Markup:
    """Return the queries that got better and worse most, their rankings side by side."""
    first = shown[0]
    names = _document_names(test)
    parts: list[Markup] = []
    for other in shown[1:]:
        comparison = found[other.name]
        metric = next(iter(comparison))
        gain = np.nan_to_num(comparison.differences(metric))
        gain = gain if comparison[metric].metric.higher_is_better else -gain
        order = np.argsort(-gain, kind="stable")
        for title, chosen in (
            ("better", [q for q in order[:_CHANGED] if gain[q] > 0]),
            ("worse", [q for q in order[::-1][:_CHANGED] if gain[q] < 0]),
        ):
            heading = tag("h3", f"Got {title}: ", named(other.name, 40), " against ", named(first.name, 40))
            queries = [_query(test, first, other, int(q), comparison, metric, names) for q in chosen]
            parts += [heading, *(queries or [tag("p", "No query.")])]
    note = (
        f"At most {_CHANGED} queries each, the first {_RANKS} rows of each ranking. The features are those "
        "whose part in putting better rows above worse ones changed most: for each model, what the column "
        "adds to the mean margin of the pairs of the query, in deviations of its scores there."
    )
    return section("changed", "Queries that got better and worse", *parts, tag("p", note, class_="note"))


def _document_names(test: RankingData) -> list[str]:
    return [f"row {k + 1}" if name is None else name for k, name in enumerate(docids(test))]


def _query(
    test: RankingData,
    a: Candidate,
    b: Candidate,
    query: int,
    comparison: Comparison,
    metric: str,
    names: list[str],
) -> Markup:
    start, end = int(test.query_ptr[query]), int(test.query_ptr[query + 1])
    rows = np.arange(start, end) if test.order is None else np.asarray(test.order)[start:end]
    assert test.y is not None
    labels = test.y[rows]
    # Ties keep the order of the rows, as most metrics here take them. Both candidates were scored by then,
    # which mypy cannot see.
    ranked = [rows[np.argsort(-one.scores[rows], kind="stable")] for one in (a, b)]  # type: ignore[index]
    before, after = (comparison.a.per_query[metric][query], comparison.b.per_query[metric][query])
    summary = tag(
        "summary",
        named(_ids(test)[query], 60),
        f": {metric} {before:.3f} to {after:.3f} ({after - before:+.3f})",
    )
    tables = [
        scrolled(
            f"Ranking by {visible(candidate.name, 40)}",
            ["rank", "label", "row", "rank in the other"],
            _ranking(one, other, test, names),
            caption=joined([unseen("Ranking by "), named(candidate.name, 40)]),
        )
        for candidate, one, other in ((a, ranked[0], ranked[1]), (b, ranked[1], ranked[0]))
    ]
    return tag("details", summary, tag("div", *tables, class_="side"), _moved(a, b, rows, labels))


def _ranking(ranked: Any, other: Any, test: RankingData, names: list[str]) -> list[list[object]]:
    assert test.y is not None
    place = {int(row): k + 1 for k, row in enumerate(other)}
    return [
        [str(k + 1), f"{test.y[row]:g}", named(names[row], 40), _arrow(k + 1, place[int(row)])]
        for k, row in enumerate(ranked[:_RANKS])
    ]


def _arrow(here: int, there: int) -> str:
    return (
        f"{there}" if here == there else f"{there} ({'up' if here < there else 'down'} {abs(there - here)})"
    )


def _moved(a: Candidate, b: Candidate, rows: Any, labels: Vector) -> Markup:
    """Return the columns whose part in the order changed most."""
    if len(rows) > _MOST_ROWS:
        return tag("p", f"Of more than {_MOST_ROWS:,} rows it is not worked out which features moved them.")
    parts = [_column_parts(one, rows, labels) for one in (a, b)]
    if parts[0] is None or parts[1] is None:
        return tag("p", "Of scores alone it is not known which features moved them.")
    keys = list(dict.fromkeys([*parts[0], *parts[1]]))
    change = {key: parts[1].get(key, 0.0) - parts[0].get(key, 0.0) for key in keys}
    largest = sorted(keys, key=lambda key: -abs(change[key]))[:_COLUMNS]
    found = [
        [
            named(key, 40),
            f"{parts[0].get(key, 0.0):+.3f}",
            f"{parts[1].get(key, 0.0):+.3f}",
            f"{change[key]:+.3f}",
        ]
        for key in largest
        if change[key]
    ]
    if not found:
        return tag("p", "No feature changed its part.")
    heads = ["feature", "a", "b", "change"]
    moved = "Features that moved it"
    return scrolled(moved, heads, found, caption=Markup(moved))


def _column_parts(candidate: Candidate, rows: Any, labels: Vector) -> dict[str, float] | None:
    """Return what each column adds to the mean margin of the pairs, in deviations of the scores."""
    if candidate.model is None or candidate.rows is None or candidate.scores is None:
        return None
    of_query = candidate.rows.subset(np.sort(rows))
    found = candidate.model.explain(of_query)
    ordered = labels[np.argsort(rows, kind="stable")]
    levels = np.sort(ordered)
    # Rows below each less rows above it: how often its contribution counts, over all pairs.
    below = np.searchsorted(levels, ordered, "left")
    above = len(levels) - np.searchsorted(levels, ordered, "right")
    n_pairs = int(below.sum())
    spread = float(candidate.scores[rows].std())
    if n_pairs == 0 or spread == 0.0:
        return dict.fromkeys(candidate.columns, 0.0)
    mean = (below - above) @ found.contributions / n_pairs
    return dict(zip(candidate.columns, (mean / spread).tolist(), strict=True))
