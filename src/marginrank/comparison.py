"""Comparing two models on the same queries: whether a difference is more than chance."""

from marginrank.metrics.comparison import Comparison, MetricComparison, QueryChange, compare

__all__ = ["Comparison", "MetricComparison", "QueryChange", "compare"]
