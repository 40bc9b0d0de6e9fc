"""A valid call of every public name: what wrong values are put into, one parameter at a time.

``calls`` has an entry for each public function, constructor and method that ``public_names`` finds. An entry
is called with keywords, so that each parameter can be replaced. What callers do not call themselves stands in
``NOT_CALLED``, with the reason.
"""

from __future__ import annotations

import importlib
import inspect
import io
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import marginrank
from marginrank import (
    FourierFeatures,
    NystroemFeatures,
    calibrate,
    calibration,
    clicks,
    comparison,
    datasets,
    feature_maps,
    inspection,
    intervals,
    judging,
    metrics,
    model,
    model_selection,
    report,
)
from marginrank import io as mio
from marginrank import regularization as reg
from marginrank.distributed import DaskRanker
from marginrank.estimators import AutoRanker, KernelRankSVM, RankRLS, RankSVM, StructuredRankSVM

MODULES = sorted(marginrank._MODULES - {"exceptions"})
N = 12
X = np.random.default_rng(0).normal(size=(N, 2))
Y = np.array([0.0, 1.0, 2.0] * 4)
QID = np.repeat([1, 2, 3], 4)
PAIRS = np.array([[1, 0], [2, 1], [5, 4], [10, 9]])
SCORES = X[:, 0].copy()
MANY = np.random.default_rng(1).normal(size=(100, 2))
CLICKS, POSITIONS = np.array([1.0, 0.0, 1.0, 0.0] * 3), np.tile([1, 2, 3, 4], 3)
DATA = marginrank.RankingData(X, Y, qid=QID)
PAIRED = marginrank.RankingData(X, pairs=PAIRS)
LETOR = b"1 qid:1 1:0.5 2:1 # docid = a\n0 qid:1 1:0.25 # docid = b\n2 qid:2 2:3\n0 qid:2 1:1\n"


#: What callers do not call themselves, or not without a cluster, and so is not called here.
NOT_CALLED = {
    "made by the library": (
        *("ColumnStatistics", "ColumnStatistics.widened"),
        *(
            "explanation.FeatureWeights",
            "explanation.PairExplanation",
            "explanation.PermutationImportance",
            "explanation.RowExplanations",
        ),
        "intervals.CoefficientIntervals",
        "judging.SuggestedPairs",
        *("export.CheckedRows", "export.Export", "export.ExportCheck"),
        *(
            "comparison.Comparison",
            "comparison.MetricComparison",
            "comparison.QueryChange",
            "data.TrainingPairs",
            "clicks.InversePropensity",
            "datasets.ClickLog",
            "datasets.Sample",
        ),
        *(
            "data.TrainingView",
            "inspection.Inspection",
            "io.Format",
            "io.Judgements",
            "io.Pairs",
            "io.Qrels",
            "io.Run",
        ),
        *(
            "metrics.Evaluation",
            "model_selection.LearningCurve",
            "model_selection.Selection",
            "paths.KernelRankPath",
            "paths.LeastSquaresPath",
        ),
        *("paths.ChosenFeatures", "paths.HeldOutCurve"),
        *("paths.LinearPathProgress", "paths.LinearRankPath", "paths.PathProgress", "paths.PathSelection"),
        *("paths.FeatureChange", "paths.SolvedRankPath"),
    ),
    "called by the library with what it has checked": (
        *("data.check_data", "export.export_model", "model_selection.Search.select_so_far"),
        *("DiskDataset.in_original_order", "DiskDataset.training_pairs", "DiskDataset.training_view"),
        *("RankingData.in_original_order", "RankingData.training_pairs", "RankingData.training_view"),
        *(
            "metrics.Evaluator",
            "metrics.Evaluator.means",
            "metrics.Evaluator.means_of",
            "metrics.Evaluator.measure",
            "metrics.Metric.spell",
        ),
        *("model.model_matrix", "model.unknown_columns", "model_selection.Search.best_of"),
        *("model_selection.Search.evaluator", "model_selection.Search.pair_folds"),
        *("model_selection.Search.query_folds", "model_selection.Search.select"),
    ),
    "the base of the feature maps": (
        "feature_maps.FeatureMap.block_map",
        "feature_maps.FeatureMap.from_state",
        "feature_maps.FeatureMap.transform",
    ),
    "needs a cluster": (
        *("distributed.DaskEngine", "distributed.DaskEngine.gather", "distributed.DaskEngine.prepare"),
        *("distributed.DaskEngine.together", "distributed.DaskEngine.tree_sum"),
        *("distributed.DaskRanker.evaluate", "distributed.DaskRanker.fit"),
        *(
            "distributed.DaskRanker.fit_pairs",
            "distributed.DaskRanker.predict",
            "distributed.DaskRanker.score",
        ),
        "distributed.RemoteData",
        *("distributed.RemoteData.in_original_order", "distributed.RemoteData.like"),
        *("distributed.RemoteData.subset", "distributed.RemoteData.through"),
        *("distributed.RemoteData.training_pairs", "distributed.RemoteData.training_view"),
        "distributed.predict",
    ),
}


