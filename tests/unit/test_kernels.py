"""The compiled modules: the same bits from both, errors instead of crashes, arrays kept alive."""

import gc
import os
import subprocess
import sys

import numpy as np
import pytest

from marginrank import _kernels, _native

avx2 = pytest.importorskip("marginrank._native_avx2", reason="built for x86-64 only", exc_type=ImportError)
wide_only = pytest.mark.skipif(not _native.has_wide_registers(), reason="this processor has no AVX2")

RNG = np.random.default_rng(1)
SIZES = [1, 2, 30, 319, 320, 321, 700, 9000, 70_001]
PTR = np.concatenate(([0], np.cumsum(SIZES))).astype(np.int64)
N = int(PTR[-1])
Y = RNG.integers(300, size=N).astype(np.float64)
SCORES, DIRECTION = RNG.normal(size=(2, N))
WEIGHT = RNG.lognormal(size=N)
SCALE = RNG.lognormal(size=len(SIZES))


def loss_of(module, weight=None, squared=True):
    return module.PairLoss(module.PairLabels(Y, PTR, weight, 1), SCALE, squared)


@wide_only
@pytest.mark.parametrize("squared", [False, True])
@pytest.mark.parametrize("weight", [None, WEIGHT], ids=["unweighted", "weighted"])
@pytest.mark.parametrize("n_threads", [1, 4])
def test_both_modules_give_the_same_pair_losses(squared, weight, n_threads):
    results = []
    for module in (_native, avx2):
        loss = loss_of(module, weight, squared)
        g, h, above, below = np.empty((4, N))
        value = loss.evaluate(SCORES, g, n_threads)
        loss.hessian(SCORES, DIRECTION, h, n_threads)
        loss.active_partners(SCORES, above, below, n_threads)
        results.append((value, g, h, above, below))
    for one, other in zip(*results, strict=True):
        assert np.array_equal(one, other)


@wide_only
@pytest.mark.parametrize("weight", [None, WEIGHT], ids=["unweighted", "weighted"])
def test_both_modules_give_the_same_logistic_loss(weight):
    ptr = PTR[:8]  # it looks at every pair, so not the long ones
    n = int(ptr[-1])
    results = []
    for module in (_native, avx2):
        labels = module.PairLabels(Y[:n], ptr, None if weight is None else weight[:n], 1)
        loss = module.LogisticLoss(labels, SCALE[:7])
        g, h = np.empty((2, n))
        value = loss.evaluate(3.0 * SCORES[:n], g, 2)
        loss.hessian(3.0 * SCORES[:n], DIRECTION[:n], h, 2)
        results.append((value, g, h))
    for one, other in zip(*results, strict=True):
        assert np.array_equal(one, other)


@wide_only
@pytest.mark.parametrize("name", ["RowProductF32", "RowProductF64"])
@pytest.mark.parametrize("shape", [(1, 1, 1), (7, 300, 33), (97, 46, 16), (200, 513, 105)])
def test_both_modules_give_the_same_row_products(name, shape):
    rows, depth, width = shape
    dtype = np.float32 if name.endswith("32") else np.float64
    A, B = (RNG.normal(size=size).astype(dtype) for size in ((rows, depth), (depth, width)))
    results = []
    for module in (_native, avx2):
        out = np.empty((rows, width), dtype=dtype)
        getattr(module, name)(B).apply(A, out)
        results.append(out)
    assert np.array_equal(*results)


@wide_only
def test_both_modules_give_the_same_labels():
    one, other = (module.PairLabels(Y, PTR, WEIGHT, 1) for module in (_native, avx2))
    assert np.array_equal(one.n_pairs, other.n_pairs)
    assert np.array_equal(one.pair_weight, other.pair_weight)
    assert np.array_equal(one.partner_weight(), other.partner_weight())


