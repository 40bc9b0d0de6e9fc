"""Every certificate of the library against exact arithmetic, on random problems, with no allowance.

The environment variable ``MARGINRANK_CERTIFICATES`` says how many problems, 100 by default. The id of a test
makes its problem again: ``pytest tests/certificates -k rank_svm-hard-7``, or, from the modules beside this
file, ``claims_of("rank_svm", "hard", 7)``.
"""

from __future__ import annotations

import os

import pytest
from claims import violations
from problems import IN_EVERY_RUN, claims_of, first_problems

N_PROBLEMS = int(os.environ.get("MARGINRANK_CERTIFICATES", IN_EVERY_RUN))


@pytest.mark.parametrize(
    ("kind", "hardness", "number"),
    [pytest.param(*one, id="-".join(map(str, one))) for one in first_problems(N_PROBLEMS)],
)
def test_no_claim_of_the_library_is_refuted(kind, hardness, number):
    refuted = [
        f"{claim.what} at alpha={claim.alpha!r}: {sentence}"
        for claim in claims_of(kind, hardness, number)
        for sentence in violations(claim)
    ]
    assert not refuted, "\n".join(refuted)
