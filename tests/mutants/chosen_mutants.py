"""Mistakes chosen by hand, each with the test that must notice it; ``make mutants`` runs them too.

A mutant is a line of the library with one fact of it changed. To add one, add an entry to ``MUTANTS``;
nothing but the entry is needed.
"""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from mutant_places import ROOT


class Mutant(NamedTuple):
    """In a module, ``right`` becomes ``wrong``; the test must fail."""

    module: str
    right: str
    wrong: str
    test: str


MUTANTS = {
    "nothing is rounded": Mutant(
        "marginrank.rounding",
        "UNIT = 2.0**-53",
        "UNIT = 0.0",
        "tests/unit/solvers/test_rounded_planes.py::test_errors_that_are_not_known_prove_nothing",
    ),
    "the bound falls": Mutant(
        "marginrank.solvers.certificate",
        "min(max(self.bound, bound), self.value)",
        "min(bound, self.value)",
        "tests/unit/solvers/test_certificate.py::test_the_bound_never_falls",
    ),
    "the bound exceeds the value": Mutant(
        "marginrank.solvers.certificate",
        "min(max(self.bound, bound), self.value)",
        "max(self.bound, bound)",
        "tests/unit/solvers/test_certificate.py::test_the_bound_never_exceeds_the_value",
    ),
    "one_se with two errors": Mutant(
        "marginrank.training.selection",
        "signed[best] + _SHARE_OF_ERROR * diff_std",
        "signed[best] + 2.0 * diff_std",
        "tests/unit/training/test_selection.py::test_the_careful_rule_goes_by_half_of_the_error_of_the_difference",
    ),
    "the first of the best alphas": Mutant(
        "marginrank.training.selection",
        "chosen = _largest_alpha(alphas, as_good)",
        "chosen = int(np.argmin(signed))",
        "tests/unit/training/test_selection.py::test_the_largest_of_the_best_alphas_is_taken_in_any_order",
    ),
    "the lambda of all rows for a pair left out": Mutant(
        "marginrank.solvers.leave_pair_out",
        "shift = 0.5 * alpha * (self._n_rows - 2)",
        "shift = 0.5 * alpha * self._n_rows",
        "tests/unit/estimators/test_leave_pair_out.py"
        "::test_differences_are_those_of_refitting_without_the_pair",
    ),
    "least squares stop ten times above tol": Mutant(
        "marginrank.solvers.preconditioned_cg",
        "by_gap = self._open_gap <= self._tol",
        "by_gap = self._open_gap <= 10.0 * self._tol",
        "tests/unit/solvers/test_preconditioned_cg.py::test_a_run_ends_when_its_gap_is_closed_and_not_before",
    ),
    "another lambda without a query": Mutant(
        "marginrank.training.query_out",
        "self.shift = 0.5 * alpha",
        "self.shift = 0.51 * alpha",
        "tests/unit/paths/test_feature_selection.py"
        "::test_selection_equals_forward_selection_by_refits_of_rank_rls",
    ),
    "pairs of rows are independent": Mutant(
        "marginrank.training.pair_out",
        "repeated=2.0",
        "repeated=1.0",
        "tests/unit/paths/test_feature_selection.py"
        "::test_standard_errors_of_pairs_are_those_of_a_mean_over_pairs_of_independent_rows",
    ),
    "all columns are asked for": Mutant(
        "marginrank.model.explained",
        "few = None if len(used) == model.n_features else used",
        "few = None",
        "tests/unit/model/test_features_used.py"
        "::test_frames_need_only_the_used_columns_and_score_the_same_bits",
    ),
    "exact only above as many resamples as signs": Mutant(
        "marginrank.metrics.paired_tests",
        "if 2**n <= n_resamples:",
        "if 2**n < n_resamples:",
        "tests/unit/metrics/test_comparison.py::test_as_many_resamples_as_signs_are_exact",
    ),
    "integers beyond float64 pass": Mutant(
        "marginrank.parameters",
        "return number if np.isfinite(number) else None",
        "return number",
        "tests/unit/test_parameters.py::test_what_float64_cannot_hold_is_no_number",
    ),
    "any value is a switch": Mutant(
        "marginrank.parameters",
        "if not isinstance(value, bool | np.bool_):\n        raise",
        "if value is None:\n        raise",
        "tests/unit/test_parameters.py::test_a_switch_is_true_or_false",
    ),
    "CSR counts the longer of values and indices": Mutant(
        "marginrank.data.sparse_matrices",
        "indptr[-1] > min(len(X.indices), len(X.data))",
        "indptr[-1] > max(len(X.indices), len(X.data))",
        "tests/unit/data/test_validation.py::test_csr_that_points_outside_is_refused",
    ),
    "row pointers on disk may fall": Mutant(
        "marginrank.storage.dataset_files",
        "if any(ends) or np.any(pointers[1:] < pointers[:-1]):",
        "if any(ends):",
        "tests/unit/storage/test_dataset_faults.py"
        "::test_row_pointers_that_fall_or_end_elsewhere_are_refused_when_they_are_read",
    ),
    "the checksum of a journal is not compared": Mutant(
        "marginrank.distributed.journal_records",
        "if file.read(_CHECK) != hashlib.sha256(lengths + text + body).digest():",
        "if len(file.read(_CHECK)) != _CHECK:",
        "tests/unit/distributed/test_dask_journal.py::test_an_answer_that_differs_in_one_bit_is_asked_again",
    ),
    "a manifest without a seal is accepted": Mutant(
        "marginrank.storage.dataset_manifest",
        "if seal is None or hashlib",
        "if seal is not None and hashlib",
        "tests/unit/storage/test_dataset_faults.py::test_a_manifest_without_its_seal_is_refused",
    ),
    "compressed files expand to twice the limit": Mutant(
        "marginrank.io.sources",
        "int(min(_expansion(max_expansion) * n_packed, 2.0**63))",
        "int(min(2 * _expansion(max_expansion) * n_packed, 2.0**63))",
        "tests/unit/io/test_expansion.py::test_the_limit_is_met_to_the_byte",
    ),
}


def source_of(mutant: Mutant) -> Path:
    """Return the file of a mutant's module."""
    return ROOT / "src" / (mutant.module.replace(".", "/") + ".py")


def mutated(name: str) -> str:
    """Return the text of a module with a mistake made."""
    mutant = MUTANTS[name]
    text = source_of(mutant).read_text(encoding="utf-8")
    if text.count(mutant.right) != 1:
        raise LookupError(f"{mutant.right!r} must occur once in {mutant.module}")
    return text.replace(mutant.right, mutant.wrong)
