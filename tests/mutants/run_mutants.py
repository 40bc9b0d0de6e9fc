"""Make mistakes on purpose and see which tests notice: ``make mutants``, ``make mutants MUTANTS=20`` for few.

A mutant that no test notices must stand in ``survivors.toml`` with the reason why it changes no result; the
run fails otherwise. ``noticed.json`` remembers which test noticed each mutant: that one is tried first, the
rest of the room only if it lets the mistake through. ``--record`` writes it.
"""

from __future__ import annotations

import argparse
import json
import resource
import sys
import tomllib
from collections import Counter
from dataclasses import dataclass, replace

import chosen_mutants
import mutant_rooms
from mutant_places import Place
from mutant_trials import CANNOT_BE_IMPORTED, DOES_NOT_COMPILE, FOLDER, PythonTrials, try_native

NOTICED = FOLDER / "noticed.json"
SURVIVORS = FOLDER / "survivors.toml"
CHOSEN = "chosen by hand"


@dataclass(frozen=True)
class Mutant:
    """A mistake of a room with its tests, the nearest first."""

    room: str
    name: str
    tests: list[str]
    rank: str
    place: Place | None = None

    @property
    def is_native(self) -> bool:
        """Whether it is in C++."""
        return self.room != CHOSEN and mutant_rooms.ROOMS[self.room].is_native


def mutants() -> list[Mutant]:
    """Return all mutants, those that are tried first at the front."""
    found = [
        Mutant(
            room, place.name, mutant_rooms.nearest_tests(mutant_rooms.ROOMS[room], place), place.rank, place
        )
        for room, places in mutant_rooms.sample().items()
        for place in places
    ]
    for name, chosen in chosen_mutants.MUTANTS.items():
        rank = Place(chosen.module, "", "", chosen.right, chosen.wrong).rank
        found.append(Mutant(CHOSEN, f"chosen: {name}", [chosen.test], rank))
    return sorted(found, key=lambda mutant: mutant.rank)


def survivors() -> dict[str, dict[str, str]]:
    """Return what is written of survivors, by name: why one is ``equivalent``, or the ``test`` it got."""
    return {entry["mutant"]: entry for entry in tomllib.loads(SURVIVORS.read_text("utf-8"))["survivor"]}


def noticed() -> dict[str, str]:
    """Return which test noticed each mutant when that was last written down."""
    return json.loads(NOTICED.read_text("utf-8")) if NOTICED.exists() else {}


class Run:
    """Mutants, what is written of them, and their tests, loaded.

    Parameters
    ----------
    chosen : list of Mutant
        What is tried.
    thorough : bool
        First see that the tests pass without a mistake, and which functions they run; and try what plain
        programs in C++ let through with sanitizers.
    """

    def __init__(self, chosen: list[Mutant], *, thorough: bool) -> None:
        self._known, self._listed = noticed(), survivors()
        self._thorough = thorough
        tests = [test for mutant in chosen if not mutant.is_native for test in self._possible(mutant)]
        self._python = PythonTrials(tests)
        self.good = True
        if thorough:
            files = sorted({test.partition("::")[0] for test in tests})
            programs = sorted({test for mutant in chosen if mutant.is_native for test in mutant.tests})
            failed = self._python.check(files) if files else None
            failed = failed or try_native(None, "", programs, quick=True)
            if failed is not None:
                print(f"{failed} fails without a mutant")
                self.good = False

    def verdict(self, mutant: Mutant) -> str | None:
        """Return the test that notices a mutant, or none; one that did before is asked first."""
        before = self._known.get(mutant.name, "")
        if before in (CANNOT_BE_IMPORTED, DOES_NOT_COMPILE):
            return before
        if mutant.place is None:
            return self._python.tried_chosen(mutant.name.removeprefix("chosen: "))
        first = self._first(mutant)
        if first:
            test = self._tried(mutant, mutant.place, [first], quick=True)
            if test is not None:
                return test
        tests = mutant.tests
        if not mutant.is_native:
            tests = self._python.nearest(mutant.place, tests, mutant_rooms.ROOMS[mutant.room].apart)
        return self._tried(mutant, mutant.place, tests, quick=not self._thorough) if tests else None

    def judged(self, mutant: Mutant, test: str | None) -> str:
        """Return what a verdict is called."""
        equivalent = "equivalent" in self._listed.get(mutant.name, {})
        if test == DOES_NOT_COMPILE:
            return test
        noticed, not_noticed = ("NOT THE SAME", "equivalent") if equivalent else ("noticed", "SURVIVES")
        outcome = noticed if test else not_noticed
        self.good = self.good and not outcome.isupper()
        return outcome

    def remember(self, mutant: Mutant, test: str | None) -> None:
        """Write down which test noticed a mutant."""
        self._known.pop(mutant.name, None)
        if test is not None:
            self._known[mutant.name] = test
        NOTICED.write_text(json.dumps(self._known, indent=1, sort_keys=True) + "\n", "utf-8")

    def _tried(self, mutant: Mutant, place: Place, tests: list[str], *, quick: bool) -> str | None:
        if mutant.is_native:
            return try_native(place.file, mutant.name, tests, quick=quick)
        return self._python.tried(place, tests)

    def _first(self, mutant: Mutant) -> str:
        written = self._listed.get(mutant.name, {}).get("test")
        return written or self._known.get(mutant.name, "").rpartition(": ")[2]

    def _possible(self, mutant: Mutant) -> list[str]:
        """Return the tests that may be needed; those of the room only if one has to be searched."""
        first = self._first(mutant)
        return [first] if first and not self._thorough else [*filter(None, [first]), *mutant.tests]


