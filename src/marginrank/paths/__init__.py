"""Regularisation paths: one computation that gives the model of every ``alpha``."""

from marginrank.paths.kernel_path import KernelRankPath, kernel_rank_path
from marginrank.paths.progress import PathProgress

__all__ = ["KernelRankPath", "PathProgress", "kernel_rank_path"]
