"""Paths of sparse and bounded rankers: models at alphas that were solved, each certified.

Between two alphas nothing is proved with these penalties: ``alpha ||u||_1`` is not jointly convex, so values
do not lie below their chords, and a mixture of two models has the features of both. So the path goes down a
grid; each solution starts from the one before it, with the cutting planes and the curvature of all of them.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from marginrank.data.validation import check_feature_names
from marginrank.designs import ColumnTransform
from marginrank.designs.columns import IDENTITY
from marginrank.exceptions import MarginRankError
from marginrank.parameters import check_count, check_flag, check_grid, check_positive
from marginrank.paths.linear_model import LinearPath
from marginrank.paths.path_base import PathOrigin
from marginrank.solvers import Solver
from marginrank.training.certified import CertifiedTrainer
from marginrank.training.fitting import Place
from marginrank.training.problems import Problem
from marginrank.training.selection import MOST_ALPHAS
from marginrank.types import Array, Matrix, Vector

_SAME = 1e-9  # alphas that differ by less, relative to them, are one
_IN_GREY = 500


class Solved(NamedTuple):
    """A model at one alpha: in raw units, its objective at most, and the optimum at least."""

    alpha: float
    coef: Vector
    value: float
    bound: float


class SolvedAlphas:
    """Goes down a grid of alphas; what it has is certified at any time.

    Parameters
    ----------
    problem : Problem
        What to fit; its penalty may be any.
    solver : Solver
        What minimises; ``eps`` is its tolerance.
    eps : float
        Relative gap that every model shall have at most.

    Attributes
    ----------
    models : list of Solved
        By descending alpha.
    passes : float
        Passes over X.
    """

    def __init__(self, problem: Problem, solver: Solver, eps: float) -> None:
        self._trainer = CertifiedTrainer(problem, solver, eps)
        self._eps = eps
        self.models: list[Solved] = []

    @property
    def passes(self) -> float:
        """Passes over X so far."""
        return self._trainer.passes

    def run(self, alphas: Vector, report: Any) -> str:
        """Solve at descending alphas; ``report`` is called after each, and ends the path by returning True.

        Returns
        -------
        str
            "finished", "stopped", "interrupted" (Ctrl-C) or "stalled" (eps is out of reach).
        """
        try:
            for alpha in alphas:
                if not self._solve(float(alpha)):
                    return "stalled"
                if report() and alpha != alphas[-1]:
                    return "stopped"
        except KeyboardInterrupt:
            return "interrupted"
        return "finished"

    def _solve(self, alpha: float) -> bool:
        start = self.models[-1].coef if self.models else None
        result = self._trainer.solve(Place(alpha, start), [])
        if result.status == "interrupted":
            raise KeyboardInterrupt
        if result.gap > self._eps:
            return False
        coef = self._trainer.problem.raw(result.w)
        self.models.append(Solved(alpha, coef, result.value, result.bound))
        return True


class FeatureChange(NamedTuple):
    """That a feature enters a path, or leaves it, on the way down.

    Attributes
    ----------
    alpha : float
        The first solved alpha at which it is so.
    feature : int
        Number of the column.
    enters : bool
        Whether its weight is no longer 0; else it is 0 again.

    Examples
    --------
    >>> import numpy as np
    >>> from marginrank.paths import rank_path
    >>> X = np.random.default_rng(0).normal(size=(300, 4))
    >>> first = rank_path(X, X[:, 2] - 0.5 * X[:, 0], l1_ratio=0.95).changes[0]
    >>> first.feature, first.enters
    (2, True)
    """

    alpha: float
    feature: int
    enters: bool


class SolvedRankPath(LinearPath):
    """Models at solved alphas, of a ranker with an elastic net or bounds: see :func:`rank_path`.

    Attributes
    ----------
    alphas : ndarray of shape (n_models,)
        The alphas that were solved, descending.
    coefs : ndarray of shape (n_models, n_features)
        The model at each; zeros are exact.
    n_features_used : ndarray of shape (n_models,)
        How many features have a weight there.
    eps : float
        What ``gap_at`` is at most, at every alpha of ``alphas``.
    alpha_max_, alpha_min_ : float
        The first and the last of them.
    status_ : {"finished", "stopped", "interrupted", "stalled"}
        What ended the path.
    n_passes_ : float
        Passes over the training data.
    selection_ : PathSelection or None
        What the last ``select`` found.

    Examples
    --------
    >>> import numpy as np
    >>> from marginrank.paths import rank_path
    >>> X = np.random.default_rng(0).normal(size=(300, 4))
    >>> path = rank_path(X, X[:, 2] - 0.5 * X[:, 0], l1_ratio=0.95)
    >>> int(path.n_features_used[0]), int(path.changes[0].feature), type(path).__name__
    (0, 2, 'SolvedRankPath')
    """

    def __init__(
        self,
        X: Matrix,
        n_jobs: int | None,
        *,
        models: list[Solved],
        eps: float,
        status: str,
        transform: ColumnTransform = IDENTITY,
        feature_names: tuple[str, ...] | None = None,
        origin: PathOrigin | None = None,
    ) -> None:
        super().__init__(X, n_jobs, transform=transform, feature_names=feature_names, origin=origin)
        self.alphas = np.array([model.alpha for model in models])
        self.coefs = np.array([model.coef for model in models])
        self.n_features_used = np.count_nonzero(self.coefs, axis=1)
        self.eps = eps
        self.status_ = status
        self.n_passes_ = 0.0
        self._certified = np.array([(model.value, model.bound) for model in models])

    def __repr__(self) -> str:
        return (
            f"SolvedRankPath(n_models={len(self.alphas)}, alpha_max={self.alpha_max_:.3g}, "
            f"alpha_min={self.alpha_min_:.3g}, eps={self.eps:g}, {self.status_}, "
            f"features {self.n_features_used[0]} to {self.n_features_used[-1]})"
        )

    @property
    def changes(self) -> list[FeatureChange]:
        """Which features enter and leave on the way down, in this order; those of one alpha by column."""
        used = self.coefs != 0.0
        before = np.vstack([np.zeros((1, used.shape[1]), dtype=bool), used[:-1]])
        return [
            FeatureChange(float(self.alphas[k]), int(j), bool(used[k, j]))
            for k, j in zip(*np.nonzero(used != before), strict=True)
        ]

    def nearest(self, alpha: float) -> float:
        """Return the solved alpha that is nearest, by ratio.

        Parameters
        ----------
        alpha : float
            Any, from ``alpha_min_`` to ``alpha_max_`` or beyond.

        Returns
        -------
        float
        """
        return float(self.alphas[self._nearest(check_positive(alpha, "alpha"))])

    def _nearest(self, alpha: float) -> int:
        return int(np.argmin(np.abs(np.log(self.alphas) - np.log(alpha))))

    def grid(self, n_alphas: int = 200) -> Vector:
        """Return the solved alphas, descending.

        Parameters
        ----------
        n_alphas : int, default=200
            How many at most; the ends of the path are among them.

        Returns
        -------
        ndarray
        """
        count = check_count(n_alphas, "n_alphas", most=MOST_ALPHAS)
        if count >= len(self.alphas):
            return self.alphas.copy()
        return np.asarray(self.alphas[np.linspace(0, len(self.alphas) - 1, count).round().astype(int)])

    def coefs_at(self, alphas: Any) -> Array:
        """Return the models at several alphas, one per row.

        Parameters
        ----------
        alphas : sequence of float
            Of those that were solved.
        """
        return self.coefs[self._positions(check_grid(alphas, "alphas"), "alphas")]

    def coef_at(self, alpha: float) -> Vector:
        """Return the coefficients of a model.

        Parameters
        ----------
        alpha : float
            One that was solved: see ``alphas`` and ``nearest``.

        Returns
        -------
        ndarray of shape (n_features,)
        """
        return np.array(self.coefs[self._position(alpha)])

    def objective_at(self, alpha: float) -> tuple[float, float]:
        """Return an upper bound of the objective of the model, and a lower bound of the optimum.

        Parameters
        ----------
        alpha : float
            One that was solved.
        """
        value, bound = self._certified[self._position(alpha)]
        return float(value), float(bound)

    def _position(self, alpha: Any) -> int:
        return int(self._positions(np.array([check_positive(alpha, "alpha")]), "alpha")[0])

    def _positions(self, alphas: Vector, name: str) -> NDArray[np.int64]:
        found = np.array([self._nearest(float(alpha)) for alpha in alphas])
        wrong = np.abs(self.alphas[found] - alphas) > _SAME * alphas
        if wrong.any():
            raise MarginRankError.saying(
                f"{{{name}}} must be one of the {{count:d}} that the path has solved, from {{top:.6g}} to "
                "{bottom:.6g}; got {got:g}, and the nearest is {nearest!s}.",
                "Take that, or compute the path with more {n_alphas}; with {l1_ratio} or {bounds} it has no "
                "models between them.",
                count=len(self.alphas),
                top=self.alpha_max_,
                bottom=self.alpha_min_,
                got=float(alphas[wrong][0]),
                nearest=repr(float(self.alphas[found[wrong][0]])),
            )
        return found

    def _scores(self, X: Matrix, alphas: Vector) -> Array:
        return self._design(X).scores_block(np.ascontiguousarray(self.coefs_at(alphas)))

    def plot(self, *, n_features: int = 10, feature_names: Any = None, expert: bool = False) -> Any:
        """Draw how features enter, the validation curve of the last ``select``, and how many have a weight.

        Coefficients are drawn in the units of the scaled columns, in which features compete.

        Parameters
        ----------
        n_features : int, default=10
            How many coefficients to name: those that are largest at any solved alpha. Others are grey.
        feature_names : list of str, optional
            Names of the columns in the legend; by default those of the training data, else their numbers.
        expert : bool, default=False
            As in other paths; here every alpha was solved by itself, so there is nothing more to draw.

        Returns
        -------
        matplotlib.figure.Figure
            Save it with ``savefig``. Needs matplotlib (``pip install marginrank[plot]``).
        """
        from marginrank.paths.drawing import Curves, Sizes, draw_path

        check_flag(expert, "expert")
        count = check_count(n_features, "n_features")
        known = self.feature_names_ if feature_names is None else feature_names
        known = check_feature_names(known, self.coefs.shape[1])
        scale = self._transform.scale
        drawn = self.coefs if scale is None else self.coefs * scale
        order = np.argsort(-np.abs(drawn).max(axis=0), kind="stable")
        order = order[: max(count, _IN_GREY)]
        order = order[np.abs(drawn[:, order]).max(axis=0) > 0.0]
        # The legend has them in the order in which they enter.
        named = sorted(order[:count].tolist(), key=lambda j: (int(np.argmax(drawn[:, j] != 0.0)), j))
        names = [str(j) if known is None else known[j] for j in named]
        what = "coefficient" if scale is None else "coefficient x scale of column"
        lines, grey = _without_zeros(drawn[:, named].T), _without_zeros(drawn[:, order[count:]].T)
        curves = Curves(self.alphas, lines, names, what, "feature", grey)
        sizes = Sizes(self.alphas, self.n_features_used, "features with a weight", ".-")
        return draw_path(curves, self.selection_, sizes)


def _without_zeros(curves: Array) -> Array:
    """Return curves that begin where they leave 0, so that those that come later do not hide others."""
    zero = curves == 0.0
    inside = zero.copy()
    inside[:, 1:] &= zero[:, :-1]
    inside[:, :-1] &= zero[:, 1:]
    return np.where(inside, np.nan, curves)
