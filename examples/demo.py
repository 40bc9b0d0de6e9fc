"""A first real job with marginrank, end to end: train, read the certificate, measure on held-out data.

    make demo                    # from a fresh clone
    python examples/demo.py      # with marginrank installed

Nothing is downloaded: one data set ships with scikit-learn, the others are generated. At the end there is a
report to open in a browser, ``demo-report.html`` in the folder where it was started.
"""

from __future__ import annotations

import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit
from sklearn.datasets import load_diabetes
from sklearn.metrics import ndcg_score
from sklearn.model_selection import train_test_split

from marginrank import RankingData, RankRLS, RankSVM, report
from marginrank.datasets import load_sample
from marginrank.metrics import pairwise_error

FIELDS = ("title", "body", "anchor", "url", "all")
STATISTICS = ("tf", "idf", "tfidf", "length", "bm25", "lm_abs", "lm_dir", "lm_jm")
PAGE = ("pagerank", "inlinks", "outlinks", "age", "path_depth", "children")
FEATURES = tuple(f"{field}_{statistic}" for field in FIELDS for statistic in STATISTICS) + PAGE


def main() -> None:
    """Run the three jobs, and write a report."""
    start = time.perf_counter()
    rank_patients()
    rank_search_results()
    rank_from_preferences()
    write_report(Path("demo-report.html"))
    print(f"\nDone in {time.perf_counter() - start:.1f} s.")


def rank_patients() -> None:
    """Learn one global ranking from real-valued labels."""
    title("1. One ranking of real-valued utilities (diabetes data of scikit-learn)")
    X, y = load_diabetes(return_X_y=True)
    X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.25, random_state=0)
    model, seconds = timed(RankSVM(alpha=1e-3, scale="standard", tol=1e-4), X_train, y_train)
    print(f"Rank {len(y_train)} patients by the progress of their disease: {model.n_pairs_:,} pairs.\n")
    show_training([("hinge", model, seconds)])
    best = best_feature(X_train, y_train)
    rng = np.random.default_rng(0)
    print()
    table(
        ("held-out patients", "right pairs"),
        [
            ("RankSVM", f"{model.score(X_test, y_test):.3f}"),
            ("best single feature", f"{1 - pairwise_error(y_test, best(X_test)):.3f}"),
            ("random order", f"{1 - pairwise_error(y_test, rng.random(len(y_test))):.3f}"),
        ],
    )


def rank_search_results() -> None:
    """Learn from labelled queries with both losses, and compare on queries that were held out."""
    title("2. Search results: queries, labels 0 to 4 (generated)")
    X, y, qid = search_results()
    data = RankingData(X, y, qid=qid)
    held_out = data.query_ids[::5]
    in_test = np.isin(qid, held_out)
    train, test = data.subset(~in_test), data.subset(in_test)
    print(f"{train.n_rows:,} rows of {train.n_queries:,} queries to learn from, {test.n_queries} held out.")
    print(f"Query ids are strings, rows are shuffled: {', '.join(qid[:4])}, ...\n")
    models = {
        loss: timed(RankSVM(loss, alpha=1e-4, scale="standard"), train) for loss in ("hinge", "squared_hinge")
    }
    show_training([(loss, model, seconds) for loss, (model, seconds) in models.items()])
    print()
    rankers = {f"RankSVM, {loss}": model.predict(test) for loss, (model, _) in models.items()}
    some = train.subset(np.isin(train.qid, train.query_ids[:300]))
    rankers["best single feature"] = best_feature(some.X, some.y, some.qid)(test.X)
    rankers["random order"] = np.random.default_rng(0).random(test.n_rows)
    table(
        ("held-out queries", "right pairs", "NDCG@10"),
        [
            (name, f"{1 - pairwise_error(test.y, s, qid=test.qid):.3f}", f"{mean_ndcg(test, s):.3f}")
            for name, s in rankers.items()
        ],
    )
    show_features(models["hinge"][0], train)


def rank_from_preferences() -> None:
    """Learn from pairs of row numbers, winner first."""
    title("3. Bare preferences: A beat B, and nothing else is known (generated)")
    X, utility, pairs = comparisons(n_items=400, n_pairs=6_000)
    learn, test = pairs[:5_000], pairs[5_000:]
    start = time.perf_counter()
    model = RankSVM(alpha=1e-3).fit_pairs(X, learn)
    print(f"{len(X)} items, {len(learn):,} comparisons by a judge who errs.\n")
    show_training([("hinge", model, time.perf_counter() - start)])
    scores = model.predict(X)
    print()
    table(
        ("held-out comparisons", "right pairs"),
        [
            ("RankSVM", f"{right_pairs(scores, test):.3f}"),
            ("the utility behind the judge", f"{right_pairs(utility, test):.3f}"),
        ],
    )
    agreement = 1 - pairwise_error(utility, scores)
    print(f"\nOf all pairs of items, {agreement:.1%} come out in the order of that utility.")


def write_report(file: Path) -> None:
    """Train two rankers on the sample collection, and write the page that compares them."""
    title("4. A report to open: two rankers on 60 queries of the sample collection")
    train, validation, test = load_sample()
    models = {"RankRLS": RankRLS("auto").fit(train), "RankSVM": RankSVM(alpha="auto").fit(train)}
    report.write(file, models, train=train, validation=validation, test=test, metrics=["ndcg@10", "map"])
    print("Data, certificates, metrics with intervals, every alpha on a slider, weights,")
    print(f"and the rankings of single queries: open {file} in a browser.")


