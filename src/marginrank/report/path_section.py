"""The section on the models of every alpha: a slider moves weights, curves and figures together."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from marginrank.data import RankingData
from marginrank.exceptions import MarginRankError
from marginrank.markup import Markup, data_block, named, tag, unseen
from marginrank.metrics import Metric
from marginrank.model import RankingModel
from marginrank.report.charts import Line, bar, line_chart
from marginrank.report.sections import MOST_WEIGHTS, scrolled, section
from marginrank.types import Vector

POINTS = 200
_DRAWN = 8
#: Paths by the estimator of a model, with the parameters that both have.
_PATHS = {
    "RankSVM": ("rank_path", ("loss", "weighting", "scale", "l1_ratio")),
    "RankRLS": ("rank_rls_path", ("scale",)),
    "rank_path": ("rank_path", ("loss", "weighting", "scale", "l1_ratio")),
    "rank_rls_path": ("rank_rls_path", ("scale",)),
}


def path_like(
    models: list[RankingModel], train: RankingData, rows: RankingData, n_jobs: int | None
) -> tuple[Any, RankingData] | None:
    """Return the path of the first model that has one, and rows to measure it on as that model sees them.

    A model whose weights have bounds is left out.
    """
    from marginrank import paths  # not above: it loads slowly

    for model in models:
        metadata = model.metadata
        known = _PATHS.get(str(metadata.get("estimator")))
        given = metadata.get("parameters") or {}
        if known is None or given.get("bounds"):
            continue
        name, parameters = known
        chosen = {key: given[key] for key in parameters if key in given}
        if model.query_normalization is not None:
            train, rows = train.normalized_by_query(), rows.normalized_by_query()
        return getattr(paths, name)(train, n_jobs=n_jobs, **chosen), rows
    return None


def path_section(path: Any, rows: RankingData, on: str, metric: str | Metric) -> Markup:
    """Return the section.

    Parameters
    ----------
    path : LinearPath
        Computed on the training data.
    rows : RankingData
        What the models are measured on.
    on : {"validation", "test"}
        What these rows are; a model is chosen by validation rows only.
    metric : str or Metric
        What is measured.
    """
    from marginrank.paths.curve import measure_path

    curve = measure_path(path, rows, metric, "best", POINTS)  # type: ignore[arg-type]  # select parses it
    found = curve.selection
    chosen = found.selection.index if on == "validation" else None
    shown = _largest(path, curve.alphas)
    start = chosen if chosen is not None else len(curve.alphas) // 2
    texts = [curve.texts(k) for k in range(len(curve.alphas))]
    heads = [f"{head} ({on})" if head == found.metric else head for head in curve.heads()]
    place = curve.heads().index(found.metric)
    spoken = [f"alpha {text[0]}, {found.metric} {text[place]}" for text in texts]
    logs = np.log(curve.alphas)
    block = {
        "texts": texts,
        "spoken": spoken,
        "places": [round(float(v), 4) for v in (logs[0] - logs) / ((logs[0] - logs[-1]) or 1.0)],
        "values": [[float(f"{v:.4g}") for v in row] for row in shown.values.tolist()],
        "deviations": [float(f"{v:.4g}") for v in shown.deviations.tolist()],
        "largest": shown.largest,
    }
    return section(
        "path",
        "The models of every alpha",
        tag("p", _about(path, on, found, chosen)),
        _slider(len(curve.alphas), start, spoken[start]),
        _figures(heads, texts[start]),
        _charts(curve, shown, on),
        tag("h3", "Weights at this alpha"),
        _weights(shown, start),
        tag("p", _which(shown), class_="note"),
        data_block("path-data", block),
    )


def _about(path: Any, on: str, found: Any, chosen: int | None) -> str:
    eps = getattr(path, "eps", None)
    proof = (
        "Each model is exact"
        if eps is None
        else f"Each model is certified to be within {eps:g} of its optimum"
    )
    text = f"{proof}, for every alpha from {path.alpha_max_:.3g} down to {path.alpha_min_:.3g}. "
    if chosen is not None:
        return (
            text
            + f"Chosen on the validation data: alpha {found.alpha:.3g}, {found.metric} {found.score:.4f}."
        )
    return text + (
        f"The curve is measured on the {on} data: look, and do not choose by it. With validation data the "
        "best alpha would be marked."
    )


@dataclass(frozen=True, eq=False)
class _Shown:
    """The largest weights along a path: of shape (n_alphas, n_shown), with what their columns vary by."""

    names: list[str]
    values: NDArray[np.float64]
    deviations: Vector
    n_features: int

    @property
    def effects(self) -> NDArray[np.float64]:
        """Weights in units of their columns' deviations, which can be compared."""
        return self.values * self.deviations

    @property
    def largest(self) -> float:
        """The largest size of an effect."""
        return float(np.abs(self.effects).max())


