"""Designs: products with X and its transpose, whatever X is stored as."""

from marginrank.designs.base import Design
from marginrank.designs.chunked import ChunkedDesign, matrix_design
from marginrank.designs.mapped import FactoredDesign, MappedRows, mapped_design
from marginrank.designs.matrix import MatrixDesign
from marginrank.designs.recomputed import RecomputedDesign
from marginrank.designs.scaled import ScaledDesign
from marginrank.designs.scaled_rows import ScaledRows, scale_rows

__all__ = [
    "ChunkedDesign",
    "Design",
    "FactoredDesign",
    "MappedRows",
    "MatrixDesign",
    "RecomputedDesign",
    "ScaledDesign",
    "ScaledRows",
    "mapped_design",
    "matrix_design",
    "scale_rows",
]
