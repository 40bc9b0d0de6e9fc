"""Reports in a real browser: sorting, searching, the slider, light and dark, a phone, no request."""

import re
import shutil
import subprocess
from itertools import pairwise

import numpy as np
import pytest

from marginrank import RankingData, RankRLS, RankSVM, report
from marginrank.datasets import make_ranking

HOSTILE = [
    "<script>window.hit=1</script>",
    "\"'><img src=x onerror='window.hit=1'>",
    "\u202egnp.exe",
    "x" * 10_000,
    "שלום",
]


def data_of(seed, n_queries=70):
    X, y, qid = make_ranking(n_queries=n_queries, rows_per_query=8, n_features=6, random_state=seed)
    return RankingData(X, y, qid=[f"q{k:03d}" for k in qid])


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    """Return the address of a report with everything in it."""
    train, test, vali = (data_of(seed) for seed in range(3))
    models = {"a.mrk": RankSVM(alpha=0.01).fit(train), "b.mrk": RankRLS(alpha=100.0).fit(train)}
    file = tmp_path_factory.mktemp("page") / "r.html"
    report.write(
        file, models, train=train, test=test, validation=vali, metrics=["ndcg@10", "map"], n_resamples=99
    )
    return file.as_uri()


def test_no_request_leaves_the_page_and_nothing_is_complained_of(browser, page):
    browser.open(page)
    assert browser.requests() == [page]
    assert browser.complaints() == []


def test_the_policy_stops_scripts_and_requests_that_are_not_ours(browser, page):
    browser.open(page)
    browser.run(
        "const s = document.createElement('script'); s.textContent = 'window.hit = 1';"
        "const i = document.createElement('img'); i.src = 'https://example.com/x.png';"
        "document.body.append(s, i);"
    )
    assert browser.run("return window.hit === undefined")
    assert browser.requests() == [page]
    assert any("Content Security Policy" in one for one in browser.complaints())


def test_a_press_on_a_head_sorts_queries_both_ways_by_mouse_and_keyboard(browser, page):
    browser.open(page)
    head = browser.find("#query-table thead th:nth-child(5) button")
    head.click()
    down = [float(one) for one in browser.texts("#query-table tbody td:nth-child(5)")]
    assert down == sorted(down, reverse=True)
    assert down[0] > 0
    head.send_keys("\ue007")
    up = [float(one) for one in browser.texts("#query-table tbody td:nth-child(5)")]
    assert up == sorted(up)
    assert up[0] < 0
    assert browser.run("return arguments[0].parentNode.getAttribute('aria-sort')", head) == "ascending"


def test_tables_of_figures_are_sorted_by_number(browser, page):
    browser.open(page)
    browser.find("#weights table thead th:nth-child(4) button").click()
    values = [
        float(one)
        for one in browser.texts(
            "#weights article td:nth-child(4), #weights div:nth-of-type(1) td:nth-child(4)"
        )
    ]
    assert len(values) > 3
    assert values == sorted(values, reverse=True)


def test_queries_are_found_by_id_and_shown_page_by_page(browser, page):
    browser.open(page)
    assert len(browser.texts("#query-table tbody tr")) == 50
    browser.find("#query-next").click()
    assert browser.texts("#query-place") == ["51 to 70 of 70"]
    browser.find("#query-search").send_keys("Q01")
    assert browser.texts("#query-table tbody th") == [f"q01{k}" for k in range(10)]
    browser.find("#query-search").send_keys("zz")
    assert browser.texts("#query-place") == ["No query has this id"]


def test_the_slider_moves_figures_weights_and_curves_together(browser, page):
    browser.open(page)
    block = browser.run("return JSON.parse(document.getElementById('path-data').textContent)")
    slider = browser.find("#alpha")
    slider.send_keys("\ue010")  # End: the smallest alpha
    assert browser.texts("#path-figures td") == block["texts"][-1]
    assert [float(one) for one in browser.texts("[data-weight]")] == block["values"][-1]
    places = browser.run(
        "return [...document.querySelectorAll('.cursor')].map((e) => Number(e.getAttribute('x1')))"
    )
    slider.send_keys("\ue011")  # Home: the largest
    assert browser.texts("#path-figures td") == block["texts"][0]
    left = browser.run(
        "return [...document.querySelectorAll('.cursor')].map((e) => Number(e.getAttribute('x1')))"
    )
    assert len(left) == 2
    assert all(a < b for a, b in zip(left, places, strict=True))
    texts = block["texts"][0]
    assert slider.get_attribute("aria-valuetext") == f"alpha {texts[0]}, ndcg@10 {texts[3]}"


def test_another_metric_changes_the_table_of_queries(browser, page):
    browser.open(page)
    before = browser.texts("#query-table tbody td:nth-child(3)")
    browser.find("#query-metric option[value='map']").click()
    block = browser.run("return JSON.parse(document.getElementById('query-data').textContent)")
    after = browser.texts("#query-table tbody td:nth-child(3)")
    assert after != before
    assert after == [f"{value:.4f}" for value in block["values"]["map"][0][:50]]


def test_dark_is_dark_and_a_phone_does_not_scroll_sideways(browser, page):
    colours = []
    for dark in (False, True):
        browser.open(page, width=375, height=800, dark=dark)
        colours.append(browser.run("return getComputedStyle(document.body).backgroundColor"))
        assert browser.run("return document.documentElement.scrollWidth <= window.innerWidth")
    assert colours == ["rgb(255, 255, 255)", "rgb(20, 23, 27)"]


