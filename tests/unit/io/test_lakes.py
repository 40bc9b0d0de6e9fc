"""Folders of Parquet files, relations, readers and lazy frames: the bits of arrays, in bounded memory."""

import subprocess
import sys
import textwrap

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from limits import HANG
from marginrank import RankingModel, RankSVM
from marginrank.cli.app import run
from marginrank.datasets import make_ranking
from marginrank.exceptions import MarginRankError
from marginrank.io import convert_to_dataset, load_table, read

X, Y, QID = make_ranking(40, 6, 5)
NAMES = [f"f{k}" for k in range(5)]
TABLE = pd.DataFrame(X, columns=NAMES).assign(label=Y, qid=QID)
EXPECTED = RankSVM().fit(X, Y, qid=QID)


@pytest.fixture
def lake(tmp_path):
    """A folder by year and month; queries lie in one file or in several."""
    for k, rows in enumerate(np.array_split(np.arange(len(TABLE)), 5)):
        folder = tmp_path / "lake" / f"year={2024 + k // 3}" / f"month={k}"
        folder.mkdir(parents=True)
        pq.write_table(pa.Table.from_pandas(TABLE.iloc[rows], preserve_index=False), folder / "part.parquet")
    (tmp_path / "lake" / "_SUCCESS").write_text("")
    return tmp_path / "lake"


def same(data):
    np.testing.assert_array_equal(data.y, Y)
    np.testing.assert_array_equal(np.asarray(data.qid).astype(int), QID)
    assert list(data.feature_names) == NAMES
    np.testing.assert_array_equal(RankSVM().fit(data).coef_, EXPECTED.coef_)


def test_a_folder_is_read_into_memory_or_piece_by_piece(lake, tmp_path):
    same(load_table(lake))
    same(read(lake))
    data = convert_to_dataset(lake, tmp_path / "lake.mrd", format="parquet", chunk_rows=60)
    np.testing.assert_array_equal(np.concatenate([data.chunk(k).X for k in range(data.n_chunks)]), X)
    np.testing.assert_array_equal(data.y, Y)


def test_the_command_line_trains_on_a_folder(lake, tmp_path, monkeypatch, capfd):
    monkeypatch.chdir(tmp_path)
    assert run(["train", "lake/", "-o", "model.mrk"]) == 0
    np.testing.assert_array_equal(RankingModel.load("model.mrk").coef, EXPECTED.coef_)
    assert run(["train", "lake/year=2024/", "-o", "part.mrk"]) == 0
    part = TABLE.iloc[: sum(len(rows) for rows in np.array_split(np.arange(len(TABLE)), 5)[:3])]
    alone = RankSVM().fit(part[NAMES].to_numpy(), part["label"], qid=part["qid"])
    np.testing.assert_array_equal(RankingModel.load("part.mrk").coef, alone.coef_)
    assert run(["convert", "lake", "out.mrd"]) == 0
    assert run(["train", "out.mrd", "-o", "disk.mrk"]) == 0


@pytest.mark.parametrize("name", ["notes.txt", "year=2024/more.csv", "year=2024/part.parquet.gz"])
def test_a_file_that_is_no_parquet_is_refused_by_name(lake, tmp_path, name):
    (lake / name).write_text("label,qid,f0\n1,1,1\n")
    for call in (
        lambda: load_table(lake),
        lambda: convert_to_dataset(lake, tmp_path / "a.mrd", format="parquet"),
    ):
        with pytest.raises(
            MarginRankError, match=rf"lake: expected nothing but Parquet files in the folder, got {name}"
        ):
            call()
    (lake / name).unlink()
    same(load_table(lake))


def test_what_other_programs_keep_for_themselves_is_left_alone(lake):
    (lake / "_delta_log").mkdir()
    for name in ("_delta_log/0.json", "_metadata", ".part.parquet.crc", "year=2024/_committed_1", ".hidden"):
        (lake / name).write_text("{}")
    same(load_table(lake))


def test_parquet_is_known_by_its_content(lake):
    part = lake / "year=2024" / "month=0"
    (part / "part.parquet").rename(part / "000000_0")  # as Hive calls them
    same(load_table(lake))


NO_ID = "column 'month': expected a query id, got an empty cell"


def test_keys_of_partitions_are_text(lake):
    (lake / "year=2024" / "month=0").rename(lake / "year=2024" / "month=007")
    with pytest.warns(UserWarning, match="'qid' is taken as a feature"):
        data = load_table(lake, qid="month")
    assert "007" in data.qid.tolist()
    (lake / "year=2024" / "month=1").rename(lake / "year=2024" / "month=__HIVE_DEFAULT_PARTITION__")
    with pytest.warns(UserWarning, match="'qid' is taken"), pytest.raises(MarginRankError, match=NO_ID):
        load_table(lake, qid="month")


def test_partitions_are_columns_where_they_are_named(lake):
    with pytest.warns(UserWarning, match="'qid' is taken as a feature"):
        data = load_table(lake, qid="month")
    assert sorted(set(data.qid.tolist())) == ["0", "1", "2", "3", "4"]
    assert "qid" in data.feature_names


