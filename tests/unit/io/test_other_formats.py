"""Side files, pairs, TREC files, .npz, tables and the registry: round trips and refusals."""

import pickle
import sys
import warnings
from io import BytesIO

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from malformed_others import BAD
from scipy import sparse

from marginrank import RankingData, dump_letor
from marginrank import io as mio
from marginrank.exceptions import MarginRankError

X = np.array([[0.5, 1.0], [0.0, -2.0], [0.25, 0.0]])
DATA = RankingData(X, y=[2, 0, 1], qid=["a", "a", "b"], sample_weight=[1, 0.5, 2])


@pytest.mark.parametrize(("read", "text", "sentence"), BAD.values(), ids=BAD.keys())
def test_bad_files_are_refused_with_a_sentence(read, text, sentence):
    with pytest.raises(MarginRankError) as caught:
        read(text)
    assert str(caught.value).startswith("<bytes>") if sentence is None else str(caught.value) == sentence


def written(dump, *args, **options):
    file = BytesIO()
    dump(*args, file, **options)
    return file.getvalue()


def same(one, other, names=("X", "y", "qid", "sample_weight", "query_weight", "comments", "pairs")):
    for name in names:
        a, b = (getattr(data, name) for data in (one, other))
        if sparse.issparse(a):
            a, b = a.toarray(), b.toarray()
        assert (a is None) == (b is None), name
        assert a is None or (a.dtype == b.dtype and np.array_equal(a, b)), name


def test_sizes_and_weights_come_back():
    assert mio.load_group(written(mio.dump_group, DATA)).tolist() == [2, 1]
    assert mio.load_weight(written(mio.dump_weight, [0.1, 3.0, 1e-300])).tolist() == [0.1, 3.0, 1e-300]


def test_sizes_need_rows_that_are_together():
    with pytest.raises(MarginRankError, match="these rows are not grouped"):
        written(mio.dump_group, RankingData(X, y=[1, 2, 3], qid=[1, 2, 1]))


def test_lightgbm_files_come_back_with_their_side_files(tmp_path):
    mio.write(DATA, tmp_path / "train.txt", format="lightgbm")
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "train.txt",
        "train.txt.query",
        "train.txt.weight",
    ]
    back = mio.read(tmp_path / "train.txt", format="lightgbm")
    same(back, DATA, ("X", "y", "sample_weight", "query_ptr"))


def test_files_that_belong_together_are_written_together_or_not_at_all(tmp_path):
    spoilt = RankingData(X, y=[2, 0, 1], qid=["a", "a", "b"], comments=["", "", "two\nlines"])
    with pytest.raises(MarginRankError, match="A comment must be one line"):
        mio.write(spoilt, tmp_path / "train.txt", format="lightgbm")
    with pytest.raises(MarginRankError, match="hold pairs and no y"):
        mio.write(RankingData(X, pairs=[[0, 1]]), tmp_path / "train.txt", format="lightgbm")
    assert list(tmp_path.iterdir()) == []


def test_old_weights_are_not_taken_for_those_of_new_data(tmp_path):
    mio.write(DATA, tmp_path / "train.txt", format="lightgbm")
    with pytest.raises(MarginRankError, match=r"train\.txt\.weight is there already"):
        mio.write(RankingData(X, y=[1, 2, 3]), tmp_path / "train.txt", format="lightgbm")


def test_xgboost_groups_and_query_weights_are_read(tmp_path):
    path = tmp_path / "train.txt"
    dump_letor(RankingData(X, y=[2, 0, 1]), path)
    (tmp_path / "train.txt.group").write_text("2\n1\n")
    (tmp_path / "train.txt.weight").write_text("3\n4\n")
    back = mio.read(path, format="lightgbm")
    assert back.query_ptr.tolist() == [0, 2, 3]
    assert back.query_weight.tolist() == [3, 4]


@pytest.mark.parametrize(
    ("ending", "text", "message"),
    [
        ("group", "2\n2\n", "expected sizes that sum to the 3 rows"),
        ("weight", "1\n2\n", "expected a weight for each"),
    ],
)
def test_side_files_that_do_not_fit_are_refused(tmp_path, ending, text, message):
    path = tmp_path / "train.txt"
    dump_letor(RankingData(X, y=[2, 0, 1]), path)
    (tmp_path / f"train.txt.{ending}").write_text(text)
    with pytest.raises(MarginRankError, match=message):
        mio.read(path, format="lightgbm")


