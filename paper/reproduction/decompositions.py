"""Tables 2 and 3: optimal decompositions of common mechanisms."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from reproduction.curve import OnDone
from reproduction.enumeration import MECHANISMS, Coefficients, coefficients
from reproduction.formula import FINITE, LIMIT, PRINTED, Row
from reproduction.item import Item, Result
from reproduction.settings import Settings
from reproduction.table import Cell, Table, number
from shuffledp.basics.rounding import nearest
from shuffledp.decomposition import Decomposition
from shuffledp.mechanisms import (
    KRR,
    OUE,
    RAPPOR,
    BinaryLocalHash,
    HadamardResponse,
    LocalRandomizer,
)

#: Sizes that can be enumerated: inputs, for HR outputs.
SIZES = {"k-RR": 10, "BLH": 5, "RAPPOR": 5, "OUE": 5, "HR": 8}

#: The level at which values are shown, and all at which they are checked.
LEVEL = 1.0
CHECKED_LEVELS = (0.1, 1.0, 4.0)

#: Domains so large that only rounding separates them from the limit.
_LARGE = {"BLH": 60, "RAPPOR": 200, "OUE": 200, "HR": 2**50}

_SAME = 1e-12
_PLACES = ("p", "q", "r")

_LIBRARY: dict[str, Callable[[float, int | None], LocalRandomizer]] = {
    "k-RR": lambda level, size: KRR(k=size or 2, epsilon0=level),
    "BLH": lambda level, size: BinaryLocalHash(epsilon0=level, domain_size=size),
    "RAPPOR": lambda level, size: RAPPOR(epsilon0=level, domain_size=size),
    "OUE": lambda level, size: OUE(epsilon0=level, domain_size=size),
    # The table counts outputs; one of them is no input.
    "HR": lambda level, size: HadamardResponse(level, None if size is None else size - 1),
}


def library_blanket(name: str, epsilon0: float, size: int | None) -> Decomposition:
    """Return the decomposition behind the library's bounds; no size is the limit."""
    randomizer = _LIBRARY[name](epsilon0, size)
    return randomizer.decomposition(randomizer.neighbours()[0])


def library_coefficients(name: str, epsilon0: float, size: int | None) -> Coefficients:
    """Return p, q, r of the library's decomposition."""
    blanket = library_blanket(name, epsilon0, size)
    middle = math.exp(epsilon0 / 2)
    ratios = zip(blanket.ratio0 > middle, blanket.ratio1 > middle, strict=True)
    masses = dict(zip(ratios, blanket.weight.tolist(), strict=True))
    patterns = ((True, False), (True, True), (False, False))
    return Coefficients(*(masses.get(pattern, 0.0) for pattern in patterns))


def mean_of_row(values: Coefficients, epsilon0: float) -> float:
    """Return (E+1)p + Eq + r, the mass of the first input's law: 1 for every decomposition."""
    E = math.exp(epsilon0)
    return (E + 1) * values.p + E * values.q + values.r


@dataclass(frozen=True, kw_only=True)
class FiniteTable(Item):
    """Finite domains: formula, library, enumeration of the real mechanism, and the paper's row."""

    def identity(self, settings: Settings) -> dict[str, object]:
        """Return sizes and levels."""
        return {"sizes": SIZES, "level": LEVEL, "checked": list(CHECKED_LEVELS)}

    def compute(self, settings: Settings, on_done: OnDone | None = None) -> Result:
        """Evaluate every coefficient in four ways."""
        rows: list[tuple[Cell, ...]] = []
        for name, row in FINITE.items():
            size = SIZES[name]
            printed = PRINTED.get(name, row)
            real = coefficients(MECHANISMS[name](size, LEVEL), LEVEL)
            library = library_coefficients(name, LEVEL, size)
            deviation = max(_deviation(name, row, level) for level in CHECKED_LEVELS)
            paper = printed.at(LEVEL, size)
            for place in _PLACES:
                formula, shown = getattr(row, place), getattr(printed, place)
                agrees = abs(getattr(paper, place) - getattr(real, place)) < _SAME
                rows.append(
                    (
                        name,
                        size,
                        place,
                        formula.text if formula.text != "0" else "zero",
                        getattr(library, place),
                        getattr(real, place),
                        deviation,
                        shown.text if shown.text != "0" else "zero",
                        getattr(paper, place),
                        mean_of_row(paper, LEVEL),
                        "agrees" if agrees else "misprint",
                    )
                )
        columns = (
            "mechanism",
            "size D",
            "coefficient",
            "formula",
            "library",
            "enumerated",
            "largest deviation",
            "paper's formula",
            "paper's value",
            "paper's (E+1)p+Eq+r",
            "paper",
        )
        return Result(Table(columns, tuple(rows)))

    def findings(self, table: Table) -> list[str]:
        """Say how exact the agreement is and which printed row is wrong."""
        deviation = max(number(x) for x in table.column("largest deviation"))
        wrong = [row for row in table.rows if row[-1] == "misprint"]
        found = [
            f"Formulas, library and enumeration of all outputs for all ordered pairs agree within "
            f"{nearest(deviation, 2)} at ε0 = {', '.join(f'{x:g}' for x in CHECKED_LEVELS)}."
        ]
        for name, size, place, formula, _, real, _, shown, printed, mean, _ in wrong:
            found.append(
                f"{name}, {place}: the paper prints {shown} = {nearest(number(printed))} at "
                f"ε0 = {LEVEL:g}, D = {size}; the mechanism has {formula} = "
                f"{nearest(number(real))}. The printed row has (E+1)p+Eq+r = "
                f"{nearest(number(mean))} instead of 1."
            )
        return found