class Call(NamedTuple):
    """A function, and keywords with which it works."""

    function: Callable[..., Any]
    valid: dict[str, Any]
    about: tuple[str, ...] | None = None  # the parameters that this call is for, where another has the rest


def public_names() -> Iterator[tuple[str, Any]]:
    """Yield the public functions, constructors and methods, each under its first name."""
    seen: set[int] = set()
    homes = [("marginrank", marginrank, marginrank.__all__)]
    for name in MODULES:
        module = importlib.import_module(f"marginrank.{name}")
        homes.append((name, module, _exported(module)))
    for home, module, names in homes:
        for name in names:
            value = getattr(module, name)
            if id(value) in seen or not callable(value):
                continue
            if inspect.isclass(value) and issubclass(value, BaseException):
                continue
            seen.add(id(value))
            prefix = name if home == "marginrank" else f"{home}.{name}"
            yield prefix, value
            if inspect.isclass(value):
                for method, function in _methods(value):
                    yield f"{prefix}.{method}", function


def _exported(module: Any) -> list[str]:
    given = getattr(module, "__all__", None)
    if given is not None:
        return list(given)
    return [
        name
        for name, value in vars(module).items()
        if not name.startswith("_") and getattr(value, "__module__", None) == module.__name__
    ]


def _methods(cls: type) -> Iterator[tuple[str, Any]]:
    for name in dir(cls):
        function = inspect.getattr_static(cls, name)
        if isinstance(function, classmethod | staticmethod):
            function = function.__func__
        if name.startswith("_") or not inspect.isfunction(function):
            continue
        if (function.__module__ or "").startswith("marginrank"):
            yield name, getattr(cls, name)


def parameters_of(function: Any) -> list[str]:
    """Return the parameters that a caller may pass by name."""
    kinds = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
    found = inspect.signature(function).parameters.values()
    return [one.name for one in found if one.kind in kinds and one.name not in ("self", "cls")]


RANKERS = {
    "RankSVM": (RankSVM, {"alpha": 0.1}),
    "RankRLS": (RankRLS, {"alpha": 0.1}),
    "StructuredRankSVM": (StructuredRankSVM, {"alpha": 0.1}),
    "KernelRankSVM": (KernelRankSVM, {"alpha": 0.1, "n_components": 4, "random_state": 0}),
}
LABELLED = {"X": X, "y": Y, "qid": QID}


def _fitted(cls: type, **parameters: Any) -> Any:
    return cls(**parameters).fit(**LABELLED)


def _report_arguments(folder: Path) -> dict[str, Any]:
    """Return a small report of everything."""
    rows = dict.fromkeys(("train", "test", "validation"), DATA)
    return {"file": folder / "r.html", "models": {"a": SCORES}, **rows, "path": None, "n_resamples": 99}


