"""Regularisation paths: one computation that gives the model of every ``alpha``, or number of features."""

from typing import TYPE_CHECKING

from marginrank.lazy_names import lazy_names

if TYPE_CHECKING:
    from marginrank.paths.chosen_features import ChosenFeatures
    from marginrank.paths.feature_selection import rank_rls_selection
    from marginrank.paths.held_out_curve import HeldOutCurve
    from marginrank.paths.kernel_path import KernelRankPath, kernel_rank_path
    from marginrank.paths.linear_model import LeastSquaresPath, LinearRankPath
    from marginrank.paths.linear_path import rank_path, rank_rls_path
    from marginrank.paths.linear_progress import LinearPathProgress
    from marginrank.paths.progress import PathProgress
    from marginrank.paths.selection import PathSelection
    from marginrank.paths.solved_path import FeatureChange, SolvedRankPath
    from marginrank.paths.structured_path import structured_rank_path

__all__ = [
    "ChosenFeatures",
    "FeatureChange",
    "HeldOutCurve",
    "KernelRankPath",
    "LeastSquaresPath",
    "LinearPathProgress",
    "LinearRankPath",
    "PathProgress",
    "PathSelection",
    "SolvedRankPath",
    "kernel_rank_path",
    "rank_path",
    "rank_rls_path",
    "rank_rls_selection",
    "structured_rank_path",
]

__getattr__ = lazy_names(
    __name__,
    {
        "ChosenFeatures": "chosen_features",
        "FeatureChange": "solved_path",
        "HeldOutCurve": "held_out_curve",
        "KernelRankPath": "kernel_path",
        "LeastSquaresPath": "linear_model",
        "LinearPathProgress": "linear_progress",
        "LinearRankPath": "linear_model",
        "PathProgress": "progress",
        "PathSelection": "selection",
        "SolvedRankPath": "solved_path",
        "kernel_rank_path": "kernel_path",
        "rank_path": "linear_path",
        "rank_rls_path": "linear_path",
        "rank_rls_selection": "feature_selection",
        "structured_rank_path": "structured_path",
    },
)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
