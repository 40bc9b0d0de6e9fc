"""Designs: products with X and its transpose, whatever X is stored as."""

from marginrank.designs.base import Design
from marginrank.designs.chunked import ChunkedDesign
from marginrank.designs.column_statistics import ColumnStatistics
from marginrank.designs.columns import ColumnTransform
from marginrank.designs.compared import ComparedRows, column_transform, matrix_design
from marginrank.designs.joined import JoinedDesign
from marginrank.designs.mapped import FactoredDesign, MappedRows, mapped_design
from marginrank.designs.matrix import MatrixDesign
from marginrank.designs.recomputed import RecomputedDesign
from marginrank.designs.scaled_rows import ScaledRows, scale_rows
from marginrank.designs.transformed import TransformedDesign

__all__ = [
    "ChunkedDesign",
    "ColumnStatistics",
    "ColumnTransform",
    "ComparedRows",
    "Design",
    "FactoredDesign",
    "JoinedDesign",
    "MappedRows",
    "MatrixDesign",
    "RecomputedDesign",
    "ScaledRows",
    "TransformedDesign",
    "column_transform",
    "mapped_design",
    "matrix_design",
    "scale_rows",
]
