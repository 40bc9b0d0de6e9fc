"""Training over the workers of a Dask cluster: the same estimators, the same models."""

from marginrank.distributed.remote_data import RemoteData

__all__ = ["RemoteData"]
