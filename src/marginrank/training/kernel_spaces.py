"""The spaces of a kernel ranker: for each gamma a map of the columns, alone or beside the columns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from marginrank.choices import Approximation, KernelName
from marginrank.data.matrices import in_memory
from marginrank.designs.column_sums import measure_columns
from marginrank.designs.compared import plain_design
from marginrank.designs.mapped import Store
from marginrank.designs.scaling import ScaleSetting, divisors, resolve_scale, steady
from marginrank.exceptions import MarginRankError
from marginrank.feature_maps import FeatureMap, FourierFeatures, NystroemFeatures
from marginrank.feature_maps.gamma import resolve_gamma
from marginrank.feature_maps.kernel_units import UNITS
from marginrank.parameters import check_count, check_grid
from marginrank.system.threads import resolve_threads
from marginrank.training.linear_block import MappedBesideColumns
from marginrank.training.mapped_columns import MappedColumns, check_kernel_memory, rows_to_map
from marginrank.training.problems import Problem
from marginrank.types import MemoryMatrix, Rows, Vector

# gamma="auto" tries these times "scale" for a kernel alone: on OHSUMED the best lies at a sixteenth.
_FACTORS_ALONE = (1 / 64, 1 / 16, 1 / 4, 1.0, 4.0)
# Beside the columns, where gamma hardly matters, these times the default.
_FACTORS_BESIDE = (1 / 4, 1.0, 4.0)
# Beside the columns the kernel is this many times as wide as the median distance: what is nearly linear is in
# the columns, and on six sets of ranking data anything from once to four times as wide was as good.
_WIDTH = 2.0


@dataclass(frozen=True)
class KernelSpaces:
    """What a kernel ranker was asked for; the names are those of its parameters."""

    kernel: KernelName
    gamma: Any
    gammas: Any
    degree: float
    coef0: float
    approximation: Approximation
    n_components: int
    landmarks: Any
    orthogonal: bool
    linear_block: bool
    scale: ScaleSetting | None
    store: Store
    dtype: Any
    random_state: int
    n_jobs: int | None

    @property
    def has_linear_block(self) -> bool:
        """Whether the columns stand beside the kernel; kernel values of others have none."""
        return self.linear_block and self.kernel != "precomputed"

    def of(self, problem: Problem) -> Sequence[MappedColumns]:
        """Return a space for each gamma; maps are fitted on the rows that are trained on."""
        X, trained = problem.data.X, problem.rows
        if not in_memory(X):
            raise MarginRankError.saying(
                "{kernel=} does not train over data on disk.",
                "Train on a sample of the rows that fits into memory.",
                "{RankSVM()} trains over blocks that a feature map transformed before they were written.",
                kernel=self.kernel,
            )
        rows, weight = None, problem.weight_by_row()
        if trained is not None and len(trained) < X.shape[0] and self.kernel != "precomputed":
            rows = np.sort(trained)
            weight = None if weight is None else weight[rows]
        scale = scaled_by = statistics = None
        threads = resolve_threads(self.n_jobs)
        if self.kernel != "precomputed":
            design = plain_design(X, trained, n_threads=threads)
            _, statistics = measure_columns(design, problem.compared.query_ptr, problem.weight)
            scaled_by = resolve_scale(self.scale, statistics)
            scale = None if scaled_by is None else steady(divisors(scaled_by, statistics))
        n_rows = X.shape[0] if rows is None else len(rows)
        self._check_memory(n_rows)
        seed = self.random_state
        gammas = self._gammas(X, rows, scale, weight, seed)
        maps = [self._make_map(gamma, n_rows, seed) for gamma in gammas]
        shared = (X, rows, weight, scale, self.store, threads)
        known: dict[str, Any] = {"statistics": statistics, "scaled_by": scaled_by}
        if self.has_linear_block:
            return [MappedBesideColumns(problem, one, *shared, **known) for one in maps]
        return [MappedColumns(one, *shared, **known) for one in maps]

    def _check_memory(self, n_rows: int) -> None:
        if self.approximation == "exact":
            check_kernel_memory(n_rows, exact=True)
        elif self.approximation == "nystroem":
            check_kernel_memory(min(check_count(self.n_components, "n_components"), n_rows), exact=False)

    def _gammas(
        self, X: MemoryMatrix, rows: Rows | None, scale: Vector | None, weight: Vector | None, seed: int
    ) -> list[Any]:
        """Return gammas in ascending order, each a number or a rule that maps know."""
        chooses = isinstance(self.gamma, str) and self.gamma == "auto"
        if chooses and self.gammas is not None:
            return list(np.unique(check_grid(self.gammas, "gammas")))
        if not chooses and self.gamma is not None:
            return [self.gamma]
        if not chooses and (not self.has_linear_block or self.kernel not in UNITS):
            return ["scale"]
        centre = self._centre(rows_to_map(X, rows, scale), weight, seed)
        if not chooses:
            return [centre]
        return [centre * factor for factor in (_FACTORS_BESIDE if self.has_linear_block else _FACTORS_ALONE)]

    def _centre(self, X: MemoryMatrix, weight: Vector | None, seed: int) -> float:
        """Return the default gamma of these rows."""
        wide = self.has_linear_block and self.kernel != "polynomial"  # which knows no distance
        rule, factor = ("median", _WIDTH ** -UNITS[self.kernel]) if wide else ("scale", 1.0)
        gamma = resolve_gamma(rule, self.kernel, X, np.random.RandomState(seed if wide else 0), weight)
        assert gamma is not None
        return gamma * factor

    def _make_map(self, gamma: Any, n_rows: int, seed: Any) -> FeatureMap:
        exact = self.approximation == "exact"
        dtype = self.dtype if self.dtype != "auto" else "float64" if exact else "float32"
        common = {"gamma": gamma, "dtype": dtype, "n_jobs": self.n_jobs, "random_state": seed}
        if self.approximation == "fourier":
            kernel: Any = self.kernel  # the map refuses those that it does not know
            return FourierFeatures(
                kernel, n_components=self.n_components, orthogonal=self.orthogonal, **common
            )
        return NystroemFeatures(
            self.kernel,
            degree=self.degree,
            coef0=self.coef0,
            n_components=n_rows if exact else self.n_components,
            landmarks="uniform" if exact else self.landmarks,
            **common,
        )
