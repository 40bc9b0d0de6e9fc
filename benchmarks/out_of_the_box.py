"""What rankers give without being tuned by hand: quality on test queries, and CPU seconds with all selection.

Every ranker of the library with alpha="auto", AutoRanker, and what people take otherwise: LightGBM as it
comes and stopped early on a validation part, XGBoost, CatBoost with QueryRMSE, and ridge regression on the
labels. Those that are not installed are said to be absent; CatBoost is no dependency of the project, so put
it into an environment of its own (``pip install --target DIR catboost``, ``PYTHONPATH=DIR``).

LETOR's five folds. What selects by cross-validation gets training and validation parts; early stopping trains
on the former and stops by the latter. Figures are means over the test queries of all folds; in brackets the
difference to the first one, plus or minus its paired standard error over queries. One thread each.

IMDB: 2,800 film reviews train as one ranking, good before bad; 5,000 others test, in 50 parts of 100 that are
taken for queries, by the area under the curve. Structured rankers are for queries, and left out.

    MARGINRANK_DATA=... python benchmarks/out_of_the_box.py
    MARGINRANK_DATA=... python benchmarks/out_of_the_box.py --sets OHSUMED --rankers AutoRanker LightGBM
"""

from __future__ import annotations

import argparse
import os
import time
import warnings
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from kernel_tables import Fold, read_folds
from marginrank import AutoRanker, KernelRankSVM, RankingData, RankRLS, RankSVM, StructuredRankSVM
from marginrank.metrics import evaluate
from results import Result, add_save_option

METRIC, OF_REVIEWS = "ndcg@10", "auc"
REVIEWS, TESTED, PART = 1400, 5000, 100
#: From a fold to scores of its test rows.
Method = Callable[[Fold], np.ndarray]


