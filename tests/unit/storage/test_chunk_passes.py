"""Chunks for products, several at a time: answers in order, errors that end everything, no thread left."""

import threading
import time

import numpy as np
import pytest

from limits import HANG
from marginrank.storage import chunks
from marginrank.storage.chunks import ChunkedMatrix, PassLoader


class Source:
    """Seven chunks of two rows; remembers what it was asked for."""

    def __init__(self):
        self.loaded, self.ahead = [], []
        loader = PassLoader(self.load, self.ahead.append)
        bounds = 2 * np.arange(8)
        self.X = ChunkedMatrix(self.refuse, bounds, 3, np.dtype("f8"), passes=loader)

    def load(self, number):
        self.loaded.append(number)
        return number

    def refuse(self, number):
        raise AssertionError("products load their own way")


def threads():
    return [thread for thread in threading.enumerate() if thread.name.startswith("marginrank")]


@pytest.mark.parametrize(
    ("n_threads", "shared"), [(1, 0), (2, 6), (3, 6), (7, 7), (8, 0), (20, 0)], ids=lambda value: str(value)
)
def test_answers_come_in_order_and_all_threads_have_work(n_threads, shared):
    source = Source()

    def work(section, loaded, threads_given):
        time.sleep(0.002 * (section.chunk % 3))
        return section.chunk, loaded, section.first, threads_given

    got = list(source.X.map_pass(work, source.X.sections(), n_threads))
    assert [answer[:3] for answer in got] == [(k, k, 2 * k) for k in range(7)]
    # Chunks that threads have to themselves, and what is left over.
    assert [answer[3] for answer in got] == [1] * shared + [n_threads] * (7 - shared)
    assert source.loaded == source.ahead == list(range(7))
    assert not threads()


def test_long_sums_are_made_for_fewer_chunks_at_a_time(monkeypatch):
    monkeypatch.setattr(chunks, "_SUMS_BYTES", 2 * 8 * 3)
    source, running, most = Source(), [], []
    both = threading.Barrier(2, timeout=HANG)

    def work(section, loaded, threads_given):
        running.append(section.chunk)
        most.append(len(running))
        if threads_given == 2:
            both.wait()
        running.remove(section.chunk)
        return threads_given

    assert list(source.X.map_pass(work, source.X.sections(), 5)) == [2] * 6 + [5]
    assert max(most) == 2


@pytest.mark.parametrize("n_threads", [1, 2, 3])
def test_an_error_ends_the_pass(n_threads):
    source = Source()

    def work(section, loaded, threads_given):
        if section.chunk == 1:
            raise ValueError("chunk 1 is bad")
        return section.chunk

    with pytest.raises(ValueError, match="chunk 1 is bad"):
        list(source.X.map_pass(work, source.X.sections(), n_threads))
    assert not threads()
    assert len(source.loaded) <= 2 + n_threads + 2


@pytest.mark.parametrize("n_threads", [1, 2])
def test_an_error_of_loading_ends_the_pass(n_threads):
    source = Source()
    passes = PassLoader(lambda number: 1 // (number - 3), source.ahead.append)
    X = ChunkedMatrix(source.refuse, 2 * np.arange(8), 3, np.dtype("f8"), passes=passes)
    with pytest.raises(ZeroDivisionError):
        list(X.map_pass(lambda section, loaded, _: loaded, X.sections(), n_threads))
    assert not threads()


def test_a_pass_may_be_left_early():
    source = Source()
    answers = source.X.map_pass(lambda section, loaded, _: loaded, source.X.sections(), 2)
    assert next(answers) == 0
    answers.close()
    assert not threads()
    assert len(source.loaded) < 7


@pytest.mark.parametrize("n_threads", [1, 2])
def test_no_rows_are_no_work(n_threads):
    source = Source()
    assert source.X.sections(np.arange(0)) == []
    assert list(source.X.map_pass(lambda section, loaded, _: loaded, [], n_threads)) == []
    assert source.loaded == []


def by_halves(values):
    """The tree of the kernels: the largest power of two below their number, and the rest."""
    if len(values) == 1:
        return values[0]
    half = 1 << (len(values) - 1).bit_length() - 1
    return by_halves(values[:half]) + by_halves(values[half:])


@pytest.mark.parametrize("n_values", range(1, 20))
def test_sums_have_the_tree_of_the_kernels(n_values):
    values = (10.0 ** np.random.default_rng(0).uniform(-8, 8, n_values)).tolist()
    assert chunks.TreeSum.of(values) == by_halves(values)
