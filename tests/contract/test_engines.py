"""What every engine must hold: answers in order, and the bits of the serial engine wherever the chunks lie.

A new engine needs an entry of ``ENGINES``: what makes one from ``load``, which gives the matrix of a chunk.
"""

from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import pytest
from scipy import sparse

from limits import HANG
from marginrank import RankingData, RankRLS, RankSVM, StructuredRankSVM
from marginrank.distributed import RemoteData
from marginrank.storage.chunks import TreeSum
from marginrank.storage.engines import RemoteMatrix, SerialEngine

N_QUERIES, LENGTH, N_COLS = 24, 9, 4
BOUNDS = LENGTH * np.array([0, 1, 5, 6, 13, 20, N_QUERIES])
N_CHUNKS = len(BOUNDS) - 1


def serial(groups=None, n_threads=1):
    @contextmanager
    def made(load) -> Iterator[SerialEngine]:
        yield SerialEngine(load, n_threads, groups)

    return made


class Source:
    """Where a chunk comes from, as workers are told of it."""

    def __init__(self, load, k):
        self.k, self._load = k, load

    def load(self):
        return self._load(self.k)


@contextmanager
def dask(load):
    distributed = pytest.importorskip("distributed")
    from marginrank.distributed import DaskEngine
    from marginrank.distributed.cluster import Cluster

    with distributed.Client(n_workers=2, processes=False, dashboard_address="127.0.0.1:0") as client:
        yield DaskEngine(Cluster(client, HANG, 0), [Source(load, k) for k in range(N_CHUNKS)])


ENGINES = {
    "serial": serial(),
    "serial-threads": serial(n_threads=3),
    "serial-neighbours": serial([[0, 1, 2], [3, 4, 5]]),
    "serial-dealt-out": serial([[5, 1], [0, 4, 2], [3]]),
    "dask": dask,
}


def features(kind="dense"):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(BOUNDS[-1], N_COLS)) * (rng.random((BOUNDS[-1], N_COLS)) < 0.7)
    return sparse.csr_matrix(X) if kind == "csr" else X


class Rows:
    """The rows of a chunk, as a function that can be sent."""

    def __init__(self, X):
        self.X = X

    def __call__(self, k):
        return self.X[BOUNDS[k] : BOUNDS[k + 1]]


@pytest.fixture(name="engine", params=ENGINES)
def engine_of_each_kind(request):
    with ENGINES[request.param](Rows(features())) as engine:
        yield engine


# What is sent is a function of a module.
def with_part(X, part, n_threads):
    assert n_threads >= 1
    return X, part


def part_and_place(one, shared, own):
    return one[1], shared, own


def column_sums(one, shared, own):
    X = one[0] if isinstance(one, tuple) else one
    return shared * X.sum(axis=0) * (1.0 if own is None else own)


def test_answers_come_in_the_order_of_the_handle_each_with_its_part_and_its_argument(engine):
    chunks = [1, 3, 4]
    handle = engine.prepare(with_part, chunks, ["b", "d", "e"])
    found = engine.gather(handle, part_and_place, "for all", [10, 30, 40])
    assert found == [("b", "for all", 10), ("d", "for all", 30), ("e", "for all", 40)]
    assert engine.gather(handle, part_and_place) == [(part, None, None) for part in "bde"]


def test_sums_have_the_bits_of_the_tree_over_the_order(engine):
    X = features()
    weight = [0.1, 0.7, 1e9, 1e-9, 3.0, 0.3]
    for chunks in ([0, 1, 2, 3, 4, 5], [0, 2, 5], [3]):
        handle = engine.prepare(None, chunks, [None] * len(chunks))
        own = [weight[k] for k in chunks]
        total = TreeSum()
        for k in chunks:
            total.add(column_sums(X[BOUNDS[k] : BOUNDS[k + 1]], 0.3, weight[k]))
        assert np.array_equal(engine.tree_sum(handle, column_sums, 0.3, own), total.result())


def test_handles_are_apart_and_answer_again(engine):
    some, others = engine.prepare(with_part, [0, 1], "xy"), engine.prepare(None, [1, 2], [None] * 2)
    first = engine.tree_sum(some, column_sums, 1.0)
    engine.tree_sum(others, column_sums, 2.0)
    assert np.array_equal(engine.tree_sum(some, column_sums, 1.0), first)


def trained(ranker, engine, kind):
    rng = np.random.default_rng(1)
    X = features(kind)
    y = np.digitize(np.asarray(X @ [2.0, -1.0, 0.5, 0.0]) + rng.normal(size=X.shape[0]), [0, 1])
    known = RankingData(X, y, qid=np.repeat(np.arange(N_QUERIES), LENGTH))
    return ranker.fit(RemoteData.like(known, RemoteMatrix(engine, BOUNDS, N_COLS, X.dtype))).coef_


RANKERS = [
    RankSVM(alpha=1e-2, tol=0.1),
    RankSVM("squared_hinge", alpha=1e-2, tol=0.1, scale="standard"),
    RankRLS(alpha=1e-2, tol=0.1, solver="cg"),
    StructuredRankSVM("ndcg", alpha=0.1, tol=0.1),
]


@pytest.mark.parametrize("kind", ["dense", "csr"])
@pytest.mark.parametrize("name", ENGINES)
def test_rankers_have_the_same_bits_over_every_engine(name, kind):
    load = Rows(features(kind))
    with ENGINES[name](load) as engine:
        for ranker in RANKERS:
            expected = trained(ranker, SerialEngine(load), kind)
            assert np.array_equal(trained(ranker, engine, kind), expected)
