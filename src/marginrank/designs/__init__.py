"""Designs: products with X and its transpose, whatever X is stored as."""

from marginrank.designs.base import Design
from marginrank.designs.matrix import MatrixDesign
from marginrank.designs.scaled import ScaledDesign

__all__ = ["Design", "MatrixDesign", "ScaledDesign"]
