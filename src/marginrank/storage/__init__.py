"""Matrices and data sets that do not lie in memory: chunks on disk, remote chunks, ``.mrd`` folders."""
