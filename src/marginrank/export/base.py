"""The contract of a target: what it can hold, what it writes, and how it scores what was written.

A target is one file in this package and one line in ``TARGETS``. It turns a model into bytes, and scores
rows by those bytes: through its own runtime where there is one, else by a replica of its documented formula,
in its number type and in its order of sums. So an export can be checked on data before anybody uploads it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from marginrank.designs.column_statistics import ColumnStatistics
from marginrank.types import Rows, Vector

if TYPE_CHECKING:
    from marginrank.feature_maps import FeatureMap

#: Who does the scaling of columns: the weights, or the target's normalisers, by deviation or by range.
Normalizers: TypeAlias = Literal["fold", "target", "minmax"]
#: Scores of dense rows, all columns of the model, given with the number of each row's query.
Scorer: TypeAlias = Callable[[NDArray[np.float64], Rows], Vector]


class Mapping(Protocol):
    """A scaling of raw columns, then a feature map."""

    @property
    def feature_map(self) -> FeatureMap:
        """The map, fitted."""

    @property
    def multiplier(self) -> Vector | None:
        """What raw columns are multiplied by."""

    @property
    def offset(self) -> Vector | None:
        """What is added to them after that."""

    @property
    def linear_coef(self) -> Vector | None:
        """Weights of the raw columns, which are added to the score."""

    def scores(self, X: Any, coef: Vector, *, n_threads: int) -> Vector:
        """Return the scores of rows, by the weights of the features."""


class ExportedModel(Protocol):
    """What exports need to know of a model; ``RankingModel`` is one, and stands a layer above."""

    @property
    def kind(self) -> str:
        """How scores come about: "linear" or "mapped"."""

    @property
    def coef(self) -> Vector:
        """Weights of the features."""

    @property
    def intercept(self) -> float:
        """What is added to every score."""

    @property
    def n_features(self) -> int:
        """Number of raw columns."""

    @property
    def features_used(self) -> Rows:
        """Numbers of the columns that scores depend on."""

    @property
    def feature_names(self) -> tuple[str, ...] | None:
        """Names of the columns."""

    @property
    def query_normalization(self) -> str | None:
        """What is done to columns within queries first."""

    @property
    def column_statistics(self) -> ColumnStatistics | None:
        """What the columns held in training."""

    @property
    def mapping(self) -> Mapping | None:
        """The way to the features that ``coef`` weighs, where they are not the columns."""

    def predict(self, X: Any, qid: Any = None, *, n_jobs: int | None = None) -> Vector:
        """Return the scores of rows."""


@dataclass(frozen=True)
class Options:
    """What a user may say about an export; None takes the target's default.

    Parameters
    ----------
    names : tuple of str
        The columns, as the target calls them.
    model_name : str
        What the model is called there.
    feature_set : str or None
        The feature set or feature store that it belongs to.
    normalizers : {"fold", "target", "minmax"} or None
        Where columns are scaled.
    table, qid_column : str or None
        Names in a database.
    dtype : {"float32", "float64"} or None
        Of the numbers of a graph.
    """

    names: tuple[str, ...]
    model_name: str
    feature_set: str | None = None
    normalizers: Normalizers | None = None
    table: str | None = None
    qid_column: str | None = None
    dtype: str | None = None


@dataclass(frozen=True)
class Written:
    """What a target makes of a model.

    Parameters
    ----------
    content : bytes
        The file of the model.
    features : ndarray of int64
        The columns that the export needs; the others weigh 0.
    companions : tuple of (str, bytes)
        Files that go with it, each with what is put in place of the ending of the model's file.
    commands : tuple of str
        What to run to use it; ``{model}`` and the endings of companions, such as ``{.features.json}``, stand
        for the files.
    """

    content: bytes
    features: Rows
    companions: tuple[tuple[str, bytes], ...] = ()
    commands: tuple[str, ...] = ()


class Target:
    """Base of the targets.

    Each has ``write``, ``scorer`` and, if its sums are rounded to float32, ``float32``.
    """

    #: The name in ``TARGETS``.
    name: ClassVar[str]
    #: In a sentence.
    title: ClassVar[str]
    #: Options that it takes besides ``names`` and ``model_name``.
    takes: ClassVar[frozenset[str]] = frozenset()
    #: What it holds besides one weight a column.
    holds_kernels: ClassVar[bool] = False
    holds_query_normalization: ClassVar[bool] = False

    def float32(self, options: Options) -> bool:
        """Whether scores are float32 there."""
        return False

    def roundings(self, options: Options, n_terms: int) -> Vector:
        """Return how many roundings to float32 each term of a sum goes through at most, in their order."""
        return np.zeros(n_terms)

    def write(self, model: ExportedModel, options: Options) -> Written:
        """Return what goes into files, of a model that it can hold."""
        raise NotImplementedError

    def scorer(self, content: bytes, options: Options) -> Scorer:
        """Return what scores rows by the content of a file, as the target does."""
        raise NotImplementedError


def used_columns(coef: Vector) -> Rows:
    """Return the columns whose weight is not 0; the first where all are, as a model has one at least.

    Examples
    --------
    >>> used_columns(np.array([0.0, 2.0])).tolist(), used_columns(np.zeros(2)).tolist()
    ([1], [0])
    """
    used = np.flatnonzero(coef)
    return used if len(used) else np.zeros(1, dtype=np.int64)
