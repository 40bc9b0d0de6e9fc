"""Draw what rankers and comparisons show of themselves: a search, weights, a comparison, a learning curve.

    python examples/plot_pictures.py      # writes search, intervals, comparison and learning-curve.png

into docs/images. Needs matplotlib.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from marginrank import RankingData, RankRLS, RankSVM, coefficient_intervals, rank_path
from marginrank.comparison import compare
from marginrank.datasets import make_ranking
from marginrank.model_selection import learning_curve

TARGET = Path(__file__).parents[1] / "docs" / "images"
NAMES = ["bm25", "title", "anchor", "page rank", "clicks", "age", "length", "links", "depth", "language"]


def data(seed: int, n_queries: int = 200) -> RankingData:
    """Return queries of ten columns, five of which matter; the seed of the weights is the same."""
    X, y, qid = make_ranking(n_queries=400, rows_per_query=12, n_features=10, noise=1.0, random_state=7)
    first = seed * n_queries
    rows = RankingData(X, y, qid=qid, feature_names=NAMES)
    return rows.subset((rows.qid >= first) & (rows.qid < first + n_queries))


def main() -> None:
    """Draw all of them."""
    train, test = data(0), data(1)
    write("search", RankRLS(alpha="auto").fit(train).plot_search())
    few = train.subset(train.qid < 40)
    write("intervals", coefficient_intervals(RankSVM("squared_hinge", alpha=0.01), few).plot())
    write("learning-curve", learning_curve(RankSVM(alpha=0.1), train).plot())
    scores = [RankSVM(alpha=0.1).fit(rows).predict(test) for rows in (train.subset(train.qid < 10), train)]
    metrics = ["ndcg@10", "map", "pairwise_error"]
    write("comparison", compare(test.y, *scores, qid=test.qid, metrics=metrics, random_state=0).plot())
    path = rank_path(few)
    path.select(test, metric="ndcg@10")
    write("linear-path", path.plot())


def write(name: str, figure: Any) -> None:
    """Write a picture."""
    figure.savefig(TARGET / f"{name}.png", dpi=80, pil_kwargs={"optimize": True})
    print(f"Wrote {name}.png.")


if __name__ == "__main__":
    main()
