"""Fits a random problem of a kind with the library, and returns its claims beside the exact problem."""

from __future__ import annotations

import warnings
from fractions import Fraction
from tempfile import TemporaryDirectory

import numpy as np
from claims import Claim
from exact_losses import (
    Queries,
    exact_gain,
    explicit_terms,
    least_squares_terms,
    query_risk,
    rational,
    rational_product,
    rational_rows,
    structured_risk,
)
from exact_objectives import ExactObjective, pair_risk
from random_rows import draw_alpha, draw_rows
from sklearn.exceptions import ConvergenceWarning

from marginrank import KernelRankSVM, RankRLS, RankSVM, StructuredRankSVM
from marginrank.data.validation import check_matrix
from marginrank.designs.mapped import FactoredDesign, mapped_design
from marginrank.exceptions import ZeroModelWarning
from marginrank.gains import read_gain
from marginrank.io import write_dataset
from marginrank.training.mapped_columns import scaled_map

_NO_FAILURES = (ConvergenceWarning, ZeroModelWarning)


def quietly(function, *args, **kwargs):
    """Call a function; that a gap is above tol, or a model zero, is no failure here."""
    with warnings.catch_warnings():
        for category in _NO_FAILURES:
            warnings.simplefilter("ignore", category)
        return function(*args, **kwargs)


def unit_penalty(scale, n_columns):
    """Return the penalty of coefficients in raw units, whose columns were divided by a scale."""
    return (Fraction(1),) * n_columns if scale is None else tuple(s * s for s in rational(scale))


def claim_of(model, risk, what, *, penalty=None, largest_gap=None):
    """Return the claim of a fitted estimator about its model at ``alpha_``."""
    n_columns = risk.n_columns
    penalty = unit_penalty(model.column_scale_, n_columns) if penalty is None else penalty
    return Claim(
        what,
        ExactObjective(risk, penalty),
        model.alpha_,
        rational(model.coef_.ravel()),
        model.objective_,
        model.lower_bound_,
        model.gap_,
        tuple(step.bound for step in model.history_ if step.alpha == model.alpha_),
        largest_gap,
    )


#: The pairwise losses, and the solvers that each of them has.
LOSS_SOLVERS = {
    "hinge": ("lbfgs", "bundle"),
    "squared_hinge": ("lbfgs", "bundle", "newton"),
    "logistic": ("lbfgs", "bundle", "newton"),
}
#: Drawn by the kinds of problems that were there first, so that their seeds make the same problems again.
MARGIN_LOSSES = ("hinge", "squared_hinge")
#: Drawn by kinds of their own.
FURTHER_LOSSES = tuple(loss for loss in LOSS_SOLVERS if loss not in MARGIN_LOSSES)


def rank_svm(rng, hard, losses=MARGIN_LOSSES):
    rows = draw_rows(rng, hard=hard)
    loss = one_of(rng, losses)
    options = {
        "loss": loss,
        "alpha": draw_alpha(rng, hard=hard),
        "tol": float(rng.choice([1e-2, 1e-3, 1e-6])),
        "weighting": str(rng.choice(["pairs", "queries"])),
        "scale": one_of(rng, [None, "auto", "standard", "minmax"]),
        "solver": one_of(rng, LOSS_SOLVERS[loss]),
    }
    if rng.random() < 0.15:
        options |= {"alpha": "auto", "alphas": [draw_alpha(rng, hard=hard) for _ in range(3)]}
    validation = {"eval_set": (rows.X, rows.y), "eval_qid": rows.qid} if options["alpha"] == "auto" else {}
    model = fitted(RankSVM(**options), rows, **validation)
    risk = query_risk(loss, rational_rows(rows.X), queries_of(rows), options["weighting"])
    return [claim_of(model, risk, repr(model), largest_gap=None if hard else model.tol)]


def rank_svm_disk(rng, hard, losses=MARGIN_LOSSES):
    """Return the claim of a ranker over chunks of rows on disk, whose products are other code."""
    rows = draw_rows(rng, hard=hard)
    loss = one_of(rng, losses)
    model = RankSVM(
        loss,
        alpha=draw_alpha(rng, hard=hard),
        tol=float(rng.choice([1e-3, 1e-6])),
        scale=one_of(rng, [None, "auto", "standard"]),
        solver=one_of(rng, LOSS_SOLVERS[loss]),
    )
    with TemporaryDirectory() as folder:
        data = write_dataset(f"{folder}/rows.mrd", rows.X, rows.y, chunk_rows=4, **rows.given)
        quietly(model.fit, data)
    risk = query_risk(loss, rational_rows(rows.X), queries_of(rows))
    return [claim_of(model, risk, f"{model!r} on disk", largest_gap=None if hard else model.tol)]


