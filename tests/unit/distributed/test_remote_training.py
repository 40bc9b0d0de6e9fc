"""Rankers over rows that lie elsewhere, in this process: the models of plain fits, the same bits anywhere."""

import numpy as np
import pytest
from scipy import sparse

from marginrank import KernelRankSVM, RankingData, RankRLS, RankSVM, StructuredRankSVM
from marginrank.distributed import RemoteData
from marginrank.exceptions import MarginRankError
from marginrank.storage.engines import RemoteMatrix, SerialEngine


def ranking_data(*, queries=True, csr=False, **more):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(600, 6)) * (rng.random((600, 6)) < 0.7)
    y = np.round(X @ [2.0, -1.0, 0.5, 0.0, 0.0, 0.0] + rng.normal(size=600))
    qid = np.sort(rng.integers(60, size=600)) if queries else None
    return RankingData(sparse.csr_matrix(X) if csr else X, y, qid=qid, **more)


def afar(data, n_chunks, groups=None, n_threads=1):
    """Return the data in chunks that end with a query, where there are queries."""
    wanted = np.linspace(0, data.n_rows, n_chunks + 1).astype(np.int64)
    ptr = data.query_ptr if data.query_ids is not None else np.arange(data.n_rows + 1)
    bounds = np.unique(ptr[np.searchsorted(ptr, wanted)])
    engine = SerialEngine(lambda k: data.X[bounds[k] : bounds[k + 1]], n_threads, groups)
    return RemoteData.like(data, RemoteMatrix(engine, bounds, data.n_features, data.X.dtype))


GAINS = {label: max(label, 0) for label in range(-20, 21)}  # grades in the order of the labels
RANKERS = {
    "hinge": RankSVM(alpha=1e-3),
    "hinge, bundle": RankSVM(alpha=1e-3, solver="bundle", scale="standard"),
    "squared hinge": RankSVM("squared_hinge", alpha=1e-3),
    "squared hinge, newton": RankSVM("squared_hinge", alpha=1e-3, solver="newton"),
    "mean over queries": RankSVM(alpha=1e-3, weighting="queries"),
    "least squares": RankRLS(alpha=1e-3, solver="cg", scale="minmax"),
    "structured": StructuredRankSVM("ndcg", alpha=1e-2, relevance=1),
    "graded": StructuredRankSVM({"map": 1.0, "ndcg@5": 2.0}, gain=GAINS, alpha=1e-2),
    "combined": StructuredRankSVM({"map": 1.0, "mrr@3": 0.5}, alpha=1e-2, relevance=1),
}


@pytest.fixture(params=RANKERS, name="ranker")
def ranker_of_kind(request):
    return RANKERS[request.param]


@pytest.fixture(params=[True, False], ids=["queries", "global"], name="queries")
def with_queries(request):
    return request.param


@pytest.mark.parametrize("csr", [False, True], ids=["dense", "csr"])
def test_models_are_within_the_gap_of_plain_ones(ranker, queries, csr):
    data = ranking_data(queries=queries, csr=csr)
    plain, bound = ranker.fit(data).objective_, ranker.lower_bound_
    scores = ranker.predict(data)
    there = afar(data, 5)
    assert np.array_equal(ranker.predict(there), scores)
    agreement = ranker.score(data)
    assert ranker.score(there) == agreement
    ranker.fit(there)
    # Both bounds hold for both models.
    assert ranker.objective_ >= bound * (1 - 1e-12)
    assert plain >= ranker.lower_bound_ * (1 - 1e-12)
    assert ranker.objective_ - bound <= 2.5e-3 * plain
    assert ranker.n_queries_ == data.n_queries


def test_placement_and_threads_change_no_bit(ranker, queries):
    data = ranking_data(queries=queries)
    models = [
        ranker.fit(afar(data, 6, groups, n_threads)).coef_
        for n_threads in (1, 2)
        for groups in (None, [[0, 1, 2], [3, 4, 5]], [[5, 0], [3], [1, 2, 4]])
    ]
    assert all(np.array_equal(models[0], other) for other in models[1:])


def test_rows_of_zero_weight_have_no_part():
    weight = np.random.default_rng(1).integers(3, size=600).astype(float)
    data = ranking_data(sample_weight=weight)
    ranker = RankSVM(alpha=1e-3, tol=1e-6)
    plain = ranker.fit(data).objective_
    assert ranker.fit(afar(data, 5)).objective_ == pytest.approx(plain, rel=1e-6)


@pytest.mark.parametrize("kind", [RankSVM, RankRLS])
def test_alpha_is_chosen_as_from_plain_data(kind):
    data = ranking_data()
    options = {"solver": "cg"} if kind is RankRLS else {}
    ranker = kind(alpha="auto", alphas=[1e-1, 1e-3, 1e-5], cv=3, tol=1e-8, **options)
    curve = ranker.fit(data).validation_curve_
    assert np.allclose(ranker.fit(afar(data, 5)).validation_curve_, curve, rtol=1e-3)
    curve = ranker.fit(data, eval_set=data).validation_curve_
    for validation in (data, afar(data, 3)):
        found = ranker.fit(afar(data, 5), eval_set=validation).validation_curve_
        assert np.allclose(found, curve, rtol=1e-3)


def test_explicit_pairs_may_cross_chunks():
    data = ranking_data()
    pairs = np.random.default_rng(2).permutation(600).reshape(300, 2)
    data = RankingData(data.X, data.y, qid=data.qid, pairs=pairs)
    ranker = RankSVM(alpha=1e-3)
    assert np.allclose(
        ranker.fit_pairs(afar(data, 4)).coef_, ranker.fit_pairs(data).coef_, rtol=1e-6, atol=1e-9
    )


def test_what_needs_rows_in_memory_is_refused():
    there = afar(ranking_data(), 4)
    with pytest.raises(MarginRankError, match="direct solver needs the rows in memory"):
        RankRLS(solver="direct").fit(there)
    with pytest.raises(MarginRankError, match="kernel='rbf' does not train over data on"):
        KernelRankSVM(n_components=5).fit(there)
    with pytest.raises(MarginRankError, match="not normalised within queries"):
        there.normalized_by_query()


@pytest.mark.parametrize("csr", [False, True], ids=["dense", "csr"])
def test_offsets_of_columns_are_subtracted_where_the_rows_are(ranker, queries, csr):
    data = ranking_data(queries=queries)
    ids = np.zeros(600) if data.qid is None else data.qid
    signal = np.round(100 * data.X[:, 0]) / 128
    X = np.column_stack([data.X[:, 1:], 1.7e9 + signal, 1e15 + ids])
    stored = sparse.csr_matrix(X) if csr else X
    small = RankingData(np.column_stack([data.X[:, 1:], signal]), data.y, qid=data.qid)
    plain, bound = ranker.fit(small).objective_, ranker.lower_bound_
    shifted = RankingData(stored, data.y, qid=data.qid)
    coef = ranker.fit(afar(shifted, 5)).coef_
    assert coef[-1] == 0.0
    assert ranker.lower_bound_ <= plain * (1 + 1e-12)
    assert bound <= ranker.objective_ * (1 + 1e-12)
    assert np.array_equal(ranker.fit(afar(shifted, 5, [[0, 3], [1, 2, 4]], 2)).coef_, coef)