@pytest.mark.parametrize("dark", [False, True])
@pytest.mark.parametrize("width", [375, 1100])
def test_axe_finds_nothing_wrong(browser, page, width, dark):
    browser.open(page, width=width, dark=dark)
    browser.run("document.querySelectorAll('details').forEach((one) => { one.open = true; })")
    assert browser.violations() == []


def test_a_screen_reader_is_told_what_everything_is(browser, page):
    browser.open(page)
    browser.run("document.querySelectorAll('details').forEach((one) => { one.open = true; })")
    found = browser.accessible()
    roles = [role for role, _ in found]
    assert [roles.count(role) for role in ("banner", "main", "navigation")] == [1, 1, 1]
    regions = [name for role, name in found if role == "region"]
    assert regions == browser.texts("h2")
    named = (
        "table",
        "button",
        "link",
        "slider",
        "searchbox",
        "combobox",
        "image",
        "img",
        "region",
        "heading",
    )
    assert {role for role, _ in found} >= {"table", "button", "link", "slider", "searchbox", "image"}
    assert [one for one in found if one[0] in named and not one[1].strip()] == []
    tables = [name for role, name in found if role == "table"]
    assert {"Figures of each query", "Means of map", "About a.mrk", "Weights of b.mrk"} <= set(tables)
    # A frame around a table that fits says nothing.
    assert [name for role, name in found if role == "group" and name] == []


def test_headings_skip_no_level(browser, page):
    browser.open(page)
    levels = browser.run("return [...document.querySelectorAll('h1,h2,h3,h4')].map((e) => +e.tagName[1])")
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(after <= before + 1 for before, after in pairwise(levels))


def test_everything_that_acts_is_reached_by_the_tab_key_and_seen(browser, page):
    browser.open(page)
    reached = []
    for _ in range(60):
        browser.find("body").send_keys("\ue004") if not reached else browser.active().send_keys("\ue004")
        one = browser.active()
        reached.append(browser.run("return arguments[0].id || arguments[0].textContent", one))
        outline = browser.run("return getComputedStyle(arguments[0]).outlineStyle", one)
        assert outline != "none", reached[-1]
        if reached[-1] == "query-next":
            break
    assert reached[0] == "Skip to the figures"
    assert {"alpha", "query-search", "query-metric", "query-next"} <= set(reached)


@pytest.mark.parametrize("dark", [False, True])
def test_it_prints_black_on_white_with_rankings_side_by_side_and_nothing_cut_off(browser, page, dark):
    browser.open(page, width=690, dark=dark)  # A4 within its margins
    scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
    media = {"media": "print", "features": [scheme]}
    browser.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", media)
    try:
        browser.run("window.dispatchEvent(new Event('beforeprint'))")
        style = "const s = getComputedStyle(document.body); return [s.color, s.backgroundColor]"
        assert browser.run(style) == ["rgb(0, 0, 0)", "rgb(255, 255, 255)"]
        seen = "return [...document.querySelectorAll(arguments[0])].filter((e) => e.offsetParent).length"
        assert browser.run(seen, "nav, .controls, .skip") == 0
        assert browser.run(seen, "details > div.side") == len(browser.texts("details")) > 0
        tops = browser.run(
            "return [...document.querySelectorAll('.side')].map((one) => "
            "[...one.children].map((e) => Math.round(e.getBoundingClientRect().top)))"
        )
        assert all(len(set(two)) == 1 for two in tops)
        assert browser.run("return document.documentElement.scrollWidth <= window.innerWidth")
    finally:
        browser.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "", "features": []})


def test_the_pdf_of_a_report_has_a_few_pages_and_what_was_folded_away(browser, page, tmp_path):
    browser.open(page)
    pdf = browser.printed()
    assert pdf.startswith(b"%PDF")
    pages = len(re.findall(rb"/Type\s*/Page\b", pdf))
    assert 3 <= pages <= 14
    if shutil.which("pdftotext") is None:
        pytest.skip("pdftotext is not there to read the PDF; poppler-utils has it.")
    (tmp_path / "r.pdf").write_bytes(pdf)
    done = subprocess.run(["pdftotext", tmp_path / "r.pdf", "-"], capture_output=True, check=True, text=True)
    assert done.stdout.count("Features that moved it") == len(browser.texts("details")) > 0


def test_hostile_names_are_text(browser, tmp_path):
    X, y, _ = make_ranking(n_queries=5, rows_per_query=6, n_features=5, random_state=0)
    data = RankingData(X, y, qid=np.repeat(np.array(HOSTILE, dtype=object), 6), feature_names=HOSTILE)
    models = {name: RankSVM(alpha=0.01 * 10**k).fit(data) for k, name in enumerate(HOSTILE)}
    report.write(tmp_path / "r.html", models, train=data, test=data, title=HOSTILE[1], n_resamples=99)
    for width in (375, 1100):
        browser.open((tmp_path / "r.html").as_uri(), width=width)
        assert browser.run("return window.hit === undefined && document.images.length === 0")
        assert browser.run("return document.documentElement.scrollWidth <= window.innerWidth")
        assert browser.complaints() == []
    assert browser.texts("#query-table tbody th")[0] == HOSTILE[0]
