"""Functions in lockstep: what they ask for is answered together, in rounds that no timing can change."""

import os
import signal
import sys
import threading
import time

import numpy as np
import pytest

from marginrank.designs.lockstep import _Runner, in_lockstep


@pytest.fixture(autouse=True)
def no_thread_stays_behind():
    before = threading.active_count()
    yield
    assert threading.active_count() == before


def echo(requests):
    return dict(requests)


def asking(requests, result=None, delay=lambda: None):
    """Return a function that asks for these things in turn and returns the answers."""

    def function(asks):
        answers = []
        for request in requests:
            delay()
            answers.append(asks.ask(request))
        return answers if result is None else result

    return function


def test_every_function_gets_the_answers_to_its_own_requests():
    def tenfold(requests):
        return {k: 10 * request for k, request in requests.items()}

    assert in_lockstep([asking([1, 2, 3]), asking([4]), asking([])], tenfold) == [[10, 20, 30], [40], []]


def rounds_of(functions, choose=dict):
    seen = []

    def answer(requests):
        seen.append(dict(requests))
        return choose(requests)

    in_lockstep(functions, answer)
    return seen


def test_requests_are_answered_when_every_function_that_still_runs_has_one():
    assert rounds_of([asking("ab"), asking("c"), asking("def")]) == [
        {0: "a", 1: "c", 2: "d"},
        {0: "b", 2: "e"},
        {2: "f"},
    ]


def test_what_is_not_answered_waits_for_the_next_round():
    def only_the_last(requests):
        last = max(requests)
        return {last: requests[last]}

    assert rounds_of([asking("ab"), asking("c")], only_the_last) == [{0: "a", 1: "c"}, {0: "a"}, {0: "b"}]


@pytest.mark.parametrize("seed", range(3))
def test_delays_change_no_round(seed):
    rng = np.random.default_rng(seed)
    functions = [asking(range(k, 9), delay=lambda: time.sleep(1e-3 * rng.random())) for k in range(4)]
    assert rounds_of(functions) == rounds_of([asking(range(k, 9)) for k in range(4)])


def test_one_function_runs_at_a_time():
    running, most = [], []

    def function(asks):
        for _ in range(5):
            running.append(1)
            time.sleep(1e-3)
            most.append(len(running))
            running.pop()
            asks.ask(None)

    in_lockstep([function] * 4, echo)
    assert max(most) == 1
    assert len(most) == 20


def test_an_error_in_a_function_ends_the_others_and_is_raised():
    ended = []

    def fails(asks):
        asks.ask(1)
        raise ValueError("this fold")

    def waits(asks):
        try:
            asks.ask(1)
            asks.ask(2)
        finally:
            ended.append(True)

    with pytest.raises(ValueError, match="this fold"):
        in_lockstep([waits, fails, waits], echo)
    assert ended == [True, True]


def refuse(requests):
    raise MemoryError("too much")


def test_an_error_of_the_answer_ends_all():
    with pytest.raises(MemoryError, match="too much"):
        in_lockstep([asking([1]), asking([2])], refuse)


def test_what_ends_a_function_is_no_error_that_it_would_catch():
    def stubborn(asks):
        while True:
            try:
                asks.ask(1)
            except (Exception, KeyboardInterrupt):
                continue

    def fails(asks):
        raise ValueError("this fold")

    with pytest.raises(ValueError, match="this fold"):
        in_lockstep([stubborn, fails], echo)


def test_a_function_that_is_ended_may_ask_while_it_tidies_up():
    runners, errors = [], []

    def tidies_up(asks):
        runners.append(asks)
        try:
            asks.ask(1)
        finally:
            asks.ask(2)

    def call():
        try:
            in_lockstep([tidies_up], refuse)
        except MemoryError as error:
            errors.append(error)

    caller = threading.Thread(target=call)
    caller.start()
    caller.join(5.0)
    hangs = caller.is_alive()
    if hangs:  # else it would outlive the tests
        runners[0].release()
    caller.join()
    assert not hangs
    assert errors


