"""What goes along with rows, as users give it: arrays, Dask collections, or names of columns."""

from __future__ import annotations

from typing import Any, NamedTuple

from marginrank.data import RankingData
from marginrank.data import validation as gate
from marginrank.data.labels import LabelledQueries
from marginrank.data.preference_pairs import pairs_by_id, pairs_of_frame
from marginrank.data.queries import Groups, check_qid, weight_by_query
from marginrank.data.ranking_data import rebuilt
from marginrank.distributed.cluster import Cluster
from marginrank.distributed.remote_data import RemoteData
from marginrank.exceptions import MarginRankError
from marginrank.types import Array


class Labelling(NamedTuple):
    """Labels, query ids and weights of rows, or preferences between rows; None for what there is not."""

    y: Any = None
    qid: Any = None
    sample_weight: Any = None
    query_weight: Any = None
    #: What pairs call the rows.
    ids: Any = None
    pairs: Any = None
    pair_weight: Any = None
    pair_margin: Any = None

    @property
    def columns(self) -> dict[str, str]:
        """Names of columns of a data frame of rows, by what they hold."""
        of_rows = {name: getattr(self, name) for name in _OF_ROWS}
        return {name: column for name, column in of_rows.items() if isinstance(column, str)}

    @property
    def of_other_rows(self) -> Labelling:
        """What says something about other rows, too: names of columns."""
        columns = self.columns
        columns.pop("ids", None)
        return Labelling(**columns)

    def computed(self, cluster: Cluster) -> Labelling:
        """Return the same with all of it in memory; pairs of a data frame without their other columns."""
        found = {name: cluster.computed(value) for name, value in self._asdict().items() if name != "pairs"}
        by_pair = {"weight": found["pair_weight"], "margin": found["pair_margin"]}
        pairs, by_pair = pairs_of_frame(cluster.computed(self.pairs, as_array=False), by_pair)
        return Labelling(
            **{**found, "pairs": pairs, "pair_weight": by_pair["weight"], "pair_margin": by_pair["margin"]}
        )

    def queries(self, groups: Groups, row_ids: Array | None, n_rows: int) -> LabelledQueries:
        """Return labels and weights of grouped rows, checked; all of them must be in memory."""
        return LabelledQueries(
            groups,
            None if self.y is None else gate.check_labels(self.y, n_rows),
            row_ids,
            gate.check_weights(self.sample_weight, n_rows),
            weight_by_query(self.query_weight, groups),
        )

    def preferences(self, n_rows: int) -> dict[str, Any]:
        """Return pairs of row numbers, their weights and margins, checked; all of them must be in memory."""
        if self.pairs is None:
            return dict.fromkeys(_PREFERENCES)
        pairs = self.pairs
        if self.ids is not None:
            pairs = pairs_by_id(pairs, check_qid(self.ids, n_rows, "ids"))
        checked = gate.check_pairs(pairs, n_rows, self.pair_weight, self.pair_margin, ("weight", "margin"))
        return dict(zip(_PREFERENCES, checked, strict=True))

    def along(self, data: RemoteData, what: str) -> RemoteData:
        """Return data that carry their labels and ids with weights or pairs that were given besides."""
        if self.y is not None or self.qid is not None:
            raise MarginRankError(f"{what} y and qid; do not pass them again.")
        if self.columns:
            name, column = next(iter(self.columns.items()))
            raise MarginRankError.naming(
                name, f"is {column!r}; a name stands for a column of a Dask data frame, which this is not."
            )
        given = {name: value for name, value in self._asdict().items() if value is not None}
        if not given:
            return data
        return RemoteData.like(self._added(data), data.X)

    def _added(self, data: RankingData) -> RankingData:
        weights = {name: getattr(self, name) for name in ("sample_weight", "query_weight")}
        given = {name: value for name, value in weights.items() if value is not None}
        pairs = {} if self.pairs is None else self.preferences(data.n_rows)
        return rebuilt(data, **given, **pairs)


_PREFERENCES = ("pairs", "pair_weight", "pair_margin")
_OF_ROWS = ("y", "qid", "sample_weight", "query_weight", "ids")
