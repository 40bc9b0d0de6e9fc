"""Objectives of fitted linear rankers by their definition, from scores that numpy computes."""

from marginrank import RankingData, RankRLS, StructuredRankSVM
from marginrank.gains import read_gain
from marginrank.losses import QUERY_LOSSES, LeastSquaresLoss
from marginrank.training.structured_targets import TargetOptions, read_aim


def objective_of(model, X, y, qid):
    """The objective of the coefficients of a model, at its alpha."""
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
    rows = X if view.rows is None else X[view.rows]
    scaled = model.coef_ if model.column_scale_ is None else model.coef_ * model.column_scale_
    return loss.at(rows @ model.coef_).value + 0.5 * model.alpha_ * float(scaled @ scaled)
