"""Worker processes of this machine that take orders from the process that started them, and from no other.

A Dask cluster runs whatever code reaches its ports, and every user of a machine can reach those of its
loopback. So these ports speak TLS only, with a key that is made for the cluster, held in memory and handed to
its own processes; there is no dashboard, the HTTP servers of Dask answer nothing, and what workers write lies
in a folder of the user's own.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from tempfile import TemporaryDirectory

import dask
from distributed import Client, LocalCluster
from distributed.security import Security

from marginrank.exceptions import ClusterError, MarginRankError

_LOOPBACK = "127.0.0.1"


@contextmanager
def local_workers(
    n_workers: int,
    *,
    timeout: float = 600.0,
    starting: AbstractContextManager[None] | None = None,
    silence_logs: int = logging.WARNING,
) -> Iterator[Client]:
    """Give a client of worker processes, which end with the block.

    Parameters
    ----------
    n_workers : int
        Processes, of one thread each.
    timeout : float
        Seconds that they may take to start.
    starting : context manager, optional
        Entered while the cluster starts its threads.
    silence_logs : int
        The level of Dask's logs that are shown.
    """
    closed: dict[str, list[str]] = {
        "distributed.scheduler.http.routes": [],
        "distributed.worker.http.routes": [],
    }
    with TemporaryDirectory(prefix="marginrank-workers-") as folder, dask.config.set(closed):
        with starting or nullcontext():
            # No limit of memory: pages of mapped files would count, which the system takes back.
            cluster = LocalCluster(
                n_workers=0,
                threads_per_worker=1,
                processes=True,
                memory_limit=0,
                host=_LOOPBACK,
                protocol="tls://",
                security=_security(),
                dashboard_address=f"{_LOOPBACK}:0",
                scheduler_kwargs={"dashboard": False},
                local_directory=folder,
                silence_logs=silence_logs,
            )
        with cluster, Client(cluster, set_as_default=False) as client:
            cluster.scale(n_workers)
            try:
                client.wait_for_workers(n_workers, timeout=timeout)
            except TimeoutError:
                raise ClusterError(
                    f"{n_workers} worker processes of this machine did not start within "
                    f"timeout={timeout:g} seconds."
                ) from None
            yield client


def _security() -> Security:
    try:
        made: Security = Security.temporary()
    except ImportError:
        raise MarginRankError(
            "TLS keeps other users of this machine out of worker processes, and needs cryptography; install "
            "it: pip install 'marginrank[dask]'."
        ) from None
    return made
