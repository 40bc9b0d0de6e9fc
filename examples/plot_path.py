"""Draw an exact regularisation path: scores, the validation curve with the chosen alpha, and active pairs.

    python examples/plot_path.py      # writes docs/images/path.png

Needs matplotlib.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from marginrank import kernel_rank_path

TARGET = Path(__file__).parents[1] / "docs" / "images" / "path.png"


def rings(n_rows: int, seed: int) -> tuple[Any, Any]:
    """Return points of the plane whose noisy label falls with the distance from a ring."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-2.0, 2.0, size=(n_rows, 2))
    utility = -np.abs(np.hypot(*X.T) - 1.2) + 0.35 * rng.normal(size=n_rows)
    return X, np.digitize(utility, [-0.7, -0.35, 0.0])


def main() -> None:
    """Compute the path once, choose from it on other rows, and draw it."""
    path = kernel_rank_path(*rings(150, seed=1), gamma=1.0)
    X, y = rings(2000, seed=2)
    print(path)
    print(path.select(X, y, qid=np.arange(2000) // 50, metric="ndcg@10"))
    TARGET.parent.mkdir(exist_ok=True)
    path.plot().savefig(TARGET, dpi=80, pil_kwargs={"optimize": True})
    print(f"Wrote {TARGET.relative_to(TARGET.parents[2])}.")


if __name__ == "__main__":
    main()