def test_the_index_of_pandas_is_no_feature(lake, tmp_path):
    first = lake / "year=2024" / "month=0" / "part.parquet"
    frame = pq.ParquetFile(first).read().to_pandas()  # the columns of the file, without those of its path
    frame.index = frame.index[::-1].to_numpy()
    frame.to_parquet(first)
    assert "__index_level_0__" in pq.read_schema(first).names
    same(load_table(lake))
    assert list(load_table(first).feature_names) == NAMES
    assert load_table(first, weight="__index_level_0__").sample_weight is not None
    data = convert_to_dataset(lake, tmp_path / "lake.mrd", format="parquet", chunk_rows=60)
    assert list(data.feature_names) == NAMES


def streams():
    table = pa.Table.from_pandas(TABLE, preserve_index=False)
    return {
        "reader": lambda: table.to_reader(max_chunksize=17),
        "duckdb": lambda: duckdb.from_arrow(table),
        "polars": lambda: pl.from_arrow(table).lazy(),
    }


def test_a_lazy_frame_of_a_polars_that_gives_no_pieces_is_refused(tmp_path, monkeypatch):
    monkeypatch.delattr(pl.LazyFrame, "collect_batches", raising=False)
    with pytest.raises(MarginRankError, match="does not give a lazy frame in pieces"):
        convert_to_dataset(streams()["polars"](), tmp_path / "rows.mrd")


PIECES = pytest.mark.skipif(not hasattr(pl.LazyFrame, "collect_batches"), reason="an old release of polars")


@pytest.mark.parametrize("kind", ["reader", "duckdb", pytest.param("polars", marks=PIECES)])
def test_streams_go_into_data_sets_batch_by_batch(kind, tmp_path):
    data = convert_to_dataset(streams()[kind](), tmp_path / "rows.mrd", chunk_rows=50)
    assert data.n_chunks > 1
    np.testing.assert_array_equal(np.concatenate([data.chunk(k).X for k in range(data.n_chunks)]), X)
    np.testing.assert_array_equal(data.y, Y)
    assert list(data.feature_names) == NAMES


PROGRAM = """
    import resource
    from pathlib import Path
    import duckdb, pyarrow as pa, pyarrow.dataset, pyarrow.parquet as pq
    from marginrank.io import convert_to_dataset, load_table

    def batches():
        for file in sorted(Path("big").iterdir()):
            yield from pq.ParquetFile(file).iter_batches(5_000)

    duckdb.sql("set memory_limit='40MB'; set threads=1; set enable_progress_bar=false")
    pa.set_cpu_count(1)
    pa.set_io_thread_count(1)
    pa.set_memory_pool(pa.system_memory_pool())
    with open("/proc/self/status") as status:
        used = next(int(line.split()[1]) << 10 for line in status if line.startswith("VmData"))
    resource.setrlimit(resource.RLIMIT_DATA, (used + ROOM,) * 2)
    print(READ.n_rows)
"""


def test_what_is_larger_than_the_memory_is_converted(tmp_path):
    """Half of the features fit into what the process may take beyond its modules."""
    rows, columns, files = 25_000, 40, 30  # 8 MB a file, 240 MB in all
    rng = np.random.default_rng(0)
    (tmp_path / "big").mkdir()
    for k in range(files):
        columns_of = {f"f{j}": rng.normal(size=rows) for j in range(columns)}
        labels = {"label": rng.integers(0, 3, rows), "qid": k * 1000 + np.arange(rows) // 25}
        pq.write_table(
            pa.table({**columns_of, **labels}), tmp_path / "big" / f"{k:02}.parquet", row_group_size=5_000
        )

    def within_limit(call):
        room = str(rows * columns * 8 * files // 2)
        code = textwrap.dedent(PROGRAM).replace("ROOM", room).replace("READ", call)
        command = [sys.executable, "-c", code]
        return subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=HANG)

    folder = "'big', 'big.mrd', format='parquet'"
    reader = "pa.RecordBatchReader.from_batches(pq.read_schema('big/00.parquet'), batches()), 'reader.mrd'"
    # DuckDB makes the whole result, or gives 100,000 rows at a time, unless it is asked for fewer.
    relation = """duckdb.sql("select * from 'big/*.parquet'"), 'relation.mrd'"""
    for source in (folder, reader, relation):
        done = within_limit(f"convert_to_dataset({source}, chunk_bytes=4 << 20)")
        assert done.stdout.strip() == str(rows * files), done.stderr[-2000:]
    assert within_limit("load_table('big')").returncode != 0


def test_what_cannot_be_read_is_refused_in_a_sentence(lake, tmp_path):
    (tmp_path / "empty").mkdir()
    with pytest.raises(MarginRankError, match=r"empty: expected Parquet files .* got none"):
        load_table(tmp_path / "empty")
    with pytest.raises(MarginRankError, match="expected a file of csv data, got a folder"):
        load_table(lake, format="csv")
    odd = TABLE.rename(columns={"f0": "g0"})
    odd.to_parquet(lake / "zz.parquet", index=False)
    with pytest.raises(
        MarginRankError, match=r"expected the same columns in all .*; 'f0' is in one only of .*zz\.parquet"
    ):
        load_table(lake)
    (lake / "zz.parquet").write_bytes(b"PAR1 no")
    with pytest.raises(MarginRankError, match="expected parquet data; pyarrow says"):
        load_table(lake)
