"""The package index shows README without the project around it: its links must lead there by themselves."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "tools"))
import absolute_readme

ROOT = absolute_readme.ROOT
LINK = re.compile(r"\]\(([^)\s]+)\)")


def test_links_of_the_project_lead_to_its_home_page() -> None:
    text = absolute_readme.absolute("[a](docs/a.md#b) ![c](docs/c.png)", "https://home.org/")
    assert text == "[a](https://home.org/docs/a.md#b) ![c](https://home.org/docs/c.png)"


def test_addresses_and_places_on_the_page_stay() -> None:
    text = "[a](https://a.org) [b](#b) [c](mailto:c@d.org)"
    assert absolute_readme.absolute(text, "https://home.org") == text


def test_readme_has_no_link_that_needs_the_project() -> None:
    shown = absolute_readme.dynamic_metadata("readme", {})["text"]
    links = LINK.findall(shown)
    assert len(links) == len(LINK.findall((ROOT / "README.md").read_text(encoding="utf-8"))) > 20
    assert [link for link in links if not link.startswith(("https://", "#"))] == []
    assert "<!--" not in shown


def test_another_field_is_refused() -> None:
    with pytest.raises(ValueError, match="expected the field readme"):
        absolute_readme.dynamic_metadata("version", {})