@wide_only
@pytest.mark.parametrize("kind", ["HingePairs", "SquaredHingePairs", "LeastSquaresPairs", "LogisticPairs"])
def test_both_modules_give_the_same_preference_losses(kind):
    pairs = RNG.integers(0, 500, (20_000, 2))
    results = []
    for module in (_native, avx2):
        loss = getattr(module, kind)(pairs, WEIGHT[:20_000], WEIGHT[1:20_001], 500)
        g, h = np.empty((2, 500))
        value = loss.evaluate(SCORES[:500], g, 1)
        loss.hessian(SCORES[:500], DIRECTION[:500], h, 1)
        results.append((value, g, h, loss.partner_weight()))
    for one, other in zip(*results, strict=True):
        assert np.array_equal(one, other)


@wide_only
@pytest.mark.parametrize("weight", [None, WEIGHT], ids=["unweighted", "weighted"])
def test_both_modules_give_the_same_least_squares(weight):
    pairs = RNG.integers(0, 500, (20_000, 2))
    results = []
    for module in (_native, avx2):
        by_row = module.LeastSquares(Y, PTR, weight, SCALE)
        by_pair = module.LeastSquaresPairs(pairs, None, DIRECTION[:20_000], 500)
        g, h = np.empty((2, N))
        g_pairs, h_pairs = np.empty((2, 500))
        values = by_row.evaluate(SCORES, g, 1), by_pair.evaluate(SCORES[:500], g_pairs, 1)
        by_row.hessian(SCORES, DIRECTION, h, 1)
        by_pair.hessian(SCORES[:500], DIRECTION[:500], h_pairs, 1)
        results.append((*values, g, h, g_pairs, h_pairs))
    for one, other in zip(*results, strict=True):
        assert np.array_equal(one, other)


@wide_only
@pytest.mark.parametrize("kind", ["DenseF32", "DenseF64", "CsrF32I32", "CsrF32I64", "CsrF64I32", "CsrF64I64"])
@pytest.mark.parametrize("n_cols", [3, 8, 21])
def test_both_modules_give_the_same_products(kind, n_cols):
    n_rows = int(PTR[5])
    real = np.float32 if "F32" in kind else np.float64
    X = np.random.default_rng(2).normal(size=(n_rows, n_cols)).astype(real)
    w, g = DIRECTION[:n_cols], DIRECTION[:n_rows]
    results = []
    for module in (_native, avx2):
        if kind.startswith("Dense"):
            matrix = getattr(module, kind)(X, None)
        else:
            index = np.int32 if kind.endswith("I32") else np.int64
            indices = np.tile(np.arange(n_cols, dtype=index), n_rows)
            indptr = np.arange(n_rows + 1, dtype=index) * index(n_cols)
            matrix = getattr(module, kind)(X.ravel(), indices, indptr, n_cols, None)
        loss = module.PairLoss(module.PairLabels(Y[:n_rows], PTR[:6], None, 1), SCALE[:5], True)
        partial = np.empty((4, n_cols))
        scores, p, gradient, u, h = np.empty((5, n_rows))
        adjoint, fused, product = np.empty((3, n_cols))
        matrix.scores(w, scores, 1)
        matrix.adjoint(g, partial, adjoint, 1)
        value = matrix.fused(loss, w, p, gradient, partial, fused, 1)
        matrix.fused_hvp(loss, w, SCORES[:n_rows], u, h, partial, product, 1)
        results.append((scores, adjoint, value, p, gradient, fused, u, h, product))
    for one, other in zip(*results, strict=True):
        assert np.array_equal(one, other)


