"""Solvers: drive an objective to a certified gap.

``SOLVERS`` maps the names that estimators accept to the classes here.
"""

from marginrank.solvers.base import Callback, Objective, Progress, Solver, SolverResult
from marginrank.solvers.bundle import Bundle
from marginrank.solvers.conjugate_gradients import ConjugateGradients
from marginrank.solvers.newton import TruncatedNewton
from marginrank.solvers.planes import CuttingPlanes
from marginrank.solvers.preconditioned_cg import PreconditionedCG
from marginrank.solvers.quasi_newton import QuasiNewton
from marginrank.solvers.shifted_cg import ShiftedCG

SOLVERS: dict[str, type[QuasiNewton] | type[Bundle] | type[TruncatedNewton]] = {
    "lbfgs": QuasiNewton,
    "bundle": Bundle,
    "newton": TruncatedNewton,
}

__all__ = [
    "SOLVERS",
    "Bundle",
    "Callback",
    "ConjugateGradients",
    "CuttingPlanes",
    "Objective",
    "PreconditionedCG",
    "Progress",
    "QuasiNewton",
    "ShiftedCG",
    "Solver",
    "SolverResult",
    "TruncatedNewton",
]