@pytest.fixture(name="ctrl_c")
def send_ctrl_c():
    """What sends Ctrl-C; processes in the background of a shell would ignore it."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield lambda: os.kill(os.getpid(), signal.SIGINT)
    signal.signal(signal.SIGINT, before)


def test_ctrl_c_while_a_function_runs_ends_all(ctrl_c):
    went_on = []

    def works(asks):
        asks.ask(None)
        ctrl_c()
        asks.ask(None)
        asks.ask(None)
        went_on.append(True)

    with pytest.raises(KeyboardInterrupt):
        in_lockstep([works, works], echo)
    assert not went_on


def test_ctrl_c_while_requests_are_answered_ends_all(ctrl_c):
    def slow(requests):
        ctrl_c()
        time.sleep(10.0)
        return requests

    with pytest.raises(KeyboardInterrupt):
        in_lockstep([asking([1]), asking([2])], slow)


def test_ctrl_c_while_functions_end_still_waits_for_them(ctrl_c):
    ended = []

    def tidies_up(asks):
        try:
            asks.ask(None)
        finally:
            ctrl_c()
            time.sleep(0.2)
            ended.append(True)

    with pytest.raises(KeyboardInterrupt):
        in_lockstep([asking([1]), tidies_up], refuse)
    assert ended


def test_ctrl_c_before_functions_are_told_to_end_leaves_none_waiting(monkeypatch):
    release, runners, interrupts = _Runner.release, [], [KeyboardInterrupt()]

    def interrupted(self):
        if interrupts:
            raise interrupts.pop()
        release(self)

    def function(asks):
        runners.append(asks)
        asks.ask(None)

    monkeypatch.setattr(_Runner, "release", interrupted)
    with pytest.raises(KeyboardInterrupt):
        in_lockstep([function] * 3, refuse)
    alive = [runner for runner in runners if runner._thread.is_alive()]
    for runner in alive:  # else they would outlive the tests
        release(runner)
    assert not alive


@pytest.mark.parametrize("moment", range(1, 60))
def test_ctrl_c_between_any_two_lines_ends_all(moment):
    runners, events = [], []

    def trace(frame, event, argument):
        if frame.f_globals["__name__"] not in ("marginrank.designs.lockstep", "threading"):
            return None
        events.append(event)
        if len(events) == moment:
            raise KeyboardInterrupt
        return trace

    def watched(requests):
        sys.settrace(trace)  # from here on, in what the caller calls
        return requests

    def function(asks):
        runners.append(asks)
        asks.ask(1)
        asks.ask(2)

    def call():
        try:
            in_lockstep([function] * 2, watched)
        except KeyboardInterrupt:
            pass
        finally:
            sys.settrace(None)

    caller = threading.Thread(target=call, daemon=True)
    caller.start()
    caller.join(5.0)
    assert not caller.is_alive()
    assert not any(runner.running for runner in runners)


def test_calls_are_made_in_the_thread_of_the_caller_at_once():
    def function(asks):
        where = asks.call(threading.get_ident)
        return where, threading.get_ident()

    rounds = []
    (found, other), _ = in_lockstep([function, function], lambda requests: rounds.append(requests))
    assert found == threading.get_ident() != other
    assert not rounds


@pytest.mark.parametrize("kind", [ValueError, KeyboardInterrupt])
def test_what_a_call_raises_is_for_the_function_to_handle(kind):
    def raises(argument):
        raise kind(argument)

    def function(asks):
        try:
            asks.call(raises, "this")
        except kind as error:
            return str(error), asks.ask("on")

    assert in_lockstep([function], echo) == [("this", "on")]


def test_settings_of_numpy_hold_in_the_functions():
    def function(asks):
        return np.geterr()["over"]

    with np.errstate(over="raise"):
        assert in_lockstep([function], echo) == ["raise"]
