"""Computes a random path with the library, and returns its claims at its ends, at knots and between them."""

from __future__ import annotations

import numpy as np
from claims import Claim
from exact_losses import factored_kernel, query_risk, rational, rational_rows
from exact_objectives import ExactObjective, combination
from fitted_claims import (
    FURTHER_LOSSES,
    MARGIN_LOSSES,
    draw_graded,
    draw_structured,
    one_of,
    queries_of,
    quietly,
    unit_penalty,
)
from random_rows import draw_alpha, draw_rows

from marginrank.exceptions import MarginRankError
from marginrank.paths import kernel_rank_path, rank_path, rank_rls_path, structured_rank_path


def drawn_until_computed(make):
    """Draw again where the library refuses a path: rounding leaves no model within eps of the optimum."""

    def computed(*drawn):
        while True:
            try:
                return make(*drawn)
            except MarginRankError as refusal:
                if not drawn[1] or "No model within eps" not in str(refusal):
                    raise

    return computed


@drawn_until_computed
def rank_svm_path(rng, hard, losses=MARGIN_LOSSES):
    rows = draw_rows(rng, hard=hard)
    loss, weighting = str(rng.choice(losses)), str(rng.choice(["pairs", "queries"]))
    options = {"loss": loss, "weighting": weighting, **interval(rng, hard)}
    path = quietly(rank_path, rows.X, rows.y, **rows.given, **options)
    risk = query_risk(loss, rational_rows(rows.X), queries_of(rows), weighting)
    return _linear_claims(rng, path, risk, f"rank_path({options})")


@drawn_until_computed
def structured_path(rng, hard):
    rows, options, risk = draw_structured(rng, hard)
    options |= interval(rng, hard)
    path = quietly(structured_rank_path, rows.X, rows.y, **rows.given, **options)
    return _linear_claims(rng, path, risk, f"structured_rank_path({options})")


@drawn_until_computed
def graded_path(rng, hard):
    rows, options, risk = draw_graded(rng, hard)
    options |= interval(rng, hard)
    path = quietly(structured_rank_path, rows.X, rows.y, **rows.given, **options)
    return _linear_claims(rng, path, risk, f"structured_rank_path({options})")


@drawn_until_computed
def least_squares_path(rng, hard):
    rows = draw_rows(rng, hard=hard)
    options = {"solver": str(rng.choice(["direct", "certified"])), **interval(rng, hard)}
    path = quietly(rank_rls_path, rows.X, rows.y, **rows.given, **options)
    risk = query_risk("least_squares", rational_rows(rows.X), queries_of(rows))
    return _linear_claims(rng, path, risk, f"rank_rls_path({options})")


def kernel_path(rng, hard):
    """Return claims of the path of a kernel whose matrix, as floats, is positive semidefinite exactly."""
    while True:
        rows = draw_rows(rng, hard=hard, largest=4, offsets=False, sparse_too=False)
        # Small integers have exact products; of the other matrices rounding makes some indefinite.
        name = one_of(rng, ["rbf", "linear"])
        if name == "linear":
            rows.X = np.round(np.clip(rows.X, -9, 9))
        weighting = str(rng.choice(["pairs", "queries"]))
        options = {"kernel": name, "gamma": 0.5 if name == "rbf" else None, "weighting": weighting}
        K = kernel_matrix(rows.X, options)
        factors = factored_kernel(K)
        if factors is not None and np.ptp(K) > 0:
            break
    L, D = factors
    path = quietly(kernel_rank_path, K, rows.y, **rows.given, kernel="precomputed", weighting=weighting)
    risk = query_risk("hinge", L, queries_of(rows), weighting)
    exact = ExactObjective(risk, tuple(1 / pivot for pivot in D))
    claims = []
    for alpha in _some_alphas(rng, path, above=True):
        by_column = combination(rational(path.coef_at(alpha)), L, len(D))
        w = [pivot * x for pivot, x in zip(D, by_column, strict=True)]
        certificate = (*path.objective_at(alpha), path.gap_at(alpha))
        claims.append(Claim(f"kernel_rank_path({options})", exact, alpha, w, *certificate))
    return claims


def kernel_matrix(X, options):
    """Return the matrix that the library computes for these rows."""
    from marginrank.paths.gram import Kernel, gram_matrix

    return gram_matrix(Kernel(options["kernel"], options["gamma"]), np.asarray(X, dtype=np.float64))


def interval(rng, hard):
    """Return the ends of a path, its eps and its scale."""
    top = draw_alpha(rng, hard=hard)
    return {
        "alpha_max": top,
        "alpha_min": top * float(10.0 ** rng.uniform(-3, -0.5)),
        "eps": float(rng.choice([1e-1, 1e-2, 1e-3])),
        "scale": one_of(rng, [None, "auto", "standard"]),
    }


def _some_alphas(rng, path, *, above=False):
    """Return the lower end, a knot, a place between two neighbours, any place, and one above all knots."""
    if not len(path.alphas):  # pairs that cancel out: the model is 0 at every alpha
        return [1.0]
    low, high = path.alpha_min_, float(path.alphas[0])
    found = [low, float(low * (high / low) ** rng.random())]
    if len(path.alphas) > 1:
        k = int(rng.integers(len(path.alphas) - 1))
        found += [float(path.alphas[k]), 0.5 * float(path.alphas[k] + path.alphas[k + 1])]
    if above:
        found.append(2.0 * high)
    return [alpha for alpha in dict.fromkeys(found) if alpha >= low]


def _linear_claims(rng, path, risk, what):
    exact = ExactObjective(risk, unit_penalty(path._transform.scale, risk.n_columns))
    alphas = [alpha for alpha in _some_alphas(rng, path) if path.alpha_min_ <= alpha <= path.alpha_max_]
    return [
        Claim(
            what,
            exact,
            alpha,
            rational(path.coef_at(alpha)),
            *path.objective_at(alpha),
            path.gap_at(alpha),
            largest_gap=getattr(path, "eps", None) if path.status_ == "finished" else None,
        )
        for alpha in alphas
    ]


def further_loss_path(rng, hard):
    return rank_svm_path(rng, hard, FURTHER_LOSSES)


PATHS = {
    "rank_path": rank_svm_path,
    "structured_path": structured_path,
    "rank_rls_path": least_squares_path,
    "kernel_path": kernel_path,
    "further_loss_path": further_loss_path,
    "graded_path": graded_path,
}
