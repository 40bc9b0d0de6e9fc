"""The three regularisations of RankRLS on film reviews, like table 1 of the paper.

One ranking by stars: a tenth of the training half is for validation, the other half for the test. The data
are those of test_real_data.py.
"""

import numpy as np
import pytest
from scipy import sparse

from marginrank import RankingData, RankRLS

# The paper's grid of lambda, 2^-10 to 2^10, for 22,500 rows; alpha is 2 lambda / m.
ALPHAS = 2.0 * 2.0 ** np.arange(-10, 11) / 22_500
BEST_ALPHA = 3.56e-4  # of the grid, each alpha solved on its own: see benchmarks/rankrls_tables.py


@pytest.fixture(scope="module")
def reviews(real_data):
    X, X_test = (sparse.load_npz(real_data / "IMDB" / f"{half}.X.npz") for half in ("train", "test"))
    y, y_test = (np.load(real_data / "IMDB" / f"{half}.labels.npz")["y"] for half in ("train", "test"))
    rows = np.random.default_rng(0).permutation(len(y))
    validation, train = rows[: len(y) // 10], rows[len(y) // 10 :]
    return (
        RankingData(X[train], y[train]),
        RankingData(X[validation], y[validation]),
        RankingData(X_test, y_test),
    )


@pytest.fixture(scope="module")
def tikhonov_error(reviews):
    train, _, test = reviews
    return 1 - RankRLS(BEST_ALPHA, tol=1e-4, solver="cg").fit(train).score(test)


def test_the_best_alpha_alone_has_the_error_that_was_measured(tikhonov_error):
    assert tikhonov_error == pytest.approx(0.1734, abs=0.001)


def test_hybrid_finds_alpha_and_its_error_in_a_few_passes(reviews, tikhonov_error):
    train, validation, test = reviews
    model = RankRLS("auto", regularization="hybrid", alphas=ALPHAS).fit(train, eval_set=validation)
    assert model.alpha_ == pytest.approx(BEST_ALPHA, rel=0.01)
    assert 1 - model.score(test) == pytest.approx(tikhonov_error, abs=0.001)
    assert model.n_passes_ < 40


def test_the_grid_in_one_run_finds_the_same(reviews, tikhonov_error):
    train, validation, test = reviews
    # Alphas below are worse and take most of the 417 passes of the whole grid.
    grid = ALPHAS[ALPHAS > 0.1 * BEST_ALPHA]
    model = RankRLS("auto", alphas=grid, solver="cg").fit(train, eval_set=validation)
    assert model.alpha_ == pytest.approx(BEST_ALPHA, rel=0.01)
    assert 1 - model.score(test) == pytest.approx(tikhonov_error, abs=0.001)


def test_early_stopping_comes_near(reviews, tikhonov_error):
    train, validation, test = reviews
    model = RankRLS(regularization="early_stopping").fit(train, eval_set=validation)
    assert 1 - model.score(test) < tikhonov_error + 0.01
    assert model.best_iteration_ < model.n_iter_
    assert model.n_passes_ < 40
