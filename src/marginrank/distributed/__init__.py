"""Training over the workers of a Dask cluster: the same estimators, the same models.

Needs ``dask[distributed]``: ``pip install 'marginrank[dask]'``.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from marginrank.exceptions import MarginRankError

if TYPE_CHECKING:
    from marginrank.distributed.dask_engine import DaskEngine
    from marginrank.distributed.ranker import DaskRanker
    from marginrank.distributed.remote_data import RemoteData
    from marginrank.distributed.scoring import predict

# Imported at first use: workers come by here too, and need neither scikit-learn nor the rankers.
_HOMES = {
    "DaskEngine": "marginrank.distributed.dask_engine",
    "DaskRanker": "marginrank.distributed.ranker",
    "RemoteData": "marginrank.distributed.remote_data",
    "predict": "marginrank.distributed.scoring",
}

__all__ = ["DaskEngine", "DaskRanker", "RemoteData", "predict"]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'marginrank.distributed' has no attribute {name!r}")
    try:
        import_module("distributed")
    except ImportError:
        raise MarginRankError(
            f"{name} needs dask[distributed]; install it: pip install 'marginrank[dask]'."
        ) from None
    return getattr(import_module(_HOMES[name]), name)
