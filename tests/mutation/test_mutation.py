"""The mutation check itself: what it changes, what it lists, and that it notices."""

from __future__ import annotations

import importlib
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
MUTATION = ROOT / "mutation"
sys.path.insert(0, str(MUTATION))
mutants = importlib.import_module("mutants")
run = importlib.import_module("run")

PLACES = list(run.places())

SOURCE = '''"""A docstring - with + signs."""
LIMIT = 3 * 2


def area(x: float, y: float = 2.0) -> float:
    """Return x * y - 1."""
    if x < 0:
        raise ValueError(f"x must be at least {-1 + 1}")
    lower, upper = min(x, y), -y
    table = [0.5, 1]  # places to try: 1 + 1
    rounded = math.nextafter(x, math.inf)
    total = 8 * UNIT + 0.5 * (
        lower  # é - é
        + table[1]
    )
    total -= upper
    return total / 2
'''

CHANGES = [
    "if x < 0:  =>  if x > 0:",
    "lower, upper = min(x, y), -y  =>  lower, upper = max(x, y), -y",
    "lower, upper = min(x, y), -y  =>  lower, upper = min(x, y), y",
    "rounded = math.nextafter(x, math.inf)  =>  rounded = math.nextafter(x, 0.0)",
    "total = 8 * UNIT + 0.5 * (  =>  total = 8 / UNIT + 0.5 * (",
    "total = 8 * UNIT + 0.5 * (  =>  total = 8 * UNIT - 0.5 * (",
    "total = 8 * UNIT + 0.5 * (  =>  total = 8 * UNIT + 1.0 * (",
    "total = 8 * UNIT + 0.5 * (  =>  total = 8 * UNIT + 0.5 / (",
    "lower  # é - é  =>  upper  # é - é",
    "+ table[1]  =>  - table[1]",
    "total -= upper  =>  total += upper",
    "total -= upper  =>  total -= lower",
    "return total / 2  =>  return total * 2",
    "return total / 2  =>  return total / 3",
]


def test_signs_directions_factors_and_comparisons_are_changed() -> None:
    found = mutants.mutants(SOURCE)
    assert [mutant.change for mutant in found] == CHANGES
    assert {mutant.function for mutant in found} == {"area"}


def test_a_mutant_compiles_and_differs_in_one_place() -> None:
    for mutant in mutants.mutants(SOURCE):
        changed = mutant.apply(SOURCE)
        compile(changed, "mutant", "exec")
        pairs = zip(SOURCE.splitlines(), changed.splitlines(), strict=True)
        differing = [i for i, (old, new) in enumerate(pairs, 1) if old != new]
        assert differing == [mutant.line]


def test_mutants_of_modules_compile() -> None:
    for place in PLACES[::25]:
        source = (ROOT / run.PACKAGE / place.module).read_text(encoding="utf-8")
        compile(place.mutant.apply(source), place.module, "exec")


def test_every_module_and_test_exists() -> None:
    for module in run.MODULES:
        assert (ROOT / run.PACKAGE / module).is_file()
        for stage in run.stages(module):
            assert all((ROOT / path.removeprefix("--ignore=")).exists() for path in stage)


def test_lines_with_a_reason_stay() -> None:
    line = "    return total / 2\n"
    spared = line.replace("\n", "  # mutation: half of it is one as well\n")
    found = mutants.mutants(SOURCE.replace(line, spared))
    assert [mutant.change for mutant in found] == CHANGES[:-2]


@pytest.mark.heavy
@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_wrong_rounding_direction_is_noticed() -> None:
    one = "exp_up: return math.nextafter(math.nextafter(math.exp(x), math.inf), math.inf)  =>  "
    one += "return math.nextafter(math.nextafter(math.exp(x), 0.0)"
    command = [sys.executable, str(MUTATION / "run.py"), "--near", "--only", one]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "1 mutants: 1 noticed, 0 survived" in done.stdout
