"""A plugin of pytest: which test failed, an end for one that hangs, and which functions each test ran."""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

import pytest

# CPU time of one test, children apart; no test takes a tenth of it. A process that waits uses none and is
# ended by the limit of the whole run.
_SECONDS = 40.0
_SOURCE = str(Path(__file__).resolve().parents[3] / "src" / "marginrank") + os.sep

_reached: defaultdict[str, list[str]] = defaultdict(list)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    _write("MARGINRANK_MUTANT_REPORT", f"hangs: {item.nodeid}")
    signal.signal(signal.SIGPROF, signal.SIG_DFL)
    signal.setitimer(signal.ITIMER_PROF, _SECONDS)
    codes: set[CodeType] = set()
    if "MARGINRANK_REACHED" in os.environ:

        def note(frame: FrameType, event: str, argument: Any) -> None:
            codes.add(frame.f_code)

        threading.settrace(note)
        sys.settrace(note)
    result = yield
    sys.settrace(None)
    threading.settrace(None)  # type: ignore[arg-type]
    for name in {_name(code) for code in codes if code.co_filename.startswith(_SOURCE)}:
        test = item.nodeid.partition("[")[0]
        if test not in _reached[name][-1:]:
            _reached[name].append(test)
    return result


def _name(code: CodeType) -> str:
    return f"{code.co_filename.removeprefix(_SOURCE)} {code.co_qualname.replace('.<locals>', '')}"


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    if report.failed:
        _write("MARGINRANK_MUTANT_REPORT", report.nodeid)


def pytest_sessionfinish() -> None:
    signal.setitimer(signal.ITIMER_PROF, 0.0)
    if "MARGINRANK_REACHED" in os.environ:
        _write("MARGINRANK_REACHED", json.dumps(_reached))


def _write(variable: str, text: str) -> None:
    Path(os.environ[variable]).write_text(text, encoding="utf-8")