@wide_only
@pytest.mark.parametrize("n_vectors", [2, 4, 8])
def test_both_modules_give_the_same_products_with_several_vectors(n_vectors):
    X = np.random.default_rng(3).normal(size=(500, 21))
    W, G = SCORES[: n_vectors * 21].reshape(-1, 21), SCORES[: n_vectors * 500].reshape(-1, 500)
    columns, starts = np.tile(np.arange(21), 500), np.arange(501) * 21
    results = []
    for module in (_native, avx2):
        for matrix in (module.DenseF64(X, None), module.CsrF64I64(X.ravel(), columns, starts, 21, None)):
            scores, adjoint = np.empty((n_vectors, 500)), np.empty((n_vectors, 21))
            matrix.scores_block(W, scores, 1)
            matrix.adjoint_block(G, np.empty(matrix.block_partial_size), adjoint, 1)
            results.append((scores, adjoint))
    for one, other in zip(results[:2], results[2:], strict=True):
        assert np.array_equal(one[0], other[0])
        assert np.array_equal(one[1], other[1])


@wide_only
def test_modules_do_not_mix():
    """Each has its own types: a loss of the one is no loss to the other."""
    matrix = avx2.DenseF64(np.zeros((N, 1)), None)
    with pytest.raises(TypeError):
        matrix.fused(
            loss_of(_native), np.zeros(1), np.empty(N), np.empty(N), np.empty((1, 1)), np.empty(1), 1
        )


def test_arrays_stay_alive_with_the_labels():
    """Labels and losses point into the arrays they were given; these may have no other owner."""
    losses = []
    for _ in range(30):
        labels = _kernels.PairLabels(Y[: PTR[7]].copy(), PTR[:8].copy(), WEIGHT[: PTR[7]].copy(), 1)
        losses.append(_kernels.PairLoss(labels, SCALE[:7].copy(), True))
        del labels
    gc.collect()
    _ = [np.full(int(PTR[7]), np.nan) for _ in range(60)]  # would reuse freed memory
    n = int(PTR[7])
    values = {loss.evaluate(SCORES[:n], np.empty(n), 1) for loss in losses}
    assert len(values) == 1
    assert np.isfinite(values.pop())


def test_arrays_stay_alive_with_least_squares():
    n = int(PTR[7])
    losses = [
        _kernels.LeastSquares(Y[:n].copy(), PTR[:8].copy(), WEIGHT[:n].copy(), SCALE[:7].copy())
        for _ in range(30)
    ]
    gc.collect()
    _ = [np.full(n, np.nan) for _ in range(60)]  # would reuse freed memory
    values = {loss.evaluate(SCORES[:n], np.empty(n), 1) for loss in losses}
    assert len(values) == 1
    assert np.isfinite(values.pop())


def test_returned_arrays_outlive_the_labels():
    labels = _kernels.PairLabels(Y, PTR, WEIGHT, 1)
    n_pairs, weight = labels.n_pairs, labels.pair_weight
    kept = n_pairs.copy(), weight.copy()
    del labels
    gc.collect()
    assert np.array_equal(n_pairs, kept[0])
    assert np.array_equal(weight, kept[1])


ONES = np.ones(4)
FOUR = np.array([0, 2, 4])


def small_loss():
    return _kernels.PairLoss(_kernels.PairLabels(np.arange(4.0), FOUR, None, 1), np.ones(2), True)


def small_squares():
    return _kernels.LeastSquares(np.arange(4.0), FOUR, None, np.ones(2))


def small_pairs():
    return _kernels.SquaredHingePairs(np.array([[0, 1]]), None, None, 4)


def small_matrix():
    return _kernels.DenseF64(np.ones((4, 3)), None)


