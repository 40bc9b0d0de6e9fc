"""Claims of rankers with an elastic net and bounds, beside the exact problem."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from tempfile import TemporaryDirectory

import numpy as np
from claims import Claim
from constrained_objectives import ConstrainedObjective
from exact_losses import explicit_terms, query_risk, rational, rational_rows
from exact_objectives import pair_risk
from fitted_claims import (
    LOSS_SOLVERS,
    claim_of,
    draw_pairs,
    draw_structured,
    fitted,
    one_of,
    queries_of,
    quietly,
)
from path_claims import drawn_until_computed, interval
from random_rows import draw_alpha, draw_rows

from marginrank import RankRLS, RankSVM, StructuredRankSVM
from marginrank.io import write_dataset
from marginrank.paths import rank_path, structured_rank_path


def draw_bounds(rng, X):
    """Return bounds as users write them: none, one pair for all, or some by column, with fixed weights."""
    largest = abs(X).max(axis=0)
    size = np.asarray(largest.todense() if hasattr(largest, "todense") else largest).ravel()
    kind = rng.random()
    if kind < 0.3:
        return None
    if kind < 0.5:
        return one_of(rng, [(0, None), (None, 0), (-0.5 / float(size.max() or 1.0), None)])
    bounds = {}
    for j in range(1, X.shape[1]):  # the first one stays free
        value = float(rng.normal() / (size[j] or 1.0))
        pairs = [(0, None), (None, 0), (value, value), (-abs(value), abs(value)), (value, value + abs(value))]
        if rng.random() < 0.7:
            bounds[j] = one_of(rng, pairs)
    return bounds or None


def constrained_objective(risk, scale, l1_ratio, bounds):
    """Return the exact objective, from bounds as users write them and the scale of the columns."""
    n = risk.n_columns
    if not isinstance(bounds, dict):
        bounds = dict.fromkeys(range(n), (None, None) if bounds is None else bounds)
    pairs = [bounds.get(j, (None, None)) for j in range(n)]
    low, high = (tuple(None if pair[k] is None else Fraction(pair[k]) for pair in pairs) for k in (0, 1))
    units = (Fraction(1),) * n if scale is None else tuple(rational(scale))
    return ConstrainedObjective(risk, units, Fraction(l1_ratio), low, high)


def constrained_claim(model, risk, what, *, largest_gap=None):
    """Return the claim of an estimator with an elastic net, bounds, or both."""
    exact = constrained_objective(risk, model.column_scale_, model.l1_ratio, model.bounds)
    plain = claim_of(model, risk, what, largest_gap=largest_gap)
    return replace(plain, exact=exact)


def sparse_or_bounded(rng, hard):
    """Return the claim of a ranker with an elastic net, bounds, or both: queries, pairs, rows on disk."""
    rows = draw_rows(rng, hard=hard)
    loss = one_of(rng, list(LOSS_SOLVERS))
    model = RankSVM(
        loss,
        alpha=draw_alpha(rng, hard=hard),
        l1_ratio=one_of(rng, [0.0, 0.3, 0.9]),
        bounds=draw_bounds(rng, rows.X),
        tol=float(rng.choice([1e-2, 1e-3, 1e-6])),
        scale=one_of(rng, [None, "auto", "standard", "minmax"]),
        solver=one_of(rng, ["lbfgs", "bundle"]),
    )
    features, kind = rational_rows(rows.X), rng.random()
    if kind < 0.2:
        pairs, weight, margin = draw_pairs(rng, rows.X.shape[0])
        quietly(model.fit_pairs, rows.X, pairs, weight=weight, margin=margin)
        risk = pair_risk(loss, explicit_terms(features, pairs, weight, margin), rows.X.shape[1])
    else:
        if kind < 0.4:
            with TemporaryDirectory() as folder:
                data = write_dataset(f"{folder}/rows.mrd", rows.X, rows.y, chunk_rows=4, **rows.given)
                quietly(model.fit, data)
        else:
            fitted(model, rows)
        risk = query_risk(loss, features, queries_of(rows))
    return [constrained_claim(model, risk, repr(model), largest_gap=None if hard else model.tol)]


def least_squares_within_bounds(rng, hard):
    """Return the claim of least squares with an elastic net, bounds, or both, wherever the rows lie."""
    rows = draw_rows(rng, hard=hard)
    model = RankRLS(
        draw_alpha(rng, hard=hard),
        l1_ratio=one_of(rng, [0.0, 0.3, 0.9]),
        bounds=draw_bounds(rng, rows.X),
        tol=float(rng.choice([1e-2, 1e-3, 1e-6])),
        scale=one_of(rng, [None, "auto", "standard", "minmax"]),
    )
    features, kind = rational_rows(rows.X), rng.random()
    if kind < 0.25:
        pairs, weight, margin = draw_pairs(rng, rows.X.shape[0])
        quietly(model.fit_pairs, rows.X, pairs, weight=weight, magnitude=margin)
        risk = pair_risk("least_squares", explicit_terms(features, pairs, weight, margin), rows.X.shape[1])
    else:
        if kind < 0.5:
            with TemporaryDirectory() as folder:
                data = write_dataset(f"{folder}/rows.mrd", rows.X, rows.y, chunk_rows=4, **rows.given)
                quietly(model.fit, data)
        else:
            fitted(model, rows)
        risk = query_risk("least_squares", features, queries_of(rows))
    return [constrained_claim(model, risk, repr(model), largest_gap=None if hard else model.tol)]


def structured_within_bounds(rng, hard):
    """Return the claim of a structured ranker with an elastic net, bounds, or both."""
    rows, options, risk = draw_structured(rng, hard)
    model = StructuredRankSVM(
        **options,
        alpha=draw_alpha(rng, hard=hard),
        l1_ratio=one_of(rng, [0.0, 0.3, 0.9]),
        bounds=draw_bounds(rng, rows.X),
        tol=float(rng.choice([1e-2, 1e-3, 1e-6])),
        scale=one_of(rng, [None, "auto", "standard"]),
        solver=one_of(rng, ["bundle", "lbfgs"]),
    )
    fitted(model, rows)
    return [constrained_claim(model, risk, repr(model), largest_gap=None if hard else model.tol)]


def with_offset(model, rows, loss, offset, pairs=None):
    """Return the claim of a fitted model with an offset: exactly, a column whose weight is fixed to 1."""
    n_columns = rows.X.shape[1]
    wide = [(*row, added) for row, added in zip(rational_rows(rows.X), rational(offset), strict=True)]
    if pairs is None:
        risk = query_risk(loss, wide, queries_of(rows))
    else:
        risk = pair_risk(loss, explicit_terms(wide, *pairs), n_columns + 1)
    scale = np.ones(n_columns) if model.column_scale_ is None else model.column_scale_
    free = (None,) * n_columns
    exact = ConstrainedObjective(
        risk,
        (*rational(scale), Fraction(1)),
        Fraction(model.l1_ratio),
        (*free, Fraction(1)),
        (*free, Fraction(1)),
    )
    plain = claim_of(model, risk, repr(model), penalty=exact.scale)
    return [replace(plain, exact=exact, w=[*rational(model.coef_), Fraction(1)])]


def on_top_of_scores(rng, hard, decades=(-3, 0)):
    """Return the claim of a ranker with an offset."""
    rows = draw_rows(rng, hard=hard)
    loss = one_of(rng, list(LOSS_SOLVERS))
    offset = rng.normal(size=rows.X.shape[0]) * 10.0 ** rng.uniform(*decades)
    model = RankSVM(
        loss,
        alpha=draw_alpha(rng, hard=hard),
        l1_ratio=one_of(rng, [0.0, 0.5]),
        tol=float(rng.choice([1e-2, 1e-3, 1e-6])),
        scale=one_of(rng, [None, "auto", "standard"]),
        solver=one_of(rng, LOSS_SOLVERS[loss][:2]),
    )
    pairs = None
    if rng.random() < 0.3:
        pairs, weight, margin = draw_pairs(rng, rows.X.shape[0])
        quietly(model.fit_pairs, rows.X, pairs, weight=weight, margin=margin, offset=offset)
        pairs = pairs, weight, margin
    else:
        fitted(model, rows, offset=offset)
    return with_offset(model, rows, loss, offset, pairs)


def least_squares_on_top_of_scores(rng, hard):
    """Return the claim of least squares with an offset, by each of its solvers."""
    rows = draw_rows(rng, hard=hard)
    offset = rng.normal(size=rows.X.shape[0]) * 10.0 ** rng.uniform(-3, 0)
    l1_ratio = one_of(rng, [0.0, 0.0, 0.5])
    model = RankRLS(
        draw_alpha(rng, hard=hard),
        l1_ratio=l1_ratio,
        tol=float(rng.choice([1e-2, 1e-3, 1e-6])),
        scale=one_of(rng, [None, "auto", "standard"]),
        solver="auto" if l1_ratio else one_of(rng, ["cg", "direct"]),
    )
    pairs = None
    if rng.random() < 0.3 and model.solver != "direct":
        pairs, weight, magnitude = draw_pairs(rng, rows.X.shape[0])
        quietly(model.fit_pairs, rows.X, pairs, weight=weight, magnitude=magnitude, offset=offset)
        pairs = pairs, weight, magnitude
    else:
        fitted(model, rows, offset=offset)
    return with_offset(model, rows, "least_squares", offset, pairs)


def on_top_of_large_scores(rng, hard):
    """Return the claim of a ranker with a large offset, which often leaves next to nothing to be lost."""
    return on_top_of_scores(rng, hard, (0, 15))


@drawn_until_computed
def path_of_sparse_models(rng, hard):
    """Return claims of some models of a path with an elastic net, bounds, or both."""
    l1_ratio = one_of(rng, [0.0, 0.5, 0.9])
    structured = rng.random() < 0.3
    if structured:
        rows, options, risk = draw_structured(rng, hard)
    else:
        rows, options = draw_rows(rng, hard=hard), {"loss": one_of(rng, list(LOSS_SOLVERS))}
        risk = query_risk(options["loss"], rational_rows(rows.X), queries_of(rows))
    bounds = draw_bounds(rng, rows.X)
    if l1_ratio == 0.0 and bounds is None:
        bounds = (0, None)
    options |= interval(rng, hard) | {"l1_ratio": l1_ratio, "bounds": bounds, "n_alphas": 6}
    compute = structured_rank_path if structured else rank_path
    path = quietly(compute, rows.X, rows.y, **rows.given, **options)
    exact = constrained_objective(risk, path._transform.scale, l1_ratio, bounds)
    some = {0, int(rng.integers(len(path.alphas))), len(path.alphas) - 1}
    return [
        Claim(
            f"{compute.__name__}({options})",
            exact,
            alpha,
            rational(path.coef_at(alpha)),
            *path.objective_at(alpha),
            path.gap_at(alpha),
            largest_gap=path.eps,
        )
        for alpha in (float(path.alphas[k]) for k in sorted(some))
    ]


CONSTRAINED = {
    "path_of_sparse_models": path_of_sparse_models,
    "on_top_of_large_scores": on_top_of_large_scores,
    "on_top_of_scores": on_top_of_scores,
    "least_squares_on_top_of_scores": least_squares_on_top_of_scores,
    "least_squares_within_bounds": least_squares_within_bounds,
    "sparse_or_bounded": sparse_or_bounded,
    "structured_within_bounds": structured_within_bounds,
}
