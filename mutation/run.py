"""Check that the tests notice mistakes in the formulas: ``make mutation``.

Every mutant of the modules below (see ``mutants.py``) is written into a copy of the project, and
the tests are run there until one fails: first those of the module, then those of its neighbours,
then the others that reach it. Long studies are not run. A mutant with which the tests take more
than twice their time counts as noticed. A line that no test needs to watch says so, with the
reason: ``if 2 * kept > 1:  # mutation: both formulas enclose the logarithm``.

The exit code is 1 if a mutant survives.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from mutants import Mutant, mutants
from workshop import PACKAGE, ROOT, Workshop

_LAWS = ["tests/rounds/test_loss_laws.py"]

#: Each module with the tests that know it best.
MODULES = {
    "basics/interval.py": ["tests/test_interval.py"],
    "bounds/rounds/composition.py": ["tests/rounds/test_rounds_composition.py"],
    "bounds/rounds/dominated.py": _LAWS,
    "bounds/rounds/dominating.py": _LAWS,
    "bounds/rounds/hull.py": _LAWS,
    "bounds/rounds/loss_law.py": [*_LAWS, "tests/rounds/test_rounds_composition.py"],
    "bounds/rounds/node.py": ["tests/rounds/test_nodes_of_profiles.py"],
}

_FAR = ["tests/accounting/test_rounds_exact.py"]


def stages(module: str) -> list[list[str]]:
    """Return the tests of a module, nearest first."""
    return [MODULES[module], ["tests/rounds"], _FAR]


@dataclass(frozen=True)
class Place:
    """A mutant and the module it belongs to."""

    module: str
    mutant: Mutant

    def __str__(self) -> str:
        return f"{self.module}:{self.mutant.line} {self.mutant.function}: {self.mutant.change}"


def places(root: Path = ROOT) -> Iterator[Place]:
    """Yield the mutants of all modules."""
    for module in MODULES:
        source = (root / PACKAGE / module).read_text(encoding="utf-8")
        yield from (Place(module, mutant) for mutant in mutants(source))


def check(chosen: Sequence[Place], *, near: bool) -> int:
    """Run the tests on every mutant, print what happens, and return the number of survivors."""
    survivors = 0
    start = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        workshop = Workshop(Path(folder))
        for count, place in enumerate(chosen, 1):
            source = (workshop.folder / PACKAGE / place.module).read_text(encoding="utf-8")
            mutated = place.mutant.apply(source)
            tests = stages(place.module)[:1] if near else stages(place.module)
            noticed = any(workshop.fails(place.module, mutated, stage) for stage in tests)
            survivors += not noticed
            seconds = time.monotonic() - start
            verdict = "noticed " if noticed else "SURVIVED"
            print(f"{count}/{len(chosen)} {seconds:5.0f} s  {verdict}  {place}", flush=True)
    return survivors


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--list", action="store_true", help="print the mutants and run nothing")
    parser.add_argument("--only", default="", metavar="TEXT", help="part of a line of --list")
    parser.add_argument("--shard", default="1/1", metavar="I/K", help="the I-th of K parts")
    parser.add_argument("--near", action="store_true", help="only the tests that know it best")
    options = parser.parse_args()
    part, parts = map(int, options.shard.split("/"))
    chosen = [place for place in places() if options.only in str(place)][part - 1 :: parts]
    if options.list:
        for place in chosen:
            print(place)
        print(f"{len(chosen)} mutants")
        return 0
    survivors = check(chosen, near=options.near)
    print(f"{len(chosen)} mutants: {len(chosen) - survivors} noticed, {survivors} survived")
    return int(survivors > 0)


if __name__ == "__main__":
    sys.exit(main())
