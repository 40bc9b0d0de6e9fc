"""Draw how features enter along a sparse path, with the validation curve and the number of features.

    python examples/plot_sparse_path.py      # writes docs/images/sparse-path.png

Needs matplotlib.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from marginrank import rank_path

TARGET = Path(__file__).parents[1] / "docs" / "images" / "sparse-path.png"
EFFECTS = {"bm25": 1.0, "clicks": 0.5, "price": -0.3, "freshness": 0.2, "length": -0.1}
NAMES = [*EFFECTS, *(f"noise {k}" for k in range(20))]


def search_results(n_queries: int, seed: int) -> tuple[Any, Any, Any]:
    """Return a frame of 25 columns, five of which matter, labels from 0 to 3, and queries of 30 rows."""
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(rng.normal(size=(30 * n_queries, len(NAMES))), columns=NAMES)
    utility = sum(weight * frame[name] for name, weight in EFFECTS.items())
    y = np.digitize(utility + rng.normal(size=len(frame)), [-1.0, 0.0, 1.0])
    return frame, y, np.repeat(np.arange(n_queries), 30)


def main() -> None:
    """Compute the path once, choose from it on other queries, and draw it."""
    X, y, qid = search_results(40, seed=0)
    path = rank_path(X, y, qid=qid, l1_ratio=0.95)
    print(path)
    print(", ".join(NAMES[change.feature] for change in path.changes if change.enters))
    X, y, qid = search_results(40, seed=1)
    print(path.select(X, y, qid=qid, metric="ndcg@10", rule="one_se"))
    TARGET.parent.mkdir(exist_ok=True)
    path.plot(n_features=7).savefig(TARGET, dpi=80, pil_kwargs={"optimize": True})
    print(f"Wrote {TARGET.relative_to(TARGET.parents[2])}.")


if __name__ == "__main__":
    main()