def test_a_weight_of_both_one_row_and_one_query_is_of_the_rows(tmp_path):
    path = tmp_path / "train.txt"
    dump_letor(RankingData(X, y=[2, 0, 1], qid=[1, 2, 3]), path)
    (tmp_path / "train.txt.weight").write_text("1\n2\n3\n")
    assert mio.read(path, format="lightgbm").sample_weight.tolist() == [1, 2, 3]


@pytest.mark.parametrize("weight", [None, [0.5, 2.0]])
@pytest.mark.parametrize("margin", [None, [1.0, 0.1]])
def test_pairs_come_back(weight, margin):
    data = RankingData(X, pairs=[[0, 1], [2, 1]], pair_weight=weight, pair_margin=margin)
    back = mio.load_pairs(written(mio.dump_pairs, data))
    assert back.pairs.tolist() == [[0, 1], [2, 1]]
    # Weights of 1 are written where there are margins, as the columns have an order.
    assert (None if back.weight is None else back.weight.tolist()) == (
        [1.0, 1.0] if weight is None and margin else weight
    )
    assert (None if back.margin is None else back.margin.tolist()) == margin


def test_pairs_by_docid():
    data = RankingData(X, pairs=[[0, 1], [2, 1]], comments=["docid = A x", " docid=B", "docid = C"])
    ids = mio.docids(data)
    assert ids == ["A", "B", "C"]
    text = written(mio.dump_pairs, data, ids=ids)
    assert text == b"winner,loser\nA,B\nC,B\n"
    assert mio.load_pairs(text, ids=ids).pairs.tolist() == [[0, 1], [2, 1]]


def test_docids_that_are_unknown_or_not_unique_are_refused():
    with pytest.raises(MarginRankError, match="<bytes>:1:3: expected the document id of a row, got 'Z'"):
        mio.load_pairs(b"A,Z", ids=["A", "B"])
    with pytest.raises(
        MarginRankError, match="<bytes>:1:3: expected the id of one row, got 'B', which several rows have"
    ):
        mio.load_pairs(b"A,B", ids=["A", "B", "B"])
    with pytest.raises(MarginRankError, match="ids must give row 1 an id of its own"):
        written(mio.dump_pairs, RankingData(X, pairs=[[0, 1]]), ids=["A", None, "C"])


def test_trec_ids_may_hold_what_is_no_blank():
    ids = ["http://a/b#c", "a\u00a0b", "\udcff"]
    assert mio.load_qrels(written(mio.dump_qrels, ids, ids, [1, 2, 3])).docid.tolist() == ids


def test_a_row_number_beyond_the_rows_names_its_line():
    with pytest.raises(MarginRankError, match="<bytes>:2:1: expected a row number from 0 to 2, got '3'"):
        mio.load_pairs(b"0,1\n3,0\n", n_rows=3)


def test_trec_files_come_back():
    qrels = mio.load_qrels(written(mio.dump_qrels, [1, 1, 2], ["d", "e", "d"], [0, 2.5, 1]))
    assert (qrels.qid.tolist(), qrels.docid.tolist()) == (["1", "1", "2"], ["d", "e", "d"])
    assert qrels.label.tolist() == [0, 2.5, 1]
    run = mio.load_run(written(mio.dump_run, ["b", "a", "b"], ["d", "e", "f"], [0.1, 1e-9, 0.2], tag="t"))
    assert (run.qid.tolist(), run.docid.tolist(), run.tag) == (["b", "b", "a"], ["f", "d", "e"], "t")
    assert run.score.tolist() == [0.2, 0.1, 1e-9]


@pytest.mark.parametrize(
    ("docid", "score"),
    [(["a b"], [1.0]), ([None], [1.0]), (["a"], [np.nan]), (["a"], [1.0, 2.0]), ([""], [1.0])],
)
def test_runs_that_could_not_be_read_are_not_written(docid, score):
    with pytest.raises(MarginRankError):
        written(mio.dump_run, ["q"], docid, score)


NPZ = {
    "dense": DATA,
    "float32": RankingData(X.astype(np.float32), y=[1, 2, 3]),
    "csr": RankingData(sparse.csr_matrix(X), y=[1, 2, 3], qid=[3, 3, 1], query_weight={3: 1.0, 1: 2.0}),
    "pairs": RankingData(X, pairs=[[0, 1]], pair_weight=[2.0], pair_margin=[0.5]),
    "names": RankingData(X, y=[1, 2, 3], feature_names=["\u00fc", "b"], comments=["", "x\0y", "\udcff"]),
    "dates": RankingData(X, y=[1, 2, 3], qid=np.array(["2024-01-01"] * 3, dtype="M8[D]")),
    "nan": RankingData(X * np.nan, y=[1, 2, 3], allow_nonfinite=True),
}


