"""Whether the best model is w = 0, and why: a degenerate target, too large an alpha, or too much L1."""

from __future__ import annotations

from typing import Literal, TypeAlias

import numpy as np

from marginrank.exceptions import Sentence
from marginrank.solvers import Progress, SolverResult
from marginrank.training.fitting import Found, Place, Trainer
from marginrank.training.problems import Problem

#: "fits": w = 0 is not known to be the best model. "unknown": it is, but for neither reason as far as known.
Verdict: TypeAlias = Literal["fits", "degenerate", "alpha", "unknown"]

# A model that gains less than this part of the risk at w = 0 is no better than it, however large tol is.
_CLOSE = 1e-2
# Far below both the alpha of the model and the one at which regularisation and risk balance; but where the
# gradient is nothing but rounding, that one means nothing.
_FAR = 1e-3
_FARTHEST = 1e-12
# Degenerate targets on OHSUMED are proved in 25 to 50 iterations, a gain shows in a few.
_PATIENCE = 200


def judge(trainer: Trainer, result: SolverResult, alpha: float, tol: float) -> Verdict:
    """Tell whether w = 0 is optimal to within ``tol``, and whether a smaller alpha would help.

    Cutting planes do not depend on alpha, so those of the training continue at an alpha at which
    regularisation hardly matters: either they prove the same there, or a better model turns up.

    Parameters
    ----------
    trainer : Trainer
        What was solved; the planes and passes of the second solution are added to it.
    result : SolverResult
        The solution at ``alpha``.
    alpha, tol : float
        Those of the model.

    Notes
    -----
    Models that are better than w = 0 cost one evaluation of the loss; else it is about a second training.
    """
    loss = trainer.problem.loss
    at_zero = loss.at(np.zeros(loss.n_rows)).value
    gained = (1.0 - min(tol, _CLOSE)) * at_zero
    proved = (1.0 - tol) * at_zero
    if result.value < gained or result.bound < proved:
        return "fits"

    def decided(progress: Progress) -> bool:
        return progress.value < gained or progress.iteration >= _PATIENCE

    far_alpha = max(_FAR * min(alpha, trainer.balance()), _FARTHEST * alpha)
    far = trainer.solve(Place(far_alpha), [decided])
    if far.status == "interrupted":
        raise KeyboardInterrupt
    if far.value < gained:
        return "alpha"
    return "degenerate" if far.bound >= proved else "unknown"


def left_without_features(found: Found) -> Sentence | None:
    """Return what to say where L1 left none of the features that it could leave out; else None."""
    problem, settings = found.trainer.problem, found.trainer.problem.settings
    if settings.l1_ratio == 0.0 or found.result.status == "interrupted":
        return None
    coef = found.coef
    least = settings.within(np.zeros_like(coef))  # what the bounds ask of every model
    if np.any(coef != least) or (least.any() and problem.largest_alpha() == 0.0):
        return None
    return no_feature_at(problem, found.alpha)


def no_feature_at(problem: Problem, alpha: float) -> Sentence | None:
    """Return what to say where L1 leaves no feature at an alpha: the largest one at which one remains."""
    largest, settings = problem.largest_alpha(), problem.settings
    if np.isinf(largest):
        return None
    if largest == 0.0:
        why = "the {bounds} allow none of the weights that lower the loss"
        reason = why if settings.is_bounded else "the features pull in no direction"
        return Sentence(
            f"No feature is left at any {{alpha}}: {reason}.",
            "Change the {bounds}." if settings.is_bounded else "Look for contradicting labels or pairs.",
        )
    return Sentence(
        "No feature is left at {alpha=:.6g} with {l1_ratio=:g}: the first one enters below {largest:.6g}.",
        "Use a smaller {alpha}, or {alpha='auto'}.",
        alpha=alpha,
        l1_ratio=settings.l1_ratio,
        largest=largest,
    )
