"""Which pairs each graph holds."""

from __future__ import annotations

import numpy as np
import pytest

from marginrank import RankingData
from marginrank.exceptions import MarginRankError, NothingToRankError
from marginrank.paths.graphs import graph_pairs


@pytest.fixture
def data():
    rng = np.random.default_rng(3)
    y = rng.integers(4, size=60).astype(float)
    return RankingData(
        rng.normal(size=(60, 2)),
        y,
        qid=rng.integers(3, size=60),
        sample_weight=rng.integers(4, size=60),
        query_weight={0: 1.0, 1: 2.5, 2: 0.5},
    )


def brute_force(data):
    by_query = dict(zip(data.query_ids.tolist(), data.query_weight, strict=True))
    found = {}
    for i in range(data.n_rows):
        for j in range(data.n_rows):
            weight = data.sample_weight[i] * data.sample_weight[j] * by_query[data.qid[i]]
            if data.qid[i] == data.qid[j] and data.y[i] > data.y[j] and weight > 0:
                found[i, j] = weight
    return found


def as_dict(pairs):
    return dict(zip(zip(pairs.winner.tolist(), pairs.loser.tolist(), strict=True), pairs.weight, strict=True))


def test_all_pairs_and_weights_equal_brute_force(data):
    assert as_dict(graph_pairs(data)) == pytest.approx(brute_force(data))


def test_weighting_by_queries_gives_each_query_its_weight(data):
    pairs = graph_pairs(data, weighting="queries")
    sums = {q: pairs.weight[data.qid[pairs.winner] == q].sum() for q in range(3)}
    assert sums == pytest.approx({0: 1.0, 1: 2.5, 2: 0.5})
    plain = graph_pairs(data)
    in_first = data.qid[plain.winner] == 0
    expected = plain.weight[in_first] / plain.weight[in_first].sum()
    np.testing.assert_allclose(pairs.weight[in_first], expected)


def test_sampled_pairs_are_true_pairs_and_every_row_has_its_share(data):
    everything = brute_force(data)
    sample = as_dict(graph_pairs(data, "sampled", pairs_per_row=3))
    assert len(sample) < len(everything)
    assert sample == pytest.approx({pair: everything[pair] for pair in sample})
    for row in range(data.n_rows):
        partners = sum(row in pair for pair in everything)
        assert sum(row in pair for pair in sample) >= min(3, partners)


def test_sampling_more_partners_than_there_are_gives_all_pairs(data):
    assert as_dict(graph_pairs(data, "sampled", pairs_per_row=60)) == as_dict(graph_pairs(data))


def test_sample_follows_its_seed(data):
    first, again, other = (graph_pairs(data, "sampled", pairs_per_row=2, random_state=s) for s in (1, 1, 2))
    assert as_dict(first) == as_dict(again) != as_dict(other)


def test_reduced_graph_is_that_of_the_paper():
    y = [0.0, 0.0, 0.0, 1.0, 1.0, 2.0]
    pairs = graph_pairs(RankingData(np.ones((6, 1)), y), "reduced")
    # Row 0 stands for the lowest level, row 3 for the next one: each above its own level, below the next.
    assert set(as_dict(pairs)) == {(0, 1), (0, 2), (3, 0), (4, 0), (3, 4), (5, 3)}


def test_explicit_pairs_keep_weights_and_margins():
    data = RankingData(
        [[1], [2], [3]], pairs=[[0, 1], [1, 2], [2, 0]], pair_weight=[1, 0, 3], pair_margin=[1, 1, 0.5]
    )
    pairs = graph_pairs(data)
    assert as_dict(pairs) == {(0, 1): 1.0, (2, 0): 3.0}
    assert pairs.margin.tolist() == [1.0, 0.5]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"graph": "some"}, "graph must be one of 'all', 'sampled', 'reduced'; got 'some'"),
        ({"weighting": "rows"}, "weighting must be"),
        ({"graph": "sampled", "pairs_per_row": 0}, "pairs_per_row must be a positive integer; got 0"),
        ({"graph": "sampled", "random_state": "dice"}, "random_state must be"),
    ],
)
def test_wrong_options_are_refused(data, options, message):
    with pytest.raises(MarginRankError, match=message):
        graph_pairs(data, **options)


@pytest.mark.parametrize("graph", ["all", "sampled", "reduced"])
def test_tied_labels_leave_nothing_to_rank(graph):
    with pytest.raises(NothingToRankError, match="All rows have the same label"):
        graph_pairs(RankingData([[1], [2]], [3, 3]), graph)


def test_pairs_cannot_be_sampled():
    with pytest.raises(MarginRankError, match="taken as they are"):
        graph_pairs(RankingData([[1], [2]], pairs=[[0, 1]]), "sampled")


def test_labels_and_pairs_together_are_ambiguous():
    with pytest.raises(MarginRankError, match="y and pairs"):
        graph_pairs(RankingData([[1], [2]], [0, 1], pairs=[[0, 1]]))


def test_a_margin_of_zero_is_refused():
    with pytest.raises(MarginRankError, match="pair_margin must be positive for a path; got 0 at pair 1"):
        graph_pairs(RankingData([[1], [2]], pairs=[[0, 1], [1, 0]], pair_margin=[1, 0]))
