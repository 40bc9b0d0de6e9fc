"""The judging page in a real browser: keys, buttons, saved answers, two tabs, pictures, accessibility."""

import struct
import subprocess
import sys
import threading
import zlib

import numpy as np
import pytest

from limits import HANG
from marginrank.judging.answers import AnswerFile
from marginrank.judging.items import read_items
from marginrank.judging.server import JudgeServer
from marginrank.judging.session import Session

HOSTILE = "<img src=x onerror='window.hit=1'>\u202e"


def picture(shade):
    """Return a PNG of one grey pixel."""

    def chunk(kind, body):
        return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))

    head = struct.pack(">IIBBBBB", 1, 1, 8, 0, 0, 0, 0)
    body = zlib.compress(bytes([0, shade]))
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", body) + chunk(b"IEND", b"")


@pytest.fixture
def server(tmp_path):
    """Return a running server of twenty items with pictures."""
    (tmp_path / "p.png").write_bytes(picture(128))
    values = np.random.default_rng(0).normal(size=(20, 2))
    rows = [f"i{k},p.png,{HOSTILE}{'x' * 10_000},{x:.3f},{y:.3f}" for k, (x, y) in enumerate(values)]
    (tmp_path / "items.csv").write_text("\n".join(["id,image,text,x,y", *rows, ""]), encoding="utf-8")
    read = read_items(str(tmp_path / "items.csv"))
    session = Session(read, AnswerFile(str(tmp_path / "pairs.csv"), read.ids), random_state=0)
    found = JudgeServer(session, rater="Ann")
    thread = threading.Thread(target=found.serve_forever)
    thread.start()
    yield found
    found.shutdown()
    thread.join()
    found.server_close()
    session.close()


def wait(browser, script, *arguments):
    from selenium.webdriver.support.ui import WebDriverWait

    return WebDriverWait(browser.driver, HANG).until(lambda driver: driver.execute_script(script, *arguments))


def question(browser):
    return wait(browser, "return document.getElementById('pair').dataset.question")


def another(browser, before):
    wait(browser, "return document.getElementById('pair').dataset.question !== arguments[0]", before)


def test_keys_and_buttons_answer_and_every_answer_is_saved(browser, server):
    browser.open(server.url)
    asked = []
    for key in ("a", "\ue014", "t", "s", "B"):
        asked.append(question(browser))
        browser.find("body").send_keys(key)
        another(browser, asked[-1])
    last = question(browser)
    browser.find("#answer-a").click()
    another(browser, last)
    given = server.session.answers.judgements
    assert [one.answer for one in given] == ["win", "win", "tie", "skip", "win", "win"]
    assert {one.rater for one in given} == {"Ann"}
    wait(browser, "return document.getElementById('answers').textContent === '6, 1 equal, 1 skipped'")
    wait(browser, "return document.querySelectorAll('#top li').length === 10")
    assert "of the optimum of 5 answers" in wait(
        browser, "const t = document.getElementById('certificate').textContent; return t.includes(' 5 ') && t"
    )


def test_typing_a_name_answers_nothing_and_the_name_is_saved_with_answers(browser, server):
    browser.open(server.url)
    before = question(browser)
    name = browser.find("#rater")
    browser.run("arguments[0].select()", name)
    name.send_keys("Bea, tab\t")
    another(browser, before)
    assert server.session.answers.judgements == []
    before = question(browser)
    browser.find("#answer-b").click()
    another(browser, before)
    assert [one.rater for one in server.session.answers.judgements] == ["Bea tab"]
    browser.run("sessionStorage.clear()")


def test_two_tabs_have_questions_of_their_own(browser, server):
    browser.open(server.url)
    first, tab = question(browser), browser.driver.current_window_handle
    browser.driver.switch_to.new_window("tab")
    browser.driver.get(server.url)
    second = question(browser)
    assert first != second
    browser.find("body").send_keys("a")
    another(browser, second)
    browser.driver.close()
    browser.driver.switch_to.window(tab)
    browser.find("body").send_keys("b")
    another(browser, first)
    assert len(server.session.answers.judgements) == 2


def started(folder):
    """Return a process that judges the items of a folder, and the address of its page."""
    command = [sys.executable, "-m", "marginrank", "judge", "items.csv", "-o", "p.csv", "--no-browser"]
    process = subprocess.Popen(
        command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    )
    return process, next(line.split()[1] for line in process.stdout if line.startswith("page"))


def test_a_killed_judge_is_said_so_on_the_page_and_goes_on_where_it_was(browser, tmp_path):
    rows = [f"i{k},{k * 7 % 10}" for k in range(10)]
    (tmp_path / "items.csv").write_text("\n".join(["id,x", *rows, ""]))
    process, url = started(tmp_path)
    try:
        browser.open(url)
        for key in "abt":
            before = question(browser)
            browser.find("body").send_keys(key)
            another(browser, before)
    finally:
        process.kill()
        process.communicate(timeout=HANG)
    browser.find("body").send_keys("a")
    ended = "return document.getElementById('message').textContent.startsWith('marginrank judge has ended')"
    wait(browser, ended)
    process, url = started(tmp_path)
    try:
        browser.open(url)
        question(browser)
        wait(browser, "return document.getElementById('answers').textContent === '3, 1 equal'")
    finally:
        process.kill()
        process.communicate(timeout=HANG)
    browser.complaints()  # of requests that nobody answered


def test_a_screen_reader_is_told_what_everything_is_and_of_each_question(browser, server):
    browser.open(server.url)
    before = question(browser)
    found = browser.accessible()
    roles = [role for role, _ in found]
    assert [roles.count(role) for role in ("banner", "main", "alert")] == [1, 1, 1]
    named = ("table", "button", "link", "textbox", "checkbox", "image", "img", "region", "article", "list")
    assert [one for one in found if one[0] in named and not one[1].strip()] == []
    assert next(name for role, name in found if role == "button").startswith("A is better")
    assert ("table", "What has been learned") in found
    said = browser.texts("#news")[0]
    ids = [row[0] for row in (browser.texts("#item-a dd"), browser.texts("#item-b dd"))]
    assert said == f"Question 1: A is {ids[0]}, B is {ids[1]}"
    browser.find("#answer-tie").click()
    another(browser, before)
    assert browser.texts("#news")[0].startswith("Saved. Question 2: A is ")


def test_keys_can_be_switched_off(browser, server):
    browser.open(server.url)
    before = question(browser)
    browser.find("#keys").click()
    browser.find("body").send_keys("a")
    browser.find("#answer-skip").click()
    another(browser, before)
    assert [one.answer for one in server.session.answers.judgements] == ["skip"]


def test_hostile_texts_stay_text_and_pictures_are_shown(browser, server):
    browser.open(server.url)
    question(browser)
    assert (
        wait(
            browser,
            "return [...document.images].every((one) => one.naturalWidth === 1) && document.images.length",
        )
        == 2
    )
    assert browser.run("return window.hit === undefined")
    assert "<img src=x" in browser.texts("#item-a dd")[1]
    assert all(url.startswith((server.url.split("?")[0], "data:")) for url in browser.requests())
    assert browser.complaints() == []


@pytest.mark.parametrize("dark", [False, True])
@pytest.mark.parametrize("width", [375, 1100])
def test_axe_finds_nothing_wrong(browser, server, width, dark):
    browser.open(server.url, width=width, dark=dark)
    question(browser)
    assert browser.run("return document.documentElement.scrollWidth <= window.innerWidth")
    assert browser.violations() == []
