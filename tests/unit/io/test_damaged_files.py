"""Files of every format with bytes changed, cut off, put in or taken out: a result, or one line."""

import gzip
import random
from functools import partial
from io import BytesIO

import numpy as np
import pytest

from marginrank import RankingData
from marginrank import io as mio
from marginrank.exceptions import MarginRankError

X = np.arange(24.0).reshape(12, 2) / 8
DATA = RankingData(X, y=np.arange(12) % 3, qid=np.repeat([1, 2, 3], 4))


def written(dump, *args, **options):
    file = BytesIO()
    dump(*args, file, **options)
    return file.getvalue()


CSV = written(mio.dump_table, DATA, format="csv")
PARQUET = written(mio.dump_table, DATA, format="parquet")
LETOR = written(mio.dump_letor, DATA)
WHOLE = {
    "letor": (LETOR, mio.load_letor),
    "letor, gzip": (gzip.compress(LETOR, mtime=0), mio.load_letor),
    "npz": (written(mio.dump_npz, DATA), mio.load_npz),
    "csv": (CSV, partial(mio.load_table, format="csv")),
    "csv, gzip": (gzip.compress(CSV, mtime=0), partial(mio.load_table, format="csv")),
    "parquet": (PARQUET, partial(mio.load_table, format="parquet")),
    "qrels": (b"1 0 a 2\n1 0 b 0\n2 0 a 1\n", mio.load_qrels),
    "run": (b"1 Q0 a 1 2.5 me\n1 Q0 b 2 0.5 me\n", mio.load_run),
    "pairs": (b"0,1\n2,1\n0,3\n", mio.load_pairs),
    "weight": (b"1\n0.5\n2\n", mio.load_weight),
}


def test_names_of_columns_that_break_lines_do_not_break_the_sentence():
    with pytest.raises(MarginRankError, match=r"^<bytes>: expected a column 'label'.*, got 'a\\nb', c\."):
        mio.load_table(b'"a\nb",c\n1,2\n', format="csv")


def damaged(whole, n, seed=0):
    draw = random.Random(seed)
    for _ in range(n):
        content, at = bytearray(whole), draw.randrange(len(whole))
        match draw.randrange(4):
            case 0:
                content[at] ^= draw.randrange(1, 256)
            case 1:
                del content[at:]
            case 2:
                content[at:at] = draw.randbytes(draw.randrange(1, 9))
            case _:
                del content[at : at + draw.randrange(1, 20)]
        yield bytes(content)


def refusal(call, *args, **options):
    """Return the sentence of a refusal, or None; anything else that is raised fails the test."""
    try:
        call(*args, **options)
    except MarginRankError as error:
        return str(error)
    return None


# Damage may leave a column without a name, as that of an index; it is read all the same.
LIKE_AN_INDEX = pytest.mark.filterwarnings("ignore:The column .* is taken as a feature:UserWarning")


@LIKE_AN_INDEX
@pytest.mark.parametrize("name", WHOLE)
def test_damaged_bytes_are_data_or_one_line(name):
    whole, load = WHOLE[name]
    assert refusal(load, whole) is None
    told = [refusal(load, content) for content in damaged(whole, 150)]
    assert any(told)
    assert [one for one in told if one is not None and (not one.startswith("<bytes>") or "\n" in one)] == []


@LIKE_AN_INDEX
@pytest.mark.parametrize("name", ["letor", "letor, gzip", "csv", "csv, gzip", "parquet"])
def test_damaged_files_are_converted_or_refused_in_one_line(name, tmp_path):
    file, target, format = tmp_path / "a", tmp_path / "a.mrd", name.split(",")[0]
    convert = partial(mio.convert_to_dataset, file, target, format=format, overwrite=True)
    told = []
    for content in damaged(WHOLE[name][0], 40):
        file.write_bytes(content)
        told.append(refusal(convert))
    assert any(told)
    assert [one for one in told if one is not None and (not one.startswith(str(file)) or "\n" in one)] == []
