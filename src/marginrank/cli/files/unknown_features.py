"""Features that a model does not know: named as the files count them."""

from __future__ import annotations

from functools import partial
from typing import Any

from marginrank.data.matrices import map_blocks
from marginrank.exceptions import MarginRankError
from marginrank.model import unknown_columns


def refuse_unknown(X: Any, n_features: int, first: int) -> None:
    """Refuse values in columns beyond those of a model; features are counted from ``first``."""
    if X.shape[1] <= n_features:
        return
    look = partial(_unknown, n_features=n_features)
    parts = (part for _, _, part in map_blocks(X, look))
    unknown = sorted(set().union(*(part.tolist() for part in parts)))
    if unknown:
        shown = ", ".join(str(column + first) for column in unknown[:8])
        raise MarginRankError(
            f"The data have features that the model does not know (it has {n_features}): "
            f"{shown}{', ...' if len(unknown) > 8 else ''}. Use --ignore-unknown to leave them out."
        )


def _unknown(X: Any, along: None, *, n_features: int) -> Any:
    del along
    return unknown_columns(X, n_features)
