"""Ranking data in a terminal and in a notebook."""

from __future__ import annotations

from typing import Any

import numpy as np

from marginrank.data.matrices import is_sparse
from marginrank.markup import Markup, facts, named, visible

_LEVELS, _NAMES = 20, 8


def data_text(data: Any) -> str:
    """Return the sizes of data in a line."""
    pairs = "" if data.pairs is None else f"n_pairs={len(data.pairs)}, "
    sizes = f"n_rows={data.n_rows}, n_features={data.n_features}, n_queries={data.n_queries}"
    return f"RankingData({sizes}, {pairs}{_storage(data)})"


def data_html(data: Any) -> Markup:
    """Return the face of data in a notebook: sizes, labels, names."""
    lengths = np.diff(data.query_ptr)
    shown: list[tuple[object, object]] = [
        ("rows", f"{data.n_rows:,}"),
        ("queries", f"{data.n_queries:,} ({lengths.min():,} to {lengths.max():,} rows)"),
        ("features", f"{data.n_features:,} ({_storage(data)})"),
    ]
    if data.y is not None:
        values, counts = np.unique(data.y, return_counts=True)
        few = ", ".join(f"{v:g}: {n:,}" for v, n in zip(values, counts, strict=True))
        many = f"{len(values):,} distinct, {values[0]:g} to {values[-1]:g}"
        shown.append(("labels", few if len(values) <= _LEVELS else many))
    if data.pairs is not None:
        shown.append(("pairs", f"{len(data.pairs):,}"))
    if data.feature_names is not None:
        more = ", ..." if data.n_features > _NAMES else ""
        shown.append(("names", named(", ".join(map(visible, data.feature_names[:_NAMES])) + more, 400)))
    return facts(shown)


def _storage(data: Any) -> str:
    return f"{'CSR' if is_sparse(data.X) else 'dense'} {data.X.dtype}"
