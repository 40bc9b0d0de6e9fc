"""Several functions in lockstep: each runs until it requests something, and requests are answered together.

A function has a thread of its own, but only to be able to stop in the middle: one of them runs at a time, and
while all of them wait, the caller's thread does what they ask for. So nothing depends on timing, kernels have
all processors to themselves, and nothing that is called needs a lock.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from queue import Empty, SimpleQueue
from threading import Thread, get_ident
from typing import Any, Generic, NamedTuple, Protocol, TypeVar

from marginrank.system.threads import in_this_context

T = TypeVar("T")


class Asks(Protocol):
    """What a function in lockstep is given."""

    def ask(self, request: Any) -> Any:
        """Wait for the others, and return the answer."""

    def call(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """Have the caller's thread call something, at once; what it raises is raised here."""


class _Call(NamedTuple):
    function: Callable[..., Any]
    arguments: tuple[Any, ...]


class _Released(BaseException):
    """Ends a function whose answer will never come."""


class LatestAsks:
    """What a function in lockstep asks by, in the thread that it runs in; outside there is nothing."""

    def __init__(self) -> None:
        self._of: dict[int, Asks] = {}

    @contextmanager
    def by(self, asks: Asks) -> Iterator[None]:
        """Ask by this in a ``with`` block, in this thread."""
        self._of[get_ident()] = asks
        try:
            yield
        finally:
            del self._of[get_ident()]

    @property
    def here(self) -> Asks | None:
        """What to ask by in this thread."""
        return self._of.get(get_ident())

    def ask(self, request: Any) -> Any:
        """Wait for the others, and return the answer."""
        return self._of[get_ident()].ask(request)

    def call(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """Have the caller's thread call something."""
        return self._of[get_ident()].call(function, *arguments)


def in_lockstep(
    functions: Sequence[Callable[[Asks], T]], answer: Callable[[Mapping[int, Any]], Mapping[int, Any]]
) -> list[T]:
    """Run functions that wait for each other, and return what they return.

    Parameters
    ----------
    functions : sequence of callables
        Each is given what it asks by.
    answer : callable
        From all requests, by the number of the function, to answers, at least one; the other requests come
        again with the next ones. It is called when every function that still runs has a request.

    Raises
    ------
    BaseException
        What a function or ``answer`` raises, or Ctrl-C; the functions that still wait are ended first.

    Examples
    --------
    >>> def add_twice(asks):
    ...     return asks.ask(1) + asks.ask(2)
    >>> in_lockstep([add_twice, add_twice], lambda asked: {k: 10 * one for k, one in asked.items()})
    [30, 30]
    """
    runners: list[_Runner[T]] = []
    try:
        for function in functions:
            runners.append(_Runner(function))
            runners[-1].resume(None)
        while waiting := {k: runner.request for k, runner in enumerate(runners) if runner.running}:
            for k, found in answer(waiting).items():
                runners[k].resume(found)
    finally:
        _end(runners)
    return [runner.result for runner in runners]


def _end(runners: Sequence[_Runner[Any]]) -> None:
    """End what still waits, and wait for that; Ctrl-C once more must leave no thread that waits for ever."""
    try:
        for runner in runners:
            runner.release()
        for runner in runners:
            runner.join()
    except KeyboardInterrupt:
        _end(runners)
        raise


class _Runner(Generic[T]):
    """A function that runs until it has a request, and is resumed with the answer."""

    result: T

    def __init__(self, function: Callable[[Asks], T]) -> None:
        self.request: Any = None
        self.running = True
        self._function = function
        self._given: Any = None
        self._raised: BaseException | None = None
        self._released = False
        self._begun = False
        # Semaphores and events hold locks of their own, which Ctrl-C at a bad moment leaves locked for ever.
        self._mine: SimpleQueue[None] = SimpleQueue()
        self._callers: SimpleQueue[None] = SimpleQueue()
        self._thread = Thread(target=in_this_context(self._run), name="marginrank-lockstep")

    def resume(self, given: Any) -> None:
        """Hand over an answer, and wait for the next request or the end."""
        self._given = given
        self._switch()
        while isinstance(self.request, _Call):
            call, self.request = self.request, None
            try:
                self._given = call.function(*call.arguments), None
            except BaseException as error:  # Ctrl-C, too, is for the function to see
                self._given = None, error
            self._switch()

    def _switch(self) -> None:
        if self._thread.ident is None:
            self._thread.start()
        self._mine.put(None)
        self._callers.get()
        if self._raised is not None:
            raise self._raised

    def release(self) -> None:
        """End the function where it waits, or where it next would, without waiting for that."""
        self._released = True
        self._mine.put(None)

    def join(self) -> None:
        """Wait for the end of the thread."""
        # Up to Python 3.12 a thread whose join is interrupted passes for one that has ended (bpo-45274).
        while self._begun and self.running:
            with suppress(Empty):
                self._callers.get(timeout=0.1)
        if self._begun:
            self._thread.join()

    def ask(self, request: Any) -> Any:
        """Wait for the others, and return the answer."""
        self.request = request
        self._callers.put(None)
        self._wait()
        return self._given

    def call(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """Have the caller's thread call something, at once; what it raises is raised here."""
        found, error = self.ask(_Call(function, arguments))
        if error is not None:
            raise error
        return found

    def _wait(self) -> None:
        if not self._released:
            self._mine.get()
        if self._released:
            raise _Released

    def _run(self) -> None:
        self._begun = True
        try:
            self._wait()
            self.result = self._function(self)
        except _Released:
            pass
        except BaseException as error:  # to be raised in the caller's thread
            self._raised = error
        finally:
            self.running, self.request = False, None
            self._callers.put(None)
