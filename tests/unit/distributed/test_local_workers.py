"""Workers of this machine obey nobody else; a scheduler with TLS is reached by Dask's settings."""

import os
import re
import stat
import urllib.error
import urllib.request

import dask
import numpy as np
import pytest
from click.testing import CliRunner
from distributed import Client, LocalCluster
from distributed.security import Security

from limits import HANG
from marginrank import RankSVM, write_dataset
from marginrank.cli.app import cli as commands
from marginrank.distributed import DaskRanker
from marginrank.distributed.local_workers import local_workers
from marginrank.exceptions import ClusterError, MarginRankError

X = np.random.default_rng(0).normal(size=(40, 3))


def servers(client):
    """The addresses that take orders, and the ports that speak HTTP."""
    info = client.scheduler_info()
    workers = info["workers"]
    orders = [client.scheduler.address, *workers, *(worker["nanny"] for worker in workers.values())]
    services = [info["services"], *(worker["services"] for worker in workers.values())]
    return orders, [port for one in services for port in one.values()]


def test_nobody_without_the_key_gets_in():
    with local_workers(2) as client:
        orders, _ = servers(client)
        assert len(orders) == 5
        for address in orders:
            assert address.startswith("tls://127.0.0.1:")
            for stranger in (None, Security.temporary()):
                there = address if stranger else address.replace("tls://", "tcp://")
                # Those who are kept out are kept out for any number of seconds.
                with pytest.raises(OSError, match=r"closed|TLS|Timed out"):
                    Client(there, security=stranger, timeout=5, set_as_default=False)
        assert client.submit(sum, [1, 2]).result() == 3  # and the owner still does


def test_the_http_servers_of_dask_answer_nothing():
    with local_workers(1) as client:
        _, ports = servers(client)
        assert ports
        for port in ports:
            for page in ("", "status", "health", "info/main/workers.html", "json/counts.json", "metrics"):
                with pytest.raises(urllib.error.HTTPError, match="404"):
                    urllib.request.urlopen(f"http://127.0.0.1:{port}/{page}", timeout=HANG)


def test_what_workers_write_lies_in_a_folder_of_ones_own():
    with local_workers(1) as client:
        (folder,) = client.run(lambda dask_worker: dask_worker.local_directory).values()
        own = next(part for part in folder.split(os.sep) if part.startswith("marginrank-workers-"))
        own = folder[: folder.index(own) + len(own)]
        assert stat.S_IMODE(os.stat(own).st_mode) == 0o700
    assert not os.path.exists(own)


def test_without_cryptography_there_are_no_open_workers_but_a_sentence(monkeypatch, tmp_path):
    def missing():
        raise ImportError("cryptography")

    monkeypatch.setattr(Security, "temporary", missing)
    path = write_dataset(tmp_path / "a.mrd", X, X[:, 0]).path
    with pytest.raises(MarginRankError, match=r"needs cryptography; install it: pip install"):
        DaskRanker(RankSVM()).fit(path)


def test_workers_of_this_machine_that_do_not_start_in_time_are_told_of(monkeypatch, tmp_path):
    def none_comes(self, n_workers, timeout):
        raise TimeoutError(f"{n_workers} workers, {timeout} seconds")

    monkeypatch.setattr(Client, "wait_for_workers", none_comes)
    path = write_dataset(tmp_path / "a.mrd", X, X[:, 0]).path
    sentence = r"worker processes of this machine did not start within timeout=456 seconds\."
    with pytest.raises(ClusterError, match=sentence):
        DaskRanker(RankSVM(), timeout=456).fit(path)
    train = ["train", str(path), "-o", str(tmp_path / "a.mrk"), "--dask", "local:3", "--timeout", "456"]
    answer = CliRunner().invoke(commands, train, catch_exceptions=False)
    assert answer.exit_code == 1
    assert re.search(f"3 {sentence}", " ".join(answer.output.split()))


def test_a_ranker_without_a_cluster_trains_over_workers_of_its_own(tmp_path):
    path = write_dataset(tmp_path / "a.mrd", X, X[:, 0], chunk_rows=20).path
    ranker = DaskRanker(RankSVM(alpha=0.1), timeout=HANG).fit(path).estimator_
    np.testing.assert_allclose(ranker.coef_, RankSVM(alpha=0.1).fit(X, X[:, 0]).coef_, atol=0.05)


@pytest.fixture(name="scheduler")
def scheduler_with_certificates(tmp_path):
    """A scheduler that demands certificates, and Dask's settings that name them."""
    made = Security.temporary()
    files = {"ca-file": made.tls_ca_file, "cert": made.tls_client_cert, "key": made.tls_client_key}
    for name, content in files.items():
        (tmp_path / f"{name}.pem").write_text(content)
    paths = {name: str(tmp_path / f"{name}.pem") for name in files}
    settings = {
        "distributed.comm.tls.ca-file": paths["ca-file"],
        "distributed.comm.tls.client.cert": paths["cert"],
        "distributed.comm.tls.client.key": paths["key"],
    }
    with LocalCluster(
        n_workers=1,
        threads_per_worker=1,
        processes=False,
        protocol="tls://",
        security=made,
        dashboard_address="127.0.0.1:0",
    ) as cluster:
        yield cluster.scheduler_address, settings


def test_a_scheduler_with_tls_is_reached_by_the_settings_of_dask(scheduler, tmp_path):
    address, settings = scheduler
    path = write_dataset(tmp_path / "a.mrd", X, X[:, 0], chunk_rows=20).path
    train = ["train", str(path), "-o", str(tmp_path / "a.mrk"), "--dask", address, "--timeout", str(HANG)]
    with dask.config.set(settings):
        DaskRanker(RankSVM(alpha=0.1), address, timeout=HANG).fit(path)
        assert CliRunner().invoke(commands, train).exit_code == 0
    (tmp_path / "a.mrk").unlink()
    with pytest.raises(ClusterError, match="No Dask scheduler answers at tls://"):
        DaskRanker(RankSVM(), address, timeout=5).fit(path)
    refused = CliRunner().invoke(commands, train)
    assert refused.exit_code == 1
    assert "No Dask scheduler answered at tls://" in refused.output
