"""alpha="auto" over data on disk: the curve of a search in memory, for as many passes.

Sums over several chunks round otherwise than in memory, and a last bit can end a solution an iteration
earlier. So passes are compared where bits are equal: over one chunk, where the library promises that, and
over several with the products of memory in place of their own.
"""

import numpy as np
import pytest

from marginrank import RankingData, RankSVM, write_dataset
from marginrank.designs import compared
from marginrank.designs.matrix import MatrixDesign
from marginrank.storage.chunks import ChunkedMatrix
from marginrank.training import certified, fold_blocks, problems

# In memory, losses of 64 queries and more are evaluated within the products, those of fewer are not.
SPLIT, FUSED = 24, 100


def make_data(seed, n_queries):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((10 * n_queries, 8))
    y = np.digitize(X[:, 0] + 0.5 * X[:, 1] + rng.standard_normal(len(X)), [-1.0, 0.5, 2.0])
    return RankingData(X, y, qid=np.arange(len(X)) // 10)


HELD = make_data(1, SPLIT)
on_a_set_and_by_folds = pytest.mark.parametrize("given", [{"eval_set": HELD}, {}], ids=["set", "folds"])
few_and_many_queries = pytest.mark.parametrize("n_queries", [SPLIT, FUSED])


def search(data, given, **more):
    return RankSVM(alpha="auto", cv=3, **more).fit(data, **given)


def assert_same_bits_for_as_many_passes(one, two):
    np.testing.assert_array_equal(one.validation_curve_, two.validation_curve_)
    np.testing.assert_array_equal(one.coef_, two.coef_)
    assert (one.alpha_, one.objective_, one.n_passes_) == (two.alpha_, two.objective_, two.n_passes_)


@on_a_set_and_by_folds
@few_and_many_queries
def test_data_on_disk_give_the_same_curve_along_a_path(tmp_path, monkeypatch, n_queries, given):
    traced = []
    trace = certified.CertifiedTrainer.trace
    monkeypatch.setattr(
        certified.CertifiedTrainer,
        "trace",
        lambda self, *rest: traced.append(self.problem.design) or trace(self, *rest),
    )
    data, dense = make_data(0, n_queries), np.geomspace(10.0, 1e-7, 129)
    # Models within a gap measure differently; those that are nearly exact do not.
    exactly = {"loss": "squared_hinge", "tol": 1e-8, "alphas": dense}
    one = search(data, given, **exactly)
    traced.clear()
    two = search(write_dataset(tmp_path / "a.mrd", data, chunk_rows=50), given, **exactly)
    np.testing.assert_allclose(one.validation_curve_, two.validation_curve_, rtol=1e-12)
    assert len(traced) == (1 if given else 3)


@few_and_many_queries
def test_one_chunk_on_disk_takes_the_passes_of_data_in_memory(tmp_path, n_queries):
    data, given = make_data(0, n_queries), {"eval_set": HELD}
    on_disk = write_dataset(tmp_path / "a.mrd", data, chunk_rows=data.n_rows)
    assert_same_bits_for_as_many_passes(search(data, given), search(on_disk, given))


class InMemory(MatrixDesign):
    """Rows of a matrix in chunks, multiplied with as in memory."""

    def __init__(self, X, *rest, **named):
        super().__init__(X[np.arange(X.shape[0])], *rest, **named)


class Sharing:
    """The design of a fold in lockstep: its products are made when all folds wait for one."""

    def __init__(self, own, asks, **_):
        self._own, self._asks = own, asks

    def __getattr__(self, name):
        found = getattr(self._own, name)
        if name not in {"scores", "adjoint", "scores_block", "adjoint_block", "evaluate", "hvp"}:
            return found
        return lambda *vectors: self._asks.ask((found, vectors))


class OneByOne:
    """Answers the folds, each by its own design."""

    fusing = True

    def __init__(self, *_, **__):
        pass

    def __call__(self, requests):
        return {fold: product(*vectors) for fold, (product, vectors) in requests.items()}


@on_a_set_and_by_folds
@few_and_many_queries
def test_chunks_take_the_passes_of_data_in_memory_where_products_round_alike(
    tmp_path, monkeypatch, n_queries, given
):
    data = make_data(0, n_queries)
    on_disk = write_dataset(tmp_path / "a.mrd", data, chunk_rows=50)
    one = search(data, given)
    monkeypatch.setattr(compared, "ChunkedDesign", InMemory)
    monkeypatch.setattr(fold_blocks, "SharingDesign", Sharing)
    monkeypatch.setattr(problems, "ChunksTogether", OneByOne)
    assert_same_bits_for_as_many_passes(one, search(on_disk, given))


@on_a_set_and_by_folds
@few_and_many_queries
def test_a_pass_is_at_most_two_reads_of_the_chunks(tmp_path, monkeypatch, n_queries, given):
    reads = []
    read = ChunkedMatrix.map_pass
    monkeypatch.setattr(ChunkedMatrix, "map_pass", lambda *given: reads.append(1) or read(*given))
    model = search(write_dataset(tmp_path / "a.mrd", make_data(0, n_queries), chunk_rows=50), given)
    assert len(reads) <= 2.0 * model.n_passes_
