"""Rankers over data on disk: the models of data in memory, for any chunks."""

import subprocess
import sys
import textwrap
from pathlib import Path

import numpy as np
import pytest
from scipy import sparse

from marginrank import (
    KernelRankSVM,
    RankingData,
    RankRLS,
    RankSVM,
    StructuredRankSVM,
    open_dataset,
    write_dataset,
)
from marginrank.designs.compared import column_scale
from marginrank.exceptions import MarginRankError


def ranking_data(*, queries=True, csr=False, **more):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(900, 6)) * (rng.random((900, 6)) < 0.7)
    y = np.round(X @ [2.0, -1.0, 0.5, 0.0, 0.0, 0.0] + rng.normal(size=900))
    qid = np.sort(rng.integers(90, size=900)) if queries else None
    return RankingData(sparse.csr_matrix(X) if csr else X, y, qid=qid, **more)


RANKERS = {
    "hinge": RankSVM(alpha=1e-3),
    "squared hinge": RankSVM("squared_hinge", alpha=1e-3, solver="newton"),
    "mean over queries": RankSVM(alpha=1e-3, weighting="queries"),
    "least squares": RankRLS(alpha=1e-3, solver="cg"),
    "structured": StructuredRankSVM("ndcg", alpha=1e-2, relevance=1),
}


@pytest.fixture(params=RANKERS, name="ranker")
def ranker_of_kind(request):
    return RANKERS[request.param]


@pytest.fixture(params=[False, True], ids=["dense", "csr"], name="csr")
def storage(request):
    return request.param


@pytest.fixture(params=[True, False], ids=["queries", "global"], name="queries")
def with_queries(request):
    return request.param


def test_one_chunk_gives_the_bits_of_memory(tmp_path, ranker, csr, queries):
    data = ranking_data(queries=queries, csr=csr)
    ds = write_dataset(tmp_path / "a.mrd", data)
    expected = ranker.fit(data).coef_
    assert np.array_equal(ranker.fit(ds).coef_, expected)


@pytest.mark.parametrize("chunk_rows", [40, 300])
def test_several_chunks_give_the_same_model_within_rounding(tmp_path, ranker, csr, queries, chunk_rows):
    data = ranking_data(queries=queries, csr=csr)
    ds = write_dataset(tmp_path / "a.mrd", data, chunk_rows=chunk_rows)
    expected, objective = ranker.fit(data).coef_, ranker.objective_
    scores = ranker.predict(data)
    assert np.array_equal(ranker.predict(ds), scores)  # scores do not depend on chunks
    agreement = ranker.score(data)
    assert ranker.score(ds) == agreement
    ranker.fit(ds)
    # Both are within the gap of the optimum; here the same path is taken, but for rounding.
    assert ranker.objective_ == pytest.approx(objective, rel=1e-9)
    assert np.allclose(ranker.coef_, expected, rtol=1e-6, atol=1e-9)
    assert ranker.n_queries_ == data.n_queries


def test_threads_change_no_bit(tmp_path, ranker):
    write_dataset(tmp_path / "a.mrd", ranking_data(), chunk_rows=100)
    models = [
        ranker.set_params(n_jobs=n_jobs).fit(open_dataset(tmp_path / "a.mrd")).coef_ for n_jobs in (1, 3)
    ]
    assert all(np.array_equal(models[0], other) for other in models[1:])


def test_a_pass_over_whole_queries_reads_each_chunk_once(tmp_path, monkeypatch):
    ds = write_dataset(tmp_path / "a.mrd", ranking_data(), chunk_rows=300)
    loads = []
    load = ds.X._load
    monkeypatch.setattr(ds.X, "_load", lambda number: loads.append(number) or load(number))
    passes = RankSVM(alpha=1e-3).fit(ds).n_passes_
    # Scores apart from adjoints would take two reads a pass.
    assert len(loads) < 1.5 * passes * ds.n_chunks


@pytest.mark.parametrize("scale", ["standard", "minmax"])
def test_columns_are_scaled_as_in_memory(tmp_path, csr, scale):
    weight = np.random.default_rng(1).integers(3, size=900).astype(float)
    data = ranking_data(csr=csr, sample_weight=weight)
    ds = write_dataset(tmp_path / "a.mrd", data, chunk_rows=100)
    rows = np.flatnonzero(weight)
    for kept, w in ((None, None), (rows, weight[rows])):
        assert np.allclose(
            column_scale(ds.X, scale, kept, w), column_scale(data.X, scale, kept, w), rtol=1e-12
        )
    ranker = RankSVM(alpha=1e-3, scale=scale)
    assert np.allclose(ranker.fit(ds).coef_, ranker.fit(data).coef_, rtol=1e-6)


