"""Who the workers are: each says what it runs and what that computes, before anything is taken from it.

A worker of another version, or on a machine where the kernels round differently, would change the model
without a word, and the certificate would no longer hold. The self-test is a small part of a training, by the
functions that answer in a real one: workers whose answers have the same bits have the same mark.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Awaitable, Callable, Sequence
from functools import lru_cache
from importlib.metadata import version
from typing import Any, NamedTuple

import numpy as np
import threadpoolctl
from scipy import sparse

from marginrank.data.labels import LabelledQueries
from marginrank.designs.remote import sample_answers
from marginrank.feature_maps.frequencies import Cosines
from marginrank.losses import QUERY_LOSSES

#: Asks some workers something, and returns their answers or exceptions by address; the silent are left out.
Ask = Callable[..., Awaitable[dict[str, Any]]]

_N_ROWS, _N_FEATURES, _N_QUERIES = 96, 12, 8


class Introduction(NamedTuple):
    """What a process says of itself.

    Attributes
    ----------
    version : str
        That of marginrank.
    kernels : str
        The compiled module in use.
    blas : str
        The library and the kernel that it chose for the processor.
    check : str
        A hash of what losses and products over small data came to; the same wherever bits are the same.
    mapped : str
        The same of features that a map makes, where BLAS and numpy's cosine take part.
    """

    version: str
    kernels: str
    blas: str
    check: str
    mapped: str

    @property
    def mark(self) -> str:
        """What is equal for all whose answers may be added up."""
        return f"{self.version} {self.check}"

    def __str__(self) -> str:
        return f"marginrank {self.version}, {self.kernels}, {self.blas}, self-test {self.check}"


def introduce() -> Introduction:
    """Return what this process has to say of itself.

    Examples
    --------
    >>> introduce() == introduce(), len(introduce().check)
    (True, 16)
    """
    return _introduction()


@lru_cache(maxsize=1)
def _introduction() -> Introduction:
    return Introduction(
        version("marginrank"), _kernels(), _blas(), _digest(_risks()), _digest(_mapped_features())
    )


async def oddities(ask: Ask, workers: Sequence[str]) -> dict[str, Introduction | str | None]:
    """Ask workers who they are.

    Parameters
    ----------
    ask : callable
        From a function, its arguments and workers to their answers.
    workers : sequence of str
        Addresses.

    Returns
    -------
    dict
        For each address an introduction, or a sentence of why its answers are of no use; None for those who
        are gone or silent.
    """
    found = await ask(introduce, workers=workers)
    strangers = [address for address, answer in found.items() if _failed(answer)]
    installed = await ask(version, "marginrank", workers=strangers) if strangers else {}
    return {address: _verdict(address, found.get(address), installed.get(address)) for address in workers}


def _failed(answer: Any) -> bool:
    """Whether a worker is there and could not answer; Dask wraps the lack of a module into some exception."""
    return isinstance(answer, Exception) and not isinstance(answer, OSError)


def _verdict(address: str, answer: Any, installed: Any) -> Introduction | str | None:
    own = introduce()
    remedy = f"Install marginrank {own.version} on the scheduler and all workers."
    if isinstance(answer, Introduction):
        if answer.mark == own.mark:
            return answer
        if answer.version != own.version:
            return f"worker {address} has marginrank {answer.version}, this process {own.version}. {remedy}"
        return (
            f"worker {address} computes other bits than this process, and no certificate would hold. There: "
            f"{answer}. Here: {own}. Stop it, or install the same packages on both machines."
        )
    if _failed(answer) and _failed(installed):
        return f"worker {address} has no marginrank. {remedy}"
    if isinstance(installed, str) and installed != own.version:
        return f"worker {address} has marginrank {installed}, this process {own.version}. {remedy}"
    if _failed(answer):
        told = f"{type(answer).__name__}: {answer}"
        return f"worker {address} cannot say what it runs ({told}). {remedy}"
    return None


async def answers_in_time(asked: dict[str, Awaitable[Any]], timeout: float) -> dict[str, Any]:
    """Return the answers, or exceptions, of those who answer within some seconds."""
    tasks = {asyncio.ensure_future(one): address for address, one in asked.items()}
    done, late = await asyncio.wait(tasks, timeout=timeout)
    for one in late:
        one.cancel()
    return {tasks[one]: one.exception() or one.result() for one in done}


def _kernels() -> str:
    from marginrank._kernels import PairLabels

    return str(PairLabels.__module__).rpartition(".")[2]


def _blas() -> str:
    found = [one for one in threadpoolctl.threadpool_info() if one["user_api"] == "blas"]
    names = {f"{one['internal_api']} {one['version']} {one.get('architecture', '')}".strip() for one in found}
    return ", ".join(sorted(names)) or "no BLAS known"


def _numbers(*shape: int) -> Any:
    """Return numbers that are the same everywhere, without a generator, and whose products are rounded."""
    return ((np.arange(np.prod(shape)) * 7919 % 1009) - 504).reshape(shape) / 7.0


def _risks() -> list[Any]:
    """Return what a worker would answer about losses, products and columns of small data."""
    X = _numbers(_N_ROWS, _N_FEATURES) / 64.0
    w, v = _numbers(2, _N_FEATURES) / 256.0
    y = (np.arange(_N_ROWS) * 5 % 7 % 4).astype(np.float64)
    queries = LabelledQueries.of(y, qid=np.repeat(np.arange(_N_QUERIES), _N_ROWS // _N_QUERIES))
    view = queries.training_view()
    losses: list[Any] = [make(view, weighting="pairs", n_threads=1) for make in QUERY_LOSSES.values()]
    matrices: list[Any] = [X, X.astype(np.float32), sparse.csr_matrix(np.where(X > 0, X, 0.0))]
    return [
        answer
        for matrix in matrices
        for loss in losses
        for answer in sample_answers(matrix, loss, w, v, view.query_ptr)
    ]


def _mapped_features() -> list[Any]:
    frequencies = _numbers(_N_FEATURES, 40) / 128.0
    made = Cosines(frequencies, _numbers(40) / 8.0, _numbers(_N_FEATURES) / 64.0)
    X = _numbers(_N_ROWS, _N_FEATURES) / 64.0
    found = []
    matrices: list[Any] = [X, sparse.csr_matrix(X)]
    for matrix in matrices:
        out = np.empty((_N_ROWS, 40))
        made.transform_block(matrix, out)
        found.append(out)
    return found


def _digest(arrays: Sequence[Any]) -> str:
    told = hashlib.sha256()
    for one in arrays:
        values = np.asarray(one)
        told.update(f"{values.dtype.kind}{values.shape}".encode())
        told.update(np.ascontiguousarray(values, dtype=values.dtype.newbyteorder("<")).tobytes())
    return told.hexdigest()[:16]
