"""``marginrank train``: a model file from a data file."""

from __future__ import annotations

from time import perf_counter
from typing import Any

import click
import numpy as np
from click.core import ParameterSource

from marginrank.cli import interrupts
from marginrank.cli.command import Command, option, with_options
from marginrank.cli.commands.evaluate import measure, print_evaluation, summary
from marginrank.cli.files.columns import UsedColumns, used_columns
from marginrank.cli.files.offsets import Offsets, offset_options, on_top
from marginrank.cli.files.training_files import TrainingFiles, check_outputs, file_options
from marginrank.cli.options import shared as options
from marginrank.cli.options.bounds import names_features, set_bounds
from marginrank.cli.options.methods import (
    check_parameters,
    choose_method,
    make_ranker,
    method_options,
    selects,
    selects_by,
)
from marginrank.cli.output.printing import (
    counted,
    print_facts,
    print_json,
    rounded,
    scale_fact,
    seconds_for_people,
)
from marginrank.cli.output.progress import train_with_bar
from marginrank.cli.refitting import check_refit, check_rows, refit_option, refitted
from marginrank.cli.workers.connection import in_words
from marginrank.cli.workers.training import Trained, WorkerJob, training_over_workers
from marginrank.metrics import parse_metric
from marginrank.model import RankingModel
from marginrank.training.search_ends import SEARCH_ENDS

_WORKERS = ("workers", "workers_left", "repeated")


@click.command(cls=Command)
@click.argument("data", nargs=-1, required=True)
@options.model_file
@training_over_workers
@file_options(options.metric)
@with_options(*offset_options)
@method_options
@refit_option
@option("--keep-partial", group="Output", is_flag=True, help="After Ctrl-C, write the best model so far.")
@options.seed("what is drawn: landmarks and frequencies of kernels. Nothing else is random")
@options.jobs
@options.as_json
def train(
    output: str,
    files: TrainingFiles,
    job: WorkerJob | None,
    metrics: tuple[str, ...],
    flavor: str,
    method: str | None,
    offset: str | None,
    eval_offset: str | None,
    refit: bool,
    keep_partial: bool,
    random_state: int,
    n_jobs: int | None,
    as_json: bool,
    **parameters: Any,
) -> int:
    """Train a ranker on DATA and write the model to a file.

    Every method gives the optimum of a convex problem, with a certificate. --alpha auto chooses the strength
    of the regularisation, by the first --metric that you name, else by the pairwise error.

    \b
    Examples:
      marginrank train train.txt -o model.mrk --alpha 1e-3
      marginrank train train.txt -o model.mrk --validate vali.txt -m ndcg@10
      marginrank train a.txt b.txt -o model.mrk --alpha auto --validate vali.txt --refit
      marginrank train train.txt -o model.mrk --method rankrls --alpha auto
      marginrank train train.txt -o model.mrk --target ndcg@10
      marginrank train train.txt -o model.mrk --kernel rbf --approximation fourier --components 2000
      marginrank train docs.txt --pairs preferences.csv -o model.mrk
      marginrank train train.csv --offset bm25 --l1-ratio 0.9 -o on-top.mrk
      marginrank train train.mrd -o model.mrk --dask tcp://scheduler:8786 --checkpoint train.journal
    """
    check_outputs(files, output, None if job is None else job.checkpoint)
    method = choose_method(method, parameters)
    given = {"pairs": files.pairs is not None, "validates": files.eval_set is not None}
    parameters = check_parameters(method, parameters, **given)
    if job is not None:
        job.check(method, parameters, files)
    if refit:
        check_refit(files, parameters, over_workers=job is not None)
    ranker = make_ranker(method, parameters | _selection(metrics, flavor), n_jobs, random_state)
    offsets = Offsets(offset, eval_offset)
    offsets.check(validate=files.eval_set, refit=refit)
    if job is None:
        done = _train_here(ranker, files, offsets, keep_partial, linear=method != "kernel", refit=refit)
    else:
        done = job.train(ranker, files, offsets, selects=selects(ranker), keep_partial=keep_partial)
    final = ranker if done.final is None else done.final
    model = _model(final, files, done)
    found = None
    if done.validation is not None:
        found = measure(done.validation, done.scores, metrics, flavor, n_jobs)
    with interrupts.orderly(writes=True):
        model.save(output)
    report = {"model": output, "method": method, "seed": random_state, **_report(ranker, final, done)}
    if as_json:
        print_json({**report, "validation": None if found is None else summary(found)})
    else:
        print_facts(_facts(report))
    if found is not None and not as_json:
        click.echo()
        with_offset = "" if offset is None else ", with the offset"
        before = ", before it was trained on" if refit else ""
        print_evaluation(f"on {files.eval_set}{with_offset}{before}", found)
    return interrupts.INTERRUPTED if done.interrupted else 0


def _selection(metrics: tuple[str, ...], flavor: str) -> dict[str, Any]:
    """Return what to select by: the first metric that was named; nothing where none was."""
    if click.get_current_context().get_parameter_source("metrics") is ParameterSource.DEFAULT:
        return {}
    return {"metric": parse_metric(metrics[0], flavor=flavor)}


