"""Errors and warnings of the library.

Each error is a ``ValueError`` underneath, so code that already catches those keeps working.
"""


class MarginRankError(ValueError):
    """Base of the library's own errors: the input or the configuration cannot be used as it is."""


class NothingToRankError(MarginRankError):
    """The data hold no comparable pair, so there is nothing to learn from."""


class IncompatibleSolverError(MarginRankError):
    """The chosen solver needs something that the chosen loss does not offer."""


class ModelFileError(MarginRankError):
    """A model cannot be written to a file, or read from it: missing, damaged, or not a model at all."""


class ClusterError(MarginRankError):
    """The workers of a cluster failed too often, or its scheduler is gone."""


class ZeroModelWarning(UserWarning):
    """No model is better than the one whose scores are all zero; the message says why, and what to do."""