def _ranker_calls() -> dict[str, list[Call]]:
    calls: dict[str, list[Call]] = {}
    for name, (cls, given) in RANKERS.items():
        given = {**given, "cv": 2}
        search = {**given, "alpha": "auto", "alphas": [1.0, 0.1]}
        about = ("alpha", "alphas", "metric", "cv", "rule", "tol", "max_iter")
        calls[name] = [Call(partial(_fitted, cls), given), Call(partial(_fitted, cls), search, about)]
        fitted = _fitted(cls, **given)
        calls[f"{name}.fit"] = [
            Call(lambda cls=cls, given=given, **k: cls(**given).fit(**k), dict(LABELLED)),
            Call(
                lambda cls=cls, given=given, **k: cls(**{**given, "alpha": "auto", "alphas": [1.0, 0.1]}).fit(
                    **k
                ),
                {**LABELLED, "eval_set": (X, Y), "eval_qid": QID, "eval_metric": "ndcg@3"},
            ),
        ]
        calls[f"{name}.predict"] = [Call(fitted.predict, {"X": X})]
        calls[f"{name}.score"] = [Call(fitted.score, dict(LABELLED))]
        calls[f"{name}.to_model"] = [Call(fitted.to_model, {})]
        calls[f"{name}.save"] = [Call(fitted.save, {"file": io.BytesIO()})]
        if hasattr(cls, "fit_pairs"):
            calls[f"{name}.fit_pairs"] = [
                Call(lambda cls=cls, given=given, **k: cls(**given).fit_pairs(**k), {"X": X, "pairs": PAIRS})
            ]
    kernel = {"alpha": 0.1, "n_components": 4, "random_state": 0, "loss": "hinge", "cv": 2}
    for extra, about in (
        (
            {"approximation": "fourier"},
            ("kernel", "gamma", "n_components", "orthogonal", "random_state", "dtype"),
        ),
        ({"approximation": "exact"}, ("kernel", "gamma", "n_components", "alpha", "store")),
        ({"kernel": "polynomial"}, ("gamma", "degree", "coef0", "landmarks")),
        ({"gamma": "auto", "gammas": [0.5]}, ("kernel", "gammas", "alpha", "scale")),
        ({"landmarks": "kmeans++", "scale": "standard"}, ("landmarks", "scale")),
    ):
        calls["KernelRankSVM"].append(Call(partial(_fitted, KernelRankSVM), {**kernel, **extra}, about))
    calls["StructuredRankSVM"].append(
        Call(
            partial(_fitted, StructuredRankSVM),
            {"target": "map", "relevance": 1, "alpha": 0.1, "cv": 2},
            ("target", "relevance"),
        )
    )
    calls["StructuredRankSVM"].append(
        Call(
            partial(_fitted, StructuredRankSVM),
            {"gain": dict.fromkeys(range(10), 1.0) | {0: 0.0}, "alpha": 0.1, "cv": 2},
            ("gain", "relevance", "target"),
        )
    )
    auto = {"cv": 2, "candidates": ["rankrls", RankSVM(alpha=0.1)]}
    best = _fitted(AutoRanker, **auto)
    calls["AutoRanker"] = [
        Call(partial(_fitted, AutoRanker), auto),
        Call(partial(_fitted, AutoRanker), {"cv": 2, "budget": 60.0}, ("budget", "metric", "random_state")),
    ]
    calls["AutoRanker.fit"] = [Call(lambda **k: AutoRanker(**auto).fit(**k), dict(LABELLED))]
    calls["AutoRanker.predict"] = [Call(best.predict, {"X": X})]
    calls["AutoRanker.score"] = [Call(best.score, dict(LABELLED))]
    calls["AutoRanker.to_model"] = [Call(best.to_model, {})]
    calls["AutoRanker.save"] = [Call(best.save, {"file": io.BytesIO()})]
    calls["RankRLS"].append(
        Call(partial(_fitted, RankRLS), {"solver": "cg", "max_iter": 5, "tol": 0.1, "cv": 2})
    )
    return calls


def _map_calls() -> dict[str, list[Call]]:
    calls: dict[str, list[Call]] = {}
    for name, cls in (("FourierFeatures", FourierFeatures), ("NystroemFeatures", NystroemFeatures)):
        given = {"n_components": 4, "random_state": 0}
        fitted = cls(**given).fit(X)
        header, arrays = fitted.to_state()
        calls[name] = [Call(lambda cls=cls, **k: cls(**k).fit_transform(X), given)]
        calls[f"{name}.fit"] = [Call(lambda cls=cls, given=given, **k: cls(**given).fit(**k), {"X": X})]
        calls[f"{name}.transform"] = [Call(fitted.transform, {"X": X})]
        calls[f"{name}.block_map"] = [Call(fitted.block_map, {"dtype": "float64"})]
        calls[f"{name}.from_state"] = [Call(cls.from_state, {"header": header, "arrays": arrays})]
        calls["feature_maps.map_from_state"] = [
            Call(feature_maps.map_from_state, {"header": header, "arrays": arrays})
        ]
    polynomial = {"kernel": "polynomial", "n_components": 4, "random_state": 0, "landmarks": "leverage"}
    calls["NystroemFeatures"].append(
        Call(
            lambda **k: NystroemFeatures(**k).fit_transform(X),
            polynomial,
            ("gamma", "degree", "coef0", "landmarks", "rank"),
        )
    )
    return calls


