"""Frames that hold no values yet, and columns of vectors: the same bits as arrays."""

import dask.dataframe as dd
import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest

from marginrank import RankingData, RankingModel, RankSVM
from marginrank.datasets import make_ranking
from marginrank.exceptions import MarginRankError

X, Y, QID = make_ranking(30, 6, 5)
NAMES = ["price", "title_0", "title_1", "title_2", "age"]
FLAT = pd.DataFrame(X, columns=NAMES).assign(qid=QID)
EXPECTED = RankSVM().fit(FLAT, Y)


def lazy(folder):
    """Return what makes each kind of frame that holds no values yet, anew: readers are read once."""
    pq.write_table(pa.table(FLAT), folder / "rows.parquet")
    table = pa.table(FLAT)
    return {
        "polars": lambda: pl.from_arrow(table).lazy(),
        "duckdb": lambda: duckdb.from_arrow(table),
        "reader": lambda: table.to_reader(max_chunksize=7),
        "dataset": lambda: ds.dataset(folder / "rows.parquet"),
    }


@pytest.mark.parametrize("kind", ["polars", "duckdb", "reader", "dataset"])
def test_lazy_frames_give_the_bits_of_arrays(kind, tmp_path):
    make = lazy(tmp_path)[kind]
    ranker = RankSVM().fit(make(), Y)
    np.testing.assert_array_equal(ranker.coef_, EXPECTED.coef_)
    assert list(ranker.feature_names_in_) == NAMES
    np.testing.assert_array_equal(ranker.predict(make()), EXPECTED.predict(FLAT))
    np.testing.assert_array_equal(ranker.to_model().predict(make()), EXPECTED.predict(FLAT))
    assert ranker.score(make(), Y) == EXPECTED.score(FLAT, Y)
    np.testing.assert_array_equal(RankingData(make(), Y).X, X)


def nested():
    rows = [row.tolist() for row in X[:, 1:4]]
    rest = {"price": X[:, 0], "age": X[:, 4], "qid": QID}
    order = ["price", "title", "age", "qid"]
    as_list = pl.DataFrame({**rest, "title": rows}).select(order)
    arrow = pa.table({**rest, "title": pa.array(rows, pa.list_(pa.float64(), 3))}).select(order)
    return {
        "polars array": as_list.with_columns(pl.col("title").list.to_array(3)),
        "polars list": as_list,
        "pandas lists": pd.DataFrame({**rest, "title": rows})[order],
        "pandas arrays": pd.DataFrame({**rest, "title": list(X[:, 1:4])})[order],
        "Arrow fixed size": arrow,
        "Arrow lists": arrow.set_column(1, "title", pa.array(rows)),
    }


@pytest.mark.parametrize("kind", nested())
def test_columns_of_vectors_become_columns_of_numbers(kind):
    frame = nested()[kind]
    ranker = RankSVM().fit(frame, Y)
    assert list(ranker.feature_names_in_) == NAMES
    np.testing.assert_array_equal(ranker.coef_, EXPECTED.coef_)
    np.testing.assert_array_equal(ranker.predict(frame), EXPECTED.predict(FLAT))
    model = ranker.to_model()
    assert model.feature_names == tuple(NAMES)
    np.testing.assert_array_equal(model.predict(frame), EXPECTED.predict(FLAT))


def test_an_embedding_of_single_precision_stays_one():
    data = RankingData(
        pl.DataFrame({"e": pl.Series([[1.0, 2.0]] * 2, dtype=pl.Array(pl.Float32, 2))}), [0, 1]
    )
    assert data.X.dtype == np.float32


def test_the_index_of_pandas_is_kept():
    frame = pd.DataFrame({"e": [[1.0, 2.0], [3.0, 4.0]], "f": [5.0, 6.0]}, index=[7, 3])
    assert RankingModel([1.0, 1.0, 1.0]).predict(frame).tolist() == [8.0, 13.0]


def used_up(reader):
    reader.read_all()
    return reader


@pytest.mark.parametrize(
    ("frame", "sentence"),
    [
        (pl.DataFrame({"e": [[1.0], [1.0, 2.0]]}), "'e' of X holds vectors of different lengths, 1 to 2"),
        (pl.DataFrame({"e": [[1.0], None]}), "'e' of X holds vectors, but none at row 1"),
        (pl.DataFrame({"e": [[1.0]]}).clear(), "'e' of X holds vectors, but X has no rows"),
        (pl.DataFrame({"e": [[1.0]]}).lazy().limit(0), "'e' of X holds vectors, but X has no rows"),
        (used_up(pl.DataFrame({"e": [[1.0]]}).to_arrow().to_reader()), "gives its rows only once"),
        (pl.DataFrame({"e": [["a"], ["b"]]}), "'e' of X holds lists of something else than numbers"),
        (pl.DataFrame({"e": [[], []]}, schema={"e": pl.List(pl.Float64)}), "'e' of X holds no vectors"),
        (pl.DataFrame({"e": [[1.0], [2.0]], "e_0": [1.0, 2.0]}), "X has a column e_0 already"),
        (dd.from_pandas(FLAT, npartitions=2), r"X is a lazy frame, .* pass X.compute\(\)"),
    ],
)
def test_what_cannot_be_read_is_refused_in_a_sentence(frame, sentence):
    with pytest.raises(MarginRankError, match=sentence):
        RankingData(frame, [0, 1])
