"""Draw what each chosen feature adds: held-out error and NDCG against the number of features.

    python examples/plot_features.py      # writes docs/images/features.png

Needs matplotlib.
"""

from __future__ import annotations

from pathlib import Path

from marginrank import rank_rls_selection
from plot_sparse_path import search_results

TARGET = Path(__file__).parents[1] / "docs" / "images" / "features.png"


def main() -> None:
    """Choose twelve of 25 features, five of which matter, and draw the curves."""
    X, y, qid = search_results(60, seed=0)
    chosen = rank_rls_selection(X, y, qid=qid, n_features=12, metric="ndcg@10")
    print(chosen)
    print(", ".join(chosen.labels))
    print(f"best: {chosen.n_best()}, as good: {chosen.n_best('one_se')}")
    TARGET.parent.mkdir(exist_ok=True)
    chosen.plot().savefig(TARGET, dpi=80, pil_kwargs={"optimize": True})
    print(f"Wrote {TARGET.relative_to(TARGET.parents[2])}.")


if __name__ == "__main__":
    main()
