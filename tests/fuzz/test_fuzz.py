"""Any bytes are read, or refused with one sentence: some hundred changes of each kind of file."""

from __future__ import annotations

import pytest
from fuzz_run import CORPUS, fuzz, known_inputs
from fuzz_targets import TARGETS, Target, outcome


@pytest.mark.parametrize("name", TARGETS)
def test_any_bytes_are_read_or_refused_with_a_sentence(name):
    found = fuzz(name, n_inputs=150, seed=3)
    assert found.fault is None
    assert found.n_inputs >= 150
    assert 0 < found.n_accepted < found.n_inputs
    assert found.n_ends > 2


def test_every_file_of_the_corpus_belongs_to_a_target():
    names = {path.stem for path in CORPUS.glob("*.hex")}
    assert names
    assert names <= set(TARGETS)
    assert all(known_inputs(name) for name in names)


def test_what_is_no_sentence_of_the_library_is_a_fault():
    def broken(data):
        raise IndexError("index 0 is out of bounds")

    with pytest.raises(IndexError):
        outcome(Target(lambda: [b""], broken), b"")
