"""Sparse and bounded rankers, with and without an offset: memory, disk and workers agree within gaps."""

import numpy as np
import pytest
from dask_cases import ranking_data, serially

from limits import HANG
from marginrank import RankSVM, StructuredRankSVM, rank_path, write_dataset
from marginrank.distributed import DaskRanker

TOL = 1e-4
PENALTIES = {
    "elastic net": {"l1_ratio": 0.8},
    "not negative": {"bounds": (0, None)},
    "mixed": {"l1_ratio": 0.5, "bounds": {0: (0.3, 0.3), 1: (None, 0), 2: (-0.1, 0.2), 4: (0.1, None)}},
}
RANKERS = {
    "hinge": lambda **more: RankSVM(alpha=0.05, tol=TOL, **more),
    "squared hinge": lambda **more: RankSVM("squared_hinge", alpha=0.05, tol=TOL, scale="standard", **more),
    "logistic": lambda **more: RankSVM("logistic", alpha=0.05, tol=TOL, **more),
    "structured": lambda **more: StructuredRankSVM("map", alpha=0.05, tol=TOL, relevance=1, **more),
}


def within_certificates(*models):
    """Check that no model's bound is above the objective of another, and that each reached its gap."""
    for model in models:
        assert model.gap_ <= TOL
        for other in models:
            assert model.lower_bound_ <= other.objective_ * (1.0 + 1e-12)
    for model in models[1:]:
        # Both are within sqrt(2 gap objective / modulus) of the one optimum: weights of about 0.1.
        np.testing.assert_allclose(model.coef_, models[0].coef_, atol=0.1)


@pytest.mark.parametrize("penalty", PENALTIES.values(), ids=PENALTIES)
@pytest.mark.parametrize("name", RANKERS)
@pytest.mark.parametrize("csr", [False, True], ids=["dense", "csr"])
def test_disk_and_remote_rows_give_the_optimum_of_memory(tmp_path, name, penalty, csr):
    data = ranking_data(csr=csr)
    offset = np.random.default_rng(1).normal(size=data.n_rows)
    on_disk = write_dataset(tmp_path / "rows.mrd", data, chunk_rows=100)
    for given in ({}, {"offset": offset}):
        places = (data, on_disk, serially(tmp_path / "rows.mrd"))
        within_certificates(*(RANKERS[name](**penalty).fit(rows, **given) for rows in places))


@pytest.mark.parametrize("penalty", PENALTIES.values(), ids=PENALTIES)
def test_workers_give_the_bits_of_the_serial_engine_with_penalties(client, tmp_path, penalty):
    data = ranking_data()
    offset = np.random.default_rng(1).normal(size=data.n_rows)
    write_dataset(tmp_path / "rows.mrd", data, chunk_rows=100)
    for name in ("hinge", "structured"):
        for given in ({}, {"offset": offset}):
            here = RANKERS[name](**penalty).fit(data, **given)
            one_by_one = RANKERS[name](**penalty).fit(serially(tmp_path / "rows.mrd"), **given)
            ranker = DaskRanker(RANKERS[name](**penalty), client, timeout=HANG)
            there = ranker.fit(tmp_path / "rows.mrd", **given).estimator_
            np.testing.assert_array_equal(there.coef_, one_by_one.coef_)
            within_certificates(here, there)


def test_alpha_is_searched_for_with_penalties_wherever_the_rows_lie(tmp_path):
    data = ranking_data()
    held = ranking_data(n_rows=120)
    on_disk = write_dataset(tmp_path / "rows.mrd", data, chunk_rows=100)
    alphas = [1.0, 0.1, 0.01]
    found = [
        RankSVM(alpha="auto", alphas=alphas, tol=TOL, l1_ratio=0.9, bounds={3: (0, None)}).fit(
            rows, eval_set=held
        )
        for rows in (data, on_disk, serially(tmp_path / "rows.mrd"))
    ]
    for one in found:
        assert one.gap_ <= TOL
        assert one.coef_[3] >= 0.0
        np.testing.assert_array_equal(one.alphas_, found[0].alphas_)
        np.testing.assert_allclose(one.validation_curve_, found[0].validation_curve_, atol=2e-2)


def test_sparse_paths_go_over_rows_on_disk(tmp_path):
    data = ranking_data()
    on_disk = write_dataset(tmp_path / "rows.mrd", data, chunk_rows=100)
    here, there = (rank_path(rows, l1_ratio=0.9, n_alphas=6, eps=TOL) for rows in (data, on_disk))
    np.testing.assert_allclose(there.alphas, here.alphas, rtol=1e-12)
    for alpha, other in zip(here.alphas, there.alphas, strict=True):
        (value, bound), (value_there, bound_there) = here.objective_at(alpha), there.objective_at(other)
        assert max(here.gap_at(alpha), there.gap_at(other)) <= TOL
        assert bound <= value_there * (1.0 + 1e-12)
        assert bound_there <= value * (1.0 + 1e-12)
