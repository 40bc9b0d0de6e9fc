"""Flavors give the figures of the tools they are named after, on lists with ties and empty queries."""

import numpy as np
import pytest
from scipy import stats
from sklearn import metrics as sk

from marginrank.metrics import evaluate

# The tools add up in another order, and xgboost rounds gains or means to float32 here and there.
DOUBLE, SINGLE = 1e-12, 2e-6
CUTOFFS = (1, 3, 5, 20)


def random_lists(seed, *, binary=False, n_queries=40):
    """Return lists of 1 to 15 rows, every seventh without a relevant row; small integers as scores."""
    rng = np.random.default_rng(seed)
    sizes = rng.integers(1, 16, n_queries)
    sizes[0] = 1
    qid = np.repeat(np.arange(n_queries), sizes)
    y = rng.choice(2 if binary else 5, len(qid)).astype(np.float64)
    y[qid % 7 == 3] = 0
    scores = rng.integers(-3, 4, len(qid)).astype(np.float64)
    return y, scores, qid, sizes


def queries(y, scores, qid):
    for query in np.unique(qid):
        yield y[qid == query], scores[qid == query]


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("k", [None, *CUTOFFS])
@pytest.mark.parametrize("name", ["ndcg", "dcg"])
def test_sklearn_gains(seed, k, name):
    y, scores, qid, _ = random_lists(seed)
    text = name if k is None else f"{name}@{k}"
    result = evaluate(y, scores, qid=qid, metrics=[text], flavor="sklearn")
    of_list = {"ndcg": sk.ndcg_score, "dcg": sk.dcg_score}[name]
    want = []
    for labels, values in queries(y, scores, qid):
        if len(labels) == 1:  # ndcg_score refuses a single row; by its definition it is 1 or 0
            value = float(labels[0] > 0) if name == "ndcg" else labels[0]
        else:
            value = of_list([labels], [values], k=k)
        want.append(value)
    np.testing.assert_allclose(result.per_query[text], want, rtol=0, atol=DOUBLE)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.filterwarnings("ignore:No positive class found in y_true")
def test_sklearn_average_precision(seed):
    y, scores, qid, _ = random_lists(seed, binary=True)
    result = evaluate(y, scores, qid=qid, metrics=["map"], flavor="sklearn")
    want = [sk.average_precision_score(*query) for query in queries(y, scores, qid)]
    np.testing.assert_allclose(result.per_query["map"], want, rtol=0, atol=DOUBLE)


@pytest.mark.parametrize("seed", range(3))
def test_sklearn_auc_and_scipy_kendall(seed):
    y, scores, qid, _ = random_lists(seed)
    result = evaluate(y, scores, qid=qid, metrics=["auc(rel=2)", "kendall"], flavor="sklearn")
    auc, tau = [], []
    for labels, values in queries(y, scores, qid):
        mixed = 0 < np.sum(labels >= 2) < len(labels)
        auc.append(sk.roc_auc_score(labels >= 2, values) if mixed else np.nan)
        if len(np.unique(labels)) == 1:
            tau.append(np.nan)
        else:
            tau.append(stats.kendalltau(labels, values)[0] if np.ptp(values) > 0 else 0.0)
    np.testing.assert_allclose(result.per_query["auc(rel=2)"], auc, rtol=0, atol=DOUBLE)
    np.testing.assert_allclose(result.per_query["kendall"], tau, rtol=0, atol=DOUBLE)
    assert result["auc(rel=2)"] == pytest.approx(np.nanmean(auc), abs=DOUBLE)


@pytest.mark.parametrize("seed", range(3))
def test_trec(seed):
    measures = pytest.importorskip("ir_measures")
    y, scores, qid, _ = random_lists(seed)
    docid = [f"doc{number}" for number in np.random.default_rng(seed).permutation(len(y))]
    qrels = [measures.Qrel(str(q), d, int(label)) for q, d, label in zip(qid, docid, y, strict=True)]
    run = [measures.ScoredDoc(str(q), d, s) for q, d, s in zip(qid, docid, scores, strict=True)]
    # Not parse_measure, which uses what Python 3.12 deprecates.
    theirs = {name: getattr(measures, name) for name in ("nDCG", "AP", "RR")}
    theirs["AP(rel=2)"] = measures.AP(rel=2)
    theirs |= {f"{m}@{k}": getattr(measures, m) @ k for m in ("nDCG", "P", "R", "AP") for k in CUTOFFS}
    names = list(theirs)
    result = evaluate(y, scores, qid=qid, docid=docid, metrics=names, flavor="trec")
    want = {name: np.zeros(result.n_queries) for name in names}
    for value in measures.iter_calc(theirs.values(), qrels, run):
        name = next(name for name in names if theirs[name] == value.measure)
        want[name][int(value.query_id)] = value.value
    for name, values in zip(result, want.values(), strict=True):
        np.testing.assert_allclose(result.per_query[name], values, rtol=0, atol=DOUBLE, err_msg=name)


def lightgbm_figures(y, scores, sizes, metric, k):
    lightgbm = pytest.importorskip("lightgbm")
    X = np.arange(float(len(y))).reshape(-1, 1)
    params = {
        "objective": "lambdarank",
        "metric": metric,
        "eval_at": list(k),
        "verbose": -1,
        "num_threads": 1,
    }
    data = lightgbm.Dataset(X, y, group=sizes, init_score=scores, params={"verbose": -1}).construct()
    booster = lightgbm.Booster(params, data)
    return {name: value for _, name, value, _ in booster.eval_train()}


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("name", ["ndcg", "map"])
def test_lightgbm(seed, name):
    y, scores, qid, sizes = random_lists(seed)
    figures = lightgbm_figures(y, scores, sizes, name, CUTOFFS)
    result = evaluate(y, scores, qid=qid, metrics=[f"{name}@{k}" for k in CUTOFFS], flavor="lightgbm")
    assert dict(result) == pytest.approx(figures, abs=1e-7)