WRONG_SIZES = {
    "labels shorter than the queries": lambda: _kernels.PairLabels(np.ones(3), FOUR, None, 1),
    "labels longer than the queries": lambda: _kernels.PairLabels(np.ones(5), FOUR, None, 1),
    "no query_ptr": lambda: _kernels.PairLabels(np.ones(0), np.zeros(0, dtype=np.int64), None, 1),
    "query_ptr from 1": lambda: _kernels.PairLabels(ONES, np.array([1, 4]), None, 1),
    "query_ptr falls": lambda: _kernels.PairLabels(ONES, np.array([0, 3, 2, 4]), None, 1),
    "query_ptr beyond": lambda: _kernels.PairLabels(ONES, np.array([0, 9, 4]), None, 1),
    "weight": lambda: _kernels.PairLabels(ONES, FOUR, np.ones(3), 1),
    "scale": lambda: _kernels.PairLoss(_kernels.PairLabels(ONES, FOUR, None, 1), np.ones(3), True),
    "scores": lambda: small_loss().evaluate(np.ones(3), np.empty(4), 1),
    "gradient": lambda: small_loss().evaluate(ONES, np.empty(3), 1),
    "direction": lambda: small_loss().hessian(ONES, np.ones(5), np.empty(4), 1),
    "product": lambda: small_loss().hessian(ONES, ONES, np.empty(5), 1),
    "above": lambda: small_loss().active_partners(ONES, np.empty(3), np.empty(4), 1),
    "below": lambda: small_loss().active_partners(ONES, np.empty(4), np.empty(3), 1),
    "three columns of pairs": lambda: _kernels.SquaredHingePairs(np.zeros((2, 3), dtype=int), None, None, 4),
    "no pairs": lambda: _kernels.SquaredHingePairs(np.zeros((0, 2), dtype=int), None, None, 4),
    "pair beyond the rows": lambda: _kernels.SquaredHingePairs(np.array([[0, 4]]), None, None, 4),
    "negative pair": lambda: _kernels.SquaredHingePairs(np.array([[-1, 2]]), None, None, 4),
    "negative rows": lambda: _kernels.SquaredHingePairs(np.array([[0, 1]]), None, None, -1),
    "pair weight": lambda: _kernels.SquaredHingePairs(np.array([[0, 1]]), np.ones(2), None, 4),
    "pair margin": lambda: _kernels.SquaredHingePairs(np.array([[0, 1]]), None, np.ones(2), 4),
    "scale of the logistic loss": lambda: _kernels.LogisticLoss(
        _kernels.PairLabels(ONES, FOUR, None, 1), np.ones(3)
    ),
    "query_ptr of least squares": lambda: _kernels.LeastSquares(ONES, np.array([0, 3]), None, np.ones(1)),
    "descending query_ptr of least squares": lambda: _kernels.LeastSquares(
        ONES, np.array([0, 5, 4]), None, np.ones(2)
    ),
    "weight of least squares": lambda: _kernels.LeastSquares(ONES, FOUR, np.ones(3), np.ones(2)),
    "scale of least squares": lambda: _kernels.LeastSquares(ONES, FOUR, None, np.ones(3)),
    "scores of least squares": lambda: small_squares().evaluate(np.ones(3), np.empty(4), 1),
    "direction of least squares": lambda: small_squares().hessian(ONES, np.ones(5), np.empty(4), 1),
    "scores of pairs": lambda: small_pairs().evaluate(np.ones(3), np.empty(4), 1),
    "gradient of pairs": lambda: small_pairs().evaluate(ONES, np.empty(3), 1),
    "direction of pairs": lambda: small_pairs().hessian(ONES, np.ones(3), np.empty(4), 1),
    "row beyond X": lambda: _kernels.DenseF64(np.ones((4, 3)), np.array([0, 4])),
    "negative row": lambda: _kernels.DenseF64(np.ones((4, 3)), np.array([0, -1])),
    "w": lambda: small_matrix().scores(np.ones(4), np.empty(4), 1),
    "out of scores": lambda: small_matrix().scores(np.ones(3), np.empty(3), 1),
    "g": lambda: small_matrix().adjoint(np.ones(3), np.empty((1, 3)), np.empty(3), 1),
    "partial": lambda: small_matrix().adjoint(ONES, np.empty((1, 4)), np.empty(3), 1),
    "no partial": lambda: small_matrix().adjoint(ONES, np.empty((0, 3)), np.empty(3), 1),
    "out of adjoint": lambda: small_matrix().adjoint(ONES, np.empty((1, 3)), np.empty(4), 1),
    "W": lambda: small_matrix().scores_block(np.ones((2, 4)), np.empty((2, 4)), 1),
    "out of scores_block": lambda: small_matrix().scores_block(np.ones((2, 3)), np.empty((3, 4)), 1),
    "G": lambda: small_matrix().adjoint_block(np.ones((2, 3)), np.empty(24), np.empty((2, 3)), 1),
    "partial of a block": lambda: small_matrix().adjoint_block(
        np.ones((2, 4)), np.empty(23), np.empty((2, 3)), 1
    ),
    "out of adjoint_block": lambda: small_matrix().adjoint_block(
        np.ones((2, 4)), np.empty(24), np.empty((2, 4)), 1
    ),
    "rows of the loss": lambda: _kernels.DenseF64(np.ones((5, 3)), None).fused(
        small_loss(), np.ones(3), np.empty(5), np.empty(5), np.empty((1, 3)), np.empty(3), 1
    ),
    "fused scores": lambda: small_matrix().fused(
        small_loss(), np.ones(3), np.empty(3), np.empty(4), np.empty((1, 3)), np.empty(3), 1
    ),
    "fused direction": lambda: small_matrix().fused_hvp(
        small_loss(), np.ones(3), np.ones(3), np.empty(4), np.empty(4), np.empty((1, 3)), np.empty(3), 1
    ),
    "csr data": lambda: _kernels.CsrF64I32(
        np.ones(3), np.zeros(2, dtype=np.int32), np.array([0, 2], dtype=np.int32), 1, None
    ),
    "csr indptr beyond": lambda: _kernels.CsrF64I32(
        np.ones(2), np.zeros(2, dtype=np.int32), np.array([0, 3], dtype=np.int32), 1, None
    ),
    "csr no indptr": lambda: _kernels.CsrF64I32(
        np.ones(0), np.zeros(0, dtype=np.int32), np.zeros(0, dtype=np.int32), 1, None
    ),
    "csr negative columns": lambda: _kernels.CsrF64I32(
        np.ones(0), np.zeros(0, dtype=np.int32), np.zeros(1, dtype=np.int32), -1, None
    ),
    "csr negative indptr": lambda: _kernels.CsrF64I32(
        np.ones(0), np.zeros(0, dtype=np.int32), np.array([0, -5], dtype=np.int32), 1, None
    ),
}


