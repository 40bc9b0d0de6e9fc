"""Designs: products with X and its transpose, whatever X is stored as."""

from marginrank.designs.base import Design
from marginrank.designs.mapped import FactoredDesign, mapped_design
from marginrank.designs.matrix import MatrixDesign
from marginrank.designs.recomputed import RecomputedDesign
from marginrank.designs.scaled import ScaledDesign

__all__ = [
    "Design",
    "FactoredDesign",
    "MatrixDesign",
    "RecomputedDesign",
    "ScaledDesign",
    "mapped_design",
]
