"""Ctrl-C at every step of a choice of features: the best so far, or nothing but the interrupt."""

import warnings
from itertools import count

import numpy as np
import pytest

from impatience import PACKAGE, Impatient, any_call
from marginrank import rank_rls_selection
from marginrank.exceptions import InterruptedWarning
from marginrank.paths import chosen_features, feature_selection

N_FEATURES = 3
rng = np.random.default_rng(0)
X = rng.normal(size=(30, 5))
Y = X[:, 2] - 0.7 * X[:, 4] + 0.4 * X[:, 0] + rng.normal(size=30)
ROWS = {"queries": {"qid": np.arange(30) // 5}, "one ranking": {}}
ALPHAS = {"one alpha": 0.1, "auto": "auto"}
CASES = [(rows, alpha) for rows in ROWS for alpha in ALPHAS]


def choose(rows, alpha):
    return rank_rls_selection(X, Y, n_features=N_FEATURES, alpha=alpha, n_jobs=1, **ROWS[rows])


def one_step(code):
    """What counts: features that are added to a model."""
    return code.co_name == "choose" and code.co_filename.startswith(PACKAGE)


def interrupted_at(n, rows, alpha, counts):
    """Return a choice that was interrupted, or None; and whether it came to that."""
    moment = Impatient(n, counts)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", InterruptedWarning)
        try:
            with moment:
                found = choose(rows, alpha)
        except KeyboardInterrupt:
            found = None
    return found, moment.left == 0


def assert_as_at(found, whole):
    """Assert that models and figures are those of the first features of a whole choice."""
    k = len(found)
    assert found.features == whole.features[:k]
    np.testing.assert_array_equal(found.curve, whole.curve[:k])
    for number in range(1, k + 1):
        np.testing.assert_array_equal(found.model(number).coef, whole.model(number).coef)


@pytest.mark.parametrize("rows", ROWS)
def test_the_features_so_far_are_kept(rows):
    whole = choose(rows, 0.1)
    assert whole.status == "finished"
    for n in range(1, N_FEATURES + 1):
        found, _ = interrupted_at(n, rows, 0.1, one_step)
        if n == 1:
            assert found is None
        else:
            assert found.status == "interrupted"
            assert len(found) == n - 1
            assert_as_at(found, whole)


@pytest.mark.parametrize("rows", ROWS)
def test_a_search_keeps_the_best_alpha_so_far(rows):
    wholes = [choose(rows, 10.0**k) for k in range(2, -9, -1)]
    errors = [whole.curve.min() for whole in wholes]
    assert errors[1] < errors[0], "The search has something to find."
    for n in count(1):
        found, happened = interrupted_at(n, rows, "auto", one_step)
        if not happened:
            break
        n_through, n_steps = divmod(n - 1, N_FEATURES)
        if n_through == 0:
            assert (0 if found is None else len(found)) == n_steps
            best = wholes[0]
        else:
            assert len(found) == N_FEATURES
            best = wholes[int(np.argmin(errors[:n_through]))]
        if found is not None:
            assert found.status == "interrupted"
            assert found.alpha == best.alpha
            assert_as_at(found, best)
    assert n > 2 * N_FEATURES
    assert found.status == "finished"


@pytest.mark.parametrize(("rows", "alpha"), CASES)
def test_an_interrupt_anywhere_leaves_whole_models_or_nothing(rows, alpha):
    n, happened, kept = 1, True, 0
    while happened:
        found, happened = interrupted_at(n, rows, ALPHAS[alpha], any_call)
        if found is not None:
            assert_as_at(found, choose(rows, found.alpha))
            kept += happened
        n += 1 + n // 8
    assert kept > 0
    assert found.status == "finished"


@pytest.mark.parametrize("alpha", ALPHAS.values(), ids=ALPHAS)
def test_an_interrupt_while_models_are_made_loses_nothing_but_the_second_one_does(monkeypatch, alpha):
    whole = choose("queries", alpha)
    models_of, calls = feature_selection.models_of, []

    def interrupts(*given):
        calls.append(given)
        if len(calls) == 1:
            raise KeyboardInterrupt
        return models_of(*given)

    monkeypatch.setattr(feature_selection, "models_of", interrupts)
    with pytest.warns(InterruptedWarning, match="interrupted"):
        found = choose("queries", alpha)
    assert (found.status, found.alpha, len(found)) == ("interrupted", whole.alpha, N_FEATURES)
    assert_as_at(found, whole)

    def always_interrupts(*given, **more):
        raise KeyboardInterrupt

    monkeypatch.setattr(chosen_features.ChosenFeatures, "__init__", always_interrupts)
    with pytest.raises(KeyboardInterrupt):
        choose("queries", alpha)


def test_the_warning_says_what_is_returned(monkeypatch):
    from marginrank.training.query_out import QueryOut

    add, left = QueryOut.choose, [N_FEATURES + 1]

    def interrupted(self, column):
        left[0] -= 1
        if left[0] == 0:
            raise KeyboardInterrupt
        add(self, column)

    monkeypatch.setattr(QueryOut, "choose", interrupted)
    with pytest.warns(InterruptedWarning, match="those of the best alpha so far, 100, are returned"):
        choose("queries", "auto")
    left[0] = 2
    with pytest.warns(InterruptedWarning, match="interrupted after 1 of 3; these are returned"):
        choose("queries", "auto")


def test_verbose_tells_of_every_alpha_of_a_search(capsys):
    chosen = rank_rls_selection(X, Y, n_features=N_FEATURES, alpha="auto", verbose=1, **ROWS["queries"])
    lines = [line.split() for line in capsys.readouterr().err.splitlines()]
    assert lines[0] == ["alpha", "features", "error"]
    tried = [float(line[0]) for line in lines[1:]]
    assert tried[: 2 * N_FEATURES] == [100.0] * N_FEATURES + [10.0] * N_FEATURES
    assert chosen.alpha in tried
    assert [int(line[1]) for line in lines[1:]] == [1, 2, 3] * (len(tried) // N_FEATURES)
