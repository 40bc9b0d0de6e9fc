"""What was slow once, row by row, before and after: three made data sets of each kind, and real ones.

Two installations take turns as in ``side_by_side.py``, each in a process of its own, on one thread. A row has
one of these figures and a goal for it:

    time      CPU time of a whole call, as a part of the time before
    passes    passes over X of a fit
    figure    a ratio or a time that the work measures itself, in the same process

    MARGINRANK_DATA=... python benchmarks/rows.py ../before/.venv/bin/python .venv/bin/python
    python benchmarks/rows.py BEFORE AFTER --only "120 x 100" --seeds 1 --json rows.json
    python benchmarks/rows.py - AFTER --only text          # without a comparison
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parent))

Work = Callable[[], Any]
_SMALL = ((100, 136), 10)


@dataclass(frozen=True)
class Row:
    """A kind of work: its figure, the goal of this, and what makes it from a seed and further arguments."""

    name: str
    kind: str
    goal: float
    make: Callable[..., Work]
    arguments: tuple[Any, ...] = ()
    seeds: int = 3


def _ranker(loss: str, alpha: float) -> Any:
    from marginrank import RankSVM

    return RankSVM(loss, alpha=alpha, scale=None, n_jobs=1)


def _fit(loss: str, alpha: float, X: Any, y: np.ndarray, qid: np.ndarray | None = None) -> Work:
    return lambda: _ranker(loss, alpha).fit(X, y, qid=qid)


def _text(seed: int, n_rows: int, loss: str, alpha: float) -> Work:
    from linear import tf_idf

    return _fit(loss, alpha, *tf_idf(n_rows, seed))


def _first_of_text(seed: int, n_rows: int, loss: str, alpha: float) -> Work:
    """The first rows of a longer text, whose words are weighted as there."""
    from linear import tf_idf

    X, y = tf_idf(8_000, seed)
    return _fit(loss, alpha, X[:n_rows], y[:n_rows])


def _reviews(seed: int, n_rows: int | None, loss: str, alpha: float) -> Work:
    from linear_path import reviews

    X, y = reviews(Path(os.environ["MARGINRANK_DATA"]))
    if n_rows is not None:
        taken = np.sort(np.random.default_rng(seed).permutation(X.shape[0])[:n_rows])
        X, y = X[taken], y[taken]
    return _fit(loss, alpha, X, y)


def _graded(seed: int, shape: tuple[int, int], n_queries: int, loss: str, alpha: float, noise: float) -> Work:
    rng = np.random.default_rng(seed)
    X = rng.standard_normal(shape)
    utility = X @ rng.standard_normal(shape[1]) / np.sqrt(shape[1]) + noise * rng.standard_normal(shape[0])
    y = np.digitize(utility, np.quantile(utility, [0.5, 0.75, 0.9])).astype(float)
    return _fit(loss, alpha, X, y, np.arange(shape[0]) * n_queries // shape[0])


def _at_random(seed: int, loss: str) -> Work:
    rng = np.random.default_rng(seed)
    X, y = rng.standard_normal((120, 100)), rng.integers(0, 3, 120).astype(float)
    return _fit(loss, 1e-4, X, y, np.arange(120) // 12)


def _tiny_queries(seed: int, loss: str) -> Work:
    rng = np.random.default_rng(seed)
    qid = np.repeat(np.arange(1_000_000), rng.integers(2, 4, 1_000_000))
    X, y = rng.standard_normal((len(qid), 5)), rng.integers(0, 3, len(qid)).astype(float)
    return _fit(loss, 1e-4, X, y, qid)


def _raw(seed: int, alpha: float, loss: str) -> Work:
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((96_000, 136))
    utility = X[:, ::2] @ rng.standard_normal(68) / 8 + rng.standard_normal(len(X))
    y = np.digitize(utility, [0.5, 1.2, 1.9, 2.6]).astype(float)
    X *= rng.lognormal(0.0, 2.0, 136)
    return _fit(loss, alpha, X, y, np.arange(len(X)) // 120)


def _raw_letor(seed: int, alpha: float, loss: str) -> Work:
    from marginrank.io import load_letor

    data = load_letor(Path(os.environ["MARGINRANK_DATA"]) / "MQ2008" / f"S{seed + 1}.txt")
    return lambda: _ranker(loss, alpha).fit(data)


def _pairs(seed: int, loss: str) -> Work:
    from linear import tf_idf
    from side_by_side import _pairs as drawn

    X, y = tf_idf(64_000, seed)
    pairs = drawn(y, 1_001_000)[:1_000_000]
    return lambda: _ranker(loss, 2e-5).fit_pairs(X, pairs)


def _least_squares(seed: int) -> Work:
    from linear import tf_idf
    from marginrank import RankRLS

    X, y = tf_idf(64_000, seed)

    def fit(tol: float) -> Any:
        return RankRLS(1e-7, solver="cg", scale=None, n_jobs=1, tol=tol).fit(X, y)

    # Where tol is no gap, as it was once, the first tol that leaves a gap of 1e-3.
    tol = next(tol for tol in (1e-3, 3e-4, 1e-4, 3e-5, 1e-5, 1e-6) if fit(tol).gap_ <= 1e-3)
    return lambda: fit(tol)


def _cpu(work: Work, repeats: int) -> float:
    """Return the least CPU time of a call."""
    best = np.inf
    for _ in range(repeats):
        start = time.process_time()
        work()
        best = min(best, time.process_time() - start)
    return float(best)


def _loss_calls(seed: int, n_levels: int | None) -> Work:
    """Return what times a call of the squared hinge against one of the hinge."""
    from marginrank.data import RankingData
    from marginrank.losses import QUERY_LOSSES

    rng = np.random.default_rng(seed)
    y = rng.standard_normal(512_000) if n_levels is None else rng.integers(0, n_levels, 512_000) * 1.0
    view = RankingData(np.zeros((len(y), 1)), y).training_view()
    losses = [QUERY_LOSSES[name](view, weighting="pairs", n_threads=1) for name in ("hinge", "squared_hinge")]
    scores = y + rng.standard_normal(len(y))
    return lambda: np.divide(*[_cpu(lambda loss=loss: loss.at(scores), 3) for loss in losses[::-1]])


def _pair_calls(seed: int) -> Work:
    """Return what times a call of the hinge over explicit pairs: nanoseconds a pair."""
    from marginrank.data import RankingData
    from marginrank.losses import PREFERENCE_LOSSES

    rng = np.random.default_rng(seed)
    pairs = rng.integers(64_000, size=(1_000_000, 2))
    pairs = pairs[pairs[:, 0] != pairs[:, 1]]
    data = RankingData(np.zeros((64_000, 1)), pairs=pairs)
    loss = PREFERENCE_LOSSES["hinge"](data.training_pairs(), 64_000, n_threads=1)
    scores = rng.standard_normal(64_000)
    return lambda: 1e9 * _cpu(lambda: loss.at(scores), 5) / len(pairs)


def _predictions(seed: int, kind: str) -> Work:
    """Return what times a prediction of 100 rows against the bare product."""
    rng = np.random.default_rng(seed)
    X, y = rng.standard_normal((100, 136)), rng.integers(0, 3, 100).astype(float)
    ranker = _ranker("hinge", 1e-2).fit(X, y)
    model = ranker if kind == "ranker" else ranker.to_model()
    coef = ranker.coef_

    def many(work: Work) -> Work:
        return lambda: [work() for _ in range(2000)]

    return lambda: _cpu(many(lambda: model.predict(X)), 5) / _cpu(many(lambda: X @ coef), 5)


_SKLEARN = "print(sum(name.startswith('sklearn') for name in sys.modules))"
_IMPORTS = {
    "import RankSVM, seconds beside sklearn.base": (
        "import sklearn.base, time; start = time.process_time(); "
        "from marginrank import RankSVM; print(time.process_time() - start)"
    ),
    "import marginrank, modules of scikit-learn": f"import marginrank, sys; {_SKLEARN}",
    "RankingModel, modules of scikit-learn": f"from marginrank import RankingModel; import sys; {_SKLEARN}",
    "--help, modules of scikit-learn": (
        "import sys\nfrom marginrank.cli import main\nsys.argv[1:] = ['--help']\n"
        f"try:\n main()\nexcept SystemExit:\n pass\n{_SKLEARN}"
    ),
}


def _imports(seed: int, what: str) -> Work:
    del seed

    def run() -> float:
        command = [sys.executable, "-c", _IMPORTS[what]]
        return float(subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()[-1])

    return run


def small_rows() -> list[Row]:
    """Return the rows whose work takes less than a second."""
    hinge, squared = "hinge", "squared_hinge"
    return [
        Row("text 400, squared hinge, 2e-5", "time", 1 / 6, _first_of_text, (400, squared, 2e-5)),
        Row("text 1,000, squared hinge, 1e-7", "time", 1 / 16, _first_of_text, (1000, squared, 1e-7)),
        Row("text 1,000, hinge, 1e-7", "time", 1 / 20, _first_of_text, (1000, hinge, 1e-7)),
        Row("IMDB 400, squared hinge, 2e-5", "time", 1 / 6, _reviews, (400, squared, 2e-5)),
        Row("IMDB 1,000, squared hinge, 1e-7", "time", 1 / 16, _reviews, (1000, squared, 1e-7)),
        Row("IMDB 1,000, hinge, 1e-7", "time", 1 / 20, _reviews, (1000, hinge, 1e-7), 1),
        Row("100 x 136, squared hinge, 1e-2", "time", 1 / 3, _graded, (*_SMALL, squared, 1e-2, 0.5)),
        Row("100 x 136, hinge, 1e-2", "time", 1 / 5, _graded, (*_SMALL, hinge, 1e-2, 0.5)),
        Row("100 x 136, squared hinge, 1e-4", "time", 1 / 3, _graded, (*_SMALL, squared, 1e-4, 0.5)),
        Row("100 x 136, hinge, 1e-4", "time", 1 / 5, _graded, (*_SMALL, hinge, 1e-4, 0.5)),
        Row("120 x 100 at random, squared hinge", "passes", 40, _at_random, (squared,)),
        Row("120 x 100 at random, hinge", "passes", 40, _at_random, (hinge,)),
        Row("RankSVM.predict / X @ coef", "figure", 8.0, _predictions, ("ranker",)),
        Row("RankingModel.predict / X @ coef", "figure", 3.0, _predictions, ("model",)),
        *(Row(what, "figure", 0.1 if "seconds" in what else 0.0, _imports, (what,), 1) for what in _IMPORTS),
    ]


def large_rows() -> list[Row]:
    """Return the others."""
    hinge, squared = "hinge", "squared_hinge"
    return [
        Row("1e6 queries of 2-3 rows, hinge", "time", 0.4, _tiny_queries, (hinge,)),
        Row("1e6 queries of 2-3 rows, squared hinge", "time", 0.4, _tiny_queries, (squared,)),
        Row("squared hinge / hinge, 512,000 rows", "figure", 1.35, _loss_calls, (None,)),
        Row("squared hinge / hinge, 512,000 rows, 5 labels", "figure", 1.35, _loss_calls, (5,)),
        Row("20,000 x 4,000, hinge", "passes", 40, _graded, ((20_000, 4000), 400, hinge, 1e-4, 0.5)),
        Row("raw 96,000 x 136, hinge, 1e-6", "passes", 20, _raw, (1e-6, hinge)),
        Row("raw 96,000 x 136, hinge, 1e-8", "passes", 20, _raw, (1e-8, hinge)),
        Row("MQ2008 raw, hinge, 1e-4", "passes", 20, _raw_letor, (1e-4, hinge)),
        Row("MQ2008 raw, hinge, 1e-6", "passes", 20, _raw_letor, (1e-6, hinge)),
        Row("IMDB, hinge, 2e-5", "passes", 14, _reviews, (None, hinge, 2e-5), 1),
        Row("text 64,000, hinge, 1e-8", "passes", 30, _text, (64_000, hinge, 1e-8)),
        Row("text 64,000, squared hinge, 1e-8", "passes", 35, _text, (64_000, squared, 1e-8)),
        Row("RankRLS 64,000, 1e-7, gap 1e-3", "time", 45 / 95, _least_squares),
        Row("1e6 pairs, hinge, ns a pair", "figure", 6.0, _pair_calls),
        Row("1e6 pairs, hinge, fit_pairs", "time", 1.0, _pairs, (hinge,)),
    ]


def rows() -> list[Row]:
    """Return all rows."""
    return [*small_rows(), *large_rows()]


def serve() -> None:
    """Answer requests: a row and a seed, and back what one run took and found."""
    known = {row.name: row for row in rows()}
    asked, work = "", None
    for line in sys.stdin:
        if line != asked:
            work = None  # before the next data are made
            name, seed = line.strip().split("\t")
            work, asked = known[name].make(int(seed), *known[name].arguments), line
            work()
        assert work is not None
        start = time.process_time()
        found = work()
        answer = {"time": time.process_time() - start}
        if hasattr(found, "history_") and found.history_:
            answer |= {"passes": float(found.history_[-1].passes), "gap": float(found.gap_)}
        elif isinstance(found, float):
            answer["figure"] = float(found)
        print(json.dumps(answer), flush=True)


def _start(python: str) -> subprocess.Popen[str]:
    from side_by_side import one_thread

    command = [python, str(Path(__file__).resolve()), "--serve"]
    return subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=one_thread()
    )


def _ask(process: subprocess.Popen[str], request: str) -> dict[str, float] | None:
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(request + "\n")
    process.stdin.flush()
    answer = process.stdout.readline()
    return json.loads(answer) if answer else None


def compare(row: Row, seed: int, pythons: list[str], repeats: int) -> dict[str, Any]:
    """Ask the installations in turn; the median of each, and of the ratio of neighbours."""
    answers: list[list[float]] = [[] for _ in pythons]
    gaps = [0.0 for _ in pythons]
    processes = [_start(python) for python in pythons]
    try:
        for _ in range(1 if row.kind == "passes" else repeats):
            for number, process in enumerate(processes):
                found = _ask(process, f"{row.name}\t{seed}")
                answers[number].append(np.nan if found is None else found[row.kind])
                gaps[number] = np.nan if found is None else found.get("gap", 0.0)
    finally:
        for process in processes:
            process.kill()
            process.wait()
    after = answers[-1]
    before = answers[0] if len(pythons) > 1 else [np.nan] * len(after)
    ratio = float(np.median(np.divide(after, before)))
    figure = ratio if row.kind == "time" else float(np.median(after))
    holds = bool(figure <= row.goal) if np.isfinite(figure) else None
    found = {
        "row": row.name,
        "seed": seed,
        "kind": row.kind,
        "goal": row.goal,
        "holds": holds,
        "ratio": ratio,
    }
    return found | {"before": float(np.median(before)), "after": float(np.median(after)), "gaps": gaps}


def show(found: dict[str, Any]) -> None:
    unit = 1e3 if found["kind"] == "time" else 1.0
    verdict = {True: "holds", False: "MISSES", None: "?"}[found["holds"]]
    print(
        f"{found['row']:46} {found['seed']:>2} {found['kind']:7} {unit * found['before']:10.3f}"
        f" {unit * found['after']:10.3f}  ratio {found['ratio']:6.3f}  goal {found['goal']:6.3f}  {verdict}"
        f"  gap {found['gaps'][-1]:.1e}",
        flush=True,
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("before", nargs="?", help="interpreter of one installation; - for none")
    parser.add_argument("after", nargs="?", help="interpreter of the other")
    parser.add_argument("--only", nargs="+", help="only rows with one of these texts in their name")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--json", type=Path, help="write all figures to this file")
    parser.add_argument("--serve", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.serve:
        serve()
        return
    if options.after is None:
        parser.error("two interpreters are needed")
    pythons = [python for python in (options.before, options.after) if python != "-"]
    everything = []
    for row in rows():
        if options.only and not any(text in row.name for text in options.only):
            continue
        for seed in range(min(options.seeds, row.seeds)):
            everything.append(compare(row, seed, pythons, options.repeats))
            show(everything[-1])
    if options.json is not None:
        options.json.write_text(json.dumps(everything, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
