"""Objectives of fitted linear rankers by their definition, from scores that numpy computes."""

import numpy as np

from marginrank import RankingData, RankRLS, StructuredRankSVM
from marginrank.gains import read_gain
from marginrank.losses import QUERY_LOSSES, LeastSquaresLoss
from marginrank.training.structured_targets import TargetOptions, read_aim


def objective_of(model, X, y, qid, offset=0.0):
    """The objective of the coefficients of a model, at its alpha; scores begin at an offset."""
    view = RankingData(X, y, qid=qid).training_view()
    if isinstance(model, RankRLS):
        loss = LeastSquaresLoss(view, n_threads=1)
    elif isinstance(model, StructuredRankSVM):
        options = TargetOptions(
            gain=read_gain(model.gain), discount=model.discount, rank_weight=model.rank_weight
        )
        aim = read_aim(model.target, model.feature_map, options, model.truncate)
        loss = aim.for_labels(RankingData(X, y, qid=qid), model.relevance).aim.loss(view, n_threads=1)
    else:
        loss = QUERY_LOSSES[model.loss](view, weighting=model.weighting, n_threads=1)
    scores = X @ model.coef_ + offset
    scaled = model.coef_ if model.column_scale_ is None else model.coef_ * model.column_scale_
    share = getattr(model, "l1_ratio", 0.0)
    penalty = share * float(np.abs(scaled).sum()) + 0.5 * (1.0 - share) * float(scaled @ scaled)
    return loss.at(scores if view.rows is None else scores[view.rows]).value + model.alpha_ * penalty
