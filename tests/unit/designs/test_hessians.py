"""Whole Hessians of small problems equal the products they are made of."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import sparse

from marginrank import RankingData
from marginrank.designs import ColumnTransform, matrix_design
from marginrank.losses import QUERY_LOSSES
from marginrank.solvers.objective import Objective

SMOOTH = [name for name, loss in QUERY_LOSSES.items() if loss.smooth]


def _objective(loss: str, kind: str, n_threads: int = 1) -> Objective:
    rng = np.random.default_rng(0)
    X: Any = rng.normal(size=(23, 16)) * (rng.random((23, 16)) < 0.7)
    X = sparse.csr_array(X) if kind == "sparse" else X.astype(np.float32) if kind == "float32" else X
    qid = np.repeat([0, 1, 2, 3], [9, 1, 5, 8])
    view = RankingData(X, rng.integers(0, 3, 23), qid=qid).training_view()
    constant = np.arange(16) == 1
    transform = ColumnTransform(scale=np.arange(1.0, 17.0), constant=constant) if kind == "scaled" else None
    given = () if transform is None else (transform,)
    design = matrix_design(X, None, *given, n_threads=n_threads)
    return Objective(design, QUERY_LOSSES[loss](view, weighting="pairs", n_threads=n_threads), 0.1)


@pytest.mark.parametrize("loss", SMOOTH)
@pytest.mark.parametrize("kind", ["dense", "float32", "sparse", "scaled"])
def test_columns_are_products_with_unit_vectors(loss: str, kind: str) -> None:
    objective = _objective(loss, kind)
    assert objective.hessians is not None
    point = objective.at(np.random.default_rng(1).normal(size=16))
    expected = np.stack([point.hvp(unit) - 0.1 * unit for unit in np.eye(16)])
    assert np.allclose(point.hessian(), expected, rtol=1e-10, atol=1e-12)


def test_it_is_asked_for_only_where_there_is_one() -> None:
    objective = _objective("hinge", "dense")
    assert objective.hessians is None
    with pytest.raises(RuntimeError, match="not known as a whole"):
        objective.at(np.zeros(16)).hessian()


def test_each_hessian_is_an_array_of_its_own() -> None:
    point = _objective("squared_hinge", "dense").at(np.zeros(16))
    first = point.hessian()
    first[0, 0] = np.nan
    assert np.isfinite(point.hessian()).all()
