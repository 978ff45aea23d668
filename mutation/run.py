"""Check that the tests notice mistakes in the formulas: ``make mutation``.

Every mutant of the core modules (see ``mutants.py``) is written into a copy of the project, and the
tests are run there until one fails: first those of the module, then those of its neighbours, then
the others that reach it. Long studies are not run. A mutant with which the tests take more than
twice their time counts as noticed. What no test needs to notice is listed in ``equivalent.toml``
with the reason, and is not run.

Left out are ``divergence/proposals``, ``accounting/proposals.py`` and ``climb.py``, which only
choose what to try: bounds are computed, and hold, for whatever is proposed there.

The exit code is 1 if a mutant survives that is not listed.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
import tomllib
from collections.abc import Iterator, Sequence
from pathlib import Path

from mutants import Mutant, mutants
from workshop import PACKAGE, ROOT, Workshop

LISTED = Path(__file__).resolve().parent / "equivalent.toml"

_COMPONENTS = [
    "tests/decomposition/test_algebra.py",
    "tests/decomposition/test_cell_errors.py",
    "tests/decomposition/test_coarse.py",
    "tests/decomposition/test_component_errors.py",
    "tests/decomposition/test_composition_errors.py",
    "tests/decomposition/test_decomposition.py",
]
_BLOCKS = [f"tests/divergence/test_{name}.py" for name in ("blocks", "kernel", "hockey_stick")]
_CONTOUR = ["tests/divergence/test_assembly.py", "tests/divergence/test_contour.py", *_BLOCKS]
_ENUMERATION = [
    "tests/divergence/test_enumeration_errors.py",
    "tests/divergence/test_enumeration.py",
    *_BLOCKS,
]
_TILT = ["tests/divergence/test_tilt_errors.py", "tests/divergence/test_tilt.py", *_BLOCKS]

_NOISE = ["tests/decomposition/test_panels.py", "tests/decomposition/test_noise_nodes.py"]
_ROWS = ["tests/divergence/test_many_sums.py", "tests/divergence/test_noise_rows.py"]
_NOISE_SUMS = [f"tests/divergence/test_noise_{name}.py" for name in ("oracle", "sums")]

_LAWS = ["tests/rounds/test_loss_laws.py"]

#: Each core module with the tests that know it best.
MODULES = {
    "interval.py": ["tests/test_interval.py"],
    "decomposition/arithmetic.py": ["tests/decomposition/test_arithmetic.py"],
    "decomposition/boxes.py": _COMPONENTS,
    "decomposition/cells.py": ["tests/decomposition/test_cells.py"],
    "decomposition/components.py": _COMPONENTS,
    "decomposition/continuous.py": ["tests/decomposition/test_continuous.py"],
    "decomposition/decomposition.py": _COMPONENTS,
    "decomposition/faint.py": ["tests/decomposition/test_faint.py", *_COMPONENTS],
    "decomposition/gains.py": ["tests/decomposition/test_law_rows.py", *_COMPONENTS],
    "decomposition/gparv.py": ["tests/decomposition/test_gparv.py"],
    "decomposition/lattice.py": ["tests/decomposition/test_lattice.py"],
    "decomposition/law_rows.py": ["tests/decomposition/test_law_rows.py"],
    "decomposition/masses.py": ["tests/decomposition/test_masses.py"],
    "decomposition/mixture.py": _COMPONENTS,
    "decomposition/panels.py": _NOISE,
    "decomposition/product.py": ["tests/decomposition/test_faint.py", *_COMPONENTS],
    "decomposition/segments.py": _COMPONENTS,
    "decomposition/smooth.py": _NOISE,
    "decomposition/smooth_rows.py": _ROWS,
    "decomposition/transform.py": _NOISE,
    "divergence/blocks.py": _BLOCKS,
    "divergence/characteristic.py": [
        "tests/divergence/test_characteristic.py",
        "tests/divergence/test_nodes.py",
    ],
    "divergence/coarsening.py": ["tests/divergence/test_coarsening.py"],
    "divergence/contour.py": _CONTOUR,
    "divergence/count_cells.py": ["tests/divergence/test_count_cells.py"],
    "divergence/count_grid.py": ["tests/divergence/test_count_cells.py"],
    "divergence/elementary.py": [
        "tests/divergence/test_mean.py",
        "tests/divergence/test_jumps.py",
        *_BLOCKS,
    ],
    "divergence/enclosure.py": ["tests/divergence/test_enclosure.py"],
    "divergence/engine.py": ["tests/divergence/test_mean.py"],
    "divergence/enumeration.py": _ENUMERATION,
    "divergence/examined.py": ["tests/divergence/test_examined.py"],
    "divergence/few_geometric.py": ["tests/divergence/test_few_geometric.py"],
    "divergence/few_laplace.py": ["tests/divergence/test_few_laplace.py"],
    "divergence/geometric.py": [
        "tests/divergence/test_geometric.py",
        "tests/divergence/test_swap.py",
    ],
    "divergence/geometric_shift.py": [
        "tests/accounting/test_sum_view.py",
        "tests/accounting/test_one_number.py",
    ],
    "divergence/interpolation.py": ["tests/divergence/test_interpolation.py"],
    "divergence/jumps.py": ["tests/divergence/test_jumps.py"],
    "divergence/kernel.py": ["tests/divergence/test_kernel.py"],
    "divergence/laplace_shift.py": ["tests/accounting/test_sum_view.py"],
    "divergence/lead.py": ["tests/divergence/test_lead.py"],
    "divergence/mean.py": [
        "tests/divergence/test_mean.py",
        "tests/divergence/test_units.py",
        *_BLOCKS,
    ],
    "divergence/integrand.py": ["tests/divergence/test_nodes.py", *_BLOCKS],
    "divergence/nodes.py": ["tests/divergence/test_nodes.py", *_BLOCKS],
    "divergence/normal_shift.py": ["tests/accounting/test_sum_view.py"],
    "divergence/rare.py": ["tests/divergence/test_rare.py"],
    "divergence/shares.py": ["tests/divergence/test_swap.py"],
    "divergence/slots.py": ["tests/divergence/test_swap.py", "tests/divergence/test_row_swap.py"],
    "divergence/skipped.py": ["tests/divergence/test_skipped.py", "tests/divergence/test_swap.py"],
    "divergence/smooth.py": _NOISE_SUMS,
    "divergence/smooth_jumps.py": [*_NOISE_SUMS, "tests/divergence/test_noise_rows.py"],
    "divergence/rough_bound.py": ["tests/divergence/test_rough_bound.py"],
    "divergence/row_contour.py": ["tests/divergence/test_many_sums.py"],
    "divergence/noise_points.py": _ROWS,
    "divergence/point.py": _ROWS,
    "divergence/row_atoms.py": ["tests/divergence/test_row_characteristic.py", *_ROWS],
    "divergence/row_characteristic.py": ["tests/divergence/test_row_characteristic.py", *_ROWS],
    "divergence/row_jumps.py": _ROWS,
    "divergence/row_nodes.py": _ROWS,
    "divergence/row_sums.py": _ROWS,
    "divergence/row_tilt.py": _ROWS,
    "divergence/row_transform.py": _ROWS,
    "divergence/row_lead.py": ["tests/divergence/test_row_swap.py"],
    "divergence/row_mixtures.py": [
        "tests/divergence/test_row_mixtures.py",
        "tests/divergence/test_row_swap.py",
    ],
    "divergence/row_selection.py": [
        "tests/divergence/test_row_swap.py",
        "tests/divergence/test_many_sums.py",
    ],
    "divergence/row_swap.py": [
        "tests/divergence/test_row_swap.py",
        "tests/divergence/test_row_mixtures.py",
    ],
    "divergence/several.py": _ROWS,
    "divergence/stretches.py": ["tests/divergence/test_stretches.py"],
    "divergence/swap.py": [
        "tests/divergence/test_swap_terms.py",
        "tests/divergence/test_swap.py",
        "tests/divergence/test_lead.py",
        "tests/divergence/test_examined.py",
    ],
    "divergence/swap_integrand.py": [
        "tests/divergence/test_swap_integrand.py",
        "tests/divergence/test_swap.py",
        "tests/divergence/test_row_swap.py",
    ],
    "divergence/terms.py": ["tests/divergence/test_jumps.py"],
    "divergence/tilt.py": _TILT,
    "divergence/transform.py": _NOISE_SUMS,
    "divergence/two_counts.py": ["tests/accounting/test_unary_sums.py"],
    "divergence/usual.py": ["tests/divergence/test_usual.py"],
    "rounds/composition.py": ["tests/rounds/test_rounds_composition.py"],
    "rounds/dominated.py": _LAWS,
    "rounds/dominating.py": _LAWS,
    "rounds/hull.py": _LAWS,
    "rounds/loss_law.py": [*_LAWS, "tests/rounds/test_rounds_composition.py"],
    "rounds/node.py": ["tests/rounds/test_nodes_of_profiles.py"],
    "accounting/binary_response.py": ["tests/accounting/test_binary_response.py"],
    "accounting/inversion.py": ["tests/accounting/test_inversion.py"],
}

_ENGINE = ["tests/divergence", "--ignore=tests/divergence/test_exact_laws.py"]
_FAR = ["tests/accounting", "tests/certification", "tests/randomizers"]


def stages(module: str) -> list[list[str]]:
    """Return the tests of a module, nearest first."""
    if module.startswith("rounds"):
        return [MODULES[module], ["tests/rounds"], ["tests/accounting/test_rounds_exact.py"]]
    if module.startswith("accounting"):
        return [MODULES[module], _FAR]
    near = ["tests/decomposition", *_ENGINE] if module.startswith("decomposition") else _ENGINE
    return [MODULES[module], near, _FAR]


class Place:
    """A mutant and the module it belongs to."""

    def __init__(self, module: str, mutant: Mutant) -> None:
        self.module, self.mutant = module, mutant
        self.function = f"{module}:{mutant.function}"

    def __str__(self) -> str:
        return f"{self.module}:{self.mutant.line} {self.mutant.function}: {self.mutant.change}"


def places(root: Path = ROOT) -> Iterator[Place]:
    """Yield the mutants of all core modules."""
    for module in MODULES:
        source = (root / PACKAGE / module).read_text(encoding="utf-8")
        yield from (Place(module, mutant) for mutant in mutants(source))


class Listed:
    """Functions and mutants that no test needs to notice, each with its reason."""

    def __init__(self, path: Path = LISTED) -> None:
        table = tomllib.loads(path.read_text(encoding="utf-8"))
        self.functions = {
            function: entry["reason"]
            for entry in table["functions"]
            for function in entry["functions"]
        }
        self.changes = {
            (entry["function"], change): entry["reason"]
            for entry in table["mutants"]
            for change in entry["changes"]
        }

    def __contains__(self, place: Place) -> bool:
        key = place.function, place.mutant.change
        return place.function in self.functions or key in self.changes


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
    listed = Listed()
    wanted = [place for place in chosen if place not in listed]
    if options.list:
        for place in chosen:
            print(place, "(listed)" if place in listed else "")
        print(f"{len(chosen)} mutants, {len(chosen) - len(wanted)} listed")
        return 0
    survivors = check(wanted, near=options.near)
    print(
        f"{len(chosen)} mutants: {len(wanted) - survivors} noticed, "
        f"{len(chosen) - len(wanted)} listed, {survivors} survived"
    )
    return int(survivors > 0)


if __name__ == "__main__":
    sys.exit(main())
