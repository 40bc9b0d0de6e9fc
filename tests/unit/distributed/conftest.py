"""One cluster of worker processes for all tests that do not break it."""

import pytest
from distributed import Client, LocalCluster

from limits import HANG


@pytest.fixture(scope="session")
def client():
    with (
        LocalCluster(
            n_workers=4, threads_per_worker=1, processes=True, dashboard_address="127.0.0.1:0"
        ) as cluster,
        Client(cluster, set_as_default=False) as one,
    ):
        one.wait_for_workers(4, timeout=HANG)
        yield one
