"""How far a file may expand: one rule for gzip text, compressed arrays and cells of tables."""

import gzip
import tracemalloc
import zipfile
from io import BytesIO

import numpy as np
import pytest

from marginrank import RankingData
from marginrank.exceptions import MarginRankError
from marginrank.io import convert_to_dataset, load_letor, load_npz, load_table
from marginrank.io.npz import dump_npz

TEXT = b"".join(b"%d qid:%d 1:%d.5\n" % (k % 3, k // 10, k % 7) for k in range(400))
TABLE = b"a,qid,label\n" + b"".join(b"%d.5,%d,%d\n" % (k % 7, k // 10, k % 3) for k in range(400))


@pytest.fixture(autouse=True)
def nothing_is_always_allowed(monkeypatch):
    monkeypatch.setattr("marginrank.io.sources._ALWAYS_ALLOWED", 0)


def compressed_npz(X):
    plain, packed = BytesIO(), BytesIO()
    dump_npz(RankingData(X, y=np.arange(len(X)) % 3), plain)
    arrays = dict(np.load(BytesIO(plain.getvalue())))
    np.savez_compressed(packed, **arrays)
    size = sum(member.file_size for member in zipfile.ZipFile(packed).infolist())
    return packed.getvalue(), size


def parquet():
    from pyarrow import csv
    from pyarrow import parquet as files

    memory = BytesIO()
    files.write_table(csv.read_csv(BytesIO(TABLE)), memory)
    return memory.getvalue(), 400 * 3 * 8


CASES = {
    "letor": (lambda: (gzip.compress(TEXT), len(TEXT)), load_letor),
    "csv": (lambda: (gzip.compress(TABLE), len(TABLE)), load_table),
    "npz": (lambda: compressed_npz(np.ones((500, 3))), load_npz),
    "npz.gz": (lambda: (gzip.compress(compressed_npz(np.ones((5, 3)))[0]), None), load_npz),
    "parquet": (parquet, load_table),
}


@pytest.mark.parametrize("name", CASES)
def test_the_limit_is_met_to_the_byte(name):
    make, load = CASES[name]
    packed, size = make()
    size = size or len(gzip.decompress(packed))
    ratio = size / len(packed)
    # One byte more or less moves the ratio by 1 / len(packed); half of that is on this side and on that.
    load(packed, max_expansion=ratio + 0.5 / len(packed))
    if name != "npz.gz":  # whose arrays are held against the size of what is within
        with pytest.raises(MarginRankError, match="times its size; raise max_expansion"):
            load(packed, max_expansion=ratio - 0.5 / len(packed))


@pytest.mark.parametrize("name", ["letor", "csv", "parquet"])
def test_the_limit_of_a_conversion_is_the_same(tmp_path, name):
    packed, size = CASES[name][0]()
    path, ratio = tmp_path / f"a.{name}", size / len(packed)
    path.write_bytes(packed)
    options = {"format": name, "overwrite": True}
    with pytest.raises(MarginRankError, match="times its size; raise max_expansion"):
        convert_to_dataset(path, tmp_path / "a.mrd", max_expansion=ratio - 0.5 / len(packed), **options)
    found = convert_to_dataset(path, tmp_path / "a.mrd", max_expansion=ratio + 0.5 / len(packed), **options)
    assert found.n_rows == 400


def test_a_bomb_of_arrays_is_refused_before_it_goes_off():
    packed, size = compressed_npz(np.zeros((2_000_000, 2)))
    assert size > 200 * len(packed)
    tracemalloc.start()
    try:
        with pytest.raises(MarginRankError, match="the arrays expand to more than 200 times its size"):
            load_npz(packed)
        assert tracemalloc.get_traced_memory()[1] < size / 10
    finally:
        tracemalloc.stop()


def test_an_array_that_claims_more_than_it_holds_is_refused_before_memory_is_taken():
    packed = BytesIO()
    with zipfile.ZipFile(packed, "w") as members:
        for name, shape in (("format", ()), ("X", (10**6, 10**3))):
            member = BytesIO()
            header = {"descr": "<f8", "fortran_order": False, "shape": shape}
            np.lib.format.write_array_header_1_0(member, header)
            members.writestr(f"{name}.npy", member.getvalue() + bytes(80))
    with pytest.raises(MarginRankError, match=r"damaged data \(X\.npy is shorter than it says\)"):
        load_npz(packed.getvalue())


@pytest.mark.parametrize("wrong", [0, -1, float("nan"), "200", None, True])
def test_the_limit_is_a_positive_number(wrong):
    for name in ("letor", "csv", "npz"):
        make, load = CASES[name]
        with pytest.raises(MarginRankError, match="max_expansion must be a positive number"):
            load(make()[0], max_expansion=wrong)


def test_the_limit_may_be_infinite():
    assert load_letor(CASES["letor"][0]()[0], max_expansion=float("inf")).n_rows == 400
