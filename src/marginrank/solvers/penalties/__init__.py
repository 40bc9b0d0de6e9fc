"""Penalties: what an objective adds to the risk. ``PENALTIES`` is the only list of their names."""

from marginrank.solvers.penalties.base import Penalty
from marginrank.solvers.penalties.elastic_net import ElasticNet
from marginrank.solvers.penalties.squared_norm import SquaredNorm

PENALTIES: dict[str, type[Penalty]] = {
    SquaredNorm.name: SquaredNorm,
    ElasticNet.name: ElasticNet,
}
SQUARED_NORM = SquaredNorm()

__all__ = ["PENALTIES", "SQUARED_NORM", "ElasticNet", "Penalty", "SquaredNorm"]
