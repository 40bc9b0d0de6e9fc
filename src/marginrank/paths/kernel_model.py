"""A computed path: the models of kernel RankSVM at every alpha, measured, chosen from and drawn."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from marginrank._kernels import KernelPath
from marginrank.data import RankingData
from marginrank.data.finite import finite_scores
from marginrank.data.matrices import is_sparse
from marginrank.exceptions import MarginRankError
from marginrank.parameters import check_count, check_flag, check_positive
from marginrank.paths.gram import Kernel
from marginrank.paths.graphs import GraphPairs
from marginrank.paths.kernel_certificate import certified_values, machine_coefficients, row_roots
from marginrank.paths.kernel_export import kernel_model_parts
from marginrank.paths.path_base import PathOrigin, RankPath
from marginrank.solvers.certificate import relative_gap
from marginrank.system.threads import one_blas_thread
from marginrank.types import Matrix, Vector

_ACCURATE = 1e-7
_CHECKED = 12
_ROWS_AT_ONCE = 2048
_ROUNDING = 1e-12
_DRAWN = 200
# By the codes of the native log: entered, left to 0, left to its weight, and went from bound to bound.
_CHANGE_OF_ACTIVE = np.array([1, -1, -1, 0, 0])


class KernelRankPath(RankPath):
    """The models of kernel RankSVM at every alpha, from :func:`kernel_rank_path`.

    Attributes
    ----------
    alphas : ndarray of shape (n_events,)
        The breakpoints, descending: between two of them ``alpha * f`` is linear in alpha. Empty if no pair
        ever reaches its margin (pairs that cancel out).
    active_size : ndarray of shape (n_events,)
        Number of pairs at their margin below each breakpoint.
    n_events_ : int
        Number of breakpoints.
    alpha_min_ : float
        Where the path ended; models at smaller alpha are not known.
    gap_ : float
        Largest relative duality gap at 12 points of the path; 1e-7 or less unless accuracy was lost.
    is_accurate : bool
        Whether that is so.
    status_ : {"finished", "max_events", "stopped", "interrupted", "stalled"}
        What ended the path.
    n_pairs_ : int
        Pairs learned from.
    pairs_ : ndarray of shape (n_pairs, 2)
        Winner and loser of each pair, by row number.
    pair_weight_ : ndarray of shape (n_pairs,)
        Their weights.
    feature_names_ : tuple of str or None
        Names of the columns, where the training data had them.
    selection_ : PathSelection or None
        What the last ``select`` found.

    Notes
    -----
    The path keeps a log of its events, not a model for each. The model at an alpha takes the solution of the
    linear system of its active pairs. ``select`` goes through the log once, for all alphas of its curve.

    Examples
    --------
    >>> from marginrank.paths import kernel_rank_path
    >>> path = kernel_rank_path([[0.0], [1.0], [2.0]], [0, 1, 2], kernel="linear")
    >>> path.alphas.round(4)[:1]  # (x_2 - x_0) times the mean difference of the pairs
    array([2.6667])
    >>> path.scores_at(0.5).round(4)
    array([0., 1., 2.])
    """

    def __init__(
        self,
        native: KernelPath,
        status: str,
        K: Any,
        kernel: Kernel,
        data: RankingData,
        pairs: GraphPairs,
        rows: NDArray[np.int64],
        origin: PathOrigin,
    ) -> None:
        super().__init__(data.X, feature_names=data.feature_names, origin=origin)
        self._native = native
        self._K = K
        self._kernel = kernel
        self._roots = row_roots(K)
        self._pairs = pairs
        self._rows = rows  # one for each distinct point
        self._total = float(pairs.weight.sum())
        lambdas, _, changes = native.events()
        self.alphas: Vector = lambdas / self._total
        self.active_size: NDArray[np.int64] = np.cumsum(_CHANGE_OF_ACTIVE[changes])
        self.n_events_ = len(lambdas)
        self.alpha_min_ = native.reached / self._total
        self.status_ = status
        self.n_pairs_ = len(pairs.winner)
        self.pairs_ = np.column_stack([pairs.winner, pairs.loser])
        self.pair_weight_ = pairs.weight
        self.gap_ = max(self.gap_at(alpha) for alpha in self._points_to_check())

    def __repr__(self) -> str:
        return (
            f"KernelRankPath(n_events={self.n_events_}, n_pairs={self.n_pairs_}, "
            f"alpha_min={self.alpha_min_:.3g}, gap={self.gap_:.1e}, {self.status_})"
        )

    @property
    def is_accurate(self) -> bool:
        """Whether the gap was 1e-7 or less wherever it was checked."""
        return bool(self.gap_ <= _ACCURATE)

    def duals_at(self, alpha: float) -> Vector:
        """Return the dual variable of each pair, between 0 and its weight.

        Parameters
        ----------
        alpha : float
            At least ``alpha_min_``.

        Returns
        -------
        ndarray of shape (n_pairs,)
        """
        wanted = check_positive(alpha, "alpha") * self._total
        if wanted < self._native.reached * (1.0 - _ROUNDING):
            raise MarginRankError.saying(
                "The path ends at alpha={bottom:.6g} (status '{status!s}'); got {alpha:g}.",
                "Compute it without {max_events}."
                if self.status_ == "max_events"
                else "Compute it with a smaller {alpha_min}.",
                bottom=self.alpha_min_,
                status=self.status_,
                alpha=alpha,
            )
        beta = np.empty(self.n_pairs_)
        self._native.duals_at(max(wanted, self._native.reached), beta)
        return beta

    def coef_at(self, alpha: float) -> Vector:
        """Return the coefficient of each training row: the scores are ``K @ coef``.

        Parameters
        ----------
        alpha : float
            At least ``alpha_min_``.

        Returns
        -------
        ndarray of shape (n_rows,)
        """
        return self._coef(self.duals_at(alpha), alpha)

    def scores_at(self, alpha: float) -> Vector:
        """Return the scores of the training rows.

        Parameters
        ----------
        alpha : float
            At least ``alpha_min_``.

        Returns
        -------
        ndarray of shape (n_rows,)
        """
        with one_blas_thread():
            return np.asarray(self._K @ self.coef_at(alpha))

    def predict(self, X: Any, *, alpha: float) -> Vector:
        """Return a score for each row; within a query, higher is better.

        Parameters
        ----------
        X : array-like, sparse matrix, data frame or RankingData of shape (n_rows, n_features)
            The features; with a precomputed kernel its values between these rows and all training rows.
        alpha : float
            At least ``alpha_min_``.

        Returns
        -------
        ndarray of shape (n_rows,)
        """
        coef, matrix = self.coef_at(alpha), self._rows_of(X)
        every = np.arange(len(coef))
        with one_blas_thread():
            scores = finite_scores("The path", matrix, lambda: self._scored(matrix, every, coef[None, :]))
        return np.asarray(scores[0])

    def plot(self, *, n_rows: int = 10, expert: bool = False) -> Any:
        """Draw scores of training rows, and the validation curve of the last ``select``.

        Parameters
        ----------
        n_rows : int, default=10
            How many rows: those at even distances in the ranking at the end of the path.
        expert : bool, default=False
            Whether to draw the active pairs, too: how many pairs the algorithm keeps exactly at the margin.

        Returns
        -------
        matplotlib.figure.Figure
            Save it with ``savefig``. Needs matplotlib (``pip install marginrank[plot]``).
        """
        from marginrank.paths.drawing import Curves, Sizes, draw_path

        count = min(check_count(n_rows, "n_rows"), len(self._rows))
        with_sizes = check_flag(expert, "expert") and self.n_events_ > 0
        alphas = self.grid(_DRAWN)
        with one_blas_thread():
            order = self._rows[np.argsort(-self.scores_at(alphas[-1])[self._rows], kind="stable")]
            shown = order[np.linspace(0, len(order) - 1, count).round().astype(np.int64)]
            values = self._K[np.ix_(shown, self._rows)] @ self._point_coefs(alphas).T
        curves = Curves(alphas, values, [str(row) for row in shown], "score", "row")
        sizes = Sizes(self.alphas, self.active_size, "active pairs", "-") if with_sizes else None
        return draw_path(curves, self.selection_, sizes)

    def objective_at(self, alpha: float) -> tuple[float, float]:
        """Return what the objective of the model is at most, and the optimum at least, from the duals alone.

        Parameters
        ----------
        alpha : float
            At least ``alpha_min_``.

        Returns
        -------
        primal, dual : float
            ``mean loss + alpha/2 ||f||^2`` of the model, and the dual value, which no model can go below.
            What rounding may have done to them is added to the one and taken off the other.
        """
        return certified_values(self._K, self._roots, self._pairs, self.duals_at(alpha), alpha)

    def gap_at(self, alpha: float) -> float:
        """Return the relative duality gap: how far the model is from the optimum, at most.

        Parameters
        ----------
        alpha : float
            At least ``alpha_min_``.

        Returns
        -------
        float
            ``(primal - dual) / primal``, from 0 to 1, computed from the duals in plain numpy.
        """
        return relative_gap(*self.objective_at(alpha))

    def _coef(self, beta: Vector, alpha: float) -> Vector:
        return machine_coefficients(self._pairs, beta, len(self._K))[0] / (alpha * self._total)

    def _points_to_check(self) -> Vector:
        if self.n_events_ == 0:
            return np.array([max(self.alpha_min_, 1.0)])
        return np.geomspace(self.alphas[0], self.alpha_min_, _CHECKED)

    def _ends(self) -> tuple[float, float]:
        if self._native.first_breakpoint == 0.0:
            raise MarginRankError(
                "The pairs cancel out, so every model of the path is 0: nothing to choose from."
            )
        # Above the first breakpoint the models are multiples of the one there.
        return self._native.first_breakpoint / self._total, self.alpha_min_

    def _point_coefs(self, alphas: Vector) -> NDArray[np.float64]:
        """Return the coefficients of the distinct points at several alphas, descending."""
        lambdas = np.maximum(alphas * self._total, self._native.reached)
        sums = np.empty((len(alphas), len(self._rows)))
        self._native.sums_at(lambdas, sums)
        return np.asarray(sums / lambdas[:, None])

    def _scores(self, X: Matrix, alphas: Vector) -> NDArray[np.float64]:
        return self._scored(X, self._rows, self._point_coefs(alphas))

    def _scored(self, X: Matrix, rows: NDArray[np.int64], coefs: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return scores of shape (n_models, n_rows) by coefficients of training rows."""
        support = np.flatnonzero(coefs.any(axis=0))
        rows, coefs = rows[support], coefs[:, support]
        scores = np.zeros((len(coefs), X.shape[0]))
        for begin in range(0, X.shape[0] if len(rows) else 0, _ROWS_AT_ONCE):
            part = slice(begin, begin + _ROWS_AT_ONCE)
            if self._kernel.is_precomputed:
                values = X[part][:, rows]
                values = values.toarray() if is_sparse(values) else values
            else:
                values = self._kernel(X[part], self._X[rows])
            scores[:, part] = coefs @ values.T
        return scores

    def _model_parts(self, alpha: float) -> dict[str, Any]:
        return kernel_model_parts(self._kernel, self._X, self._K, self.coef_at(alpha))
