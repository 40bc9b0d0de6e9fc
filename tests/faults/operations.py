"""What faults are injected into: training, scoring, and files, by Python and by the shell."""

from __future__ import annotations

import contextlib
import hashlib
import io
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path

import numpy as np
from injection import FILES, MEMORY, Operation, ShellError

from marginrank import (
    KernelRankSVM,
    RankingModel,
    RankRLS,
    RankSVM,
    StructuredRankSVM,
    open_dataset,
    write_dataset,
)
from marginrank.cli.app import run
from marginrank.data.queries import offsets
from marginrank.distributed import RemoteData
from marginrank.distributed.disk_chunks import disk_chunks
from marginrank.distributed.training import fit_on_workers
from marginrank.io import load_letor
from marginrank.metrics import evaluate
from marginrank.storage.dataset_manifest import chunk_rows
from marginrank.storage.engines import RemoteMatrix, SerialEngine

RNG = np.random.default_rng(0)
X = RNG.standard_normal((60, 4))
QID = np.repeat(np.arange(10), 6)
Y = np.tile([0.0, 1.0, 2.0, 0.0, 1.0, 0.0], 10)
MANY = RNG.standard_normal((6000, 4))  # enough for several threads
TEXT = "".join(
    f"{y:g} qid:{q} " + " ".join(f"{j + 1}:{v:.6g}" for j, v in enumerate(x)) + "\n"
    for x, y, q in zip(X, Y, QID, strict=True)
)
#: Where an interrupted writing of a data set goes on from.
STAGE = r"\.marginrank-[0-9a-f]{12}-[0-9a-f]{16}\.stage(/|$)"


@lru_cache
def other_model() -> RankingModel:
    """Return a model that no operation trains."""
    return RankSVM(alpha=1.0).fit(X, -Y, qid=QID).to_model()


@lru_cache
def new_model() -> RankingModel:
    """Return a model that takes the place of the other one."""
    return RankSVM(alpha=0.1).fit(X, Y, qid=QID).to_model()


def nothing() -> None:
    """Prepare no files."""


def digest(*arrays: object) -> bytes:
    """Return what tells arrays from others."""
    content = (np.ascontiguousarray(array).tobytes() for array in arrays)
    return hashlib.sha256(b"".join(content)).digest()


def shell(*arguments: str) -> bytes:
    """Run a command; what it prints is its result, and exit code 1 an error with what it said."""
    output, errors = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(output), contextlib.redirect_stderr(errors):
        code = run(arguments)
    said = errors.getvalue().strip()
    if code == 0:
        return b"done"
    if code != 1 or not said.startswith("Error: ") or "Traceback" in said:
        raise AssertionError(f"exit code {code}: {said}")
    raise ShellError(said)


def by_shell(command: str) -> Callable[[], bytes]:
    """Return the command as an operation."""
    return lambda: shell(*command.split())


def text_files() -> None:
    """Prepare data as text, and a model that is to be replaced."""
    Path("a.txt").write_text(TEXT)
    other_model().save("m.mrk")


def dataset() -> None:
    """Prepare data on disk, and a model that is to be replaced."""
    write_dataset("a.mrd", X, Y, qid=QID, chunk_rows=18)
    other_model().save("m.mrk")


def other_dataset() -> None:
    """Prepare text, and a data set of other rows that is to be replaced."""
    text_files()
    write_dataset("b.mrd", X[::-1].copy(), Y, qid=QID, chunk_rows=30)


def fits(ranker: Callable[[], object], *, qid: object = QID) -> Callable[[], bytes]:
    """Return a training as an operation."""
    return lambda: digest(ranker().fit(X, Y, qid=qid).coef_)


def kernel_fit() -> bytes:
    ranker = KernelRankSVM(gamma=0.5, alpha=0.1, tol=0.1, n_components=12, random_state=0, n_jobs=2)
    return digest(ranker.fit(X, Y, qid=QID).predict(X[:5]))


def threaded_fit() -> bytes:
    ranker = RankSVM(alpha=0.1, tol=0.3, n_jobs=3)
    return digest(ranker.fit(MANY, np.tile(Y, 100), qid=np.repeat(np.arange(1000), 6)).coef_)


def on_disk() -> bytes:
    return digest(RankSVM(alpha=0.1, tol=0.2, n_jobs=2).fit(open_dataset("a.mrd")).coef_)


def predicted() -> bytes:
    return digest(other_model().predict(X))


