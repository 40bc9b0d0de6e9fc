"""Validation sets as users of a cluster have them: data sets on disk, files, Dask collections, or memory."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any

from marginrank.data import RankingData
from marginrank.distributed.cluster import Cluster
from marginrank.distributed.collections import collection_data, is_collection
from marginrank.distributed.file_chunks import file_data
from marginrank.distributed.labelling import Labelling
from marginrank.distributed.sources import is_files, is_folder_of_files, is_on_disk, remote_data
from marginrank.exceptions import MarginRankError
from marginrank.io.places import is_file
from marginrank.parameters import as_list


@dataclass(frozen=True)
class EvaluationSources:
    """Makes ranking data of validation sets, scored by the workers where they do not lie in memory.

    Parameters
    ----------
    cluster : Cluster
        The workers.
    like : Labelling
        That of the training data; columns of data frames have the same names.
    n_features : int
        Columns of the training data; text that names fewer has zeros in the others.
    mmap, verify : bool
        How workers read data sets on disk.
    """

    cluster: Cluster
    like: Labelling
    n_features: int
    mmap: bool
    verify: bool

    def read(self, eval_set: Any, qid: Any) -> tuple[Any, Any]:
        """Return validation sets, and what is left of the ids that were given along with them.

        A list is one of validation sets; a list of files within it is one set.
        """
        if not isinstance(eval_set, list):
            return self._one(eval_set, qid)
        given = as_list(qid)
        if given is None or len(given) != len(eval_set):  # none, or refused in a sentence by the ranker
            return [self._one(one, None)[0] for one in eval_set], qid
        pairs = [self._one(one, ids) for one, ids in zip(eval_set, given, strict=True)]
        left = [ids for _, ids in pairs]
        return [one for one, _ in pairs], None if all(ids is None for ids in left) else left

    def _one(self, given: Any, qid: Any) -> tuple[Any, Any]:
        """Return one set; ids of a Dask collection become part of it."""
        if given is None or (isinstance(given, RankingData) and not is_on_disk(given)):
            return given, qid
        if is_collection(given):
            return self._frame(given, qid), None
        if isinstance(given, tuple) and len(given) == 2 and is_collection(given[0]):
            return self._collection(given[0], self.like.of_other_rows._replace(y=given[1]), qid), None
        if isinstance(given, tuple):
            return given, qid
        if is_files(given):
            return self._files(given), qid
        if isinstance(given, str | os.PathLike) and (is_file(given) or is_folder_of_files(given)):
            return self._files([given]), qid
        if is_on_disk(given):
            return remote_data(given, self.cluster, mmap=self.mmap, verify=self.verify), qid
        raise MarginRankError(
            "eval_set must be the path of a data set on disk, of a file or of a folder of Parquet files, a "
            f"Dask data frame, a RankingData, (X, y), or a list of these; got {type(given).__name__}."
        )

    def _frame(self, frame: Any, qid: Any) -> RankingData:
        known = self.like.of_other_rows
        if known.y is None:
            raise MarginRankError(
                "eval_set is a Dask collection without labels. Pass (X, y), or name the column of the labels "
                "of training data and validation data alike: y='label'."
            )
        return self._collection(frame, known, qid)

    def _collection(self, X: Any, known: Labelling, qid: Any) -> RankingData:
        if not hasattr(X, "columns"):
            known = Labelling(y=known.y)
        return collection_data(X, known if qid is None else known._replace(qid=qid), self.cluster)

    def _files(self, paths: Any) -> RankingData:
        return file_data(paths, self.cluster, n_features=self.n_features)
