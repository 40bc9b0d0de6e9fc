"""Reports: one HTML file about data, models, their figures and the queries where they differ."""

from marginrank.report.writing import write

__all__ = ["write"]
