"""The registry of metrics: what is written elsewhere about them is what it says."""

import re
from pathlib import Path

import pytest

from marginrank import _kernels
from marginrank.metrics import Metric, parse_metric
from marginrank.metrics.families import CHOICES, DEFAULTS, FAMILIES, FLAVOR_NAMES

PAGE = Path(__file__).resolve().parents[3] / "docs" / "metrics.md"


def documented():
    """Return metric, options and meaning of each row of the table in the documentation."""
    rows = re.findall(
        r"^\| `(\w+)(@k)?` \|[^|]*\| ([^|]*) \| ([^|]*) \|$", PAGE.read_text(encoding="utf-8"), re.M
    )
    return {name: (bool(cutoff), options, what) for name, cutoff, options, what in rows if name in FAMILIES}


def test_the_table_of_metrics_is_the_registry():
    assert documented() == {
        name: (family.cutoff == "required", ", ".join(family.options), family.what)
        for name, family in FAMILIES.items()
    }


@pytest.mark.parametrize("name", FAMILIES)
def test_the_kernel_knows_every_metric_by_its_name(name):
    _kernels.MetricSpec(name, 0, 1.0, "exponential", "log2", "input", "pad", False, 4.0)


@pytest.mark.parametrize("name", FAMILIES)
def test_every_alias_is_that_of_one_metric(name):
    family = FAMILIES[name]
    cutoff = "@3" if family.cutoff == "required" else ""
    assert all(parse_metric(alias + cutoff).name == name for alias in family.aliases)


def test_options_and_flavors_are_those_that_exist():
    for name, family in FAMILIES.items():
        assert set(family.options) <= set(DEFAULTS)
        for flavor, changes in family.flavors.items():
            assert flavor in FLAVOR_NAMES
            assert set(changes) <= set(family.options)
            Metric(name, cutoff=3 if family.cutoff == "required" else None, **changes)


def test_the_kernel_knows_every_choice_by_its_name():
    for option, place in {"gain": 3, "discount": 4, "ties": 5, "short": 6}.items():
        arguments = ["ndcg", 0, 1.0, "exponential", "log2", "input", "pad", False, 4.0]
        for choice in CHOICES[option]:
            arguments[place] = choice
            _kernels.MetricSpec(*arguments)
