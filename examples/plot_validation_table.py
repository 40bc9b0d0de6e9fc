"""Draw the validation table of RankRLS: the error of every alpha after every iteration, from one run.

    python examples/plot_validation_table.py      # writes docs/images/validation-table.png

Also prints what the three regularisations cost and bring on held-out queries. Needs matplotlib, which nothing
else in the project does.
"""

from __future__ import annotations

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

from demo import table
from marginrank import RankingData, RankRLS

TARGET = Path(__file__).parents[1] / "docs" / "images" / "validation-table.png"
ALPHAS = np.logspace(0, -5, 6)
ORANGE = "#d1603d"


def main() -> None:
    """Train once for the picture and once for each regularisation."""
    train, validation, test = parts()
    draw(RankRLS("auto", alphas=ALPHAS, solver="cg", tol=1e-6).fit(train, eval_set=validation))
    print(f"Wrote {TARGET.relative_to(TARGET.parents[2])}.\n")
    models = by_regularization(train, validation)
    table(
        ("regularization", "alpha_", "passes", "held-out right pairs"),
        [(name, f"{m.alpha_:g}", f"{m.n_passes_:g}", f"{m.score(test):.4f}") for name, m in models.items()],
    )


def parts() -> list[RankingData]:
    """Return queries for training, for validation and for the test."""
    return [queries(n, seed) for n, seed in ((50, 0), (50, 1), (300, 2))]


def by_regularization(train: RankingData, validation: RankingData) -> dict[str, RankRLS]:
    """Train with each regularisation."""
    models = {
        "tikhonov": RankRLS("auto", alphas=ALPHAS, solver="cg"),
        "early_stopping": RankRLS(regularization="early_stopping"),
        "hybrid": RankRLS("auto", alphas=ALPHAS, regularization="hybrid"),
    }
    return {name: model.fit(train, eval_set=validation) for name, model in models.items()}


def queries(n_queries: int, seed: int) -> RankingData:
    """Generate queries of 20 rows with 400 features, of which some say much and most say little."""
    rng = np.random.default_rng(seed)
    truth = np.random.default_rng(99).normal(size=400)
    X = rng.normal(size=(20 * n_queries, 400)) / np.sqrt(np.arange(1, 401))
    y = np.digitize(X @ truth + 3.0 * rng.normal(size=len(X)), [0.0, 2.0, 4.0])
    return RankingData(X, y, qid=np.repeat(np.arange(n_queries), 20))


def draw(model: RankRLS) -> None:
    """Draw a curve for each alpha, and mark the best cell of the table."""
    errors = model.validation_table_
    figure, axes = plt.subplots(figsize=(7, 4), layout="constrained")
    for alpha, curve, shade in zip(model.alphas_, errors, np.linspace(0.0, 0.9, len(errors)), strict=True):
        axes.plot(curve, color=plt.cm.viridis(shade), label=f"alpha {alpha:g}")
    row, column = np.unravel_index(np.argmin(errors), errors.shape)
    axes.plot(column, errors[row, column], "o", color=ORANGE, markersize=8, fillstyle="none")
    axes.annotate("best of the table", (column, errors[row, column]), (0, -18), textcoords="offset points",
                  color=ORANGE, fontsize=9, ha="center")  # fmt: skip
    axes.set(
        title="One run: every alpha after every iteration",
        xlabel="iteration, of one pass over the data",
        ylabel="pairwise error on the validation set",
        ylim=(errors.min() - 0.012, errors[:, 1:].max() + 0.005),
    )
    axes.legend(frameon=False, loc="center left", bbox_to_anchor=(1.0, 0.5))
    axes.spines[["top", "right"]].set_visible(False)
    figure.savefig(TARGET, dpi=100, pil_kwargs={"optimize": True})


if __name__ == "__main__":
    main()
