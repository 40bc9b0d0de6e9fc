"""The sections of a report on data, models and figures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import cast

import numpy as np

from marginrank.exceptions import MarginRankError
from marginrank.export.base import ExportedModel
from marginrank.figures import counted, rounded
from marginrank.inspection import Inspection
from marginrank.markup import Markup, facts, named, table, tag, unseen, visible
from marginrank.metrics import Evaluation
from marginrank.metrics.comparison import Comparison
from marginrank.metrics.comparison_tables import comparison_rows
from marginrank.model.facts import model_facts, model_report
from marginrank.report.candidates import Candidate
from marginrank.report.charts import Line, bar, difference_chart, interval_chart, line_chart
from marginrank.report.facts import data_facts

#: How many weights a report shows of a model, or of a path.
MOST_WEIGHTS = 50
#: What a table needs to be sorted by a click.
SORTABLE = "sortable"


def section(identity: str, title: str, *content: Markup) -> Markup:
    """Return a section with its heading."""
    heading = tag("h2", title, id=f"{identity}-title")
    return tag("section", heading, *content, id=identity, aria_labelledby=f"{identity}-title")


def data_section(found: Mapping[str, Inspection]) -> Markup:
    """Return what is in the data, and what will not be learned from."""
    columns = {name: dict(data_facts(one)) for name, one in found.items()}
    keys = list(dict.fromkeys(key for column in columns.values() for key in column))
    rows = [[key, *(named(column.get(key, "-"), 400) for column in columns.values())] for key in keys]
    notes = [tag("li", text) for name, one in found.items() for text in _not_learned(name, one)]
    unused = tag("ul", *notes) if notes else tag("p", "Every query has pairs, and every feature varies.")
    body = scrolled("What is in the data", ["", *columns], rows, class_="facts")
    return section("data", "Data", body, tag("h3", "What will not be learned from"), unused)


def _not_learned(name: str, found: Inspection) -> list[str]:
    notes = []
    if found.n_single_row_queries:
        notes.append(f"{name}: {counted(found.n_single_row_queries, 'query')} with one row")
    if found.n_constant_queries:
        notes.append(f"{name}: {counted(found.n_constant_queries, 'query')} with one label")
    if found.constant_features:
        notes.append(f"{name}: {counted(len(found.constant_features), 'feature')} with one value")
    return notes


def models_section(shown: Sequence[Candidate]) -> Markup:
    """Return what each model is, with its certificate and how training got there."""
    return section("models", "Models", *(_model(one) for one in shown if one.model is not None))


def _model(candidate: Candidate) -> Markup:
    assert candidate.model is not None
    known = model_report(cast("ExportedModel", candidate.model), candidate.columns)
    rows = [(name, named(value, 400)) for name, value in model_facts(known)]
    history = candidate.model.metadata.get("history")
    chart = _convergence(history, candidate.name) if isinstance(history, Mapping) else Markup("")
    about = facts(rows, caption=unseen(f"About {visible(candidate.name)}"), class_="facts")
    return tag("article", tag("h3", named(candidate.name)), about, chart)


def _convergence(history: Mapping[str, Sequence[float]], name: str) -> Markup:
    """Return the objective and what is proven of the optimum, by iteration."""
    try:
        steps, values, bounds = (
            np.array(history[key], dtype=np.float64) for key in ("iteration", "objective", "lower_bound")
        )
    except (KeyError, TypeError, ValueError):  # a model file may say anything
        return Markup("")
    if not len(steps) == len(values) == len(bounds) or len(steps) < 2 or not np.isfinite(values).all():
        return Markup("")
    # From the first step on that is near the end: the first value dwarfs all others.
    first = int(np.argmax(values <= values[-1] + 0.5 * (values[0] - values[-1])))
    steps, values, bounds = (column[first:] for column in (steps, values, bounds))
    if len(steps) < 2:
        return Markup("")
    lines = [Line("objective", values), Line("no model is below", np.where(bounds > 0, bounds, np.nan))]
    return line_chart(
        steps,
        lines,
        x_name="iteration",
        y_name="objective",
        log_x=False,
        label=f"Objective and certified lower bound by iteration: {visible(name)}",
        id_=None,
    )


def quality_section(found: Mapping[str, Evaluation]) -> Markup:
    """Return the means of all metrics with their intervals, as ``evaluate`` prints them."""
    first = next(iter(found.values()))
    interval = f"{first.level:.4g} interval"
    parts = []
    for metric in first:
        rows = [
            [
                named(name),
                rounded(one[metric]),
                " to ".join(map(rounded, one.intervals[metric])),
                f"{one.empty_counts[metric]:,}",
            ]
            for name, one in found.items()
        ]
        heads = ["model", "mean", interval, "empty queries"]
        means = np.array([one[metric] for one in found.values()])
        ends = [one.intervals[metric] for one in found.values()]
        chart = interval_chart(
            list(found), means, ends, x_name=metric, label=f"Means of {metric} with intervals; see the table"
        )
        body = scrolled(f"Means of {metric}", heads, rows, class_=SORTABLE)
        parts += [tag("h3", named(metric)), body, chart]
    ties = ", ".join(f"{one.n_tied:,}" for one in found.values())
    note = f"{counted(first.n_queries, 'query')}; with ties: {ties}; flavor {first.flavor}. Intervals by "
    note += "bootstrap over queries."
    return section("quality", "Quality on the test data", *parts, tag("p", note, class_="note"))


def comparison_section(first: str, found: Mapping[str, Comparison]) -> Markup:
    """Return each model against the first, as ``compare`` prints it."""
    parts: list[Markup] = []
    for name, one in found.items():
        head, *rows = comparison_rows(one)
        label = f"{visible(name, 40)} compared with {visible(first, 40)}"
        body = scrolled(label, head, [[named(row[0]), *row[1:]] for row in rows], class_=SORTABLE)
        metric = next(iter(one))
        better = 1 if one[metric].metric.higher_is_better else -1
        label = f"Differences of {metric} by query, sorted: {one[metric].wins} won, {one[metric].losses} lost"
        differences = one.differences(metric)
        chart = Markup("")
        if np.isfinite(differences).any():
            chart = difference_chart(differences, better=better, y_name=f"b - a in {metric}", label=label)
        title = tag("h3", "a: ", named(first), ", b: ", named(name))
        parts += [title, body, tag("p", _wins(one, metric)), chart]
    note = (
        "w/t/l: queries that b wins, ties and loses. P-values of paired tests over queries (t, randomisation "
        "and bootstrap), corrected by Holm over all metrics and models."
    )
    return section("comparison", "Side by side", *parts, tag("p", note, class_="note"))


def _wins(found: Comparison, metric: str) -> str:
    one = found[metric]
    better = counted(one.wins, "query")
    return f"By {metric}, b is better on {better}, worse on {one.losses:,}, level on {one.ties:,}."


def weights_section(shown: Sequence[Candidate]) -> Markup:
    """Return the largest weights of each linear model."""
    parts = [part for one in shown if one.model is not None for part in _weights(one)]
    note = (
        f"At most {MOST_WEIGHTS} features of each model. The effect is the weight times what the column "
        "usually varies by within a query of the training data: weights alone are per unit of their column."
    )
    return section("weights", "Weights", *parts, tag("p", note, class_="note"))


def _weights(candidate: Candidate) -> list[Markup]:
    model = candidate.model
    assert model is not None
    title = tag("h3", named(candidate.name))
    if model.mapping is not None:
        return [title, tag("p", "Not linear in its columns: there is no weight of a column.")]
    try:
        found = model.feature_weights()
        effects, heads = found.effects, ["feature", "weight", "deviation", "effect", ""]
    except MarginRankError:  # no statistics of the columns
        found, effects, heads = None, np.asarray(model.coef), ["feature", "weight", ""]
    order = np.argsort(-np.abs(effects), kind="stable")[:MOST_WEIGHTS]
    order = order[effects[order] != 0.0]
    largest = float(np.abs(effects).max())
    names = candidate.columns
    rows = []
    for j in order:
        row = [named(names[j]), f"{model.coef[j]:.4g}"]
        if found is not None:
            row += [f"{found.deviations[j]:.4g}", f"{effects[j]:+.4g}"]
        rows.append([*row, bar(float(effects[j]), largest)])
    left = int(np.count_nonzero(effects)) - len(order)
    more = [tag("p", f"and {left:,} more features with smaller weights")] if left else []
    body = scrolled(f"Weights of {visible(candidate.name, 60)}", heads, rows, class_=SORTABLE)
    return [title, body, *more]


def scrolled(
    label: str,
    heads: Sequence[object],
    rows: Sequence[Sequence[object]],
    *,
    caption: Markup | None = None,
    **attributes: str,
) -> Markup:
    """Return a table that scrolls on its own where it is too wide, also by keyboard.

    Parameters
    ----------
    label : str
        What the table is, for those who hear it.
    heads, rows, **attributes
        As for :func:`~marginrank.markup.table`.
    caption : Markup, optional
        What is shown above the table; without one the label is its caption, and is not shown.
    """
    content = table(heads, rows, caption=unseen(label) if caption is None else caption, **attributes)
    return tag("div", content, class_="wide", tabindex="0", role="group", aria_label=visible(label))