@pytest.mark.parametrize("kind", [RankSVM, RankRLS])
def test_alpha_is_chosen_by_the_same_folds(tmp_path, kind):
    data = ranking_data()
    ds = write_dataset(tmp_path / "a.mrd", data, chunk_rows=100)
    options = {"solver": "cg"} if kind is RankRLS else {}
    ranker = kind(alpha="auto", alphas=[1e-1, 1e-3, 1e-5], cv=3, **options)
    curve = ranker.fit(data).validation_curve_
    assert np.allclose(ranker.fit(ds).validation_curve_, curve, rtol=1e-6)


def test_alpha_is_chosen_by_a_validation_set_on_disk(tmp_path):
    data = ranking_data()
    ds = write_dataset(tmp_path / "a.mrd", data, chunk_rows=100)
    ranker = RankSVM(alpha="auto", alphas=[1e-1, 1e-3])
    curve = ranker.fit(data, eval_set=data).validation_curve_
    assert np.allclose(ranker.fit(ds, eval_set=ds).validation_curve_, curve, rtol=1e-6)


def test_explicit_pairs_may_cross_chunks(tmp_path):
    data = ranking_data()
    pairs = np.random.default_rng(2).permutation(900).reshape(450, 2)
    data = RankingData(data.X, data.y, qid=data.qid, pairs=pairs)
    ds = write_dataset(tmp_path / "a.mrd", data, chunk_rows=100)
    ranker = RankSVM(alpha=1e-3)
    assert np.allclose(ranker.fit_pairs(ds).coef_, ranker.fit_pairs(data).coef_, rtol=1e-6, atol=1e-9)


def test_saved_models_score_data_on_disk(tmp_path):
    data = ranking_data()
    ds = write_dataset(tmp_path / "a.mrd", data, chunk_rows=100)
    model = RankSVM(alpha=1e-3).fit(data).to_model()
    assert np.array_equal(model.predict(ds), model.predict(data))


def test_the_direct_solver_is_refused(tmp_path):
    ds = write_dataset(tmp_path / "a.mrd", ranking_data(), chunk_rows=100)
    with pytest.raises(MarginRankError, match="needs the rows in memory, and these are on disk"):
        RankRLS(solver="direct").fit(ds)
    assert RankRLS(solver="auto").fit(ds).solver_ == "cg"


@pytest.mark.skipif(
    not Path("/proc/self/status").exists(), reason="needs the peak of a process, as Linux has it"
)
def test_memory_does_not_grow_with_the_data(tmp_path):
    script = textwrap.dedent(
        f"""
        import re
        from pathlib import Path

        import numpy as np
        from marginrank import RankSVM, open_dataset, write_dataset

        def peak():
            # Not getrusage: its figure is not below that of the process that started this one.
            return int(re.search(r"VmHWM:\\s+(\\d+)", Path("/proc/self/status").read_text())[1]) / 1024

        rng = np.random.default_rng(0)
        RankSVM().fit(rng.normal(size=(50, 2)), np.arange(50))  # everything is imported and warm
        before = peak()
        blocks = (
            (rng.random((5000, 100)), rng.integers(3, size=5000), np.arange(5000) // 10 + 500 * k)
            for k in range(35)
        )
        write_dataset({str(tmp_path / "a.mrd")!r}, blocks, chunk_bytes=8 << 20)
        RankSVM(alpha=10.0).fit(open_dataset({str(tmp_path / "a.mrd")!r}))
        print(peak() - before)
        """
    )
    # 140 MB of features; a few chunks of 8 MB, a block of 4 MB and vectors of 1.4 MB are what it takes.
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert float(done.stdout) < 70


def test_what_wants_data_in_memory_says_so(tmp_path):
    rng = np.random.default_rng(0)
    data = write_dataset(tmp_path / "x.mrd", rng.random((40, 3)), rng.integers(3, size=40), chunk_rows=10)
    with pytest.raises(MarginRankError, match="does not train over data on disk"):
        KernelRankSVM(n_components=5).fit(data)
