"""Reports in a real browser: sorting, searching, the slider, light and dark, a phone, no request."""

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
    assert slider.get_attribute("aria-valuetext") == f"alpha {block['texts'][0][0]}"


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