@dataclass(frozen=True, kw_only=True)
class LimitTable(Item):
    """The limit of large domains: formula, library, and a very large finite domain."""

    def identity(self, settings: Settings) -> dict[str, object]:
        """Return sizes and level."""
        return {"sizes": _LARGE, "level": LEVEL}

    def compute(self, settings: Settings, on_done: OnDone | None = None) -> Result:
        """Evaluate every coefficient in three ways."""
        rows: list[tuple[Cell, ...]] = []
        for name, row in LIMIT.items():
            paper = row.at(LEVEL, 0)
            library = library_coefficients(name, LEVEL, None)
            large = library_coefficients(name, LEVEL, _LARGE[name])
            small = library_coefficients(name, LEVEL, SIZES[name])
            for place in _PLACES:
                agrees = abs(getattr(paper, place) - getattr(library, place)) < _SAME
                rows.append(
                    (
                        name,
                        place,
                        getattr(row, place).text,
                        getattr(paper, place),
                        getattr(library, place),
                        abs(getattr(large, place) - getattr(library, place)),
                        abs(getattr(small, place) - getattr(library, place)),
                        "agrees" if agrees else "differs",
                    )
                )
        columns = (
            "mechanism",
            "coefficient",
            "paper's formula",
            "paper's value",
            "library",
            "distance at a huge D",
            "distance at the small D of table 2",
            "paper",
        )
        return Result(Table(columns, tuple(rows)))

    def findings(self, table: Table) -> list[str]:
        """Say whether all rows agree, and how far small domains are from the limit."""
        agreed = sum(cell == "agrees" for cell in table.column("paper"))
        huge = max(number(x) for x in table.column("distance at a huge D"))
        sizes = ", ".join(f"{name}: {size:.3g}" for name, size in _LARGE.items())
        return [
            f"{agreed} of {len(table.rows)} coefficients agree with the paper.",
            f"At huge domains ({sizes}) the library's finite coefficients are within "
            f"{nearest(huge, 2)} of the limit.",
        ]


def _deviation(name: str, row: Row, level: float) -> float:
    """Return how far formula and library are from the enumeration."""
    size = SIZES[name]
    real = coefficients(MECHANISMS[name](size, level), level)
    return max(
        real.distance(row.at(level, size)), real.distance(library_coefficients(name, level, size))
    )


FINITE_TABLE = FiniteTable(
    name="decompositions",
    title="Optimal decompositions of common mechanisms",
    place="Table 2",
    caption=(
        "Mass of the blanket where only one of two given inputs is E = e^ε0 times as likely (p), "
        f"both (q) or none (r); h = e^(ε0/2). Values at ε0 = {LEVEL:g}. The formula is ours, "
        "checked against the mechanism written out output by output."
    ),
    paper="Formulas for k-RR, BLH, RAPPOR, OUE and HR.",
    differences=(
        "The row of HR is misprinted in the paper. The output 0 is equally likely under all "
        "inputs, so all of its mass 2E/(D(E+1)) belongs to r. The paper leaves the part "
        "2/(D(E+1)) of it in q and adds the rest to r. Its p and the total mass are right.",
    ),
)

LIMIT_TABLE = LimitTable(
    name="decompositions-limit",
    title="Optimal decompositions in the limit of large domains",
    place="Table 3",
    caption=f"The coefficients of table 2 as the domain grows, at ε0 = {LEVEL:g}.",
    paper="Formulas for BLH, RAPPOR, OUE and HR, said to be approached at the rate 2^-D.",
    differences=(
        "The rate holds for BLH, RAPPOR and OUE. The coefficients of HR approach their limit only "
        "as 1/D.",
    ),
)