def _largest(path: Any, alphas: Vector) -> _Shown:
    """Return the features of the largest effects anywhere on the path."""
    coefs = np.array([path.coef_at(float(alpha)) for alpha in alphas])
    try:
        deviations = path.to_model(float(alphas[0])).feature_weights().deviations
    except MarginRankError:  # no statistics of the columns
        deviations = np.ones(coefs.shape[1])
    order = np.argsort(-np.abs(coefs * deviations).max(axis=0), kind="stable")[:MOST_WEIGHTS]
    names = path.feature_names_ or tuple(f"f{j + 1}" for j in range(coefs.shape[1]))
    return _Shown([names[j] for j in order], coefs[:, order], deviations[order], coefs.shape[1])


def _which(shown: _Shown) -> str:
    what = "The effect is the weight times what the column usually varies by within a query."
    if shown.n_features <= MOST_WEIGHTS:
        return f"All {shown.n_features} features. {what}"
    count = f"{MOST_WEIGHTS} of {shown.n_features:,}"
    return f"The {count} features whose effects are largest anywhere on the path. {what}"


def _slider(count: int, start: int, text: str) -> Markup:
    control = tag(
        "input", type="range", id="alpha", min="0", max=str(count - 1), value=str(start), aria_valuetext=text
    )
    label = tag("label", "alpha: strong regularisation on the left", for_="alpha")
    return tag("div", label, control, class_="controls slider")


def _figures(heads: list[str], texts: list[str]) -> Markup:
    head = tag("tr", *(tag("th", named(cell), scope="col") for cell in heads))
    cells = tag("tr", *(tag("td", text, data_figure=str(k)) for k, text in enumerate(texts)))
    title = tag("caption", unseen("Figures at this alpha"))
    content = tag("table", title, tag("thead", head), tag("tbody", cells), id="path-figures")
    return tag("div", content, class_="wide", tabindex="0", role="group", aria_label="Figures at this alpha")


def _charts(curve: Any, shown: _Shown, on: str) -> Markup:
    found = curve.selection
    effects = shown.effects
    weights = [Line(name, effects[:, k]) for k, name in enumerate(shown.names[:_DRAWN])]
    shared: dict[str, Any] = {"x_name": "alpha", "log_x": len(curve.alphas) > 1}
    return tag(
        "div",
        line_chart(
            curve.alphas,
            [Line(found.metric, found.curve)],
            y_name=f"{found.metric} ({on})",
            label=f"{found.metric} by alpha; the slider above moves the line, and the table has the figures",
            id_="path-metric",
            **shared,
        ),
        line_chart(
            curve.alphas,
            weights,
            y_name="effect",
            label=f"The {len(weights)} largest effects by alpha; the table below has their values",
            id_="path-weights",
            **shared,
        ),
        class_="charts",
    )


def _weights(shown: _Shown, start: int) -> Markup:
    effects, largest = shown.effects[start], shown.largest
    rows = [
        [
            named(name),
            tag("span", f"{shown.values[start, k]:.4g}", data_weight=str(k)),
            tag("span", f"{effects[k]:.4g}", data_effect=str(k)),
            bar(float(effects[k]), largest),
        ]
        for k, name in enumerate(shown.names)
    ]
    heads = ["feature", "weight", "effect", ""]
    return scrolled("Weights at this alpha", heads, rows, id="path-weights-table")