@pytest.mark.parametrize("call", WRONG_SIZES.values(), ids=WRONG_SIZES.keys())
def test_arrays_that_do_not_fit_are_refused(call):
    with pytest.raises(ValueError, match=r"must|can"):
        call()


WRONG_TYPES = {
    "float32 labels": lambda: _kernels.PairLabels(np.ones(4, dtype=np.float32), FOUR, None, 1),
    "int32 query_ptr": lambda: _kernels.PairLabels(ONES, FOUR.astype(np.int32), None, 1),
    "strided scores": lambda: small_loss().evaluate(np.ones(8)[::2], np.empty(4), 1),
    "two-dimensional scores": lambda: small_loss().evaluate(np.ones((4, 1)), np.empty(4), 1),
    "list of scores": lambda: small_loss().evaluate([1.0] * 4, np.empty(4), 1),
    "float32 X": lambda: _kernels.DenseF64(np.ones((4, 3), dtype=np.float32), None),
    "Fortran X": lambda: _kernels.DenseF64(np.ones((4, 3), order="F"), None),
    "byte order": lambda: small_loss().evaluate(np.ones(4, dtype=">f8"), np.empty(4), 1),
    "no labels": lambda: _kernels.PairLoss(None, np.ones(2), True),
    "float32 weight": lambda: _kernels.PairLabels(ONES, FOUR, np.ones(4, dtype=np.float32), 1),
    "int32 rows": lambda: _kernels.DenseF64(np.ones((4, 3)), np.zeros(2, dtype=np.int32)),
}


@pytest.mark.parametrize("call", WRONG_TYPES.values(), ids=WRONG_TYPES.keys())
def test_a_wrong_type_is_an_error_and_no_silent_copy(call):
    with pytest.raises(TypeError):
        call()


