"""The documentation site in a real browser: its search without a network, a phone, and no request outside."""

from pathlib import Path

import pytest

from limits import HANG

SITE = Path(__file__).parents[2] / "build" / "docs" / "html"


@pytest.fixture
def site():
    """Return the folder of the site."""
    if not (SITE / "index.html").exists():
        pytest.skip("The site is not there; make docs builds it.")
    return SITE


def test_the_search_works_from_files_without_a_network(browser, site):
    from selenium.webdriver.support.ui import WebDriverWait

    browser.open((site / "search.html").as_uri() + "?q=suggest_pairs")
    found = "return [...document.querySelectorAll('#search-results li a')].map((e) => e.getAttribute('href'))"
    links = WebDriverWait(browser.driver, HANG).until(lambda driver: driver.execute_script(found))
    assert any("judging" in link for link in links)


@pytest.mark.parametrize(
    "page", ["index.html", "docs/report.html", "reference/marginrank.html", "reference/commands.html"]
)
@pytest.mark.parametrize("width", [375, 1200])
def test_pages_fit_the_window_and_ask_for_nothing_outside(browser, site, page, width):
    browser.open((site / page).as_uri(), width=width)
    assert browser.run("return document.documentElement.scrollWidth <= window.innerWidth")
    assert all(url.startswith(("file:", "data:")) for url in browser.requests())
    assert browser.run("return [...document.images].every((one) => one.naturalWidth > 0)")