def _data_calls() -> dict[str, list[Call]]:
    return {
        "RankingData": [
            Call(marginrank.RankingData, dict(LABELLED)),
            Call(marginrank.RankingData, {"X": X, "pairs": PAIRS}),
        ],
        "RankingData.subset": [Call(DATA.subset, {"rows": [0, 1]}), Call(PAIRED.subset, {"rows": [0, 1]})],
        "inverse_propensity": [
            Call(
                clicks.inverse_propensity, {"clicks": CLICKS, "positions": POSITIONS, "X": X, "max_iter": 5}
            ),
            Call(
                clicks.inverse_propensity,
                {
                    "clicks": CLICKS,
                    "positions": POSITIONS,
                    "method": "given",
                    "propensities": [1.0, 0.5, 0.3, 0.2],
                },
                ("method", "propensities", "clip"),
            ),
            Call(
                clicks.inverse_propensity,
                {"clicks": CLICKS, "positions": POSITIONS, "items": np.arange(N), "max_iter": 5},
                ("items",),
            ),
        ],
        "clicks.skip_above_pairs": [
            Call(clicks.skip_above_pairs, {"clicks": CLICKS, "positions": POSITIONS, "qid": QID})
        ],
        "datasets.make_clicks": [Call(datasets.make_clicks, {"y": Y, "scores": SCORES, "qid": QID})],
        "datasets.make_ranking": [
            Call(datasets.make_ranking, {"n_queries": 3, "rows_per_query": 4, "n_features": 7})
        ],
        "inspection.inspect": [Call(inspection.inspect, {"data": DATA})],
    }


def _path_calls() -> dict[str, list[Call]]:
    short = {**LABELLED, "alpha_min": 0.01}
    functions = {
        "rank_path": (marginrank.rank_path, {**short, "eps": 0.1}),
        "rank_rls_path": (marginrank.rank_rls_path, {**short, "eps": 0.1}),
        "structured_rank_path": (marginrank.structured_rank_path, {**short, "eps": 0.1}),
        "kernel_rank_path": (marginrank.kernel_rank_path, short),
    }
    calls = {name: [Call(function, valid)] for name, (function, valid) in functions.items()}
    calls["kernel_rank_path"].append(
        Call(marginrank.kernel_rank_path, {**short, "kernel": "polynomial", "graph": "sampled"})
    )
    calls["rank_rls_path"].append(
        Call(marginrank.rank_rls_path, {**short, "eps": 0.1, "solver": "certified"})
    )
    solved = {**short, "alpha_max": 1.0, "eps": 0.1, "l1_ratio": 0.5, "bounds": (-9, None), "n_alphas": 4}
    calls["rank_path"].append(Call(marginrank.rank_path, solved))
    calls["structured_rank_path"].append(Call(marginrank.structured_rank_path, solved))
    for name, function, more in (
        ("KernelRankPath", "kernel_rank_path", {}),
        ("LeastSquaresPath", "rank_rls_path", {}),
        ("SolvedRankPath", "rank_path", solved),
        ("LinearRankPath", "rank_path", {}),
    ):
        make, valid = functions[function]
        path = make(**{**valid, **more})
        alpha = float(path.grid(3)[1])
        for method in ("coef_at", "duals_at", "gap_at", "objective_at", "scores_at"):
            if hasattr(path, method):
                calls[f"paths.{name}.{method}"] = [Call(getattr(path, method), {"alpha": alpha})]
        if hasattr(path, "nearest"):
            calls[f"paths.{name}.nearest"] = [Call(path.nearest, {"alpha": alpha})]
        if hasattr(path, "coefs_at"):
            calls[f"paths.{name}.coefs_at"] = [Call(path.coefs_at, {"alphas": [alpha]})]
        calls[f"paths.{name}.grid"] = [Call(path.grid, {})]
        calls[f"paths.{name}.predict"] = [Call(path.predict, {"X": X, "alpha": alpha})]
        calls[f"paths.{name}.plot"] = [Call(lambda path=path, **k: _closed(path.plot(**k)), {})]
        calls[f"paths.{name}.select"] = [Call(path.select, {**LABELLED, "n_alphas": 3})]
        calls[f"paths.{name}.to_model"] = [Call(path.to_model, {"alpha": alpha})]
    chosen = path.select(X, Y, qid=QID, n_alphas=3)
    calls["paths.PathSelection.to_model"] = [Call(chosen.to_model, {})]
    calls |= _selection_calls()
    return calls