def rank_svm_pairs(rng, hard, losses=MARGIN_LOSSES):
    rows = draw_rows(rng, hard=hard)
    pairs, weight, margin = draw_pairs(rng, rows.X.shape[0])
    loss = one_of(rng, losses)
    model = RankSVM(
        loss,
        alpha=draw_alpha(rng, hard=hard),
        tol=float(rng.choice([1e-3, 1e-6])),
        scale=one_of(rng, [None, "auto", "standard"]),
        solver=one_of(rng, LOSS_SOLVERS[loss]),
    )
    quietly(model.fit_pairs, rows.X, pairs, weight=weight, margin=margin)
    features = rational_rows(rows.X)
    risk = pair_risk(loss, explicit_terms(features, pairs, weight, margin), rows.X.shape[1])
    return [claim_of(model, risk, f"{model!r}.fit_pairs", largest_gap=None if hard else model.tol)]


def rank_rls(rng, hard):
    rows = draw_rows(rng, hard=hard)
    model = RankRLS(
        alpha=draw_alpha(rng, hard=hard),
        tol=float(rng.choice([1e-2, 1e-3, 1e-8])),
        solver=str(rng.choice(["auto", "cg", "direct"])),
        scale=one_of(rng, [None, "auto", "standard", "minmax"]),
    )
    more = {}
    if model.solver == "cg" and rng.random() < 0.3:
        model.regularization = "hybrid"
        more = {"eval_set": (rows.X, rows.y), "eval_qid": rows.qid}
    model = fitted(model, rows, **more)
    risk = query_risk("least_squares", rational_rows(rows.X), queries_of(rows))
    largest = None if hard or model.regularization == "hybrid" else model.tol
    return [claim_of(model, risk, repr(model), largest_gap=largest)]


def rank_rls_targets(rng, hard):
    """Return the claim of several targets at once: their objectives are added up."""
    rows = draw_rows(rng, hard=hard)
    other = rng.permutation(rows.y)
    model = RankRLS(
        alpha=draw_alpha(rng, hard=hard),
        tol=float(rng.choice([1e-2, 1e-8])),
        solver=str(rng.choice(["cg", "direct"])),
    )
    quietly(model.fit, rows.X, np.column_stack([rows.y, other]), **rows.given)
    features = rational_rows(rows.X)
    n_columns = rows.X.shape[1]
    terms = []
    for k, y in enumerate((rows.y, other)):
        before, after = (Fraction(0),) * (k * n_columns), (Fraction(0),) * ((1 - k) * n_columns)
        queries = Queries(y, rows.qid, rows.sample_weight, rows.query_weight)
        for term in least_squares_terms(features, queries):
            terms.append(term._replace(difference=before + term.difference + after))
    risk = pair_risk("least_squares", terms, 2 * n_columns)
    penalty = 2 * unit_penalty(model.column_scale_, n_columns)
    largest = None if hard else model.tol
    return [claim_of(model, risk, f"{model!r} of two targets", penalty=penalty, largest_gap=largest)]


def rank_rls_pairs(rng, hard):
    rows = draw_rows(rng, hard=hard)
    pairs, weight, margin = draw_pairs(rng, rows.X.shape[0])
    model = RankRLS(alpha=draw_alpha(rng, hard=hard), tol=float(rng.choice([1e-2, 1e-6])))
    quietly(model.fit_pairs, rows.X, pairs, weight=weight, magnitude=margin)
    features = rational_rows(rows.X)
    risk = pair_risk("least_squares", explicit_terms(features, pairs, weight, margin), rows.X.shape[1])
    return [claim_of(model, risk, f"{model!r}.fit_pairs", largest_gap=None if hard else model.tol)]


#: Target as users write it, and feature map.
TARGETS = (
    ("auc", "po"),
    ("map", "po"),
    ("mrr", "po"),
    ("mrr@2", "po"),
    ("mrr", "mrr"),
    ("ndcg", "po"),
    ("ndcg@2", "po"),
    ("ndcg", "dorm"),
    ("ndcg@3", "dorm"),
    ({"map": 1.0, "ndcg@3": 2.5}, "po"),
    ({"auc": 0.3, "mrr": 1.0, "ndcg": 0.7}, "dorm"),
)


