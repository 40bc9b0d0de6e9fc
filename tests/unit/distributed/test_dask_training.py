"""Rankers over worker processes: the bits of the serial engine, for any workers and any way of reading."""

import pickle

import numpy as np
import pytest
from dask_cases import ranking_data, serially
from distributed import default_client
from sklearn.base import clone

from limits import HANG
from marginrank import KernelRankSVM, RankingData, RankRLS, RankSVM, StructuredRankSVM, write_dataset
from marginrank.distributed import DaskEngine, DaskRanker, RemoteData
from marginrank.distributed.cluster import Cluster
from marginrank.distributed.disk_chunks import disk_chunks
from marginrank.exceptions import MarginRankError
from marginrank.storage.engines import RemoteMatrix

RANKERS = {
    "hinge": RankSVM(alpha=1e-2, tol=0.1),
    "least squares": RankRLS(alpha=1e-2, tol=0.1, solver="cg"),
    "structured": StructuredRankSVM("ndcg", alpha=0.1, tol=0.1, relevance=1),
    "squared hinge": RankSVM("squared_hinge", alpha=1e-2, tol=0.1, solver="newton", scale="standard"),
    "graded": StructuredRankSVM("map", alpha=0.1, tol=0.1),
}


class Some(Cluster):
    """The first workers of a cluster, as though there were no others."""

    n_workers = 4

    def workers(self, *, look=False):
        return super().workers(look=look)[: self.n_workers]


def on_workers(client, path, n_workers, *, mmap):
    cluster = Some(client, 30.0, 0)
    cluster.n_workers = n_workers
    data = serially(path)
    _, chunks = disk_chunks(path, mapped=mmap, verify=True)
    X = data.X
    return RemoteData.like(data, RemoteMatrix(DaskEngine(cluster, chunks), X._bounds, X.shape[1], X.dtype))


