"""``--dask``: the workers that a command runs over, and how it reaches them."""

from __future__ import annotations

import functools
import logging
import re
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from multiprocessing import resource_tracker
from typing import TYPE_CHECKING, Any

import click

from marginrank.cli import interrupts
from marginrank.cli.command import option, with_options
from marginrank.cli.output.printing import counted
from marginrank.exceptions import ClusterError, MarginRankError
from marginrank.io.places import is_there
from marginrank.system.threads import default_threads

if TYPE_CHECKING:
    from distributed import Client

    from marginrank.distributed.cluster import Cluster

_CONNECT = 30.0  # seconds for a scheduler to answer
_FIRST_WORKER = 60.0
_RETRIES = 5
_ADDRESS = re.compile(r"(?:[a-z]+://)?[^\s/]+:\d+")
_LOCAL = re.compile(r"local(?::([1-9]\d*))?")


@dataclass(frozen=True)
class Workers:
    """Workers as they were asked for on the command line.

    Parameters
    ----------
    address : str
        That of a scheduler; or local, or local:2, for processes of this machine while the command runs.
    timeout : float
        Seconds that a pass over the data, or waiting for workers, may take.
    """

    address: str
    timeout: float

    @property
    def n_processes(self) -> int | None:
        """How many processes to start here; None where the workers are those of a scheduler."""
        found = _LOCAL.fullmatch(self.address)
        return None if found is None else int(found[1] or default_threads())

    @contextmanager
    def connected(self) -> Iterator[Cluster]:
        """Give the cluster; Ctrl-C is an exception meanwhile, so that no process is left behind."""
        try:
            import_module("distributed")
        except ImportError:
            raise MarginRankError(
                "--dask needs dask[distributed]; install it, here and for the workers: pip install "
                "'marginrank[dask]'."
            ) from None
        from marginrank.distributed.cluster import Cluster

        with interrupts.orderly(writes=False, waits=True), _quiet(), self._client() as client:
            cluster = Cluster(client, self.timeout, _RETRIES)
            self._await_worker(client)
            yield cluster

    @contextmanager
    def _client(self) -> Iterator[Client]:
        from marginrank.distributed.local_workers import local_workers

        if self.n_processes is None:
            with self._reached() as client:
                yield client
            return
        starting = _leaving_interrupts_to_us()
        with local_workers(
            self.n_processes, timeout=self.timeout, starting=starting, silence_logs=logging.CRITICAL
        ) as client:
            yield client

    def _reached(self) -> Client:
        from distributed import Client

        seconds = min(_CONNECT, self.timeout)
        try:
            return Client(self.address, timeout=seconds, set_as_default=False)
        except (OSError, ValueError, TypeError, RuntimeError) as error:
            if interrupts.happened():
                raise
            why = f"within {seconds:g} seconds" if isinstance(error, OSError) else f"({error})"
            raise ClusterError(
                f"No Dask scheduler answered at {self.address} {why}. Is one running there (dask scheduler), "
                "and can this machine reach it?"
            ) from None

    def _await_worker(self, client: Client) -> None:
        if client.nthreads():
            return
        seconds = min(_FIRST_WORKER, self.timeout)
        click.echo(f"Waiting for a worker of {self.address}.", err=True)
        try:
            client.wait_for_workers(1, timeout=seconds)
        except TimeoutError:
            raise ClusterError(
                f"The Dask scheduler at {self.address} has no workers, and none came within {seconds:g} "
                f"seconds. Start some: dask worker {self.address}"
            ) from None


@contextmanager
def _leaving_interrupts_to_us() -> Iterator[None]:
    """Start threads that Ctrl-C passes by, and so do the processes that they start, now or later.

    A terminal sends it to all processes of a command; workers would print a traceback each.
    """
    resource_tracker.ensure_running()  # it would lift the block in the thread that needs it first
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


@contextmanager
def _quiet() -> Iterator[None]:
    """Keep the logs of Dask off the terminal: what matters of them becomes a sentence or a figure."""
    before = logging.root.manager.disable
    logging.disable(logging.CRITICAL)
    try:
        yield
    finally:
        logging.disable(before)


def in_words(n_first: int, n_last: int, n_failures: int) -> str:
    """Return how many workers there were, and whether something had to be repeated.

    Examples
    --------
    >>> in_words(2, 2, 0), in_words(2, 1, 1)
    ('2 workers', '2 workers at first, 1 in the end; 1 pass was repeated')
    """
    left = "" if n_first == n_last else f" at first, {n_last} in the end"
    repeated = "1 pass was repeated" if n_failures == 1 else f"{n_failures} passes were repeated"
    return counted(n_first, "worker") + left + (f"; {repeated}" if n_failures else "")


def _check_address(context: click.Context, parameter: click.Parameter, value: str | None) -> str | None:
    if value is None or _LOCAL.fullmatch(value):
        return value
    if _ADDRESS.fullmatch(value) and not value.startswith("local:"):
        return value
    raise click.BadParameter(
        f"expected the address of a scheduler, such as tcp://host:8786, or local, or local:2; got {value!r}."
    )


_add_options = with_options(
    option(
        "--dask",
        group="Workers",
        metavar="ADDRESS|local[:N]",
        callback=_check_address,
        help="Run over the workers of a Dask scheduler, such as tcp://host:8786, or over processes of this "
        "machine. DATA is an .mrd folder, or files of whole queries.",
    ),
    option(
        "--timeout",
        group="Workers",
        type=click.FloatRange(min=0, min_open=True),
        help="Seconds that a pass over the workers may take.  [default: 600]",
    ),
)


def over_workers(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add ``--dask``; the command gets ``workers``, None without it, and ``data``, one file or several."""

    @functools.wraps(command)
    def wrapped(dask: str | None, timeout: float | None, data: tuple[str, ...], **parameters: Any) -> Any:
        if dask is None:
            if timeout is not None:
                raise click.UsageError("--timeout is for --dask.")
            return command(workers=None, data=data, **parameters)
        workers = Workers(dask, 600.0 if timeout is None else timeout)
        _check_data(workers, data)
        return command(workers=workers, data=data, **parameters)

    return _add_options(wrapped)


def _check_data(workers: Workers, data: tuple[str, ...]) -> None:
    if "-" in data:
        raise click.UsageError("Workers cannot read standard input; name files, or leave out --dask.")
    if workers.n_processes is None:
        return
    for path in data:  # before processes are started; those of other machines may see what this one does not
        if not is_there(path):
            raise MarginRankError(f"{path}: No such file or directory.")