def _train_here(
    ranker: Any, files: TrainingFiles, offsets: Offsets, keep_partial: bool, *, linear: bool, refit: bool
) -> Trained:
    rows, validation = files.read(kernel=not linear)
    rows, more, eval_offset = offsets.taken(rows, validation, files.reading.first_feature)
    used = used_columns(rows) if linear and not names_features(ranker) else UsedColumns(None, rows.n_features)
    set_bounds(ranker, rows, files.reading.first_feature)
    known, known_validation = used.of(rows), None if validation is None else used.of(validation)
    if refit:
        check_rows(files, rows, validation)
    eval_set = known_validation if selects(ranker) else None
    fit = ranker.fit if rows.pairs is None else ranker.fit_pairs
    more |= {} if eval_offset is None or eval_set is None else {"eval_offset": eval_offset}
    started = perf_counter()
    with interrupts.orderly(writes=False):
        interrupted = train_with_bar(
            ranker,
            selects_by(ranker),
            lambda bar: fit(known, eval_set=eval_set, callbacks=bar, **more),
            keep_partial,
        )
        scores = None if known_validation is None else on_top(ranker.predict(known_validation), eval_offset)
        final = None
        if refit and known_validation is not None and not interrupted:
            final, rows = refitted(ranker, files, known, known_validation)
    seconds = perf_counter() - started
    return Trained(rows, validation, scores, seconds, interrupted, used=used, final=final)


def _model(ranker: Any, files: TrainingFiles, done: Trained) -> RankingModel:
    """Return the model of a fitted ranker, over all columns of the files."""
    model = RankingModel.from_estimator(ranker, query_normalization=files.query_normalization)
    return model if done.used is None else done.used.widened(model)


def _report(searched: Any, ranker: Any, done: Trained) -> dict[str, Any]:
    """Return what there is to say of a ranker, and of the search that came before it."""
    data = done.rows
    report = {
        "rows": data.n_rows,
        "queries": data.n_queries,
        "features": data.n_features,
        "features_used": getattr(ranker, "n_features_used_", None),
        "pairs": getattr(ranker, "n_pairs_", None),
        "alpha": ranker.alpha_,
        "gamma": getattr(ranker, "gamma_", None),
        "scale": ranker.scale_,
        "objective": ranker.objective_,
        "lower_bound": ranker.lower_bound_,
        "gap": ranker.gap_,
        "iterations": ranker.n_iter_,
        "passes": ranker.n_passes_,
        "seconds": done.seconds,
    }
    if done.workers is not None:
        report |= dict(zip(_WORKERS, done.workers, strict=True))
    if hasattr(searched, "best_score_"):
        report["selection"] = _selection_report(searched)
    report["refit"] = done.final is not None
    report["passes"] += searched.n_passes_ if done.final is not None else 0.0
    return report


def _selection_report(ranker: Any) -> dict[str, Any]:
    return {
        "metric": selects_by(ranker),
        "value": ranker.best_score_,
        "iteration": getattr(ranker, "best_iteration_", None),
        "alphas": getattr(ranker, "alphas_", None),
        "gammas": getattr(ranker, "gammas_", None),
        "curve": getattr(ranker, "validation_curve_", None),
        "standard_error": getattr(ranker, "validation_std_", None),
        "end": getattr(ranker, "search_end_", None),
    }


def _sizes(report: dict[str, Any]) -> str:
    nouns = {"rows": "row", "queries": "query", "pairs": "pair"}
    return ", ".join(counted(report[key], noun) for key, noun in nouns.items() if report[key] is not None)


def _certificate(report: dict[str, Any]) -> str:
    if report["alpha"] == 0.0:
        return "of the risk alone, stopped short of its optimum"
    return f"certified within {report['gap']:.1e} of the optimum"


def _facts(report: dict[str, Any]) -> list[tuple[str, str]]:
    passes = "1 pass" if report["passes"] == 1.0 else f"{report['passes']:g} passes"
    return [
        ("trained on", _sizes(report)),
        *scale_fact(report),
        *_selected(report),
        *_features_used(report),
        *([("refit", "on training and validation data, with what was chosen")] if report["refit"] else []),
        ("objective", f"{report['objective']:.6f}, {_certificate(report)}"),
        ("took", f"{passes} over the data, {seconds_for_people(report['seconds'])}"),
        *([("over", in_words(*(report[key] for key in _WORKERS)))] if "workers" in report else []),
        ("model", str(report["model"])),
    ]


def _features_used(report: dict[str, Any]) -> list[tuple[str, str]]:
    """Say how many features have a weight, where not all do."""
    used, among = report["features_used"], report["features"]
    return [] if used in (None, among) else [("features", f"{used:,} of {among:,} have a weight")]


def _selected(report: dict[str, Any]) -> list[tuple[str, str]]:
    """Say what was selected, and from what."""
    found = report.get("selection")
    if found is None:
        return []
    figure = f"{found['metric']} {rounded(found['value'])}"
    facts = []
    if found["alphas"] is not None:
        tried = "x".join(str(n) for n in np.shape(found["curve"]))
        gamma = f" at gamma {report['gamma']:.3g}" if found["gammas"] is not None else ""
        facts.append(("alpha", f"{report['alpha']:.3g}{gamma}, the best of {tried}: {figure}"))
        facts.append(("search ended", SEARCH_ENDS[found["end"]]))
    if found["iteration"] is not None:
        facts.append(("stopped", f"at iteration {found['iteration']} of {report['iterations']}: {figure}"))
    return facts
