"""Choosing alpha: grids, folds, validation curves and the rule that picks from them."""

from marginrank.training.selection import (
    MOST_ALPHAS,
    Search,
    Selection,
    check_alphas,
    default_alphas,
    no_figure,
)
from marginrank.training.selection import Rule as Rule

__all__ = ["MOST_ALPHAS", "Search", "Selection", "check_alphas", "default_alphas", "no_figure"]
