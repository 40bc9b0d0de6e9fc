"""The path of the module for any processor and of the one for wide registers has the same bits."""

from __future__ import annotations

import importlib

import numpy as np
import pytest
from sklearn.metrics.pairwise import rbf_kernel

from marginrank._kernels import KernelPath

LABELS = np.arange(50) % 4
WINNER, LOSER = (rows.astype(np.int32) for rows in np.nonzero(LABELS[:, None] > LABELS[None, :]))
N_PAIRS = len(WINNER)


def path_of(kind):
    X = np.random.default_rng(2).normal(size=(50, 3))
    path = kind(rbf_kernel(X), WINNER, LOSER, np.ones(N_PAIRS), np.ones(N_PAIRS))
    path.advance(10**6, 1e-5 * path.first_breakpoint)
    return path


def test_both_modules_give_the_same_bits():
    plain = importlib.import_module("marginrank._native").KernelPath
    if KernelPath is plain:
        pytest.skip("This processor has no wide registers.")
    ours, theirs = path_of(KernelPath), path_of(plain)
    assert ours.n_events > 500
    for mine, other in zip(ours.events(), theirs.events(), strict=True):
        assert (mine == other).all()
    half = 0.5 * ours.first_breakpoint
    mine, other = np.empty(N_PAIRS), np.empty(N_PAIRS)
    ours.duals_at(half, mine)
    theirs.duals_at(half, other)
    assert (mine == other).all()