def xgboost_figures(y, scores, sizes, names):
    xgboost = pytest.importorskip("xgboost")
    data = xgboost.DMatrix(np.zeros((len(y), 1)), label=y)
    data.set_group(sizes)
    data.set_base_margin(scores)
    params = {"objective": "rank:pairwise", "eval_metric": names, "base_score": 0.0, "nthread": 1}
    booster = xgboost.train(params, data, num_boost_round=0)
    shown = booster.eval_set([(data, "x")]).split("\t")[1:]
    return {name.removeprefix("x-"): float(value) for name, value in (part.split(":") for part in shown)}


@pytest.mark.parametrize("seed", range(3))
def test_xgboost_graded(seed):
    y, scores, qid, sizes = random_lists(seed)
    names = ["ndcg", *(f"ndcg@{k}" for k in CUTOFFS)]
    figures = xgboost_figures(y, scores, sizes, names)
    result = evaluate(y, scores, qid=qid, metrics=names, flavor="xgboost")
    assert dict(result) == pytest.approx({name: figures[name] for name in names}, abs=SINGLE)


@pytest.mark.parametrize("seed", range(3))
def test_xgboost_binary(seed):
    y, scores, qid, sizes = random_lists(seed, binary=True)
    # Not auc: xgboost counts pairs of equal labels too, by their order in the file.
    names = ["map", *(f"{name}@{k}" for name in ("map", "pre") for k in CUTOFFS)]
    figures = xgboost_figures(y, scores, sizes, names)
    result = evaluate(y, scores, qid=qid, metrics=names, flavor="xgboost")
    for name in names:
        assert result[name] == pytest.approx(figures[name], abs=SINGLE), name


# By catboost.utils.eval_metric of CatBoost 1.2.10 on the lists of seeds 0 to 2, means over queries: NDCG,
# NDCG:top=3, NDCG:top=5;type=Exp, DCG:top=5; of labels of at least 1, with border=0.5: MAP, MAP:top=3,
# MRR:top=5, PrecisionAt:top=5, RecallAt:top=5.
CATBOOST = {
    "ndcg": (0.8656000089, 0.8608638667, 0.8419686254),
    "ndcg@3": (0.7300335235, 0.7093194793, 0.6769336442),
    "ndcg(gain=exponential)@5": (0.6994326812, 0.7248064806, 0.6593601086),
    "dcg@5": (4.4485920476, 4.5120256588, 4.4299719951),
    "map": (0.7421844396, 0.7139019226, 0.7304272848),
    "map@3": (0.6833333333, 0.6541666667, 0.6736111111),
    "mrr@5": (0.7166666667, 0.7208333333, 0.7541666667),
    "precision@5": (0.73, 0.6891666667, 0.7070833333),
    "recall@5": (0.7203607504, 0.7919884282, 0.7451991064),
}


@pytest.mark.parametrize("seed", range(3))
def test_catboost(seed):
    y, scores, qid, _ = random_lists(seed)
    result = evaluate(y, scores, qid=qid, metrics=list(CATBOOST), flavor="catboost")
    for name, figures in CATBOOST.items():
        assert result[name] == pytest.approx(figures[seed], abs=1e-9), name


@pytest.mark.parametrize("seed", range(3))
def test_scipy_spearman_and_ir_measures_success_and_rprec(seed):
    measures = pytest.importorskip("ir_measures")
    y, scores, qid, _ = random_lists(seed)
    distinct = scores + 1e-3 * np.random.default_rng(seed).permutation(len(y))
    result = evaluate(y, scores, qid=qid, metrics=["spearman"])
    rho = [
        np.nan if np.ptp(a) == 0 else 0.0 if np.ptp(b) == 0 else stats.spearmanr(a, b)[0]
        for a, b in queries(y, scores, qid)
    ]
    np.testing.assert_allclose(result.per_query["spearman"], rho, rtol=0, atol=DOUBLE)
    qrels = [
        measures.Qrel(str(q), str(k), int(label)) for k, (q, label) in enumerate(zip(qid, y, strict=True))
    ]
    run = [measures.ScoredDoc(str(q), str(k), s) for k, (q, s) in enumerate(zip(qid, distinct, strict=True))]
    theirs = {
        "hit@3": measures.Success @ 3,
        "r_precision(rel=2)": measures.Rprec(rel=2),
    }
    figures = measures.calc_aggregate(list(theirs.values()), qrels, run)
    mine = evaluate(y, distinct, qid=qid, metrics=list(theirs))
    for name, measure in theirs.items():
        assert mine[name] == pytest.approx(figures[measure], abs=DOUBLE), name


@pytest.mark.parametrize(
    ("flavor", "value"),
    [("standard", 0), ("sklearn", 0), ("trec", 0), ("lightgbm", 1), ("xgboost", 1), ("catboost", 1)],
)
def test_queries_without_relevant_rows_count_as_in_the_tool(flavor, value):
    result = evaluate([0, 0, 1], [1.0, 2.0, 3.0], qid=[1, 1, 2], docid=["a", "b", "c"], flavor=flavor)
    assert result.per_query["ndcg@10"].tolist() == [value, 1.0]
    assert (result.n_empty, result.n_tied) == (1, 0)