def main() -> int:
    """Try the mutants that are asked for; return 1 if one survives that is not listed."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--first", type=int, help="so many of those that a test noticed before, not all")
    parser.add_argument("--only", default="", metavar="TEXT", help="those with it in their room or name")
    parser.add_argument("--language", choices=["python", "c++"], help="only mutants in one of them")
    parser.add_argument("--near", type=int, help="no more than so many test files or programs of each")
    parser.add_argument("--new", action="store_true", help="those of which nothing is written")
    parser.add_argument("--record", action="store_true", help="write down which test noticed what")
    parser.add_argument("--quick", action="store_true", help="the tests are known to pass; no sanitizers")
    options = parser.parse_args()
    known, listed = noticed(), survivors()
    chosen = [mutant for mutant in mutants() if options.only in f"{mutant.room}: {mutant.name}"]
    if options.language:
        chosen = [mutant for mutant in chosen if mutant.is_native == (options.language == "c++")]
    if options.near:
        chosen = [replace(mutant, tests=mutant.tests[: options.near]) for mutant in chosen]
    if options.new:
        chosen = [mutant for mutant in chosen if mutant.name not in known | listed]
    if options.first is not None:
        slow = ("hangs: ", DOES_NOT_COMPILE)
        chosen = [one for one in chosen if not known.get(one.name, slow[0]).startswith(slow)][: options.first]
    run = Run(chosen, thorough=options.first is None and not options.quick)
    counts: Counter[tuple[str, str]] = Counter()
    for mutant in chosen if run.good else ():
        test = run.verdict(mutant)
        outcome = run.judged(mutant, test)
        counts[mutant.room, outcome] += 1
        print(f"{outcome:12} {mutant.room}: {mutant.name}{f'  by {test}' if test else ''}", flush=True)
        if options.record:
            run.remember(mutant, test)
    report(counts)
    return int(not run.good)


def report(counts: Counter[tuple[str, str]]) -> None:
    """Print a table: what became of the mutants of each room."""
    outcomes = sorted({outcome for _, outcome in counts})
    rooms = list(dict.fromkeys([*mutant_rooms.ROOMS, CHOSEN]))
    print("\n" + f"{'':22}" + "".join(f"{outcome:>18}" for outcome in outcomes))
    for room in [*(room for room in rooms if any(counts[room, outcome] for outcome in outcomes)), "all"]:
        row = [
            sum(n for (r, o), n in counts.items() if o == outcome and room in (r, "all"))
            for outcome in outcomes
        ]
        print(f"{room:22}" + "".join(f"{n:18d}" for n in row))
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    print(f"{(used.ru_utime + used.ru_stime) / 60:.1f} minutes of CPU time")


if __name__ == "__main__":
    sys.exit(main())
