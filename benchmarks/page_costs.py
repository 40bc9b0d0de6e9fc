"""How large a report is, how long it takes to open, and how long ``marginrank judge`` takes to refit.

A report on 10,000 queries of 10 rows, three models and three metrics, opened in headless Chromium (``make
browser``; without it that figure is left out); and a model of 100 answers about 5,000 items of 30 features,
refitted after one more. Goals: 6 MB, 2 s, 300 ms::

    python benchmarks/page_costs.py
"""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
from pathlib import Path
from time import perf_counter, process_time

import numpy as np

from marginrank import RankingData, RankSVM, report
from marginrank.datasets import make_ranking
from marginrank.judging.answers import Judgement
from marginrank.judging.learning import learn
from results import Result, add_save_option, spread

N_QUERIES, N_ITEMS, N_FEATURES, N_ANSWERS = 10_000, 5000, 30, 100
FLAGS = "--headless=new --no-sandbox --disable-gpu --no-first-run --disable-background-networking"
#: Milliseconds from the start of a navigation to the end of loading, and of a click until all is laid out.
OPENED = "const t = performance.getEntriesByType('navigation')[0]; return t.loadEventEnd - t.startTime"
CLICKED = (
    "const t = performance.now(); arguments[0].click(); document.body.offsetHeight; "
    "return performance.now() - t"
)


def write_report(file: Path) -> float:
    """Write the report, and return the CPU seconds of that."""
    X, y, qid = make_ranking(N_QUERIES, 10, 10, noise=1.0, random_state=0)
    data = RankingData(X, y, qid=qid)
    models = {f"alpha {alpha:g}": RankSVM(alpha=alpha).fit(data) for alpha in (1.0, 0.1, 0.01)}
    started = process_time()
    report.write(
        file, models, train=data, test=data, metrics=["ndcg@10", "map", "mrr"], path=None, n_resamples=999
    )
    return process_time() - started


def opened(file: Path, repeats: int) -> tuple[list[float], list[float]] | None:
    """Return the seconds of opening it, and of sorting all queries by a click; None without Chromium."""
    program, driver = shutil.which("chromium"), shutil.which("chromedriver")
    if program is None or driver is None:
        return None
    from selenium import webdriver
    from selenium.webdriver.chrome.service import Service

    options = webdriver.ChromeOptions()
    options.binary_location = program
    for flag in FLAGS.split():
        options.add_argument(flag)
    browser = webdriver.Chrome(options=options, service=Service(driver))
    opening, sorting = [], []
    try:
        for _ in range(repeats):
            browser.get("about:blank")
            browser.get(file.as_uri())
            opening.append(browser.execute_script(OPENED) / 1000)
            head = browser.find_element("css selector", "#query-table thead th:nth-child(3) button")
            sorting.append(browser.execute_script(CLICKED, head) / 1000)
    finally:
        browser.quit()
    return opening, sorting


def refits(repeats: int) -> tuple[list[float], list[float]]:
    """Return CPU and passed seconds of learning from one more answer, with the held-out estimate."""
    X, y, _ = make_ranking(1, N_ITEMS, N_FEATURES, n_levels=None, noise=0.0, random_state=0)
    rng = np.random.default_rng(0)
    answers = []
    for _ in range(N_ANSWERS + repeats):
        a, b = (int(one) for one in rng.choice(N_ITEMS, 2, replace=False))
        a, b = (a, b) if (y[a] > y[b]) != (rng.random() < 0.1) else (b, a)
        answers.append(Judgement(a, b, "win", "random", "me"))
    found = learn(X, answers[:N_ANSWERS])
    cpu, passed = [], []
    for k in range(1, repeats + 1):
        started = process_time(), perf_counter()
        found = learn(X, answers[: N_ANSWERS + k], start=found[1])
        cpu.append(process_time() - started[0])
        passed.append(perf_counter() - started[1])
    return cpu, passed


def line(what: str, values: list[float], goal: float, unit: str, factor: float = 1.0) -> bool:
    """Print the median of some figures with their range, and return whether it is within the goal."""
    shown = [factor * value for value in (float(np.median(values)), min(values), max(values))]
    held = shown[0] <= goal
    mark = "holds" if held else "MISSED"
    print(f"{what:38s} {shown[0]:8.2f} {unit} ({shown[1]:.2f} to {shown[2]:.2f})   goal {goal:g}: {mark}")
    return held


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--repeats", type=int, default=5)
    add_save_option(parser)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "report.html"
        seconds = write_report(file)
        size = file.stat().st_size / 1e6
        times = opened(file, given.repeats)
    held = [line(f"report of {N_QUERIES:,} queries x 3 models", [size], 6.0, "MB")]
    print(f"{'  written in':38s} {seconds:8.2f} s of CPU time")
    if times is None:
        print("  not opened: Chromium is not there; make browser installs it")
    else:
        held.append(line("  opened in Chromium in", times[0], 2.0, "s"))
        print(f"{'  sorted by a click in':38s} {1000 * float(np.median(times[1])):8.2f} ms")
    cpu, passed = refits(given.repeats)
    held.append(line(f"refit at {N_ITEMS:,} x {N_FEATURES}, CPU time", cpu, 300.0, "ms", 1000.0))
    print(f"{'  passed, on this machine as it is':38s} {1000 * float(np.median(passed)):8.2f} ms")
    if given.save:
        if times is None:
            parser.error("--save keeps what Chromium took, too: make browser installs it.")
        result = Result("page-costs", {}, "CPU time, but for opening, which is time passed.")
        result.add("judge", refit_held_out_ms=spread([1000 * one for one in cpu]))
        result.add("report", mb=size, cpu_seconds=seconds, open_seconds=spread(times[0]))
        result.save()
    sys.exit(0 if all(held) else 1)


if __name__ == "__main__":
    main()
