"""Words that parameters take, where they name a way of doing something and no registry of things holds them.

Checks and the command line take them from here (``typing.get_args``), so each is written once.
"""

from __future__ import annotations

from typing import Literal, TypeAlias

#: Kernels of feature maps.
KernelName: TypeAlias = Literal["rbf", "laplacian", "polynomial", "cosine", "chi2", "precomputed"]
#: How a kernel machine stands for its kernel.
Approximation: TypeAlias = Literal["nystroem", "fourier", "exact"]
#: Which pairs of labels an exact path learns from.
Graph: TypeAlias = Literal["all", "sampled", "reduced"]
#: How least squares keep from overfitting.
Regularization: TypeAlias = Literal["tikhonov", "early_stopping", "hybrid"]
#: What solves least squares.
LeastSquaresSolver: TypeAlias = Literal["auto", "cg", "direct"]
#: Folds of least squares that are pairs of rows.
LEAVE_PAIR_OUT = "leave_pair_out"
#: Rankers that an automatic choice knows by name.
CandidateName: TypeAlias = Literal[
    "rankrls", "rankrls-kernel", "ranksvm-squared", "ranksvm-logistic", "ranksvm", "ndcg", "map", "kernel"
]
