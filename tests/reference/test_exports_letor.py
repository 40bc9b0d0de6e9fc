"""Exports of models of real data rank as the models do."""

import io

import pytest

from marginrank import RankSVM, load_letor
from marginrank.export import TARGETS
from marginrank.export.base import Options


@pytest.fixture(scope="module", params=["OHSUMED/S1.txt.gz", "MQ2008/S1.txt"])
def fitted(request, real_data):
    data = load_letor(real_data / request.param)
    return RankSVM(alpha=1e-3).fit(data).to_model(), data


@pytest.mark.parametrize("target", TARGETS)
def test_exports_of_letor_models_rank_the_same(target, fitted):
    model, data = fitted
    check = model.export(target, io.BytesIO(), check=data).check
    float32 = TARGETS[target].float32(Options(("a",), "m"))
    assert check.largest_difference <= (1e-5 if float32 else 1e-12)
    if not float32:
        assert check.order_changes == 0
    # In float32 what changes places is closer than rounding: hardly any pair is.
    assert check.order_changes + check.new_ties <= 1e-4 * check.n_pairs
