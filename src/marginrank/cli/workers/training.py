"""``train --dask``: over workers, with a checkpoint to go on from."""

from __future__ import annotations

import functools
import os
from collections.abc import Callable
from dataclasses import dataclass
from time import perf_counter
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from marginrank.cli import interrupts
from marginrank.cli.command import option, with_options
from marginrank.cli.files.columns import UsedColumns, aligned
from marginrank.cli.files.offsets import Offsets, on_top
from marginrank.cli.files.reading import labelled, read_data, with_pairs, with_weights
from marginrank.cli.files.training_files import TrainingFiles
from marginrank.cli.options.bounds import set_bounds
from marginrank.cli.options.methods import selects_by
from marginrank.cli.output.progress import train_with_bar
from marginrank.cli.workers.connection import Workers, over_workers
from marginrank.cli.workers.data import WorkerRows, is_dataset, validation_rows, worker_rows
from marginrank.data import RankingData
from marginrank.exceptions import MarginRankError

if TYPE_CHECKING:
    from marginrank.distributed import RemoteData
    from marginrank.distributed.cluster import Cluster


class Trained(NamedTuple):
    """What was trained on, validation rows with their scores, and how it went."""

    rows: RankingData
    validation: RankingData | None
    scores: list[float] | None
    seconds: float
    interrupted: bool
    #: Workers at first and in the end, and passes that failed and were repeated.
    workers: tuple[int, int, int] | None = None
    #: The columns that were trained on; None for all.
    used: UsedColumns | None = None
    #: What ``--refit`` trained on all rows.
    final: Any = None


@dataclass(frozen=True)
class WorkerJob:
    """A training over workers, as asked for on the command line.

    Parameters
    ----------
    workers : Workers
        The workers.
    data : tuple of str
        An ``.mrd`` folder, or files.
    checkpoint, resume : str or None
        A file to begin, or one to go on from.
    """

    workers: Workers
    data: tuple[str, ...]
    checkpoint: str | None
    resume: str | None

    @property
    def journal(self) -> str | None:
        """The file that answers of the workers are kept in."""
        return self.resume if self.checkpoint is None else self.checkpoint

    def check(self, method: str, parameters: dict[str, Any], files: TrainingFiles) -> None:
        """Refuse what cannot work before anything is read or started."""
        if method == "kernel":
            raise click.UsageError(
                "--dask trains the linear methods: ranksvm, rankrls and structured. Kernels train in memory; "
                "leave out --dask, and take a sample of the rows if they are too many."
            )
        if parameters.get("solver") == "direct":
            raise click.UsageError("--solver direct needs the rows in memory; with --dask use cg, or auto.")
        if files.normalize != "none":
            raise click.UsageError(
                "--normalize query needs the rows in memory; with --dask name files that are normalised "
                "already."
            )
        if self.checkpoint is not None and _holds_something(self.checkpoint):
            raise MarginRankError(
                f"{self.checkpoint}: there is a checkpoint already. Go on from it with --resume, or "
                "remove it."
            )
        if self.resume is not None and not os.path.exists(self.resume):
            raise MarginRankError(f"{self.resume}: there is no checkpoint to go on from.")

    def train(
        self, ranker: Any, files: TrainingFiles, offsets: Offsets, *, selects: bool, keep_partial: bool
    ) -> Trained:
        """Train a ranker in place, and score the validation rows."""
        with self.workers.connected() as cluster:
            cluster.checkpoint = self.journal
            at_first = len(cluster.workers())
            rows = self._rows(files, cluster)
            validation = None if files.eval_set is None else _validation(files, rows, cluster)
            first = files.reading.first_feature
            set_bounds(ranker, rows, first)
            held_out = None if validation is None else _features(validation)
            _, more, eval_offset = offsets.taken(rows, held_out, first)
            more |= {} if eval_offset is None or not selects else {"eval_offset": eval_offset}
            started = perf_counter()
            interrupted = self._fit(ranker, rows, validation if selects else None, keep_partial, more)
            seconds = perf_counter() - started
            scores = None if held_out is None else on_top(ranker.predict(held_out), eval_offset)
            return Trained(
                rows,
                validation.known if isinstance(validation, WorkerRows) else validation,
                scores,
                seconds,
                interrupted,
                (at_first, len(cluster.workers(look=True)), cluster.failures),
            )

    def _rows(self, files: TrainingFiles, cluster: Cluster) -> RemoteData:
        """Return the training rows, with weights or pairs of other files."""
        from marginrank.distributed import RemoteData

        known, remote = worker_rows(self.data, files.reading, cluster, comments=files.pairs is not None)
        if files.weights is not None:
            known = with_weights(known, files.weights)
        if files.pairs is not None:
            known = with_pairs(known, files.pairs, files.pairs_by)
        return RemoteData.like(known, remote.X)

    def _fit(
        self, ranker: Any, rows: RemoteData, validation: Any, keep_partial: bool, more: dict[str, Any]
    ) -> bool:
        from marginrank.distributed.training import fit_on_workers

        eval_set = None if validation is None else _features(validation)
        resume = self.resume is not None
        try:
            return train_with_bar(
                ranker,
                selects_by(ranker),
                lambda bar: fit_on_workers(
                    ranker, rows, eval_set, self.journal, resume=resume, callbacks=bar, **more
                ),
                keep_partial,
            )
        except BaseException:
            if self.journal is not None and os.path.exists(self.journal):
                interrupts.say(
                    f"Interrupted; no model was written. To go on there, give the same command with --resume "
                    f"{self.journal}{'' if resume else ' in place of --checkpoint'}."
                )
            raise


def _validation(files: TrainingFiles, like: RankingData, cluster: Cluster) -> WorkerRows | RankingData:
    """Return validation rows: those of a data set on disk on the workers, others here."""
    path = str(files.eval_set)
    if is_dataset(path, files.reading):
        found = validation_rows(path, files.reading, like, files.ignore_unknown, cluster)
        labelled(found.known, path)
        return found
    rows = read_data(path, files.reading)
    labelled(rows, path)
    return aligned(rows, like, files.ignore_unknown, files.reading.first_feature)


def _features(rows: WorkerRows | RankingData) -> RankingData:
    return rows.remote if isinstance(rows, WorkerRows) else rows


_add_options = with_options(
    option(
        "--checkpoint",
        group="Workers",
        type=click.Path(dir_okay=False),
        help="A new file that a stopped training can resume from.",
    ),
    option(
        "--resume",
        group="Workers",
        type=click.Path(dir_okay=False),
        help="Resume from this checkpoint, with the same data and options.",
    ),
)


def training_over_workers(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add ``--dask``, ``--checkpoint`` and ``--resume``; the command gets a ``job``, or None."""

    @functools.wraps(command)
    def wrapped(
        workers: Workers | None,
        data: tuple[str, ...],
        checkpoint: str | None,
        resume: str | None,
        **parameters: Any,
    ) -> Any:
        if workers is None:
            for name, value in (("--checkpoint", checkpoint), ("--resume", resume)):
                if value is not None:
                    raise click.UsageError(f"{name} is for --dask.")
            return command(job=None, data=data, **parameters)
        if checkpoint is not None and resume is not None:
            raise click.UsageError("--resume goes on with its own checkpoint; give one of the two.")
        job = WorkerJob(workers, data, checkpoint, resume)
        return command(job=job, data=data, **parameters)

    return over_workers(_add_options(wrapped))


def _holds_something(path: str) -> bool:
    """Whether there is anything but an empty file, such as a full disk leaves."""
    return os.path.lexists(path) and (not os.path.isfile(path) or os.path.getsize(path) > 0)
