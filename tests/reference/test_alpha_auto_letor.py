"""alpha="auto" on search data: as good as the best of a grid whose alphas are solved separately.

The data are those of test_real_data.py; ``benchmarks/alpha_auto.py`` has the table for further metrics.
"""

import numpy as np
import pytest
from test_real_data import letor

from marginrank import KernelRankSVM, RankingData, RankSVM, StructuredRankSVM
from marginrank.metrics import evaluate

METRIC, BEHIND = "ndcg@10", 0.005


def fold_of(folder, fold):
    """Return the training and the validation part of a LETOR fold."""
    parts = [(fold + k - 1) % 5 + 1 for k in range(4)]
    train, held = letor(folder, *parts[:3]), letor(folder, parts[3])
    return RankingData(*train[:2], qid=train[2]), RankingData(*held[:2], qid=held[2])


def figure(model, held):
    return evaluate(held.y, model.predict(held.X), qid=held.qid, metrics=METRIC)[METRIC]


def check(make, train, held):
    auto = make(alpha="auto", metric=METRIC).fit(train, eval_set=held)
    grid = auto.alphas_[0] * np.logspace(0, -8, 21)  # the search itself ends where it no longer pays
    best = max(figure(make(alpha=alpha).fit(train), held) for alpha in grid)
    assert figure(auto, held) == pytest.approx(auto.best_score_, abs=1e-12)
    assert auto.best_score_ >= best - BEHIND
    assert auto.gap_ <= 1e-3


@pytest.mark.parametrize("fold", range(1, 6))
@pytest.mark.parametrize("name", ["MQ2008", "OHSUMED"])
def test_ranksvm_finds_as_good_an_alpha_as_a_grid(real_data, name, fold):
    check(RankSVM, *fold_of(real_data / name, fold))


@pytest.mark.parametrize(
    "make",
    [
        lambda **p: StructuredRankSVM("ndcg@10", **p),
        lambda **p: KernelRankSVM(n_components=100, random_state=0, **p),
    ],
    ids=["structured", "kernel"],
)
@pytest.mark.parametrize("name", ["MQ2008", "OHSUMED"])
def test_other_rankers_find_as_good_an_alpha_as_a_grid(real_data, make, name):
    check(make, *fold_of(real_data / name, 1))
