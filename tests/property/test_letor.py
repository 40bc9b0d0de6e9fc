"""What is written is read back bit for bit, and no text brings the reader down."""

from io import BytesIO

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from marginrank import RankingData, dump_letor, load_letor
from marginrank.exceptions import MarginRankError
from marginrank.io import dump_table, load_table

finite = st.floats(allow_nan=False, allow_infinity=False)
values = st.one_of(st.just(0.0), finite)
words = st.text(
    st.characters(exclude_categories=["Cc", "Cs"], exclude_characters="# "), min_size=1, max_size=6
)
remarks = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\n\r\0"), max_size=8)


@st.composite
def ranking_data(draw, number=values):
    n_rows, n_features = draw(st.integers(1, 6)), draw(st.integers(1, 5))

    def column(element):
        return draw(st.lists(element, min_size=n_rows, max_size=n_rows))

    X = np.array(draw(st.lists(number, min_size=n_rows * n_features, max_size=n_rows * n_features)))
    X = X.reshape(n_rows, n_features)
    qid = draw(st.sampled_from([None, "integers", "words"]))
    if qid == "integers":
        qid = np.array(column(st.integers(-(2**63), 2**63 - 1)), dtype=np.int64)
    elif qid == "words":
        qid = np.array(column(words), dtype=object)
    comments = column(remarks) if draw(st.booleans()) else None
    return RankingData(X, column(finite), qid=qid, comments=comments)


def written(data, **options):
    file = BytesIO()
    dump_letor(data, file, **options)
    return file.getvalue()


def bits(X):
    if sparse.issparse(X):
        entries, X = X.tocoo(), np.zeros(X.shape)
        X[entries.row, entries.col] = entries.data  # toarray adds, and 0 + -0 is 0
    return X.view(np.uint64).tolist()


@given(ranking_data(), st.booleans(), st.booleans())
@settings(max_examples=300)
def test_write_and_read_is_the_identity(data, zero_based, dense):
    back = load_letor(written(data, zero_based=zero_based), zero_based=zero_based, dense=dense)
    assert bits(back.X) == bits(data.X)
    assert bits(back.y) == bits(data.y)
    if data.qid is None:
        assert back.qid is None
    else:
        # Strings that are all integers come back as integers, in the same spelling.
        assert list(map(str, back.qid.tolist())) == list(map(str, data.qid.tolist()))
    expected = None if data.comments is None or not any(data.comments) else data.comments.tolist()
    assert (None if back.comments is None else back.comments.tolist()) == expected


@given(ranking_data(), st.sampled_from(["csv", "parquet"]), st.booleans())
@settings(max_examples=150)
def test_text_goes_through_a_table_to_the_byte(data, format, dense):
    text = written(data)
    file = BytesIO()
    dump_table(load_letor(text, dense=dense), file, format=format)
    back = load_table(file.getvalue(), qid=None if data.qid is None else "qid")
    assert written(back) == text


@given(ranking_data())
def test_sparse_and_dense_are_written_alike(data):
    # abs: a sparse matrix drops zeros, whatever their sign
    X = np.abs(data.X)
    options = {"y": data.y, "qid": data.qid, "comments": data.comments}
    assert written(RankingData(X, **options)) == written(RankingData(sparse.csr_array(X), **options))


@given(ranking_data(st.floats(width=32, allow_nan=False, allow_infinity=False)))
def test_float32_comes_back_as_float32(data):
    X = data.X.astype(np.float32)
    back = load_letor(written(RankingData(X, data.y)), dtype=np.float32, dense=True)
    assert back.X.view(np.uint32).tolist() == X.view(np.uint32).tolist()


@given(st.lists(finite, min_size=1))
def test_numbers_are_read_as_python_reads_them(numbers):
    formats = [repr, "{:.17e}".format, "{:.25f}".format, "{:.3E}".format, "{:+.6g}".format]
    texts = [formats[k % len(formats)](number) for k, number in enumerate(numbers)]
    texts = [text for text in texts if np.isfinite(float(text))] or ["0.5"]
    X = load_letor("\n".join(f"0 1:{text}" for text in texts).encode(), dense=True).X
    assert bits(X.ravel()) == bits(np.array([float(text) for text in texts]))


PIECES = (
    b"1|-2.5| |\t|qid:|qid:1|1:|2:0.5|:|#|\n|\r\n|\0|NULL|nan|1e999|-|\xff|9999999999|0:1|3:4 1:2|\x1f\x8b"
)
pieces = st.sampled_from(PIECES.split(b"|"))


@given(st.one_of(st.binary(max_size=60), st.lists(pieces, max_size=20).map(b"".join)))
@settings(max_examples=500)
def test_any_bytes_give_data_or_a_sentence(text):
    try:
        data = load_letor(text, dense=False)
    except MarginRankError as error:
        assert str(error).startswith("<bytes>")  # noqa: PT017 - most texts are refused, some are not
        return
    assert load_letor(written(data)).n_rows == data.n_rows
