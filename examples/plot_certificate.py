"""Draw the certificate: objective and lower bound against passes over the data.

    python examples/plot_certificate.py      # writes docs/images/certificate.png

Also prints what a smaller ``tol`` costs and what it brings on held-out queries. Needs matplotlib, which
nothing else in the project does.
"""

from __future__ import annotations

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

from demo import search_results, table
from marginrank import RankingData, RankSVM

TARGET = Path(__file__).parents[1] / "docs" / "images" / "certificate.png"
BLUE, ORANGE, GREY = "#2a6f97", "#d1603d", "#777777"


def main() -> None:
    """Train once for each curve and once for each tolerance."""
    train, test = parts()
    draw({loss: fitted(train, loss, 1e-5) for loss in ("hinge", "squared_hinge")})
    print(f"Wrote {TARGET.relative_to(TARGET.parents[2])}.\n")
    models = by_tolerance(train)
    table(
        ("tol", "passes", "gap", "held-out right pairs"),
        [
            (f"{tol:g}", f"{m.history_[-1].passes:.1f}", f"{m.gap_:.1e}", f"{m.score(test):.4f}")
            for tol, m in models.items()
        ],
    )


def parts() -> tuple[RankingData, RankingData]:
    """Return four queries in five for training, and the others."""
    X, y, qid = search_results(n_queries=1_000)
    data = RankingData(X, y, qid=qid)
    in_test = np.isin(data.qid, data.query_ids[::5])
    return data.subset(~in_test), data.subset(in_test)


def by_tolerance(train: RankingData) -> dict[float, RankSVM]:
    """Train at several tolerances."""
    return {tol: fitted(train, "hinge", tol) for tol in (1e-1, 1e-2, 1e-3, 1e-4, 1e-5)}


def fitted(train: RankingData, loss: str, tol: float) -> RankSVM:
    """Train at one loss and tolerance."""
    return RankSVM(loss, alpha=1e-4, scale="standard", tol=tol).fit(train)


def draw(models: dict[str, RankSVM]) -> None:
    """Draw the squeeze for the first model, and the gap of each."""
    figure, (squeeze, gaps) = plt.subplots(1, 2, figsize=(9, 3.6), layout="constrained")
    draw_squeeze(squeeze, models["hinge"])
    for (loss, model), colour in zip(models.items(), (BLUE, ORANGE), strict=True):
        steps = model.history_
        gaps.semilogy([s.passes for s in steps], [s.gap for s in steps], ".-", color=colour, label=loss)
    gaps.axhline(1e-3, color=GREY, linestyle="--", linewidth=1)
    gaps.annotate("tol=1e-3, the default", (0.03, 1e-3), (0, -11), ("axes fraction", "data"),
                  textcoords="offset points", color=GREY, fontsize=9)  # fmt: skip
    gaps.set(title="The gap, for both losses", xlabel="passes over the data", ylabel="gap_")
    gaps.legend(frameon=False)
    for axes in (squeeze, gaps):
        axes.spines[["top", "right"]].set_visible(False)
    TARGET.parent.mkdir(exist_ok=True)
    figure.savefig(TARGET, dpi=100, pil_kwargs={"optimize": True})


def draw_squeeze(axes: plt.Axes, model: RankSVM) -> None:
    """Draw the best objective from above and the lower bound from below, with the optimum between."""
    steps = model.history_
    passes = [s.passes for s in steps]
    value, bound = [s.value for s in steps], [s.bound for s in steps]
    axes.fill_between(passes, bound, value, color=BLUE, alpha=0.12, linewidth=0)
    axes.plot(passes, value, ".-", color=BLUE, label="best objective so far")
    axes.plot(passes, bound, ".-", color=ORANGE, label="lower bound of the optimum")
    axes.set(
        title="The optimum lies in the shaded part (hinge)", xlabel="passes over the data", ylabel="objective"
    )
    axes.set_ylim(bottom=0.0)
    axes.legend(frameon=False, loc="upper right")


if __name__ == "__main__":
    main()
