"""Alpha is chosen from the same folds, by the same grid and rule, wherever the rows lie."""

import numpy as np
import pytest
from test_remote_training import afar

from limits import HANG
from marginrank import RankingData, RankRLS, write_dataset
from marginrank.datasets import make_ranking
from marginrank.distributed import DaskRanker
from random_matrices import random_csr


def rows(seed, noise):
    X, y, qid = make_ranking(n_queries=40, rows_per_query=10, n_features=30, random_state=seed, noise=noise)
    return RankingData(X, y, qid=qid)


def text(seed, n_rows=150, n_words=1500):
    X = random_csr((n_rows, n_words), 0.03, np.random.default_rng(seed))
    return RankingData(X, np.digitize(np.asarray(X[:, :30].sum(axis=1)).ravel(), [0.2, 0.6]))


# Two of the first three chose another alpha from disk, as long as systems were solved to tol only.
DATA = {
    "rows": (rows, 2, 1.0),
    "other rows": (rows, 8, 1.0),
    "noise": (rows, 11, 3.0),
    "much noise": (rows, 0, 20.0),
    "text": (text, 0),
}


def places(data, folder):
    """Return the data in memory, on disk, and in chunks that lie elsewhere."""
    return data, write_dataset(folder / "rows.mrd", data, chunk_rows=100), afar(data, 4)


def assert_one_choice(rankers):
    first, *others = rankers
    for other in others:
        assert other.alpha_ == first.alpha_
        n = min(len(first.alphas_), len(other.alphas_))  # smaller alphas may come along
        np.testing.assert_array_equal(other.alphas_[:n], first.alphas_[:n])


@pytest.mark.parametrize("rule", ["best", "one_se"])
@pytest.mark.parametrize("kind", DATA)
def test_memory_disk_and_remote_chunks_choose_one_alpha_by_default(tmp_path, kind, rule):
    make, *given = DATA[kind]
    found = [RankRLS("auto", rule=rule).fit(data) for data in places(make(*given), tmp_path)]
    assert_one_choice(found)
    assert {one.solver_ for one in found[1:]} == {"cg"}


@pytest.mark.parametrize("by_folds", [True, False])
def test_a_grid_of_ones_own_and_a_validation_set_choose_one_alpha(tmp_path, by_folds):
    data, held = rows(2, 1.0), rows(3, 1.0)
    alphas = np.geomspace(10.0, 1e-4, 11)
    given = {} if by_folds else {"eval_set": held}
    found = [RankRLS("auto", alphas=alphas, cv=4).fit(one, **given) for one in places(data, tmp_path)]
    assert_one_choice(found)
    for one in found[1:]:
        np.testing.assert_allclose(one.validation_curve_, found[0].validation_curve_, rtol=2e-3)


@pytest.mark.parametrize("rule", ["best", "one_se"])
def test_workers_of_dask_choose_the_alpha_of_memory_and_disk(client, tmp_path, rule):
    data = rows(2, 1.0)
    on_disk = write_dataset(tmp_path / "rows.mrd", data, chunk_rows=100)
    here = [RankRLS("auto", rule=rule).fit(one) for one in (data, on_disk)]
    there = DaskRanker(RankRLS("auto", rule=rule), client, timeout=HANG).fit(tmp_path / "rows.mrd")
    assert_one_choice([*here, there.estimator_])


@pytest.mark.parametrize("penalty", [{"l1_ratio": 0.7}, {"bounds": (0, None)}], ids=["l1", "bounds"])
def test_sparse_and_bounded_least_squares_are_certified_on_workers(client, tmp_path, penalty):
    data = rows(2, 1.0)
    write_dataset(tmp_path / "rows.mrd", data, chunk_rows=100)
    here = RankRLS(0.05, tol=1e-4, **penalty).fit(data)
    there = DaskRanker(RankRLS(0.05, tol=1e-4, **penalty), client, timeout=HANG).fit(tmp_path / "rows.mrd")
    for one, other in ((here, there.estimator_), (there.estimator_, here)):
        assert one.gap_ <= 1e-4
        assert one.lower_bound_ <= other.objective_ * (1 + 1e-12)
    assert there.estimator_.solver_ == "lbfgs"
    found = RankRLS("auto", **penalty).fit(data), RankRLS("auto", **penalty).fit(afar(data, 4))
    assert all(one.gap_ <= 1e-3 for one in found)
    # Models of both are within tol of the same optima, which leaves a pair or two open.
    n = min(len(one.alphas_) for one in found)
    np.testing.assert_array_equal(found[0].alphas_[:n], found[1].alphas_[:n])