def _selection_calls() -> dict[str, list[Call]]:
    valid = {**LABELLED, "n_features": 2}
    chosen = marginrank.rank_rls_selection(**valid)
    one_ranking = {"X": X, "y": Y, "n_features": 1}
    return {
        "rank_rls_selection": [
            Call(marginrank.rank_rls_selection, valid),
            Call(marginrank.rank_rls_selection, one_ranking, about=("n_features", "metric", "sample_weight")),
        ],
        "paths.ChosenFeatures.model": [Call(chosen.model, {"k": 1})],
        "paths.ChosenFeatures.n_best": [Call(chosen.n_best, {})],
        "paths.ChosenFeatures.plot": [Call(lambda **k: _closed(chosen.plot(**k)), {})],
    }


def _closed(drawn: Any) -> None:
    from matplotlib import pyplot

    pyplot.close("all")


def _explanation_calls(found: marginrank.RankingModel) -> dict[str, list[Call]]:
    by_query = marginrank.RankingModel([1.0, -1.0], query_normalization="minmax")
    importance = {"data": DATA, "n_repeats": 1}
    explained = {
        "PairExplanation": found.explain_pair(X[0], X[1]),
        "RowExplanations": found.explain(X),
        "FeatureWeights": found.feature_weights(),
        "PermutationImportance": found.permutation_importance(**importance),
    }
    calls = {
        f"explanation.{name}.plot": [Call(lambda one=one, **k: _closed(one.plot(**k)), {})]
        for name, one in explained.items()
    }
    for name, one in explained.items():
        calls[f"explanation.{name}.table"] = [Call(one.table, {})]
    pair = explained["PairExplanation"]
    return calls | {
        "explanation.PairExplanation.largest": [Call(pair.largest, {})],
        "RankingModel.explain": [Call(found.explain, {"X": X, "qid": QID})],
        "RankingModel.explain_pair": [
            Call(found.explain_pair, {"a": X[0], "b": X[1]}),
            Call(by_query.explain_pair, {"a": X[0], "b": X[1], "within": X}, ("within",)),
        ],
        "RankingModel.far_columns": [Call(found.far_columns, {"X": X})],
        "RankingModel.permutation_importance": [Call(found.permutation_importance, importance)],
    }


def _model_calls(folder: Path) -> dict[str, list[Call]]:
    ranker = _fitted(RankSVM, alpha=0.1)
    found = ranker.to_model()
    file = folder / "model.mrk"
    found.save(file)
    calibrated = calibrate(found, MANY, MANY[:, 0], group=[20] * 5)
    return {
        "RankingModel": [Call(marginrank.RankingModel, {"coef": [1.0, 2.0]})],
        **_explanation_calls(found),
        "RankingModel.export": [
            Call(found.export, {"target": "json", "file": folder / "export.json", "check": DATA}),
            Call(
                found.export,
                {"target": "solr", "file": folder / "solr.json"},
                ("names", "model_name", "feature_set", "normalizers"),
            ),
            Call(found.export, {"target": "onnx", "file": folder / "export.onnx"}, ("dtype",)),
            Call(found.export, {"target": "sql", "file": folder / "export.sql"}, ("table", "qid_column")),
        ],
        "RankingModel.from_estimator": [Call(marginrank.RankingModel.from_estimator, {"estimator": ranker})],
        "RankingModel.from_weights": [
            Call(marginrank.RankingModel.from_weights, {"source": b"1:0.5 2:-1\n", "program": "ranklib"})
        ],
        "RankingModel.load": [Call(marginrank.RankingModel.load, {"file": file})],
        "RankingModel.probability": [Call(calibrated.probability, {"a": X, "b": X[::-1]})],
        "calibrate": [
            Call(calibrate, {"model": ranker, "X": MANY, "y": MANY[:, 0], "group": [20] * 5}),
            Call(calibrate, {"model": ranker, "X": MANY, "y": MANY[:, 0], "group": [20] * 5, "cv": 2}),
        ],
        "calibration.PairCalibration": [
            Call(calibration.PairCalibration, {"differences": [1.0], "probabilities": [0.75], "n_pairs": 60})
        ],
        "calibration.PairCalibration.probability": [
            Call(calibrated.calibration.probability, {"difference": [1.0]})
        ],
        "RankingModel.predict": [Call(found.predict, {"X": X})],
        "RankingModel.save": [Call(found.save, {"file": folder / "again.mrk"})],
        "model.align_width": [Call(model.align_width, {"X": X, "n_features": 2})],
    }


