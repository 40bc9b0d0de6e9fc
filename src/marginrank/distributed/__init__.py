"""Training over the workers of a Dask cluster: the same estimators, the same models.

Needs ``dask[distributed]``: ``pip install 'marginrank[dask]'``.
"""

from marginrank.exceptions import MarginRankError

try:
    import distributed  # noqa: F401
except ImportError:  # pragma: no cover
    raise MarginRankError(
        "marginrank.distributed needs dask[distributed]; install it: pip install 'marginrank[dask]'."
    ) from None

from marginrank.distributed.dask_engine import DaskEngine
from marginrank.distributed.ranker import DaskRanker
from marginrank.distributed.remote_data import RemoteData

__all__ = ["DaskEngine", "DaskRanker", "RemoteData"]