def search_results(n_queries: int = 2_000, seed: int = 0) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
    """Generate features, labels 0 to 4 and string query ids, with the rows in random order."""
    rng = np.random.default_rng(seed)
    sizes = rng.integers(60, 141, n_queries)
    query = np.repeat(np.arange(n_queries), sizes)
    n_rows = len(query)
    topical, quality = rng.normal(size=(2, n_rows))
    X = np.empty((n_rows, len(FEATURES)))
    for k, name in enumerate(FEATURES):
        signal = quality if name in PAGE else topical
        share = rng.uniform(0.1, 0.6)
        X[:, k] = share * signal + (1 - share) * rng.normal(size=n_rows) + rng.normal(size=n_queries)[query]
        if name.endswith("_idf"):  # a property of the query alone
            X[:, k] = rng.gamma(3.0, 2.0, n_queries)[query]
        elif name.endswith(("_tf", "length", "links")):  # counts, skewed
            X[:, k] = np.floor(np.exp(1.5 + 0.7 * X[:, k]))
    # Some queries have many relevant results, some none.
    noise = 0.7 * rng.normal(size=n_rows) + 0.5 * rng.normal(size=n_queries)[query]
    utility = topical + 0.5 * quality + noise
    y = np.digitize(utility, [1.2, 2.0, 2.8, 3.6])
    order = rng.permutation(n_rows)
    qid = np.array([f"q{number:04d}" for number in rng.permutation(n_queries)])
    return X[order], y[order], qid[query[order]]


def comparisons(n_items: int, n_pairs: int) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
    """Generate items, their utility, and pairs (winner, loser) that follow it by a logistic chance."""
    rng = np.random.default_rng(1)
    X = rng.normal(size=(n_items, 8))
    utility = X @ rng.normal(size=8)
    pairs = rng.integers(n_items, size=(2 * n_pairs, 2))
    pairs = pairs[pairs[:, 0] != pairs[:, 1]][:n_pairs]
    second_wins = rng.random(n_pairs) > expit(utility[pairs[:, 0]] - utility[pairs[:, 1]])
    pairs[second_wins] = pairs[second_wins, ::-1]
    return X, utility, pairs


def timed(model: RankSVM, *data: Any) -> tuple[RankSVM, float]:
    """Fit a model and return it with the seconds that took."""
    start = time.perf_counter()
    model.fit(*data)
    return model, time.perf_counter() - start


def best_feature(X: NDArray[Any], y: NDArray[Any], qid: NDArray[Any] | None = None) -> Any:
    """Return the ranker that sorts by one feature, up or down: the best one on these rows."""
    right = np.array([1 - pairwise_error(y, column, qid=qid) for column in X.T])
    best = int(np.argmax(np.abs(right - 0.5)))
    sign = 1.0 if right[best] >= 0.5 else -1.0
    return lambda rows: sign * rows[:, best]


def mean_ndcg(data: RankingData, scores: NDArray[Any]) -> float:
    """Return NDCG@10 by scikit-learn, averaged over the queries that have a relevant row."""
    order = np.arange(data.n_rows) if data.order is None else data.order
    values = [
        ndcg_score([data.y[rows]], [scores[rows]], k=10)
        for rows in np.split(order, data.query_ptr[1:-1])
        if data.y[rows].any()
    ]
    return float(np.mean(values))


def right_pairs(scores: NDArray[Any], pairs: NDArray[Any]) -> float:
    """Return the share of pairs whose winner has the higher score."""
    return float(np.mean(scores[pairs[:, 0]] > scores[pairs[:, 1]]))


def show_training(runs: Iterable[tuple[str, RankSVM, float]]) -> None:
    """Show what each run proved: the objective, the lower bound of the optimum, the gap between them."""
    rows = []
    for loss, model, seconds in runs:
        last = model.history_[-1]
        rows.append(
            (
                loss,
                f"{model.n_pairs_:,}",
                f"{model.objective_:.6f}",
                f"{last.bound:.6f}",
                f"{model.gap_:.1e}",
                f"{last.passes:.1f}",
                f"{seconds:.2f}",
            )
        )
    table(("loss", "pairs", "objective", "lower bound", "gap", "passes", "seconds"), rows)


def show_features(model: RankSVM, data: RankingData, n_shown: int = 5) -> None:
    """Show the features that move the scores most: coefficient times the feature's own spread."""
    effect = model.coef_ * data.X.std(axis=0)
    print()
    table(
        ("feature", "coefficient", "per std. dev."),
        [
            (FEATURES[k], f"{model.coef_[k]:.4f}", f"{effect[k]:.3f}")
            for k in np.argsort(-np.abs(effect))[:n_shown]
        ],
    )
    idf = [k for k, name in enumerate(FEATURES) if name.endswith("_idf")]
    print(f"\nThe {len(idf)} idf features are the same for all rows of a query, so they cannot rank:")
    print(f"their largest coefficient is {np.abs(model.coef_[idf]).max():.1e}.")


def title(text: str) -> None:
    """Print an underlined heading."""
    print(f"\n{text}\n{'=' * len(text)}")


def table(header: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> None:
    """Print columns of one width each, the first to the left and the others to the right."""
    lines = [header, *rows]
    widths = [max(len(line[k]) for line in lines) for k in range(len(header))]
    for line in lines:
        numbers = (cell.rjust(width) for cell, width in zip(line[1:], widths[1:], strict=True))
        print("  ".join((line[0].ljust(widths[0]), *numbers)))


if __name__ == "__main__":
    main()
