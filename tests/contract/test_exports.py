"""What holds for every target: its scores are those of the model, to the precision of its numbers."""

import io
import json
import re
import warnings

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from export_cases import (
    AWKWARD,
    PLUGIN_FEATURES_SCHEMA,
    PLUGIN_SCHEMA,
    SOLR_FEATURES_SCHEMA,
    SOLR_SCHEMA,
    by_query,
    raw_data,
    raw_model,
    wide,
)
from marginrank import RankingData, RankingModel, RankSVM
from marginrank.export import TARGETS
from marginrank.export.base import Options
from marginrank.export.checking import compare_scores
from marginrank.export.exporting import column_names

jsonschema = pytest.importorskip("jsonschema")
# Some columns of the raw rows are negative.
pytestmark = pytest.mark.filterwarnings("ignore:The learning-to-rank plugin of .* takes scores:UserWarning")

SCHEMAS = {
    "elasticsearch": (PLUGIN_SCHEMA, PLUGIN_FEATURES_SCHEMA),
    "opensearch": (PLUGIN_SCHEMA, PLUGIN_FEATURES_SCHEMA),
    "solr": (SOLR_SCHEMA, SOLR_FEATURES_SCHEMA),
}
PLAIN = [f"c{j}" for j in range(len(AWKWARD))]
#: Vespa has no quotes around names: they are others for the export.
RENAMED = {"vespa": PLAIN}
NORMALIZING = [name for name, target in TARGETS.items() if "normalizers" in target.takes]


def exported(model, target, **options):
    file = io.BytesIO()
    if model.feature_names is not None:
        options.setdefault("names", RENAMED.get(target))
    export = model.export(target, file, **options)
    return file.getvalue(), export


def limit(target):
    """Return how far differences of scores may be off, relative to their spread."""
    return 1e-5 if TARGETS[target].float32(Options(("a",), "m")) else 1e-12


def assert_ranks_the_same(check, most):
    assert check.largest_difference <= most
    # What changes places was closer than the rounding; the scores of these models are not.
    assert check.order_changes == 0


@pytest.mark.parametrize("target", TARGETS)
def test_raw_columns_of_very_different_scales_rank_the_same(target):
    _, export = exported(raw_model(), target, check=raw_data())
    assert_ranks_the_same(export.check, limit(target))


@pytest.mark.parametrize("normalizers", ["target", "minmax"])
@pytest.mark.parametrize("target", NORMALIZING)
def test_normalisers_of_the_target_rank_the_same(target, normalizers):
    content, export = exported(raw_model(), target, normalizers=normalizers, check=raw_data())
    assert_ranks_the_same(export.check, 1e-5)
    assert b"norm" in content


@pytest.mark.parametrize("target", TARGETS)
def test_ten_thousand_columns_rank_the_same(target):
    model, data = wide()
    _, export = exported(model, target, check=data)
    assert_ranks_the_same(export.check, limit(target))
    assert len(export.features) == 10_000


@pytest.mark.parametrize("target", TARGETS)
def test_columns_of_weight_0_are_left_out(target):
    _, export = exported(raw_model(), target)
    names = RENAMED.get(target, AWKWARD)
    weighed = [name for name, weight in zip(names, raw_model().coef, strict=True) if weight]
    assert list(export.features) == weighed
    assert names[8] not in export.features


@pytest.mark.parametrize("target", TARGETS)
def test_a_model_of_zeros_has_one_feature_and_equal_scores(target):
    data = RankingData([[1.0, 2.0], [3.0, 5.0]], [0, 1])
    _, export = exported(RankingModel([0.0, 0.0]), target, check=data)
    assert export.features == ("f1",)
    assert (export.check.n_pairs, export.check.largest_difference) == (0, 0.0)


@pytest.mark.parametrize("target", TARGETS)
def test_the_same_model_gives_the_same_bytes(target):
    assert exported(raw_model(), target)[0] == exported(raw_model(), target)[0]


@pytest.mark.parametrize("target", TARGETS)
def test_normalisation_within_queries_is_held_or_refused_with_what_to_do(target):
    if TARGETS[target].holds_query_normalization:
        _, export = exported(by_query(), target, check=raw_data())
        assert_ranks_the_same(export.check, limit(target))
        return
    with pytest.raises(ValueError, match=r"within each query.*target='sql'"):
        exported(by_query(), target)


@pytest.mark.parametrize("target", [name for name in TARGETS if not TARGETS[name].holds_kernels])
def test_feature_maps_are_refused_with_what_holds_them(target):
    from marginrank import KernelRankSVM

    model = KernelRankSVM(n_components=5, random_state=0).fit(raw_data()).to_model()
    with pytest.raises(ValueError, match=r"cannot hold a model with a feature map.*linear ranker"):
        exported(model, target)