def _metric_calls() -> dict[str, list[Call]]:
    scored = {"y": Y, "scores": SCORES, "qid": QID}
    two = {"y": Y, "scores_a": SCORES, "scores_b": SCORES[::-1].copy(), "qid": QID, "n_resamples": 9}
    compared = comparison.compare(**two)
    return {
        "comparison.compare": [Call(comparison.compare, two)],
        "comparison.Comparison.most_changed": [Call(compared.most_changed, {})],
        "comparison.Comparison.differences": [Call(compared.differences, {})],
        "comparison.Comparison.plot": [Call(lambda **k: _closed(compared.plot(**k)), {})],
        "metrics.Metric": [
            Call(metrics.Metric, {"name": "ndcg"}),
            Call(metrics.Metric, {"name": "map"}),
            Call(metrics.Metric, {"name": "err"}),
        ],
        "metrics.evaluate": [Call(metrics.evaluate, scored)],
        "metrics.pairwise_error": [Call(metrics.pairwise_error, scored)],
        "metrics.parse_metric": [Call(metrics.parse_metric, {"text": "ndcg@10"})],
        "model_selection.Search": [Call(model_selection.Search, {})],
        "model_selection.check_alphas": [Call(model_selection.check_alphas, {"alphas": [1.0]})],
        "model_selection.default_alphas": [Call(model_selection.default_alphas, {"scale": 1.0})],
        "model_selection.learning_curve": [
            Call(
                model_selection.learning_curve,
                {"ranker": RankRLS(), "data": DATA, "cv": 2, "sizes": [1]},
            )
        ],
        **_split_calls(),
        "ranking_scorer": [Call(marginrank.ranking_scorer, {"metric": "ndcg@10"})],
        "regularization.alpha_from": [
            Call(reg.alpha_from, {"name": "svmrank", "value": 1.0, "n_pairs": 9, "n_queries": 3, "n_rows": 9})
        ],
        "regularization.alpha_to": [
            Call(reg.alpha_to, {"name": "svmrank", "alpha": 1.0, "n_pairs": 9, "n_queries": 3, "n_rows": 9})
        ],
    }


def _split_calls() -> dict[str, list[Call]]:
    calls: dict[str, list[Call]] = {}
    for cls in (marginrank.QueryKFold, marginrank.QueryShuffleSplit):
        name, splitter = cls.__name__, cls(2)
        calls[name] = [Call(lambda cls=cls, **k: list(cls(**k).split(X, groups=QID)), {"n_splits": 2})]
        calls[f"{name}.split"] = [
            Call(lambda splitter=splitter, **k: list(splitter.split(**k)), {"X": X, "groups": QID}),
            Call(lambda splitter=splitter, **k: list(splitter.split(**k)), {"X": X, "qid": QID}, ("qid",)),
        ]
        calls[f"{name}.get_n_splits"] = [Call(splitter.get_n_splits, {})]
    return calls


