"""Where pickled paths of earlier versions look for their lines; these stand in ``solvers.lower_lines``."""

from marginrank.solvers.lower_lines import LowerLines, Node

__all__ = ["LowerLines", "Node"]
