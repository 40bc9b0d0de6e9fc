"""Ranking by feedback: which pairs to ask about next, and a page on this machine that asks."""

from marginrank.judging.suggestion import SuggestedPairs, suggest_pairs

__all__ = ["SuggestedPairs", "suggest_pairs"]
