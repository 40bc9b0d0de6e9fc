"""Data that are made, not downloaded: for examples, tests and first steps; one seed, the same data."""

from marginrank.datasets.click_logs import ClickLog, make_clicks
from marginrank.datasets.ranking import make_ranking
from marginrank.datasets.sample import Sample, load_sample

__all__ = ["ClickLog", "Sample", "load_sample", "make_clicks", "make_ranking"]
