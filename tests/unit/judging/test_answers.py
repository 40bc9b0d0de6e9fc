"""The file of answers: whole whatever happens, and a pairs file for training."""

import os

import numpy as np
import pytest

from marginrank.exceptions import MarginRankError
from marginrank.io import load_pairs
from marginrank.judging.answers import HEADER, AnswerFile, Judgement, rater_name
from marginrank.judging.learning import learn, pairs_of

IDS = ["x", "ÿ", "z"]
GIVEN = [
    Judgement(0, 1, "win", "random", "me"),
    Judgement(1, 2, "tie", "suggested", "Ann B."),
    Judgement(2, 0, "skip", "random", "me"),
    Judgement(2, 1, "win", "suggested", "me"),
]


def written(path, given=GIVEN):
    file = AnswerFile(str(path), IDS)
    for one in given:
        file.append(one)
    file.close()


def test_answers_are_gone_on_with(tmp_path):
    path = tmp_path / "pairs.csv"
    written(path, GIVEN[:2])
    written(path, GIVEN[2:])
    file = AnswerFile(str(path), IDS)
    assert file.judgements == GIVEN
    file.close()


def test_a_file_that_was_cut_anywhere_keeps_all_whole_answers(tmp_path):
    path = tmp_path / "pairs.csv"
    written(path)
    content = path.read_bytes()
    ends = [0]
    for n in range(1, len(GIVEN) + 1):
        written(tmp_path / f"{n}.csv", GIVEN[:n])
        ends.append((tmp_path / f"{n}.csv").stat().st_size)
    for size in range(len(content) + 1):
        path.write_bytes(content[:size])
        file = AnswerFile(str(path), IDS)
        whole = sum(end <= size for end in ends[1:])
        assert file.judgements == GIVEN[:whole]
        file.append(GIVEN[0])
        file.close()
        again = AnswerFile(str(path), IDS)
        assert again.judgements == [*GIVEN[:whole], GIVEN[0]]
        again.close()


def test_every_answer_is_on_the_disk_before_append_returns(tmp_path, monkeypatch):
    file = AnswerFile(str(tmp_path / "pairs.csv"), IDS)
    done = []
    monkeypatch.setattr(os, "fsync", lambda handle: done.append(os.lseek(handle, 0, os.SEEK_END)))
    file.append(GIVEN[1])
    assert done == [(tmp_path / "pairs.csv").stat().st_size]
    file.close()


def test_a_full_disk_leaves_no_half_line(tmp_path, monkeypatch):
    path = tmp_path / "pairs.csv"
    file = AnswerFile(str(path), IDS)
    file.append(GIVEN[0])
    before, write = path.read_bytes(), os.write

    def full(handle, text):
        if len(text) < 5:
            raise OSError(28, "No space left on device")
        return write(handle, text[: len(text) - 4])

    monkeypatch.setattr(os, "write", full)
    with pytest.raises(OSError, match="No space"):
        file.append(GIVEN[3])
    assert path.read_bytes() == before
    assert file.judgements == GIVEN[:1]
    file.close()


def test_a_second_writer_is_refused(tmp_path):
    pytest.importorskip("fcntl")
    first = AnswerFile(str(tmp_path / "pairs.csv"), IDS)
    with pytest.raises(MarginRankError, match="another marginrank judge is writing to it"):
        AnswerFile(str(tmp_path / "pairs.csv"), IDS)
    first.close()


def test_training_reads_the_file_as_it_is(tmp_path):
    written(tmp_path / "pairs.csv")
    found = load_pairs(str(tmp_path / "pairs.csv"), ids=IDS)
    pairs, weight = pairs_of(GIVEN)
    counted = found.weight > 0
    assert found.pairs[counted].tolist() == pairs.tolist()
    assert found.weight[counted].tolist() == weight.tolist()
    assert found.margin is None


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("winner,loser\nx,z\n", "expected a file of judge"),
        (f"{HEADER}\nx,z,1,win,random\n", "pairs.csv:2: expected an answer as judge writes it"),
        (f"{HEADER}\nx,nobody,1,win,random,me\n", "pairs.csv:2: expected the id of an item, got 'nobody'"),
    ],
)
def test_other_files_are_refused_and_left_alone(tmp_path, text, said):
    path = tmp_path / "pairs.csv"
    path.write_text(text)
    with pytest.raises(MarginRankError, match=said):
        AnswerFile(str(path), IDS)
    assert path.read_text() == text


def test_names_of_raters_fit_into_a_field():
    assert rater_name('a,"b"\nc') == "abc"
    assert rater_name("x" * 100) == "x" * 40


def judged(n, kind="random", seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(60, 3))
    pairs = [rng.choice(60, 2, replace=False) for _ in range(n)]
    better = [(a, b) if X[a, 0] > X[b, 0] else (b, a) for a, b in pairs]
    return X, [Judgement(int(a), int(b), "win", kind, "me") for a, b in better]


def test_a_certified_model_is_learned_and_tested_on_blind_questions_only():
    X, given = judged(60)
    found, _ = learn(X, given, feature_names=("a", "b", "c"))
    assert found.gap <= 1e-3
    assert found.n_tested == 60
    assert found.accuracy[0] > 0.8
    assert found.model.feature_names == ("a", "b", "c")
    found, _ = learn(X, judged(60, "suggested")[1])
    assert found.n_tested == 0
    assert found.accuracy is None


def test_a_warm_start_ends_at_the_same_optimum():
    X, given = judged(60)
    first, start = learn(X, given[:40])
    cold, warm = (learn(X, given, start=one)[0] for one in (None, start))
    # Both objectives are certified within 1e-3 of the same optimum.
    values = [one.model.metadata["objective"] for one in (cold, warm)]
    assert values[0] == pytest.approx(values[1], rel=2e-3)
    assert first.n_answers == 40


def test_nothing_is_learned_from_ties_and_skips_alone():
    X, given = judged(3)
    assert learn(X, []) is None
    assert learn(X, [Judgement(one.first, one.second, "tie", "random", "me") for one in given]) is None
