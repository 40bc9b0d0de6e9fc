"""``marginrank tune``: the search for alpha as a table."""

from __future__ import annotations

from time import perf_counter
from typing import Any

import click
import numpy as np

from marginrank.cli import interrupts
from marginrank.cli.command import MOST_USED, Command, option
from marginrank.cli.files.columns import UsedColumns, used_columns
from marginrank.cli.files.training_files import TrainingFiles, check_outputs, training_files
from marginrank.cli.options import shared as options
from marginrank.cli.options.bounds import names_features, set_bounds
from marginrank.cli.options.methods import (
    check_parameters,
    choose_method,
    make_ranker,
    search_options,
    selects_by,
)
from marginrank.cli.output.printing import (
    counted,
    print_facts,
    print_json,
    print_table,
    rounded,
    scale_fact,
    seconds_for_people,
)
from marginrank.cli.output.progress import TrainingBar
from marginrank.cli.refitting import check_refit, check_rows, refit_option, refitted
from marginrank.data import RankingData
from marginrank.metrics import Metric
from marginrank.model import RankingModel
from marginrank.training.search_ends import SEARCH_ENDS


@click.command(cls=Command)
@click.argument("data", nargs=-1, required=True)
@option(
    "-o",
    "--output",
    group=MOST_USED,
    type=click.Path(dir_okay=False),
    help="Also write the chosen model (.mrk).",
)
@training_files
@search_options
@refit_option
@option("--keep-partial", group="Output", is_flag=True, help="After Ctrl-C, go on with the search so far.")
@options.jobs
@options.as_json
def tune(
    output: str | None,
    method: str | None,
    files: TrainingFiles,
    metric: Metric | None,
    refit: bool,
    keep_partial: bool,
    n_jobs: int | None,
    as_json: bool,
    **parameters: Any,
) -> int:
    """Search for the best alpha on DATA, and show the whole search.

    Each alpha of a grid is measured on the data that --validate names, else by cross-validation over
    queries. The same as train --alpha auto, without having to write a model.

    \b
    Examples:
      marginrank tune train.txt --validate vali.txt -m ndcg@10
      marginrank tune train.txt --method rankrls --cv 10 --rule one_se
      marginrank tune train.txt --target map --alphas 1e-4:1:9 -o model.mrk
    """
    method = choose_method(method, parameters)
    given = {"pairs": files.pairs is not None, "validates": files.eval_set is not None}
    chosen = check_parameters(method, {**parameters, "alpha": "auto"}, **given)
    if chosen.get("regularization") == "early_stopping":
        raise click.UsageError("--regularization early_stopping has no alpha to search for; use train.")
    check_outputs(files, output)
    if refit:
        check_refit(files, chosen)
        if output is None:
            raise click.UsageError("--refit trains the model that -o writes; name a file with -o.")
    rows, validation = files.read(kernel=method == "kernel")
    ranker = make_ranker(method, chosen | ({} if metric is None else {"metric": metric}), n_jobs)
    narrows = method != "kernel" and not names_features(ranker)
    used = used_columns(rows) if narrows else UsedColumns(None, rows.n_features)
    set_bounds(ranker, rows, files.reading.first_feature)
    known, known_validation = used.of(rows), None if validation is None else used.of(validation)
    if refit:
        check_rows(files, rows, validation)
    started = perf_counter()
    final = ranker
    with interrupts.orderly(writes=False):
        interrupted = _fit(ranker, known, known_validation, keep_partial)
        if refit and known_validation is not None and not interrupted:
            final, _ = refitted(ranker, files, known, known_validation)
    seconds = perf_counter() - started
    if output is not None:
        model = RankingModel.from_estimator(final, query_normalization=files.query_normalization)
        model = used.widened(model)
        with interrupts.orderly(writes=True):
            model.save(output)
    report = {"method": method, **_report(ranker, files, rows), "seconds": seconds, "model": output}
    report["refit"] = final is not ranker
    if as_json:
        print_json(report)
    else:
        # Of a grid of three or more alphas that was given the ranker has warned.
        _print(report, warned=len(ranker.alphas or ()) > 2)
    return interrupts.INTERRUPTED if interrupted else 0


