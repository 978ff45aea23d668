"""Random matrices together with valid decompositions, all in doubles without rounding."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from random import Random

#: Components and coefficients are multiples of 1/_STEPS, so that their products are doubles.
_STEPS = 1 << 12

Row = list[float]


@dataclass(frozen=True)
class Clone:
    """R(0) is the a-mixture of the components, R(1) the b-mixture, every row above the c-mixture.

    Attributes:
        rows: the matrix.
        components: one law per component.
        a: coefficients of the first row.
        b: coefficients of the second row.
        c: coefficients that all rows share.
    """

    rows: list[Row]
    components: list[Row]
    a: Row
    b: Row
    c: Row


def random_clone(random: Random) -> Clone:
    """Mixtures of a few random laws, and a third row with what is shared."""
    outputs, size = random.randint(2, 4), random.randint(1, 4)
    sharp = random.random() < 0.5
    components = [_random_law(random, outputs, sharp) for _ in range(size)]
    a, b = _random_law(random, size, False), _random_law(random, size, False)
    c = [
        Fraction(random.randint(0, int(min(p, q) * _STEPS)), _STEPS)
        for p, q in zip(a, b, strict=True)
    ]
    if random.random() < 0.3:
        c = [min(p, q) for p, q in zip(a, b, strict=True)]
    spare = 1 - sum(c)
    rest = _random_law(random, outputs, sharp)
    shared = _mix(c, components)
    third = [p + spare * q for p, q in zip(shared, rest, strict=True)]
    rows = [_mix(a, components), _mix(b, components), third]
    return Clone([*map(_doubles, rows)], [*map(_doubles, components)], *map(_doubles, (a, b, c)))


def _random_law(random: Random, size: int, sharp: bool) -> list[Fraction]:
    """A law in steps; a sharp one has zeros."""
    cuts = sorted(random.randint(0, _STEPS) for _ in range(size - 1))
    if sharp and random.random() < 0.6:
        cuts = [random.choice((0, _STEPS)) for _ in cuts]
        cuts.sort()
    ends = [0, *cuts, _STEPS]
    return [Fraction(high - low, _STEPS) for low, high in pairwise(ends)]


def _mix(weights: list[Fraction], laws: list[list[Fraction]]) -> list[Fraction]:
    columns = zip(*laws, strict=True)
    return [
        sum((w * p for w, p in zip(weights, column, strict=True)), Fraction(0))
        for column in columns
    ]


def _doubles(row: list[Fraction]) -> Row:
    doubles = [float(p) for p in row]
    if [Fraction(p) for p in doubles] != row:
        raise ArithmeticError("the entries are not doubles")
    return doubles
