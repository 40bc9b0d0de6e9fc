"""Measures of ranking quality."""

from marginrank.metrics.pairwise import pairwise_error

__all__ = ["pairwise_error"]
