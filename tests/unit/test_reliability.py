"""The figures of docs/reliability.md hold, and every kernel has an oracle that is there."""

import pytest

from marginrank import _kernels
from reliability import COUNTS, HEADERS, ORACLES, ROOT, headers_under_test, page_figures


def test_the_page_states_each_figure_once():
    assert sorted(page_figures()) == sorted(COUNTS)


@pytest.mark.parametrize("what", COUNTS)
def test_there_is_at_least_what_the_page_says(what):
    assert COUNTS[what]() >= page_figures()[what]


def test_every_compiled_kernel_has_an_oracle():
    compiled = {
        name
        for name, member in vars(_kernels).items()
        if getattr(member, "__module__", "").startswith("marginrank._native")
    }
    assert set(ORACLES) == compiled - {"has_wide_registers"}
    assert [place for place in ORACLES.values() if not (ROOT / place).exists()] == []


def test_every_kernel_header_is_compiled_into_a_test_under_sanitizers():
    assert {path.name for path in HEADERS.iterdir()} - headers_under_test() == set()
