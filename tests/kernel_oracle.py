"""Kernels by their formulas, and the kernel ranking machine by its dual: the oracles of everything mapped."""

from itertools import pairwise

import numpy as np
from scipy.linalg import cholesky, solve_triangular
from scipy.optimize import nnls


def _differences(X, Y):
    return X[:, None, :] - Y[None, :, :]


def _chi2(X, Y):
    total = X[:, None, :] + Y[None, :, :]
    return np.divide(_differences(X, Y) ** 2, total, out=np.zeros_like(total), where=total > 0).sum(axis=2)


def _cosine(X, Y):
    lengths = np.linalg.norm(X, axis=1)[:, None] * np.linalg.norm(Y, axis=1)
    return np.divide(X @ Y.T, lengths, out=np.zeros_like(lengths), where=lengths > 0)


#: Kernel values between the rows of two dense float64 matrices.
FORMULAS = {
    "rbf": lambda X, Y, gamma: np.exp(-gamma * (_differences(X, Y) ** 2).sum(axis=2)),
    "laplacian": lambda X, Y, gamma: np.exp(-gamma * np.abs(_differences(X, Y)).sum(axis=2)),
    "polynomial": lambda X, Y, gamma: (gamma * X @ Y.T + 1.0) ** 3,
    "cosine": lambda X, Y, gamma: _cosine(X, Y),
    "chi2": lambda X, Y, gamma: np.exp(-gamma * _chi2(X, Y)),
}


def kernel_values(kernel, X, Y, gamma):
    return FORMULAS[kernel](np.asarray(X, dtype=np.float64), np.asarray(Y, dtype=np.float64), gamma)


def pair_differences(y, query_ptr):
    """Return the matrix A of the paper's equation 5: a row per comparable pair, +1 winner and -1 loser."""
    rows = []
    for first, last in pairwise(query_ptr):
        for i in range(first, last):
            for j in range(first, last):
                if y[i] > y[j]:
                    row = np.zeros(len(y))
                    row[i], row[j] = 1.0, -1.0
                    rows.append(row)
    return np.array(rows)


def solve_kernel_ranking(K, y, query_ptr, alpha):
    """Return the coefficients c of the optimal ranker ``f(x) = sum_i c_i k(x_i, x)``, and its objective.

    Minimises ``(1/N) sum max(0, 1 - (f_i - f_j))^2 + alpha/2 |f|^2`` over the N comparable pairs by its dual,
    the paper's equations 8 to 11 for the squared hinge: maximise ``sum a - a'Q a/(2 alpha) - N a'a/4`` over
    ``a >= 0`` with ``Q = A K A'``. As ``M = Q/alpha + (N/2) I = R'R`` is positive definite, that is a
    nonnegative least squares problem, ``min |R a - R^-T 1|``, which an active-set method solves exactly.
    """
    A = pair_differences(y, query_ptr)
    n_pairs = len(A)
    R = cholesky(A @ K @ A.T / alpha + 0.5 * n_pairs * np.eye(n_pairs))
    multipliers, _ = nnls(R, solve_triangular(R, np.ones(n_pairs), trans="T"), maxiter=50 * n_pairs)
    coefficients = A.T @ multipliers / alpha
    slack = np.maximum(0.0, 1.0 - A @ K @ coefficients)
    return coefficients, slack @ slack / n_pairs + 0.5 * alpha * coefficients @ K @ coefficients
