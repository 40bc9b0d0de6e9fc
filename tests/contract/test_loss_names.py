"""The registries are the only list of losses: what is registered is taken everywhere, by its name alone."""

from importlib import import_module

import numpy as np
import pytest

from marginrank import KernelRankSVM, RankSVM
from marginrank.exceptions import MarginRankError
from marginrank.losses import PREFERENCE_LOSSES, QUERY_LOSSES, SquaredHingeLoss, SquaredHingePreferences
from marginrank.paths import rank_path

RNG = np.random.default_rng(0)
X = RNG.normal(size=(60, 3))
Y = RNG.integers(0, 3, 60)
QID = np.arange(60) // 10
PAIRS = [[0, 1], [2, 3], [5, 4], [7, 9]]


class MadeUpLoss(SquaredHingeLoss):
    """A loss that nothing but the registries knows of."""

    name = "made_up"


class MadeUpPreferences(SquaredHingePreferences):
    name = "made_up"


@pytest.fixture
def made_up(monkeypatch):
    monkeypatch.setitem(QUERY_LOSSES, "made_up", MadeUpLoss)
    monkeypatch.setitem(PREFERENCE_LOSSES, "made_up", MadeUpPreferences)


def test_a_registered_loss_is_taken_by_rankers_and_paths(made_up):
    for given in ({"y": Y, "qid": QID}, {"pairs": PAIRS}):
        assert rank_path(X, **given, loss="made_up", eps=0.1).status_ == "finished"
    model = RankSVM("made_up", alpha=0.1).fit(X, Y, qid=QID)
    assert np.array_equal(model.coef_, RankSVM("squared_hinge", alpha=0.1).fit(X, Y, qid=QID).coef_)
    assert RankSVM("made_up", alpha=0.1).fit_pairs(X, PAIRS).gap_ <= 1e-3


@pytest.mark.parametrize("name", QUERY_LOSSES)
def test_every_loss_trains_in_every_ranker(name):
    assert KernelRankSVM(loss=name, alpha=0.1, n_components=8, random_state=0).fit(X, Y, qid=QID).gap_ <= 1e-3
    assert RankSVM(name, alpha=0.1).fit(X, Y, qid=QID).gap_ <= 1e-3
    assert rank_path(X, Y, qid=QID, loss=name, eps=0.1).gap_at(0.05) <= 0.1


@pytest.mark.parametrize("name", ["train", "tune", "path"])
def test_the_command_line_offers_every_loss(name):
    command = getattr(import_module(f"marginrank.cli.commands.{name}"), name)
    (choice,) = (option.type for option in command.params if option.name == "loss")
    assert set(choice.choices) >= QUERY_LOSSES.keys()


@pytest.mark.parametrize("use", [lambda: RankSVM("log").fit(X, Y), lambda: rank_path(X, Y, loss="log")])
def test_another_name_is_refused_with_all_that_there_are(use):
    with pytest.raises(MarginRankError, match="one of " + ", ".join(map(repr, QUERY_LOSSES))):
        use()
