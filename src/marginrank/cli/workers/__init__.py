"""``--dask``: commands that run over the workers of a cluster."""
