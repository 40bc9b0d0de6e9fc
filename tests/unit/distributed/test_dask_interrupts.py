"""Ctrl-C at every request to the workers, and anywhere between: a whole model or the one before.

Each time the same cluster is used again.
"""

import asyncio
import gc
import logging
from functools import cache
from itertools import count

import numpy as np
import pytest
from dask_cases import serially
from distributed import Client, LocalCluster
from sklearn.base import clone

from impatience import PACKAGE, Impatient, any_call
from limits import HANG
from marginrank import RankRLS, RankSVM, StructuredRankSVM, write_dataset
from marginrank.distributed import DaskRanker
from objectives import objective_of

# Of waits that were interrupted before Dask's own thread had begun with them.
pytestmark = pytest.mark.filterwarnings("ignore:coroutine .* was never awaited:RuntimeWarning")

rng = np.random.default_rng(0)
X = rng.standard_normal((48, 3)) * [1.0, 2.0, 0.5]
Y = np.digitize(X[:, 0] - X[:, 1] + rng.standard_normal(48), [-1.0, 1.0]).astype(float)
QID = np.arange(48) // 8
ESTIMATORS = {
    "one alpha": RankSVM(alpha=0.05, tol=0.1),
    "folds": RankSVM(alpha="auto", alphas=[1.0, 0.1], cv=2, tol=0.5),
    "least squares": RankRLS(alpha=0.05, tol=0.1),
    "structured": StructuredRankSVM("map", alpha=0.05, tol=0.2),
}
WHOLE = {"coef_", "alpha_", "objective_", "lower_bound_", "gap_", "n_iter_", "history_", "n_queries_"}


@pytest.fixture(scope="module", name="workers")
def workers_of_this_process():
    with (
        LocalCluster(
            n_workers=2, threads_per_worker=1, processes=False, dashboard_address="127.0.0.1:0"
        ) as cluster,
        Client(cluster, set_as_default=False) as client,
    ):
        client.wait_for_workers(2, timeout=HANG)
        yield client


@pytest.fixture(autouse=True)
def _quiet_loop():
    """Keep no records of what Dask says of its own interrupted waits: they would hold on to futures."""
    logger = logging.getLogger("tornado.application")
    logger.disabled = True
    yield
    logger.disabled = False


@pytest.fixture(scope="module", name="path")
def data_on_disk(tmp_path_factory):
    path = tmp_path_factory.mktemp("interrupts") / "a.mrd"
    write_dataset(path, X, Y, qid=QID, chunk_rows=16)
    return path


@cache
def earlier(name):
    """A ranker that was fitted to other data."""
    return clone(ESTIMATORS[name]).set_params(n_jobs=1).fit(X[:24, :2], Y[:24], qid=QID[:24])


@cache
def optimum(name, alpha):
    """The least objective at an alpha, all but rounding."""
    model = clone(ESTIMATORS[name]).set_params(alpha=alpha, alphas=None, max_iter=10_000, tol=1e-10)
    return model.fit(X, Y, qid=QID).objective_


def requests(code):
    """A request to the engine, or a callback: as many in every training."""
    if code.co_name == "impatient":
        return True
    return code.co_name in {"gather", "tree_sum"} and code.co_filename.startswith(PACKAGE)


def waits(code):
    """Where Ctrl-C reaches a thread that waits for Dask; a slow answer is waited for more than once."""
    return code.co_name == "wait" and code.co_filename.endswith("threading.py")


def anything(code):
    return any_call(code) or waits(code)


def impatient(progress):
    """A callback; its calls count."""


def interrupted(name, path, client, n, counts):
    """Train; return the ranker, whether it was interrupted, and whether its model then is the one before."""
    ranker = DaskRanker(ESTIMATORS[name], client, timeout=HANG)
    ranker.estimator_ = earlier(name)
    before, moment = dict(vars(earlier(name))), Impatient(n, counts)
    try:
        with moment:
            ranker.fit(path, callbacks=impatient)
    except KeyboardInterrupt:
        same = ranker.estimator_ is earlier(name)
        assert vars(earlier(name)) == before
        return ranker.estimator_, True, same
    assert moment.left > 0, "The interrupt was swallowed."
    return ranker.estimator_, False, False


def assert_whole(model, name):
    assert vars(model).keys() >= WHOLE
    assert model.coef_.shape == (3,)
    assert model.n_queries_ == 6
    assert model.objective_ == pytest.approx(objective_of(model, X, Y, QID), rel=1e-9)
    best = optimum(name, model.alpha_)
    assert model.lower_bound_ <= best * (1 + 1e-9)
    assert model.gap_ >= (model.objective_ - best) / model.objective_ - 1e-9
    assert model.predict(X).shape == (48,)


async def everything_released(client):
    """Nothing stays on the workers; Dask releases futures from its own thread."""
    while client.futures:
        await asyncio.sleep(0.01)


@pytest.mark.parametrize("name", ESTIMATORS)
def test_an_interrupt_of_any_request_leaves_a_whole_model_or_the_one_before(workers, path, name):
    kept = []
    for n in count(1):
        model, happened, same = interrupted(name, path, workers, n, requests)
        if not happened:
            break
        kept.append(not same)
        if not same:
            assert_whole(model, name)
        assert workers.submit(sum, [1, 2], pure=False).result(timeout=HANG) == 3
    assert len(kept) > 5
    assert kept[-1]
    assert kept == sorted(kept), "A model that was there got lost."
    np.testing.assert_array_equal(model.coef_, clone(ESTIMATORS[name]).fit(serially(path)).coef_)
    gc.collect()
    workers.sync(everything_released, workers, callback_timeout=HANG)


def test_an_interrupt_of_any_wait_leaves_a_whole_model_or_the_one_before(workers, path):
    for n in count(1):
        model, happened, same = interrupted("one alpha", path, workers, n, waits)
        if not happened:
            break
        if not same:
            assert_whole(model, "one alpha")
        assert workers.submit(sum, [1, 2], pure=False).result(timeout=HANG) == 3
    assert n > 5
    gc.collect()
    workers.sync(everything_released, workers, callback_timeout=HANG)


@pytest.mark.parametrize("name", ESTIMATORS)
def test_an_interrupt_anywhere_leaves_a_whole_model_or_the_one_before(workers, path, name):
    n, happened = 1, True
    while happened:
        model, happened, same = interrupted(name, path, workers, n, anything)
        if happened and not same:
            assert_whole(model, name)
        n += 1 + n // 4
    np.testing.assert_array_equal(model.coef_, clone(ESTIMATORS[name]).fit(serially(path)).coef_)