@pytest.mark.parametrize("data", NPZ.values(), ids=NPZ.keys())
def test_npz_keeps_everything(data, tmp_path):
    mio.write(data, tmp_path / "a.npz")
    back = mio.read(tmp_path / "a.npz")
    names = ("y", "qid", "query_ids", "query_ptr", "order", "sample_weight", "query_weight")
    same(back, data, (*names, "pairs", "pair_weight", "pair_margin", "comments"))
    assert back.feature_names == data.feature_names
    dense = [d.X.toarray() if sparse.issparse(d.X) else d.X for d in (back, data)]
    np.testing.assert_array_equal(*dense)
    assert repr(back) == repr(data)


def test_npz_without_pickle_refuses_other_ids():
    with pytest.raises(MarginRankError, match="hold ids that are numbers, dates or strings"):
        written(mio.dump_npz, RankingData(X, y=[1, 2, 3], qid=[(1, 2), (1, 2), (3, 4)]))


def test_npz_never_unpickles():
    class Trap:
        def __reduce__(self):
            return (pytest.fail, ("unpickled",))

    file = BytesIO()
    np.savez(file, X=np.array([Trap()], dtype=object))
    for content in (file.getvalue(), pickle.dumps(Trap())):
        with pytest.raises(MarginRankError):
            mio.load_npz(content)


def test_npz_cut_or_changed_is_data_or_a_sentence():
    content = written(mio.dump_npz, DATA)
    for end in range(0, len(content), 7):
        with pytest.raises(MarginRankError):
            mio.load_npz(content[:end])
    refused = 0
    for at in range(0, len(content), 3):
        changed = bytearray(content)
        changed[at] ^= 0x41
        try:
            mio.load_npz(bytes(changed))
        except MarginRankError:
            refused += 1
    assert refused > 0


def test_npz_of_others_is_refused():
    file = BytesIO()
    np.savez(file, a=X)
    with pytest.raises(MarginRankError, match=r"expected an \.npz that dump_npz wrote, got arrays"):
        mio.load_npz(file.getvalue())


@pytest.mark.parametrize("ending", ["csv", "csv.gz", "parquet", "pq"])
def test_tables_come_back(tmp_path, ending):
    data = RankingData(
        X, y=[2, 0.1, 1], qid=["a", "a", "b"], sample_weight=[1, 0.5, 2], feature_names=["u", "v"]
    )
    path = tmp_path / f"a.{ending}"
    mio.write(data, path, label="grade", qid="query", weight="w")
    back = mio.read(path, label="grade", qid="query", weight="w")
    same(back, data, ("X", "y", "qid", "sample_weight"))
    assert back.feature_names == ("u", "v")


def test_tables_without_queries_and_sparse(tmp_path):
    mio.write(RankingData(sparse.csr_matrix(X), y=[1, 2, 3]), tmp_path / "a.csv")
    back = mio.read(tmp_path / "a.csv", qid=None)
    assert back.feature_names == ("f1", "f2")
    assert np.array_equal(back.X, X)


@pytest.mark.parametrize("ending", ["csv", "csv.gz", "parquet"])
def test_letor_text_comes_back_from_a_table_to_the_byte(tmp_path, ending):
    rows = RankingData(
        [[-0.0, 1.0], [0.0, -2.5], [0.1, -0.0]],
        y=[-0.0, 2, 1e-300],
        qid=["007", "7", "007"],
        comments=["docid = GX-1 inc = 1", "", ' "quoted", with commas '],
    )
    dump_letor(rows, tmp_path / "a.txt")
    mio.write(mio.read(tmp_path / "a.txt"), tmp_path / f"a.{ending}")
    dump_letor(mio.read(tmp_path / f"a.{ending}"), tmp_path / "b.txt")
    assert (tmp_path / "b.txt").read_bytes() == (tmp_path / "a.txt").read_bytes()


def test_ids_of_csv_are_integers_where_all_look_like_it():
    table = b"label,qid,a\n1,12,1\n0,-3,2\n"
    assert mio.load_table(table).qid.dtype == np.int64
    assert mio.load_table(table.replace(b"-3", b"03")).qid.tolist() == ["12", "03"]