def reviews(folder: Path) -> list[Fold]:
    """Return film reviews to train on, to stop by, and to test on."""

    def some(name: str, first: int, last: int, qid: np.ndarray | None = None) -> RankingData:
        X = sparse.load_npz(folder / f"{name}.X.npz").tocsr()
        labels = np.load(folder / f"{name}.labels.npz")
        y = labels[labels.files[0]].astype(float)
        rows = np.random.default_rng(0).permutation(len(y))[first:last]
        return RankingData(X[rows], (y[rows] > y.mean()).astype(float), qid=qid)

    test = some("test", 0, TESTED, np.arange(TESTED) // PART)
    return [(some("train", 0, REVIEWS), some("train", REVIEWS, 2 * REVIEWS), test)]


def joined(fold: Fold) -> RankingData:
    """Return the rows of training and validation parts."""
    train, held = fold[:2]
    is_one = train.query_ids is None
    X = sparse.vstack([train.X, held.X]).tocsr() if is_one else np.concatenate([train.X, held.X])
    qid = None if is_one else np.concatenate([train.qid, held.qid])
    return RankingData(X, np.concatenate([train.y, held.y]), qid=qid)


def ours(make: Callable[[], Any]) -> Method:
    return lambda fold: make().fit(joined(fold)).predict(fold[2])


def sizes(data: RankingData) -> tuple[np.ndarray, np.ndarray]:
    """Return the rows with queries in a run, and the size of each."""
    if data.query_ids is None:
        return np.arange(data.n_rows), np.array([data.n_rows])
    order = np.argsort(data.qid, kind="stable")
    return order, np.unique(data.qid[order], return_counts=True)[1]


def ridge(fold: Fold) -> np.ndarray:
    from sklearn.linear_model import RidgeCV

    rows = joined(fold)
    return RidgeCV(np.logspace(-4, 4, 17)).fit(rows.X, rows.y).predict(fold[2].X)


def lightgbm(fold: Fold, *, early: bool) -> np.ndarray:
    import lightgbm as lgb

    def arguments(data: RankingData) -> tuple[Any, Any, Any]:
        order, groups = sizes(data)
        return data.X[order], data.y[order].astype(int), groups

    ranker = lgb.LGBMRanker(n_jobs=1, verbose=-1, **({"n_estimators": 1000} if early else {}))
    if not early:
        X, y, group = arguments(joined(fold))
        return ranker.fit(X, y, group=group).predict(fold[2].X)
    (X, y, group), (XV, yv, held) = arguments(fold[0]), arguments(fold[1])
    stop = [lgb.early_stopping(50, verbose=False)]
    ranker.fit(X, y, group=group, eval_set=[(XV, yv)], eval_group=[held], eval_at=[10], callbacks=stop)
    return ranker.predict(fold[2].X)


def xgboost(fold: Fold) -> np.ndarray:
    import xgboost as xgb

    rows = joined(fold)
    order, groups = sizes(rows)
    ranker = xgb.XGBRanker(objective="rank:ndcg", n_jobs=1)
    return ranker.fit(rows.X[order], rows.y[order].astype(int), group=groups).predict(fold[2].X)


def catboost(fold: Fold) -> np.ndarray:
    from catboost import CatBoostRanker, Pool

    rows = joined(fold)
    order, groups = sizes(rows)
    group = np.repeat(np.arange(len(groups)), groups)
    pool = Pool(rows.X[order], label=rows.y[order], group_id=group)
    quiet = {"verbose": False, "allow_writing_files": False}
    ranker = CatBoostRanker(loss_function="QueryRMSE", thread_count=1, **quiet)
    return np.asarray(ranker.fit(pool).predict(fold[2].X))


METHODS: dict[str, tuple[Method, str | None]] = {
    "RankRLS, leave-query-out": (ours(lambda: RankRLS("auto", cv=None, n_jobs=1)), None),
    "RankRLS": (ours(lambda: RankRLS("auto", n_jobs=1)), None),
    "AutoRanker": (ours(lambda: AutoRanker(n_jobs=1)), None),
    "KernelRankSVM, least squares": (
        ours(lambda: KernelRankSVM(loss="least_squares", alpha="auto", random_state=0, n_jobs=1)),
        None,
    ),
    "RankSVM": (ours(lambda: RankSVM(alpha="auto", n_jobs=1)), None),
    "RankSVM, squared hinge": (ours(lambda: RankSVM("squared_hinge", alpha="auto", n_jobs=1)), None),
    "RankSVM, logistic": (ours(lambda: RankSVM("logistic", alpha="auto", n_jobs=1)), None),
    "StructuredRankSVM": (ours(lambda: StructuredRankSVM(alpha="auto", n_jobs=1)), None),
    "ridge": (ridge, "sklearn"),
    "LightGBM": (lambda fold: lightgbm(fold, early=False), "lightgbm"),
    "LightGBM, stopped early": (lambda fold: lightgbm(fold, early=True), "lightgbm"),
    "XGBoost": (xgboost, "xgboost"),
    "CatBoost QueryRMSE": (catboost, "catboost"),
}


# The keys of the rows in the result files, and labels that are not the names.
KEYS = dict(
    zip(
        METHODS,
        (
            *(
                "rls-leave-query-out",
                "rls",
                "auto",
                "kernel",
                "svm",
                "svm-squared",
                "svm-logistic",
                "structured",
            ),
            *("ridge", "lightgbm", "lightgbm-stopped", "xgboost", "catboost"),
        ),
        strict=True,
    )
)
LABELS = {
    "RankRLS, leave-query-out": "`RankRLS`, `cv=None`: leave-query-out",
    "RankRLS": "`RankRLS`",
    "AutoRanker": "**`AutoRanker`**",
    "KernelRankSVM, least squares": "`KernelRankSVM`, least squares",
    "RankSVM": "`RankSVM`",
    "RankSVM, squared hinge": "`RankSVM`, squared hinge",
    "RankSVM, logistic": "`RankSVM`, logistic",
    "StructuredRankSVM": "`StructuredRankSVM`, graded NDCG@10",
    "ridge": "ridge on the labels",
    "CatBoost QueryRMSE": "CatBoost, QueryRMSE",
}


def measure(method: Method, folds: list[Fold], metric: str = METRIC) -> tuple[np.ndarray, float]:
    """Return the figure of each test query, and the CPU seconds of a fold."""
    values, began = [], time.process_time()
    for fold in folds:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of names of arguments that are about to change
            scores = method(fold)
        values.append(evaluate(fold[2].y, scores, qid=fold[2].qid, metrics=metric).per_query[metric])
    return np.concatenate(values), (time.process_time() - began) / len(folds)


def is_meant(name: str, data: str) -> bool:
    """Whether a method takes rows of this set: those for queries take no single ranking."""
    return data != "IMDB" or not name.startswith(("Structured", "RankRLS, leave"))


def columns_of(sets: list[str]) -> dict[str, str]:
    """Return what pages show: a column for each set, and the seconds of all."""
    figure = "[[{SET:.4f}]][[ ({SET_difference:+.4f} +- {SET_error:.4f})]]"
    columns = {name: figure.replace("SET", name.lower()) for name in sets}
    seconds = "".join(f"[[{', ' if k else ''}{{{name.lower()}_seconds:.2g}}]]" for k, name in enumerate(sets))
    return {"": "{label}", **columns, "seconds": seconds}


def compare(folder: Path, names: list[str], result: Result) -> None:
    is_text = folder.name == "IMDB"
    folds, metric = (reviews(folder), OF_REVIEWS) if is_text else (read_folds(folder), METRIC)
    names = [name for name in names if is_meant(name, folder.name)]
    print(f"{folder.name}: {metric}, difference to the first, CPU seconds a fold")
    base: np.ndarray | None = None
    for name in names:
        method, library = METHODS[name]
        if library is not None and find_spec(library) is None:
            print(f"  {name:<30}absent: {library} is not installed")
            continue
        values, seconds = measure(method, folds, metric)
        base = values if base is None else base
        difference = (values - base)[~np.isnan(values)]
        error = difference.std(ddof=1) / np.sqrt(len(difference))
        figures = f"{np.nanmean(values):.4f} ({difference.mean():+.4f} +- {error:.4f})"
        print(f"  {name:<30}{figures}{seconds:>9.2f}", flush=True)
        field = folder.name.lower()
        row = result.rows.get(KEYS[name], {}) | {"label": LABELS.get(name, name)}
        row |= {field: float(np.nanmean(values)), f"{field}_seconds": seconds}
        if name != names[0]:
            row |= {f"{field}_difference": float(difference.mean()), f"{field}_error": float(error)}
        result.add(KEYS[name], **row)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sets", nargs="+", default=["MQ2008", "OHSUMED", "ClueWeb09", "IMDB"])
    parser.add_argument("--rankers", nargs="+", default=list(METHODS), choices=list(METHODS))
    add_save_option(parser)
    options = parser.parse_args()
    data = os.environ.get("MARGINRANK_DATA")
    if data is None:
        raise SystemExit("Set MARGINRANK_DATA to a folder with LETOR data sets.")
    names = [name for name in METHODS if name == "RankRLS" or name in options.rankers]
    letor = [name for name in options.sets if name != "IMDB"]
    note = "CPU seconds of a fold, one thread."
    result, text = (
        Result("out-of-the-box", columns_of(letor), note),
        Result("out-of-the-box-text", columns_of(["IMDB"]), note),
    )
    for name in options.sets:
        compare(Path(data) / name, names, text if name == "IMDB" else result)
    if options.save:
        if letor:
            result.save()
        if "IMDB" in options.sets:
            text.save()


if __name__ == "__main__":
    main()
