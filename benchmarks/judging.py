"""How much 100 answers teach, by which questions are asked; and how long it takes to learn from one more.

5,000 items with 30 features of ``make_ranking`` (5 of them matter, utilities without noise), 10% of the
answers turned round. The share of 20,000 other pairs in their true order, for questions of ``suggest_pairs``
as ``marginrank judge`` asks them, and for questions drawn blindly. Goals: .90, and .05 more than blindly::

    python benchmarks/judging.py --seeds 20              # 100 to 119
    python benchmarks/judging.py --seeds 20 --first 200
"""

from __future__ import annotations

import argparse
from time import perf_counter, process_time

import numpy as np

from marginrank.datasets import make_ranking
from marginrank.judging.answers import Judgement
from marginrank.judging.learning import learn
from marginrank.judging.session import FIRST_AT_RANDOM
from marginrank.judging.suggestion import RANDOM_SHARE, next_pair
from results import Result, add_save_option

N_ITEMS, N_FEATURES, N_ANSWERS, WRONG = 5000, 30, 100, 0.1


def simulate(seed: int, share: float) -> tuple[float, float]:
    """Return the share of true pairs in the right order, and the CPU seconds of the last refit."""
    X, y, _ = make_ranking(1, N_ITEMS, N_FEATURES, n_levels=None, noise=0.0, random_state=seed)
    rng = np.random.default_rng(1000 + seed)
    answers: list[Judgement] = []
    known: set[tuple[int, int]] = set()
    found = None
    seconds = 0.0
    for k in range(N_ANSWERS):
        blind = found is None or k < FIRST_AT_RANDOM or rng.random() < share
        a, b = next_pair(rng, N_ITEMS, None if blind else found[0].scores, known)
        known.add((min(a, b), max(a, b)))
        if (y[a] < y[b]) != (rng.random() < WRONG):
            a, b = b, a
        answers.append(Judgement(a, b, "win", "random" if blind else "suggested", "me"))
        if share < 1.0 or k == N_ANSWERS - 1:
            started = process_time()
            found = learn(X, answers, start=None if found is None else found[1], test=False)
            seconds = process_time() - started
    pairs = rng.integers(0, N_ITEMS, (20_000, 2))
    pairs = pairs[pairs[:, 0] != pairs[:, 1]]
    scores = found[0].scores
    agree = (scores[pairs[:, 0]] > scores[pairs[:, 1]]) == (y[pairs[:, 0]] > y[pairs[:, 1]])
    return float(agree.mean()), seconds


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--first", type=int, default=100, help="the penalty was chosen on seeds 0 to 19")
    add_save_option(parser)
    given = parser.parse_args()
    result = Result("judging", {}, f"{given.seeds} seeds that the penalty was not chosen on, and others.")
    asked, blind, error, refit_ms = compare(range(given.first, given.first + given.seeds))
    if given.save:
        seeds = {"low": asked.min(), "high": asked.max()}
        gain = np.mean(asked - blind)
        result.add("chosen", right=asked.mean(), right_seeds=seeds, gain=gain, gain_error=error)
        result.add("refit", ms=refit_ms)
        result.add("blind", right=blind.mean())
        asked, blind, error, _ = compare(range(given.first + 100, given.first + 100 + given.seeds))
        result.add("fresh", right=asked.mean(), gain=np.mean(asked - blind), gain_error=error)
        result.save()
    time_one_refit()


def compare(seeds: range) -> tuple[np.ndarray, np.ndarray, float, float]:
    """Print what both ways to ask bring, and return it.

    The shares of both by seed, the standard error of the difference and CPU milliseconds of a refit.
    """
    asked, refits = np.array([simulate(seed, RANDOM_SHARE) for seed in seeds]).T
    blind = np.array([simulate(seed, 1.0)[0] for seed in seeds])
    print(f"true pairs in order after {N_ANSWERS} answers, mean of {len(seeds)} seeds (least, largest)")
    for name, values in (("suggest_pairs", asked), ("drawn blindly", blind)):
        print(f"  {name}  {values.mean():.3f} ({values.min():.3f}, {values.max():.3f})")
    error = float(np.std(asked - blind, ddof=1)) / len(seeds) ** 0.5 if len(seeds) > 1 else float("nan")
    print(f"  difference     {np.mean(asked - blind):+.3f} (standard error {error:.3f})")
    print(f"refit at {N_ITEMS} x {N_FEATURES}: {1000 * np.median(refits):.0f} ms of CPU time (goal: 300 ms)")
    return asked, blind, error, 1000 * float(np.median(refits))


def time_one_refit() -> None:
    """Print what it takes to learn from one more answer."""
    X, _, _ = make_ranking(1, N_ITEMS, N_FEATURES, n_levels=None, noise=0.0, random_state=0)
    rng = np.random.default_rng(0)
    answers = [Judgement(*map(int, rng.choice(N_ITEMS, 2, False)), "win", "random", "me") for _ in range(100)]
    started = perf_counter(), process_time()
    learn(X, answers)
    passed = perf_counter() - started[0], process_time() - started[1]
    print(
        f"with the held-out estimate: {1000 * passed[1]:.0f} ms of CPU time, {1000 * passed[0]:.0f} ms passed"
    )


if __name__ == "__main__":
    main()
