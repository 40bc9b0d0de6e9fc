"""The registry of metrics: what is written elsewhere about them is what it says."""

import re
from pathlib import Path

import numpy as np
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


def value_of(name="ndcg", gain="exponential", discount="log2", ties="input", short="pad"):
    """Return what the kernel says of a perfect order."""
    spec = _kernels.MetricSpec(name, 3, 1.0, gain, discount, ties, short, False, 4.0)
    y, ids, value = np.array([2.0, 1.0, 0.0]), np.arange(3), np.full((1, 1), np.nan)
    _kernels.ranking_metrics(y, y, ids, np.array([0, 3]), [spec], value, np.empty(1, dtype=bool), 1)
    return value[0, 0]


@pytest.mark.parametrize("name", FAMILIES)
def test_the_kernel_knows_every_metric_by_its_name(name):
    assert np.isfinite(value_of(name))


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


@pytest.mark.parametrize("option", ["gain", "discount", "ties", "short"])
def test_the_kernel_knows_every_choice_by_its_name(option):
    assert [value_of(**{option: choice}) for choice in CHOICES[option]] == [1.0] * len(CHOICES[option])
