"""Which code gets mutants, how many, and which tests are nearest to it: the one list.

A test file called after the source file (``test_planes.py`` of ``planes.py``) comes first by itself; then the
tests of the room in the order that stands here. Programs in C++ are named by their file.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import native_places
import python_places
from mutant_places import ROOT, Place, drawn


@dataclass(frozen=True)
class Room:
    """Sources below ``src/marginrank`` or headers, how many places are taken, and their tests."""

    sources: tuple[str, ...]
    n_places: int
    tests: tuple[str, ...]
    without: tuple[str, ...] = ()
    #: Tests that run the library in processes of their own, where nobody sees which functions they run.
    apart: tuple[str, ...] = ()

    @property
    def is_native(self) -> bool:
        """Whether it is in C++."""
        return all(source.endswith(".hpp") for source in self.sources)

    def files(self) -> list[Path]:
        """Return its sources."""
        folder = native_places.HEADERS if self.is_native else python_places.SOURCE
        found = {path for source in self.sources for path in folder.glob(source)}
        return sorted(found - {folder / name for name in self.without})


_CERTIFICATE = (
    "solvers/certificate.py",
    "solvers/combinations.py",
    "solvers/lower_lines.py",
    "solvers/plane_weights.py",
    "solvers/planes.py",
    "solvers/quadratic_forms.py",
    "solvers/score_planes.py",
)
_LEAST_SQUARES = (
    "solvers/conjugate_gradients.py",
    "solvers/leave_pair_out.py",
    "solvers/leave_query_out.py",
    "solvers/normal_equations.py",
    "solvers/preconditioned_cg.py",
    "solvers/shifted_cg.py",
    "solvers/spectral.py",
)

ROOMS = {
    "certificate": Room(
        (*_CERTIFICATE, "rounding.py"),
        16,
        (
            "tests/unit/solvers/test_certificate.py",
            "tests/unit/solvers/test_rounded_planes.py",
            "tests/unit/solvers/test_planes.py",
            "tests/unit/solvers/test_score_planes.py",
            "tests/contract/test_solvers.py",
            "tests/unit/solvers/test_bundle.py",
            "tests/unit/solvers/test_plane_weights.py",
            "tests/contract/test_product_rounding.py",
        ),
    ),
    "solvers": Room(
        ("solvers/**/*.py",),
        16,
        (
            "tests/contract/test_solvers.py",
            "tests/contract/test_penalties.py",
            "tests/unit/solvers/test_optima.py",
            "tests/unit/solvers/test_objective.py",
            "tests/unit/solvers/test_quasi_newton.py",
            "tests/unit/solvers/test_path_passes.py",
        ),
        without=(*_CERTIFICATE, *_LEAST_SQUARES),
    ),
    "least squares": Room(
        _LEAST_SQUARES,
        10,
        (
            "tests/unit/solvers/test_shifted_cg.py",
            "tests/unit/solvers/test_preconditioned_cg.py",
            "tests/contract/test_least_squares.py",
            "tests/unit/solvers/test_spectral.py",
            "tests/unit/estimators/test_leave_pair_out.py",
        ),
    ),
    "losses": Room(
        ("losses/*.py",),
        12,
        (
            "tests/unit/losses/test_pairwise.py",
            "tests/unit/losses/test_preferences.py",
            "tests/certificates/test_loss_rounding.py",
            "tests/unit/data/test_weights.py",
            "tests/contract/test_loss_values.py",
            "tests/contract/test_losses.py",
        ),
    ),
    "structured losses": Room(
        ("losses/structured/*.py",),
        8,
        (
            "tests/unit/losses/test_structured_targets.py",
            "tests/unit/losses/test_grades.py",
            "tests/contract/test_structured_losses.py",
        ),
    ),
    "metrics": Room(("metrics/**/*.py",), 18, ("tests/unit/metrics", "tests/contract/test_metrics.py")),
    "storage": Room(
        ("storage/**/*.py",),
        18,
        (
            "tests/unit/storage/test_chunk_passes.py",
            "tests/unit/storage/test_dataset_faults.py",
            "tests/unit/io/test_dataset.py",
            "tests/unit/designs/test_chunked_design.py",
            "tests/unit/storage/test_chunk_reader.py",
            "tests/unit/designs/test_remote_engine.py",
            "tests/fuzz/test_fuzz.py",
            "tests/unit/storage/test_stage_folder.py",
        ),
    ),
    "journal": Room(
        ("distributed/journal*.py",),
        10,
        ("tests/unit/distributed/test_dask_journal.py", "tests/fuzz/test_fuzz.py"),
    ),
    "pair kernels": Room(
        ("pair_brute.hpp", "pair_labels.hpp", "pair_loss.hpp", "pair_sweep.hpp", "query_loss.hpp"),
        13,
        ("native/tests/test_pair_loss.cpp", "native/fuzz/fuzz_pair_loss.cpp"),
    ),
    "sets and sorting": Room(
        ("prefix_sets.hpp", "score_sort.hpp"),
        6,
        (
            "native/tests/test_prefix_sets.cpp",
            "native/tests/test_score_sort.cpp",
            "native/tests/test_pair_loss.cpp",
        ),
    ),
    "other losses": Room(
        ("least_squares.hpp", "level_sums.hpp", "logistic.hpp", "preference_pairs.hpp", "smoothed_hinge.hpp"),
        9,
        (
            "native/tests/test_preference_pairs.cpp",
            "native/tests/test_least_squares.cpp",
            "native/tests/test_logistic.cpp",
            "native/tests/test_smoothed_hinge.cpp",
        ),
    ),
    "structured kernels": Room(
        ("structured_*.hpp",),
        12,
        ("native/tests/test_structured_losses.cpp", "native/tests/test_structured_dorm.cpp"),
    ),
    "metric kernels": Room(
        ("average_precision.hpp", "metric_spec.hpp", "ranked_query.hpp", "ranking_metrics.hpp"),
        9,
        ("native/tests/test_ranking_metrics.cpp", "native/fuzz/fuzz_metrics.cpp"),
    ),
    "passes": Room(
        ("block_passes.hpp", "matrix.hpp", "passes.hpp", "row_product.hpp", "simd.hpp"),
        12,
        (
            "native/tests/test_passes.cpp",
            "native/tests/test_block_passes.cpp",
            "native/tests/test_row_product.cpp",
            "native/tests/test_shifted_products.cpp",
            "native/tests/test_row_file.cpp",
        ),
    ),
    "columns": Room(
        ("column_fields.hpp", "*column_sums.hpp", "finite.hpp", "varying_columns.hpp"),
        8,
        (
            "native/tests/test_column_sums.cpp",
            "native/tests/test_row_file.cpp",
            "native/tests/test_finite.cpp",
        ),
    ),
    "quadratic programme": Room(
        ("simplex_qp.hpp",), 7, ("native/tests/test_simplex_qp.cpp", "native/fuzz/fuzz_simplex_qp.cpp")
    ),
    "path kernel": Room(("kernel_path*.hpp",), 7, ("native/tests/test_kernel_path.cpp",)),
    "selection kernels": Room(
        ("pair_selection.hpp", "query_rows.hpp", "query_selection.hpp"),
        5,
        ("native/tests/test_query_selection.cpp", "native/tests/test_pair_selection.cpp"),
    ),
    "text and files": Room(
        ("decimal.hpp", "letor*.hpp", "row_file.hpp", "parallel.hpp"),
        8,
        (
            "native/tests/test_letor.cpp",
            "native/tests/test_row_file.cpp",
            "native/tests/test_parallel.cpp",
            "native/fuzz/fuzz_letor.cpp",
        ),
    ),
}

#: Tests of another name than their source.
NEAREST = {
    "solvers/tracing.py": "tests/unit/paths/test_linear_path.py",
    "solvers/knot_spacing.py": "tests/unit/paths/test_linear_path.py",
    "solvers/leave_query_out.py": "tests/unit/solvers/test_spectral.py",
    "solvers/penalties/elastic_net.py": "tests/contract/test_penalties.py",
    "storage/dataset_manifest.py": "tests/unit/storage/test_dataset_faults.py",
    "storage/dataset_writer.py": "tests/unit/io/test_dataset.py",
    "storage/dataset_stage.py": "tests/unit/io/test_dataset.py",
    "storage/engines.py": "tests/unit/designs/test_remote_engine.py",
    "metrics/families.py": "tests/contract/test_metrics.py",
    "metrics/paired_tests.py": "tests/unit/metrics/test_comparison.py",
    "metrics/bootstrap.py": "tests/unit/metrics/test_comparison.py",
}

#: Functions that choose between ways of the same result, or bring memory nearer: mistakes cost time only.
ONLY_SPEED = frozenset({"direct_pays", "_rows_pay", "prefetch", "bring_near"})


def places_of(room: Room) -> list[Place]:
    """Return every place of a room."""
    read = native_places.places_of if room.is_native else python_places.places_of
    found = [place for path in room.files() for place in read(path)]
    return [place for place in found if place.function.rpartition(".")[2] not in ONLY_SPEED]


def sample() -> dict[str, list[Place]]:
    """Return the places that a full run takes, by room."""
    return {name: drawn(places_of(room), room.n_places) for name, room in ROOMS.items()}


def nearest_tests(room: Room, place: Place) -> list[str]:
    """Return the tests of a place, the nearest first."""
    stem = Path(place.file).stem
    ending = ".cpp" if room.is_native else ".py"
    own = [path for path in _test_files(ending) if path.stem == f"test_{stem}"]
    named = [NEAREST[place.file]] if place.file in NEAREST else []
    named += [str(path.relative_to(ROOT)) for path in own]
    includes = [test for test in room.tests if not room.is_native or _reaches(test, place.file)]
    return list(dict.fromkeys([*named, *includes]))


def _test_files(ending: str) -> list[Path]:
    folder = ROOT / ("native/tests" if ending == ".cpp" else "tests")
    return sorted(folder.rglob(f"test_*{ending}"))


def _reaches(program: str, header: str) -> bool:
    """Tell whether a program includes a header, directly or through others."""
    waiting, seen = [ROOT / program], set()
    while waiting:
        path = waiting.pop()
        if path in seen or not path.exists():
            continue
        seen.add(path)
        for line in path.read_text(encoding="utf-8").splitlines():
            if line.startswith('#include "'):
                name = line.split('"')[1]
                folder = native_places.HEADERS.parent if name.startswith("marginrank/") else path.parent
                waiting.append((folder / name).resolve())
    return native_places.HEADERS / header in seen