@pytest.mark.parametrize("normalizers", ["fold", "target", "minmax"])
@pytest.mark.parametrize("target", SCHEMAS)
def test_json_is_what_the_parser_takes(target, normalizers, tmp_path):
    export = raw_model().export(target, tmp_path / "m.json", normalizers=normalizers, feature_set="products")
    for path, schema in zip(export.files, SCHEMAS[target], strict=True):
        with open(path, encoding="utf-8") as file:
            written = json.load(file)
        assert not list(jsonschema.validators.validator_for(schema)(schema).iter_errors(written))


@pytest.mark.parametrize(
    ("part", "wrong"),
    [
        ("definition", {"price": "0.5"}),
        ("definition", {"price": None}),
        ("feature_normalizers", {"a b": {"min_max": {"minimum": -1.0, "maximum": 1.0}}}),
        ("feature_normalizers", {"a b": {"standard": {"mean": 0.0, "standard_deviation": 0.0}}}),
    ],
)
def test_the_schema_refuses_what_the_plugin_refuses(part, wrong):
    content = json.loads(exported(raw_model(), "elasticsearch", normalizers="minmax")[0])
    jsonschema.validate(content, PLUGIN_SCHEMA)
    content["model"]["model"][part].update(wrong)
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(content, PLUGIN_SCHEMA)


def test_a_negative_minimum_becomes_a_standard_normaliser_of_the_same_map():
    content = json.loads(exported(raw_model(), "elasticsearch", normalizers="minmax")[0])
    normalizers = content["model"]["model"]["feature_normalizers"]
    statistics = raw_model().column_statistics
    assert statistics.low[5] == 0  # a count
    assert "min_max" in normalizers["<&>"]
    given = normalizers["a b"]["standard"]  # about -5
    assert given["mean"] == float(np.float32(statistics.low[2]))
    span = np.float32(statistics.high[2]) - np.float32(statistics.low[2])
    assert given["standard_deviation"] == float(span)


def test_a_constant_column_has_no_normaliser():
    data = RankingData([[1.0, 5.0], [2.0, 5.0], [4.0, 5.0]], [0, 1, 2])
    statistics = RankSVM().fit(data).column_statistics_
    model = RankingModel([1.0, 3.0], column_statistics=statistics)  # weighs what is constant
    for target in NORMALIZING:
        content, export = exported(model, target, normalizers="target", check=data)
        assert export.check.largest_difference <= 1e-5
        assert content.count(b"std") + content.count(b"standard_deviation") == 1


def test_plugin_scores_are_a_float32_sum_in_the_order_of_the_set():
    # 2**24 + 1 + 1 is 2**24 in float32 from the left, and 2**24 + 2 from the right.
    X = np.array([[2.0**24, 1.0, 1.0], [1.0, 1.0, 2.0**24]])
    model = RankingModel([1.0, 1.0, 1.0])
    for target in ("elasticsearch", "opensearch", "solr"):
        content, _ = exported(model, target)
        score = TARGETS[target].scorer(content, Options(("f1", "f2", "f3"), "m"))
        assert_array_equal(score(X, np.zeros(2, dtype=np.int64)), [2.0**24, 2.0**24 + 2])


def test_a_feature_that_the_set_does_not_know_is_refused_as_there():
    content, _ = exported(RankingModel([1.0, 1.0]), "elasticsearch")
    with pytest.raises(ValueError, match="feature set does not know 'f2'"):
        TARGETS["elasticsearch"].scorer(content, Options(("f1",), "m"))


@pytest.mark.parametrize("target", TARGETS)
def test_missing_statistics_are_only_needed_for_normalisers(target):
    model = RankingModel([1.0, -2.0])
    exported(model, target)
    if target in NORMALIZING:
        with pytest.raises(ValueError, match=r"has none. Use normalizers='fold'"):
            exported(model, target, normalizers="target")


def epoch_case():
    rng = np.random.default_rng(3)
    seconds = 1.7e9 + rng.random(300) * 2e5
    X = np.column_stack([seconds, rng.random(300)])
    return RankingData(X, seconds / 1e5 + X[:, 1], qid=np.repeat([1, 2], 150))


@pytest.mark.parametrize("target", TARGETS)
def test_seconds_since_1970_in_float32_warn_and_name_the_column(target):
    data = epoch_case()
    fitted = RankSVM(alpha=1e-3, scale="standard").fit(data).to_model()
    model = RankingModel(
        fitted.coef, feature_names=["seconds", "b"], column_statistics=fitted.column_statistics
    )
    data = RankingData(data.X, data.y, qid=data.qid, feature_names=["seconds", "b"])
    if limit(target) == 1e-12:
        _, export = exported(model, target, names=["seconds", "b"], check=data)
        assert export.check.order_changes == 0
        return
    for given in ({}, {"check": data}):
        with pytest.warns(UserWarning, match=r"float32.*'seconds'(?! and).*days since 2020") as seen:
            _, export = exported(model, target, names=["seconds", "b"], **given)
        assert len(seen) == 1
        assert "'b'" not in str(seen[0].message)
    assert export.check.largest_difference > 1e-5
    assert export.check.order_changes + export.check.new_ties > 0


