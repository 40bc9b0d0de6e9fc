"""Regularisation paths: one computation that gives the model of every ``alpha``."""

from marginrank.paths.kernel_path import KernelRankPath, kernel_rank_path
from marginrank.paths.linear_model import LeastSquaresPath, LinearRankPath
from marginrank.paths.linear_path import rank_path, rank_rls_path
from marginrank.paths.linear_progress import LinearPathProgress
from marginrank.paths.progress import PathProgress
from marginrank.paths.selection import PathSelection
from marginrank.paths.structured_path import structured_rank_path

__all__ = [
    "KernelRankPath",
    "LeastSquaresPath",
    "LinearPathProgress",
    "LinearRankPath",
    "PathProgress",
    "PathSelection",
    "kernel_rank_path",
    "rank_path",
    "rank_rls_path",
    "structured_rank_path",
]
