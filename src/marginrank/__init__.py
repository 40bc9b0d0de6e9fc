"""Large-margin learning to rank: exact, fast, certified.

Examples
--------
>>> import numpy as np
>>> from marginrank import RankSVM
>>> X = np.array([[0.0, 1.0], [1.0, 0.0], [2.0, 1.0]])
>>> RankSVM().fit(X, y=[0, 1, 2]).predict(X).argmax()
np.int64(2)
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from marginrank.calibration import calibrate
    from marginrank.clicks import inverse_propensity
    from marginrank.data import RankingData
    from marginrank.designs import ColumnStatistics
    from marginrank.estimators import AutoRanker as AutoRanker
    from marginrank.estimators import KernelRankSVM as KernelRankSVM
    from marginrank.estimators import RankRLS, RankSVM, StructuredRankSVM
    from marginrank.feature_maps import FourierFeatures, NystroemFeatures
    from marginrank.intervals import coefficient_intervals
    from marginrank.io import DiskDataset, dump_letor, load_letor, open_dataset, write_dataset
    from marginrank.model import RankingModel
    from marginrank.model_selection import QueryKFold, QueryShuffleSplit, ranking_scorer
    from marginrank.paths import (
        kernel_rank_path,
        rank_path,
        rank_rls_path,
        rank_rls_selection,
        structured_rank_path,
    )

    __version__: str

# Imported at first use: scikit-learn alone takes a second or two, which ``marginrank --help``, or a program
# that only loads a model, need not wait for.
_HOMES = {
    "AutoRanker": "marginrank.estimators",
    "ColumnStatistics": "marginrank.designs",
    "DiskDataset": "marginrank.io",
    "FourierFeatures": "marginrank.feature_maps",
    "KernelRankSVM": "marginrank.estimators",
    "NystroemFeatures": "marginrank.feature_maps",
    "QueryKFold": "marginrank.model_selection",
    "QueryShuffleSplit": "marginrank.model_selection",
    "RankRLS": "marginrank.estimators",
    "RankSVM": "marginrank.estimators",
    "RankingData": "marginrank.data",
    "RankingModel": "marginrank.model",
    "StructuredRankSVM": "marginrank.estimators",
    "calibrate": "marginrank.calibration",
    "coefficient_intervals": "marginrank.intervals",
    "dump_letor": "marginrank.io",
    "inverse_propensity": "marginrank.clicks",
    "kernel_rank_path": "marginrank.paths",
    "load_letor": "marginrank.io",
    "open_dataset": "marginrank.io",
    "rank_path": "marginrank.paths",
    "rank_rls_path": "marginrank.paths",
    "rank_rls_selection": "marginrank.paths",
    "ranking_scorer": "marginrank.model_selection",
    "structured_rank_path": "marginrank.paths",
    "write_dataset": "marginrank.io",
}
_MODULES = {
    "calibration",
    "clicks",
    "comparison",
    "data",
    "datasets",
    "distributed",
    "estimators",
    "exceptions",
    "explanation",
    "export",
    "feature_maps",
    "inspection",
    "intervals",
    "io",
    "judging",
    "metrics",
    "model",
    "model_selection",
    "paths",
    "regularization",
    "report",
}

__all__ = [
    "AutoRanker",
    "ColumnStatistics",
    "DiskDataset",
    "FourierFeatures",
    "KernelRankSVM",
    "NystroemFeatures",
    "QueryKFold",
    "QueryShuffleSplit",
    "RankRLS",
    "RankSVM",
    "RankingData",
    "RankingModel",
    "StructuredRankSVM",
    "__version__",
    "calibrate",
    "coefficient_intervals",
    "dump_letor",
    "inverse_propensity",
    "kernel_rank_path",
    "load_letor",
    "open_dataset",
    "rank_path",
    "rank_rls_path",
    "rank_rls_selection",
    "ranking_scorer",
    "structured_rank_path",
    "write_dataset",
]


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        value = getattr(import_module(_HOMES[name]), name)
    elif name in _MODULES:
        value = import_module(f"marginrank.{name}")
    elif name == "__version__":
        from importlib.metadata import version

        value = version("marginrank")
    else:
        raise AttributeError(f"module 'marginrank' has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__, *_MODULES})