def _fit(ranker: Any, rows: RankingData, validation: RankingData | None, keep_partial: bool) -> bool:
    """Search; return whether the user interrupted and wants the search so far, if there is any of it."""
    try:
        with TrainingBar(ranker, selects_by(ranker)) as bar:
            fit = ranker.fit if rows.pairs is None else ranker.fit_pairs
            fit(rows, eval_set=validation, callbacks=bar)
    except KeyboardInterrupt:
        if not (keep_partial and hasattr(ranker, "alphas_")):
            raise
        click.echo("Interrupted; the search so far is kept.", err=True)
        return True
    return False


def search_table(ranker: Any) -> list[dict[str, Any]]:
    """Return what was measured at each alpha, and at each gamma where that was searched for too.

    Examples
    --------
    >>> from marginrank import RankSVM
    >>> ranker = RankSVM(alpha="auto", alphas=[1.0, 0.1], cv=2).fit([[1], [2], [3], [4]], [1, 2, 3, 4])
    >>> [(row["alpha"], row["mean"], row["chosen"]) for row in search_table(ranker)]
    [(1.0, 0.0, True), (0.1, 0.0, False)]
    """
    gammas = getattr(ranker, "gammas_", [None])
    shape = (len(gammas), -1)
    tables = (
        np.reshape(t, shape) for t in (ranker.alphas_, ranker.validation_curve_, ranker.validation_std_)
    )
    return [
        {
            **({} if gamma is None else {"gamma": float(gamma)}),
            "alpha": float(alpha),
            "mean": float(mean),
            "standard_error": float(error),
            "chosen": bool(alpha == ranker.alpha_ and (gamma is None or gamma == ranker.gamma_)),
        }
        for gamma, *figures in zip(gammas, *tables, strict=True)
        for alpha, mean, error in zip(*figures, strict=True)
    ]


def _report(ranker: Any, files: TrainingFiles, rows: RankingData) -> dict[str, Any]:
    search = search_table(ranker)
    best = next(row for row in search if row["chosen"])
    alphas = [row["alpha"] for row in search if row.get("gamma") == best.get("gamma")]
    ends = {min(alphas): "smallest", max(alphas): "largest"} if len(alphas) > 1 else {}
    return {
        "rows": rows.n_rows,
        "queries": rows.n_queries,
        "features": rows.n_features,
        "metric": selects_by(ranker),
        "selected_on": files.eval_set,
        "search": search,
        "alpha": ranker.alpha_,
        "scale": ranker.scale_,
        "value": ranker.best_score_,
        "end_of_grid": ends.get(best["alpha"]),
        "search_end": ranker.search_end_,
        "passes": ranker.n_passes_,
    }


def _print(report: dict[str, Any], *, warned: bool) -> None:
    has_gamma = "gamma" in report["search"][0]
    header = [*(["gamma"] if has_gamma else []), "alpha", report["metric"], "std. error", ""]
    table = [
        [
            *([f"{row['gamma']:.3g}"] if has_gamma else []),
            f"{row['alpha']:.3g}",
            rounded(row["mean"]),
            rounded(row["standard_error"]),
            "<- chosen" if row["chosen"] else "",
        ]
        for row in report["search"]
    ]
    print_table("", header, table)
    click.echo()
    print_facts(_facts(report, warned))


def _facts(report: dict[str, Any], warned: bool) -> list[tuple[str, str]]:
    on = "by cross-validation" if report["selected_on"] is None else f"on {report['selected_on']}"
    sizes = f"{counted(report['rows'], 'row')}, {counted(report['queries'], 'query')}"
    facts = [
        ("trained on", f"{sizes}; measured {on}"),
        *scale_fact(report),
        ("chosen", f"alpha {report['alpha']:.3g}: {report['metric']} {rounded(report['value'])}"),
        ("search ended", SEARCH_ENDS[report["search_end"]]),
        ("took", f"{report['passes']:g} passes over the data, {seconds_for_people(report['seconds'])}"),
    ]
    advice = _advice(report, warned)
    if advice is not None:
        facts.append(("advice", advice))
    if report["model"] is not None:
        refit = ", trained on training and validation data" if report["refit"] else ""
        facts.append(("model", f"{report['model']}{refit}"))
    return facts


def _advice(report: dict[str, Any], warned: bool) -> str | None:
    """Return where to look further, where the grid ends too early to tell."""
    figures = {row["mean"] for row in report["search"]}
    if len(figures) == 1 < len(report["search"]):
        return "all alphas are equally good; try others with --alphas"
    if report["end_of_grid"] is None or warned:
        return None
    beyond = "smaller" if report["end_of_grid"] == "smallest" else "larger"
    return f"that is the {report['end_of_grid']} alpha; try {beyond} ones with --alphas"
