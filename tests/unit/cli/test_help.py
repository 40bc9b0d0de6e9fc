"""Options stand in groups, and each is declared in one place."""

import inspect

import click
import pytest

from marginrank import estimators, paths
from marginrank.choices import KernelName
from marginrank.cli.app import COMMANDS
from marginrank.cli.app import cli as commands
from marginrank.cli.command import GROUPS, MOST_USED, Command, Option, option
from marginrank.cli.options.methods import METHODS
from marginrank.feature_maps.kernel_columns import KERNELS


def command(name):
    return commands.get_command(click.Context(commands), name)


def help_of(name):
    found = command(name)
    return found.get_help(click.Context(found, info_name=name, max_content_width=100, terminal_width=100))


@pytest.mark.parametrize("name", COMMANDS)
def test_every_option_has_a_group(name):
    found = command(name)
    assert isinstance(found, Command)
    assert all(isinstance(one, Option) for one in found.params if isinstance(one, click.Option))


@pytest.mark.parametrize("name", COMMANDS)
def test_the_groups_are_in_the_help_in_their_order_and_hold_every_option_once(name):
    text = help_of(name)
    headings = [line.rstrip(":") for line in text.splitlines() if line.rstrip(":") in GROUPS]
    assert headings == [group for group in GROUPS if group in headings]
    for one in command(name).params:
        if isinstance(one, click.Option):
            longest = max(one.opts, key=len)
            rows = [line.split() for line in text.splitlines() if line.startswith("  -")]
            assert sum(longest in row[:2] for row in rows) == 1, longest


def test_train_shows_the_ten_options_that_people_need_first():
    text = help_of("train")
    first = text.split(f"{MOST_USED}:")[1].split("\n\n")[0]
    assert sum(line.startswith("  -") for line in first.splitlines()) == 10
    assert "--alpha" in first
    assert "--validate" in first


def test_an_option_needs_a_known_group():
    with pytest.raises(ValueError, match="group must be one of Most used"):
        option("--new", group="Nowhere")(lambda new: None)


def test_parameters_of_methods_are_parameters_of_some_estimator_or_path():
    known = {*inspect.signature(paths.kernel_rank_path).parameters}
    for name in METHODS.values():
        known |= set(inspect.signature(getattr(estimators, name)).parameters)
    known.add("non_negative")  # bounds, in other words
    groups = {"Model", "Structured ranking (--target)", "Kernels (--kernel)"}
    for name in ("train", "tune", "path"):
        for one in command(name).params:
            if getattr(one, "group", None) in groups:
                assert one.name in known, one.name


def test_kernels_of_the_command_line_are_those_of_the_registry():
    assert set(KERNELS) == set(KernelName.__args__)
