"""Claims of fits in ways that small problems would not be fitted in by themselves."""

from __future__ import annotations

from unittest.mock import patch

from fitted_claims import LOSS_SOLVERS, rank_svm, rank_svm_pairs, structured

from marginrank.designs import hessians
from marginrank.solvers import exact_newton, interior_point
from marginrank.training import row_space


def always():
    """Return a context in which every fit that can be made in the space of the rows is."""
    return patch.multiple(row_space, COLUMNS_A_ROW=0, _pays=lambda rows, balance: True)


def rank_svm_row_space(rng, hard):
    """Return the claim of a ranker of rows or of pairs, or of a structured one."""
    with always():
        kind = rng.choice(["rows", "pairs", "structured"], p=[0.6, 0.2, 0.2])
        if kind == "structured":
            return structured(rng, hard)
        return (rank_svm if kind == "rows" else rank_svm_pairs)(rng, hard, tuple(LOSS_SOLVERS))


def rank_svm_second_order(rng, hard):
    """Return the claim of a ranker by Newton's method with the whole Hessian, or in the interior."""
    with (
        patch.object(hessians, "_ROWS_A_COLUMN", 1000),
        patch.object(exact_newton, "_LEAST_BALANCE", 0.0),
        patch.object(interior_point, "_LEAST_BALANCE", 0.0),
    ):
        return rank_svm(rng, hard, tuple(LOSS_SOLVERS))


OTHER_WAYS = {"rank_svm_row_space": rank_svm_row_space, "rank_svm_second_order": rank_svm_second_order}
