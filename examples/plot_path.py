"""Draw an exact regularisation path: scores, active pairs and held-out error along alpha.

    python examples/plot_path.py      # writes docs/images/path.png

Needs matplotlib.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import numpy as np

from marginrank.metrics import pairwise_error
from marginrank.paths import KernelRankPath, kernel_rank_path

TARGET = Path(__file__).parents[1] / "docs" / "images" / "path.png"
BLUE, ORANGE, GREY = "#2a6f97", "#d1603d", "#777777"


def rings(n_rows: int, seed: int) -> tuple[Any, Any]:
    """Return points of the plane whose noisy label falls with the distance from a ring."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-2.0, 2.0, size=(n_rows, 2))
    utility = -np.abs(np.hypot(*X.T) - 1.2) + 0.35 * rng.normal(size=n_rows)
    return X, np.digitize(utility, [-0.7, -0.35, 0.0])


def main() -> None:
    """Compute the path once, and draw three views of it."""
    X, y = rings(150, seed=1)
    path = kernel_rank_path(X, y, gamma=1.0)
    print(path)
    draw(path, *rings(2000, seed=2))
    print(f"Wrote {TARGET.relative_to(TARGET.parents[2])}.")


def draw(path: KernelRankPath, X: Any, y: Any) -> None:
    """Draw scores of some training rows, the number of active pairs, and the error on other rows."""
    alphas = np.geomspace(2.0 * path.alphas[0], path.alpha_min_, 150)
    figure, (left, middle, right) = plt.subplots(1, 3, figsize=(11, 3.4), layout="constrained")
    scores = np.array([path.scores_at(alpha) for alpha in alphas])
    colours = plt.colormaps["viridis"](np.linspace(0.0, 0.9, 12))
    for row, colour in zip(np.argsort(scores[-1])[::13], colours, strict=True):
        left.plot(alphas, scores[:, row], color=colour, linewidth=1.2)
    left.set(title="Scores of 12 training rows", ylabel="score")
    middle.plot(path.alphas, path.active_size, color=BLUE, linewidth=0.8)
    middle.set(title=f"Active pairs ({path.n_events_:,} events)", ylabel="pairs at their margin")
    errors = [pairwise_error(y, path.predict(X, alpha=alpha)) for alpha in alphas]
    best = int(np.argmin(errors))
    right.plot(alphas, errors, color=ORANGE)
    right.plot(alphas[best], errors[best], "o", color=ORANGE)
    right.annotate(f"alpha = {alphas[best]:.1e}", (alphas[best], errors[best]), (0, 32),
                   textcoords="offset points", ha="center", color=GREY, fontsize=9)  # fmt: skip
    right.set(title="Pairwise error on 2,000 other rows", ylabel="error")
    for axes in (left, middle, right):
        axes.set_xscale("log")
        axes.invert_xaxis()
        axes.set_xlabel("alpha")
        axes.spines[["top", "right"]].set_visible(False)
    TARGET.parent.mkdir(exist_ok=True)
    figure.savefig(TARGET, dpi=100, pil_kwargs={"optimize": True})


if __name__ == "__main__":
    main()
