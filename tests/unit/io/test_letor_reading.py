"""LETOR text: every text gives the expected data or the expected sentence."""

import gzip
from io import BytesIO, StringIO
from pathlib import Path

import malformed
import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import dump_svmlight_file, load_svmlight_file

from marginrank import RankSVM, load_letor
from marginrank.exceptions import MarginRankError


def refusal(source, **options):
    with pytest.raises(MarginRankError) as caught:
        load_letor(source, **options)
    return str(caught.value)


def dense(X):
    return X.toarray() if sparse.issparse(X) else X


def test_the_corpus_is_large():
    assert len(malformed.REFUSED) >= 60


@pytest.mark.parametrize(
    ("text", "options", "sentence"), malformed.REFUSED.values(), ids=malformed.REFUSED.keys()
)
def test_a_bad_text_is_refused_with_its_sentence(text, options, sentence):
    assert refusal(text, **options) == sentence


@pytest.mark.parametrize(("text", "options", "expected"), malformed.READ.values(), ids=malformed.READ.keys())
def test_an_odd_text_is_read_as_it_is_meant(text, options, expected):
    data = load_letor(text, **options)
    for name, values in expected.items():
        held = getattr(data, name)
        if name in ("X", "y"):
            np.testing.assert_array_equal(dense(held), values)
            np.testing.assert_array_equal(np.signbit(dense(held)), np.signbit(values))
        else:
            assert (None if held is None else held.tolist()) == values


@pytest.mark.parametrize("text", [case[0] for case in malformed.REFUSED.values()])
def test_a_bad_row_is_found_at_the_end_of_a_large_file(text):
    """Whatever comes, there is a sentence, also where other threads are at work on other chunks."""
    good = b"1 qid:1 1:0.5 2:0.25\n" * 150_000
    message = refusal(good + text + b"\nx\n", n_jobs=2)
    assert message.startswith("<bytes>:15000")


@pytest.fixture
def text():
    """Rows of all kinds, over several of the parser's chunks."""
    rng = np.random.default_rng(0)
    lines = []
    for row in range(60_000):
        columns = rng.choice(40, rng.integers(0, 8), replace=False) + 1
        entries = " ".join(
            f"{c}:{v!r}" for c, v in zip(columns, rng.normal(size=len(columns)).tolist(), strict=True)
        )
        lines.append(f"{row % 5} qid:q{row // 7} {entries} # row {row}")
    return "\n".join(lines).encode()


def test_the_result_does_not_depend_on_the_threads(text):
    assert len(text) > 3 << 20
    one, *others = (load_letor(text, n_jobs=n) for n in (1, 2, 4))
    assert one.n_rows == 60_000
    for other in others:
        for name in ("y", "qid", "comments"):
            assert np.array_equal(getattr(one, name), getattr(other, name))
        for name in ("data", "indices", "indptr"):
            assert np.array_equal(getattr(one.X, name), getattr(other.X, name))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("zero_based", [False, True])
def test_well_formed_files_equal_those_of_sklearn(tmp_path, dtype, zero_based):
    rng = np.random.default_rng(1)
    X = sparse.random(3000, 50, density=0.2, format="csr", random_state=2, dtype=np.float64)
    y, qid = rng.normal(size=3000), np.sort(rng.integers(0, 300, 3000))
    path = tmp_path / "a.svm"
    dump_svmlight_file(X, y, str(path), query_id=qid, zero_based=zero_based)
    data = load_letor(path, zero_based=zero_based, n_features=50, dtype=dtype)
    X_, y_, qid_ = load_svmlight_file(
        str(path), query_id=True, zero_based=zero_based, n_features=50, dtype=np.float64
    )
    assert data.X.dtype == dtype
    assert np.array_equal(dense(data.X), X_.toarray().astype(dtype))
    assert np.array_equal(data.y, y_)
    assert np.array_equal(data.qid, qid_)


def test_a_path_a_file_and_bytes_give_the_same(tmp_path):
    path = tmp_path / "train.TXT"
    path.write_bytes(b"1 qid:1 1:2\n0 qid:1 1:3\n")
    with path.open("rb") as file:
        sources = [
            str(path),
            path,
            file,
            BytesIO(path.read_bytes()),
            path.read_bytes(),
            bytearray(path.read_bytes()),
        ]
        assert {load_letor(source).X.tobytes() for source in sources} == {np.array([2.0, 3.0]).tobytes()}


