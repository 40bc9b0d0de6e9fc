"""Dask data frames as their users have them: read from Parquet, with weights, pairs and validation rows."""

from itertools import pairwise

import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
from dask_cases import ranking_data, serially

from limits import HANG
from marginrank import RankingData, RankSVM, StructuredRankSVM, write_dataset
from marginrank.data.ranking_data import rebuilt
from marginrank.distributed import DaskRanker
from marginrank.exceptions import MarginRankError
from marginrank.io import write

ESTIMATOR = RankSVM(alpha=1e-2, tol=0.1)
FEATURES = list("abcdef")


@pytest.fixture(name="ranker")
def ranker_over_workers(client):
    return DaskRanker(ESTIMATOR, client, timeout=HANG)


def frame_of(data):
    return pd.DataFrame(data.X, columns=FEATURES).assign(label=data.y, qid=data.qid)


def parquet(frame, folder, n_files):
    """Write a frame as a folder of Parquet files of equal sizes, and return the folder."""
    folder.mkdir()
    size = len(frame) // n_files
    for k in range(n_files):
        frame[size * k : size * (k + 1)].to_parquet(folder / f"part-{k:03}.parquet")
    return folder


def coefficients(ranker):
    return ranker.estimator_.coef_


@pytest.mark.parametrize("n_files", [2, 4, 12])
def test_parquet_has_the_bits_of_the_persisted_frame(ranker, client, tmp_path, n_files):
    data = ranking_data()
    parts = dd.read_parquet(parquet(frame_of(data), tmp_path / "parts", n_files))
    lazy = coefficients(ranker.fit(parts, y="label"))
    with client.as_current():
        kept = parts.persist()
    assert np.array_equal(lazy, coefficients(ranker.fit(kept, y="label")))
    write_dataset(tmp_path / "same.mrd", data, chunk_rows=480 // n_files)
    assert np.array_equal(lazy, ESTIMATOR.fit(serially(tmp_path / "same.mrd")).coef_)


@pytest.mark.parametrize("columns", [[*"abcdef"], [*"ac"]], ids=["all", "two"])
def test_parquet_by_arrow_and_of_some_columns(ranker, client, tmp_path, columns):
    """Dask reads several files at once there, and its persisted frames cannot be computed."""
    folder = parquet(frame_of(ranking_data()), tmp_path / "parts", 4)
    parts = dd.read_parquet(folder, filesystem="arrow")[[*columns, "label", "qid"]]
    with client.as_current():
        rows = parts.compute()
    in_memory = dd.from_pandas(rows.reset_index(drop=True), npartitions=4, sort=False)
    lazy = coefficients(ranker.fit(parts, y="label"))
    assert np.array_equal(lazy, coefficients(ranker.fit(in_memory, y="label")))


def test_columns_of_parquet_may_be_computed_on_the_way(ranker, client, tmp_path):
    frame = frame_of(ranking_data())
    parts = dd.read_parquet(parquet(frame, tmp_path / "parts", 4))
    made = parts.assign(g=parts["a"] * parts["b"])
    lazy = coefficients(ranker.fit(made, y="label"))
    in_memory = dd.from_pandas(frame.assign(g=frame["a"] * frame["b"]), npartitions=4, sort=False)
    assert np.array_equal(lazy, coefficients(ranker.fit(in_memory, y="label")))


def test_partitions_may_be_empty_or_cut_queries(ranker, tmp_path):
    data = ranking_data()
    frame = frame_of(data)
    cuts = [0, 155, 155, 470, 480]
    parts = dd.concat([dd.from_pandas(frame[a:b], npartitions=1) for a, b in pairwise(cuts)])
    assert parts.npartitions == 4
    ranker.fit(parts, y="label")
    X = da.from_array(data.X, chunks=((160, 310, 10), (6,)))
    assert np.array_equal(coefficients(ranker), coefficients(ranker.fit(X, data.y, qid=data.qid)))


def test_single_precision_stays(ranker, client):
    frame = frame_of(ranking_data()).astype(dict.fromkeys(FEATURES, np.float32))
    parts = dd.from_pandas(frame, npartitions=3, sort=False)
    X = da.from_array(frame[FEATURES].to_numpy(), chunks=(160, 6))
    by_frame = coefficients(ranker.fit(parts, y="label"))
    assert np.array_equal(by_frame, coefficients(ranker.fit(X, parts["label"], qid=parts["qid"])))


@pytest.mark.parametrize("role", ["sample_weight", "query_weight"])
def test_weights_are_columns_or_collections(ranker, tmp_path, role):
    data = ranking_data()
    weight = 1.0 + (data.qid % 3 if role == "query_weight" else np.arange(480) % 4)
    weighted = rebuilt(data, **{role: weight})
    write_dataset(tmp_path / "same.mrd", weighted, chunk_rows=160)
    expected = ESTIMATOR.fit(serially(tmp_path / "same.mrd")).coef_
    parts = dd.from_pandas(frame_of(data).assign(importance=weight), npartitions=3, sort=False)
    assert np.array_equal(expected, coefficients(ranker.fit(parts, y="label", **{role: "importance"})))
    without = parts.drop(columns="importance")
    for given in (parts["importance"], da.from_array(weight, chunks=100), weight):
        assert np.array_equal(expected, coefficients(ranker.fit(without, y="label", **{role: given})))
    write_dataset(tmp_path / "plain.mrd", data, chunk_rows=160)
    assert np.array_equal(expected, coefficients(ranker.fit(tmp_path / "plain.mrd", **{role: weight})))


def test_pairs_are_frames_with_names(ranker, tmp_path):
    data = ranking_data(queries=False)
    rng = np.random.default_rng(1)
    pairs, weight = rng.permutation(480).reshape(-1, 2), rng.uniform(1, 2, 240)
    names = np.array([f"row {k}" for k in range(480)])
    compared = pd.DataFrame({"loser": names[pairs[:, 1]], "w": weight, "winner": names[pairs[:, 0]]})
    write_dataset(tmp_path / "same.mrd", RankingData(data.X, pairs=pairs, pair_weight=weight), chunk_rows=160)
    expected = ESTIMATOR.fit_pairs(serially(tmp_path / "same.mrd")).coef_
    frame = pd.DataFrame(data.X, columns=FEATURES).assign(name=names)
    parts = dd.from_pandas(frame, npartitions=3, sort=False)
    games = dd.from_pandas(compared, npartitions=2)
    assert np.array_equal(
        expected, coefficients(ranker.fit_pairs(parts, games, ids="name", weight="w", margin=1.0))
    )
    rows = parts.drop(columns="name")
    numbers, weights = (da.from_array(one, chunks=100) for one in (pairs, weight))
    assert np.array_equal(expected, coefficients(ranker.fit_pairs(rows, numbers, weight=weights)))
    write_dataset(tmp_path / "labelled.mrd", data, chunk_rows=160)
    on_disk = ranker.fit_pairs(tmp_path / "labelled.mrd", pairs, weight=weight)
    assert np.array_equal(expected, coefficients(on_disk))
    with pytest.raises(MarginRankError, match="StructuredRankSVM does not train on pairs"):
        DaskRanker(StructuredRankSVM("ndcg"), ranker.client).fit_pairs(rows, numbers)


def test_validation_sets_are_frames_files_or_collections(ranker, client, tmp_path):
    data, held_out = ranking_data(), ranking_data(n_rows=200)
    parts = dd.from_pandas(frame_of(data), npartitions=3, sort=False)
    others = dd.from_pandas(frame_of(held_out), npartitions=2, sort=False)
    folder = parquet(frame_of(held_out), tmp_path / "parts", 2)
    paths = sorted(folder.iterdir())
    write_dataset(tmp_path / "b.mrd", held_out, chunk_rows=100)
    searching = DaskRanker(RankSVM(alpha="auto", alphas=[1e-1, 1e-3], tol=0.1), client, timeout=HANG)
    expected = searching.fit(parts, y="label", eval_set=tmp_path / "b.mrd").estimator_
    sets = [others, dd.read_parquet(folder), [others], [paths], (others.drop(columns="label"), held_out.y)]
    for one in sets:
        found = searching.fit(parts, y="label", eval_set=one).estimator_
        assert np.array_equal(found.validation_curve_, expected.validation_curve_)
        assert np.array_equal(found.coef_, expected.coef_)
    X = da.from_array(held_out.X, chunks=(100, 6))
    arrays = searching.fit(
        da.from_array(data.X, chunks=(160, 6)),
        data.y,
        qid=data.qid,
        eval_set=(X, held_out.y),
        eval_qid=da.from_array(held_out.qid, chunks=100),
    )
    assert np.array_equal(arrays.estimator_.validation_curve_, expected.validation_curve_)
    several = ranker.fit(parts, y="label", eval_set=[paths[0], paths[1], held_out]).estimator_
    assert list(several.evals_result_) == ["validation_0", "validation_1", "validation_2"]


def test_text_to_validate_on_may_name_fewer_features(ranker, client, tmp_path):
    data = ranking_data()
    held_out = RankingData(data.X[:200, :5], data.y[:200], qid=data.qid[:200])
    wide = np.column_stack([held_out.X, np.zeros(200)])
    write(data, tmp_path / "a.txt")
    write(held_out, tmp_path / "b.txt")
    searching = DaskRanker(RankSVM(alpha="auto", alphas=[1e-1, 1e-3], tol=0.1), client, timeout=HANG)
    found = searching.fit([tmp_path / "a.txt"], eval_set=tmp_path / "b.txt").estimator_
    plain = RankingData(wide, held_out.y, qid=held_out.qid)
    again = searching.fit([tmp_path / "a.txt"], eval_set=plain).estimator_
    assert np.array_equal(found.validation_curve_, again.validation_curve_)


def test_frames_that_cannot_be_used_say_why(ranker, tmp_path):
    data = ranking_data()
    frame = frame_of(data)
    parts = dd.from_pandas(frame, npartitions=2, sort=False)
    with pytest.raises(MarginRankError, match="no column 'grade'; it has a, b"):
        ranker.fit(parts, y="grade")
    with pytest.raises(MarginRankError, match="column 'qid' and qid was given as well"):
        ranker.fit(parts, y="label", qid=data.qid)
    with pytest.raises(MarginRankError, match=r"Column 'title' of X holds String values"):
        ranker.fit(dd.from_pandas(frame.assign(title="x"), npartitions=2), y="label")
    with pytest.raises(MarginRankError, match="no column that is left for features"):
        ranker.fit(parts[["label", "qid"]], y="label")
    with pytest.raises(MarginRankError, match="eval_set is a Dask collection without labels"):
        ranker.fit(parts.drop(columns="label"), data.y, eval_set=parts)
    with pytest.raises(
        MarginRankError, match="eval_set must be the path of a data set on disk, of a file or of a folder"
    ):
        ranker.fit(parts, y="label", eval_set=3)
    write_dataset(tmp_path / "a.mrd", data)
    with pytest.raises(MarginRankError, match="A data set on disk carries y and qid; do not pass them again"):
        ranker.fit(tmp_path / "a.mrd", y="label")
    with pytest.raises(MarginRankError, match="sample_weight is 'w'; a name stands for a column of a Dask"):
        ranker.fit(tmp_path / "a.mrd", sample_weight="w")
