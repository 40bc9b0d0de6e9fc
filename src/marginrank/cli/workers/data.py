"""Ranking data whose features are on workers, as commands name them: an ``.mrd`` folder, or files."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import click
import numpy as np
from numpy.typing import NDArray

from marginrank import io as formats
from marginrank.cli.files.columns import (
    looks_at_ranges,
    refuse_unknown,
    scores_of,
    warn_of_extremes,
    warn_of_ranges,
)
from marginrank.cli.files.missing import warn_of_missing
from marginrank.cli.files.reading import read_files
from marginrank.cli.options.reading import Reading
from marginrank.cli.workers.connection import Workers
from marginrank.data import RankingData
from marginrank.exceptions import MarginRankError
from marginrank.io import DiskDataset
from marginrank.io.formats import source_format

if TYPE_CHECKING:
    from marginrank.distributed import RemoteData
    from marginrank.distributed.cluster import Cluster
    from marginrank.model import RankingModel


class WorkerRows(NamedTuple):
    """Rows by their labels, ids and comments, which are here, and by their features, which are not."""

    known: RankingData
    remote: RemoteData


def is_dataset(path: str, reading: Reading) -> bool:
    """Whether a path is read as a data set on disk."""
    return (reading.format or formats.format_of(path)) == "mrd"


def worker_rows(
    paths: Sequence[str], reading: Reading, cluster: Cluster, *, comments: bool = False
) -> WorkerRows:
    """Return the rows of a data set on disk, or of files, each of which becomes a chunk."""
    from marginrank.distributed.file_chunks import file_data
    from marginrank.distributed.sources import from_disk, opened_lean

    if any(is_dataset(path, reading) for path in paths):
        if len(paths) > 1:
            raise click.UsageError("An .mrd folder stands alone; name one, or several files that are none.")
        reading.arguments(paths[0], "mrd")
        disk = opened_lean(paths[0], verify=True)
        return WorkerRows(disk, from_disk(disk, cluster, mmap=True, verify=True))
    kinds = [reading.format or source_format(path) for path in paths]
    options = [
        {"format": kind, **reading.arguments(path, kind)} for path, kind in zip(paths, kinds, strict=True)
    ]
    data = file_data(paths, cluster, reading=options, comments=comments)
    return WorkerRows(data, data)


def validation_rows(
    path: str, reading: Reading, like: RankingData, ignore_unknown: bool, cluster: Cluster
) -> WorkerRows:
    """Return a data set on disk to select by or to report on, in the width of the training data."""
    from marginrank.distributed.sources import from_disk

    disk, remote = worker_rows([path], reading, cluster)
    assert isinstance(disk, DiskDataset)
    if disk.feature_names is not None and like.feature_names is not None:
        if disk.feature_names != like.feature_names:
            raise MarginRankError(
                f"{path}: expected the columns of the training data, in their order, got others. Workers do "
                "not put columns in order; name a file of another format, which is read into memory."
            )
    elif disk.n_features != like.n_features:
        if not ignore_unknown:
            refuse_unknown(remote.X, like.n_features, reading.first_feature)
        remote = from_disk(disk, cluster, mmap=True, verify=True, n_features=like.n_features)
    return WorkerRows(disk, remote)


def worker_scores(
    model: RankingModel, rows: WorkerRows, ignore_unknown: bool, first: int, *, ranges: bool = False
) -> NDArray[np.float64]:
    """Return the scores that a model gives to rows on workers, in their order; with a look at the ranges."""
    from marginrank.distributed.scoring import scores_and_extremes

    X: Any = rows.remote.X
    by_name = model.feature_names is not None and rows.known.feature_names is not None
    if not (by_name or ignore_unknown):
        refuse_unknown(X, model.n_features, first)
    if not by_name:
        warn_of_missing(rows.known, model, first)
    ranges = ranges and looks_at_ranges(model)
    scores, extremes = scores_and_extremes(model, rows.remote, ignore_unknown=True, extremes=ranges)
    if ranges:
        width = model.n_features if by_name else rows.known.n_features
        warn_of_extremes(model, extremes, rows.known.n_rows, width)
    return scores


def scored(
    model: RankingModel,
    data: tuple[str, ...],
    reading: Reading,
    workers: Workers | None,
    *,
    ignore_unknown: bool,
    n_jobs: int | None,
    comments: bool = False,
    ranges: bool = False,
) -> tuple[RankingData, list[float]]:
    """Read rows and score them, here or on workers, and warn of values far outside of the model's ranges.

    From workers comments come only if they are wanted.
    """
    first = reading.first_feature
    if workers is None:
        rows = read_files(data, reading)
        scores = scores_of(model, rows, ignore_unknown, n_jobs, first)
        if ranges:
            warn_of_ranges(model, rows, first)
        return rows, scores
    with workers.connected() as cluster:
        found = worker_rows(data, reading, cluster, comments=comments)
        return found.known, worker_scores(model, found, ignore_unknown, first, ranges=ranges).tolist()
