"""Greedy RankRLS on search data: choices and errors are those of systems that are solved one by one."""

import numpy as np
import pytest
from test_real_data import letor

from marginrank import rank_rls_selection

ALPHA = 1e-4


class Queries:
    """Centred rows, query after query, and leave-query-out errors by solving systems, at one lambda."""

    def __init__(self, X, y, qid):
        order = np.argsort(qid, kind="stable")
        _, starts = np.unique(qid[order], return_index=True)
        self.parts = np.split(np.column_stack([X, y])[order], starts[1:])
        self.parts = [part - part.mean(axis=0) for part in self.parts]
        rows = np.vstack(self.parts)
        self.n_rows = len(rows)
        self.gram = rows.T @ rows

    def error(self, columns):
        """Return the mean squared error of all rows, each query by the model of the others."""
        taken = [*columns, -1]
        whole, shift = self.gram[np.ix_(taken, taken)], 0.5 * ALPHA * self.n_rows * np.eye(len(columns))
        total = 0.0
        for part in self.parts:
            own = part[:, taken]
            rest = whole - own.T @ own
            weights = np.linalg.solve(rest[:-1, :-1] + shift, rest[:-1, -1])
            total += float(np.square(own[:, -1] - own[:, :-1] @ weights).sum())
        return total / self.n_rows


@pytest.mark.parametrize("name", ["MQ2008", "OHSUMED"])
def test_the_first_choices_are_those_of_solved_systems(real_data, name):
    X, y, qid = letor(real_data / name, 1)
    X = np.asarray(X.toarray() if hasattr(X, "toarray") else X, dtype=np.float64)
    chosen = rank_rls_selection(X, y, qid=qid, n_features=3, alpha=ALPHA, scale=None)
    queries = Queries(X, y, qid)
    varies = np.flatnonzero(np.diag(queries.gram)[:-1] > 1e-9)
    for k in range(3):
        before = chosen.features[:k]
        errors = {j: queries.error([*before, j]) for j in varies.tolist() if j not in before}
        assert min(errors, key=errors.get) == chosen.features[k]
        assert errors[chosen.features[k]] == pytest.approx(chosen.curve[k], rel=1e-10)


@pytest.mark.parametrize("name", ["MQ2008", "OHSUMED"])
def test_after_dozens_of_features_errors_are_still_those_of_solved_systems(real_data, name):
    X, y, qid = letor(real_data / name, 2)
    X = np.asarray(X.toarray() if hasattr(X, "toarray") else X, dtype=np.float64)
    chosen = rank_rls_selection(X, y, qid=qid, n_features=35, alpha=ALPHA, scale=None)
    queries = Queries(X, y, qid)
    for k in (10, 20, 35):
        assert queries.error(chosen.features[:k]) == pytest.approx(chosen.curve[k - 1], rel=1e-9)
