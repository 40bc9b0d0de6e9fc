"""Folds of remote rows in lockstep: what all of them ask the engine goes there in one call.

A fold has a design of its own, whose requests are held back until every fold has one. The engine answers them
together, each by its own sums, so a fold has the bits that it would have alone.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from marginrank.designs.lockstep import LatestAsks
from marginrank.storage.engines import Engine, EngineRequest, Make, Operation


class AskingEngine:
    """An engine whose requests wait for those of other folds, as long as there are others.

    Parameters
    ----------
    engine : Engine
        Answers.
    asks : LatestAsks
        The fold's place among the others.
    """

    def __init__(self, engine: Engine, asks: LatestAsks) -> None:
        self._engine = engine
        self._asks = asks

    def prepare(self, make: Make, chunks: Sequence[int], parts: Sequence[Any]) -> Any:
        """Return a handle of the engine."""
        return self._engine.prepare(make, chunks, parts)

    def gather(
        self, handle: Any, operation: Operation, shared: Any = None, each: Sequence[Any] | None = None
    ) -> list[Any]:
        """Return the answers."""
        return list(self.together([EngineRequest("gather", handle, operation, shared, each)])[0])

    def tree_sum(
        self, handle: Any, operation: Operation, shared: Any = None, each: Sequence[Any] | None = None
    ) -> NDArray[np.float64]:
        """Return the sum of the answers."""
        return np.asarray(self.together([EngineRequest("tree_sum", handle, operation, shared, each)])[0])

    def together(self, requests: Sequence[EngineRequest]) -> list[Any]:
        """Return the answers to several requests, asked along with those of other folds."""
        asks = self._asks.here
        return self._engine.together(requests) if asks is None else list(asks.ask(list(requests)))


class CallsTogether:
    """Answers the requests of folds by one call of the engine.

    Parameters
    ----------
    engine : Engine
        Reaches the rows of all folds.
    """

    def __init__(self, engine: Engine) -> None:
        self.engine = engine

    def __call__(self, requests: Mapping[int, Sequence[EngineRequest]]) -> dict[int, list[Any]]:
        """Answer all requests."""
        found = iter(self.engine.together([one for several in requests.values() for one in several]))
        return {k: [next(found) for _ in several] for k, several in requests.items()}