def _file_calls(folder: Path) -> dict[str, list[Call]]:
    """Calls of what reads and writes: sources are bytes, destinations a buffer that is thrown away."""
    letor, dataset = folder / "data.txt", folder / "data.mrd"
    letor.write_bytes(LETOR)
    stored = marginrank.write_dataset(dataset, X, Y, qid=QID, chunk_rows=5)
    table, npz, pairs = io.BytesIO(), io.BytesIO(), io.BytesIO()
    mio.dump_table(DATA, table, format="csv")
    mio.dump_npz(DATA, npz)
    mio.dump_pairs(PAIRED, pairs)
    sources = {
        "load_group": b"2\n2\n",
        "load_judgements": b"query,docid,rating\nq,a,1\nq,b,0\n",
        "load_npz": npz.getvalue(),
        "load_pairs": pairs.getvalue(),
        "load_qrels": b"1 0 a 1\n",
        "load_run": b"1 Q0 a 1 0.5 tag\n",
        "load_table": table.getvalue(),
        "load_weight": b"1\n2\n",
    }
    calls = {f"io.{name}": [Call(getattr(mio, name), {"source": text})] for name, text in sources.items()}
    calls["io.load_pairs"].append(Call(mio.load_pairs, {"source": b"1,0\n", "n_rows": 12}))
    ids = {"qid": ["1", "2"], "docid": ["a", "b"]}
    written = {
        "io.dump_group": (mio.dump_group, {"data": DATA}),
        "io.dump_npz": (mio.dump_npz, {"data": DATA}),
        "io.dump_pairs": (mio.dump_pairs, {"data": PAIRED}),
        "io.dump_judgements": (
            mio.dump_judgements,
            {"judgements": mio.load_judgements(sources["load_judgements"])},
        ),
        "io.dump_qrels": (mio.dump_qrels, {**ids, "label": [1, 0]}),
        "io.dump_run": (mio.dump_run, {**ids, "score": [1.0, 0.5]}),
        "io.dump_table": (mio.dump_table, {"data": DATA, "format": "csv"}),
        "io.dump_weight": (mio.dump_weight, {"weight": [1.0, 2.0]}),
        "dump_letor": (mio.dump_letor, {"data": DATA}),
    }
    for name, (function, valid) in written.items():
        calls[name] = [Call(function, {**valid, "destination": folder / "written"})]
    return calls | {
        "load_letor": [Call(mio.load_letor, {"source": LETOR})],
        "open_dataset": [Call(mio.open_dataset, {"path": dataset})],
        "DiskDataset": [Call(mio.DiskDataset, {"path": dataset})],
        "DiskDataset.chunk": [Call(stored.chunk, {"number": 0})],
        "DiskDataset.subset": [Call(stored.subset, {"rows": [0, 1]})],
        "io.docids": [Call(mio.docids, {"data": DATA})],
        "io.format_of": [Call(mio.format_of, {"path": "a.txt"})],
        "io.read": [Call(mio.read, {"path": letor})],
        "io.with_side_files": [Call(mio.with_side_files, {"data": DATA, "path": letor})],
        "io.write": [Call(mio.write, {"data": DATA, "path": folder / "written.npz"})],
        "io.convert_to_dataset": [
            Call(
                mio.convert_to_dataset,
                {"source": letor, "path": folder / "converted.mrd", "overwrite": True, "chunk_rows": 2},
            )
        ],
        "write_dataset": [
            Call(
                mio.write_dataset,
                {"path": folder / "again.mrd", "X": X, "y": Y, "overwrite": True, "chunk_rows": 5},
            )
        ],
    }


def _interval_calls() -> dict[str, list[Call]]:
    given = {"ranker": RankRLS(alpha=0.1), "data": DATA, "n_boot": 2}
    found = intervals.coefficient_intervals(**given)
    return {
        "coefficient_intervals": [
            Call(intervals.coefficient_intervals, given),
            Call(intervals.coefficient_intervals, {**given, "ranker": RankSVM(alpha=0.1)}, ("tol",)),
        ],
        "intervals.CoefficientIntervals.plot": [Call(lambda **k: _closed(found.plot(**k)), {})],
    }


def _cluster_calls() -> dict[str, list[Call]]:
    """Calls that are refused before a cluster is needed; the valid one stops there."""
    return {"distributed.DaskRanker": [Call(DaskRanker, {"estimator": RankSVM()})]}


def calls(folder: Path) -> dict[str, list[Call]]:
    """Return valid calls of every public name that callers call, with files below ``folder``."""
    return {
        **_ranker_calls(),
        **_map_calls(),
        **_data_calls(),
        **_path_calls(),
        **_model_calls(folder),
        **_metric_calls(),
        **_file_calls(folder),
        **_interval_calls(),
        **_cluster_calls(),
        "judging.suggest_pairs": [
            Call(judging.suggest_pairs, {"model": RankSVM().fit(X, Y, qid=QID), "items": X, "asked": PAIRS}),
            Call(judging.suggest_pairs, {"model": None, "items": X}, ("items", "n")),
        ],
        "report.write": [Call(report.write, _report_arguments(folder))],
    }