def judged() -> bytes:
    found = evaluate(Y, X[:, 0], qid=QID, metrics=["ndcg@3", "map", "err"])
    return digest(np.array([found[name] for name in found]))


def saved() -> bytes:
    new_model().save("m.mrk")
    return b"done"


def loaded() -> bytes:
    return digest(RankingModel.load("m.mrk").predict(X))


def read_text() -> bytes:
    data = load_letor("a.txt")
    return digest(data.X.toarray() if hasattr(data.X, "toarray") else data.X, data.y)


def remote_rows() -> RemoteData:
    """Return a data set on disk through the engine that answers in this process."""
    manifest, chunks = disk_chunks(Path("a.mrd"), mapped=True, verify=True)
    bounds = offsets(np.array([chunk_rows(chunk) for chunk in manifest.chunks]))
    engine = SerialEngine(lambda number: chunks[number].load())
    remote = RemoteMatrix(engine, bounds, manifest.n_features, np.dtype(manifest.dtype))
    return RemoteData.like(open_dataset("a.mrd"), remote)


def with_checkpoint() -> bytes:
    ranker = RankSVM(alpha=0.1, tol=0.01)
    fit_on_workers(ranker, remote_rows(), None, "a.journal", resume=Path("a.journal").exists())
    return digest(ranker.coef_)


class StopError(Exception):
    """What stops a training."""


def stopped_training() -> None:
    """Prepare a checkpoint of a training that was stopped in its middle."""

    def stop(progress: object) -> None:
        if progress.iteration == 3:
            raise StopError

    dataset()
    with contextlib.suppress(StopError):
        fit_on_workers(
            RankSVM(alpha=0.1, tol=0.01), remote_rows(), None, "a.journal", resume=False, callbacks=stop
        )


THREADED = (*MEMORY, "thread")
ANYTHING = (*MEMORY, *FILES)
#: What is tried, by name.
OPERATIONS = {
    "fit": Operation(nothing, fits(lambda: RankSVM(alpha=0.1, tol=0.1, n_jobs=2)), MEMORY),
    "fit a global ranking": Operation(
        nothing, fits(lambda: RankSVM(alpha=0.1, tol=0.1, n_jobs=2), qid=None), ("kernels",)
    ),
    "fit the hinge": Operation(nothing, fits(lambda: RankSVM("hinge", alpha=0.1, tol=0.1)), ("kernels",)),
    "fit least squares": Operation(nothing, fits(lambda: RankRLS(alpha=0.1, n_jobs=2)), THREADED),
    "fit a structured ranker": Operation(
        nothing, fits(lambda: StructuredRankSVM("ndcg", alpha=0.1, tol=0.1)), ("kernels",)
    ),
    "fit a kernel": Operation(nothing, kernel_fit, MEMORY),
    "fit with threads": Operation(nothing, threaded_fit, THREADED),
    "fit from disk": Operation(dataset, on_disk, (*THREADED, "read", "open")),
    "predict": Operation(nothing, predicted, MEMORY),
    "evaluate": Operation(nothing, judged, MEMORY),
    "save": Operation(text_files, saved, ANYTHING),
    "load": Operation(text_files, loaded, (*MEMORY, "read", "open")),
    "read text": Operation(text_files, read_text, (*MEMORY, "read", "open")),
    "train with a checkpoint": Operation(dataset, with_checkpoint, ANYTHING, stays=r"a\.journal$"),
    "resume from a checkpoint": Operation(stopped_training, with_checkpoint, ANYTHING, stays=r"a\.journal$"),
    "shell: train": Operation(text_files, by_shell("train a.txt -o m.mrk --alpha 0.1 --tol 0.1"), ANYTHING),
    "shell: train from disk": Operation(
        dataset, by_shell("train a.mrd -o m.mrk --alpha 0.1 --tol 0.1"), ANYTHING
    ),
    "shell: predict": Operation(text_files, by_shell("predict m.mrk a.txt -o a.scores"), ANYTHING),
    "shell: convert": Operation(
        text_files,
        by_shell("convert a.txt b.mrd --chunk-rows 18"),
        ANYTHING,
        again=by_shell("convert a.txt b.mrd --chunk-rows 18 --resume"),
        stays=STAGE,
    ),
    "shell: convert over another": Operation(
        other_dataset, by_shell("convert a.txt b.mrd --chunk-rows 18 --overwrite"), ANYTHING, stays=STAGE
    ),
}