@pytest.mark.parametrize(
    ("n_chunks", "ways"),
    [(1, [(1, True), (4, False)]), (3, [(1, False), (2, True), (4, False)]), (16, [(2, False), (4, True)])],
)
@pytest.mark.parametrize("queries", [True, False], ids=["queries", "global"])
def test_workers_give_the_bits_of_the_serial_engine(client, tmp_path, n_chunks, ways, queries):
    data = ranking_data(queries=queries)
    ds = write_dataset(tmp_path / "a.mrd", data, chunk_rows=480 // n_chunks)
    assert ds.n_chunks == n_chunks
    for ranker in list(RANKERS.values())[: 5 if queries and n_chunks == 3 else 2]:
        expected = ranker.fit(serially(tmp_path / "a.mrd")).coef_
        for n_workers, mmap in ways:
            got = ranker.fit(on_workers(client, tmp_path / "a.mrd", n_workers, mmap=mmap)).coef_
            assert np.array_equal(got, expected)


def test_a_ranker_over_workers_has_the_model_of_a_plain_one(client, tmp_path):
    data = ranking_data(csr=True)
    ds = write_dataset(tmp_path / "a.mrd", data, chunk_rows=100)
    plain = RankSVM(alpha=1e-2, tol=1e-3).fit(data)
    ranker = DaskRanker(RankSVM(alpha=1e-2, tol=1e-3), client, timeout=HANG).fit(tmp_path / "a.mrd")
    assert ranker.n_failures_ == 0
    assert ranker.estimator_.objective_ == pytest.approx(plain.objective_, rel=2e-3)
    assert np.array_equal(ranker.predict(ds), ranker.estimator_.predict(data))
    assert ranker.score(ds) == ranker.estimator_.score(data)
    by_address = DaskRanker(RankSVM(alpha=1e-2, tol=1e-3), client.scheduler.address).fit(str(ds.path))
    assert np.array_equal(by_address.to_model().predict(data), ranker.predict(ds))


def test_workers_subtract_offsets_of_columns(client, tmp_path):
    data = ranking_data()
    X = np.column_stack([data.X, 1e15 + data.qid, 1.7e9 + np.arange(480) % 7])
    write_dataset(tmp_path / "a.mrd", RankingData(X, data.y, qid=data.qid), chunk_rows=160)
    plain = RankSVM(alpha=1e-2, tol=1e-3).fit(RankingData(X[:, :-2], data.y, qid=data.qid))
    ranker = RankSVM(alpha=1e-2, tol=1e-3).fit(on_workers(client, tmp_path / "a.mrd", 2, mmap=False))
    assert ranker.coef_[-2] == 0.0
    assert ranker.lower_bound_ <= plain.objective_  # one column more cannot make the optimum worse
    assert np.array_equal(ranker.coef_, ranker.fit(serially(tmp_path / "a.mrd")).coef_)


def test_without_a_client_processes_come_and_go(tmp_path):
    write_dataset(tmp_path / "a.mrd", ranking_data(), chunk_rows=100)
    ranker = DaskRanker(RankSVM(alpha=0.1, tol=0.1), timeout=HANG).fit(tmp_path / "a.mrd")
    assert np.array_equal(
        ranker.estimator_.coef_, RankSVM(alpha=0.1, tol=0.1).fit(serially(tmp_path / "a.mrd")).coef_
    )
    with pytest.raises(ValueError, match="No clients found"):
        default_client()


@pytest.mark.parametrize("kind", [RankSVM, RankRLS])
def test_alpha_is_chosen_with_the_bits_of_the_serial_engine(client, tmp_path, kind):
    write_dataset(tmp_path / "a.mrd", ranking_data(), chunk_rows=100)
    write_dataset(tmp_path / "b.mrd", ranking_data(n_rows=200), chunk_rows=60)
    estimator = kind(alpha="auto", alphas=[1e-1, 1e-3], cv=2, scale="minmax", tol=0.1)
    there = DaskRanker(estimator, client, timeout=HANG)
    for validation in (None, "b.mrd"):
        remote = None if validation is None else tmp_path / validation
        here = None if validation is None else serially(tmp_path / validation)
        estimator.fit(serially(tmp_path / "a.mrd"), eval_set=here)
        found = there.fit(tmp_path / "a.mrd", eval_set=remote).estimator_
        assert np.array_equal(found.validation_curve_, estimator.validation_curve_)
        assert np.array_equal(found.coef_, estimator.coef_)


def test_errors_of_workers_are_told_as_they_are(client, tmp_path):
    ds = write_dataset(tmp_path / "a.mrd", ranking_data(), chunk_rows=100)
    with open(tmp_path / "a.mrd" / ds._manifest.chunks[2].file, "r+b") as file:
        file.seek(64)
        file.write(b"\xff")
    with pytest.raises(MarginRankError, match=r"chunk-000002.bin: expected the SHA-256"):
        DaskRanker(RankSVM(), client, timeout=HANG).fit(tmp_path / "a.mrd")


def test_a_path_that_workers_do_not_have(client, tmp_path):
    write_dataset(tmp_path / "a.mrd", ranking_data(), chunk_rows=100)
    there = on_workers(client, tmp_path / "a.mrd", 2, mmap=True)
    (tmp_path / "a.mrd").rename(tmp_path / "b.mrd")
    with pytest.raises(MarginRankError, match="Workers on other machines need the data set under the same"):
        RankSVM().fit(there)


def test_clones_keep_the_cluster_and_pickles_its_address(client, tmp_path):
    write_dataset(tmp_path / "a.mrd", ranking_data(), chunk_rows=100)
    ranker = DaskRanker(RankSVM(alpha=1e-2, tol=0.1), client, timeout=HANG, retries=2, verify=False)
    ranker.fit(tmp_path / "a.mrd")
    again = clone(ranker)
    assert again.client is client
    assert again.estimator is not ranker.estimator
    assert repr(again) == repr(ranker)
    assert (again.timeout, again.retries, again.verify) == (HANG, 2, False)
    assert not hasattr(again, "estimator_")
    opened = pickle.loads(pickle.dumps(ranker))
    assert opened.client == client.scheduler.address
    assert np.array_equal(opened.predict(tmp_path / "a.mrd"), ranker.predict(tmp_path / "a.mrd"))
    with pytest.warns(DeprecationWarning, match="ranker_ is called estimator_ now"):
        assert ranker.ranker_ is ranker.estimator_


def test_what_does_not_work_says_so(tmp_path):
    with pytest.raises(MarginRankError, match="Kernels train in memory"):
        DaskRanker(KernelRankSVM())
    with pytest.raises(MarginRankError, match="direct solver needs the rows in memory"):
        DaskRanker(RankRLS(solver="direct"))
    with pytest.raises(MarginRankError, match="retries must be"):
        DaskRanker(RankSVM(), retries=-1)
    with pytest.raises(MarginRankError, match="timeout must be"):
        DaskRanker(RankSVM(), timeout=0)
    with pytest.raises(MarginRankError, match="client must be"):
        DaskRanker(RankSVM(), client=4)
    with pytest.raises(MarginRankError, match=r"No Dask scheduler answers at tcp://127.0.0.1:9"):
        DaskRanker(RankSVM(), "tcp://127.0.0.1:9", timeout=0.5).fit(tmp_path / "a.mrd")
    with pytest.raises(MarginRankError, match="not fitted"):
        DaskRanker(RankSVM()).predict("a.mrd")
