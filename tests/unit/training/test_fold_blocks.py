"""Folds of alpha="auto" trained together: the models of the folds alone, and the same bits every time."""

import os
import re
import signal
import threading
import time
from functools import partial
from types import SimpleNamespace

import numpy as np
import pytest
from scipy import sparse

from marginrank import KernelRankSVM, RankingData, RankSVM, StructuredRankSVM, write_dataset
from marginrank.designs.shared_chunks import ChunksTogether
from marginrank.designs.shared_reads import ProductsTogether, SharingDesign
from marginrank.feature_maps import FourierFeatures
from marginrank.storage.chunks import PassLoader
from marginrank.storage.engines import RemoteMatrix
from marginrank.training import alpha_searches, fold_blocks
from marginrank.training.fold_blocks import folds_at_once
from marginrank.training.mapped_columns import MappedColumns
from marginrank.training.problems import RawColumns

FEW, MANY = np.array([1.0, 1e-2, 1e-4]), np.geomspace(1.0, 1e-2, 33)


def make_data(*, csr=False, scattered=False, weight=None, n_rows=300):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n_rows, 8)) * (rng.random((n_rows, 8)) < 0.7)
    y = np.digitize(X[:, 0] + 0.5 * X[:, 1] + rng.standard_normal(n_rows), [-1.0, 0.5, 2.0])
    qid = np.arange(n_rows) // 4
    if scattered:
        order = rng.permutation(n_rows)
        X, y, qid = X[order], y[order], qid[order]
    weights = {}
    if weight == "rows":
        weights["sample_weight"] = rng.integers(3, size=n_rows).astype(float)
    elif weight == "queries":
        weights["query_weight"] = rng.integers(3, size=n_rows // 4).astype(float)
    return RankingData(sparse.csr_matrix(X) if csr else X, y, qid=qid, **weights)


def fit(monkeypatch, ranker, data, at_once, do=lambda ranker, data: ranker.fit(data)):
    monkeypatch.setattr(alpha_searches, "folds_at_once", lambda training: at_once)
    return do(ranker, data)


@pytest.fixture(autouse=True)
def no_thread_stays_behind():
    before = threading.active_count()
    yield
    assert threading.active_count() == before


@pytest.fixture(name="tables")
def recorded_tables(monkeypatch):
    """The models of every fold, by the way that trained them."""
    seen = {}
    select = alpha_searches.folds_trained

    def record(*args, at_once, **kwargs):
        for fold in select(*args, at_once=at_once, **kwargs):
            seen.setdefault(at_once, []).append(fold)
            yield fold

    monkeypatch.setattr(alpha_searches, "folds_trained", record)
    return seen


RANKERS = {
    "hinge": partial(RankSVM, alphas=FEW),
    "hinge, path": partial(RankSVM, alphas=MANY),
    "squared hinge": partial(RankSVM, "squared_hinge", alphas=FEW),
    "squared hinge, path": partial(RankSVM, "squared_hinge", alphas=MANY),
    "newton": partial(RankSVM, "squared_hinge", solver="newton", alphas=FEW),
    "bundle": partial(RankSVM, solver="bundle", alphas=FEW),
    "scaled": partial(RankSVM, scale="standard", alphas=FEW),
    "structured": partial(StructuredRankSVM, "ndcg", relevance=1, alphas=FEW),
    "structured, path": partial(StructuredRankSVM, "map", relevance=1, alphas=MANY),
}
DATA = {
    "dense": {},
    "sparse": {"csr": True},
    "scattered": {"scattered": True},
    "weighted": {"weight": "rows", "csr": True},
    "weighted queries": {"weight": "queries", "scattered": True},
}
IN_MEMORY = [(ranker, "dense") for ranker in RANKERS] + [
    ("hinge, path", "weighted"),
    ("squared hinge", "scattered"),
    ("squared hinge, path", "sparse"),
    ("scaled", "weighted"),
    ("structured", "weighted queries"),
]
ON_DISK = [
    ("hinge", "dense"),
    ("hinge, path", "sparse"),
    ("newton", "weighted"),
    ("scaled", "scattered"),
    ("structured", "weighted queries"),
]


def assert_same_optima(together, alone):
    """Each fold's models have values that both ways' certificates allow."""
    for a, b in zip(together, alone, strict=True):
        one, other = a.descent.alphas, b.descent.alphas
        common = [(k, other.index(alpha)) for k, alpha in enumerate(one) if alpha in other]
        assert len(common) > 2
        for k, j in common:
            assert a.descent.bounds[k] <= b.descent.values[j] * (1 + 1e-9)
            assert b.descent.bounds[j] <= a.descent.values[k] * (1 + 1e-9)


def assert_agree(one, other):
    np.testing.assert_array_equal(one.alphas_, other.alphas_)
    # Models that both are within 2e-3 of the optimum differ in a few pairs of so few rows.
    np.testing.assert_allclose(one.validation_curve_, other.validation_curve_, atol=0.03)
    assert one.best_score_ == pytest.approx(other.best_score_, abs=0.01)


def check_both_ways(monkeypatch, tables, ranker, data):
    make = partial(RANKERS[ranker], alpha="auto", cv=3, metric="pairwise_error")
    together, alone = (fit(monkeypatch, make(), data, at_once) for at_once in (8, 1))
    assert_agree(together, alone)
    assert_same_optima(tables[8], tables[1])
    if together.alpha_ == alone.alpha_:
        assert together.lower_bound_ <= alone.objective_ * (1 + 1e-9)
        assert alone.lower_bound_ <= together.objective_ * (1 + 1e-9)
    assert together.gap_ <= together.tol


@pytest.mark.parametrize(("ranker", "kind"), IN_MEMORY)
def test_folds_together_find_the_models_of_the_folds_alone(monkeypatch, tables, ranker, kind):
    check_both_ways(monkeypatch, tables, ranker, make_data(**DATA[kind]))


@pytest.mark.parametrize(("ranker", "kind"), ON_DISK)
def test_folds_on_disk_find_the_models_of_the_folds_alone(monkeypatch, tmp_path, tables, ranker, kind):
    ds = write_dataset(tmp_path / "a.mrd", make_data(**DATA[kind]), chunk_rows=110)
    check_both_ways(monkeypatch, tables, ranker, ds)


def test_folds_of_pairs_go_together(monkeypatch, tables):
    data = make_data()
    pairs = np.random.default_rng(1).integers(300, size=(2000, 2))
    pairs = pairs[data.y[pairs[:, 0]] > data.y[pairs[:, 1]]]

    def do(ranker, data):
        return ranker.fit_pairs(data.X, pairs)

    make = partial(RankSVM, alpha="auto", alphas=FEW, cv=3)
    assert_agree(*(fit(monkeypatch, make(), data, at_once, do) for at_once in (8, 1)))
    assert_same_optima(tables[8], tables[1])


@pytest.mark.parametrize("store", ["memory", "recompute"])
def test_folds_over_mapped_features_go_together(monkeypatch, tables, store):
    make = partial(KernelRankSVM, n_components=12, store=store, random_state=0)
    make = partial(make, alpha="auto", alphas=FEW, cv=3)
    assert_agree(*(fit(monkeypatch, make(), make_data(), at_once) for at_once in (8, 1)))
    assert_same_optima(tables[8], tables[1])


@pytest.mark.parametrize("at_once", [2, 3])
def test_more_folds_than_go_together_take_turns_in_blocks(monkeypatch, at_once, tables):
    make = partial(RankSVM, alpha="auto", alphas=FEW, cv=5)
    assert_agree(*(fit(monkeypatch, make(), make_data(), number) for number in (at_once, 1)))
    assert len(tables[at_once]) == 5
    assert_same_optima(tables[at_once], tables[1])


@pytest.mark.parametrize("disk", [False, True], ids=["memory", "disk"])
def test_bits_depend_neither_on_threads_nor_on_timing(monkeypatch, tmp_path, disk):
    data = make_data(csr=True)
    if disk:
        data = write_dataset(tmp_path / "a.mrd", data, chunk_rows=110)
    make = partial(RankSVM, alpha="auto", alphas=FEW if disk else MANY, cv=4)
    expected = fit(monkeypatch, make(n_jobs=1), data, 8)
    rng, adjoint = np.random.default_rng(), SharingDesign.adjoint

    def late(self, g):
        time.sleep(2e-3 * rng.random())
        return adjoint(self, g)

    monkeypatch.setattr(SharingDesign, "adjoint", late)
    for n_jobs in (1, 2):
        found = fit(monkeypatch, make(n_jobs=n_jobs), data, 8)
        np.testing.assert_array_equal(found.coef_, expected.coef_)
        np.testing.assert_array_equal(found.validation_curve_, expected.validation_curve_)
        assert found.n_passes_ == expected.n_passes_


def test_data_on_disk_are_read_far_less_often_than_folds_pass_over_them(monkeypatch, tmp_path):
    ds = write_dataset(tmp_path / "a.mrd", make_data(), chunk_rows=150)
    loads, (load, read_ahead) = [], ds.X._passes
    counting = PassLoader(lambda number: loads.append(number) or load(number), read_ahead)
    monkeypatch.setattr(ds.X, "_passes", counting)
    make = partial(RankSVM, alpha="auto", alphas=FEW, cv=5)
    counts, passes = {}, {}
    for at_once in (8, 1):
        loads.clear()
        passes[at_once] = fit(monkeypatch, make(), ds, at_once).n_passes_
        counts[at_once] = len(loads)
    # The passes are those that the folds ask for, whoever reads for them.
    assert passes[8] == pytest.approx(passes[1], rel=0.1)
    assert counts[8] < 0.6 * counts[1]


@pytest.mark.parametrize("kind", [ValueError, KeyboardInterrupt])
def test_what_a_callback_raises_in_one_fold_ends_all(monkeypatch, kind):
    def fails(progress):
        if progress.alpha == FEW[1]:
            raise kind("enough")
        assert progress.alpha > FEW[1]

    model = RankSVM(alpha="auto", alphas=FEW, cv=4)
    with pytest.raises(kind):
        fit(monkeypatch, model, make_data(), 8, lambda ranker, data: ranker.fit(data, callbacks=fails))
    # Ctrl-C leaves the model of what all folds have measured; an error leaves nothing.
    assert hasattr(model, "coef_") == (kind is KeyboardInterrupt)
    assert getattr(model, "alpha_", FEW[0]) == FEW[0]


def test_ctrl_c_in_a_product_ends_all_folds(monkeypatch):
    answer, rounds = ProductsTogether.__call__, []

    def interrupted(self, requests):
        rounds.append(len(requests))
        if len(rounds) == 5:
            os.kill(os.getpid(), signal.SIGINT)
            time.sleep(10.0)
        return answer(self, requests)

    monkeypatch.setattr(ProductsTogether, "__call__", interrupted)
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with pytest.raises(KeyboardInterrupt):
            fit(monkeypatch, RankSVM(alpha="auto", alphas=FEW, cv=4), make_data(), 8)
    finally:
        signal.signal(signal.SIGINT, before)
    assert rounds == [4] * 5


def test_callbacks_are_called_in_the_thread_of_the_caller_and_may_stop_a_solution(monkeypatch):
    threads = set()

    def stop(progress):
        threads.add(threading.get_ident())
        return progress.iteration == 2

    model = fit(
        monkeypatch,
        RankSVM(alpha="auto", alphas=FEW, cv=3, tol=1e-9),
        make_data(),
        8,
        lambda ranker, data: ranker.fit(data, callbacks=stop),
    )
    assert threads == {threading.get_ident()}
    assert model.history_[-1].iteration == 2


@pytest.mark.parametrize("at_once", [1, 8])
def test_what_is_shown_says_which_fold_it_is(monkeypatch, capsys, at_once):
    fit(monkeypatch, RankSVM(alpha="auto", alphas=FEW, cv=3, verbose=True), make_data(), at_once)
    header, *lines = capsys.readouterr().err.splitlines()
    assert header.split()[:2] == ["iter", "objective"]
    folds = [int(found[1]) if (found := re.search(r"fold (\d) of 3$", line)) else None for line in lines]
    assert {1, 2, 3, None} == set(folds)
    last = folds.index(None)
    assert set(folds[last:]) == {None}
    in_order = folds[:last] == sorted(folds[:last])
    assert in_order == (at_once == 1)


def training_of(space, n_columns):
    return SimpleNamespace(space=space, design=SimpleNamespace(shape=(10, n_columns)))


def raw(X):
    return training_of(RawColumns(X, None, 1), X.shape[1])


def test_folds_share_reads_where_reads_cost_most(tmp_path):
    ds = write_dataset(tmp_path / "a.mrd", make_data(), chunk_rows=100)
    assert folds_at_once(raw(ds.X)) == 8
    assert folds_at_once(raw(sparse.csr_matrix(np.eye(300)))) == 1
    assert folds_at_once(raw(np.zeros((3000, 500)))) == 1
    remote = RemoteMatrix.__new__(RemoteMatrix)
    remote.shape = (10, 3)
    assert folds_at_once(raw(remote)) == 8  # there it is calls that they share


@pytest.mark.parametrize(("store", "expected"), [("memory", 1), ("recompute", 8)])
def test_folds_share_features_that_are_made_in_every_pass(store, expected):
    X = np.random.default_rng(0).random((50, 3))
    space = MappedColumns(FourierFeatures(n_components=8), X, None, None, None, store, 1)
    assert folds_at_once(training_of(space, 8)) == expected


def test_fewer_folds_go_together_where_memory_does_not_hold_their_planes(monkeypatch, tmp_path):
    ds = write_dataset(tmp_path / "a.mrd", make_data(), chunk_rows=100)
    for memory, expected in ((10**9, 8), (4 * 3 * 8 * 300 * 8, 3), (10, 1)):
        monkeypatch.setattr(fold_blocks, "physical_memory", lambda memory=memory: memory)
        assert folds_at_once(raw(ds.X)) == expected


def test_the_rule_is_what_fit_follows(monkeypatch, tmp_path):
    calls = []
    answer = ChunksTogether.__call__
    monkeypatch.setattr(
        ChunksTogether,
        "__call__",
        lambda self, asked: calls.append(len(asked)) or answer(self, asked),
    )
    ds = write_dataset(tmp_path / "a.mrd", make_data(), chunk_rows=100)
    RankSVM(alpha="auto", alphas=FEW, cv=3).fit(ds)
    assert max(calls) == 3
