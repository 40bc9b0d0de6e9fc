"""Writing data sets on disk, for ``convert``: its options, a progress bar, and resuming after Ctrl-C."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from marginrank.cli import interrupts
from marginrank.cli.command import Decorator, option, spelled, with_options
from marginrank.cli.options.reading import Reading
from marginrank.cli.output.printing import counted
from marginrank.cli.output.progress import WritingBar
from marginrank.exceptions import MarginRankError
from marginrank.io import DiskDataset, convert_to_dataset, write_dataset
from marginrank.io.places import place
from marginrank.storage.dataset_writer import WritingState
from marginrank.storage.stage_folder import was_begun

#: What can be read in pieces; everything else is read into memory first.
STREAMED = ("letor", "csv", "parquet", "mrd")
_UNITS = {"": 1, "b": 1, "kb": 10**3, "mb": 10**6, "gb": 10**9, "kib": 2**10, "mib": 2**20, "gib": 2**30}


class _Size(click.ParamType):  # type: ignore[type-arg]  # generic in newer releases of click only
    """A number of bytes, such as 64MB or 1GB."""

    name = "size"

    def convert(self, value: Any, parameter: click.Parameter | None, context: click.Context | None) -> int:
        if isinstance(value, int):
            return value
        found = re.fullmatch(r"(\d+(?:\.\d+)?) ?([a-z]*)", value.strip().lower())
        size = int(min(float(found[1]) * _UNITS.get(found[2], 0), 2.0**62)) if found else 0
        if size < 1:
            self.fail(f"expected a size, such as 64MB or 1GB; got {value!r}.", parameter, context)
        return size


@dataclass(frozen=True)
class Writing:
    """How to write a data set on disk, as asked for on the command line."""

    chunk: int | None
    chunk_rows: int | None
    overwrite: bool
    resume: bool

    def check(self, kind: str) -> None:
        """Refuse options that another format does not know, and contradictions."""
        asked = [name for name, value in self.__dict__.items() if value]
        if kind != "mrd" and asked:
            raise click.UsageError(
                f"{spelled(asked[0])} is for data sets on disk (.mrd), but {kind} is written."
            )

    @property
    def is_new(self) -> bool:
        """Whether nothing was said about what is there."""
        return not (self.overwrite or self.resume)

    def arguments(self) -> dict[str, Any]:
        """Return the arguments of the writers of the library."""
        chunk = {} if self.chunk is None else {"chunk_bytes": self.chunk}
        return {"chunk_rows": self.chunk_rows, "overwrite": self.overwrite, "resume": self.resume, **chunk}


_GROUP = "Data sets on disk (.mrd)"
#: The options of data sets on disk.
writing_options: Decorator = with_options(
    option(
        "--chunk",
        group=_GROUP,
        type=_Size(),
        help="The size of a chunk, such as 64MB.  [default: 256MiB]",
    ),
    option("--chunk-rows", group=_GROUP, type=click.IntRange(min=1), help="The most rows of a chunk."),
    option("--overwrite", group=_GROUP, is_flag=True, help="Replace what is there, or was begun."),
    option("--resume", group=_GROUP, is_flag=True, help="Resume a writing that was stopped."),
)


def stream_to_disk(
    source: str, kind: str, destination: str, reading: Reading, writing: Writing
) -> DiskDataset:
    """Convert a file to a data set, a piece at a time."""
    arguments = reading.arguments(source, kind)
    with _watched(destination, writing) as bar:
        return convert_to_dataset(
            source, destination, format=kind, progress=bar, **writing.arguments(), **arguments
        )


def write_to_disk(data: Any, destination: str, writing: Writing) -> DiskDataset:
    """Write data that were read already as a data set."""
    with _watched(destination, writing) as bar:
        return write_dataset(destination, data, progress=bar, **writing.arguments())


@contextmanager
def _watched(destination: str, writing: Writing) -> Iterator[Callable[[WritingState], None]]:
    """Show how far a writing is, and know what to say of Ctrl-C at any moment."""
    if writing.is_new and was_begun(Path(place(destination))):
        raise MarginRankError(
            f"{destination} was begun before and not finished; give --resume to go on with it, or "
            "--overwrite to start anew."
        )
    with interrupts.orderly(writes=True), WritingBar() as bar:

        def tell(state: WritingState) -> None:
            if state.n_chunks and not state.rewriting:
                interrupts.say(
                    f"Interrupted; what was written is kept ({counted(state.n_chunks, 'chunk')}). To go on "
                    "there, give the same command with --resume."
                )
            bar(state)

        yield tell
