"""Write the tables of compositions.md, between its markers, from code.

Run from anywhere: ``python docs/make_tables.py``; with ``--check`` nothing is written, and the exit
code is 1 if the page is out of date.
"""

from __future__ import annotations

import math
import re
import sys
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path

from shuffledp import (
    KRR,
    OUE,
    RAPPOR,
    AnyPureLDP,
    BinaryLocalHash,
    GeneralClone,
    Laplace,
    MatrixRandomizer,
    ShuffleAccountant,
    joint,
)
from shuffledp.basics.errors import AccuracyWarning
from shuffledp.mechanisms import LocalRandomizer, Pair

PAGE = Path(__file__).with_name("compositions.md")
BEGIN, END = "<!-- begin table: joint -->", "<!-- end table: joint -->"

DELTA = 1e-6
LEVELS = (0.1, 4.0)
USERS = (10**3, 10**4, 10**5)
MECHANISMS: dict[str, Callable[[float], LocalRandomizer]] = {
    "10-RR": lambda level: KRR(k=10, epsilon0=level),
    "BLH": BinaryLocalHash,
    "RAPPOR": RAPPOR,
    "OUE": OUE,
    "Laplace": Laplace,
}


def shared_epsilon(randomizer: LocalRandomizer, n: int) -> float:
    """Return the certified epsilon at delta = 1e-6."""
    return ShuffleAccountant(randomizer, n).get_epsilon(DELTA)


def standard_clone_epsilon(level: float, n: int) -> float:
    """Return the bound of the standard clone, a decomposition of binary randomized response."""
    high = 1 / (1 + math.exp(-level))
    response = MatrixRandomizer([[high, 1 - high], [1 - high, high]])
    return GeneralClone.standard(response, Pair(0, 1)).epsilon_interval(n, DELTA).upper


def round_up(value: float, digits: int = 4) -> str:
    """Return so many significant digits, rounded up."""
    places = digits - 1 - math.floor(math.log10(value))
    return f"{math.ceil(value * 10**places) / 10**places:.{places}f}"


def rows() -> Iterator[str]:
    """Yield the lines of the table."""
    yield (
        "| total epsilon0 | n | mechanism | one report | 2 attributes | 4 attributes "
        "| `AnyPureLDP` | standard clone |"
    )
    yield "|---|---|---|---|---|---|---|---|"
    for level in LEVELS:
        for n in USERS:
            generic = shared_epsilon(AnyPureLDP(epsilon0=level), n)
            clone = standard_clone_epsilon(level, n)
            for name, make in MECHANISMS.items():
                single = shared_epsilon(make(level), n)
                several = [shared_epsilon(joint(*[make(level / m)] * m), n) for m in (2, 4)]
                cells = map(round_up, (single, *several, generic, clone))
                yield f"| {level:g} | {n:,} | {name} | {' | '.join(cells)} |"


def main() -> int:
    """Replace the table in the page."""
    warnings.simplefilter("ignore", AccuracyWarning)  # the guarantees are valid all the same
    page = PAGE.read_text(encoding="utf-8")
    table = "\n".join((BEGIN, "", *rows(), "", END))
    updated, count = re.subn(
        f"{re.escape(BEGIN)}.*{re.escape(END)}", lambda _: table, page, flags=re.DOTALL
    )
    if count != 1:
        raise SystemExit(f"{PAGE.name} must hold the markers {BEGIN} and {END} once")
    if "--check" in sys.argv[1:]:
        return int(updated != page)
    PAGE.write_text(updated, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
