"""``--refit``: once validation rows have chosen alpha, a model of all rows with that."""

from __future__ import annotations

from typing import Any

import click

from marginrank.cli.command import Decorator, option
from marginrank.cli.files.training_files import TrainingFiles
from marginrank.cli.options.methods import selects_by
from marginrank.cli.output.progress import train_with_bar
from marginrank.data import RankingData
from marginrank.data.matrices import in_memory
from marginrank.exceptions import MarginRankError
from marginrank.io.joined import check_alike, ids_of_files, joined

refit_option: Decorator = option(
    "--refit",
    group="Search and validation",
    is_flag=True,
    help="Train once more, on training and validation data, with what --validate chose.",
)


def check_refit(files: TrainingFiles, parameters: dict[str, Any], *, over_workers: bool = False) -> None:
    """Refuse what cannot be trained once more before anything is read."""
    searched = "auto" in (parameters.get("alpha"), parameters.get("gamma"))
    if files.eval_set is None or not searched:
        raise click.UsageError("--refit is for what validation data choose: --alpha auto with --validate.")
    if parameters.get("regularization", "tikhonov") != "tikhonov":
        raise click.UsageError(
            f"--refit takes over alpha, and --regularization {parameters['regularization']} chooses more."
        )
    for name, value in (("--pairs", files.pairs), ("--weights", files.weights)):
        if value is not None:
            raise click.UsageError(f"{name} says nothing of the validation rows, which --refit trains on.")
    if over_workers:
        raise click.UsageError("--refit needs the rows in memory; leave out --dask.")


def check_rows(files: TrainingFiles, rows: RankingData, validation: RankingData | None) -> None:
    """Refuse rows that cannot be trained on together, before the search."""
    if validation is None:
        return
    if not (in_memory(rows.X) and in_memory(validation.X)):
        raise MarginRankError("--refit needs the rows in memory; name files that fit, not .mrd folders.")
    names = _names(files)
    check_alike(names[1], validation, rows)
    if rows.qid is not None:
        ids_of_files(names, [rows.qid, validation.qid])


def _names(files: TrainingFiles) -> list[str]:
    return [" and ".join(files.data), str(files.eval_set)]


def refitted(
    ranker: Any, files: TrainingFiles, rows: RankingData, validation: RankingData
) -> tuple[Any, RankingData]:
    """Return a ranker trained on all rows with what was chosen, and these rows.

    Parameters
    ----------
    ranker : estimator
        With what was chosen.
    files : TrainingFiles
        Where the rows are from.
    rows, validation : RankingData
        With the same columns.
    """
    from sklearn.base import clone

    together = joined(_names(files), [rows, validation])
    chosen = {
        key: getattr(ranker, f"{key}_") for key in ("alpha", "gamma") if getattr(ranker, key, "") == "auto"
    }
    once_more = clone(ranker).set_params(**chosen, **_without_grids(ranker))
    train_with_bar(
        once_more, selects_by(ranker), lambda bar: once_more.fit(together, callbacks=bar), keep_partial=False
    )
    return once_more, together


def _without_grids(ranker: Any) -> dict[str, None]:
    return {key: None for key in ("alphas", "gammas") if hasattr(ranker, key)}
