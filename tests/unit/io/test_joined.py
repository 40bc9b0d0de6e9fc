"""Several files as one: rows in the order of the files, and what cannot stand together."""

import numpy as np
import pytest
from scipy import sparse

from marginrank import RankingData, RankSVM
from marginrank.exceptions import MarginRankError
from marginrank.io.joined import ids_of_files, joined

NAMES = ["a.txt", "b.txt"]


def part(seed, qid, n_features=3, **options):
    rng = np.random.default_rng(seed)
    return RankingData(
        rng.normal(size=(len(qid), n_features)), rng.integers(0, 3, len(qid)), qid=qid, **options
    )


def test_files_are_the_rows_of_one_file_in_their_order():
    a, b = part(0, [3, 3, 3, 1]), part(1, [2, 2, 5, 5], n_features=2, comments=list("wxyz"))
    both = joined(NAMES, [a, b])
    np.testing.assert_array_equal(both.X[:4], a.X)
    np.testing.assert_array_equal(both.X[4:], np.pad(b.X, ((0, 0), (0, 1))))
    assert both.y.tolist() == [*a.y, *b.y]
    assert both.query_ids.tolist() == [3, 1, 2, 5]
    assert list(both.comments) == ["", "", "", "", *"wxyz"]


def test_a_sparse_file_makes_all_of_them_sparse():
    a, b = part(0, [1, 1, 1]), part(1, [2, 2])
    b = RankingData(sparse.csr_matrix(b.X), b.y, qid=b.qid)
    found = joined(NAMES, [a, b])
    assert sparse.issparse(found.X)
    np.testing.assert_array_equal(found.X.toarray(), np.concatenate([a.X, b.X.toarray()]))
    narrow = RankingData(sparse.csr_matrix(a.X[:, :1]), a.y, qid=[7, 7, 7])
    assert joined(NAMES, [narrow, b]).X.shape == (5, 3)


def test_weights_of_rows_and_queries_go_with_them():
    a = part(0, [1, 1, 2], sample_weight=[1, 2, 3], query_weight={1: 2.0, 2: 1.0})
    b = part(1, [4, 3], sample_weight=[4, 5], query_weight={3: 5.0, 4: 7.0})
    both = joined(NAMES, [a, b])
    assert both.sample_weight.tolist() == [1, 2, 3, 4, 5]
    assert both.query_weight.tolist() == [2, 1, 7, 5]


def test_one_file_alone_is_itself():
    a = part(0, [1, 1, 2])
    assert joined(["a.txt"], [a]) is a


def test_models_of_files_are_those_of_the_file_that_holds_all():
    whole = part(0, [1, 1, 1, 2, 2, 2, 2, 3, 3])
    files = [whole.subset(whole.qid < 2), whole.subset(whole.qid >= 2)]
    np.testing.assert_array_equal(RankSVM().fit(joined(NAMES, files)).coef_, RankSVM().fit(whole).coef_)


def test_a_query_in_two_files_is_not_guessed_at():
    with pytest.raises(MarginRankError, match=r"Query 2 is in a.txt and in b.txt; a query must be in one"):
        joined(NAMES, [part(0, [1, 2]), part(1, [2, 3])])


def test_ids_that_are_written_alike_are_the_same_id():
    with pytest.raises(MarginRankError, match=r"Query '7' is in a.txt and in b.txt"):
        ids_of_files(NAMES, [np.array([7]), np.array(["x", "7"])])


@pytest.mark.parametrize(
    ("other", "sentence"),
    [
        (RankingData([[1.0]], [1]), "b.txt: some files have query ids and some have none"),
        (RankingData([[1.0]], [1], qid=[9], feature_names=["x"]), "b.txt: the columns are not those of"),
        (RankingData([[1.0], [2.0]], pairs=[[0, 1]]), "b.txt: expected rows with labels"),
        (RankingData([[1.0]], [1], qid=[9], sample_weight=[2]), "a.txt: some files have weights and some"),
        (
            RankingData([[1.0]], [1], qid=[9], query_weight={9: 2}),
            "a.txt: some files have weights of queries",
        ),
    ],
)
def test_what_cannot_stand_together_is_one_sentence(other, sentence):
    with pytest.raises(MarginRankError, match=sentence):
        joined(NAMES, [part(0, [1, 1, 2]), other])