def test_document_ids_of_tables_become_comments():
    data = mio.load_table(b"label,qid,docid,comment,a\n1,1,007,good,1\n0,1,D2,,2\n")
    assert data.comments.tolist() == ["docid = 007 good", "docid = D2"]
    assert mio.docids(data) == ["007", "D2"]
    data = mio.load_table(b"label,qid,docid,name,a\n1,1,5,X,1\n0,1,6,Y,2\n", docid="name")
    assert mio.docids(data) == ["X", "Y"]
    assert data.feature_names == ("docid", "a")


def test_cells_without_a_number_are_read_on_request():
    csv = mio.load_table(b"label,qid,a,b\n1,1,NULL,2\n0,1,3,\n", missing=-1.0)
    assert csv.X.tolist() == [[-1, 2], [3, -1]]
    parquet = mio.load_table(
        written(pq.write_table, pa.table({"label": [1, 0], "qid": [1, 1], "a": [None, 4]})), missing=np.nan
    )
    assert parquet.allow_nonfinite
    assert np.isnan(parquet.X[0, 0])
    assert parquet.X[1, 0] == 4


def test_comments_of_several_lines_have_no_place_in_csv():
    with pytest.raises(MarginRankError, match="A comment in CSV must be one line; that of row 1"):
        written(mio.dump_table, RankingData(X, y=[1, 2, 3], comments=["", "a\nb", ""]), format="csv")


@pytest.mark.parametrize(
    ("qid", "side", "told"),
    [(None, "query", True), (None, "group", True), (None, "weight", True), ([1, 1, 2], "weight", True),
     ([1, 1, 2], "query", False)],
)  # fmt: skip
def test_side_files_that_are_not_read_are_named(tmp_path, qid, side, told):
    path = tmp_path / "train.txt"
    dump_letor(RankingData(X, y=[2, 0, 1], qid=qid), path)
    (tmp_path / f"train.txt.{side}").write_text("2\n1\n" if side != "weight" else "1\n2\n3\n")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        mio.read(path)
        n_told = len(caught)
        mio.read(path, format="lightgbm")
        assert len(caught) == n_told == told
    if told:
        assert str(caught[0].message).startswith(f"{path}.{side} lies beside {path} and is not used")


def test_table_names_that_clash_are_refused(tmp_path):
    with pytest.raises(MarginRankError, match="The feature 'label' has the name of another column"):
        mio.write(RankingData(X, y=[1, 2, 3], feature_names=["label", "b"]), tmp_path / "a.csv")


def test_table_ids_of_several_types_are_refused():
    with pytest.raises(MarginRankError, match="A table holds ids of one type"):
        written(mio.dump_table, RankingData(X, y=[1, 2, 3], qid=["a", 1, 2]))


def test_tables_with_words_or_damage_name_the_file(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("a,label,qid\nred,1,1\n")
    with pytest.raises(MarginRankError, match=r"a\.csv:2, column 'a': expected a number, got 'red'"):
        mio.read(path)
    with pytest.raises(MarginRankError, match="expected parquet data; pyarrow says"):
        mio.load_table(b"PAR1 and no more")


def test_without_pyarrow_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(MarginRankError, match=r"pip install 'marginrank\[tables\]'"):
        mio.load_table(b"a,label\n1,1\n")


def test_the_registry_refuses_what_it_does_not_know(tmp_path):
    with pytest.raises(
        MarginRankError,
        match="format must be one of 'letor', 'lightgbm', 'npz', 'csv', 'parquet', 'mrd'; got 'xls'",
    ):
        mio.read(b"", format="xls")
    with pytest.raises(MarginRankError, match=r"The ending of .* stands for no format; pass format="):
        mio.write(DATA, tmp_path / "a.doc")
    with pytest.raises(MarginRankError, match="needs a path"):
        mio.write(DATA, BytesIO(), format="lightgbm")


@pytest.mark.parametrize("name", [name for name in mio.FORMATS if name != "lightgbm"])
def test_every_format_of_the_registry_reads_what_it_writes(name, tmp_path):
    path = tmp_path / "some.file"
    mio.write(DATA, path, format=name)
    held = ("X", "y", "qid") if name == "letor" else ("X", "y", "qid", "sample_weight")
    found = mio.read(path, format=name)
    same(found.in_memory() if name == "mrd" else found, DATA, held)


def test_other_endings_are_read_as_letor(tmp_path):
    path = tmp_path / "S1.fold"
    dump_letor(DATA, path)
    same(mio.read(path), DATA, ("X", "y", "qid"))