def test_ordinary_columns_do_not_warn():
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for target in TARGETS:
            exported(raw_model(), target)
            exported(raw_model(), target, check=raw_data())
    said = {str(one.message).partition(" takes scores")[0] for one in caught}
    assert said == {TARGETS[name].title for name in QUERY_SCORES}


QUERY_SCORES = ("elasticsearch", "opensearch")


@pytest.mark.parametrize("target", TARGETS)
def test_negative_columns_are_warned_of_where_features_are_scores_of_queries(target):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        exported(raw_model(), target)
    if target not in QUERY_SCORES:
        assert caught == []
        return
    (said,) = caught
    # The third is about -5, and one more is negative; the constant and the counts are not.
    named = "'price \"net\"', \"it's\", 'a b' and 1 more"
    assert f"which are never below 0, and {named} had negative values in training" in str(said.message)
    assert "Add a constant to the column, in the index and in training" in str(said.message)
    assert said.filename == __file__


def test_columns_of_weight_0_may_be_negative_there(recwarn):
    data = RankingData([[1.0, -2.0], [3.0, -1.0], [2.0, -4.0]], [0, 2, 1])
    model = RankingModel([1.0, 0.0], column_statistics=RankSVM().fit(data).column_statistics_)
    exported(model, "elasticsearch")
    assert not recwarn.list


def test_order_changes_and_ties_equal_a_count_over_all_pairs():
    rng = np.random.default_rng(0)
    queries = rng.integers(0, 5, size=60)
    expected, found = rng.integers(0, 9, size=60) / 4.0, rng.integers(0, 9, size=60) / 4.0
    changed = ties = pairs = 0
    for i in range(60):
        for j in range(i):
            if queries[i] == queries[j] and expected[i] != expected[j]:
                pairs += 1
                ties += found[i] == found[j]
                changed += (found[i] - found[j]) * (expected[i] - expected[j]) < 0
    check = compare_scores(expected, found, queries)
    assert (check.n_pairs, check.order_changes, check.new_ties) == (pairs, changed, ties)


@pytest.mark.parametrize("target", TARGETS)
def test_a_wrong_weight_shows_in_the_check(target):
    """The check reads what was written: it is not the model compared with itself."""
    model, X = RankingModel([1.0, 2.0]), np.random.default_rng(0).random((20, 2))
    content, _ = exported(model, target)
    spoilt, _ = exported(RankingModel([1.0, -2.0]), target)
    assert content != spoilt
    options = Options(column_names(None, None, 2), "model")
    zeros = np.zeros(20, dtype=np.int64)
    score = TARGETS[target].scorer
    good = compare_scores(model.predict(X), score(content, options)(X, zeros), zeros)
    bad = compare_scores(model.predict(X), score(spoilt, options)(X, zeros), zeros)
    assert good.order_changes == 0
    assert bad.order_changes > 10


@pytest.mark.parametrize("query", [False, True])
def test_sql_runs_in_duckdb_too(query):
    duckdb = pytest.importorskip("duckdb")
    pd = pytest.importorskip("pandas")
    data = raw_data()
    model = by_query() if query else raw_model()
    content, _ = exported(model, "sql", table="my rows", qid_column="the query")
    names = list(model.feature_names or (f"f{j + 1}" for j in range(model.n_features)))
    rows = pd.DataFrame(data.X, columns=names)
    rows["the query"], rows["number"] = data.qid, np.arange(data.n_rows)
    with duckdb.connect(":memory:") as connection:
        connection.register("given", rows)
        connection.execute('CREATE TABLE "my rows" AS SELECT * FROM given')
        found = connection.execute(content.decode()).df().sort_values("number")
    scores = found.iloc[:, -1].to_numpy()
    check = compare_scores(model.predict(data), scores, np.asarray(data.qid))
    assert_ranks_the_same(check, 1e-12)


def test_sql_of_a_column_that_the_table_lacks_is_an_error_in_sqlite():
    import sqlite3

    content, _ = exported(RankingModel([1.0], feature_names=["price"]), "sql")
    connection = sqlite3.connect(":memory:")
    connection.execute('CREATE TABLE "rows" (cost REAL)')
    with pytest.raises(sqlite3.OperationalError, match="no such column"):
        connection.execute(content.decode())
    connection.close()


@pytest.mark.parametrize("target", NORMALIZING)
def test_commands_upload_the_features_before_the_model(target, tmp_path):
    export = raw_model().export(target, tmp_path / "model.json", feature_set="products")
    model, features = export.files
    assert [re.search(r"@(\S+)", command)[1] for command in export.commands] == [features, model]
