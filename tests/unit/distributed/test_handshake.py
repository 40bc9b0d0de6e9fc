"""Workers say what they run and what it computes; odd ones are refused by name, or left out in a training."""

import importlib.metadata
import sys
from dataclasses import replace
from importlib.abc import MetaPathFinder

import numpy as np
import pytest
from dask_cases import ranking_data, serially

from limits import HANG
from marginrank import KernelRankSVM, RankSVM, write_dataset
from marginrank.designs.matrix import MatrixDesign
from marginrank.distributed import DaskRanker, handshake, predict
from marginrank.distributed.cluster import Cluster
from marginrank.distributed.handshake import Introduction, introduce
from marginrank.exceptions import ClusterError


@pytest.fixture(name="odd")
def client_of_workers_to_change(client):
    """The shared workers, which are put right again."""
    yield client
    client.run(put_right)


@pytest.fixture(name="path")
def data_on_disk(tmp_path):
    write_dataset(tmp_path / "a.mrd", ranking_data(), chunk_rows=60)
    return tmp_path / "a.mrd"


def estimator():
    return RankSVM(alpha=1e-4, tol=1e-6)


# Run on a worker, which imports this file.

_put_right = []


def changed(owner, name, value):
    """Change an attribute until ``put_right``."""
    _put_right.append((owner, name, getattr(owner, name)))
    setattr(owner, name, value)
    handshake._introduction.cache_clear()


def put_right():
    while _put_right:
        setattr(*_put_right.pop())
    handshake._introduction.cache_clear()


def scale_gradients():
    """Compute values and gradients that are a millionth too large."""
    real = MatrixDesign.evaluate

    def evaluate(self, w, loss):
        found = real(self, w, loss)
        longer = None if found.gradient is None else found.gradient * (1 + 1e-6)
        return replace(found, gradient=longer, value=found.value * (1 + 1e-6))

    changed(MatrixDesign, "evaluate", evaluate)


def become_version(number):
    """Say that another version of the package is installed."""
    changed(handshake, "version", lambda name: number)


def become_blas(name):
    changed(handshake, "_blas", lambda: name)


class Uninstalled(MetaPathFinder):
    """Finds no marginrank."""

    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] == "marginrank":
            raise ModuleNotFoundError(f"No module named {name!r}")


def uninstall():
    """Forget the package and what is known of it, as though it had never been installed."""
    others = {name: one for name, one in sys.modules.items() if name.partition(".")[0] != "marginrank"}
    changed(sys, "meta_path", [Uninstalled(), *sys.meta_path])
    for name in set(sys.modules) - set(others):
        _put_right.append((Modules, name, sys.modules.pop(name)))
    real = importlib.metadata.distribution

    def distribution(name):
        if name == "marginrank":
            raise importlib.metadata.PackageNotFoundError(name)
        return real(name)

    changed(importlib.metadata, "distribution", distribution)


class _Modules:
    def __setattr__(self, name, module):
        sys.modules[name] = module


Modules = _Modules()


def one_of(client):
    return sorted(client.scheduler_info()["workers"])[-1]


def test_the_self_test_notices_what_a_last_bit_changes(monkeypatch):
    assert introduce() == handshake._introduction.__wrapped__()
    real = MatrixDesign.scores
    monkeypatch.setattr(MatrixDesign, "scores", lambda self, w: np.nextafter(real(self, w), np.inf))
    changed = handshake._introduction.__wrapped__()
    assert changed.check != introduce().check
    assert changed.mark != introduce().mark


def test_bits_of_the_self_test_do_not_depend_on_the_kernels_of_blas(client):
    marks = {introduce().mark, *(told.mark for told in client.run(introduce).values())}
    assert len(marks) == 1


def test_a_worker_that_computes_otherwise_is_refused_by_name(odd, path):
    worker = one_of(odd)
    odd.run(scale_gradients, workers=[worker])
    with pytest.raises(
        ClusterError, match=rf"Worker {worker} computes other bits than this process.*self-test"
    ):
        DaskRanker(estimator(), odd, timeout=HANG).fit(path)


def test_a_worker_of_another_version_is_refused_by_name(odd, path):
    worker = one_of(odd)
    odd.run(become_version, "0.0.7", workers=[worker])
    told = rf"Worker {worker} has marginrank 0\.0\.7, this process {introduce().version}. Install marginrank"
    with pytest.raises(ClusterError, match=told):
        DaskRanker(estimator(), odd, timeout=HANG).fit(path)


def test_a_worker_without_the_package_is_refused_by_name(odd, path):
    worker = one_of(odd)
    odd.run(uninstall, workers=[worker])
    with pytest.raises(ClusterError, match=rf"Worker {worker} has no marginrank. Install marginrank"):
        DaskRanker(estimator(), odd, timeout=HANG).fit(path)


@pytest.mark.parametrize("looked", [True, False], ids=["seen in time", "seen by its answer"])
def test_one_that_joins_is_left_out_and_changes_no_bit(odd, path, monkeypatch, looked):
    """Also where it answers before anybody looked: then its answer is thrown away."""
    worker = one_of(odd)
    real = Cluster._ask_workers
    joined = []

    async def ask(self):
        there = await real(self)
        return there if joined else {one: there[one] for one in there if one != worker}

    def join(progress):
        if progress.iteration == 2:
            odd.run(scale_gradients, workers=[worker])
            joined.append(worker)
            if not looked:  # its answers come back with its address, though nobody asked who it is
                monkeypatch.setattr(Cluster, "_admitted", admitted_blindly)

    checked = Cluster._admitted

    def admitted_blindly(self, there):
        monkeypatch.setattr(Cluster, "_admitted", checked)
        return set(there)

    monkeypatch.setattr(Cluster, "_ask_workers", ask)
    monkeypatch.setattr("marginrank.distributed.cluster._LOOK_AGAIN", 0.0)
    expected = estimator().fit(serially(path)).coef_
    with pytest.warns(RuntimeWarning, match=f"Left out: worker {worker} computes other bits"):
        ranker = DaskRanker(estimator(), odd, timeout=HANG).fit(path, callbacks=join)
    assert np.array_equal(ranker.estimator_.coef_, expected)
    assert looked or ranker.n_failures_ >= 1


def test_mapped_features_need_one_blas(odd, path):
    rows = ranking_data()
    model = KernelRankSVM(alpha=1e-2, tol=0.1, n_components=20, random_state=0).fit(rows).to_model()
    assert np.array_equal(predict(model, path, odd), model.predict(rows.X))
    odd.run(become_blas, "openblas 0.3 Prescott", workers=[one_of(odd)])
    with pytest.raises(ClusterError, match=r"depend on BLAS.*openblas 0\.3 Prescott"):
        predict(model, path, odd)
    DaskRanker(estimator(), odd, timeout=HANG).fit(path)  # linear models do not depend on it


def test_introductions_are_sentences():
    told = Introduction("1.0", "_native", "openblas 0.3 Zen", "ab", "cd")
    assert str(told) == "marginrank 1.0, _native, openblas 0.3 Zen, self-test ab"
    assert told.mark == "1.0 ab"
