"""Several columns of y, taken apart."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from marginrank.data import RankingData
from marginrank.data import validation as gate
from marginrank.exceptions import MarginRankError


def split_targets(X: Any, y: Any) -> tuple[Any, NDArray[np.float64] | None]:
    """Return labels of one column, and all columns as rows where y has two dimensions.

    The one column is the first that is not constant: the others are learnt beside it, even if constant.
    """
    if y is None or isinstance(X, RankingData):
        return y, None
    columns = gate.as_array(y, "y")
    if columns.ndim != 2:
        return y, None
    if columns.shape[1] == 0:
        raise MarginRankError("y must have at least one column; got none.")
    targets = np.stack([gate.check_labels(column, len(columns)) for column in columns.T])
    varies = np.ptp(targets, axis=1) > 0.0
    return targets[int(np.argmax(varies))], targets
