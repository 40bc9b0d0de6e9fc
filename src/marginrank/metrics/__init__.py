"""Measures of ranking quality: per query first, then their mean."""

from marginrank.metrics.evaluation import Evaluation, evaluate
from marginrank.metrics.evaluator import Evaluator
from marginrank.metrics.metric import Metric
from marginrank.metrics.names import FLAVORS, parse_metric
from marginrank.metrics.pairwise import pairwise_error

__all__ = ["FLAVORS", "Evaluation", "Evaluator", "Metric", "evaluate", "pairwise_error", "parse_metric"]
