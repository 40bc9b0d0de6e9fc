"""Sentences know their parameters: other front ends name them in their own words, and pickles keep them."""

import pickle

import pytest

from marginrank.exceptions import ClusterError, MarginRankError, ParameterError, Sentence

KNOWN = {"eps": "--eps", "scale": "--scale"}


class Options:
    """The words of a front end with two options."""

    def name(self, parameter):
        return KNOWN.get(parameter)

    def setting(self, parameter, value, text):
        return f"{KNOWN[parameter]} {value}" if parameter in KNOWN else None


def test_a_sentence_is_python_s_words_as_a_string():
    said = Sentence(
        "Not within {eps=:g} at {n:d}.", "Use a larger {eps}, or {scale='standard'}.", eps=0.5, n=3
    )
    assert said == "Not within eps=0.5 at 3. Use a larger eps, or scale='standard'."


def test_another_front_end_renders_names_and_settings_in_its_own_words():
    said = Sentence("Not within {eps=:g}.", "Use a larger {eps}, or {scale='standard'}.", eps=0.5)
    assert said.render(Options()) == "Not within --eps 0.5. Use a larger --eps, or --scale standard."


def test_a_remedy_that_a_front_end_does_not_have_is_left_out():
    said = Sentence("Found NaN for {X}.", "To keep it, pass {allow=True}.", "Use another {scale}.")
    assert said.render(Options()) == "Found NaN for X. Use another --scale."


def test_values_are_not_read_as_templates():
    said = Sentence("{path!s}: no such file; {eps=}.", path="a{b}.txt", eps="{scale}")
    assert said == "a{b}.txt: no such file; eps='{scale}'."
    assert Sentence.of("{eps}").render(Options()) == "{eps}"


def test_a_value_that_no_field_shows_is_a_mistake():
    with pytest.raises(TypeError, match="shows n"):
        Sentence("{n} rows.", n=3)


def test_a_sentence_tells_its_parameters():
    assert Sentence("{eps=:g}, {n:d}.", "Use {scale='minmax'}.", eps=1, n=2).parameters == {"eps", "scale"}


@pytest.mark.parametrize(
    "error",
    [
        ParameterError("alpha", "a positive number", -1.0, "Use {alpha='auto'}."),
        ParameterError("alpha", "a positive number", -1.0).about(Sentence("{eval_set}: ")),
        ClusterError(Sentence("No answer within {timeout=:g} seconds.", timeout=2.0)),
        MarginRankError("plain {words}"),
    ],
    ids=["parameter", "about", "sentence", "plain"],
)
def test_pickles_keep_sentences_and_parameters(error):
    again = pickle.loads(pickle.dumps(error))
    assert type(again) is type(error)
    assert str(again) == str(error)
    assert (again.parameter, again.value, again.remedies) == (error.parameter, error.value, error.remedies)
    assert again.sentence.render(Options()) == error.sentence.render(Options())


def test_an_error_about_a_value_has_parameter_value_and_remedy_as_data():
    error = ParameterError("alpha", "a positive number", -1.0, "Use {alpha='auto'}.")
    assert (error.parameter, error.value, error.remedies) == ("alpha", -1.0, ("Use alpha='auto'.",))
    assert str(error) == "alpha must be a positive number; got -1.0. Use alpha='auto'."


def test_a_beginning_stays_part_of_the_data():
    error = ParameterError("eps", "positive", 0).about(Sentence("{scale}: "))
    assert error.sentence.render(Options()) == "--scale: --eps must be positive; got 0."


def test_a_note_for_other_front_ends_is_not_in_python_s_words():
    said = Sentence("NaN in row {row:d}{:, counted from 0}.", row=3)
    assert (said, said.render(Options())) == ("NaN in row 3.", "NaN in row 3, counted from 0.")


def test_remedies_and_beginnings_can_be_added():
    said = Sentence("Not within {eps=}.", eps=1).after("a{b}.txt: ").and_then("Use {scale='minmax'}.")
    assert said == "a{b}.txt: Not within eps=1. Use scale='minmax'."
    assert said.render(Options()) == "a{b}.txt: Not within --eps 1. Use --scale minmax."
