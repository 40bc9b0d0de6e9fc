"""The compiled kernels: the only place that imports the extension modules.

They are compiled twice, for any processor and for one with wide registers; both give the same bits.
"""

from typing import TYPE_CHECKING

from marginrank._native import has_wide_registers

if TYPE_CHECKING or not has_wide_registers():
    from marginrank._native import (
        CsrF32I32,
        CsrF32I64,
        CsrF64I32,
        CsrF64I64,
        DenseF32,
        DenseF64,
        LeastSquares,
        LetorRowsF32,
        LetorRowsF64,
        MetricSpec,
        PairLabels,
        PairLoss,
        PreferencePairs,
        QueryLoss,
        first_bad_row,
        first_nonfinite,
        ranking_metrics,
        simplex_qp,
        write_letor_features,
    )
else:
    from marginrank._native_avx2 import (
        CsrF32I32,
        CsrF32I64,
        CsrF64I32,
        CsrF64I64,
        DenseF32,
        DenseF64,
        LeastSquares,
        LetorRowsF32,
        LetorRowsF64,
        MetricSpec,
        PairLabels,
        PairLoss,
        PreferencePairs,
        QueryLoss,
        first_bad_row,
        first_nonfinite,
        ranking_metrics,
        simplex_qp,
        write_letor_features,
    )

__all__ = [
    "CsrF32I32",
    "CsrF32I64",
    "CsrF64I32",
    "CsrF64I64",
    "DenseF32",
    "DenseF64",
    "LeastSquares",
    "LetorRowsF32",
    "LetorRowsF64",
    "MetricSpec",
    "PairLabels",
    "PairLoss",
    "PreferencePairs",
    "QueryLoss",
    "first_bad_row",
    "first_nonfinite",
    "ranking_metrics",
    "simplex_qp",
    "write_letor_features",
]
