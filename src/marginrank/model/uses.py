"""What can be done with a model besides scoring: compare rows, carry it into other programs and from them."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, BinaryIO, Self, cast

import numpy as np

from marginrank.data import RankingData
from marginrank.data.validation import as_array
from marginrank.exceptions import MarginRankError, ParameterError
from marginrank.model.explained import ExplainedModel
from marginrank.parameters import as_list, check_choice, check_count

if TYPE_CHECKING:
    from marginrank.export import Export
    from marginrank.export.base import ExportedModel, Normalizers
    from marginrank.io.sources import Source

# A weight is kept for each.
_MOST_FEATURES = 10_000_000


class ModelUses(ExplainedModel):
    """Methods of :class:`marginrank.RankingModel` besides scoring."""

    def probability(self, a: Any, b: Any) -> Any:
        """Return the probability that rows ``a`` are above rows ``b``; the model must be calibrated.

        Parameters
        ----------
        a, b : array-like, sparse matrix or data frame of shape (n_pairs, n_features), or (n_features,)
            Features of the two rows of each pair, or of one pair.

        Returns
        -------
        ndarray of shape (n_pairs,), or float
            ``P(a above b)``. ``P(a, b) + P(b, a)`` is 1, to the last bit.

        Notes
        -----
        A model that normalises within queries scores whole queries: there, use
        ``calibration.probability(scores_a - scores_b)``.

        Examples
        --------
        >>> from marginrank import RankSVM, calibrate
        >>> from marginrank.datasets import make_ranking
        >>> X, y, qid = make_ranking(60, 10)
        >>> ranker = RankSVM().fit(X[qid < 40], y[qid < 40], qid=qid[qid < 40])
        >>> held = qid >= 40
        >>> model = calibrate(ranker, X[held], y[held], qid=qid[held])
        >>> a, b = X[0], X[1]
        >>> model.probability(a, b) + model.probability(b, a)
        1.0
        """
        model = cast("ExportedModel", self)
        calibration = getattr(self, "calibration", None)
        if calibration is None:
            raise MarginRankError(
                "The model has no probabilities: comparing a with b needs calibrate(model, X, y, qid=...) on "
                "held-out queries first."
            )
        if model.query_normalization is not None:
            raise MarginRankError(
                "The model normalises features within queries, so it cannot compare a with b alone. Score "
                "whole queries, and use calibration.probability(difference of scores)."
            )
        (first, alone), (second, _) = (_rows_of_pairs(rows, name) for rows, name in ((a, "a"), (b, "b")))
        scores = []
        for name, rows in (("a", first), ("b", second)):
            try:
                scores.append(model.predict(rows))
            except MarginRankError as error:
                raise error.about(f"{name}: ") from None
        if len(scores[0]) != len(scores[1]):
            raise MarginRankError(
                f"a and b must have as many rows as each other; got {len(scores[0])} and {len(scores[1])}."
            )
        found = calibration.probability(scores[0] - scores[1])
        return float(found[0]) if alone else found

    def export(
        self,
        target: str,
        file: str | os.PathLike[str] | BinaryIO,
        *,
        names: Sequence[str] | Mapping[str, str] | None = None,
        model_name: str | None = None,
        feature_set: str | None = None,
        normalizers: Normalizers | None = None,
        table: str | None = None,
        qid_column: str | None = None,
        dtype: str | None = None,
        check: RankingData | None = None,
    ) -> Export:
        """Write the model for another program.

        Parameters
        ----------
        target : str
            "elasticsearch", "opensearch", "solr", "vespa", "sql", "onnx", "pmml", "json", "ranklib" or
            "svmrank".
        file : str, path-like or file object
            Where to. Companions, such as a feature set to fill in, are written beside it, with another
            ending; a file object, open for writing in binary mode, gets the model alone.
        names : sequence or mapping of str, optional
            What the target calls the columns: one name each, or new names by old ones. By default as in the
            model, or f1, f2, ... where it has no names.
        model_name : str, optional
            What the model is called there; by default the file's name up to the first dot.
        feature_set : str, optional
            The feature set (Elasticsearch, OpenSearch) or feature store (Solr) of the model.
        normalizers : {"fold", "target", "minmax"}, optional
            Whether scales of columns are folded into the weights, which is the default, or left to the
            target's normalisers: by mean and deviation, or by range, as of the training columns.
        table, qid_column : str, optional
            The table that an SQL query reads, and its column of query ids; by default "rows" and "qid".
        dtype : {"float64", "float32"}, optional
            Numbers that an ONNX graph takes and gives; by default float64. Feature maps compute in float64
            inside of it.
        check : RankingData, optional
            Rows to score by what was written, through the target's runtime or a replica of its formula, and
            to compare with the scores of the model.

        Returns
        -------
        Export
            The files, the columns that are needed, commands to run, and the outcome of the check.

        Warns
        -----
        Float32Warning
            If the target computes in float32 and differences of scores change by more than 1e-5 of their
            spread: on the rows of ``check``, or else on rows that are made after the column statistics.
        UserWarning
            If the target takes scores of queries, which are never negative, and a column was in training.

        Examples
        --------
        >>> import io
        >>> from marginrank import RankingModel
        >>> file = io.BytesIO()
        >>> model = RankingModel([0.5, 0.0, -2.0], feature_names=["bm25", "views", "age"])
        >>> model.export("sql", file).features
        ('bm25', 'age')
        >>> print(file.getvalue().decode())
        -- Higher is better within a query.
        SELECT t.*,
          5e-1 * CAST(t."bm25" AS DOUBLE PRECISION)
          + -2e0 * CAST(t."age" AS DOUBLE PRECISION) AS score
        FROM "rows" AS t
        <BLANKLINE>
        """
        # Not above: who only scores need not wait for it.
        from marginrank.export import CheckedRows, export_model

        model = cast("ExportedModel", self)
        rows = None
        if check is not None:
            if not isinstance(check, RankingData):
                raise ParameterError("check", "a RankingData", check)
            rows = CheckedRows(self._matrix(check), check.qid, model.predict(check))
        return export_model(
            model,
            target,
            file,
            names=names,
            model_name=model_name,
            feature_set=feature_set,
            normalizers=normalizers,
            table=table,
            qid_column=qid_column,
            dtype=dtype,
            rows=rows,
        )

    @classmethod
    def from_weights(
        cls,
        source: Source,
        program: str,
        *,
        n_features: int | None = None,
        feature_names: Sequence[str] | None = None,
    ) -> Self:
        """Make a model of the weights that another program has learnt.

        Parameters
        ----------
        source : path, binary file object or bytes
            A model file of the program, a linear model as text; gzip is recognised.
        program : {"ranklib", "svmrank", "liblinear"}
            Which program: RankLib (coordinate ascent, linear regression, AdaRank), SVM^rank and SVM^light
            with a linear kernel, or LIBLINEAR (ranking, regression, two classes).
        n_features : int, optional
            Number of columns; by default that of the file, or the largest number in it.
        feature_names : sequence of str, optional
            Names of the columns, the first of which is feature 1 of the file.

        Returns
        -------
        RankingModel
            A linear model with the scores of the program, up to rounding.

        Examples
        --------
        >>> from marginrank import RankingModel
        >>> model = RankingModel.from_weights(b"1:0.5 2:-2.0", "ranklib")
        >>> model.predict([[2.0, 1.0]])
        array([-1.])
        """
        # Not above: who only scores need not wait for it.
        from marginrank.export.weights_files import PROGRAMS, read_weights, width_of

        check_choice("program", program, PROGRAMS)
        found = read_weights(source, program)
        names = None if feature_names is None else as_list(feature_names)
        if n_features is not None:
            n_features = check_count(n_features, "n_features", most=_MOST_FEATURES)
        elif names is not None:
            n_features = max(len(names), found.n_features)
        about = {"imported_from": program, **found.about}
        make = cast("type[Any]", cls)
        model: Self = make(
            found.dense(width_of(found, n_features)),
            intercept=found.intercept,
            feature_names=feature_names,
            metadata=about,
        )
        return model


def _rows_of_pairs(rows: Any, name: str) -> tuple[Any, bool]:
    """Return rows as a matrix, and whether it was one row."""
    if isinstance(rows, list | tuple | np.ndarray):
        values = as_array(rows, name)
        if values.ndim == 1:
            return values[None], True
        return values, False
    return rows, False
