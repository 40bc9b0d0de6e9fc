"""Rankers with scikit-learn's interface."""

from typing import TYPE_CHECKING

from marginrank.lazy_names import lazy_names

if TYPE_CHECKING:
    from marginrank.estimators.auto import AutoRanker
    from marginrank.estimators.kernel import KernelRankSVM
    from marginrank.estimators.rank_rls import RankRLS
    from marginrank.estimators.rank_svm import RankSVM
    from marginrank.estimators.structured import StructuredRankSVM

__all__ = ["AutoRanker", "KernelRankSVM", "RankRLS", "RankSVM", "StructuredRankSVM"]

__getattr__ = lazy_names(
    __name__,
    {
        "AutoRanker": "auto",
        "KernelRankSVM": "kernel",
        "RankRLS": "rank_rls",
        "RankSVM": "rank_svm",
        "StructuredRankSVM": "structured",
    },
)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
