"""What the certified path costs on film reviews, against one solution at its small end.

The data are those of test_real_data.py.
"""

import numpy as np
import pytest
from scipy import sparse

from marginrank import RankingData, RankSVM
from marginrank.paths import rank_path

TOP, BOTTOM = 2e-2, 2e-6


@pytest.fixture(scope="module", params=["train", "test"])
def reviews(request, real_data):
    X = sparse.load_npz(real_data / "IMDB" / f"{request.param}.X.npz")
    return RankingData(X, np.load(real_data / "IMDB" / f"{request.param}.labels.npz")["y"])


@pytest.mark.parametrize(("eps", "factor"), [(1e-2, 1.5), (1e-3, 2.0)])
def test_all_alphas_cost_little_more_than_the_smallest_alone(reviews, eps, factor):
    path = rank_path(reviews, alpha_max=TOP, alpha_min=BOTTOM, eps=eps)
    alone = RankSVM(alpha=BOTTOM, tol=eps).fit(reviews)
    assert path.n_passes_ <= factor * alone.n_passes_
    between = TOP * (BOTTOM / TOP) ** np.random.default_rng(1).uniform(size=200)
    assert max(path.gap_at(alpha) for alpha in between) <= eps
