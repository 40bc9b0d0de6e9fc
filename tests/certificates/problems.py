"""The kinds of problems, and the seed of each: ``claims_of("rank_svm", "hard", 7)`` makes one again."""

from __future__ import annotations

import zlib
from itertools import count, islice

import numpy as np
from constrained_claims import CONSTRAINED
from fitted_claims import ESTIMATORS
from other_ways_claims import OTHER_WAYS
from path_claims import PATHS

KINDS = {**ESTIMATORS, **PATHS, **CONSTRAINED, **OTHER_WAYS}
CLASSES = [(kind, hardness) for kind in KINDS for hardness in ("mild", "hard")]
#: Problems of an ordinary test run.
IN_EVERY_RUN = 120
#: Problems that showed a fault once and lie beyond those.
FAULTS = [("rank_rls_path", "hard", 37), ("rank_svm_disk", "hard", 5)]


def seeded(kind, hardness, number):
    """Return the generator of one problem."""
    return np.random.default_rng([zlib.crc32(f"{kind}-{hardness}".encode()), number])


def claims_of(kind, hardness, number):
    """Draw a problem, solve it with the library, and return what that claims."""
    return KINDS[kind](seeded(kind, hardness, number), hardness == "hard")


def first_problems(n_problems):
    """Return as many problems, evenly from the classes, and those that showed a fault."""
    every = ((kind, hardness, number) for number in count() for kind, hardness in CLASSES)
    return list(dict.fromkeys([*islice(every, n_problems), *FAULTS]))