def draw_target(rng, targets=TARGETS):
    """Return the options of a structured ranker, and its targets as the exact loss takes them."""
    target, feature_map = targets[rng.integers(len(targets))]
    names = list(target) if isinstance(target, dict) else [target]
    truncate = any("@" in name for name in names) and bool(rng.random() < 0.5)
    parts = []
    for name in names:
        base, _, cutoff = name.partition("@")
        weight = target[name] if isinstance(target, dict) else 1.0
        parts.append((base, int(cutoff) if cutoff and truncate else None, weight))
    options = {
        "target": target,
        "feature_map": feature_map,
        "discount": str(rng.choice(["log2", "letor"])),
        "rank_weight": str(rng.choice(["fourth_root", "discount"])),
        "truncate": truncate,
    }
    return options, parts


def draw_structured(rng, hard):
    """Return rows, the options of a structured ranker, and its exact risk.

    Two ranks of equal discount leave nothing to lose in a query of two rows. Where all queries are such, the
    optimum is 0, and no gap is relative to it: others are drawn.
    """
    while True:
        options, parts = draw_target(rng)
        rows = draw_rows(rng, hard=hard, sample_weights=False, largest=4)
        conventions = {name: options[name] for name in ("feature_map", "discount", "rank_weight")}
        risk = structured_risk(rational_rows(rows.X), queries_of(rows), parts, relevance=1, **conventions)
        if risk.value([Fraction(0)] * risk.n_columns):
            return rows, {**options, "relevance": 1.0}, risk


#: Targets of which one at least is graded.
GRADED = (
    "map",
    "ndcg",
    "ndcg@2",
    {"map": 1.0, "ndcg@3": 2.5},
    {"auc": 0.3, "mrr": 1.0, "ndcg": 0.7},
)
GAINS = ("exponential", "linear", {0: 0.0, 1: 0.3, 2: 0.3, 3: 5.0}, {0: 0.7, 1: 1.0, 2: 1.5, 3: 1.7})


def draw_graded(rng, hard):
    """Return rows of more than two labels, the options of a structured ranker, and its exact risk."""
    while True:
        options, parts = draw_target(rng, [(target, "po") for target in GRADED])
        rows = draw_rows(rng, hard=hard, sample_weights=False, largest=4)
        if len(set(rows.y.tolist())) < 3:
            continue
        options["gain"] = one_of(rng, GAINS)
        conventions = {name: options[name] for name in ("feature_map", "discount", "rank_weight")}
        gain = exact_gain(read_gain(options["gain"]))
        data = rational_rows(rows.X), queries_of(rows)
        risks = [
            structured_risk(*data, those, relevance=1, gain=gain, **conventions)
            for those in (parts, *([one] for one in parts))
        ]
        # Every target must have something to rank.
        if all(risk.value([Fraction(0)] * risk.n_columns) for risk in risks):
            return rows, options, risks[0]


def graded(rng, hard):
    rows, options, risk = draw_graded(rng, hard)
    model = StructuredRankSVM(
        **options,
        alpha=draw_alpha(rng, hard=hard),
        tol=float(rng.choice([1e-2, 1e-3, 1e-6])),
        scale=one_of(rng, [None, "auto", "standard"]),
        solver=str(rng.choice(["bundle", "lbfgs"])),
    )
    model = fitted(model, rows)
    return [claim_of(model, risk, repr(model), largest_gap=None if hard else model.tol)]


def structured(rng, hard):
    rows, options, risk = draw_structured(rng, hard)
    model = StructuredRankSVM(
        **options,
        alpha=draw_alpha(rng, hard=hard),
        tol=float(rng.choice([1e-2, 1e-3, 1e-6])),
        scale=one_of(rng, [None, "auto", "standard"]),
        solver=str(rng.choice(["bundle", "lbfgs"])),
    )
    model = fitted(model, rows)
    return [claim_of(model, risk, repr(model), largest_gap=None if hard else model.tol)]


