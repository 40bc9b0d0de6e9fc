"""A training on the command line, wherever it runs: with a bar, and what is reported of it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import click

from marginrank.cli.files.used_columns import UsedColumns
from marginrank.cli.options.methods import selects_by
from marginrank.cli.output.progress import TrainingBar
from marginrank.data import RankingData


class Trained(NamedTuple):
    """What was trained on, validation rows with their scores, and how it went."""

    rows: RankingData
    checked: RankingData | None
    scores: list[float] | None
    seconds: float
    interrupted: bool
    #: Workers at first and in the end, and passes that failed and were repeated.
    workers: tuple[int, int, int] | None = None
    #: The columns that were trained on; None for all.
    used: UsedColumns | None = None


def selects(ranker: Any) -> bool:
    """Whether validation rows choose the model, and do not only report on it."""
    searches = "auto" in (ranker.alpha, getattr(ranker, "gamma", None))
    return searches or getattr(ranker, "regularization", "tikhonov") != "tikhonov"


def train_with_bar(ranker: Any, fit: Callable[[TrainingBar], Any], keep_partial: bool) -> bool:
    """Train; return whether the user interrupted and wants the model so far."""
    try:
        with TrainingBar(ranker, selects_by(ranker)) as bar:
            fit(bar)
    except KeyboardInterrupt:
        if not (keep_partial and hasattr(ranker, "coef_")):
            raise
        click.echo("Interrupted; the best model so far is kept.", err=True)
        return True
    return False
