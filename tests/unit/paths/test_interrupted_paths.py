"""Ctrl-C at every product and step of a path: its certified part so far, or nothing but the interrupt."""

import warnings
from itertools import count

import numpy as np
import pytest

from impatience import PACKAGE, Impatient, any_call
from marginrank._kernels import KernelPath
from marginrank.paths import (
    kernel_model,
    kernel_path,
    kernel_rank_path,
    rank_path,
    rank_rls_path,
    structured_rank_path,
)

#: What takes time: products, and what is evaluated, decomposed or checked before and after a path.
WORK = {
    *("scores", "adjoint", "scores_block", "adjoint_block", "_fused", "_fused_hvp", "impatient", "at"),
    *("centred_gram", "dense", "column_transform", "training_view", "coefficients"),
    *("gram_matrix", "distinct_points", "graph_pairs", "row_roots", "certified_values"),
}
EPS = 0.05
rng = np.random.default_rng(0)
X = rng.standard_normal((48, 3))
Y = np.digitize(X[:, 0] - X[:, 1] + rng.standard_normal(48), [-1.0, 1.0]).astype(float)
INTERVAL = {"qid": np.arange(48) // 8, "alpha_max": 1.0, "alpha_min": 0.05, "eps": EPS, "n_jobs": 1}
PATHS = {
    "hinge": lambda **more: rank_path(X, Y, **INTERVAL, **more),
    "squared hinge, scaled": lambda **more: rank_path(
        X, Y, loss="squared_hinge", scale="standard", **INTERVAL, **more
    ),
    "elastic net": lambda **more: rank_path(X, Y, l1_ratio=0.5, n_alphas=5, **INTERVAL, **more),
    "structured": lambda **more: structured_rank_path(X, Y, target="ndcg", **INTERVAL, **more),
    "least squares": lambda **more: rank_rls_path(X, Y, solver="certified", **INTERVAL, **more),
}


def impatient(progress):
    """A callback, whose calls count as products do."""


def works(code):
    if code.co_filename.endswith("lower_lines.py"):  # arithmetic with a few numbers
        return False
    return code.co_name in WORK and (code.co_filename.startswith(PACKAGE) or code.co_name == "impatient")


def interrupted_at(n, compute, counts=works):
    """Return a path that was interrupted at a piece of work, or None; and whether it came to that."""
    moment = Impatient(n, counts)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="The path was interrupted")
        try:
            with moment:
                path = compute(callbacks=impatient)
        except KeyboardInterrupt:
            path = None
    return path, moment.left == 0


@pytest.mark.parametrize("name", PATHS)
def test_an_interrupt_leaves_the_certified_part_of_a_path(name):
    whole = PATHS[name]()
    ends = []
    for n in count(1):
        path, happened = interrupted_at(n, PATHS[name])
        if not happened:
            break
        ends.append(np.inf if path is None else path.alpha_min_)
        if path is not None:
            assert path.status_ == "interrupted"
            for alpha in path.grid(7):
                assert 0.0 <= path.gap_at(alpha) <= EPS
            np.testing.assert_array_equal(path.coef_at(path.alphas[0]), whole.coef_at(whole.alphas[0]))
    assert np.isinf(ends[0])
    assert np.isfinite(ends[-1])
    assert ends == sorted(ends, reverse=True), "A part of the path that was there got lost."


@pytest.mark.parametrize("name", [*PATHS, "least squares, direct", "kernel"])
def test_an_interrupt_anywhere_leaves_a_certified_part_or_nothing(name):
    compute = {**PATHS, "least squares, direct": direct_path, "kernel": short_kernel_path}[name]
    # The models of a part of a Gram matrix are as far from the optimum as they are, and say so.
    largest = 1.0 if compute is direct_path else EPS
    n, happened = 1, True
    while happened:
        path, happened = interrupted_at(n, compute, any_call)
        if path is not None:
            assert path.status_ in ("interrupted", "finished")
            for alpha in (path.alphas[0], path.alpha_min_):
                assert 0.0 <= path.gap_at(alpha) <= largest
        n += 1 + n // 8
    assert path.status_ == "finished"


# The direct path of least squares: tests/unit/estimators/test_interrupted_gram.py looks at every block


def direct_path(callbacks):
    del callbacks  # it has no steps
    return rank_rls_path(X, Y, solver="direct", qid=INTERVAL["qid"], n_jobs=1)


# The exact path of a kernel


def short_kernel_path(**more):
    return kernel_rank_path(X[:20], Y[:20], gamma=0.5, alpha_min=1e-3, **more)


class Core:
    """The native core of a path, whose n-th look for Ctrl-C, one after each event, finds it."""

    def __init__(self, n, *parts):
        self._core = KernelPath(*parts)
        self._left = n

    def advance(self, max_events, lambda_min):
        if self._left > max_events:
            self._left -= max_events
            return self._core.advance(max_events, lambda_min)
        code = self._core.advance(self._left, lambda_min)
        if code != 0:  # the end came first
            return code
        raise KeyboardInterrupt

    def __getattr__(self, name):
        return getattr(self._core, name)


def test_an_interrupt_after_any_event_leaves_the_path_down_to_there(monkeypatch):
    whole = short_kernel_path()
    alphas = np.geomspace(whole.alphas[0], whole.alpha_min_, 9)
    scores = [whole.scores_at(alpha) for alpha in alphas]
    known = []
    for n in count(1):
        monkeypatch.setattr(kernel_path, "KernelPath", lambda *parts, n=n: Core(n, *parts))
        path, _ = interrupted_at(0, short_kernel_path)
        if path.status_ == "finished":
            break
        assert path.status_ == "interrupted"
        known.append(path.n_events_)
        assert (path.alphas == whole.alphas[: path.n_events_]).all()
        assert 0.0 <= path.gap_ <= 1e-7
        for alpha, expected in zip(alphas, scores, strict=True):
            if alpha > path.alpha_min_:
                assert (path.scores_at(alpha) == expected).all()
    assert known == sorted(set(known))
    assert len(known) > 50
    assert (path.alphas == whole.alphas).all()


def test_an_interrupt_of_any_work_around_a_kernel_path_loses_nothing_of_it():
    ends = []
    for n in count(1):
        path, happened = interrupted_at(n, short_kernel_path)
        if not happened:
            break
        ends.append(np.inf if path is None else path.alpha_min_)
        if path is not None:
            assert path.status_ == "interrupted"
            assert 0.0 <= path.gap_ <= 1e-7
    assert np.isinf(ends[0])
    assert ends[-1] == path.alpha_min_
    assert ends == sorted(ends, reverse=True), "A part of the path that was there got lost."


def test_a_second_interrupt_gives_a_path_up(monkeypatch):
    calls = []

    def interrupts_again(*given):
        calls.append(given)
        raise KeyboardInterrupt

    monkeypatch.setattr(kernel_model, "certified_values", interrupts_again)
    with pytest.raises(KeyboardInterrupt):
        short_kernel_path()
    assert len(calls) == 2
