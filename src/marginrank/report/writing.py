"""Reports from Python: what is asked for is worked out, put into sections, and written whole."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from importlib.metadata import version
from typing import Any

from marginrank.data import RankingData, check_data
from marginrank.exceptions import MarginRankError, ParameterError
from marginrank.inspection import Inspection, inspect
from marginrank.markup import Markup
from marginrank.metrics import Evaluation, Metric, evaluate
from marginrank.metrics.against_first import compare_with_first
from marginrank.metrics.bootstrap import check_level
from marginrank.metrics.comparison import Comparison
from marginrank.metrics.names import check_flavor, parse_metrics
from marginrank.parameters import check_path
from marginrank.report.candidates import Candidate, candidates
from marginrank.report.page import page
from marginrank.report.sections import (
    comparison_section,
    data_section,
    models_section,
    quality_section,
    weights_section,
)
from marginrank.system.atomic_write import atomic_write


def write(
    file: Any,
    models: Any = None,
    *,
    train: RankingData | None = None,
    test: RankingData | None = None,
    validation: RankingData | None = None,
    path: Any = "auto",
    metrics: str | Metric | Sequence[str | Metric] = ("ndcg@10",),
    flavor: str = "standard",
    level: float = 0.95,
    title: str = "Ranking report",
    n_resamples: int = 9999,
    random_state: int = 0,
    n_jobs: int | None = None,
) -> None:
    """Write a report: one HTML file that needs no network, to look at and to send.

    It has what is in the data and what will not be learned from, the models with their certificates, metrics
    with intervals, models side by side with paired differences, weights, the path of all alphas with a
    slider, a table of all queries to search, and the rankings of those that got better and worse. What there
    is no input for is left out.

    Parameters
    ----------
    file : str or path-like
        Where to; it is written whole or not at all.
    models : mapping, sequence or a single model, optional
        By name, or in a list: :class:`marginrank.RankingModel`, a fitted ranker or pipeline, or an array with
        a score for each row of ``test``. The first one is what the others are compared with.
    train : RankingData, optional
        What was trained on: it is inspected, and the path of all alphas is computed on it.
    test : RankingData, optional
        Labelled rows to measure on.
    validation : RankingData, optional
        Labelled rows that the path chooses its alpha by; without them its curve is measured on ``test``, and
        nothing is chosen.
    path : {"auto", None} or a path, default="auto"
        What :func:`marginrank.rank_path` or :func:`marginrank.rank_rls_path` has computed. "auto" computes
        the path of the first model that has one, in its settings; None leaves the section out.
    metrics, flavor : optional
        As in :func:`marginrank.metrics.evaluate`.
    level : float, default=0.95
        Of the intervals of means.
    title : str, default="Ranking report"
        Of the page.
    n_resamples, random_state : int
        As in :func:`marginrank.comparison.compare`.
    n_jobs : int, optional
        Threads; the file does not depend on it.

    Notes
    -----
    Figures are those of ``marginrank evaluate --intervals``, ``compare`` and ``path``. The same input gives
    the same bytes. Names are escaped, and the page forbids the browser to run any other script than its own,
    or to load anything.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from marginrank import RankingData, RankRLS, RankSVM, report
    >>> from marginrank.datasets import make_ranking
    >>> X, y, qid = make_ranking(n_queries=20, rows_per_query=8)
    >>> data = RankingData(X, y, qid=qid)
    >>> models = {"hinge": RankSVM(alpha=0.01).fit(data), "least squares": RankRLS(alpha=0.01).fit(data)}
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder) / "report.html"
    ...     report.write(file, models, train=data, test=data, path=None)
    ...     file.read_text("utf-8").count("least squares") > 3
    True
    """
    target = check_path(file, "file")
    for name, rows in (("train", train), ("test", test), ("validation", validation)):
        if rows is not None:
            check_data(rows, name)
    shown = candidates(models, test, n_jobs)
    if not shown and train is None and test is None:
        raise MarginRankError("A report needs something to show: models, train or test.")
    text = report_html(
        shown,
        train=train,
        test=test,
        validation=validation,
        path=path,
        metrics=metrics,
        flavor=flavor,
        level=level,
        title=title,
        n_resamples=n_resamples,
        random_state=random_state,
        n_jobs=n_jobs,
    )
    with atomic_write(target) as stream:
        stream.write(text.encode("utf-8", "replace"))


def report_html(
    shown: list[Candidate],
    *,
    train: RankingData | None,
    test: RankingData | None,
    validation: RankingData | None,
    path: Any,
    metrics: Any,
    flavor: str,
    level: float,
    title: str,
    n_resamples: int,
    random_state: int,
    n_jobs: int | None,
) -> str:
    """Return the page; parameters are as in :func:`write`, with candidates in place of models."""
    if not isinstance(title, str):
        raise ParameterError("title", "a string", title)
    if not (path is None or path == "auto" if isinstance(path, str | None) else hasattr(path, "coefs_at")):
        raise ParameterError("path", "'auto', None, or the path of a linear ranker", path)
    names = list(parse_metrics(metrics, check_flavor(flavor)))
    level = check_level(level, "level")
    sections: list[tuple[str, str, Markup]] = []
    data = {name: rows for name, rows in (("train", train), ("test", test)) if rows is not None}
    if data:
        found = {name: _named(inspect(rows, n_jobs=n_jobs, time_search=False)) for name, rows in data.items()}
        sections.append(("data", "Data", data_section(found)))
    if any(one.model is not None for one in shown):
        sections.append(("models", "Models", models_section(shown)))
    if test is not None and shown:
        options = {"metrics": metrics, "flavor": flavor, "n_jobs": n_jobs}
        evaluations, comparisons = _measured(shown, test, level, n_resamples, random_state, options)
        sections.append(("quality", "Quality", quality_section(evaluations)))
        if comparisons:
            sections.append(("comparison", "Side by side", comparison_section(shown[0].name, comparisons)))
    else:
        evaluations, comparisons = {}, {}
    sections += _path_part(path, shown, train, test, validation, names[0], n_jobs)
    if any(one.model is not None for one in shown):
        sections.append(("weights", "Weights", weights_section(shown)))
    sections += _query_parts(shown, test, evaluations, comparisons, names)
    return page(title, f"marginrank {version('marginrank')}", sections)


def _named(found: Inspection) -> Inspection:
    """Return what was found with columns without names called as everywhere here: f1, f2, ..."""
    constant, odd = (
        [f"f{name + 1}" if isinstance(name, int) else name for name in names]
        for names in (found.constant_features, found.badly_scaled_features)
    )
    return replace(found, constant_features=list(constant), badly_scaled_features=list(odd))


def _measured(
    shown: list[Candidate],
    test: RankingData,
    level: float,
    n_resamples: int,
    random_state: int,
    options: dict[str, Any],
) -> tuple[dict[str, Evaluation], dict[str, Comparison]]:
    """Return means with intervals, and the comparisons with the first."""
    from marginrank.io.pairs import docids

    if test.y is None:
        raise MarginRankError("test must have labels, to measure against.")
    ids = docids(test)
    known = None if None in ids else [str(name) for name in ids]
    queries = {"qid": test.qid, "docid": known, **options}
    evaluations = {one.name: evaluate(test.y, one.scores, intervals=level, **queries) for one in shown}
    if len(shown) < 2:
        return evaluations, {}
    scores = {one.name: one.scores for one in shown}
    tests = {"n_resamples": n_resamples, "random_state": random_state}
    return evaluations, compare_with_first(test.y, scores, **tests, **queries)


def _path_part(
    path: Any,
    shown: list[Candidate],
    train: RankingData | None,
    test: RankingData | None,
    validation: RankingData | None,
    metric: str,
    n_jobs: int | None,
) -> list[tuple[str, str, Markup]]:
    rows, on = (test, "test") if validation is None else (validation, "validation")
    if path is None or rows is None or rows.y is None:
        return []
    from marginrank.report.path_section import path_like, path_section

    if isinstance(path, str):
        models = [one.model for one in shown if one.model is not None]
        found = None if train is None else path_like(models, train, rows, n_jobs)
        if found is None:
            return []
        path, rows = found
    return [("path", "Every alpha", path_section(path, rows, on, metric))]


def _query_parts(
    shown: list[Candidate],
    test: RankingData | None,
    evaluations: dict[str, Evaluation],
    comparisons: dict[str, Comparison],
    metrics: list[str],
) -> list[tuple[str, str, Markup]]:
    if test is None or not evaluations:
        return []
    from marginrank.report.query_section import changed_section, query_section

    parts = [("queries", "Queries", query_section(test, evaluations, metrics))]
    if comparisons:
        parts.append(("changed", "Better and worse", changed_section(test, shown, comparisons)))
    return parts
