"""Wrong values for every parameter of every public name: a sane result, or a sentence that names it."""

from __future__ import annotations

import contextlib
import io

import pytest
from bad_values import WRONG_VALUES
from base_calls import NOT_CALLED, calls, parameters_of, public_names
from verdicts import complaint, limits

PUBLIC = {name: function for name, function in public_names() if parameters_of(function)}
SKIPPED = {name for names in NOT_CALLED.values() for name in names}
CALLED = [name for name in PUBLIC if name not in SKIPPED]
# Sentences about a line of a file that does not fit the parameter: they name the line.
ABOUT_LINES = {("io.load_pairs", "ids"), ("io.load_pairs", "n_rows")}


@pytest.fixture(scope="module")
def valid_calls(tmp_path_factory):
    return calls(tmp_path_factory.mktemp("calls"))


@pytest.fixture(autouse=True)
def elsewhere(tmp_path, monkeypatch):
    """Relative paths among the values are files of a folder that is thrown away."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MPLBACKEND", "agg")


def test_every_public_name_is_called_or_says_why_not(valid_calls):
    assert set(valid_calls) | SKIPPED == set(PUBLIC)
    assert not set(valid_calls) & SKIPPED


def test_there_are_many_wrong_values():
    assert len(WRONG_VALUES) >= 70


@pytest.mark.parametrize("name", CALLED)
def test_valid_calls_are_accepted(name, valid_calls):
    for call in valid_calls[name]:
        assert complaint(call.function, dict(call.valid), next(iter(call.valid), "nothing")) is None


@pytest.mark.parametrize("name", CALLED)
def test_wrong_values_are_taken_or_refused_in_a_sentence_that_names_the_parameter(name, valid_calls):
    found = {}
    for parameter in parameters_of(PUBLIC[name]):
        for call in valid_calls[name]:
            if call.about is not None and parameter not in call.about:
                continue
            for value, make in WRONG_VALUES.items():
                with limits(), contextlib.redirect_stderr(io.StringIO()):
                    wrong = complaint(call.function, {**call.valid, parameter: make()}, parameter)
                if wrong is not None and not (
                    (name, parameter) in ABOUT_LINES and wrong.startswith("does not name")
                ):
                    found.setdefault(f"{parameter}: {wrong}", []).append(value)
    assert found == {}
