"""What every metric must hold: its definition under every option, its bounds, its name, the same bits."""

from dataclasses import replace
from itertools import product

import numpy as np
import pytest

from marginrank.metrics import FLAVORS, Metric, evaluate, parse_metric
from marginrank.metrics.families import CHOICES, FAMILIES
from metric_oracle import LOWEST, NOTHING, mean_of, value_of

# The kernel and the oracle add some ten numbers of order 1 in different orders.
ROUNDING = 1e-13


def options_of(name):
    """Yield the options of a metric in every combination."""
    family = FAMILIES[name]
    cutoffs = {"never": [None], "optional": [None, 1, 3, 9], "required": [1, 3, 9]}[family.cutoff]
    values = {"cutoff": cutoffs, "rel": [1, 2], "max_label": [None, 3.5], "p": [0.8, 0.5]}
    values["rel"] += ["all"] if name == "map" else []
    values["gain"] = [*CHOICES["gain"], {0: 0.25, 0.5: 0.25, 1: 1, 2: 6, 3: 7.5}]
    for option in family.options:
        choices = CHOICES.get(option, ())
        values.setdefault(option, [c for c in choices if c != "threshold" or name == "map"])
    chosen = ["cutoff", *family.options]
    for combination in product(*(values[option] for option in chosen)):
        options = dict(zip(chosen, combination, strict=True))
        if options.get("weighting") != "pairs" or options["empty"] == "skip":  # the others are refused
            yield options


METRICS = {name: [Metric(name, **options) for options in options_of(name)] for name in FAMILIES}
ANY_CUTOFF = {name: None if family.cutoff == "never" else 3 for name, family in FAMILIES.items()}


def random_queries(seed, n_queries=12):
    """Return small queries with ties in labels and scores, some without anything to find."""
    rng = np.random.default_rng(seed)
    sizes = rng.integers(1, 7, n_queries)
    qid = np.repeat(np.arange(n_queries), sizes)
    y = rng.choice([0, 0, 1, 2, 3, 0.5], len(qid))
    y[np.isin(qid, [2, 5])] = 0
    y[qid == 7] = 2
    scores = rng.integers(0, 4, len(qid)) / 3.0
    scores[qid == 3] = 0.25
    docid = rng.permutation(len(qid))
    shuffle = rng.permutation(len(qid))
    return y[shuffle], scores[shuffle], qid[shuffle], docid[shuffle]


@pytest.mark.parametrize("name", FAMILIES)
@pytest.mark.parametrize("seed", range(3))
def test_values_equal_the_definition_under_every_option(name, seed):
    y, scores, qid, docid = random_queries(seed)
    highest = float(y.max())
    result = evaluate(y, scores, qid=qid, docid=docid, metrics=METRICS[name])
    for metric in METRICS[name]:
        defined = metric
        if name == "err" and metric.max_label is None:
            defined = replace(metric, max_label=highest)
        queries = [np.flatnonzero(qid == query) for query in result.query_ids]
        values = [value_of(defined, y[rows], scores[rows], docid[rows]) for rows in queries]
        got = result.per_query[str(metric)]
        for value, want in zip(got, values, strict=True):
            if want is NOTHING:
                want = np.nan if metric.empty == "skip" else metric.empty
            assert value == pytest.approx(want, abs=ROUNDING, nan_ok=True), str(metric)
        mean = mean_of(metric, values, [y[rows] for rows in queries])
        assert result[metric] == pytest.approx(mean, abs=ROUNDING, nan_ok=True)
        assert result.empty_counts[str(metric)] == values.count(NOTHING)


@pytest.mark.parametrize("name", FAMILIES)
def test_a_name_gives_its_metric_again(name):
    for metric in METRICS[name]:
        assert parse_metric(str(metric)) == metric
        assert hash(parse_metric(str(metric))) == hash(metric)
    assert len(set(map(str, METRICS[name]))) == len(METRICS[name])


@pytest.mark.parametrize("flavor", FLAVORS)
@pytest.mark.parametrize("name", FAMILIES)
def test_names_without_options_mean_the_flavor(flavor, name):
    text = name if ANY_CUTOFF[name] is None else f"{name}@3"
    y, scores, qid, docid = random_queries(0)
    result = evaluate(y, scores, qid=qid, docid=docid, metrics=[text], flavor=flavor)
    assert list(result) == [text]
    metric = parse_metric(text, flavor=flavor)
    assert parse_metric(str(metric)) == metric
    assert result[text] == evaluate(y, scores, qid=qid, docid=docid, metrics=metric)[metric]


@pytest.mark.parametrize("name", FAMILIES)
def test_values_are_bounded_and_the_perfect_order_is_best(name):
    metric = Metric(name, cutoff=ANY_CUTOFF[name])
    rng = np.random.default_rng(5)
    for _ in range(50):
        n_rows = int(rng.integers(2, 30))
        y = rng.integers(0, 5, n_rows)
        y[:2] = 0, 1
        scores, distinct = rng.integers(0, 9, n_rows), y + rng.random(n_rows) / 2
        value, best = (evaluate(y, s, metrics=metric)[metric] for s in (scores, distinct))
        assert value >= LOWEST.get(name, 0.0)
        assert (value <= best + 1e-15) if metric.higher_is_better else (value >= best - 1e-15)
        if name in ("ndcg", "mean_ndcg", "map", "mrr", "auc"):
            assert best == (pytest.approx(min(1.0, 3 / np.sum(y >= 1))) if name == "map" else 1.0)
        if name == "pairwise_error":
            assert (best, value <= 1.0) == (0.0, True)


@pytest.mark.parametrize("name", FAMILIES)
def test_values_depend_on_the_order_of_scores_only_and_not_on_that_of_queries(name):
    metric = Metric(name, cutoff=ANY_CUTOFF[name])
    y, scores, qid, _ = random_queries(6)
    result = evaluate(y, scores, qid=qid, metrics=metric)
    values = result.per_query[str(metric)]
    stretched = evaluate(y, np.exp(9 * scores) * 1e-200, qid=qid, metrics=metric)
    assert np.array_equal(stretched.per_query[str(metric)], values, equal_nan=True)
    grouped = np.argsort(qid, kind="stable")
    again = evaluate(y[grouped], scores[grouped], qid=qid[grouped], metrics=metric)
    by_id = np.argsort(result.query_ids)
    assert np.array_equal(again.per_query[str(metric)], values[by_id], equal_nan=True)


def test_the_bits_do_not_depend_on_threads():
    rng = np.random.default_rng(8)
    sizes = [70_000, *rng.integers(1, 400, 900)]
    qid = np.repeat(np.arange(len(sizes)), sizes)
    y, scores, docid = rng.integers(0, 5, len(qid)), rng.integers(0, 900, len(qid)), rng.permutation(len(qid))
    metrics = [Metric(name, cutoff=ANY_CUTOFF[name]) for name in FAMILIES]
    metrics += [Metric("ndcg", ties=ties) for ties in ("average", "pessimistic", "docid")]
    one, two, many = (evaluate(y, scores, qid=qid, docid=docid, metrics=metrics, n_jobs=n) for n in (1, 2, 7))
    for name in one:
        assert np.array_equal(one.per_query[name], two.per_query[name], equal_nan=True)
        assert np.array_equal(one.per_query[name], many.per_query[name], equal_nan=True)