def test_results_are_not_written_into_read_only_arrays():
    out = np.empty(4)
    out.flags.writeable = False
    with pytest.raises(TypeError):
        small_loss().evaluate(ONES, out, 1)


def test_read_only_input_is_taken():
    scores = np.arange(4.0)
    scores.flags.writeable = False
    assert small_loss().evaluate(scores, np.empty(4), 1) == 0.0


def test_no_queries_give_no_loss():
    labels = _kernels.PairLabels(np.empty(0), np.zeros(1, dtype=np.int64), None, 2)
    loss = _kernels.PairLoss(labels, np.empty(0), True)
    assert loss.evaluate(np.empty(0), np.empty(0), 2) == 0.0
    assert (loss.n_rows, loss.n_queries, loss.longest_query) == (0, 0, 0)


def test_empty_queries_are_passed_over():
    ptr = np.array([0, 0, 2, 2, 4, 4])
    loss = _kernels.PairLoss(_kernels.PairLabels(np.array([0.0, 1, 0, 1]), ptr, None, 1), np.ones(5), False)
    gradient = np.empty(4)
    assert loss.evaluate(np.zeros(4), gradient, 1) == 2.0
    assert gradient.tolist() == [1, -1, 1, -1]
    matrix, partial, out = _kernels.DenseF64(np.arange(4.0)[:, None], None), np.empty((3, 1)), np.empty(1)
    assert matrix.fused(loss, np.zeros(1), np.empty(4), gradient, partial, out, 2) == 2.0
    assert out.tolist() == [-2.0]


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("n", [5, 400, 70_000])
def test_scores_that_are_not_finite_do_not_crash(bad, n):
    """What comes out means nothing, but it comes out, and the next evaluation knows nothing of it."""
    y = np.arange(float(n))
    loss = _kernels.PairLoss(_kernels.PairLabels(y, np.array([0, n]), None, 1), np.ones(1), True)
    scores = np.random.default_rng(3).normal(size=n)
    gradient, again = np.empty((2, n))
    value = loss.evaluate(scores, gradient, 2)
    for where in (0, n // 2, n - 1, slice(None)):
        broken = scores.copy()
        broken[where] = bad
        loss.evaluate(broken, np.empty(n), 2)
        loss.hessian(broken, scores, np.empty(n), 2)
        assert loss.evaluate(scores, again, 2) == value
        assert np.array_equal(again, gradient)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_first_entry_that_is_not_finite_is_found(dtype):
    x = np.zeros(200_000, dtype=dtype)
    assert _kernels.first_nonfinite(x, 2) == -1
    x[[150_000, 170_000]] = np.inf, np.nan
    assert _kernels.first_nonfinite(x, 2) == 150_000


@pytest.mark.parametrize("dtype", [np.int32, np.int64])
def test_the_first_bad_row_is_found(dtype):
    indices, indptr = np.array([0, 2, 1], dtype=dtype), np.array([0, 1, 1, 3], dtype=dtype)
    assert _kernels.first_bad_row(indices, indptr, 3, 1) == -1
    assert _kernels.first_bad_row(indices, indptr, 2, 1) == 2
    assert _kernels.first_bad_row(indices, np.array([0, 2, 1, 3], dtype=dtype), 3, 1) == 1
    assert _kernels.first_bad_row(indices[:2], indptr, 3, 1) == 2


@wide_only
@pytest.mark.parametrize(
    ("value", "module"), [("0", "_native"), ("1", "_native_avx2"), (None, "_native_avx2")]
)
def test_the_module_without_avx2_can_be_asked_for(value, module):
    environment = {name: text for name, text in os.environ.items() if name != "MARGINRANK_AVX2"}
    environment |= {} if value is None else {"MARGINRANK_AVX2": value}
    code = "from marginrank import _kernels; print(_kernels.PairLoss.__module__)"
    run = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True)
    assert (run.stdout.strip(), run.stderr) == (f"marginrank.{module}", "")