def kernel(rng, hard, losses=(*MARGIN_LOSSES, "least_squares"), *, linear_block=False):
    rows = draw_rows(rng, hard=hard, offsets=False, largest=5)
    approximation = str(rng.choice(["nystroem", "fourier", "exact"]))
    loss = str(rng.choice(losses))
    kernels = ["rbf", "laplacian", "polynomial", "cosine"]
    model = KernelRankSVM(
        kernel=one_of(rng, kernels[:2] if approximation == "fourier" else kernels),
        approximation=approximation,
        n_components=min(int(rng.integers(2, 8)), rows.n_trained),
        loss=loss,
        alpha=draw_alpha(rng, hard=hard),
        tol=float(rng.choice([1e-3, 1e-6])),
        weighting="pairs" if loss == "least_squares" else str(rng.choice(["pairs", "queries"])),
        scale=one_of(rng, ["auto", "standard"]),
        store=one_of(rng, ["memory", "recompute"]),
        random_state=int(rng.integers(100)),
        linear_block=linear_block,
    )
    model = fitted(model, rows)
    features = mapped_rows(model, rows.X)
    penalty = (Fraction(1),) * len(features[0])
    if linear_block:
        features = [tuple(z) + tuple(x) for z, x in zip(features, rational_rows(rows.X), strict=True)]
        penalty = block_penalty(model)
        model.coef_ = np.concatenate([model.coef_, model.linear_coef_])
    risk = query_risk(loss, features, queries_of(rows), model.weighting)
    return [claim_of(model, risk, repr(model), penalty=penalty, largest_gap=None if hard else model.tol)]


def kernel_beside_columns(rng, hard):
    """Return the claim of a kernel with the columns beside it, each block divided by its own number."""
    return kernel(rng, hard, linear_block=True)


def block_penalty(model):
    """Return the penalty of coefficients in raw units: the squares of what their features were divided by."""
    mapped, linear = model.block_scale_
    by_column = np.ones(model.n_features_in_) if model.column_scale_ is None else model.column_scale_
    # As the ranker divides: by the product in double precision.
    divisors = np.concatenate([np.full(len(model.coef_), mapped), linear * by_column])
    return unit_penalty(divisors, len(divisors))


def mapped_rows(model, X):
    """Return the features that a kernel ranker trains on: floats of its map, or these times a factor."""
    X, _ = check_matrix(X)
    mapping = scaled_map(model.feature_map_, model.column_scale_)
    design = mapped_design(mapping, X, n_threads=1, store=model.store)
    everything = np.arange(X.shape[0])
    if isinstance(design, FactoredDesign):
        return rational_product(design._inner.take(everything), design._factor)
    return rational_rows(design.take(everything))


def draw_pairs(rng, n_rows):
    """Return preferences among which some occur twice and some contradict each other, weights and margins."""
    n_pairs = int(rng.integers(1, 20))
    winner = rng.integers(n_rows, size=n_pairs)
    loser = (winner + rng.integers(1, n_rows, n_pairs)) % n_rows
    pairs = np.column_stack([winner, loser])
    if n_pairs > 3:
        pairs[0], pairs[1] = pairs[2], pairs[3, ::-1]
    weight = margin = None
    if rng.random() < 0.5:
        weight = (
            rng.integers(0, 4, n_pairs).astype(float) if rng.random() < 0.5 else rng.lognormal(size=n_pairs)
        )
        weight[-1] = 1.0
    if rng.random() < 0.5:
        margin = rng.choice([0.0, 0.5, 1.0, 2.5], n_pairs)
        margin[-1] = 1.0
    return pairs, weight, margin


def further_loss(rng, hard):
    """Return the claim of a ranker of any kind with one of the other pairwise losses."""
    fit = one_of(rng, [rank_svm, rank_svm_disk, rank_svm_pairs, kernel])
    return fit(rng, hard, FURTHER_LOSSES)


def fitted(model, rows, **more):
    return quietly(model.fit, rows.X, rows.y, **rows.given, **more)


def queries_of(rows):
    return Queries(rows.y, rows.qid, rows.sample_weight, rows.query_weight)


def one_of(rng, values):
    return values[rng.integers(len(values))]


ESTIMATORS = {
    "rank_svm": rank_svm,
    "rank_svm_disk": rank_svm_disk,
    "rank_svm_pairs": rank_svm_pairs,
    "rank_rls": rank_rls,
    "rank_rls_pairs": rank_rls_pairs,
    "rank_rls_targets": rank_rls_targets,
    "structured": structured,
    "kernel": kernel,
    "kernel_beside_columns": kernel_beside_columns,
    "further_loss": further_loss,
    "graded": graded,
}