def test_errors_name_the_file(tmp_path):
    path = tmp_path / "train.txt"
    path.write_bytes(b"1 1:1\n0 1:x\n")
    assert refusal(path) == f"{path}:2:3: expected a number after '1:', got 'x'."
    with path.open("rb") as file:
        assert refusal(file).startswith(f"{path}:2:3: ")


def test_a_missing_file_is_what_python_says():
    with pytest.raises(FileNotFoundError):
        load_letor("no such file")


def test_a_text_file_object_is_refused():
    assert "must be binary" in refusal(StringIO("1 1:1"))


@pytest.mark.parametrize("source", [3, None, [b"1 1:1"]])
def test_what_is_no_source_is_refused(source):
    assert "source must be a path" in refusal(source)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n_features": 0}, "n_features must be an integer from 1"),
        ({"n_features": 2.0}, "n_features must be an integer from 1"),
        ({"max_feature": 2**31}, "max_feature must be an integer from 1 to 2147483647"),
        ({"max_feature": None}, "max_feature must be an integer"),
        ({"missing": "0"}, "missing must be a number"),
        ({"dtype": "int64"}, "dtype must be 'float32' or 'float64'"),
        ({"dense": "yes"}, "dense must be one of True, False, 'auto'"),
        ({"n_jobs": 0}, "n_jobs must be"),
    ],
)
def test_wrong_options_are_refused(options, message):
    assert message in refusal(b"1 1:1", **options)


def test_auto_is_dense_from_half_of_the_entries_on():
    assert isinstance(load_letor(b"1 1:1 2:0\n0 1:0 2:1").X, np.ndarray)
    assert sparse.issparse(load_letor(b"1 1:1 2:0 3:0\n0 1:0 2:1").X)
    assert sparse.issparse(load_letor(b"1 1:1", dense=False).X)
    assert isinstance(load_letor(b"1 1:1 9:0", dense=True).X, np.ndarray)


def test_csr_is_sorted_and_without_zeros():
    X = load_letor(b"1 9:1 2:0 1:5\n0 4:2 3:1", dense=False).X
    assert X.indices.tolist() == [0, 8, 2, 3]
    assert X.data.tolist() == [5, 1, 1, 2]
    assert X.has_canonical_format


def test_values_that_are_not_finite_are_not_trained_on():
    data = load_letor(b"1 qid:1 1:nan\n0 qid:1 1:1", allow_nonfinite=True)
    with pytest.raises(MarginRankError, match="X contains NaN"):
        RankSVM().fit(data)


class TestGzip:
    text = b"1 qid:1 1:2\n0 qid:1 1:3\n"

    def test_is_told_by_the_content(self, tmp_path):
        path = tmp_path / "no-ending"
        path.write_bytes(gzip.compress(self.text))
        assert load_letor(path).X.ravel().tolist() == [2, 3]

    def test_members_are_read_one_after_the_other(self):
        packed = gzip.compress(self.text[:5]) + gzip.compress(self.text[5:]) + b"\0" * 512
        assert load_letor(packed).n_rows == 2

    def test_cut_anywhere_is_refused(self):
        packed = gzip.compress(self.text)
        for end in range(2, len(packed)):
            assert "the gzip data end early" in refusal(packed[:end])

    def test_damage_is_refused(self):
        packed = bytearray(gzip.compress(self.text))
        packed[-6] ^= 1  # the checksum
        assert "expected gzip data, got damaged ones" in refusal(bytes(packed))

    def test_more_bytes_behind_are_refused(self):
        assert "expected the end of the file" in refusal(gzip.compress(self.text) + b"more")

    def test_a_bomb_is_refused_before_it_goes_off(self):
        bomb = gzip.compress(b"1 1:1\n" * 10_000_000, compresslevel=9)
        assert "expand to more than 200 times its size" in refusal(bomb)
        assert "expand to more than max_bytes=1000000 bytes" in refusal(bomb, max_bytes=1_000_000)

    def test_the_bound_can_be_raised(self):
        packed = gzip.compress(b"1 1:1\n" * 4_000_000)
        assert len(packed) * 200 < 24_000_000
        assert load_letor(packed, max_expansion=2000).n_rows == 4_000_000

    def test_errors_within_name_the_line(self, tmp_path: Path):
        path = tmp_path / "a.txt.gz"
        path.write_bytes(gzip.compress(b"1 1:1\nx"))
        assert refusal(path) == f"{path}:2:1: expected a label (a real number), got 'x'."
