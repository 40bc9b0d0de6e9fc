"""Computed paths of linear machines: the model of every alpha, measured, chosen from and drawn."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from marginrank.data.finite import finite_scores
from marginrank.data.validation import check_feature_names
from marginrank.designs import ColumnTransform, Design, matrix_design
from marginrank.designs.columns import IDENTITY
from marginrank.designs.scaling import Scale
from marginrank.exceptions import MarginRankError
from marginrank.parameters import check_count, check_flag, check_grid, check_positive
from marginrank.paths.path_base import PathOrigin, RankPath
from marginrank.rounding import UNIT, upward
from marginrank.solvers.certificate import relative_gap
from marginrank.solvers.knot_spacing import mixed
from marginrank.solvers.lower_lines import LowerLines, Node
from marginrank.system.threads import resolve_threads
from marginrank.training.least_squares_certificate import LeastSquaresCertificate, Model
from marginrank.types import Array, Matrix, Vector

#: Returns models of least squares at alphas, of shape (n_alphas, n_targets, n_features).
Solve = Callable[[Sequence[float] | Vector], Array]

_ROUNDING = 1e-12
_DRAWN = 200


class LinearPath(RankPath):
    """What the paths of linear machines share.

    Attributes
    ----------
    alphas : ndarray, descending
        Where models are stored.
    alpha_max_, alpha_min_ : float
        The interval that the path serves.
    status_ : str
        What ended the path.
    scale_ : {None, "standard", "minmax"}
        What ``scale`` became; decided once, by all training rows.
    n_passes_ : float
        Passes over the training data.
    feature_names_ : tuple of str or None
        Names of the columns, where the training data had them.
    selection_ : PathSelection or None
        What the last ``select`` found.
    """

    alphas: Vector
    status_: str
    n_passes_: float

    def __init__(
        self,
        X: Matrix,
        n_jobs: int | None,
        *,
        transform: ColumnTransform = IDENTITY,
        feature_names: tuple[str, ...] | None = None,
        origin: PathOrigin | None = None,
    ) -> None:
        super().__init__(X, n_jobs, feature_names=feature_names, origin=origin)
        self._transform = transform

    @property
    def scale_(self) -> Scale | None:
        """What ``scale`` became; decided once, by all training rows."""
        return self._transform.scaled_by

    @property
    def alpha_max_(self) -> float:
        """The largest alpha that the path serves."""
        return float(self.alphas[0])

    @property
    def alpha_min_(self) -> float:
        """The smallest alpha that the path serves."""
        return float(self.alphas[-1])

    @abstractmethod
    def coefs_at(self, alphas: Any) -> Array:
        """Return the models at several alphas, one per row."""

    @abstractmethod
    def objective_at(self, alpha: float) -> tuple[float, float]:
        """Return an upper bound of the objective of the model and a lower bound of the optimum."""

    def coef_at(self, alpha: float) -> Vector:
        """Return the coefficients of the model.

        Parameters
        ----------
        alpha : float
            From ``alpha_min_`` to ``alpha_max_``.

        Returns
        -------
        ndarray of shape (n_features,)
        """
        return np.asarray(self.coefs_at([check_positive(alpha, "alpha")])[0])

    def gap_at(self, alpha: float) -> float:
        """Return how far the objective of the model is from the optimum at most, relative to it.

        Parameters
        ----------
        alpha : float
            From ``alpha_min_`` to ``alpha_max_``.
        """
        return relative_gap(*self.objective_at(alpha))

    def scores_at(self, alpha: float) -> Vector:
        """Return the scores of the training rows.

        Parameters
        ----------
        alpha : float
            From ``alpha_min_`` to ``alpha_max_``.

        Returns
        -------
        ndarray of shape (n_rows,)
        """
        return self._finite(self._X, alpha)

    def predict(self, X: Any, *, alpha: float) -> Vector:
        """Return a score for each row; within a query, higher is better.

        Parameters
        ----------
        X : array-like, sparse matrix, data frame or RankingData of shape (n_rows, n_features)
            The features.
        alpha : float
            From ``alpha_min_`` to ``alpha_max_``.

        Returns
        -------
        ndarray of shape (n_rows,)
        """
        return self._finite(self._rows_of(X), alpha)

    def _finite(self, X: Matrix, alpha: float) -> Vector:
        coef = self.coef_at(alpha)
        return np.asarray(finite_scores("The path", X, lambda: self._design(X).scores(coef)))

    def plot(self, *, n_features: int = 10, feature_names: Any = None, expert: bool = False) -> Any:
        """Draw coefficients, and the validation curve of the last ``select``.

        Parameters
        ----------
        n_features : int, default=10
            How many coefficients to name: those that are largest at any stored model.
        feature_names : list of str, optional
            Names of the columns in the legend; by default those of the training data, else their numbers.
        expert : bool, default=False
            Whether to draw the size of the certificate, too, where the path has one: how many cutting planes
            prove the optimum at each alpha.

        Returns
        -------
        matplotlib.figure.Figure
            Save it with ``savefig``. Needs matplotlib (``pip install marginrank[plot]``).
        """
        from marginrank.paths.drawing import Curves, Sizes, draw_path

        count = check_count(n_features, "n_features")
        found = self.certificate_sizes() if check_flag(expert, "expert") else None
        alphas = self.grid(_DRAWN)
        ends = self.coefs_at(alphas[:: _DRAWN // 10])
        largest = np.argsort(-np.abs(ends).max(axis=0), kind="stable")[:count]
        # A few alphas at a time: all models of a wide path at once would not fit.
        values = np.array([self.coef_at(float(alpha))[largest] for alpha in alphas]).T
        known = self.feature_names_ if feature_names is None else feature_names
        known = check_feature_names(known, ends.shape[1])
        names = [str(k) if known is None else known[k] for k in largest]
        sizes = None if found is None else Sizes(*found, "planes of the certificate", ".")
        return draw_path(Curves(alphas, values, names, "coefficient", "feature"), self.selection_, sizes)

    def certificate_sizes(self) -> tuple[Vector, NDArray[np.int64]] | None:
        """Return alphas and numbers of active planes there, where the path has planes."""
        return None

    def _ends(self) -> tuple[float, float]:
        return self.alpha_max_, self.alpha_min_

    def _model_parts(self, alpha: float) -> dict[str, Any]:
        known = {"column_scale": self._transform.scale, "column_statistics": self._transform.statistics}
        return {"coef": self.coef_at(alpha), **known}

    def _check(self, alphas: Any, name: str = "alpha") -> Vector:
        found = np.array([check_positive(alphas[0], name)]) if name == "alpha" else check_grid(alphas, name)
        low, high = self.alpha_min_ * (1.0 - _ROUNDING), self.alpha_max_ * (1.0 + _ROUNDING)
        outside = (found < low) | (found > high)
        if outside.any():
            raise MarginRankError.saying(
                f"{{{name}}} must be within the path, which goes from alpha={{top:.6g}} to {{bottom:.6g}} "
                "(status '{status!s}'); got {got:g}.",
                "Compute it with another {alpha_max} or {alpha_min}.",
                top=self.alpha_max_,
                bottom=self.alpha_min_,
                status=self.status_,
                got=found[outside][0],
            )
        return np.asarray(np.clip(found, self.alpha_min_, self.alpha_max_))

    def _design(self, X: Matrix) -> Design:
        return matrix_design(X, n_threads=resolve_threads(self._n_jobs))


class LinearRankPath(LinearPath):
    """A model for every alpha of an interval, each within eps of its optimum: see :func:`rank_path`.

    Between the stored models ``alpha * w`` is linear in alpha.

    Attributes
    ----------
    alphas : ndarray of shape (n_models,)
        Where models are stored, descending.
    coefs : ndarray of shape (n_models, n_features)
        The stored models.
    eps : float
        What ``gap_at`` is at most, at every alpha of the path.
    alpha_max_, alpha_min_ : float
        The interval that the path serves.
    status_ : {"finished", "stopped", "interrupted", "stalled"}
        What ended the path.
    n_passes_ : float
        Passes over the training data.
    n_solutions_, n_cuts_ : int
        Problems that were solved, and planes that were added between them for half a pass each.
    selection_ : PathSelection or None
        What the last ``select`` found.

    Examples
    --------
    >>> import numpy as np
    >>> from marginrank.paths import rank_path
    >>> X = np.random.default_rng(0).normal(size=(100, 2))
    >>> path = rank_path(X, X[:, 0], alpha_max=1.0, alpha_min=0.01)
    >>> bool(path.gap_at(0.123) <= path.eps), path.predict(X, alpha=0.123).shape
    (True, (100,))
    """

    def __init__(
        self,
        X: Matrix,
        n_jobs: int | None,
        *,
        alphas: Vector,
        coefs: Array,
        nodes: list[Node],
        lines: LowerLines,
        eps: float,
        status: str,
        transform: ColumnTransform = IDENTITY,
        feature_names: tuple[str, ...] | None = None,
        origin: PathOrigin | None = None,
    ) -> None:
        super().__init__(X, n_jobs, transform=transform, feature_names=feature_names, origin=origin)
        self.alphas = alphas
        self.coefs = coefs
        self.eps = eps
        self.status_ = status
        self.n_passes_ = 0.0
        self.n_solutions_ = self.n_cuts_ = 0
        self._nodes = np.array(nodes)[::-1]
        self._lines = lines

    def __repr__(self) -> str:
        return (
            f"LinearRankPath(n_models={len(self.alphas)}, alpha_max={self.alpha_max_:.3g}, "
            f"alpha_min={self.alpha_min_:.3g}, eps={self.eps:g}, {self.status_})"
        )

    def coefs_at(self, alphas: Any) -> Array:
        """Return the models at several alphas, one per row.

        Parameters
        ----------
        alphas : sequence of float
            From ``alpha_min_`` to ``alpha_max_``.
        """
        return self._mixed(self._check(alphas, "alphas"), self.coefs)

    def objective_at(self, alpha: float) -> tuple[float, float]:
        """Return an upper bound of the objective of the model, and a lower bound of the optimum.

        Parameters
        ----------
        alpha : float
            From ``alpha_min_`` to ``alpha_max_``.
        """
        wanted = self._check([alpha])
        product = float(np.interp(wanted, self._nodes[:, 0], self._nodes[:, 1])[0])
        value = upward(product / float(wanted[0]), 8.0)
        bound = float(self._lines.at(wanted)[0] / wanted[0]) * (1.0 - 4.0 * UNIT)
        return value, min(bound, value)

    def _scores(self, X: Matrix, alphas: Vector) -> Array:
        # One product for each stored model; those between them are the same mixtures of scores.
        return self._mixed(alphas, self._design(X).scores_block(self.coefs))

    def _mixed(self, alphas: Vector, stored: Array) -> Array:
        return mixed(self.alphas, stored, alphas)

    def certificate_sizes(self) -> tuple[Vector, NDArray[np.int64]]:
        """Return alphas and numbers of active planes there."""
        order = 1 + np.argsort(self._lines.alphas[1:], kind="stable")
        return self._lines.alphas[order], self._lines.n_active[order]


class LeastSquaresPath(LinearPath):
    """The RankRLS model of every alpha, exactly, from one eigendecomposition: see :func:`rank_rls_path`.

    Attributes
    ----------
    alphas : ndarray of shape (2,)
        The ends of the interval; every model between them is exact.
    alpha_max_, alpha_min_ : float
        The same.
    status_ : {"finished", "interrupted"}
        After Ctrl-C models are exact for the part of the data that was in the Gram matrix.
    n_passes_ : float
        Passes over the training data.
    selection_ : PathSelection or None
        What the last ``select`` found.

    Examples
    --------
    >>> import numpy as np
    >>> from marginrank import rank_rls_path
    >>> X = np.random.default_rng(0).normal(size=(40, 2))
    >>> path = rank_rls_path(X, X[:, 0])
    >>> path.predict(X, alpha=0.5).shape, path.status_
    ((40,), 'finished')
    """

    def __init__(
        self,
        X: Matrix,
        n_jobs: int | None,
        *,
        solve: Solve,
        certificate: LeastSquaresCertificate,
        transform: ColumnTransform,
        alpha_max: float,
        alpha_min: float,
        status: str = "finished",
        feature_names: tuple[str, ...] | None = None,
        origin: PathOrigin | None = None,
    ) -> None:
        super().__init__(X, n_jobs, transform=transform, feature_names=feature_names, origin=origin)
        self.alphas = np.array([alpha_max, alpha_min])
        self.status_ = status
        self.n_passes_ = 1.0
        self._solve = solve
        self._certificate = certificate

    def __repr__(self) -> str:
        kind = "exact" if self.status_ == "finished" else self.status_
        return f"LeastSquaresPath(alpha_max={self.alpha_max_:.3g}, alpha_min={self.alpha_min_:.3g}, {kind})"

    def coefs_at(self, alphas: Any) -> Array:
        """Return the models at several alphas, one per row.

        Parameters
        ----------
        alphas : sequence of float
            From ``alpha_min_`` to ``alpha_max_``.
        """
        w = self._solve(self._check(alphas, "alphas"))[:, 0]
        return self._transform.raw(w)

    def objective_at(self, alpha: float) -> tuple[float, float]:
        """Return an upper bound of the objective of the model, and a lower bound of the optimum.

        Parameters
        ----------
        alpha : float
            From ``alpha_min_`` to ``alpha_max_``.

        Notes
        -----
        It takes a pass over the training data: both are found with X itself, not with its decomposition.
        """
        wanted = float(self._check([alpha])[0])
        claim = self._certificate.check(Model(wanted, self._solve([wanted])[0]))[0]
        return claim.value, claim.bound

    def _scores(self, X: Matrix, alphas: Vector) -> Array:
        return self._design(X).scores_block(np.ascontiguousarray(self.coefs_at(alphas)))
